"""From an answer to claims: what is wanted and can be read becomes a claim, everything else is said and kept aside.

Nothing here judges whether a claim is true, or whether its evidence stands there: a claim without any is taken, and it
goes back to its author when it is looked at (rule R0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import amounts_in, stem
from dissensus.decide.dispute.bearing import Measures
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.parsing import claim_data
from dissensus.decide.dispute.values import (
    VALUE_TYPES,
    AsOf,
    NotRead,
    Value,
    Written,
    as_of_from,
    decimal_of,
    value_of,
)
from dissensus.decide.swarm.citing import Desk, cited, header
from dissensus.decide.swarm.replies import Document, in_words
from dissensus.decide.swarm.work import Wanted
from dissensus.script.outcomes import Invalid

MOST_CLAIMS: Final = 20
"""Most claims of one agent about one item."""
_MOST_VALUE: Final = 500
MOST_WORDS: Final = 2000
_MOST_NAME: Final = 100
_PLAIN: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_GROUPED: Final = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")
"""A number that, as a text, may be a thousand as well."""
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NOTHING: Final = frozenset(["", "…", "...", "null", "none", "unknown", "n/a", "?"])
_UNITS: Final = Measures().names
_KNOWN: Final = frozenset(
    ["attribute", "value", "value_type", "unit", "as_of", "evidence", "subject", "confidence", "note", "id", "by"]
)


@dataclass(slots=True)
class Taken:
    """What was taken of an answer.

    Args:
        claims: claims as data, with ids.
        asides: what came with them and weighs nothing.
        problems: why claims could not be taken, a sentence each.
    """

    claims: list[dict[str, Any]] = field(default_factory=list)
    asides: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Read:
    """What came of one item.

    Args:
        taken: claims, and what came with them.
        silent: why nothing came that could be read; "" if something did.
        failed: kind of the failure that made it silent; "" if it was none.
        out: the limit of the budget that was hit; "" if none was.
    """

    taken: Taken = field(default_factory=Taken)
    silent: str = ""
    failed: str = ""
    out: str = ""


def read_of(document: Document, item: str, desk: Desk) -> Read:
    """What came of an item about which ``document`` was answered; unread, it is ``invalid`` and ``silent`` says why."""
    if document.problem:
        return Read(take(document, item, desk), document.problem, Invalid.kind)
    taken = take(document, item, desk)
    if document.none:
        return Read(taken, f"Nothing is reported: {in_words(document.none, MOST_WORDS)}")
    if not taken.claims:
        return Read(taken, " ".join(taken.problems)[:MOST_WORDS], Invalid.kind)
    return Read(taken)


def take(document: Document, item: str, desk: Desk) -> Taken:
    """The claims of ``document`` about ``item``. Total: what cannot be read is a problem, and is kept aside."""
    taken = Taken()
    if document.besides:
        taken.asides.append({"scratchpad": in_words(document.besides, MOST_WORDS)})
    for number, raw in enumerate(document.claims[:MOST_CLAIMS], 1):
        name = f"{desk.share.party}/{desk.share.agent}/{len(taken.claims) + 1}"
        try:
            claim, aside = _claim(raw, name, item, desk)
        except NotRead as problem:
            _refuse(taken, f"Claim {number} {problem}", raw)
            continue
        taken.claims.append(claim_data(claim))
        if aside:
            taken.asides.append({"claim": name, **aside})
    told = [document.cut] if document.cut else []
    if len(document.claims) > MOST_CLAIMS:
        told.append(f"Only the first {MOST_CLAIMS} of {len(document.claims)} claims were read.")
    if told:
        taken.asides.append({"says": told})
    return taken


def _refuse(taken: Taken, why: str, raw: Any) -> None:
    sentence = f"{why.rstrip('.')}."
    taken.problems.append(sentence)
    taken.asides.append({"says": [sentence], "refused": in_words(raw, _MOST_VALUE)})


def _claim(raw: Any, name: str, item: str, desk: Desk) -> tuple[Claim, dict[str, Any]]:
    """The claim in ``raw``, and what came with it."""
    if not isinstance(raw, Mapping):
        raise NotRead("is no object")
    wanted = _wanted(raw, desk.share.wanted)
    about = wanted.about(item)
    _same_subject(raw, item, about)
    value, unit = _value(raw, about.get("unit", ""))
    told: list[str] = []
    as_of = _as_of(raw, about.get("as_of", ""), told)
    evidence, problems = cited(raw.get("evidence"), desk)
    told += problems
    claim = Claim(
        id=name,
        subject=about["subject"],
        attribute=about["attribute"],
        value=value,
        unit=unit or None,
        as_of=as_of,
        evidence=tuple(evidence),
        by=desk.share.agent,
        cell=desk.share.party,
    )
    aside: dict[str, Any] = {
        key: in_words(raw[key], MOST_WORDS) for key in ("confidence", "note") if raw.get(key) not in (None, "")
    }
    if rest := {key: data for key, data in raw.items() if key not in _KNOWN}:
        aside["scratchpad"] = in_words(rest, MOST_WORDS)
    if told:
        aside["says"] = told
    return claim, aside


def _wanted(raw: Mapping[str, Any], wanted: Sequence[Wanted]) -> Wanted:
    """Which of the things that are wanted a claim states."""
    said = raw.get("attribute")
    if said is None and len(wanted) == 1:
        return wanted[0]
    if not isinstance(said, str):
        raise NotRead("does not say of what it is: its `attribute` is no text")
    name = header(said[:_MOST_NAME])
    for names in ([(one.attribute,) for one in wanted], [one.names for one in wanted]):
        found = [one for one, known in zip(wanted, names, strict=True) if name in map(header, known)]
        if len(found) == 1:
            return found[0]
    raise NotRead(f"is about {said[:_MOST_NAME]!r}, which is not wanted; wanted: {_listed(wanted)}")


def _listed(wanted: Sequence[Wanted]) -> str:
    return ", ".join(f'"{one.attribute}"' for one in wanted)


def _same_subject(raw: Mapping[str, Any], item: str, about: Mapping[str, str]) -> None:
    said = raw.get("subject")
    if said is None or said == "":
        return
    known = {normal(one).strip() for one in (item, about["subject"])}
    if not isinstance(said, str | int) or normal(str(said)).strip() not in known:
        raise NotRead(f"is about {in_words(said, _MOST_NAME)}, and not about {about['subject']}")


def _value(raw: Mapping[str, Any], wanted_unit: str) -> tuple[Value, str]:
    """The value, and its unit. Where a unit is wanted, only a number will do; only numbers have units."""
    data, unit = raw.get("value"), _unit(raw, wanted_unit) or wanted_unit
    data = _bounded(data)
    kind = raw.get("value_type")
    written = isinstance(data, str) and not isinstance(data, Written)
    try:
        if not written:
            value = value_of(data, kind if kind in VALUE_TYPES else None)
        elif _PLAIN.fullmatch(data) and not _GROUPED.fullmatch(data) and kind not in ("string", "enum"):
            value = value_of(data, "decimal" if "." in data else "integer")
        elif wanted_unit:
            return _in_words(data, _unit(raw, wanted_unit), wanted_unit)
        elif kind not in VALUE_TYPES and (measured := _measured(data)) is not None:
            return measured[0], unit or measured[1]
        else:
            value = value_of(data, kind if kind in VALUE_TYPES else "date" if _DAY.fullmatch(data) else None)
    except NotRead as problem:
        raise NotRead(f"has a value that {problem}") from None
    if wanted_unit and value.number is None:
        raise NotRead(f"has a value that is no number: {value.written[:_MOST_NAME]}")
    return value, "" if value.number is None else unit


def _bounded(data: Any) -> Any:
    """The value as it stands in a reply, if it is one that is read."""
    if data is None or (isinstance(data, str) and data.strip().casefold() in _NOTHING):
        raise NotRead("has no value")
    if isinstance(data, Mapping):
        raise NotRead("has an object as its value")
    if isinstance(data, str | list) and len(in_words(data)) > _MOST_VALUE:
        raise NotRead(f"has a value of more than {_MOST_VALUE} characters")
    if isinstance(data, list):
        return [one if isinstance(one, str | int | float) else in_words(one) for one in data]
    return data.strip() if isinstance(data, str) and not isinstance(data, Written) else data


def _in_words(text: str, unit: str, wanted_unit: str) -> tuple[Value, str]:
    """The one number that stands in ``text``, with its unit: "9 pallets"."""
    amounts = amounts_in(text)
    if len(amounts.found) != 1 or amounts.open or amounts.negated or amounts.found[0].others:  # 1.234 may be a thousand
        raise NotRead(f"has a value that is no number: {text[:_MOST_NAME]!r}")
    (amount,) = amounts.found
    written = plain_text(amount.value)
    decimal_of(written)  # a third is none
    beside = amount.unit if amount.unit in _UNITS and amount.unit != stem(wanted_unit) else ""
    return value_of(written, "decimal" if "." in written else "integer"), unit or beside or wanted_unit


def _measured(text: str) -> tuple[Value, str] | None:
    """The number in a text that is one, with a unit that is known and no other word: "2098 drums"; else None."""
    amounts = amounts_in(text)
    if len(amounts.found) != 1 or amounts.open or amounts.negated:
        return None
    (amount,) = amounts.found
    told = amount.words == {amount.unit} and not amount.others and text[: amount.start].strip() in ("", "-")
    if not told or amount.unit not in _UNITS or len(amount.unit) == 1:
        return None  # "3 B" is a door, too
    written = plain_text(amount.value)
    return value_of(written, "decimal" if "." in written else "integer"), amount.unit


def _unit(raw: Mapping[str, Any], wanted_unit: str) -> str:
    """The unit that a reply gives; "" if it gives none, or the wanted one in the plural."""
    said = raw.get("unit")
    if not isinstance(said, str) or said.strip().casefold() in _NOTHING or len(said) > _MOST_NAME:
        return ""
    unit = " ".join(said.split())
    return "" if stem(unit) == stem(wanted_unit) else unit


def _as_of(raw: Mapping[str, Any], wanted: str, told: list[str]) -> AsOf | None:
    """At which time it is said to hold: as the reply says, else as is wanted."""
    said = raw.get("as_of")
    if isinstance(said, str) and said.strip().casefold() in _NOTHING:
        said = None
    if said is not None:
        try:
            return as_of_from(said)
        except NotRead as problem:
            told.append(f"Its `as_of` {in_words(str(problem), 200)}; the time that is wanted is taken.")
    return as_of_from(wanted or None)
