"""Planted faults: a consistent case with one thing changed, to see whether the same rules and verifier notice.

==============  ====================================================================================================
kind            what is changed in the report of one party
==============  ====================================================================================================
forged-quote    the value and the words that are said to stand there; the source is as it was
wrong-value     the value; the quote is true
other-item      value and evidence are those of another item
edited-source   one digit: in the value, in the quote, and in a copy of the source that takes the source's place
agreed-lie      as forged-quote, in the reports of all parties, by the same amount
no-evidence     the evidence is left out
==============  ====================================================================================================

What is planted follows from the case, the kind and the seed. Pure: a case in, a case out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, Final

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute import rules
from dissensus.decide.dispute.case import Case, Pinned
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import Docket, Item
from dissensus.decide.dispute.evidence import CsvSelector, Evidence, QuoteSelector
from dissensus.decide.dispute.parsing import claim_data, claim_from
from dissensus.decide.dispute.selectors import select
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.values import value_of
from dissensus.study.swarm.batch import drawn

_NUMBER: Final = re.compile(r"(?<!\d)(?<!\d\.)\d+(?:\.\d+)?(?!\d)")


@dataclass(frozen=True, slots=True)
class Planted:
    """A case with a fault in it, and the claims that are at fault."""

    case: Case
    kind: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Spot:
    """A number in a quote: the item that it stands in, where in the quote, and what it says."""

    item: Item
    start: int
    end: int

    @property
    def number(self) -> str:
        return self.item.evidence.quote[self.start : self.end]

    def quote(self, number: str) -> str:
        """The quote with another number in its place."""
        return f"{self.item.evidence.quote[: self.start]}{number}{self.item.evidence.quote[self.end :]}"


def plant(case: Case, kind: str, seed: int, others: Sequence[Case] = ()) -> Planted | None:
    """``case`` with a fault of this kind; None if it cannot be planted there.

    Args:
        case: a case whose reports are consistent.
        kind: which fault, one of :data:`~dissensus.study.swarm.batch.KINDS`.
        seed: decides which party is at fault, and by how much.
        others: cases of other items, for what is taken from one.
    """
    first = min(
        (claim for claim in case.claims if claim.typed and claim.evidence),
        key=lambda claim: drawn(seed, f"{case.id}\0{claim.cell}\0{claim.id}", kind),
        default=None,
    )
    if first is None:
        return None
    sources = dict(case.sources)
    changed: dict[str, Claim] = {}
    match kind:
        case "no-evidence":
            changed[first.id] = replace(first, evidence=())
        case "wrong-value":
            value = _other_value(first, seed, others)
            if value is not None:
                changed[first.id] = value
        case "other-item":
            found = _of_another(first, case, seed, others)
            if found is not None:
                changed[first.id], more = found
                sources = {**more, **sources}
        case "forged-quote" | "edited-source":
            spot = _spot(_read(case), first)
            number = None if spot is None else _one_digit(spot.number, f"{case.id}\0{first.id}", seed)
            if spot is not None and number is not None:
                forged = _forged(first, spot, Fraction(number) - Fraction(spot.number))
                changed[first.id] = forged
                if kind == "edited-source":
                    copy = _edited(case, spot, number)
                    if copy is None:
                        return None
                    sources, changed = _moved(case, first, forged, spot.item.evidence.digest, copy)
        case "agreed-lie":
            changed = _lie(case, first, seed)
        case _:
            return None
    if not changed:
        return None
    claims = tuple(changed.get(claim.id, claim) for claim in case.claims)
    at_fault = tuple(changed) if kind == "agreed-lie" else (first.id,)
    asking = replace(case.asking, ask=False)
    planted = replace(case, id=f"{case.id}+{kind}", claims=claims, sources=sources, asking=asking, rounds=0, reports=())
    return Planted(planted, kind, at_fault)


# --- numbers in quotes


def _read(case: Case) -> Docket:
    """The case, opened, with what each item of evidence says."""
    docket = Docket(case)
    list(rules.r1(docket))
    list(rules.r2(docket))
    return docket


def _spot(docket: Docket, claim: Claim) -> _Spot | None:
    """A number in a quote of the claim that its value, or a part of its value, was read from."""
    own = next((one for one in docket.claims if claim.id in one.ids), None)
    for item in own.items if own is not None else ():
        if item.evidence not in claim.evidence or item.reading is None or item.reading.value is None:
            continue
        found = [one for one in _NUMBER.finditer(item.evidence.quote) if Fraction(one[0]) == item.reading.value]
        if found:
            return _Spot(item, found[-1].start(), found[-1].end())
    return None


def _one_digit(number: str, what: str, seed: int) -> str | None:
    """``number`` with another digit at one place; no zero is put there, so that it stays as long as it was."""
    places = [place for place, sign in enumerate(number) if sign.isdecimal()]
    place = places[int(drawn(seed, what, "place") * len(places))]
    digits = [digit for digit in "123456789" if digit != number[place]]
    digit = digits[int(drawn(seed, what, "digit") * len(digits))]
    return f"{number[:place]}{digit}{number[place + 1 :]}"


def _forged(claim: Claim, spot: _Spot, difference: Fraction) -> Claim:
    """The claim with another value, and the quote that would say so."""
    number = plain_text(Fraction(spot.number) + difference)
    evidence = tuple(
        _requoted(item, spot.quote(number)) if item == spot.item.evidence else item for item in claim.evidence
    )
    return replace(_valued(claim, difference), evidence=evidence)


def _requoted(item: Evidence, quote: str) -> Evidence:
    selectors = tuple(
        replace(one, exact=quote) if isinstance(one, QuoteSelector) and one.exact == item.quote else one
        for one in item.selectors
    )
    return replace(item, quote=quote, selectors=selectors)


def _valued(claim: Claim, difference: Fraction) -> Claim:
    number = claim.value.number if claim.value is not None else None
    written = plain_text(Fraction(number or 0) + difference)
    return replace(claim, value=value_of(written, "decimal" if "." in written else "integer"))


def _lie(case: Case, first: Claim, seed: int) -> dict[str, Claim]:
    """All reports of what ``first`` is about, changed by the same amount; nothing if one of them cannot be."""
    same = [claim for claim in case.claims if (claim.subject, claim.attribute) == (first.subject, first.attribute)]
    docket = _read(case)
    spots = {claim.id: _spot(docket, claim) for claim in same}
    spot = spots[first.id]
    if len({claim.cell for claim in same}) < 2 or spot is None or None in spots.values():
        return {}
    number = _one_digit(spot.number, f"{case.id}\0{first.id}", seed)
    difference = Fraction(number or 0) - Fraction(spot.number)
    if any(one is not None and Fraction(one.number) + difference < 0 for one in spots.values()):
        difference = abs(difference)
    return {claim.id: _forged(claim, one, difference) for claim in same if (one := spots[claim.id]) is not None}


# --- an edited copy of a source


def _edited(case: Case, spot: _Spot, number: str) -> Pinned | None:
    """A copy of the source in which another number stands; None if it is no text, or the place cannot be told."""
    pinned = case.sources[spot.item.evidence.digest]
    source = spot.item.source
    if pinned.text is None or pinned.pages is not None or source is None or source.text != pinned.text:
        return None
    found = _place(source, spot.item.evidence)
    if found is None:
        return None
    at = found + spot.start
    text = f"{pinned.text[:at]}{number}{pinned.text[at + len(spot.number) :]}"
    return replace(pinned, text=text)


def _place(source: Source, evidence: Evidence) -> int | None:
    """Where the quote begins in the text, if it stands once where the selectors select."""
    text = source.text or ""
    start, end = 0, len(text)
    for selector in evidence.selectors:
        if isinstance(selector, CsvSelector):
            row = source.cells(selector.dialect)[selector.row - 1]
            chosen = select(source, selector)
            cells = [cell for cell in row if chosen is not None and cell.text == chosen.text]
            column = selector.col if isinstance(selector.col, int) else 0
            cell = row[column - 1] if 1 <= column <= len(row) else cells[0] if len(cells) == 1 else None
            start, end = (row[0].start, row[-1].end) if cell is None or selector.col is None else (cell.start, cell.end)
        elif (chosen := select(source, selector)) is not None and chosen.text in text:
            start = chosen.start if chosen.start is not None else text.find(chosen.text)
            end = start + len(chosen.text)
    if text.count(evidence.quote, start, end) != 1:
        return None
    return text.index(evidence.quote, start, end)


def _moved(
    case: Case, first: Claim, forged: Claim, digest: str, copy: Pinned
) -> tuple[dict[str, Pinned], dict[str, Claim]]:
    """Sources and claims in which the party of ``first`` cites the copy wherever it cited the source."""
    new = sha256((copy.text or "").encode("utf-8", "surrogatepass")).hexdigest()

    def moved(claim: Claim) -> Claim:
        items = tuple(
            replace(item, digest=new, live_ref=None) if item.digest == digest else item for item in claim.evidence
        )
        return replace(claim, evidence=items)

    own = [forged if claim.id == first.id else claim for claim in case.claims if claim.cell == first.cell]
    changed = {claim.id: moved(claim) for claim in own}
    others = [claim for claim in case.claims if claim.cell != first.cell]
    cited = {item.digest for claim in (*changed.values(), *others) for item in claim.evidence}
    cited |= {item.digest for size in case.pack_sizes for item in size.evidence}
    return {d: p for d, p in {**case.sources, new: copy}.items() if d in cited}, changed


# --- what is taken from elsewhere


def _other_value(claim: Claim, seed: int, others: Sequence[Case]) -> Claim | None:
    """The claim with another value on the same evidence."""
    if claim.value is not None and claim.value.number is not None:
        written = claim.value.written
        number = plain_text(Fraction(claim.value.number))
        value = _one_digit(written if _NUMBER.fullmatch(written) else number, claim.id, seed)
        return (
            None if value is None else replace(claim, value=value_of(value, "decimal" if "." in value else "integer"))
        )
    found = _elsewhere(claim, others, seed, differing=True)
    return None if found is None else replace(claim, value=found[1].value)


def _of_another(
    claim: Claim, case: Case, seed: int, others: Sequence[Case]
) -> tuple[Claim, Mapping[str, Pinned]] | None:
    """The claim with value and evidence of another item, and the sources of that."""
    found = _elsewhere(claim, [one for one in others if one.id != case.id], seed, differing=False)
    if found is None:
        return None
    other, theirs = found
    cited = {item.digest for item in theirs.evidence}
    data: dict[str, Any] = {**claim_data(theirs), "id": claim.id, "subject": claim.subject, "by": claim.by}
    return replace(claim_from(data), cell=claim.cell), {d: p for d, p in other.sources.items() if d in cited}


def _elsewhere(claim: Claim, others: Sequence[Case], seed: int, *, differing: bool) -> tuple[Case, Claim] | None:
    """A claim of the same party about the same property of another item."""
    found = [
        (other, theirs)
        for other in others
        for theirs in other.claims
        if (theirs.cell, theirs.attribute) == (claim.cell, claim.attribute)
        and theirs.subject != claim.subject
        and theirs.evidence
        and not (differing and theirs.value == claim.value)
    ]
    if not found:
        return None
    return min(found, key=lambda pair: (drawn(seed, f"{claim.id}\0{pair[0].id}", "other"), pair[0].id, pair[1].id))
