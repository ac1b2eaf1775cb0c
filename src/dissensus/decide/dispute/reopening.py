"""Reopening evidence: load the bytes by their digest, apply the selectors, compare with the quote.

The first row that matches is the result:

=  ===================  ===========================================================================================
1  SOURCE_MISSING       no bytes under the digest, and no live copy
2  CHANGED              no bytes under the digest, and the live source has another one
3  OUT_OF_RANGE         a selector reaches out of the source; nothing is clipped, a hit elsewhere is only a hint
4  EXACT                the selected text is the quote, code point by code point
5  REPAIRED             it is after N (:mod:`dissensus.decide.dispute.normalise`)
6  MOVED                the quote stands once elsewhere, as written or after N, or context leaves one place of several;
                        a quote of less than 12 characters after N is NOT_FOUND
7  AMBIGUOUS            it stands at several places, and not at the selector; or the selector's key or header is there
                        more than once
8  REPAIRED, partial    85 % of it in one run, once, and the rest holds nothing that matters
9  NOT_FOUND            otherwise
=  ===================  ===========================================================================================

A quote selector alone is a search: one hit is EXACT (REPAIRED after N), several are AMBIGUOUS unless context leaves
one. Several selectors have to select the same; line, csv, json and page selectors may be wider than a text, token or
quote selector that goes with them. Selectors of which some hit and others do not are AMBIGUOUS, ``contradictory``.

Where no text can be read from the bytes at all, rows 3 and 9 are ``unread``: the claim goes back, as it does from what
is missing, and nobody is said to have forged a quote.

Stored bytes that do not hash to the digest are NOT_FOUND, ``damaged``: they are not what was cited, and rule R1 voids
the item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from dissensus.decide.dispute.evidence import (
    Evidence,
    JsonSelector,
    Live,
    PageSelector,
    QuoteSelector,
    Reopened,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.searching import (
    SHORTEST,
    Hit,
    by_context,
    cut,
    found_in,
    normal_found_in,
    partial,
)
from dissensus.decide.dispute.selectors import Compared, Selected, compare, names_several, select, spaces
from dissensus.decide.dispute.sources import Source, Space

Sources = Mapping[str, Source | bytes] | Callable[[str], Source | bytes | None]
"""Captured sources by digest. Hand out the same ``Source`` each time: it keeps what it has read."""


@dataclass(frozen=True, slots=True)
class LiveCopy:
    """The live source of an item as it is now. ``read`` gives its bytes, if they may be used."""

    digest: str
    read: Callable[[], Source | bytes] | None = None


LiveCheck = Callable[[Evidence], LiveCopy | Live]
"""Says what has become of an item's live source: a copy, or ``GONE`` or ``NOT_CHECKED``."""


def reopen(evidence: Evidence, sources: Sources, live: LiveCheck | None = None) -> Reopened:
    """Reopen one item.

    Args:
        evidence: the item.
        sources: the captured bytes.
        live: looks at the live source. It never alters the result for captured bytes.
    """
    copy: LiveCopy | Live = "NOT_CHECKED" if live is None or evidence.live_ref is None else live(evidence)
    state: Live = copy if isinstance(copy, str) else "SAME" if copy.digest == evidence.digest else "CHANGED"
    found = sources.get(evidence.digest) if isinstance(sources, Mapping) else sources(evidence.digest)
    if found is None and isinstance(copy, LiveCopy) and state == "SAME" and copy.read is not None:
        found = copy.read()
    if found is None:
        if state == "CHANGED":
            return Reopened("CHANGED", state, hint="Nothing was kept of it, and the live source has other bytes.")
        return Reopened("SOURCE_MISSING", state, hint="No bytes are stored under this digest.")
    source = found if isinstance(found, Source) else Source(found, evidence.media)
    if source.digest != evidence.digest:
        return Reopened(
            "NOT_FOUND", state, damaged=True, hint="The stored bytes do not have this digest: they were altered."
        )
    return replace(_in_source(evidence, source), live=state)


def _in_source(evidence: Evidence, source: Source) -> Reopened:
    """Rows 3 to 9."""
    anchors = [each for each in evidence.selectors if not isinstance(each, QuoteSelector)]
    if not anchors:
        return _searched(evidence, source, alone=True)
    selected = [select(source, anchor) for anchor in anchors]
    several = [anchor for anchor in anchors if names_several(source, anchor)]
    for anchor, part in zip(anchors, selected, strict=True):
        if part is None and anchor not in several:
            return Reopened("OUT_OF_RANGE", unread=bool(_unread(source)), hint=_outside(anchor, evidence, source))
    if several:
        named = "key on the way" if isinstance(several[0], JsonSelector) else "column's header"
        return Reopened("AMBIGUOUS", hint=f"The {named} is there more than once: which one is meant is not said.")
    parts = [part for part in selected if part is not None]
    fine = any(isinstance(each, TextSelector | TokenSelector | QuoteSelector) for each in evidence.selectors)
    compared = [compare(source, part, evidence.quote, within=_may_be_wider(part, fine=fine)) for part in parts]
    if any(each.match == "none" for each in compared):
        if any(each.match != "none" for each in compared):
            return _contradiction(parts, compared)
        found = _searched(evidence, source, alone=False)
        if found.result != "NOT_FOUND" or not any(evidence.quote in part.text for part in parts):
            return found
        return replace(found, hint="The quote is a part of what is selected: add a quote selector that says so.")
    exact = all(each.match == "exact" for each in compared)
    best = min(zip(compared, parts, strict=True), key=lambda pair: len(pair[1].text))
    return Reopened(
        "EXACT" if exact else "REPAIRED",
        text=best[0].text,
        selector=best[1].selector,
        cut=best[0].cut,
        hint=_cut_hint(best[0].cut),
    )


def _may_be_wider(part: Selected, *, fine: bool) -> bool:
    if isinstance(part.selector, TextSelector | TokenSelector):
        return False
    return part.wide or fine


def _contradiction(parts: list[Selected], compared: list[Compared]) -> Reopened:
    missing = next(part for part, each in zip(parts, compared, strict=True) if each.match == "none")
    hit, text = next((part, each.text) for part, each in zip(parts, compared, strict=True) if each.match != "none")
    return Reopened(
        "AMBIGUOUS",
        text=text,
        selector=hit.selector,
        contradictory=True,
        hint=f"The selectors contradict each other: {hit.selector.type} selects the quote, {missing.selector.type} does"
        " not.",
    )


def _searched(evidence: Evidence, source: Source, *, alone: bool) -> Reopened:
    """Rows 6 to 9: the quote does not stand at a selector, or there is none but the quote itself."""
    quote, wanted = evidence.quote, normal(evidence.quote)
    short = len(wanted) < SHORTEST
    if short and not alone:
        return _not_found(source, f"It does not stand there, and is too short to be searched for ({len(wanted)}).")
    around = [each for each in evidence.selectors if isinstance(each, PageSelector)]
    for space in _nearby(source, around):
        if hits := found_in(space, quote) or normal_found_in(space, wanted):
            return _chosen(evidence, space, hits, alone=False)
    where = list(spaces(source, evidence.selectors))
    for space in where:
        hits = found_in(space, quote)
        exact = bool(hits)
        if hits := hits or normal_found_in(space, wanted):
            return _chosen(evidence, space, hits, alone=alone, exact=exact)
    for space in () if short else where:
        if run := partial(space, quote):
            return Reopened(
                "REPAIRED",
                text=space.text[run.start : run.end],
                selector=space.place(run.start, run.end),
                partial=True,
                cut=cut(space.text, run),
                hint="Only the greater part of the quote stands there, in one run; the text is what truly does.",
            )
    return _not_found(source, "")


def _nearby(source: Source, around: list[PageSelector]) -> Iterator[Space]:
    """The pages just before and after a page selector, as one space."""
    for each in around:
        first, last = each.page, each.page if each.last is None else each.last
        near = [page for page in (first - 1, last + 1) if 1 <= page <= len(source.pages)]
        if near:
            yield source.some_pages(near)


def _chosen(evidence: Evidence, space: Space, hits: list[Hit], *, alone: bool, exact: bool = True) -> Reopened:
    """One of several places, or that there are several."""
    if len(hits) > 1:
        kept = by_context(space.text, hits, evidence.prefix, evidence.suffix)
        if len(kept) != 1:
            many = f"It stands at {len(hits)} places"
            return Reopened("AMBIGUOUS", hint=f"{many}, and its context leaves {len(kept)} of them.")
        hits = kept
    (hit,) = hits
    broken = cut(space.text, hit)
    return Reopened(
        ("EXACT" if exact else "REPAIRED") if alone else "MOVED",
        text=space.text[hit.start : hit.end],
        selector=space.place(hit.start, hit.end),
        cut=broken,
        hint=_cut_hint(broken),
    )


def _not_found(source: Source, hint: str) -> Reopened:
    why = _unread(source)
    return Reopened("NOT_FOUND", unread=bool(why), hint=why or hint)


def _unread(source: Source) -> str:
    """Why no text can be read from a source; "" if there is some."""
    if source.paged and not source.pages:
        return "No page of the file can be read: it may be encrypted or damaged."
    if source.paged and not any(page.strip() for page in source.pages):
        return "The file has pages and no text: it may be a scan."
    return "The source is no text in UTF-8, or in the encoding that is declared." if source.text is None else ""


def _cut_hint(broken: str) -> str:
    return f"The quote is cut out of a {broken}." if broken else ""


def _outside(anchor: Selector, evidence: Evidence, source: Source) -> str:
    """Why a selector is out of range, and where the quote stands instead, as a hint."""
    said = f"The {anchor.type} selector reaches out of the source."
    if why := _unread(source):
        return why
    if isinstance(anchor, JsonSelector) and not source.is_json:
        return f"{said} The source is no JSON document."
    if len(normal(evidence.quote)) < SHORTEST:
        return said
    for space in spaces(source, evidence.selectors):
        count = len(found_in(space, evidence.quote))
        if count:
            return f"{said} The quote stands at {count} other {'place' if count == 1 else 'places'}."
    return said
