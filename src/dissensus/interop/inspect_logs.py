"""Logs of inspect_ai: ``.eval`` files (a zip of JSON, since 2026 compressed by Zstandard) and JSON logs.

A voter is a model; where it ran several epochs, each epoch is one. The samples are read, never the reduced scores,
which lose answers that differ.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from dissensus.errors import MissingExtra, SpecError
from dissensus.interop.columns import Named
from dissensus.interop.scored import Scored, sheet_of, verdict_of
from dissensus.interop.sheet import Sheet, some
from dissensus.measure.wording import counted

ZSTANDARD = 93
"""Number of the compression in a zip."""


class _Score(msgspec.Struct):
    value: Any = None
    answer: Any = None


class _Sample(msgspec.Struct):
    id: str | int
    epoch: int = 1
    target: str | list[str] = ""
    choices: list[Any] | None = None
    scores: dict[str, _Score] | None = None
    error: Any = None


class _Eval(msgspec.Struct):
    task: str = ""
    model: str = ""
    created: str = ""


class _Head(msgspec.Struct):
    eval: _Eval
    status: str = ""


class _Log(_Head):
    samples: list[_Sample] | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    path: str
    head: _Head
    samples: list[_Sample]


def read_inspect(paths: list[Path], named: Named, scorer: str = "") -> Sheet:
    """Read logs as one table.

    Args:
        paths: logs, or folders of logs.
        named: ``voters`` chooses among the voters.
        scorer: which score to read, where samples have several.

    Raises:
        SpecError: a file is no log, or damaged, or its scores are neither right nor wrong.
        UsageError: there are several scorers and none is named.
    """
    files = [entry for path in paths for entry in (sorted(_logs(path)) if path.is_dir() else [path])]
    logs = sorted((_log(path) for path in files), key=lambda log: (log.head.eval.created, log.path))
    tasks = {log.head.eval.task for log in logs}
    per_model = Counter((log.head.eval.task, log.head.eval.model) for log in logs)
    seen: Counter[tuple[str, str]] = Counter()
    votes: list[Scored] = []
    gold: dict[str, str] = {}
    options: dict[str, int] = {}
    partial = dropped = 0
    models: dict[str, str] = {}
    notes: list[str] = []
    used: set[str] = set()
    for log in logs:
        name = log.head.eval.model or Path(log.path).stem
        key = (log.head.eval.task, log.head.eval.model)
        seen[key] += 1
        if per_model[key] > 1:
            name = f"{name} (log {seen[key]})"
        if log.head.status not in {"", "success"}:
            notes.append(f"{Path(log.path).name} ended with status {log.head.status!r}.")
        chosen = scorer or _only_scorer(log)
        used.add(chosen)
        epochs = len({sample.epoch for sample in log.samples}) > 1
        for sample in log.samples:
            question = f"{log.head.eval.task}/{sample.id}" if len(tasks) > 1 else str(sample.id)
            voter = f"{name}#{sample.epoch}" if epochs else name
            if named.voters and voter not in named.voters:
                dropped += 1
                continue
            target = sample.target if isinstance(sample.target, str) else next(iter(sample.target), "")
            if target.strip():
                gold.setdefault(question, target.strip())
            if sample.choices:
                options[question] = len(sample.choices)
            models[voter] = log.head.eval.model or name
            vote, some_credit = _vote(question, voter, sample, chosen, log.path)
            partial += some_credit
            votes.append(vote)
    if not votes:
        raise SpecError("The log holds no sample.", path=str(files[0]) if files else "", next_step="Look at the log.")
    if partial:
        notes.append(
            f"{counted(partial, 'answer has', 'answers have')} part of the score; only a full score counts as right."
        )
    repeated = [model for (_, model), times in per_model.items() if times > 1]
    if repeated:
        notes.append(f"Several logs of {some(sorted(set(repeated)))}: each is a voter of its own.")
    sheet = sheet_of(
        votes,
        gold,
        options=options,
        groups={},
        format_=f"inspect_ai log, scorer {some(sorted(used))}",
        rows_read=sum(len(log.samples) for log in logs),
        dropped=dropped,
        notes=notes,
    )
    return replace(sheet, factors={"model": models} if len(set(models.values())) < len(models) else {})


def _logs(folder: Path) -> Iterator[Path]:
    return (entry for entry in folder.iterdir() if entry.suffix in {".eval", ".json"})


def _only_scorer(log: _Read) -> str:
    names = sorted({name for sample in log.samples for name in sample.scores or ()})
    if len(names) > 1:
        raise SpecError(
            f"The samples have several scores: {', '.join(names)}.",
            path=log.path,
            next_step="Choose one with --filter.",
        )
    return names[0] if names else ""


def _vote(question: str, voter: str, sample: _Sample, scorer: str, path: str) -> tuple[Scored, bool]:
    if sample.error is not None:
        return Scored(question, voter, None, None, "error"), False
    score = (sample.scores or {}).get(scorer)
    if score is None:
        return Scored(question, voter, None, None, "not scored"), False
    if score.value == "N":
        return Scored(question, voter, None, None, "no answer"), False
    right = verdict_of(score.value)
    if right is None:
        raise SpecError(
            f"Sample {sample.id}: the score {score.value!r} is neither right nor wrong.",
            path=path,
            next_step="Choose a scorer that says so with --filter.",
        )
    partial = score.value == "P" or (isinstance(score.value, float) and 0 < score.value < 1)
    answer = score.answer if isinstance(score.answer, str) or score.answer is None else str(score.answer)
    return Scored(question, voter, answer, right), partial


def _log(path: Path) -> _Read:
    try:
        if zipfile.is_zipfile(path):
            return _zipped(path)
        log = msgspec.json.decode(path.read_bytes(), type=_Log)
    except OSError as problem:
        raise SpecError(
            f"The file cannot be read: {os.strerror(problem.errno or 0)}.", path=str(path), next_step="Look at it."
        ) from None
    except (msgspec.DecodeError, zipfile.BadZipFile, struct.error) as problem:
        raise SpecError(
            f"This is no log of inspect_ai, or damaged: {problem}.", path=str(path), next_step="Look at it."
        ) from None
    return _Read(str(path), log, log.samples or [])


def _zipped(path: Path) -> _Read:
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: info for info in archive.infolist()}
        head_name = "header.json" if "header.json" in members else "_journal/start.json"
        if head_name not in members:
            raise SpecError("This zip is no log of inspect_ai.", path=str(path), next_step="Look at it.")
        head = msgspec.json.decode(_content(archive, members[head_name]), type=_Head)
        samples = [
            msgspec.json.decode(_content(archive, info), type=_Sample)
            for name, info in sorted(members.items())
            if name.startswith("samples/") and name.endswith(".json")
        ]
    return _Read(str(path), head, samples)


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.compress_type != ZSTANDARD:
        return archive.read(info)
    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("the file was closed")
    file.seek(info.header_offset)
    header = file.read(30)
    name, extra = struct.unpack("<26xHH", header)
    file.seek(name + extra, os.SEEK_CUR)
    return _decompressor()(file.read(info.compress_size), info.file_size)


def _decompressor() -> Callable[[bytes, int], bytes]:
    """What can undo Zstandard here: Python from 3.14 on, or one of three packages."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        pass
    else:
        return lambda data, _size: bytes(zstd.decompress(data))
    try:
        import zstandard  # type: ignore[import-not-found]
    except ImportError:
        pass
    else:
        return lambda data, size: bytes(zstandard.ZstdDecompressor().decompress(data, max_output_size=max(size, 1)))
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("Reading compressed logs of inspect_ai", extra="parquet") from None
    return lambda data, size: bytes(pa.Codec("zstd").decompress(data, decompressed_size=size))
