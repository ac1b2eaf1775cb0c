"""CSV and its relatives: any of comma, semicolon, tab and bar; the first line names the columns."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from dissensus.errors import SpecError
from dissensus.interop.rows import BLOCK, Rows, no_blocks

DELIMITERS = (",", ";", "\t", "|")
_LONGEST_FIELD = 2**24


def open_delimited(path: str) -> Rows:
    """The rows of a delimited file.

    Raises:
        SpecError: it cannot be read, is not UTF-8, or has no header.
    """
    try:
        with _open(path) as file:
            first = file.readline(_LONGEST_FIELD)
    except UnicodeDecodeError as problem:
        raise _not_utf8(path, problem) from None
    if not first.strip():
        raise SpecError("The file is empty.", path=path, next_step="The first line names the columns.")
    delimiter = max(DELIMITERS, key=lambda sign: (first.count(sign), sign == ","))
    header = next(csv.reader([first], delimiter=delimiter))
    if len(header) < 2:
        raise SpecError(
            "The first line names only one column.",
            path=path,
            line=1,
            next_step="Separate columns by comma, semicolon, tab or bar, and name them in the first line.",
        )
    rows = Rows(
        path=path, format="CSV" if delimiter == "," else f"CSV ({delimiter!r})", header=header, blocks=no_blocks
    )
    rows.blocks = lambda: _blocks(path, delimiter, len(header), rows)
    return rows


def _blocks(path: str, delimiter: str, width: int, rows: Rows) -> Iterator[tuple[int, Sequence[Sequence[Any]]]]:
    rows.dropped = 0
    block: list[list[str]] = []
    line = start = 1
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with _open(path) as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            next(reader)
            start = reader.line_num + 1
            for row in reader:
                line = reader.line_num
                if len(row) != width:
                    if not any(map(str.strip, row)):
                        rows.dropped += 1
                        continue
                    raise SpecError(
                        f"This line has {len(row)} fields, the first line {width}.",
                        path=path,
                        line=line,
                        next_step="Put quotes around a field that holds the separator.",
                    )
                block.append(row)
                if len(block) == BLOCK:
                    yield start, list(zip(*block, strict=True))
                    block, start = [], line + 1
    except csv.Error as problem:
        raise SpecError(
            f"The line cannot be read: {problem}.", path=path, line=line + 1, next_step="Look at it."
        ) from None
    except UnicodeDecodeError as problem:
        raise _not_utf8(path, problem) from None
    finally:
        csv.field_size_limit(limit)
    if block:
        yield start, list(zip(*block, strict=True))


def _open(path: str) -> TextIO:
    try:
        return Path(path).open(encoding="utf-8-sig", newline="")
    except OSError as problem:
        raise SpecError(
            f"The file cannot be read: {os.strerror(problem.errno or 0)}.", path=path, next_step="Check the path."
        ) from None


def _not_utf8(path: str, problem: UnicodeDecodeError) -> SpecError:
    raw = Path(path).read_bytes()
    start = raw.find(problem.object[problem.start : problem.end])
    try:
        raw.decode()
    except UnicodeDecodeError as whole:
        start = whole.start
    line = raw.count(b"\n", 0, start) + 1
    column = start - raw.rfind(b"\n", 0, start)
    return SpecError(
        f"The file is not UTF-8: byte {raw[start]:#04x} in column {column}.",
        path=path,
        line=line,
        next_step="Save it as UTF-8.",
    )
