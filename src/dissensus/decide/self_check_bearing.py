"""Does a passage say what an answer says? By rule R2 where the answer is typed, else: its words stand there.

``yes`` means no more than this: the answer stands in the passage, the other one does not, and nothing that a program
can read says that it is about another thing, or denies it. Whether the passage answers the question is for a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Final

from dissensus.answers.dates import Date, scan_dates
from dissensus.answers.quantity import Quantity, merged, scan
from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import amounts_in
from dissensus.decide.dispute.bearing import Bears, Measures, read_bearing
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence, Reopened
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import surroundings
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.values import Value, value_of
from dissensus.decide.self_check_answers import Held
from dissensus.decide.self_check_documents import listed, telling, words_in

MOST_SEARCHED: Final = 200_000
"""Characters of a text in which an answer is looked for."""
_SUBJECT: Final = re.compile(r"\b([^\W\d_]{3,})\s+(?:(?:no|nr)\.?\s*|number\s+)?#?((?=[\w/-]*\d{3})[\w/-]+)")
_NO_NOUN: Final = listed(
    "about above after before below between during from into over since than until under with within year years"
    " january february march april may june july august september october november december"
)
_OTHER_THING: Final = frozenset(["subject", "attribute", "period", "cut"])
_MEASURES: Final = Measures()


@dataclass(frozen=True, slots=True)
class Bearing:
    """Whether a passage bears on an answer, and a sentence that says why."""

    bears: Bears
    why: str


def bearing_of(
    question: str, answers: tuple[Held, Held], evidence: Evidence, reopened: Reopened, source: Source
) -> Bearing:
    """Whether what was reopened says that the answer is the first of ``answers``, and not the second."""
    chosen, other = answers
    around = surroundings(evidence, reopened, source)
    here, there = stands_in(chosen, around.text, question), stands_in(other, around.text, question)
    claim = claim_of(question, chosen)
    if claim is not None:
        reading = read_bearing(claim, evidence, reopened, source, _MEASURES)
        if reading.bears == "yes":
            return Bearing("yes", reading.why)
        if reading.bears == "no":
            surely = reading.fault in _OTHER_THING or not here or there
            return Bearing("no" if surely else "unclear", reading.why)
        alone = replace(claim, subject=None)
        if claim.subject and read_bearing(alone, evidence, reopened, source, _MEASURES).bears == "yes":
            return Bearing("unclear", f"It does not say that it is about {claim.subject}.")
    if here is None:
        polar = chosen.read is not None and isinstance(chosen.read.value, bool)
        why = (
            "A program cannot tell yes from no in a line of text."
            if polar
            else "Only a part of the answer stands there."
        )
        return Bearing("unclear", why)
    if not here:
        if stands_in(chosen, around.line, question):
            return Bearing("unclear", "The answer stands in that line, and not in what is quoted of it.")
        return Bearing("no", "The other answer stands there." if there else "The answer does not stand there.")
    if there:
        return Bearing("unclear", "Both answers stand there.")
    line = amounts_in(around.line)
    if line.negated:
        return Bearing("unclear", "It names the answer and may deny it: a negation stands there.")
    if line.open and chosen.read is not None and isinstance(chosen.read.value, Quantity):
        return Bearing("unclear", "It names the number, and more that a program cannot read.")
    return Bearing("yes", "The answer stands there.")


def claim_of(question: str, held: Held) -> Claim | None:
    """An answer as a typed claim, for rule R2; None if it has no such type.

    The claimed property is the question in its own words; the subject an identifier in it, such as ``order 4711``.
    """
    value = held.read.value if held.read is not None else None
    typed: Value | None = None
    unit = ""
    try:
        if isinstance(value, bool):
            typed = value_of(value)
        elif isinstance(value, Quantity):
            typed = value_of(plain_text(value.number), "decimal") if _ends(value.number) else None
            unit = value.unit.name if value.unit is not None else value.noun
        elif isinstance(value, Date) and value.day and value.year and not value.before_christ:
            typed = value_of(date(value.year, value.month, value.day).isoformat(), "date")
    except ValueError:  # no day of the calendar, or more digits than a quantity has
        return None
    if typed is None:
        return None
    return Claim(id="answer", subject=subject_in(question), attribute=question, value=typed, unit=unit or None)


def _ends(number: Fraction) -> bool:
    """Whether a number can be written out with a decimal point."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and "e" not in plain_text(number)


def subject_in(question: str) -> str | None:
    """The one thing that a question names by an identifier, such as ``order 4711``; None if it names none, or several.

    An identifier holds at least three digits in a row, and a noun stands before it.
    """
    found = [match for match in _SUBJECT.finditer(question) if match[1].casefold() not in _NO_NOUN]
    if len({match[2].casefold() for match in found}) != 1:
        return None
    return f"{found[0][1]} {found[0][2]}"


def stands_in(held: Held, text: str, question: str) -> bool | None:
    """Whether an answer stands in a text; None where a program cannot tell.

    A number or a date does if the text states it, a text if it is in it as it is, or else all its telling words: those
    that are neither common nor the question's. If only some of them are, nobody can tell; nor ever of yes and no.
    """
    value = held.read.value if held.read is not None else None
    text = text[:MOST_SEARCHED]
    if value is None:
        return False
    if isinstance(value, bool):
        return None
    if isinstance(value, Quantity):
        return any(one.quantity is not None and _same(value, one.quantity) for one in merged(text, list(scan(text))))
    if isinstance(value, Date):
        return any(one.date == value for one in scan_dates(text))
    plain = normal(text)
    written = normal(held.answered.written).strip()
    if written and re.search(rf"(?<!\w){re.escape(written)}(?!\w)", plain) is not None:
        return True
    words = telling(written, question)
    shared = words & words_in(text)
    return None if shared and shared != words else bool(words) and shared == words


def _same(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities say the same; a number without a unit takes that of the other."""
    if one.unit is None or other.unit is None:
        return one.number == other.number
    return one.canonical() == other.canonical()
