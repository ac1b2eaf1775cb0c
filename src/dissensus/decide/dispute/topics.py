"""Is a text about what a claim is about? The thing it names, the property, the time. Only what can be seen is said.

Each answer is one of three: it is, it is not, or nothing tells. Whoever asks voids an item on "it is not" alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from dissensus.decide.dispute.amounts import stem, words_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row, Surroundings
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.values import AsOf, NotRead, as_of_from
from dissensus.decide.dispute.words import UNITS

Told = Literal["yes", "no", "silent"]

_TOKEN: Final = re.compile(r"[^\s,;:()\[\]\"']+")
_IDENTIFIER: Final = r"[^\s,;:()\[\]\"'#]*\d[^\s,;()\[\]\"']*"
_EMPTY: Final = frozenset(["the", "a", "an", "of", "for", "in", "on", "at", "by", "to", "no", "nr", "number"])
_IDENTIFYING: Final = frozenset(["no", "nr", "id", "number", "ref", "code"])
_CONDITION: Final = re.compile(r"\b(?:good|perfect|proper|working)\s+$")
"""Words after which "order" is a state, and no order."""
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
_CLOSE: Final = frozenset(["arrived", "sent"])
"""What was sent and what arrived is told apart by nobody for sure: between these nothing is said."""
_TIMES: Final = frozenset(["time", "date", "day", "at", "when", "timestamp", "booked", "moment", "datum", "zeit"])
_NOT_TIMES: Final = frozenset(["due", "print", "printed", "expected", "planned", "ordered", "order", "expiry", "born"])


@dataclass(frozen=True, slots=True)
class Subject:
    """What a claim is about: its identifiers (``4711``), the other words (``order``), and the unit of its number."""

    ids: frozenset[str]
    words: frozenset[str]
    unit: str = ""


def subject_of(claim: Claim) -> Subject:
    """The subject of a claim as it is looked for in texts."""
    tokens = [token.strip(".#") for token in _TOKEN.findall(normal(claim.subject or ""))]
    ids = frozenset(token for token in tokens if any(char.isdigit() for char in token))
    words = frozenset(stem(token) for token in tokens if token and token not in ids) - _EMPTY
    return Subject(ids, words, stem(claim.unit or ""))


def names_subject(claim: Claim, around: Surroundings, row: Row | None, source: Source, column: str = "") -> Told:
    """Whether what stands around an item is about the claim's subject; ``no`` if it is about another thing.

    ``column`` is the one that is declared to hold what a row is about; "" if none is.
    """
    subject = subject_of(claim)
    if row is not None and (written := normal(row.fields.get(column, "")).strip()):
        own = written == normal(claim.subject or "").strip() or any(_stands(one, written) for one in subject.ids)
        return "yes" if own else "no"
    if row is not None and (told := _in_row(subject, row)) != "silent":
        return told
    told, others = _in_text(subject, around.line)
    if told == "yes" or others:
        return "yes" if told == "yes" else "no"
    whole = source.text
    if whole is None:
        return "silent"
    if row is not None and row.number:
        whole = whole.lstrip("\ufeff").partition("\n")[0]  # what another row names, this one need not be about
    everywhere, others = _in_whole(subject, whole)
    if everywhere != "yes":
        return "no" if others and subject.ids else "silent"
    if others and row is None:  # the document is about several things: which of them was named last before this?
        at = whole.find(around.line) if around.start is None else around.start
        return "yes" if _last_named_is_own(subject, whole[: max(at, 0)]) else "silent"
    return "yes" if row is None or not others else "silent"


def _in_row(subject: Subject, row: Row) -> Told:
    for name, value in row.fields.items():
        words = words_of(name)
        if words & subject.words and words <= subject.words | _IDENTIFYING and subject.ids:
            written = normal(value).strip().lstrip("#")
            if written in subject.ids or any(_stands(one, written) for one in subject.ids):
                return "yes"
            if _alike(written, subject) and name != row.chosen:
                return "no"
    if any(normal(value).strip() in subject.ids for value in row.fields.values()):
        return "yes"
    return "silent"


def _in_text(subject: Subject, text: str) -> tuple[Told, bool]:
    """Whether a text names the subject, and whether it names another thing of its kind."""
    plain = normal(text)
    others = {each for each in _all_named(subject, text) if each not in subject.ids}
    named = all(_stands(one, plain) for one in subject.ids) if subject.ids else subject.words <= words_of(plain)
    return ("yes" if named else "silent"), bool(others) and bool(subject.ids)


@lru_cache(maxsize=16)
def _in_whole(subject: Subject, text: str) -> tuple[Told, bool]:
    return _in_text(subject, text)


def _all_named(subject: Subject, text: str) -> list[str]:
    """What :func:`named_in` finds in the lines of a text that hold the subject's noun at all."""
    lines = (line for line in text.splitlines() if any(word in line.casefold() for word in subject.words))
    return [each for line in lines for each in named_in(subject, normal(line))]


def named_in(subject: Subject, text: str) -> list[str]:
    """Identifiers that stand after the subject's noun in a text after N: ``order 4712``, ``order no. 4712``."""
    if not subject.words:
        return []
    nouns = "|".join(re.escape(word) for word in sorted(subject.words))
    pattern = rf"\b(?:{nouns})s?\b[\s:#.]*(?:(?:no|nr|number|id)\b[\s:#.]*)?({_IDENTIFIER})"
    found = []
    for match in re.finditer(pattern, text):
        following = re.match(r"\s*([^\W\d_]+)", text[match.end() :])
        identifier = match[1].strip(".:")
        counted = following is not None and (following[1] in UNITS or stem(following[1]) == subject.unit)
        counted = counted or _CONDITION.search(text[: match.start()]) is not None  # in good order: 12
        if not counted and (identifier in subject.ids or _alike(identifier, subject)):
            found.append(identifier)
    return found


def _alike(identifier: str, subject: Subject) -> bool:
    """Whether an identifier has the form of the subject's own, so that it names another thing of its kind."""
    return any(
        _form(identifier) == _form(one) or (identifier.isdigit() and one.isdigit() and len(identifier) > 2)
        for one in subject.ids
    )


def _form(identifier: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", identifier))


def _last_named_is_own(subject: Subject, before: str) -> bool:
    found = _all_named(subject, before)
    return not found or found[-1] in subject.ids


def _stands(identifier: str, text: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(identifier)}(?![^\W_])", text) is not None


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
    return frozenset(name for name, family in _FAMILIES.items() if words & {stem(word) for word in family})


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
