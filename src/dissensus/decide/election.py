"""A vote before it begins: all that follows from question, seats, settings and seed, and nothing that came later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dissensus.answers import VERSION
from dissensus.decide.levers import Plan, levers_of, plan_for
from dissensus.decide.settings import Lever, VoteSettings, assign
from dissensus.decide.tally import exact, state
from dissensus.decide.wording import Asking, asking_for, checked, kind_of
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

EXACT_KINDS = ("choice", "yes-no", "date", "text")
"""Kinds whose answers can be told apart as soon as they are read; numbers may yet take each other's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A seat with what the levers do to it and what it is to read."""

    seat: Seat
    plan: Plan
    asking: Asking


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """Who is asked what, and how it is counted.

    Args:
        question: as it is put on the record.
        kind: the kind of answer.
        settings: how the vote is held.
        levers: those that are on.
        voters: the configured voters, in seat order.
        spares: who may step in for them.
        stronger: who is asked when a route says so, without levers.
        grouper: who groups free texts.
        weights: exact weight of each voter, by name.
        rule: the rule in words, with its denominator.
    """

    question: Question
    kind: str
    settings: VoteSettings
    levers: tuple[Lever, ...]
    voters: tuple[Voter, ...]
    spares: tuple[Voter, ...]
    stronger: Voter | None
    grouper: Seat | None
    weights: Mapping[str, Fraction]
    rule: str

    @property
    def may_merge(self) -> bool:
        """Whether answers that differ now may turn out to be the same when more ballots have come."""
        return self.kind not in EXACT_KINDS and not self.question.unit.strip()

    def to_data(self) -> dict[str, Any]:
        """What is announced on the record before anybody is asked."""
        return {"rule": self.rule, "levers": list(self.levers), "kind": self.kind, "answers": VERSION}


def prepare(question: Question, seats: Sequence[Seat], settings: VoteSettings, seed: int) -> Election:
    """The election. Raises SpecError for a question, seats or settings that cannot be."""
    question, roles = checked(question), assign(seats, settings)
    kind, levers, size = kind_of(question), levers_of(roles, settings), len(question.options)

    def voter(seat: Seat, plan: Plan) -> Voter:
        return Voter(seat=seat, plan=plan, asking=asking_for(question, kind, seat, plan, settings))

    everybody = [
        voter(seat, plan_for(seat, index, levers, settings, options=size, seed=seed))
        for index, seat in enumerate((*roles.voters, *roles.spares))
    ]
    weights = {seat.agent: exact(seat.weight) for seat in roles.voters}
    return Election(
        question=question,
        kind=kind,
        settings=settings,
        levers=levers,
        voters=tuple(everybody[: len(roles.voters)]),
        spares=tuple(everybody[len(roles.voters) :]),
        stronger=voter(roles.stronger, Plan(order=tuple(range(size)))) if roles.stronger else None,
        grouper=roles.grouper,
        weights=weights,
        rule=state(settings.rule, list(weights.values())),
    )
