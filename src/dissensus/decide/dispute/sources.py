"""A captured source: its bytes, and the texts, lines, tokens, cells, values and pages that are read from them.

Reading never raises: what bytes do not hold (text, JSON, a page) is None or empty.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import msgspec

from dissensus.decide.dispute.csv_cells import Cell, cells_of
from dissensus.decide.dispute.evidence import (
    CsvDialect,
    CsvSelector,
    JsonSelector,
    PageSelector,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.normalise import Normal, normal, normalised

DIVIDER: Final = "\uffff"
"""Stands between texts that are searched at once. It is no character, so that no quote reaches over it."""
_LINE_END: Final = re.compile("\r\n|\n|\r")
_CHARSET: Final = re.compile(r"charset=[\"']?([A-Za-z0-9_.:-]{1,40})")
_INDEX: Final = re.compile("0|[1-9][0-9]{0,17}")
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_MOST_LEAVES: Final = 1_000_000


@dataclass(slots=True)
class Space:
    """A text in which quotes are searched for, and the selector of a part of it.

    ``starts`` and ``ends`` are where its parts begin and end, if it is made of parts that a quote should not cut.
    """

    text: str
    place: Callable[[int, int], Selector]
    starts: frozenset[int] = frozenset()
    ends: frozenset[int] = frozenset()
    _normal: Normal | None = None

    @property
    def normal(self) -> Normal:
        """N of the text."""
        if self._normal is None:
            self._normal = normalised(self.text)
        return self._normal


class _Pairs(list[tuple[str, Any]]):
    """A JSON object, each of its keys as often as it stands there."""


class Source:
    """Bytes under a digest, and what can be read from them.

    Args:
        data: the bytes.
        media: media type, with ``charset`` where the text is not UTF-8.
        pages: the text of each page, of a file that has pages (PDF); or a function that reads them.
    """

    def __init__(
        self, data: bytes, media: str = "", pages: Sequence[str] | Callable[[], Sequence[str]] | None = None
    ) -> None:
        self.data = data
        self.media = media
        self._pages = pages
        self._spaces: dict[object, Space] = {}
        self._tokens: dict[str, list[str] | None] = {}
        self._cells: dict[CsvDialect, list[list[Cell]]] = {}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        return sha256(self.data).hexdigest()

    @cached_property
    def text(self) -> str | None:
        """The decoded text; None if the bytes are no text in the declared encoding, or in UTF-8 if none is declared."""
        if self._pages is not None:
            return "\f".join(self.pages)
        charset = _CHARSET.search(self.media)
        try:
            return self.data.decode(charset[1] if charset else "utf-8")
        except (UnicodeError, LookupError, ValueError):
            return None

    @cached_property
    def content(self) -> str:
        """What copies of one text share: SHA-256 of the text after N; of what is no text, the digest."""
        text = self.plain_text
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else self.digest

    @cached_property
    def plain_text(self) -> str:
        """The text after N, without blanks around it; empty if the bytes are no text."""
        return normal(self.text or "").strip()

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Begin and end of each line in the text, without its end. A byte order mark belongs to no line."""
        text = self.text or ""
        found: list[tuple[int, int]] = []
        start = 1 if text.startswith("\ufeff") else 0
        for match in _LINE_END.finditer(text):
            found.append((start, match.start()))
            start = match.end()
        if start < len(text):
            found.append((start, len(text)))
        return found

    @cached_property
    def pages(self) -> list[str]:
        """The text of each page. Plain text is divided into pages by form feeds."""
        if self._pages is not None:
            return list(self._pages() if callable(self._pages) else self._pages)
        if self.text is None:
            return []
        pages = self.text.split("\f")
        return pages[:-1] if len(pages) > 1 and not pages[-1].strip() else pages

    def tokens(self, pointer: str = "") -> list[str] | None:
        """The tokens at ``pointer``: a JSON array of texts; of a text that is no JSON, what blanks divide; or None."""
        if pointer not in self._tokens:
            self._tokens[pointer] = self._read_tokens(pointer)
        return self._tokens[pointer]

    def _read_tokens(self, pointer: str) -> list[str] | None:
        raw = self.value(pointer)
        if raw is not None and (pointer or raw[:1] == b"["):
            try:
                return msgspec.json.decode(raw, type=list[str])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return None
        return None if pointer or self.text is None or (raw or b"")[:1] in (b"{", b"[") else self.text.split()

    @cached_property
    def is_json(self) -> bool:
        """Whether the bytes are one JSON document."""
        return self.value("") is not None

    def value(self, pointer: str) -> bytes | None:
        """The bytes of the JSON value at an RFC 6901 pointer; None if there is none."""
        raw = self._document
        for part in pointer.split("/")[1:]:
            if raw is None:
                return None
            key = part.replace("~1", "/").replace("~0", "~")
            try:
                if raw[:1] == b"{":
                    inner = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).get(key)
                elif raw[:1] == b"[" and _INDEX.fullmatch(key):
                    inner = msgspec.json.decode(raw, type=list[msgspec.Raw])[int(key)]
                else:
                    return None
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError):
                return None
            raw = None if inner is None else bytes(inner).strip()
        return raw

    def decoded(self, pointer: str) -> Any:
        """The JSON value at a pointer, read; None if there is none. Numbers are told apart from texts, and no more."""
        raw = self.value(pointer)
        if raw is None:
            return None
        try:
            return msgspec.json.decode(raw)
        except msgspec.ValidationError:  # a number that no float holds; what it says is read from how it is written
            return json.loads(raw, parse_int=float)

    def repeats(self, pointer: str) -> bool:
        """Whether a key on the way along ``pointer`` stands in its object more than once: which is meant is not said.

        Source: RFC 6901, section 4, leaves what such a pointer selects undefined.
        """
        around = self._repeated
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(around, _Pairs):
                found = [value for name, value in around if name == key]
                if len(found) > 1:
                    return True
                around = found[0] if found else None
            elif isinstance(around, list) and _INDEX.fullmatch(key) and int(key) < len(around):
                around = around[int(key)]
            else:
                return False
        return False

    @cached_property
    def _repeated(self) -> Any:
        """The document with its objects as pairs, if one of them has a key twice; else None."""
        twice = False

        def pairs(found: list[tuple[str, Any]]) -> _Pairs:
            nonlocal twice
            twice = twice or len({name for name, _ in found}) < len(found)
            return _Pairs(found)

        try:
            document = json.loads(self._document or b"null", object_pairs_hook=pairs, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            return None
        return document if twice else None

    @cached_property
    def _document(self) -> bytes | None:
        # half a surrogate pair, as left by a cut through an emoji, is U+FFFD: it spoils its own value and no other
        raw = _ESCAPE.sub(_whole_escape, self.data.removeprefix(b"\xef\xbb\xbf").strip())
        try:
            raw.decode()
            msgspec.json.decode(raw, type=msgspec.Raw)  # the grammar alone: a number may be of any size
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return raw

    def cells(self, dialect: CsvDialect) -> list[list[Cell]]:
        """The rows of the text, read as CSV."""
        if dialect not in self._cells:
            text = self.text or ""
            self._cells[dialect] = cells_of(text, dialect, 1 if text.startswith("\ufeff") else 0)
        return self._cells[dialect]

    def plain(self) -> Iterator[Space]:
        """The text as it is."""
        if self.text is not None:
            yield self._space("text", lambda: Space(self.text or "", TextSelector))

    @property
    def paged(self) -> bool:
        """Whether it is a file of pages, which has no text but theirs."""
        return self._pages is not None

    def some_pages(self, numbers: Sequence[int]) -> Space:
        """Some pages, each by itself."""
        texts = [self.pages[number - 1] for number in numbers]
        return _joined(texts, DIVIDER, lambda a, _b: PageSelector(numbers[a]))

    def by_page(self) -> Iterator[Space]:
        """All pages, one after the other."""
        if self.pages:
            yield self._space("pages", lambda: _joined(self.pages, "\f", _pages))

    def by_token(self, pointer: str = "") -> Iterator[Space]:
        """The tokens, joined by one space."""
        if tokens := self.tokens(pointer):
            yield self._space(
                ("tokens", pointer),
                lambda: _joined(tokens, " ", lambda a, b: TokenSelector(a, b + 1, pointer), whole=True),
            )

    def by_cell(self, dialect: CsvDialect) -> Iterator[Space]:
        """Each cell by itself."""
        if self.text is None:
            return
        yield self._space(dialect, lambda: self._cell_space(dialect))

    def _cell_space(self, dialect: CsvDialect) -> Space:
        places = [(r, c) for r, row in enumerate(self.cells(dialect), 1) for c in range(1, len(row) + 1)]
        texts = [cell.text for row in self.cells(dialect) for cell in row]
        return _joined(texts, DIVIDER, lambda a, _b: CsvSelector(*places[a], dialect))

    def by_leaf(self) -> Iterator[Space]:
        """Each text in a JSON document by itself."""
        if not self.is_json:
            return
        yield self._space("leaves", self._leaf_space)

    def _leaf_space(self) -> Space:
        leaves = _leaves(self.decoded(""))
        return _joined([text for _, text in leaves], DIVIDER, lambda a, _b: JsonSelector(leaves[a][0]))

    def _space(self, key: object, make: Callable[[], Space]) -> Space:
        if key not in self._spaces:
            self._spaces[key] = make()
        return self._spaces[key]


def _whole_escape(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match[1] else match[0]


def _joined(texts: Sequence[str], between: str, place: Callable[[int, int], Selector], *, whole: bool = False) -> Space:
    """Texts in a row; ``place`` is given the first and the last one that a part touches."""
    starts: list[int] = []
    at = 0
    for text in texts:
        starts.append(at)
        at += len(text) + len(between)

    def selector(start: int, end: int) -> Selector:
        return place(bisect_right(starts, start) - 1, bisect_right(starts, max(start, end - 1)) - 1)

    space = Space(between.join(texts), selector)
    if whole:
        space.starts = frozenset(starts)
        space.ends = frozenset(start + len(text) for start, text in zip(starts, texts, strict=True))
    return space


def _pages(first: int, last: int) -> PageSelector:
    return PageSelector(first + 1, None if last == first else last + 1)


def _leaves(document: Any) -> list[tuple[str, str]]:
    """Pointer and text of every text in a document, in its order."""
    found: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting and len(found) < _MOST_LEAVES:
        pointer, value = waiting.pop()
        if isinstance(value, str):
            found.append((pointer, value))
        elif isinstance(value, list):
            waiting.extend((f"{pointer}/{n}", value[n]) for n in range(len(value) - 1, -1, -1))
        elif isinstance(value, dict):
            pairs = [(key.replace("~", "~0").replace("/", "~1"), inner) for key, inner in value.items()]
            waiting.extend((f"{pointer}/{key}", inner) for key, inner in reversed(pairs))
    return found
