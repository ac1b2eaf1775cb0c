"""What stands around a piece of evidence: its lines, and the fields of the row or object that it is part of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dissensus.decide.dispute.csv_cells import Cell
from dissensus.decide.dispute.evidence import (
    CsvDialect,
    CsvSelector,
    Evidence,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Reopened,
    Selector,
    TextSelector,
)
from dissensus.decide.dispute.sources import Source

_TABLES = ("text/csv", "text/tab-separated-values")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, or an object of a JSON document with its scalar fields.

    Args:
        fields: name to text. A column without a header has its number, a field of an outer object is among them if
            no inner one has its name.
        number: of the row, from 1; 0 for an object.
        chosen: name of the field that the evidence points at; None if it points at the whole row.
        pointer: of the object.
    """

    fields: Mapping[str, str]
    number: int = 0
    chosen: str | None = None
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a piece of evidence stands.

    Args:
        text: what stands there.
        line: the whole line or lines that hold it; ``text`` where the source has none.
        at: where ``text`` begins in ``line``.
        rows: the rows or the object that it is part of; empty for running text.
        start: where ``line`` begins in the source's text; None if that is not known.
    """

    text: str
    line: str
    at: int = 0
    rows: tuple[Row, ...] = field(default=())
    start: int | None = None


def is_table(source: Source) -> bool:
    """Whether the source is a table by its media type."""
    return source.media.partition(";")[0].strip() in _TABLES


def dialect_of(source: Source) -> CsvDialect:
    """How a table is written: the sign that divides its header line into most cells."""
    header = (source.text or "").lstrip("\ufeff").partition("\n")[0]
    return max((CsvDialect(delimiter=sign) for sign in ",;\t|"), key=lambda one: header.count(one.delimiter))


def surroundings(evidence: Evidence, reopened: Reopened, source: Source) -> Surroundings:
    """What stands around an item that was found."""
    text = reopened.text or ""
    selector = reopened.selector
    if isinstance(selector, CsvSelector):
        rows = source.cells(selector.dialect)
        if 1 <= selector.row <= len(rows):
            row = rows[selector.row - 1]
            line = (source.text or "")[row[0].start : row[-1].end]
            return Surroundings(text, line, max(line.find(text), 0), (_row(rows, selector.row, selector.col),))
    if isinstance(selector, JsonSelector):
        found = _object(source, selector.pointer)
        return Surroundings(text, text, 0, (found,) if found else ())
    span = _span(selector, text, source, evidence)
    if span is None:
        page = _page_line(selector, text, source)
        return Surroundings(text, page or text, max((page or text).find(text), 0))
    whole = source.text or ""
    start = whole.rfind("\n", 0, span[0]) + 1
    end = whole.find("\n", span[1])
    line = whole[start : end if end >= 0 else len(whole)].rstrip("\r")
    if not is_table(source):
        return Surroundings(text, line, span[0] - start, start=start)
    rows = source.cells(dialect_of(source))
    touched = [n for n, cells in enumerate(rows, 1) if n > 1 and cells[0].start < span[1] and cells[-1].end > span[0]]
    return Surroundings(text, line, span[0] - start, tuple(_row(rows, n, _touched(rows[n - 1], span)) for n in touched))


def _touched(cells: list[Cell], span: tuple[int, int]) -> int | None:
    """The number of the cell that holds ``span``, if it lies in one."""
    for number, cell in enumerate(cells, 1):
        if cell.start <= span[0] and span[1] <= cell.end and len(cells) > 1:
            return number
    return None


def _row(rows: list[list[Cell]], number: int, column: int | str | None) -> Row:
    header, cells = rows[0], rows[number - 1]
    names: list[str] = []
    for n, cell in enumerate(header, 1):
        name = cell.text.strip() or str(n)
        names.append(name if name not in names else f"{name} ({n})")
    fields = {(names[n - 1] if n <= len(names) else str(n)): cell.text.strip() for n, cell in enumerate(cells, 1)}
    if isinstance(column, int):
        column = list(fields)[column - 1] if 1 <= column <= len(fields) else None
    elif column is not None:
        column = next((name for name in fields if name == column or name == column.strip()), None)
    return Row(fields, number, column)


def table_rows(source: Source) -> Iterator[Row]:
    """The rows of a table below its header, empty lines left out."""
    rows = source.cells(dialect_of(source))
    for number in range(2, len(rows) + 1):
        if any(cell.text.strip() for cell in rows[number - 1]):
            yield _row(rows, number, None)


def _object(source: Source, pointer: str) -> Row | None:
    """The object around a JSON value, with the scalar fields of those around it."""
    fields: dict[str, str] = {}
    parts = pointer.split("/")[1:]
    value = source.decoded(pointer)
    inner = value if isinstance(value, dict) else None
    chosen = None if inner is not None or not parts else parts[-1].replace("~1", "/").replace("~0", "~")
    for depth in range(len(parts) if inner is not None else len(parts) - 1, -1, -1):
        around = source.decoded("".join(f"/{part}" for part in parts[:depth]))
        if isinstance(around, dict):
            for key, item in around.items():
                if isinstance(item, str | int | float | bool) and key not in fields:
                    fields[key] = item if isinstance(item, str) else _as_written(source, parts[:depth], key)
    if chosen is not None and chosen not in fields:
        chosen = None
    where = pointer if inner is not None else "".join(f"/{part}" for part in parts[:-1])
    return Row(fields, 0, chosen, where) if fields else None


def _as_written(source: Source, parts: list[str], key: str) -> str:
    escaped = key.replace("~", "~0").replace("/", "~1")
    raw = source.value("".join(f"/{part}" for part in [*parts, escaped]))
    return "" if raw is None else raw.decode()


def _span(selector: Selector | None, text: str, source: Source, evidence: Evidence) -> tuple[int, int] | None:
    """Where an item's text stands in the decoded text; None for pages and tokens."""
    if isinstance(selector, TextSelector):
        return selector.start, selector.end
    if isinstance(selector, LineSelector) and 1 <= selector.first <= selector.last <= len(source.lines):
        start, end = source.lines[selector.first - 1][0], source.lines[selector.last - 1][1]
        within = (source.text or "")[start:end].find(text)
        return (start, end) if within < 0 else (start + within, start + within + len(text))
    if isinstance(selector, QuoteSelector) or (selector is None and evidence.selectors):
        at = (source.text or "").find(text)
        return None if at < 0 else (at, at + len(text))
    return None


def _page_line(selector: Selector | None, text: str, source: Source) -> str | None:
    """The line of a page that holds ``text``."""
    if not isinstance(selector, PageSelector) or not text:
        return None
    last = selector.page if selector.last is None else selector.last
    page = "\f".join(source.pages[selector.page - 1 : last])
    at = page.find(text)
    if at < 0:
        return None
    end = page.find("\n", at + len(text))
    return page[page.rfind("\n", 0, at) + 1 : end if end >= 0 else len(page)]
