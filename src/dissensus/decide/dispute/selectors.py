"""What a selector selects in a source, and whether a quote stands there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from dissensus.decide.dispute.csv_cells import Cell
from dissensus.decide.dispute.evidence import (
    CsvSelector,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.searching import Hit, cut, normal_occurrences, occurrences
from dissensus.decide.dispute.sources import Source, Space

Match = Literal["exact", "normal", "none"]


@dataclass(frozen=True, slots=True)
class Selected:
    """What a selector selects: a text, and where it lies in the source's decoded text, if that can be said."""

    selector: Selector
    text: str
    start: int | None = None

    @property
    def wide(self) -> bool:
        """Whether it only says where to look: always of a page, of others if a finer selector goes with it."""
        return isinstance(self.selector, PageSelector)


@dataclass(frozen=True, slots=True)
class Compared:
    """How a quote compares with what was selected; ``text`` is the part of the source that it was found to be."""

    match: Match
    text: str = ""
    cut: Literal["", "number", "word"] = ""


def select(source: Source, selector: Selector) -> Selected | None:
    """What ``selector`` selects; None if it reaches out of the source. Nothing is clipped."""
    if isinstance(selector, TextSelector):
        text = source.text or ""
        if not 0 <= selector.start < selector.end <= len(text):
            return None
        return Selected(selector, text[selector.start : selector.end], selector.start)
    if isinstance(selector, TokenSelector):
        tokens = source.tokens(selector.pointer) or []
        if not 0 <= selector.start < selector.end <= len(tokens):
            return None
        return Selected(selector, " ".join(tokens[selector.start : selector.end]))
    if isinstance(selector, LineSelector):
        if not 1 <= selector.first <= selector.last <= len(source.lines):
            return None
        start, end = source.lines[selector.first - 1][0], source.lines[selector.last - 1][1]
        return Selected(selector, (source.text or "")[start:end])
    if isinstance(selector, CsvSelector):
        return _cell(source, selector)
    if isinstance(selector, JsonSelector):
        raw = source.value(selector.pointer)
        return None if raw is None else _value(selector, raw)
    if isinstance(selector, PageSelector):
        last = selector.page if selector.last is None else selector.last
        if not 1 <= selector.page <= last <= len(source.pages):
            return None
        return Selected(selector, "\f".join(source.pages[selector.page - 1 : last]))
    return None


def names_several(source: Source, selector: Selector) -> bool:
    """Whether a selector's name stands for several things: a JSON key or the header of a column that is there twice."""
    if isinstance(selector, JsonSelector):
        return source.repeats(selector.pointer)
    if not isinstance(selector, CsvSelector) or not isinstance(selector.col, str):
        return False
    rows = source.cells(selector.dialect)
    return 1 <= selector.row <= len(rows) and len(_columns(rows[0], selector.col)) > 1


def compare(source: Source, selected: Selected, quote: str, *, within: bool) -> Compared:
    """How ``quote`` compares with what was selected.

    Args:
        source: where it was selected.
        selected: what was.
        quote: as the evidence has it.
        within: the quote may be a part of what was selected.
    """
    text = selected.text
    if text == quote:
        return Compared("exact", text, _cut_at(source, selected))
    if normal(text) == normal(quote):
        return Compared("normal", text, _cut_at(source, selected))
    if not within:
        return Compared("none")
    if hits := occurrences(text, quote):
        return Compared("exact", quote, cut(text, hits[0]))
    space = Space(text, TextSelector)
    if hits := normal_occurrences(space.normal, normal(quote)):
        return Compared("normal", text[hits[0].start : hits[0].end], cut(text, hits[0]))
    return Compared("none")


def _cut_at(source: Source, selected: Selected) -> Literal["", "number", "word"]:
    if selected.start is None or source.text is None:
        return ""
    return cut(source.text, Hit(selected.start, selected.start + len(selected.text)))


def spaces(source: Source, selectors: tuple[Selector, ...]) -> Iterator[Space]:
    """Where a quote may be searched for, in this order: where the selectors look, then the text as it is."""
    for selector in selectors:
        if isinstance(selector, TokenSelector):
            yield from source.by_token(selector.pointer)
        elif isinstance(selector, CsvSelector):
            yield from source.by_cell(selector.dialect)
        elif isinstance(selector, JsonSelector):
            yield from source.by_leaf()
        elif isinstance(selector, PageSelector):
            yield from source.by_page()
            return
    if source.paged:
        yield from source.by_page()
        return
    yield from source.plain()
    if all(isinstance(selector, QuoteSelector) for selector in selectors):
        yield from source.by_token()
        yield from source.by_leaf()


def _value(selector: JsonSelector, raw: bytes) -> Selected | None:
    try:
        text = msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Selected(selector, text)


def _cell(source: Source, selector: CsvSelector) -> Selected | None:
    rows = source.cells(selector.dialect)
    if source.text is None or not 1 <= selector.row <= len(rows):
        return None
    row = rows[selector.row - 1]
    if selector.col is None:
        return Selected(selector, source.text[row[0].start : row[-1].end])
    columns = _columns(rows[0], selector.col)
    if len(columns) != 1 or not 1 <= columns[0] <= len(row):
        return None
    return Selected(selector, row[columns[0] - 1].text)


def _columns(header: list[Cell], column: int | str) -> list[int]:
    """The numbers, from 1, of the columns that have this number or header."""
    if isinstance(column, int):
        return [column]
    found = [n for n, cell in enumerate(header, 1) if cell.text == column]
    return found or [n for n, cell in enumerate(header, 1) if cell.text.strip() == column.strip()]
