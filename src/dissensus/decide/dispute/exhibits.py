"""A claim with its evidence as a person is shown it: reopened, with what stands around each quote.

The same function serves whoever puts the question and whoever shows it weeks later, so that the two can be compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import (
    CsvSelector,
    Evidence,
    JsonSelector,
    LineSelector,
    PageSelector,
    Reopened,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.parsing import evidence_data, evidence_from
from dissensus.decide.dispute.reopening import LiveCheck, Sources, reopen
from dissensus.decide.dispute.sources import Source
from dissensus.errors import SpecError
from dissensus.script.persons import Cited, Exhibit

CONTEXT: Final = 300
"""Most characters of context on either side."""
_LINES: Final = 3
_TOKENS: Final = 40
_GAP: Final = "…"
_SPAN = tuple[str, int, int, str]
"""A text, where in it the passage begins and ends, and the place in words."""


def exhibit_of(
    claim: Claim, sources: Sources, live: LiveCheck | None = None, *, name: str = "", title: str = ""
) -> Exhibit:
    """``claim`` as an exhibit, all its evidence reopened.

    Args:
        claim: the claim.
        sources: the captured bytes, as for :func:`~dissensus.decide.dispute.reopening.reopen`.
        live: looks at live sources.
        name: the exhibit's id; the claim's own if empty.
        title: its heading.
    """
    return Exhibit(
        id=name or claim.id,
        title=title,
        text=claim.text,
        facts=facts_of(claim),
        cited=tuple(cited_of(item, sources, live) for item in claim.evidence),
    )


def facts_of(claim: Claim) -> tuple[tuple[str, str], ...]:
    """What a claim says, as labels and values; what it leaves open is left out."""
    value = claim.value.written if claim.value is not None else ""
    rows = (
        ("subject", claim.subject or ""),
        ("attribute", claim.attribute or ""),
        ("value", f"{value} {claim.unit}" if value and claim.unit else value),
        ("as of", claim.as_of.written if claim.as_of is not None else ""),
        ("tolerance", "" if claim.tolerance is None else str(claim.tolerance)),
        ("reported by", claim.by),
        ("in step", claim.step),
    )
    return tuple((label, text) for label, text in rows if text)


def reopened_again(exhibit: Exhibit, sources: Sources, live: LiveCheck | None = None) -> Exhibit:
    """``exhibit`` with all its evidence reopened now. An item that cannot be read as evidence stays as it is."""
    return replace(exhibit, cited=tuple(_again(item, sources, live) for item in exhibit.cited))


def _again(cited: Cited, sources: Sources, live: LiveCheck | None) -> Cited:
    try:
        evidence = evidence_from(dict(cited.item))
    except SpecError:
        return cited
    return replace(cited_of(evidence, sources, live), item=cited.item)


def cited_of(evidence: Evidence, sources: Sources, live: LiveCheck | None = None) -> Cited:
    """One item of evidence, reopened, with what stands around it."""
    found = reopen(evidence, sources, live)
    cited = Cited(
        item=evidence_data(evidence),
        result=found.result,
        live="" if found.live == "NOT_CHECKED" else found.live,
        where=selector_words(evidence.selectors[0]) if evidence.selectors else "",
        text=found.text,
        hint=found.hint,
    )
    raw = sources(evidence.digest) if callable(sources) else sources.get(evidence.digest)
    if raw is None or found.text is None or found.selector is None:
        return cited
    span = _span(found, raw if isinstance(raw, Source) else Source(raw, evidence.media))
    if span is None:
        return cited
    body, start, end, where = span
    before, after = _around(body, start, end)
    return replace(cited, where=where or cited.where, before=before, text=body[start:end], after=after)


def _span(found: Reopened, source: Source) -> _SPAN | None:
    selector, text = found.selector, found.text or ""
    if isinstance(selector, CsvSelector):
        return _in_table(selector, source)
    if isinstance(selector, JsonSelector):
        return _in_json(selector, text, source)
    if isinstance(selector, TokenSelector):
        return _in_tokens(selector, source)
    if isinstance(selector, PageSelector):
        last = selector.page if selector.last is None else selector.last
        page = "\f".join(source.pages[selector.page - 1 : last])
        return _placed(page, 0, len(page), text, _numbered("page", selector.page, last))
    if isinstance(selector, LineSelector):
        start, end = source.lines[selector.first - 1][0], source.lines[selector.last - 1][1]
        return _placed(source.text or "", start, end, text, _numbered("line", selector.first, selector.last))
    if isinstance(selector, TextSelector):
        first = _line_of(source, selector.start)
        where = _numbered("line", first, _line_of(source, max(selector.end - 1, selector.start)))
        return source.text or "", selector.start, selector.end, where
    return _placed(source.text or "", 0, len(source.text or ""), text, "")


def _placed(body: str, start: int, end: int, text: str, where: str) -> _SPAN | None:
    """``text`` within ``body[start:end]``; all of that if it does not stand there as it is."""
    at = body.find(text, start, end)
    return (body, at, at + len(text), where) if at >= 0 else (body, start, end, where)


def _in_table(selector: CsvSelector, source: Source) -> _SPAN | None:
    rows = source.cells(selector.dialect)
    if source.text is None or not 1 <= selector.row <= len(rows):
        return None
    row = rows[selector.row - 1]
    header = [cell.text.strip() for cell in rows[0]]
    column = selector.col
    if isinstance(column, str):
        column = header.index(column.strip()) + 1 if column.strip() in header else None
    start, end, where = row[0].start, row[-1].end, f"row {selector.row}"
    if isinstance(column, int) and 1 <= column <= len(row):
        start, end = row[column - 1].start, row[column - 1].end
        name = header[column - 1] if column <= len(header) else ""
        where = f"{where}, column {name or column}"
    if selector.row <= _LINES + 1:
        return source.text, start, end, where
    # the header says what the cells are, so it stands above however far down the row is
    head = f"{source.text[rows[0][0].start : rows[0][-1].end]}\n{_GAP}\n"
    near = rows[selector.row - 1 - _LINES][0].start
    cut = len(head) - near
    return head + source.text[near:], start + cut, end + cut, where


def _in_json(selector: JsonSelector, text: str, source: Source) -> _SPAN | None:
    """The fields or elements beside the value, one a line, each as it is written."""
    import msgspec

    parent, _, last = selector.pointer.rpartition("/")
    around = source.value(parent) if selector.pointer else None
    if around is None:
        return text, 0, len(text), selector.pointer or "the whole document"
    chosen = last.replace("~1", "/").replace("~0", "~")
    pairs: list[tuple[str, msgspec.Raw]]
    if around[:1] == b"{":
        pairs = list(msgspec.json.decode(around, type=dict[str, msgspec.Raw]).items())
    else:
        pairs = [(str(n), raw) for n, raw in enumerate(msgspec.json.decode(around, type=list[msgspec.Raw]))]
    body, start, end = "", 0, 0
    for key, raw in pairs:
        written = bytes(raw).strip().decode("utf-8", "replace")
        body += f"{key}: "
        if key == chosen:
            start, end = len(body), len(body) + len(written)
        elif len(written) > CONTEXT // 3:
            written = f"{written[: CONTEXT // 3]}{_GAP}"
        body += f"{written}\n"
    return body, start, end, selector.pointer


def _in_tokens(selector: TokenSelector, source: Source) -> _SPAN | None:
    tokens = source.tokens(selector.pointer) or []
    first, last = max(selector.start - _TOKENS, 0), min(selector.end + _TOKENS, len(tokens))
    before = " ".join(tokens[first : selector.start])
    text = " ".join(tokens[selector.start : selector.end])
    after = " ".join(tokens[selector.end : last])
    start = len(before) + 1 if before else 0
    body = " ".join(part for part in (before, text, after) if part)
    return body, start, start + len(text), _numbered("token", selector.start, selector.end - 1)


def _around(body: str, start: int, end: int) -> tuple[str, str]:
    """Up to three lines on either side, and no more than :data:`CONTEXT` characters of each."""
    low, high = max(start - CONTEXT, 0), min(end + CONTEXT, len(body))
    before, after = body[low:start], body[end:high]
    lines = before.split("\n")
    kept = "\n".join(lines[-_LINES - 1 :])
    if f"\n{_GAP}\n" in before:  # the header of a table, put above
        kept = before
    elif low > 0 and len(kept) == len(before):
        kept = f"{_GAP}{kept}"
    rest = "\n".join(after.split("\n")[: _LINES + 1])
    return kept, rest + (_GAP if high < len(body) and len(rest) == len(after) else "")


def _line_of(source: Source, at: int) -> int:
    return (source.text or "").count("\n", 0, at) + 1


def _numbered(what: str, first: int, last: int) -> str:
    return f"{what} {first}" if first >= last else f"{what}s {first} to {last}"


def selector_words(selector: Selector) -> str:
    """Where a selector points, in words, for an item that was not found."""
    match selector:
        case LineSelector():
            return _numbered("line", selector.first, selector.last)
        case CsvSelector():
            return f"row {selector.row}" + ("" if selector.col is None else f", column {selector.col}")
        case JsonSelector():
            return selector.pointer or "the whole document"
        case PageSelector():
            return _numbered("page", selector.page, selector.last or selector.page)
        case TextSelector():
            return f"characters {selector.start} to {selector.end}"
        case TokenSelector():
            return _numbered("token", selector.start, selector.end - 1)
        case _:
            return "wherever it stands"
