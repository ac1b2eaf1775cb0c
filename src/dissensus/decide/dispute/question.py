"""A dispute as a question to a person: what still stands, side by side, each with its evidence reopened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dissensus.decide.dispute.docket import Docket, Weighed
from dissensus.decide.dispute.exhibits import exhibit_of
from dissensus.decide.dispute.jcs import digest_of
from dissensus.decide.dispute.verdict import Position, Verdict
from dissensus.script.effects import AskPerson
from dissensus.script.outcomes import PersonAnswer
from dissensus.script.persons import Exhibit, Option

BOTH, NEITHER, NEED_MORE = "both", "neither", "need-more"
TOPIC: Final = "dispute"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, ready to be put."""

    effect: AskPerson
    key: str

    def note(self, found: Verdict) -> dict[str, Any]:
        """What a record says of it beside the question itself."""
        return {"person": self.key, **found.to_data()}


def question_of(docket: Docket, found: Verdict, input_sha256: str, *, key: str) -> Asked:
    """The question that a dispute comes down to."""
    case, letters = docket.case, [side.letter for side in found.positions]
    title = case.title or f"Case {case.id}"
    options = [Option(side.letter, _says(side), rule=_rule(docket, side, found)) for side in found.positions]
    if len(letters) > 1:
        options.append(Option(BOTH, "Each of them, for its own scope.", scopes=tuple(letters)))
    options += [Option(NEITHER, "None of them."), Option(NEED_MORE, "The evidence does not say; ask for more.")]
    asking = case.asking
    effect = AskPerson(
        f"{title}\n{found.why} Which one holds?",
        tuple(options),
        exhibits=tuple(_exhibit(docket, side) for side in found.positions),
        topic=TOPIC,
        dedupe_key=digest_of({"input": input_sha256, "rule": found.rule, "letters": letters}),
        asked_to=asking.to,
        deadline_s=asking.deadline_s,
        remind_s=asking.remind_s,
        escalate_to=asking.escalate_to,
        sources=asking.sources,
        base=asking.base,
        key=key,
    )
    return Asked(effect, key)


def choice_in(answer: PersonAnswer, found: Verdict) -> str | None:
    """The option that an answer names; None if it names none."""
    said = answer.answer.strip()
    for side in found.positions:
        if said.upper() == side.letter:
            return side.letter
    plain = said.lower().replace(" ", "-").replace("_", "-")
    return plain if plain in (BOTH, NEITHER, NEED_MORE) and (plain != BOTH or len(found.positions) > 1) else None


def _says(side: Position) -> str:
    claim = side.claims[0].claim
    value = claim.value.written if claim.value is not None else claim.text[:200]
    names = ", ".join(name for one in side.claims for name in one.ids)
    return f"{value}{f' {claim.unit}' if claim.unit else ''} ({names})"


def _exhibit(docket: Docket, side: Position) -> Exhibit:
    """A position with the evidence of all its claims that may decide."""
    first = side.claims[0]
    shown = exhibit_of(first.claim, docket.sources, docket.live, name=side.letter, title=_says(side))
    cited = [item for one in side.claims for item in _evidence(docket, one)]
    return replace(shown, cited=tuple(cited))


def _evidence(docket: Docket, one: Weighed) -> list[Any]:
    items = tuple(item.evidence for item in one.usable())
    return list(exhibit_of(replace(one.claim, evidence=items), docket.sources, docket.live).cited)


def _rule(docket: Docket, side: Position, found: Verdict) -> Mapping[str, Any] | None:
    """The rule of precedence that an answer could become, if a person says so apart: a kind of source before others."""
    mine = _kinds(docket, side)
    others = {kind for other in found.positions if other is not side for kind in _kinds(docket, other)}
    if len(mine) != 1 or not others or "" in mine | others or mine & others:
        return None
    prefer, attribute = next(iter(mine)), side.claims[0].claim.attribute
    return {
        "id": f"{prefer}-first",
        "says": f"{prefer} goes before {', '.join(sorted(others))}" + (f" on {attribute}" if attribute else ""),
        "prefer": prefer,
        "over": sorted(others),
        "attribute": attribute,
    }


def _kinds(docket: Docket, side: Position) -> set[str]:
    found = set()
    for one in side.claims:
        for item in one.usable():
            pinned = docket.case.sources.get(item.evidence.digest)
            found.add(pinned.kind if pinned is not None else "")
    return found
