"""Selectors from JSON data, and back: our own, those of W3C annotations, and citations of models.

Conventions of others are mapped here, once: RFC 5147 counts the gaps between lines and characters, so ``line=10,20``
is lines 11 to 20; RFC 7111 counts rows as we do, from 1, the header line included; citations of models count
characters from 0 and pages from 1, both with an exclusive end.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote

from dissensus.decide.dispute.evidence import (
    CsvDialect,
    CsvSelector,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.values import NotRead, Written

_KEYS: Final = {
    "text": ("start", "end"),
    "token": ("start", "end", "pointer"),
    "quote": ("exact", "prefix", "suffix"),
    "line": ("first", "last"),
    "csv": ("row", "col", "dialect"),
    "json": ("pointer",),
    "page": ("page", "last", "quote"),
    "TextPositionSelector": ("start", "end"),
    "TextQuoteSelector": ("exact", "prefix", "suffix"),
    "FragmentSelector": ("value", "conformsTo"),
    "char_location": ("start_char_index", "end_char_index", "cited_text"),
    "page_location": ("start_page_number", "end_page_number", "cited_text"),
    "content_block_location": ("start_block_index", "end_block_index", "cited_text"),
}
_OF_CITATIONS: Final = ("document_index", "document_title", "file_id")
_FRAGMENT: Final = re.compile(r"#?(line|char|row|page)=([0-9]+)?(?:(,|-)([0-9]+)?)?")
_CELL: Final = re.compile(r"#?cell=([0-9]+),([0-9]+)")
_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


def selector_from(data: Any) -> tuple[Selector, str | None]:
    """The selector in ``data``, and the quote that it carries, if any.

    Raises:
        NotRead: it is none.
    """
    if not isinstance(data, dict):
        raise NotRead("has to be a mapping")
    kind = data.get("type")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise NotRead(f"has the unknown type {kind!r}; known are {', '.join(list(_KEYS)[:7])}")
    known = _KEYS[kind] + (_OF_CITATIONS if kind.endswith("_location") else ())
    for key in data:
        if key not in ("type", *known):
            raise NotRead(f"has the unknown key {key!r}; a {kind} selector has {', '.join(_KEYS[kind])}")
    if kind in ("text", "TextPositionSelector"):
        return TextSelector(_whole(data, "start"), _whole(data, "end")), None
    if kind == "token":
        return TokenSelector(_whole(data, "start"), _whole(data, "end"), _pointer(data.get("pointer", ""))), None
    if kind in ("quote", "TextQuoteSelector"):
        found = QuoteSelector(_text(data, "exact"), _text(data, "prefix", ""), _text(data, "suffix", ""))
        return found, found.exact
    if kind == "line":
        first = _whole(data, "first")
        return LineSelector(first, _whole(data, "last", first)), None
    if kind == "csv":
        return CsvSelector(_whole(data, "row"), _column(data.get("col")), _dialect(data.get("dialect"))), None
    if kind == "json":
        return JsonSelector(_pointer(data.get("pointer"))), None
    if kind == "page":
        page = _whole(data, "page")
        last = _whole(data, "last", page)
        quote = _text(data, "quote") if "quote" in data else None
        return PageSelector(page, None if last == page else last), quote
    if kind == "FragmentSelector":
        if str(data.get("conformsTo")).endswith("rfc6901"):
            return JsonSelector(_pointer(data.get("value"))), None
        return _fragment(_text(data, "value")), None
    return _citation(kind, data)


def selector_data(selector: Selector) -> dict[str, Any]:
    """The selector as JSON data that :func:`selector_from` reads back as an equal selector."""
    if isinstance(selector, TextSelector):
        return {"type": "text", "start": selector.start, "end": selector.end}
    if isinstance(selector, TokenSelector):
        data = {"type": "token", "start": selector.start, "end": selector.end}
        return {**data, "pointer": selector.pointer} if selector.pointer else data
    if isinstance(selector, QuoteSelector):
        more = {"prefix": selector.prefix, "suffix": selector.suffix}
        return {"type": "quote", "exact": selector.exact, **{key: text for key, text in more.items() if text}}
    if isinstance(selector, LineSelector):
        return {"type": "line", "first": selector.first, "last": selector.last}
    if isinstance(selector, CsvSelector):
        dialect = selector.dialect
        written = {
            "delimiter": dialect.delimiter,
            "quotechar": dialect.quotechar,
            "doublequote": dialect.doublequote,
            "escapechar": dialect.escapechar,
        }
        found: dict[str, Any] = {"type": "csv", "row": selector.row}
        if selector.col is not None:
            found["col"] = selector.col
        return found if dialect == CsvDialect() else {**found, "dialect": written}
    if isinstance(selector, JsonSelector):
        return {"type": "json", "pointer": selector.pointer}
    page = {"type": "page", "page": selector.page}
    return page if selector.last is None else {**page, "last": selector.last}


def _citation(kind: str, data: dict[str, Any]) -> tuple[Selector, str | None]:
    cited = _text(data, "cited_text") if "cited_text" in data else None
    if kind == "char_location":
        return TextSelector(_whole(data, "start_char_index"), _whole(data, "end_char_index")), cited
    if kind == "content_block_location":
        return TokenSelector(_whole(data, "start_block_index"), _whole(data, "end_block_index")), cited
    first = _whole(data, "start_page_number")
    last = _whole(data, "end_page_number") - 1
    return PageSelector(first, None if last == first else last), cited


def _fragment(value: str) -> Selector:
    if cell := _CELL.fullmatch(value):
        return CsvSelector(int(cell[1]), int(cell[2]))
    found = _FRAGMENT.fullmatch(value)
    if not found or found[2] is None:
        raise NotRead(f"has a fragment that is not read: {value[:40]!r}")
    name, first, mark = found[1], int(found[2]), found[3]
    last = int(found[4]) if found[4] else None
    if name in ("line", "char") and mark == "," and last is not None:
        return LineSelector(first + 1, last) if name == "line" else TextSelector(first, last)
    if name == "row" and mark is None:
        return CsvSelector(first)
    if name == "page" and mark is None:
        return PageSelector(first)
    raise NotRead(f"has a fragment that names no one place: {value[:40]!r}")


def _pointer(raw: Any) -> str:
    if not isinstance(raw, str):
        raise NotRead("has to hold a pointer, a text")
    text = unquote(raw[1:]) if raw.startswith("#") else str(raw)
    if not _POINTER.fullmatch(text):
        raise NotRead(f"has a pointer that is none by RFC 6901: {text[:40]!r}; write it like /lines/0/qty")
    return text


def _column(raw: Any) -> int | str | None:
    if raw is None or (isinstance(raw, int) and not isinstance(raw, bool)):
        return raw
    if isinstance(raw, str) and not isinstance(raw, Written):
        return raw
    raise NotRead("has a `col` that is neither a number nor the name of a column")


def _dialect(raw: Any) -> CsvDialect:
    if raw is None:
        return CsvDialect()
    known = ("delimiter", "quotechar", "doublequote", "escapechar")
    if not isinstance(raw, dict) or any(key not in known for key in raw):
        raise NotRead(f"has a dialect that is none; its keys are {', '.join(known)}")
    signs = {key: _text(raw, key, getattr(CsvDialect(), key)) for key in known if key != "doublequote"}
    double = raw.get("doublequote", True)
    if len(signs["delimiter"]) != 1 or any(len(sign) > 1 for sign in signs.values()) or not isinstance(double, bool):
        raise NotRead("has a dialect whose signs are not one character each")
    chosen = [sign for sign in signs.values() if sign]
    if len(set(chosen)) < len(chosen) or any(sign in "\r\n" for sign in chosen):
        raise NotRead("has a dialect that uses one sign for two things")
    return CsvDialect(signs["delimiter"], signs["quotechar"], double, signs["escapechar"])


def _whole(data: dict[str, Any], key: str, default: int | None = None) -> int:
    raw = data.get(key, default)
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise NotRead(f"has to hold `{key}`, a whole number")
    return raw


def _text(data: dict[str, Any], key: str, default: str | None = None) -> str:
    raw = data.get(key, default)
    if not isinstance(raw, str):
        raise NotRead(f"has to hold `{key}`, a text")
    return str(raw)
