"""Is a text about the property and the time that a claim is about? Only what can be seen is said.

Each answer is one of three: it is, it is not, or nothing tells. Whoever asks voids an item on "it is not" alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dissensus.decide.dispute.amounts import stem, words_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.subjects import Told
from dissensus.decide.dispute.values import AsOf, NotRead, as_of_from

_FAMILIES: Final[Mapping[str, frozenset[str]]] = {
    "planned": frozenset(["ordered", "expected", "planned", "announced", "due", "requested", "promised"]),
    "arrived": frozenset(["received", "delivered", "arrived", "accepted", "receipt", "unloaded"]),
    "sent": frozenset(["shipped", "sent", "dispatched", "loaded"]),
    "lacking": frozenset(["missing", "lacking", "lost", "short", "shortage"]),
    "broken": frozenset(["damaged", "broken", "defective"]),
    "billed": frozenset(["invoiced", "billed", "charged"]),
    "back": frozenset(["returned", "refused", "rejected"]),
}
"""Words that tell what of a thing is counted. Two different ones are two properties."""
_STEMS: Final = {name: frozenset(map(stem, family)) for name, family in _FAMILIES.items()}
_CLOSE: Final = frozenset(["arrived", "sent"])
"""What was sent and what arrived is told apart by nobody for sure: between these nothing is said."""
_TIMES: Final = frozenset(["time", "date", "day", "at", "when", "timestamp", "booked", "moment", "datum", "zeit"])
_NOT_TIMES: Final = frozenset(["due", "print", "printed", "expected", "planned", "ordered", "order", "expiry", "born"])


def same_property(claim: Claim, words: frozenset[str]) -> Told:
    """Whether words beside an amount tell of the property that the claim states; ``no`` if they tell of another one."""
    asked = families(words_of(claim.attribute or ""))
    found = families(words - words_of(claim.subject or ""))
    if not asked or not found:
        return "silent"
    if asked & found:
        return "yes"
    return "silent" if asked | found <= _CLOSE else "no"


def families(words: frozenset[str]) -> frozenset[str]:
    """Which properties words name: ``arrived`` for "received", ``planned`` for "ordered"."""
    return frozenset(name for name, family in _STEMS.items() if words & family)


def in_period(claim: Claim, row: Row) -> Told:
    """Whether a row's time lies in what the claim is about; of an instant, before it or at it."""
    times = times_of(row)
    if len(times) != 1 or claim.as_of is None:
        return "silent"
    return "yes" if belongs(claim.as_of, times[0]) else "no"


def times_of(row: Row) -> list[AsOf]:
    """The times that a row's fields hold of what happened, not of when it was due or printed."""
    return [time for name, value in row.fields.items() if (time := _time(name, value)) is not None]


def belongs(as_of: AsOf, time: AsOf) -> bool:
    """Whether something that happened at ``time`` counts for what holds ``as_of``."""
    if as_of.instant:
        return time.start is None or as_of.start is None or time.start <= as_of.start
    return as_of.overlaps(time)


def _time(name: str, value: str) -> AsOf | None:
    words = words_of(name)
    if not words & _TIMES or words & _NOT_TIMES:
        return None
    return moment_in(value)


def moment_in(value: str) -> AsOf | None:
    """The time that a field holds; None if it holds none that can be read."""
    try:
        return as_of_from(value) if any(sign in value for sign in "-:") else None
    except NotRead:
        return None
