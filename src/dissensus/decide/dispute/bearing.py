"""Does what stands there say what the claim says? Rule R2, and the values that checkers go on with.

Three answers. ``yes``: the value stands there, for this subject. ``no``: something else stands there for certain:
another value, another thing, another property, another time, or nothing of the kind. ``unclear``: a program cannot
tell. What is unclear voids nothing and settles nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final, Literal

from dissensus.answers.dates import scan_dates
from dissensus.decide.dispute.amounts import Amount, amounts_in, stem, words_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence, Reopened
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row, Surroundings, surroundings
from dissensus.decide.dispute.row_doubts import FALSE, TRUE, doubt, plain_number, property_words, undone
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.subjects import names_subject, subject_of
from dissensus.decide.dispute.topics import families, in_period, same_property
from dissensus.decide.dispute.units import STANDARD, Conversion, Units
from dissensus.decide.dispute.words import UNITS

Bears = Literal["yes", "no", "unclear"]
Fault = Literal["", "value", "part", "subject", "attribute", "period", "nothing", "unit", "cut"]

_UNIT_COLUMNS: Final = frozenset(["unit", "uom", "einheit", "unita", "unite"])
_NO_VALUE_COLUMNS: Final = frozenset(["id", "no", "nr", "number", "key", "ref", "booking", "ticket", "line", "pos"])
_MONEY: Final = frozenset(["eur", "euro", "usd", "dollar", "gbp", "chf", "jpy", "yen"])
"""A sum may be claimed without its currency."""
_WHOLE: Final = frozenset(["complete", "all", "full", "whole", "entire", "missing", "short", "partial"])
_DAY_WORDS: Final = frozenset(["date", "datum", "day", "data", "fecha"])
_BOUND: Final = re.compile(
    r"\b(?:before|after|until|till|by|since|from|latest|earliest|than|between|expected|planned|due|or)\b"
)
"""Words beside a day that it need not be."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an item says about a claim.

    Args:
        bears: whether it says what the claim says.
        why: a sentence for people.
        fault: what is other than claimed, where ``bears`` is ``no``.
        value: the one number that stands there, in the claim's unit; None if there is none, or several.
        found: what stands there, with its unit, as a text.
        rows: the rows or the object that it was read from.
    """

    bears: Bears
    why: str
    fault: Fault = ""
    value: Fraction | None = None
    found: str = ""
    rows: tuple[Row, ...] = ()


class Measures:
    """Units, and which words are names of units here.

    Args:
        conversions: what is declared beyond the standard table.
    """

    def __init__(self, conversions: tuple[Conversion, ...] = ()) -> None:
        self.units = Units(conversions)
        names = {name for each in (*STANDARD, *conversions) for name in (each.unit, each.of)}
        self.names = UNITS | {stem(name) for name in names} | {normal(name) for name in names}

    def into(self, value: Fraction, unit: str, claim: Claim) -> Fraction | None:
        """``value`` in the claim's unit; None if its unit is another one that is not convertible."""
        if not unit or stem(unit) == stem(claim.unit or "") or (claim.unit is None and stem(unit) in _MONEY):
            return value
        if (found := self.units.factor(unit, claim.unit, claim.subject)) is not None:
            return value * found[0]
        return None if unit in self.names or stem(unit) in self.names else value


def read_bearing(
    claim: Claim, evidence: Evidence, reopened: Reopened, source: Source, measures: Measures, *, column: str = "",
    counted: str = "",
) -> Reading:  # fmt: skip
    """What an item that was found says about ``claim``.

    ``column`` holds the subject and ``counted`` what is counted, of a table declared so.
    """
    if reopened.cut == "number":
        return Reading("no", "The quote is cut out of a longer number.", "cut")
    around = surroundings(evidence, reopened, source)
    told = [names_subject(claim, around, row, source, column) for row in around.rows or (None,)]
    if "no" in told:
        return Reading("no", "It is about another subject.", "subject", rows=around.rows)
    if any(in_period(claim, row) == "no" for row in around.rows):
        return Reading("no", "It is of another time.", "period", rows=around.rows)
    found = _value(claim, around, measures, counted)
    if found.bears == "yes" and "silent" in told:
        return Reading("unclear", "It does not say what it is about.", "", found.value, found.found, around.rows)
    return Reading(found.bears, found.why, found.fault, found.value, found.found, around.rows)


def _value(claim: Claim, around: Surroundings, measures: Measures, counted: str) -> Reading:
    if claim.value is None:
        return Reading("unclear", "The claim states no value.")
    if claim.value.number is not None:
        if around.rows:
            return _rows(claim, around.rows, measures, counted)
        return _text(claim, around, measures)
    if len(around.rows) == 1 and around.rows[0].chosen is not None:
        return _cell(claim, around.rows[0].fields[around.rows[0].chosen])
    return _words(claim, around)


def is_value(claim: Claim, value: Fraction) -> bool:
    """Whether a number in the claim's unit is what the claim says, within its tolerance."""
    number = claim.value.number if claim.value is not None else None
    return number is not None and abs(value - Fraction(number)) <= Fraction(claim.tolerance or 0)


# --- rows of tables, objects


def _rows(claim: Claim, rows: tuple[Row, ...], measures: Measures, counted: str) -> Reading:
    read = [row_value(claim, row, measures, counted) for row in rows]
    if len(read) == 1:
        return read[0]
    if any(each.value is None for each in read):
        return Reading("unclear", "Not every row holds one number.")
    total = sum((each.value for each in read if each.value is not None), Fraction(0))
    said = " + ".join(each.found for each in read)
    if is_value(claim, total):
        return Reading("yes", f"The rows add up to it: {said}.", "", total, said)
    if is_value(claim, Fraction(len(rows))):
        return Reading("unclear", "It may be the number of the rows.")
    return Reading("no", f"The rows add up to something else: {said}.", "value", total, said)


def row_value(claim: Claim, row: Row, measures: Measures, counted: str = "") -> Reading:
    """What one row or object says about a claim about a number; ``counted`` is the field declared to hold it."""
    name = row.chosen or value_column(claim, row)
    if name is None:
        return Reading("unclear", "No field can be told to be the value.")
    words = words_of(name)
    label = bool(words) and words <= subject_of(claim).words | _NO_VALUE_COLUMNS
    other = same_property(claim, property_words(row, name)) == "no"
    if other or (label and not words & words_of(claim.attribute or "")):
        return Reading("no", f"The field {name!r} is about something else.", "attribute")
    text = row.fields[name]
    amounts = amounts_in(plain_number(text))
    if row.chosen is not None and (better := _better(claim, row)) is not None:
        value = amounts.found[0].value if len(amounts.found) == 1 and not amounts.open else None
        return Reading("no", f"The field is {name!r}, and there is {better!r}.", "part", value, f"{name}: {text}")
    if len(amounts.found) != 1 or amounts.negated or amounts.open:
        if not amounts.found and not amounts.open:
            return Reading("no", f"The field {name!r} holds no number.", "nothing")
        return Reading("unclear", f"The field {name!r} holds no single number.")
    amount = amounts.found[0]
    if why := undone(claim, row, name) if name == counted else doubt(claim, row, name, measures.names):
        return Reading("unclear", why, "", None, f"{name}: {text}")
    return _single(claim, amount, amount.unit or unit_of(row, name, measures), measures, f"{name}: {text}")


def value_column(claim: Claim, row: Row) -> str | None:
    """The field that holds the claim's value, where the evidence names none; None if that cannot be told."""
    subject = subject_of(claim)
    wanted = words_of(claim.attribute or "") | {stem(claim.unit or "")}
    scored: list[tuple[int, str]] = []
    for name, text in row.fields.items():
        words = words_of(name)
        if words & (subject.words | _NO_VALUE_COLUMNS) or same_property(claim, words) == "no":
            continue
        amounts = amounts_in(text).found
        if len(amounts) == 1 and words_of(text) <= UNITS | {amounts[0].unit, stem(claim.unit or "")}:  # no remark
            also = bool(words & {"qty", "quantity", "amount"} and words & wanted) + (
                same_property(claim, words) == "yes"
            )
            scored.append((len(words & wanted) + also, name))
    scored.sort(reverse=True)
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        return None
    return scored[0][1] if scored[0][0] or len(scored) == 1 else None


def _better(claim: Claim, row: Row) -> str | None:
    """Another field whose name is the claimed property, where that of the chosen field is not."""
    wanted = words_of(claim.attribute or "")
    if not wanted or row.chosen is None or wanted <= words_of(row.chosen):
        return None
    return next((name for name in row.fields if name != row.chosen and wanted <= words_of(name)), None)


def unit_of(row: Row, name: str, measures: Measures) -> str:
    """The unit of a field: of a column of units, or a word in the field's own name."""
    for column, text in row.fields.items():
        if words_of(column) & _UNIT_COLUMNS and column != name:
            return stem(text)
    return next((word for word in sorted(words_of(name)) if word in measures.names), "")


# --- running text


def _text(claim: Claim, around: Surroundings, measures: Measures) -> Reading:
    line = amounts_in(around.line)
    end = around.at + len(around.text)
    inside = [each for each in line.found if around.at <= each.start and each.end <= end]
    if not inside:
        return _nothing(claim, around, readable=not line.open)
    kept = [each for each in inside if same_property(claim, each.words) != "no"]
    if not kept:
        return Reading("no", "It counts something else of it.", "attribute")
    if line.negated:
        return Reading("unclear", "It may deny what it says: a negation stands there.")
    labelled = _labelled(claim, kept)
    if labelled is None:
        several = len(line.found) > 1 and len(kept) == 1 and not line.open
        whole = _labelled(claim, list(line.found)) if several else None
        if whole is not None and whole not in kept and whole.value != kept[0].value:
            return Reading("no", "The line states it beside that, as something else.", "attribute")
    one = kept[0] if len(kept) == 1 else labelled
    if one is None:
        fitting = [each for each in kept if each.unit and measures.into(each.value, each.unit, claim) is not None]
        fitting = [each for each in fitting if each.unit in measures.names or stem(each.unit) == stem(claim.unit or "")]
        found = _single(claim, fitting[0], fitting[0].unit, measures, around.text) if len(fitting) == 1 else None
        return found if found and found.bears == "yes" else Reading("unclear", "Several numbers stand there.")
    found = _single(claim, one, one.unit, measures, around.text)
    if line.open:
        return Reading("unclear", "It holds more than can be read.", "", found.value, found.found)
    return found


def _labelled(claim: Claim, amounts: list[Amount]) -> Amount | None:
    """The one amount whose words fit the claimed property better than those of all others."""
    if len(amounts) < 2:
        return None
    unit = stem(claim.unit or "")
    wanted = words_of(claim.attribute or "") | {unit}
    scores = []
    for number, each in enumerate(amounts):
        words = each.words | ({unit} & {each.unit})
        if number and unit and amounts[number - 1].unit == unit != each.unit:
            words -= {unit}  # "693 drums at dock 3": the word between them is the unit of the first
        scores.append(len(words & wanted))
    best = max(scores)
    return amounts[scores.index(best)] if best and scores.count(best) == 1 else None


def _single(claim: Claim, amount: Amount, unit: str, measures: Measures, said: str) -> Reading:
    """What the one number that stands there says."""
    value = measures.into(amount.value, unit, claim)
    said = said.strip()[:80]
    if value is None:
        if is_value(claim, amount.value):
            if claim.unit is None:
                return Reading("unclear", f"The claim names no unit: {said}.", "", None, said)
            return Reading("no", f"The unit is another one: {said}.", "unit", None, said)
        return Reading("no", f"It is a number of something else: {said}.", "value", None, said)
    if is_value(claim, value):
        whole = claim.value is not None and claim.value.number == int(claim.value.number or 0)
        if amount.others and not (whole and all(each.denominator > 1 for each in amount.others)):
            return Reading("unclear", f"Its digits can be read in two ways: {said}.")
        return Reading("yes", f"It says so: {said}.", "", value, said)
    others = [other for each in amount.others if (other := measures.into(each, unit, claim)) is not None]
    if any(is_value(claim, other) for other in others):
        whole = claim.value is not None and claim.value.number == int(claim.value.number or 0)
        if whole and value.denominator > 1:
            return Reading("yes", f"It says so: {said}.", "", Fraction(claim.value.number or 0), said)  # type: ignore[union-attr]
        return Reading("unclear", f"Its digits can be read in two ways: {said}.")
    return Reading("no", f"It says something else: {said}.", "value", value, said)


def _nothing(claim: Claim, around: Surroundings, *, readable: bool) -> Reading:
    """No number stands there: it bears on nothing if no word of it has to do with the claim either."""
    subject = subject_of(claim)
    words = words_of(around.text)
    shared = words & (subject.words | words_of(claim.attribute or "") | {stem(claim.unit or "")})
    denied = amounts_in(around.line).negated or words & _WHOLE  # "nothing was missing" says a number, too
    if shared or denied or not readable or any(one in normal(around.text) for one in subject.ids):
        return Reading("unclear", "No number stands there, and a program cannot tell what it says.")
    return Reading("no", "It holds nothing that has to do with the claim.", "nothing")


# --- what is no number


def _cell(claim: Claim, text: str) -> Reading:
    said = text.strip()[:80]
    known = _plain_value(claim, text)
    if known is None:
        return Reading("unclear", f"A program cannot tell what it says: {said}.")
    if known:
        return Reading("yes", f"It says so: {said}.", "", None, said)
    return Reading("no", f"It says something else: {said}.", "value", None, said)


def _plain_value(claim: Claim, text: str) -> bool | None:
    value = claim.value
    written = normal(text).strip()
    if value is None:
        return None
    if value.type == "boolean":
        return (written in TRUE) == value.value if written in TRUE | FALSE else None
    if value.type == "date" and isinstance(value.value, date):
        found = dates_in(text)
        return value.value in found if len(found) == 1 else None
    if value.type in ("enum", "string"):
        return written == normal(str(value.value)).strip()
    return None


def _words(claim: Claim, around: Surroundings) -> Reading:
    """A date, an enum or a text in running text: ``yes`` if it stands there and nothing denies it."""
    value, line = claim.value, amounts_in(around.line)
    nothing = _nothing(claim, around, readable=True)
    stated = _after_label(claim, around)
    if value is None or value.type == "boolean":
        return _cell(claim, stated) if stated else nothing
    if value.type == "enum" and stated and normal(str(value.value)).strip() not in normal(stated):
        return _cell(claim, stated)  # of a fixed set of words another one stands there
    if value.type == "date":
        found = dates_in(around.text)
        if len(found) == 1 and not line.negated and not _other_day(claim, around.line):
            return _cell(claim, around.text)
        return nothing if not found else Reading("unclear", "A program cannot tell which day it states of it.")
    parts = value.value if isinstance(value.value, frozenset) else frozenset([str(value.value)])
    text = normal(around.text)
    here = [bool(part) and re.search(rf"(?<!\w){re.escape(normal(part).strip())}(?!\w)", text) for part in parts]
    if not any(here):
        return nothing
    if not all(here) or line.negated:
        return Reading("unclear", "It names it, and a program cannot tell what it says of it.")
    return Reading("yes", f"It says so: {around.text.strip()[:80]}.", "", None, around.text.strip()[:80])


def _other_day(claim: Claim, line: str) -> bool:
    """Whether a line's day may be another one than the claimed: an invoice date, a planned one, a bound."""
    plain = normal(line)
    if _BOUND.search(plain):
        return True
    words, asked = words_of(line), words_of(claim.attribute or "")
    named = words & asked - _DAY_WORDS
    return bool(words & _DAY_WORDS) and (
        (bool(asked - _DAY_WORDS) and not named) or bool(families(words) - families(asked))
    )


def _after_label(claim: Claim, around: Surroundings) -> str:
    """What a line like ``Status: complete`` states of the claimed property, if the quote holds it; "" if it is none."""
    label, colon, stated = around.line.partition(":")
    named = words_of(label)
    if not colon or not named or named != words_of(claim.attribute or ""):
        return ""
    return stated if normal(stated).strip() in normal(around.text) else ""


def dates_in(text: str) -> set[date]:
    """The days that a text names, with year, month and day."""
    found: set[date] = set()
    for each in re.finditer(r"\b\d{4}-\d{2}-\d{2}\b", text):
        try:
            found.add(date.fromisoformat(each[0]))
        except ValueError:
            continue
    for scanned in scan_dates(text):
        day = scanned.date
        if day is not None and day.year and day.month and day.day and not day.before_christ:
            found.add(date(day.year, day.month, day.day))
    return found
