"""What the source of a fallen report says, as far as a program has read it: that is no less worth than what is left.

See ``docs/adr/0012-a-source-that-was-read-wrongly-still-tells.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import amounts_in, stem
from dissensus.decide.dispute.bearing import Reading
from dissensus.decide.dispute.checkers import has_twice
from dissensus.decide.dispute.docket import Docket, Weighed
from dissensus.decide.dispute.faults import faults_in
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.precedence import outranks

_Told = tuple[Fraction, str, tuple[str, ...]]
"""A number in the claim's unit, a sentence, and the sources that tell it."""


def told_otherwise(docket: Docket, left: Sequence[Weighed], fallen: Sequence[Weighed]) -> str:
    """What it says on which a fallen claim rests, if that is not what is left; "" if it is.

    What was read or added up wrongly still tells something, and that is no less worth than what is left. Where the
    user's precedence puts its source below, what is left goes before it.
    """
    rules = docket.case.precedence
    for one in fallen:
        told = [*_worked_out(one), *_read(docket, one)]
        for other in left:
            if other.name not in docket.rivals.get(one.name, frozenset()):
                continue
            if any(_is_total(docket, one, other, total) for total, _, _ in told):
                continue
            for _, why, digests in told:
                kinds = {pinned.kind for digest in digests if (pinned := docket.case.sources.get(digest)) is not None}
                beaten = rules is not None and outranks(
                    rules, other.claim, kinds_of(docket, other), one.claim, sorted(kinds)
                )
                if not beaten:
                    return f"Only {other.name} is left, and what {one.name} rests on says something else: {why}"
    return ""


def _worked_out(one: Weighed) -> Iterator[_Told]:
    """What a checker has added up of a declared table."""
    for found in one.checked:
        if found.total is not None and found.cites:
            yield found.total, found.why, (found.cites[0].digest,)


def _read(docket: Docket, one: Weighed) -> Iterator[_Told]:
    """What R2 has read in sound sources: each, and all together where a delivery stands in several.

    Copies are one source, and what is cited twice is told once.
    """
    read: dict[str, dict[object, tuple[Fraction, tuple[Row, ...]]]] = {}
    origins: dict[str, str] = {}
    for item in sorted(one.items, key=lambda item: item.evidence.digest):
        reading, digest = item.reading, item.evidence.digest
        if item.void != "R2" or reading is None or reading.fault != "value" or reading.value is None:
            continue
        if _is_told(one, reading) and origins.setdefault(docket.origin_of(digest), digest) == digest:
            place = tuple(row.number for row in reading.rows) or reading.found
            read.setdefault(digest, {})[place] = reading.value, reading.rows
    sound = {
        digest: [value for value, _ in places.values()]
        for digest, places in read.items()
        if not faults_in(docket.sources[digest])
        and not has_twice(one.claim, [row for _, rows in places.values() for row in rows])
    }
    for digest, some in sound.items():
        yield sum(some, Fraction(0)), f"It says {' + '.join(map(plain_text, some))}.", (digest,)
    if len(sound) > 1:
        every = [value for some in sound.values() for value in some]
        yield sum(every, Fraction(0)), f"They say {' + '.join(map(plain_text, every))}.", tuple(sound)


def _is_told(one: Weighed, reading: Reading) -> bool:
    """Whether a number is one of what is claimed: it stands in rows of a table, or beside the unit that is claimed."""
    if reading.rows:
        return all(row.number for row in reading.rows)
    unit = stem(one.claim.unit or "")
    return any(unit in amount.words and amount.value == reading.value for amount in amounts_in(reading.found).found)


def _is_total(docket: Docket, one: Weighed, other: Weighed, total: Fraction) -> bool:
    """Whether ``other`` says what was worked out of what ``one`` rests on."""
    number = other.claim.value.number if other.claim.value is not None else None
    said = None if number is None else docket.measures.into(Fraction(number), other.claim.unit or "", one.claim)
    return said is not None and abs(said - total) <= max(
        Fraction(one.claim.tolerance or 0), Fraction(other.claim.tolerance or 0)
    )


def kinds_of(docket: Docket, one: Weighed) -> list[str]:
    """The declared kinds of the sources that a claim rests on, one for each origin."""
    kinds: dict[str, str] = {}
    for item in one.usable():
        pinned = docket.case.sources.get(item.evidence.digest)
        kinds.setdefault(docket.origin_of(item.evidence.digest), pinned.kind if pinned else "")
    return sorted(kinds.values())
