"""Rules R0 to R5: which items are void, which claims go back, which fall. In this order, each with its lines.

R0  a claim without evidence, or whose evidence cannot be opened, goes back to its author; it does not lose
R1  evidence does not stand where it is said to: void
R2  what stands there says something else, or is about something else: void
R3  a deterministic checker works out something else: what rests on it falls
R4  a source is wrong in itself: what rests only on it falls
R5  copies of one source count once

A claim without an item left falls. "Claim X falls" says nothing about any other claim. R6 and R7, and what follows from
all of them, are in :mod:`dissensus.decide.dispute.verdict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from dissensus.decide.dispute.bearing import Reading, is_value, read_bearing
from dissensus.decide.dispute.checkers import RERUN, Checked, Read, check_claim, check_parts
from dissensus.decide.dispute.citations import Citation, collapsed
from dissensus.decide.dispute.docket import Docket, Item, Weighed
from dissensus.decide.dispute.faults import Cite, Fault, faults_in
from dissensus.decide.dispute.parts import decided_by_parts
from dissensus.decide.dispute.places import surroundings

Rule = Literal["R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7"]
Effect = Literal["returned", "void", "falls", "confirmed", "counted once", "gives way", "settled", "disputed"]
_PARTS: Final = ("", "value", "part")
"""Of an item that does not say it alone, but may say it together with others: amounts of the lines of an invoice."""
RULES: Final[tuple[Rule, ...]] = ("R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7")


@dataclass(frozen=True, slots=True)
class Applied:
    """One application of a rule."""

    rule: Rule
    effect: Effect
    claims: tuple[str, ...]
    why: str
    cites: tuple[Citation, ...] = ()
    checker: str = ""
    items: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """As a record has it."""
        return {
            "rule": self.rule,
            "effect": self.effect,
            "claims": list(self.claims),
            "items": list(self.items),
            "why": self.why,
            "checker": self.checker,
            "cites": [cite.to_data() for cite in self.cites],
        }


def citation(one: Weighed, item: Item) -> Citation:
    """An item as a line that decided."""
    evidence = item.evidence
    quote = item.reopened.text if item.reopened.text is not None else evidence.quote
    where = (evidence.digest, item.selector, item.reopened.result, quote)
    return Citation(one.name, item.name, *where, item.content, item.captured)


def _of(docket: Docket, one: Weighed, cites: Iterable[Cite]) -> tuple[Citation, ...]:
    """Places that a checker names, as lines; an item of the claim that points there lends its id."""
    found = []
    for cite in cites:
        items = [item for item in one.items if item.evidence.digest == cite.digest]
        item = next((item for item in items if item.selector == cite.selector), None)
        content = items[0].content if items else docket.content_of(cite.digest)
        name = item.name if item else ""
        first = min((item.captured for item in items), default=(False, "~"))
        place = (cite.digest, cite.selector, "EXACT", cite.quote, content, first)
        found.append(Citation(one.name, name, *place))
    return tuple(found)


# --- R0


def r0(docket: Docket) -> Iterator[Applied]:
    """Claims without evidence, or without any that can be opened, go back."""
    for one in docket.claims:
        if not one.items and not one.claim.children:
            one.give_back("It has no evidence.")
        elif one.items and not any(item.usable for item in one.items):
            closed = [item for item in one.items if item.reopened.returns]
            if closed:
                one.give_back(_closed(closed[0]))
        if one.stand == "incomplete":
            yield Applied("R0", "returned", one.ids, one.why, tuple(citation(one, item) for item in one.items))
    for one in docket.claims:
        missing = [child for child in one.claim.children if not any(child in part.ids for part in one.parts)]
        if one.stand == "standing" and missing:
            one.give_back(f"Its part {missing[0]!r} is not in the case.")
            yield Applied("R0", "returned", one.ids, one.why)
    yield from _parts(docket)


def _closed(item: Item) -> str:
    what = (
        "no text can be read from its source"
        if item.reopened.unread
        else {
            "SOURCE_MISSING": "no bytes are kept under the digest of its source",
            "CHANGED": "nothing was kept of its source, which has changed since",
            "AMBIGUOUS": "its quote stands at several places, or its selectors contradict each other",
        }[item.reopened.result]
    )
    hint = f" {item.reopened.hint}" if item.reopened.hint else ""
    return f"Its evidence cannot be opened ({item.reopened.result}): {what}.{hint}"


def _parts(docket: Docket) -> Iterator[Applied]:
    """What a claim is made of decides on it."""
    for one in decided_by_parts(docket):
        effect: Effect = "returned" if one.rule == "R0" else "falls"
        yield Applied(_rule(one.rule), effect, one.ids, one.why, tuple(one.decided))


def _rule(name: str) -> Rule:
    return next(rule for rule in RULES if rule == name)


# --- R1, R2


def r1(docket: Docket) -> Iterator[Applied]:
    """Evidence that does not stand where it is said to is void."""
    for one in _standing(docket):
        gone = [item for item in one.items if item.reopened.voids]
        for item in gone:
            item.void, item.why = "R1", _not_there(item)
        yield from _voided(one, gone, "R1")
    yield from _parts(docket)


def _not_there(item: Item) -> str:
    if item.reopened.damaged:
        return "The stored bytes do not have the digest that is cited: they were altered."
    said = {"NOT_FOUND": "The quote does not stand there.", "OUT_OF_RANGE": "It points beyond its source."}
    hint = f" {item.reopened.hint}" if item.reopened.hint else ""
    return said[item.reopened.result] + hint


def r2(docket: Docket) -> Iterator[Applied]:
    """Evidence that says something else than the claim is void."""
    for one in _standing(docket):
        if not one.claim.typed:
            continue
        for item in one.items:
            if item.usable and item.source is not None:
                pinned = docket.case.sources.get(item.evidence.digest)
                table = pinned.table if pinned is not None else None
                column, counted = (table.subject, table.value) if table is not None else ("", "")
                item.reading = read_bearing(
                    one.claim, item.evidence, item.reopened, item.source, docket.measures,
                    column=column, counted=counted,
                )  # fmt: skip
        _together(docket, one)
        other = [item for item in one.items if item.usable and _elsewhere(docket, item)]
        for item in other:
            item.void, item.why = "R2", item.reading.why if item.reading else ""
        yield from _voided(one, other, "R2")
    yield from _parts(docket)


def _elsewhere(docket: Docket, item: Item) -> bool:
    """Whether an item says something else. Units, and sums over declared tables, are for checkers to say."""
    reading = item.reading
    if reading is None or reading.bears != "no" or reading.fault == "unit":
        return False
    pinned = docket.case.sources.get(item.evidence.digest)
    return reading.fault != "value" or pinned is None or pinned.table is None


def _together(docket: Docket, one: Weighed) -> None:
    """Items of which none says it may say it together: the rows of a log, two notes of one delivery."""
    open_to = [item for item in one.items if item.usable and item.reading is not None]
    parts: dict[str, list[Item]] = {}
    for item in open_to:
        if item.reading is not None and item.reading.bears != "yes" and item.reading.fault in _PARTS:
            parts.setdefault(item.evidence.digest, []).append(item)
    for some in parts.values():  # the rows of a log, whatever else says it
        _added(one, some)
    if any(item.reading is not None and item.reading.bears == "yes" for item in open_to):
        return
    by_origin: dict[str, list[list[Item]]] = {}
    for digest, some in parts.items():
        by_origin.setdefault(docket.origin_of(digest), []).append(some)
    # of copies one counts, the one that is cited most
    counted = [
        item
        for copies in by_origin.values()
        for item in max(copies, key=lambda some: (sum(map(_is_part, some)), some[0].order()))
    ]
    if _added(one, counted):
        for item in (item for some in parts.values() for item in some if item not in counted and _is_part(item)):
            item.reading = _says(item, "It is a copy of what adds up to it.")


def _is_part(item: Item) -> bool:
    return item.reading is not None and item.reading.value is not None


def _added(one: Weighed, items: Sequence[Item]) -> bool:
    """Whether numbers of items add up to what the claim says; if so, they say it."""
    counted = [item for item in items if _is_part(item)]
    values = [item.reading.value for item in counted if item.reading is not None and item.reading.value is not None]
    if len(values) < 2 or not is_value(one.claim, sum(values, Fraction(0))):
        return False
    for item in counted:
        item.reading = _says(item, f"{len(values)} items add up to it.")
    return True


def _says(item: Item, why: str) -> Reading:
    reading = item.reading or Reading("yes", why)
    return Reading("yes", why, "", reading.value, reading.found, reading.rows)


def _voided(one: Weighed, items: Sequence[Item], rule: Rule) -> Iterator[Applied]:
    """Say which items are void, and what becomes of the claim."""
    for item in items:
        yield Applied(rule, "void", one.ids, item.why, (citation(one, item),), items=(item.name,))
    if items and not any(item.usable for item in one.items) and not one.parts:
        if (back := _still_closed(one)) is not None:
            yield back
            return
        one.fall(rule, items[0].why)
        one.decided = [citation(one, item) for item in items]
        yield Applied(rule, "falls", one.ids, one.why, tuple(one.decided))


def _still_closed(one: Weighed) -> Applied | None:
    """A claim whose last usable item is void goes back if it rests on others, too, that could not be opened."""
    closed = next((item for item in one.items if item.reopened.returns), None)
    if closed is None:
        return None
    one.give_back(_closed(closed))
    return Applied("R0", "returned", one.ids, one.why, (citation(one, closed),))


# --- R3


def r3(docket: Docket) -> Iterator[Applied]:
    """What a checker refutes falls, so far as it rests on what was checked."""
    tables = {digest: pinned.table for digest, pinned in docket.case.sources.items() if pinned.table is not None}
    for one in _standing(docket):
        yield from _rerun(docket, one)
        if one.stand != "standing" or not one.claim.typed:
            continue
        read = [Read(i.evidence, i.source, i.reading) for i in one.items if i.usable and i.source and i.reading]
        checked = list(check_claim(one.claim, read, tables, docket.measures))
        if (whole := check_parts(one.claim, [part.claim for part in one.parts], docket.measures)) is not None:
            checked.append(whole)
        one.checked += checked
        for found in checked:
            yield from _checked(docket, one, found)
    yield from _parts(docket)


def _checked(docket: Docket, one: Weighed, found: Checked) -> Iterator[Applied]:
    cites = _of(docket, one, found.cites)
    if found.verdict == "holds":
        yield Applied("R3", "confirmed", one.ids, found.why, cites, found.checker)
        return
    if one.stand != "standing":
        return
    origins = {docket.origin_of(cite.digest) for cite in found.cites}
    resting = [i for i in one.items if i.usable and (not origins or docket.origin_of(i.evidence.digest) in origins)]
    for item in resting:
        item.void, item.why = "R3", found.why
    yield Applied("R3", "void", one.ids, found.why, cites, found.checker, tuple(item.name for item in resting))
    if not found.cites or not any(item.usable for item in one.items):
        if found.cites and not one.parts and (back := _still_closed(one)) is not None:
            yield back
            return
        one.fall("R3", f"{found.why} ({found.checker})")
        one.decided = list(cites) or [citation(part, item) for part in one.parts for item in part.usable()]
        yield Applied("R3", "falls", one.ids, one.why, cites, found.checker)


def _rerun(docket: Docket, one: Weighed) -> Iterator[Applied]:
    other = [item for item in one.items if item.usable and docket.reruns.get(item.evidence.digest) == "differs"]
    for item in other:
        item.void, item.why = "R3", f"The tool gives another output for the same call ({RERUN})."
    yield from _voided(one, other, "R3")


# --- R4, R5


def r4(docket: Docket, found: Sequence[Fault] = ()) -> Iterator[Applied]:
    """What rests only on a source that is wrong in itself falls.

    Args:
        docket: the case.
        found: what a verifier has found; what programs find is found here.
    """
    cited = _originals_first(item for one in _standing(docket) for item in one.items if item.usable)
    faults = list(found) or [fault for digest in cited for fault in faults_in(docket.sources[digest])]
    for fault in faults:
        origin = docket.origin_of(fault.digest)
        for one in _standing(docket):
            resting = [i for i in one.items if i.usable and docket.origin_of(i.evidence.digest) == origin]
            if not resting or not (found or fault.concerns(one.claim, _places(resting))):
                continue
            for item in resting:
                item.void, item.why = "R4", fault.why
            cites = _of(docket, one, fault.cites)
            names = tuple(item.name for item in resting)
            yield Applied("R4", "void", one.ids, fault.why, cites, fault.checker, names)
            if not any(item.usable for item in one.items) and not one.parts:
                if (back := _still_closed(one)) is not None:
                    yield back
                    continue
                one.fall("R4", f"Its only source is wrong: {fault.why} ({fault.checker})")
                one.decided = list(cites)
                yield Applied("R4", "falls", one.ids, one.why, cites, fault.checker)
    yield from _parts(docket)


def _originals_first(items: Iterable[Item]) -> list[str]:
    """Digests of sources, so that of copies the original is looked at first and is the one that is cited."""
    first: dict[str, tuple[bool, str]] = {}
    for item in items:
        digest = item.evidence.digest
        first[digest] = min(item.captured, first.get(digest, item.captured))
    return sorted(first, key=lambda digest: (first[digest], digest))


def _places(items: Sequence[Item]) -> frozenset[tuple[str, str]]:
    found = set()
    for item in items:
        if item.source is not None:
            around = surroundings(item.evidence, item.reopened, item.source)
            found |= {(item.evidence.digest, line) for line in around.line.split("\n")}
    return frozenset(found)


def r5(docket: Docket) -> Iterator[Applied]:
    """Of copies of one source one counts. This only stops double counting: numbers of sources never settle."""
    for one in _standing(docket):
        items = [item for item in one.items if item.usable]
        origins = {docket.origin_of(item.evidence.digest) for item in items}
        if len({item.evidence.digest for item in items}) > len(origins):
            said = f"{len(items)} citations, {len(origins)} origin{'' if len(origins) == 1 else 's'}"
            cites = collapsed(citation(one, item) for item in items)
            yield Applied("R5", "counted once", one.ids, f"{said}.", cites, items=tuple(item.name for item in items))


def _standing(docket: Docket) -> list[Weighed]:
    return [one for one in docket.claims if one.stand == "standing"]
