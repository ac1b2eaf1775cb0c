"""From files to a table of votes: sniff the format, read it, settle what the same answer is, report what was read."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dissensus.errors import SpecError
from dissensus.interop.columns import Named, roles_of
from dissensus.interop.equivalence import Sameness, settle
from dissensus.interop.flags import as_flags
from dissensus.interop.rows import Rows
from dissensus.interop.sheet import Sheet, some
from dissensus.measure.table import VoteTable
from dissensus.measure.wording import counted

_AS_GIVEN = Named()
_FOUND_OUT = Sameness()


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table and the report of its reading, which :func:`dissensus.measure.audit.audit` keeps with its result."""

    table: VoteTable
    report: dict[str, Any]


def read_table(
    paths: Sequence[str | Path],
    *,
    named: Named = _AS_GIVEN,
    same: Sameness = _FOUND_OUT,
    key: str | Path | None = None,
    filter_name: str = "",
) -> TableRead:
    """Read answers from one file, or from several that belong together (logs, samples, records).

    Args:
        paths: CSV, JSON lines, Parquet; inspect_ai logs; lm-eval samples; records of our own, or folders of these.
        named: what the columns are, where their names do not say it.
        same: what counts as the same answer.
        key: a table with the right answers: a column of questions, a column of right answers.
        filter_name: of lm-eval samples, the filter to read.

    Raises:
        UsageError: a file cannot be read, or not as a table of answers; the message names file and line.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise SpecError("No file is named.", next_step="Name a table of answers.")
    for path in files:
        if not path.exists():
            raise SpecError("There is no such file.", path=str(path), next_step="Check the path.")
    sheet = _sheet(files, named if key is None else replace(named, gold=""), filter_name)
    if key is not None:
        sheet = with_key(sheet, Path(key), named)
    table, equivalence, notes = settle(sheet, same)
    report = {
        "format": sheet.format,
        "rows": {
            "read": sheet.rows_read,
            "dropped": sheet.dropped,
            "duplicate": sheet.duplicates,
            "unmatched": sheet.unmatched,
        },
        "duplicates": sheet.duplicates,
        "equivalence": equivalence,
        "notes": [*sheet.notes, *notes],
    }
    return TableRead(table, report)


def _sheet(files: list[Path], named: Named, filter_name: str) -> Sheet:
    first = files[0]
    kind = format_of(first)
    if kind == "inspect":
        from dissensus.interop.inspect_logs import read_inspect

        return read_inspect(files, named, filter_name)
    if kind == "lm-eval":
        from dissensus.interop.lm_eval import read_lm_eval

        return read_lm_eval(files, named, filter_name)
    if kind == "record":
        from dissensus.interop.records import read_records

        return read_records(files, named)
    if len(files) > 1:
        raise SpecError(
            f"{len(files)} tables at once cannot be told apart.",
            path=str(first),
            next_step="Name one table; only logs, samples and records come in several files.",
        )
    return from_rows(rows_of(first, kind), named)


def from_rows(rows: Rows, named: Named) -> Sheet:
    """The sheet of a file with named columns, one row a vote or one row a question."""
    roles = roles_of(rows.header, named, path=rows.path, voters=rows.voters)
    if roles.long:
        from dissensus.interop.long import read_long

        sheet = read_long(rows, roles, named)
    else:
        from dissensus.interop.wide import read_wide

        sheet = read_wide(rows, roles, named)
    return as_flags(sheet) if roles.flags else sheet


def rows_of(path: Path, kind: str = "") -> Rows:
    """The rows of one table."""
    kind = kind or format_of(path)
    if kind == "parquet":
        from dissensus.interop.parquet import open_parquet

        return open_parquet(str(path))
    if kind == "json":
        from dissensus.interop.json_lines import open_json_lines

        return open_json_lines(str(path))
    from dissensus.interop.delimited import open_delimited

    return open_delimited(str(path))


def format_of(path: Path) -> str:
    """``csv``, ``json``, ``parquet``, ``inspect``, ``lm-eval`` or ``record``: by content, not by name."""
    if path.is_dir():
        inside = sorted(path.iterdir())
        logs = [entry for entry in inside if entry.suffix in {".eval", ".json"}]
        samples = list(path.rglob("samples_*.jsonl"))
        return "lm-eval" if samples else "inspect" if logs else "record"
    try:
        with path.open("rb") as file:
            head = file.read(65_536)
    except OSError as problem:
        raise SpecError(
            f"The file cannot be read: {problem.strerror}.", path=str(path), next_step="Check the path."
        ) from None
    if head.startswith((b"SQLite format 3\0", b'{"dissensus":"record"')):
        return "record"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK") and zipfile.is_zipfile(path):
        return "inspect"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith((b"{", b"[")):
        return "csv"
    if b'"eval"' in text and b'"version"' in text and b'"status"' in text and path.suffix != ".jsonl":
        return "inspect"
    line = text.partition(b"\n")[0]
    if path.name.startswith("samples_") or (b'"filtered_resps"' in line and b'"doc_id"' in line):
        return "lm-eval"
    return "json"


def with_key(sheet: Sheet, path: Path, named: Named) -> Sheet:
    """``sheet`` with right answers from another table, joined by the names of the questions.

    Raises:
        SpecError: it has no such columns, or gives one question two right answers.
    """
    from dissensus.interop.columns import GOLD, GOLD_WHERE_VOTERS_HAVE_COLUMNS, QUESTION
    from dissensus.interop.sheet import Coder
    from dissensus.interop.wide import as_text

    if not path.exists():
        raise SpecError("There is no such file.", path=str(path), next_step="Check the path given with --key.")
    rows = rows_of(path)
    header = [name.strip().lower().replace(" ", "_") for name in rows.header]

    def place(said: str, usual: Sequence[str]) -> int:
        names = [said.lower().replace(" ", "_")] if said and said.lower().replace(" ", "_") in header else list(usual)
        found = next((header.index(name) for name in names if name in header), None)
        if found is None:
            raise SpecError(
                "The table of right answers needs a column of questions and one of right answers.",
                path=str(path),
                line=1,
                next_step=f"Name them with --question and --gold. Its columns are {', '.join(rows.header)}.",
            )
        return found

    question, gold = (
        place(named.question, (sheet.question_column.lower().replace(" ", "_"), *QUESTION)),
        place(named.gold, (*GOLD, *GOLD_WHERE_VOTERS_HAVE_COLUMNS)),
    )
    coder = Coder(named.blank)
    for text in sheet.texts:
        coder[text]  # numbers the texts of the table first, as they are
    known: dict[str, int] = {}
    read = 0
    for line, block in rows.blocks():
        read += len(block[0])
        for offset, (name, code) in enumerate(
            zip(map(as_text, block[question]), coder.column(block[gold]), strict=True)
        ):
            if code >= 0 and known.setdefault(name, code) != code:
                raise SpecError(
                    f"Question {name!r} has two right answers: {coder.texts[known[name]]!r} and {coder.texts[code]!r}.",
                    path=str(path),
                    line=line + offset,
                    next_step="Each question has one.",
                )
    names = set(sheet.questions)
    unused = [name for name in known if name not in names]
    keys = np.array([known.get(name, -1) for name in sheet.questions], dtype=np.int32)
    without = int((keys < 0).sum())
    notes = []
    if unused:
        lost = counted(len(unused), "right answer belongs", "right answers belong")
        notes.append(f"{lost} to no question of the table ({some(unused)}).")
    if without:
        missing = (name for name, code in zip(sheet.questions, keys, strict=True) if code < 0)
        open_ = counted(without, "question of the table has", "questions of the table have")
        notes.append(f"{open_} no right answer in {path.name} ({some(missing)}).")
    return replace(
        sheet,
        gold=keys,
        texts=coder.texts,
        unmatched=sheet.unmatched + len(unused) + without,
        notes=(*sheet.notes, *notes),
    )
