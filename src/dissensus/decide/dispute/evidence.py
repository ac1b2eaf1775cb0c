"""Evidence: a pointer into pinned bytes, the quote that is said to stand there, and what reopening it gave.

Selectors and their conventions, all on the bytes as they were captured:

========  ============================  =======================================================================
type      fields                        convention
========  ============================  =======================================================================
text      ``start, end``                code points of the decoded text, from 0, end exclusive
token     ``start, end``                places in a list of tokens, from 0, end exclusive; joined by one space
quote     ``exact, prefix, suffix``     W3C TextQuoteSelector; alone, one hit is EXACT and several are AMBIGUOUS
line      ``first, last``               from 1, last inclusive
csv       ``row, col``                  from 1, row 1 is the header line; ``col`` may be the header's name
json      ``pointer``                   RFC 6901
page      ``page``, ``last``            from 1, last inclusive; the quote is looked for on these pages
========  ============================  =======================================================================

The source of the quote selector is the W3C Web Annotation Data Model, 4.2.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Result = Literal["EXACT", "REPAIRED", "MOVED", "CHANGED", "NOT_FOUND", "SOURCE_MISSING", "OUT_OF_RANGE", "AMBIGUOUS"]
"""What reopening gives, by the table in :mod:`dissensus.decide.dispute.reopening`."""
Live = Literal["SAME", "CHANGED", "GONE", "NOT_CHECKED"]
"""What has become of the source that was captured. It never alters the result for the snapshot."""

SETTLING: Final = frozenset({"EXACT", "REPAIRED", "MOVED"})
"""Results with which evidence may decide."""
RETURNING: Final = frozenset({"SOURCE_MISSING", "CHANGED", "AMBIGUOUS"})
"""Results with which a claim goes back to its author as incomplete."""
VOIDING: Final = frozenset({"NOT_FOUND", "OUT_OF_RANGE"})
"""Results with which the item is void (rule R1)."""


@dataclass(frozen=True, slots=True)
class TextSelector:
    """Code points ``[start, end)`` of the decoded text."""

    start: int
    end: int
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class TokenSelector:
    """Tokens ``[start, end)`` of a list of texts: the JSON array at ``pointer``; of plain text, what blanks divide."""

    start: int
    end: int
    pointer: str = ""
    type: Literal["token"] = "token"


@dataclass(frozen=True, slots=True)
class QuoteSelector:
    """Wherever ``exact`` stands, told apart by what stands before and after it."""

    exact: str
    prefix: str = ""
    suffix: str = ""
    type: Literal["quote"] = "quote"


@dataclass(frozen=True, slots=True)
class LineSelector:
    """Lines ``first`` to ``last``, from 1, both included, without the end of the last one."""

    first: int
    last: int
    type: Literal["line"] = "line"


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV file is written. The defaults are those of RFC 4180."""

    delimiter: str = ","
    quotechar: str = '"'
    doublequote: bool = True
    escapechar: str = ""


@dataclass(frozen=True, slots=True)
class CsvSelector:
    """A cell: ``row`` from 1 (the header line is row 1), ``col`` from 1 or by header; None is the whole row."""

    row: int
    col: int | str | None = None
    dialect: CsvDialect = CsvDialect()
    type: Literal["csv"] = "csv"


@dataclass(frozen=True, slots=True)
class JsonSelector:
    """The value at an RFC 6901 pointer: a text as itself, anything else as it is written in the document."""

    pointer: str
    type: Literal["json"] = "json"


@dataclass(frozen=True, slots=True)
class PageSelector:
    """Pages ``page`` to ``last``, from 1, both included; ``last`` None is the one page."""

    page: int
    last: int | None = None
    type: Literal["page"] = "page"


Selector = TextSelector | TokenSelector | QuoteSelector | LineSelector | CsvSelector | JsonSelector | PageSelector


@dataclass(frozen=True, slots=True)
class Obtained:
    """How the bytes were come by: the call of a tool. A receipt proves the call, not what its output says."""

    tool_call: str | None = None
    tool: str | None = None
    args_digest: str | None = None
    exit: int | None = None
    step: str | None = None
    at: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pointer into pinned bytes.

    Args:
        digest: SHA-256 of the captured bytes, 64 lower-case hexadecimal digits. The only identity of a source.
        selectors: where in it; several of them have to select the same.
        quote: the text that is said to stand there.
        prefix, suffix: what is said to stand before and after it.
        media: media type, with ``charset`` where the text is not UTF-8; empty is unknown.
        origin: declared origin: a name that copies share, or the digest of what this was derived from.
        captured_at: ISO 8601.
        live_ref: path or address that the bytes were captured from.
        id, title: labels, for people. No rule reads them.
    """

    digest: str
    selectors: tuple[Selector, ...] = ()
    quote: str = ""
    prefix: str = ""
    suffix: str = ""
    media: str = ""
    obtained: Obtained | None = None
    origin: str | None = None
    captured_at: str | None = None
    live_ref: str | None = None
    id: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Reopened:
    """What came of reopening one item.

    Args:
        result: the first row of the table that matched.
        live: what has become of the live source.
        text: the text that truly stands in the source: at the selector, or where the quote was found. None if none.
        selector: where that text stands; of MOVED, the new place.
        partial: REPAIRED by one run of at least 85 % of the quote.
        cut: the quote begins or ends inside a ``number`` or a ``word`` of the source: it is part of something else.
        damaged: the stored bytes do not hash to the digest.
        contradictory: the selectors select different texts.
        unread: no text could be read from the bytes: they are binary, in another encoding, a scan or encrypted. What
            nobody could look into refutes nobody.
        hint: a sentence for people. It decides nothing.
    """

    result: Result
    live: Live = "NOT_CHECKED"
    text: str | None = None
    selector: Selector | None = None
    partial: bool = False
    cut: Literal["", "number", "word"] = ""
    damaged: bool = False
    contradictory: bool = False
    unread: bool = False
    hint: str = ""

    @property
    def settles(self) -> bool:
        """Whether the item may decide."""
        return self.result in SETTLING

    @property
    def returns(self) -> bool:
        """Whether the claim goes back to its author as incomplete."""
        return self.result in RETURNING or self.unread

    @property
    def voids(self) -> bool:
        """Whether the item is void."""
        return self.result in VOIDING and not self.unread
