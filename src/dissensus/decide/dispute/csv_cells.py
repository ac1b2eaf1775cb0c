"""CSV as rows of cells that know where they stand in the text. Total: any text is some table.

RFC 4180, with a dialect: a field that begins with the quote sign runs to the next single one, line breaks included,
and two quote signs in it are one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dissensus.decide.dispute.evidence import CsvDialect


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's value, and where it is written, its quotes included."""

    text: str
    start: int
    end: int


def cells_of(text: str, dialect: CsvDialect, at: int = 0) -> list[list[Cell]]:
    """The rows of ``text`` from ``at`` on. A line break at the end opens no row; an empty line is one empty cell."""
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    ends = re.compile(f"[{re.escape(dialect.delimiter)}\r\n]")
    while at < len(text):
        if text[at] in (dialect.quotechar, dialect.escapechar) or dialect.escapechar:
            value, end = _cell(text, at, dialect)
        else:
            found = ends.search(text, at)
            end = found.start() if found else len(text)
            value = text[at:end]
        row.append(Cell(value, at, end))
        if text.startswith(dialect.delimiter, end):
            at = end + 1
            if at < len(text):
                continue
            row.append(Cell("", at, at))
        rows.append(row)
        row = []
        at = end + (2 if text.startswith("\r\n", end) else 1)
    return rows


def _cell(text: str, at: int, dialect: CsvDialect) -> tuple[str, int]:
    """Value of the cell that begins at ``at`` and may be quoted or hold escaped signs, and where it ends."""
    value: list[str] = []
    quote, escape = dialect.quotechar, dialect.escapechar
    quoted = bool(quote) and text.startswith(quote, at)
    at += quoted
    while at < len(text):
        char = text[at]
        if escape and char == escape and at + 1 < len(text):
            value.append(text[at + 1])
            at += 2
            continue
        if quoted and char == quote:
            if dialect.doublequote and text.startswith(quote, at + 1):
                value.append(quote)
                at += 2
                continue
            quoted = False
        elif not quoted and (char == dialect.delimiter or char in "\r\n"):
            break
        else:
            value.append(char)
        at += 1
    return "".join(value), at
