"""Samples of lm-eval (``samples_<task>_<date>.jsonl``): one line a document and filter, joined over models by its hash.

A voter is a model, which is the name of the folder that the file lies in.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from dissensus.errors import SpecError, UsageError
from dissensus.interop.columns import Named
from dissensus.interop.json_lines import records
from dissensus.interop.scored import Scored, sheet_of, verdict_of
from dissensus.interop.sheet import Sheet

METRICS = ("exact_match", "acc", "acc_norm", "em", "pass@1", "score", "correct")
INVALID = "[invalid]"
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl")


def read_lm_eval(paths: list[Path], named: Named, filter_name: str) -> Sheet:
    """Read sample files as one table.

    Args:
        paths: files, or folders that hold them.
        named: ``voters`` chooses among the voters.
        filter_name: which filter's answers to read, where there are several.

    Raises:
        UsageError: there are several filters and none is named, or a line is no sample.
    """
    files = [entry for path in paths for entry in (sorted(path.rglob("samples_*.jsonl")) if path.is_dir() else [path])]
    lines = {path: list(records(str(path))) for path in files}
    chosen = filter_name or _only_filter(lines)
    names = _voters(files)
    tasks = {_task(path) for path in files}
    votes: list[Scored] = []
    gold: dict[str, str] = {}
    options: dict[str, int] = {}
    read = dropped = 0
    for path in files:
        voter = names[path]
        for number, line in lines[path]:
            read += 1
            if (chosen and line.get("filter", chosen) != chosen) or (named.voters and voter not in named.voters):
                dropped += 1
                continue
            question = str(line.get("doc_hash") or line.get("doc_id", ""))
            if not question:
                raise SpecError("The sample has no doc_id.", path=str(path), line=number, next_step="Look at the file.")
            if len(tasks) > 1:
                question = f"{_task(path)}/{question}"
            answer, many = _answer(line)
            if many:
                options[question] = many
            target = _text(line.get("target"))
            if target:
                gold.setdefault(question, target)
            right = _right(line)
            blank = "" if answer is not None and answer != INVALID else "invalid" if answer == INVALID else "no answer"
            votes.append(Scored(question, voter, answer, right, "" if right else blank))
    if not votes:
        raise SpecError("The file holds no sample.", path=str(files[0]) if files else "", next_step="Look at the file.")
    return sheet_of(
        votes,
        gold,
        options=options,
        groups={},
        format_=f"lm-eval samples, filter {chosen}" if chosen else "lm-eval samples",
        rows_read=read,
        dropped=dropped,
    )


def _only_filter(lines: dict[Path, list[tuple[int, dict[str, Any]]]]) -> str:
    names = sorted({str(line["filter"]) for found in lines.values() for _, line in found if "filter" in line})
    if len(names) > 1:
        raise UsageError(
            f"The samples hold several filters: {', '.join(names)}.", next_step="Choose one with --filter."
        )
    return names[0] if names else ""


def _task(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match["task"] if match else path.stem


def _voters(files: list[Path]) -> dict[Path, str]:
    """A name for each file: its folder where that tells them apart within a task, else with the file's own."""
    folders = Counter((_task(path), path.parent.name) for path in files)
    return {
        path: path.parent.name if folders[_task(path), path.parent.name] == 1 and path.parent.name else path.stem
        for path in files
    }


def _answer(line: dict[str, Any]) -> tuple[str | None, int]:
    """The answer of a sample, and how many options it chose among (0 for an open one)."""
    found = line.get("filtered_resps", line.get("resps"))
    if not isinstance(found, list) or not found:
        return (None, 0) if found in (None, []) else (_text(found), 0)
    scores = [_likelihood(item) for item in found]
    known = [score for score in scores if score is not None]
    if len(known) == len(scores) > 1:
        best = max(known)
        leaders = [place for place, score in enumerate(known) if score == best]
        return (str(leaders[0]), len(known)) if len(leaders) == 1 else (None, len(known))
    first = found[0]
    while isinstance(first, list) and first:
        first = first[0]
    return _text(first), 0


def _likelihood(item: Any) -> float | None:
    """The log-likelihood of one option, which is written as a pair with whether it was the greedy choice."""
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], list):
        item = item[0]
    if not isinstance(item, list) or len(item) != 2 or str(item[1]) not in {"True", "False"}:
        return None
    try:
        return float(item[0])
    except (TypeError, ValueError):
        return None


def _right(line: dict[str, Any]) -> bool | None:
    names = [str(name) for name in line.get("metrics") or ()]
    for name in (*METRICS, *names):
        if name in line and (verdict := verdict_of(line[name])) is not None:
            return verdict
    return None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return value.strip() if isinstance(value, str) else str(value)
