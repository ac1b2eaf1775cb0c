"""What follows from the rules: settled by one of them, returned, consistent, or for a person to say.

A settlement names its rule and cites its lines; without a line that decided there is none. It says which claims fall
and which are left standing. That one falls makes no other one right: what is left standing has to be supported by its
own evidence, and not contradicted by what the fallen one's source says, or a person is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.decide.dispute.case import State
from dissensus.decide.dispute.citations import Citation, collapsed
from dissensus.decide.dispute.docket import Docket, Weighed
from dissensus.decide.dispute.parts import decided_by_parts
from dissensus.decide.dispute.precedence import outranks
from dissensus.decide.dispute.rules import RULES, Applied, citation
from dissensus.decide.dispute.told import kinds_of, told_otherwise

PERSON: Final = "person"
"""The rule of what a person has settled."""
_NAMES: Final[tuple[str, ...]] = RULES
_NOBODY: Final = frozenset[str]()
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Position:
    """One of the answers that still stand: claims that say the same, under a letter."""

    letter: str
    claims: tuple[Weighed, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case stands.

    Args:
        state: where it is.
        rule: what settled it, or why it goes up: ``R1`` … ``R7``, ``person``; "" if nothing did.
        why: a sentence for people.
        cites: the lines that decided.
        losers: reports that fall, with the reason, which keep their evidence.
        returned: reports that go back, with the reason.
        standing: reports that are left.
        positions: of a dispute, what a person may choose from.
    """

    state: State
    rule: str = ""
    why: str = ""
    cites: tuple[Citation, ...] = ()
    losers: tuple[tuple[str, str], ...] = ()
    returned: tuple[tuple[str, str], ...] = ()
    standing: tuple[str, ...] = ()
    positions: tuple[Position, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """As a record has it."""
        return {
            "state": self.state.value,
            "rule": self.rule,
            "why": self.why,
            "cites": [cite.to_data() for cite in self.cites],
            "losers": [{"claim": name, "reason": why} for name, why in self.losers],
            "returned": [{"claim": name, "reason": why} for name, why in self.returned],
            "standing": list(self.standing),
            "positions": [
                {"letter": one.letter, "claims": [name for claim in one.claims for name in claim.ids]}
                for one in self.positions
            ],
        }


def opening(docket: Docket) -> State:
    """After R0: whether what can be weighed contradicts itself."""
    if docket.contest():
        return State.CONTESTED
    back = [one for one in _involved(docket) if one.stand == "incomplete"]
    return State.INCOMPLETE if back or _incomparable(docket) else State.CONSISTENT


def not_compared(docket: Docket) -> list[dict[str, Any]]:
    """The pairs that could not be compared, each with the reason, as a record has them."""
    return [{"claims": [name for one in pair for name in one.ids], "why": why} for pair, why in _incomparable(docket)]


def unopposed(docket: Docket, state: State) -> Verdict:
    """The verdict where nothing that can be weighed is contradicted, after R1 to R4."""
    left = [one for one in docket.claims if one.stand == "standing"]
    fallen = [one for one in docket.claims if one.stand == "fallen"]
    back = [one for one in docket.claims if one.stand == "incomplete"]
    if state is State.CONSISTENT and fallen and not left and not back:
        return _settled(docket, _last_rule(fallen), "None of the claims stands; nothing is put in their place.")
    if state is State.CONSISTENT and not back:
        return _verdict(docket, State.CONSISTENT, "", "Nothing contradicts. That verifies no claim.")
    pairs = _incomparable(docket)
    why = f"{back[0].name} is returned: {back[0].why}" if back else _no_comparison(docket, pairs)
    found = _verdict(docket, State.INCOMPLETE, "R0" if back else "", why)
    if back:
        return found
    reasons = {one.name: reason for pair, reason in pairs for one in pair}
    returned = tuple((name, reasons[one.name]) for one in docket.claims if one.name in reasons for name in one.ids)
    return Verdict(State.INCOMPLETE, "", why, (), found.losers, returned, found.standing)


def contested(docket: Docket) -> Verdict | None:
    """The verdict after R1 to R4, if it is one; None if more than one claim still stands."""
    if docket.contest():
        return None
    involved = _involved(docket)
    left = [one for one in involved if one.stand == "standing"]
    fallen = [one for one in involved if one.stand == "fallen"]
    back = [one for one in involved if one.stand == "incomplete"]
    standing = {one.name for one in left}
    against = [one for one in back if not left or docket.rivals.get(one.name, _NOBODY) & standing]
    if against:
        why = f"{against[0].name} is returned ({against[0].why}); that settles nothing for what it contradicts."
        return _verdict(docket, State.INCOMPLETE, "R0", why)
    if not left:
        return _settled(docket, _last_rule(fallen), "None of the claims stands; nothing is put in their place.")
    if not any(one.supported() for one in left):
        why = f"Only {left[0].name} is left, and no program can tell that its evidence says so."
        return _disputed(docket, why)
    if told := told_otherwise(docket, left, fallen):
        return _disputed(docket, told)
    rule = _last_rule(fallen)
    return _settled(docket, rule, "; ".join(f"claim {one.name} is refuted: {one.why}" for one in fallen))


def r6(docket: Docket) -> Iterator[Applied]:
    """What the user has said beforehand, if it leaves one position of all, and no model's word set them against it."""
    rules = docket.case.precedence
    if rules is None or docket.by_word():
        return
    places = positions(docket)
    won: list[tuple[Position, list[Applied]]] = []
    for one in places:
        found: list[Applied] = []
        for other in places:
            if other is one:
                continue
            pairs = [
                (outranks(rules, a.claim, kinds_of(docket, a), b.claim, kinds_of(docket, b)), a, b)
                for a in one.claims
                for b in other.claims
                if a.supported()
            ]
            beaten = {b.name for rule, _, b in pairs if rule is not None}
            if beaten != {b.name for b in other.claims}:
                break
            rule, first, _ = next(each for each in pairs if each[0] is not None)
            if rule is not None:
                why = f"By {rules.name_of(rule)}, {rule.prefer} goes before {rule.over}."
                ids = tuple(name for claim in other.claims for name in claim.ids)
                cites = [citation(w, i) for w in (first, *other.claims) for i in w.usable()]
                found.append(Applied("R6", "gives way", ids, why, collapsed(cites), rules.name_of(rule)))
        else:
            if found:
                won.append((one, found))
    if len(won) != 1:
        return
    for applied in won[0][1]:
        for weighed in docket.claims:
            if weighed.stand == "standing" and set(weighed.ids) <= set(applied.claims):
                weighed.fall("R6", applied.why)
                weighed.decided = [cite for cite in applied.cites if cite.claim == weighed.name]
        yield applied
    for whole in decided_by_parts(docket):
        yield Applied("R6", "falls", whole.ids, whole.why, tuple(whole.decided))


def ranked(docket: Docket) -> Verdict:
    """The verdict after R6."""
    fallen = [one for one in _involved(docket) if one.rule == "R6"]
    return _settled(docket, "R6", fallen[0].why)


def r7(docket: Docket) -> Verdict:
    """More than one claim still stands: a person is asked."""
    sides = positions(docket)
    names = ", ".join(side.claims[0].name for side in sides)
    return _disputed(docket, f"{len(sides)} answers still stand, each on evidence that reopens: {names}.")


def positions(docket: Docket) -> tuple[Position, ...]:
    """What still stands, claims that contradict the same others together, under letters."""
    left = [one for one in _involved(docket) if one.stand == "standing"]
    standing = {one.name for one in left}
    against = {one.name: docket.rivals.get(one.name, _NOBODY) & standing for one in left}
    groups: dict[frozenset[str], list[Weighed]] = {}
    for one in left:
        groups.setdefault(against[one.name], []).append(one)
    return tuple(Position(_letter(n), tuple(group)) for n, group in enumerate(groups.values()))


def by_person(docket: Docket, verdict: Verdict, choice: str, who: str, reason: str) -> Verdict:
    """What a person has settled: a letter, ``both`` or ``neither``. ``need-more`` returns the case to its authors.

    What is not kept falls, and with it what is made of it.
    """
    said = f"{who or 'A person'} chose {choice}" + (f": {reason}" if reason else "")
    everybody = [claim for side in verdict.positions for claim in side.claims]
    if choice == "need-more":
        returned = (*verdict.returned, *((name, f"{said}.") for claim in everybody for name in claim.ids))
        return Verdict(State.INCOMPLETE, PERSON, said, verdict.cites, verdict.losers, returned)
    kept = [claim for side in verdict.positions if choice in ("both", side.letter) for claim in side.claims]
    falling = {claim.name: claim for claim in everybody}
    for claim in kept:
        del falling[claim.name]
    for claim in falling.values():
        claim.fall(PERSON, f"{said}.")
    falling |= {claim.name: claim for claim in decided_by_parts(docket) if claim.stand == "fallen"}
    losers = (*verdict.losers, *((name, claim.why) for claim in falling.values() for name in claim.ids))
    standing = tuple(name for claim in kept if claim.stand == "standing" for name in claim.ids)
    return Verdict(State.SETTLED, PERSON, said, verdict.cites, losers, verdict.returned, standing)


def by_word_of(model: str) -> str:
    """What is said where claims contradict each other by a model's word."""
    return f"That they contradict each other is the word of a model (model-says {model})."


def so_far(docket: Docket) -> Verdict:
    """What the rules have found until now."""
    return _verdict(docket, State.OPEN_BUDGET, "", "")


# --- parts of a verdict


def _settled(docket: Docket, rule: str, why: str) -> Verdict:
    """Settled; without a line that decided it goes up instead."""
    found = _verdict(docket, State.SETTLED, rule, why)
    return found if found.cites else _disputed(docket, f"{why} No line can be cited for it.")


def _disputed(docket: Docket, why: str) -> Verdict:
    why = " ".join([why, *(by_word_of(model) for model in docket.by_word())])
    found = _verdict(docket, State.DISPUTED, "R7", why)
    return Verdict(
        State.DISPUTED, "R7", why, found.cites, found.losers, found.returned, found.standing, positions(docket)
    )


def _verdict(docket: Docket, state: State, rule: str, why: str) -> Verdict:
    claims = docket.claims
    involved = [one.name for one in _involved(docket)]
    losers = tuple((name, f"{one.rule}: {one.why}") for one in claims if one.stand == "fallen" for name in one.ids)
    returned = tuple((name, one.why) for one in claims if one.stand == "incomplete" for name in one.ids)
    standing = tuple(name for one in claims if one.stand == "standing" for name in one.ids)
    cites: list[Citation] = []
    for one in claims:
        if one.name not in involved or state in (State.CONSISTENT, State.INCOMPLETE):
            continue
        if one.stand == "fallen":
            cites += one.decided
        elif one.stand == "standing":
            bearing = [item for item in one.usable() if item.reading is None or item.reading.bears == "yes"]
            cites += [citation(one, item) for item in bearing or one.usable()]
    return Verdict(state, rule, why, collapsed(cites), losers, returned, standing)


def _last_rule(fallen: Sequence[Weighed]) -> str:
    return max((one.rule for one in fallen), key=_NAMES.index, default="")


def _involved(docket: Docket) -> list[Weighed]:
    """The claims that contradict another one; if none does, all."""
    return [one for one in docket.claims if one.name in docket.rivals] or docket.claims


def _incomparable(docket: Docket) -> list[tuple[tuple[Weighed, Weighed], str]]:
    edges = docket.graph.incomparable
    return [(pair, edge.comparison.why) for pair, edge in zip(docket.pairs(edges), edges, strict=True)]


def _no_comparison(docket: Docket, pairs: Sequence[tuple[tuple[Weighed, Weighed], str]]) -> str:
    if not pairs:
        return f"{docket.case.id} holds nothing that can be weighed."
    (one, other), why = pairs[0]
    return f"{one.name} and {other.name} cannot be compared: {why}"


def _letter(number: int) -> str:
    return LETTERS[number] if number < len(LETTERS) else f"P{number + 1}"
