"""What one source says about an item, or why that cannot be read; and the check that it is what rule R2 reads there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, Final

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import Amount, amounts_in, stem, words_of
from dissensus.decide.dispute.bearing import Reading, read_bearing
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence, Selector
from dissensus.decide.dispute.parsing import evidence_data
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.topics import families, times_of
from dissensus.decide.dispute.values import AsOf, NotRead, value_of
from dissensus.decide.swarm.reader_names import COUNTABLE, MEASURES, NONE, Asked

_PLAIN: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SHOWN: Final = 60
_ASIDE: Final = re.compile(r"\s*(?:\([^()]*\)|\b(?:at|from|on)\s+[^\W\d_]+\s+\d+)\s*[.;]?\s*$")
_PLACES: Final = frozenset(["dock", "gate", "door", "bay", "ramp", "page", "truck", "trailer", "line"])
_ORDERED: Final = frozenset(["ordered", "expected", "planned", "announced"])

Days = tuple[date, date]
"""The first and the last day."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a source says.

    Args:
        fit: how well the name fits under which it stands (:mod:`~dissensus.decide.swarm.reader_names`).
        value: the number, in ``unit``.
        unit: what it counts; "" if nothing says so.
        evidence: where it stands; several places add up.
        name: of the column, label or key.
        days: of which days it is told; None if it does not say.
        document: number of the document (``dn-88``); "" if it has none, or is a table.
        others: numbers of other documents that it names.
        corrects: it says that it corrects or replaces something, or is a copy.
        parts: the numbers that it adds up, one for each item of evidence.
        rows: of a table, the rows in which they stand.
        columns: of a table, its columns.
    """

    fit: int
    value: Fraction
    unit: str
    evidence: tuple[Evidence, ...]
    name: str
    days: Days | None = None
    document: str = ""
    others: frozenset[str] = frozenset()
    corrects: bool = False
    parts: tuple[Fraction, ...] = ()
    rows: tuple[Row, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The source."""
        return self.evidence[0].digest


@dataclass(frozen=True, slots=True)
class Unread:
    """A source that names the item, and does not tell without doubt what is wanted.

    Args:
        why: half a sentence that follows on the source's name.
        fit: how well the name of what cannot be read fits; ``NONE`` if nothing in it is named like that.
        document: number of the document; "" if it has none, or is a table.
    """

    why: str
    fit: int = NONE
    document: str = ""


def amount_of(text: str, asked: Asked) -> Amount | str:
    """The one number that ``text`` holds, or why it holds none that can be read: half a sentence."""
    shown = repr(text.strip()[:_SHOWN])
    read = amounts_in(text)
    if len(read.found) > 1 and _is_aside(text[read.found[0].end :]):
        text = _ASIDE.sub("", text)
        read = amounts_in(text)
    if not read.found:
        return f"holds no number: {shown}" if text.strip() else "holds nothing"
    if len(read.found) > 1:
        return f"holds several numbers: {shown}"
    amount = read.found[0]
    if read.negated or read.open:
        return f"holds more than can be read: {shown}"
    if amount.others:
        whole = {value for value in (amount.value, *amount.others) if value.denominator == 1}
        counted = {amount.unit} if amount.unit in MEASURES.names else asked.words
        if len(whole) != 1 or not counted & COUNTABLE:
            return f"can be read in two ways: {shown}"
        amount = replace(amount, value=whole.pop())
    if not _PLAIN.fullmatch(plain_text(amount.value)):
        return f"holds no decimal: {shown}"
    beside = words_of(f"{text[: amount.start]} {text[amount.end :]}") - asked.words - MEASURES.names
    if beside:
        return f"holds more than a number and a unit: {shown}"
    known = amount.unit in MEASURES.names or amount.unit == stem(asked.claim.unit or "")
    return amount if known else replace(amount, unit="")


def _is_aside(text: str) -> bool:
    """Whether what stands behind a number tells of something else for certain: how much was ordered, at which dock."""
    aside = _ASIDE.search(text)
    words = words_of(aside[0]) - {"at", "from", "on"} if aside else frozenset()
    planned = families(words) == {"planned"} and words <= _ORDERED | MEASURES.names
    return bool(words) and (words <= _PLACES or planned)


def unit_as_wanted(unit: str, asked: Asked) -> str:
    """``unit`` in the words of the task, if it is the unit that is wanted; that one too if there is none."""
    wanted = asked.claim.unit or ""
    return wanted if not unit or stem(unit) == stem(wanted) else unit


def value_data(value: Fraction) -> dict[str, Any]:
    """``value`` and ``value_type`` of a claim."""
    if value.denominator == 1:
        return {"value": int(value)}
    return {"value": plain_text(value), "value_type": "decimal"}


def claimed(asked: Asked, said: Said) -> dict[str, Any]:
    """The claim that ``said`` makes, as data."""
    about = asked.wanted.about(asked.item)
    about.pop("unit", None)
    data: dict[str, Any] = {**about, **value_data(said.value)}
    if said.unit:
        data["unit"] = said.unit
    if "as_of" not in data and said.days is not None:
        data["as_of"] = written(said.days)
    data["evidence"] = [evidence_data(item) for item in said.evidence]
    return data


def written(days: Days) -> str:
    """Days as the time of a claim: one day, or from the first one to the end of the last one."""
    first, last = days
    return first.isoformat() if first == last else f"{first.isoformat()}/{(last + timedelta(days=1)).isoformat()}"


def days_of(rows: Sequence[Row], time: str = "") -> Days | None:
    """The days of which rows tell, if each of them names one time; ``time`` is the column that holds it."""
    found: list[Days] = []
    for row in rows:
        times = times_of(Row({time: row.fields.get(time, "")}) if time else row)
        day = _days(times[0]) if len(times) == 1 else None
        if day is None:
            return None
        found.append(day)
    return (min(day[0] for day in found), max(day[1] for day in found)) if found else None


def _days(time: AsOf) -> Days | None:
    if time.start is None or time.end is None:
        return None
    last = time.end.date() if time.instant else (time.end - timedelta(microseconds=1)).date()
    return time.start.date(), last


def joined(days: Sequence[Days | None]) -> Days | None:
    """All of these days; None if some are not known."""
    known = [one for one in days if one is not None]
    if not known or len(known) < len(days):
        return None
    return min(one[0] for one in known), max(one[1] for one in known)


def cite(source: Source, selector: Selector, quote: str) -> Evidence:
    """Evidence in ``source``."""
    return Evidence(source.digest, (selector,), quote, media=source.media)


def doubt(asked: Asked, said: Said, sources: Mapping[str, Source], counted: Mapping[str, str]) -> str:
    """Why rule R2 does not read in the evidence what ``said`` says; "" if it does. Half a sentence.

    ``counted`` has the columns of declared tables that hold what is counted.
    """
    try:
        value = value_of(str(value_data(said.value)["value"]), "decimal")
    except NotRead as problem:
        return f"holds a number that {problem}"
    claim: Claim = replace(asked.claim, value=value, unit=said.unit or None, evidence=said.evidence)
    readings: list[Reading] = []
    for item in said.evidence:
        found = reopen(item, sources)
        if found.result != "EXACT":
            return f"holds what cannot be cited ({found.result})"
        column = counted.get(item.digest, "")
        readings.append(read_bearing(claim, item, found, sources[item.digest], MEASURES, counted=column))
    other = [one for one in readings if one.bears != "yes" and (one.value is None or one.fault not in ("", "value"))]
    if other:
        return f"cannot be read: {other[0].why[:1].lower()}{other[0].why[1:].rstrip('.')}"
    if any(one.bears == "yes" for one in readings):
        return ""
    values = [one.value for one in readings if one.value is not None]
    if len(values) > 1 and sum(values, Fraction(0)) == said.value:
        return ""
    return f"cannot be read: {readings[0].why[:1].lower()}{readings[0].why[1:].rstrip('.')}"
