"""Rule R6: what the user has said beforehand about sources that are sound and differ. Versioned, and cited by version.

A rule prefers one kind of source to another. Kinds are declared by the user, never by whoever makes a claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.parsing import Wrong
from dissensus.specfile import Place

STANDING: Final = "standing"
"""The id of rules that are all answers of persons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefer:
    """One rule: where a claim rests on ``prefer`` and the other only on ``over``, the other gives way.

    ``subject`` and ``attribute`` narrow it down; None is any. ``says`` is for people. ``version`` is the rule's own, of
    one that a person made of an answer; "" is that of the file.
    """

    id: str
    prefer: str
    over: str
    attribute: str | None = None
    subject: str | None = None
    says: str = ""
    version: str = ""

    def covers(self, claim: Claim) -> bool:
        """Whether the rule is about claims like this one."""
        pairs = ((self.attribute, claim.attribute), (self.subject, claim.subject))
        return all(asked is None or normal(asked).strip() == normal(said or "").strip() for asked, said in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precedence:
    """The user's rules, under a name and a version."""

    id: str
    version: str
    rules: tuple[Prefer, ...]

    def name_of(self, rule: Prefer) -> str:
        """How a rule is cited: ``receiving/note-beats-log v1``."""
        if rule.version:
            return f"{rule.id} v{rule.version}"
        return f"{self.id}/{rule.id} v{self.version}"


def outranks(
    precedence: Precedence, claim: Claim, kinds: Sequence[str], other: Claim, other_kinds: Sequence[str]
) -> Prefer | None:
    """The first rule by which ``claim`` goes before ``other``; None if there is none, or the other way is one too.

    Args:
        precedence: the rules.
        claim: one of two claims that contradict each other.
        kinds: of the sources that it rests on, one for each origin.
        other: the other one.
        other_kinds: of its sources.
    """
    forth = _first(precedence, claim, kinds, other_kinds)
    back = _first(precedence, other, other_kinds, kinds)
    return None if back is not None else forth


def with_standing(precedence: Precedence | None, rules: Sequence[Prefer]) -> Precedence | None:
    """The user's rules, with those that persons made of answers after them."""
    if not rules:
        return precedence
    if precedence is None:
        return Precedence(id=STANDING, version="1", rules=tuple(rules))
    return Precedence(id=precedence.id, version=precedence.version, rules=(*precedence.rules, *rules))


def standing_from(data: Mapping[str, Any], version: int) -> tuple[Prefer, ...]:
    """The rules in what a person made standing; none if it is no rule of precedence."""
    prefer, over = data.get("prefer"), data.get("over")
    if not isinstance(prefer, str) or not isinstance(over, list | tuple) or not isinstance(data.get("id"), str):
        return ()
    attribute = data.get("attribute")
    return tuple(
        Prefer(
            id=data["id"],
            prefer=prefer,
            over=kind,
            attribute=attribute if isinstance(attribute, str) else None,
            says=str(data.get("says", "")),
            version=str(version),
        )
        for kind in over
        if isinstance(kind, str) and kind != prefer
    )


def _first(precedence: Precedence, claim: Claim, kinds: Sequence[str], other_kinds: Sequence[str]) -> Prefer | None:
    for rule in precedence.rules:
        if rule.covers(claim) and rule.prefer in kinds and other_kinds and set(other_kinds) == {rule.over}:
            return rule
    return None


_KEYS = ("id", "version", "rules")
_RULE_KEYS = ("id", "prefer", "over", "attribute", "subject", "says", "version")


def precedence_from(data: Any, at: Wrong, place: Place = ()) -> Precedence:
    """The rules in YAML or JSON data.

    Raises:
        SpecError: something is wrong; names the place.
    """
    example = "Write id, version and rules: each with id, prefer and over."
    if not isinstance(data, Mapping):
        raise at.wrong(place, "Rules of precedence have to be a mapping.", next_step=example)
    for key in data:
        if key not in _KEYS:
            raise at.wrong((*place, key), f"{key!r} is no key here.", next_step=f"Known are {', '.join(_KEYS)}.")
    version = data.get("version")
    if not isinstance(version, str | int) or isinstance(version, bool) or str(version) == "":
        raise at.wrong((*place, "version"), "The rules need a version.", next_step="Add `version: 1`.")
    rules = data.get("rules")
    if not isinstance(rules, list) or not rules:
        raise at.wrong((*place, "rules"), "There are no rules.", next_step=example)
    found = tuple(_rule(rule, at, (*place, "rules", n)) for n, rule in enumerate(rules))
    names = [f"{rule.id} {rule.over}" for rule in found]
    if twice := next((n for n, name in enumerate(names) if name in names[:n]), None):
        raise at.wrong((*place, "rules", twice), f"A rule {found[twice].id!r} stands above.", next_step="Rename one.")
    return Precedence(id=_text(data, "id", at, place), version=str(version), rules=found)


def precedence_data(precedence: Precedence) -> dict[str, Any]:
    """The rules as JSON data that :func:`precedence_from` reads back."""
    rules = []
    for rule in precedence.rules:
        fields = {key: getattr(rule, key) for key in _RULE_KEYS}
        rules.append({key: value for key, value in fields.items() if value not in (None, "")})
    return {"id": precedence.id, "version": precedence.version, "rules": rules}


def _rule(data: Any, at: Wrong, place: Place) -> Prefer:
    if not isinstance(data, Mapping):
        raise at.wrong(place, "A rule has to be a mapping.", next_step="Write id, prefer and over.")
    for key in data:
        if key not in _RULE_KEYS:
            raise at.wrong(
                (*place, key), f"{key!r} is no key of a rule.", next_step=f"Known are {', '.join(_RULE_KEYS)}."
            )
    texts = {key: _text(data, key, at, place) for key in ("id", "prefer", "over")}
    more = {key: _text(data, key, at, place) for key in _RULE_KEYS[3:] if data.get(key) is not None}
    if texts["prefer"] == texts["over"]:
        raise at.wrong((*place, "over"), "A kind of source cannot go before itself.", next_step="Name another kind.")
    return Prefer(**texts, **more)


def _text(data: Mapping[str, Any], key: str, at: Wrong, place: Place) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise at.wrong((*place, key), f"`{key}` has to be a text.", next_step="Put it into quotes.")
    return str(value)
