"""The vote: ask everybody, read the ballots, count them by a rule that was stated before, and say what qualifies it.

Start at :func:`vote`, which reads from top to bottom. Asking and reading one agent is in
:mod:`dissensus.decide.ballots`, counting in :mod:`~dissensus.decide.tally`, outside checks in
:mod:`~dissensus.decide.checking`, what happens on disagreement in :mod:`~dissensus.decide.routing`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dissensus.decide.ballots import Cast, ask_voter, with_copies
from dissensus.decide.caveats import caveats_of, failures_of
from dissensus.decide.checking import overrule, run_checks, verdicts
from dissensus.decide.cost import Bill, metered
from dissensus.decide.election import Election, Voter, prepare
from dissensus.decide.grouping import FREE, by_form, by_model, joined
from dissensus.decide.routing import Standing, follow
from dissensus.decide.settings import VoteSettings
from dissensus.decide.tally import NOT_AWAITED, Vote, count, settled
from dissensus.decide.worth import worth_of
from dissensus.script.decisions import Ballot, Check, Decision
from dissensus.script.effects import Finish, Note, Race, Script, Together
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

__all__ = ["VoteSettings", "vote"]


def vote(question: Question, seats: Sequence[Seat], settings: VoteSettings, seed: int) -> Generator[Any, Any, Decision]:
    """Ask every voter ``question``, side by side and each alone, and decide by ``settings.rule``.

    Args:
        question: what is to be decided; its ``gold`` is never shown to anybody.
        seats: the panel: voters, spares, and the seats that ``settings`` give another role.
        settings: how the vote is held.
        seed: what shuffling depends on.

    Raises SpecError, before anybody is asked, for a question or settings that cannot be.
    """
    election = prepare(question, seats, settings, seed)
    yield Note("vote", election.to_data(), key="vote")
    casts = yield from _collect(election)
    bill = Bill()
    casts, notes = yield from _comparable(election, casts, bill)
    ballots = [one.ballot for one in casts]
    tally = count(_votes(ballots, election.weights), settings.rule)

    checks: tuple[Check, ...] = yield from run_checks(settings.checks, question.text, tally.votes)
    standing = Standing(answer=tally.answer, status=tally.status, checks=checks)
    if settings.check_rule == "overrule":
        answer, status = overrule(tally.answer, tally.status, verdicts(checks))
        standing = replace(standing, answer=answer, status=status)
    standing = yield from follow(election, ballots, standing)

    for one in (*casts, *standing.extra):
        bill.merge(one.bill)
    return Decision(
        question=question.text,
        answer=standing.answer,
        status=standing.status,
        ballots=tuple(ballots),
        votes={answer: float(votes) for answer, votes in tally.votes.items()},
        dissent=_dissent(ballots, standing.answer),
        failures=failures_of(ballots),
        warnings=(*standing.warnings, *caveats_of(ballots, election.weights, tally, standing, bill.unknown), *notes),
        worth=worth_of(ballots, settings.profile, election.kind),
        checks=standing.checks,
        routed=standing.routed,
        cost=bill.cost(),
        rule=election.rule,
    )


def _collect(election: Election) -> Generator[Any, Any, tuple[Cast, ...]]:
    """All casts in seat order, each spare's after the one that it stands in for."""
    spares = list(election.spares)
    scripts: dict[str, Script] = {voter.seat.agent: ask_voter(election, voter, spares) for voter in election.voters}
    if election.settings.stop == "all":
        results: Mapping[str, tuple[Cast, ...]] = yield Together(scripts)
    else:
        finish: Finish = yield Race(scripts, lambda so_far: _enough(election, so_far))
        results = finish.used
    return tuple(
        one
        for voter in election.voters
        for one in (results[voter.seat.agent] if voter.seat.agent in results else (_given_up(voter),))
    )


def _enough(election: Election, so_far: Mapping[str, tuple[Cast, ...]]) -> bool:
    """Whether no ballot that is still out can change the outcome."""
    ballots = [one.ballot for casts in so_far.values() for one in casts]
    came = {name: weight for name, weight in election.weights.items() if name in so_far}
    rest = [weight for name, weight in election.weights.items() if name not in so_far]
    return settled(_votes(ballots, came), rest, election.settings.rule, may_merge=election.may_merge)


def _given_up(voter: Voter) -> Cast:
    """The ballot of a voter that was not awaited. What its call took is not known."""
    seat = voter.seat
    blank = Ballot(agent=seat.agent, answer=None, reply=None, outcome=NOT_AWAITED, weight=seat.weight, model=seat.model)
    return Cast(ballot=replace(blank, style=voter.plan.style or seat.style), bill=Bill(unknown=1))


def _comparable(
    election: Election, casts: Sequence[Cast], bill: Bill
) -> Generator[Any, Any, tuple[tuple[Cast, ...], list[str]]]:
    """The casts with answers that can be counted and copies flagged; and sentences about what was done to them."""
    casts, note = by_form(election.kind, casts, election.question.unit)
    notes = [note] if note else []
    grouper = election.grouper
    if election.settings.group_by == "model" and election.kind in FREE and grouper is not None:
        answers = [one.ballot.answer for one in casts]
        judged = yield from metered(by_model(election.question.text, answers, grouper), bill)
        casts = joined(casts, judged)
        if judged.problem:
            notes.append(f"{grouper.agent} was to group the answers and could not: {judged.problem}.")
        elif len(set(judged.stands_for.values())) < len(judged.stands_for):
            notes.append(f"Answers in other words were joined by the judgement of {grouper.agent}, a model.")
    return with_copies(casts), notes


def _votes(ballots: Sequence[Ballot], weights: Mapping[str, Fraction]) -> list[Vote]:
    """One vote for each configured voter: its own, or that of the last spare that stands in for it."""
    counted = {ballot.stands_in_for or ballot.agent: ballot for ballot in ballots}
    return [
        Vote(answer=counted[name].answer, weight=weight, outcome=counted[name].outcome)
        for name, weight in weights.items()
    ]


def _dissent(ballots: Sequence[Ballot], answer: str | None) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {"agent": ballot.agent, "answer": ballot.answer, "reason": ballot.reason}
        for ballot in ballots
        if ballot.answer is not None and ballot.answer != answer
    )
