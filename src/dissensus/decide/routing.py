"""What happens when agents disagree, or agree in a way that says nothing, and what was done about it.

Two triggers, each with its own setting:

* ``disagreement``: two ballots hold different answers.
* ``hollow-unanimity``: two or more ballots, all for one answer, all by one model, and no outside check accepted it.
  With a profile and ``hollow_below`` the measured share right of such unanimity decides instead of the models.

Three actions: ``report`` says so; ``check`` lets the verdicts of the outside checks decide in this case, whatever the
check rule is; ``stronger`` asks another model the question alone (not the answers, so that it cannot follow them) and
shows its answer beside the vote, or takes it, if the settings say so. What was done is an event of its own.
A judge and a person will be two more actions: another branch in :func:`follow`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dissensus.answers import matches_gold
from dissensus.decide.ballots import Cast, cast
from dissensus.decide.checking import ACCEPTED, overrule, run_checks, verdicts
from dissensus.decide.election import Election, Voter
from dissensus.decide.settings import VoteSettings
from dissensus.decide.worth import unanimous_level
from dissensus.script.decisions import Ballot, Check, Status
from dissensus.script.effects import Note, under

DISAGREEMENT, HOLLOW = "disagreement", "hollow-unanimity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a vote stands: its answer so far, and all that qualifies it."""

    answer: str | None
    status: Status
    checks: tuple[Check, ...] = ()
    routed: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    extra: tuple[Cast, ...] = ()
    """Casts that are no ballots of the vote, for the bill."""


def trigger_of(ballots: Sequence[Ballot], said: Mapping[str, str], settings: VoteSettings | None = None) -> str:
    """The trigger that fires, or "". ``said`` holds the verdict of the checks on each answer."""
    counted = [ballot for ballot in ballots if ballot.answer is not None]
    answers = {ballot.answer for ballot in counted}
    if len(answers) > 1:
        return DISAGREEMENT
    if len(counted) < 2 or said.get(str(counted[0].answer)) == ACCEPTED:
        return ""
    if settings is not None and settings.hollow_below is not None:
        level = unanimous_level(ballots, settings.profile)
        if level is not None:
            return HOLLOW if level.low < settings.hollow_below else ""
    return "" if len({ballot.model for ballot in counted}) > 1 else HOLLOW


def follow(election: Election, ballots: Sequence[Ballot], standing: Standing) -> Generator[Any, Any, Standing]:
    """Do what the settings say for the trigger that fires, if one does."""
    settings = election.settings
    trigger = trigger_of(ballots, verdicts(standing.checks), settings)
    if not trigger:
        return standing
    action = settings.on_disagreement if trigger == DISAGREEMENT else settings.on_unanimity
    entry: dict[str, Any] = {"trigger": trigger, "action": action}
    level = unanimous_level(ballots, settings.profile) if settings.hollow_below is not None else None
    if trigger == HOLLOW and level is not None:
        entry |= {"measured": [level.correct, level.count, level.low], "below": settings.hollow_below}
    if action == "check":
        answer, status = overrule(standing.answer, standing.status, verdicts(standing.checks))
        entry["decided"] = (answer, status) != (standing.answer, standing.status)
        standing = replace(standing, answer=answer, status=status)
    elif action == "stronger" and election.stronger is not None:
        standing, found = yield from _ask_stronger(election, standing, election.stronger)
        entry |= found
    yield Note("routed", entry, key="routed")
    return replace(standing, routed=(*standing.routed, entry))


def _ask_stronger(
    election: Election, standing: Standing, stronger: Voter
) -> Generator[Any, Any, tuple[Standing, dict[str, Any]]]:
    one: Cast = yield from under("stronger", cast(election, stronger, scope="stronger"))
    ballot, before, settings, question = one.ballot, standing.answer, election.settings, election.question
    answer, agrees = ballot.answer, None
    if answer is not None and before is not None:
        agrees = matches_gold(election.kind, answer, before, options=question.options, unit=question.unit)
        answer = before if agrees else answer
    decided = settings.stronger_decides and answer is not None and not agrees
    found = {
        "agent": ballot.agent,
        "model": ballot.model,
        "answer": answer,
        "outcome": ballot.outcome,
        "reason": ballot.reason,
        "agrees": agrees,
        "decided": decided,
        "key": ballot.key,
    }
    standing = replace(standing, extra=(*standing.extra, one))
    if answer is not None:
        standing = yield from _tried(election, standing, answer)
    if decided:
        standing = replace(standing, answer=answer, status=Status.DECIDED)
        if settings.check_rule == "overrule":
            after = overrule(answer, Status.DECIDED, verdicts(standing.checks))
            standing = replace(standing, answer=after[0], status=after[1])
        told = f"The answer is that of {ballot.agent} ({ballot.model}), not of the vote."
        if standing.answer == answer:
            return replace(standing, warnings=(*standing.warnings, told)), found
    elif agrees is False:
        told = f"{ballot.agent} ({ballot.model}), asked alone, answers {answer}."
        standing = replace(standing, warnings=(*standing.warnings, told))
    elif answer is None:
        told = f"{ballot.agent} ({ballot.model}) was to be asked and gave no answer: {ballot.outcome}."
        standing = replace(standing, warnings=(*standing.warnings, told))
    return standing, found


def _tried(election: Election, standing: Standing, answer: str) -> Generator[Any, Any, Standing]:
    """Try the stronger model's answer against the checks as well, unless that has been done."""
    tried = {check.answer for check in standing.checks}
    if answer in tried:
        return standing
    more = yield from run_checks(election.settings.checks, election.question.text, [answer], since=len(tried))
    return replace(standing, checks=(*standing.checks, *more))
