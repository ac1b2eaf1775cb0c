"""Records of earlier runs: what was decided need not be asked again, and what was begun can be finished.

A record is of the same question if its first event says what would be said now: procedure, question, how the vote is
held, seats, models and seed. The right answer and the caller's own data are not compared, since no agent is shown
them; nor is what changes no answer (prices, the limits of a host, the budget).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from dissensus.agents.panel import Panel, panel_from_data
from dissensus.decide.procedures import PROCEDURES, question_from
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.settings import VoteSettings
from dissensus.errors import DissensusError, RecordError, RunError, ScriptError, StorageError, UsageError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.run import runs
from dissensus.run.casting import Cast, resume_from
from dissensus.script.decisions import Ballot, Decision, Status
from dissensus.script.outcomes import BudgetExhausted, TransportFailure
from dissensus.script.questions import Question
from dissensus.study.panel_digest import digest_of, model_data

LOST = (TransportFailure.kind, BudgetExhausted.kind)
"""Outcomes that say nothing of an agent: the call did not come about."""

HowDecided = VoteSettings | RoundRobinSettings
_KINDS: dict[str, tuple[str, type[HowDecided]]] = {
    "vote": ("vote", VoteSettings),
    "round-robin": ("round_robin", RoundRobinSettings),
}
"""Procedure to where its settings stand in a record's first event, and what they are."""


def lost(ballots: Sequence[Ballot]) -> int:
    """Ballots that are blank because the call did not come about."""
    return sum(ballot.outcome in LOST for ballot in ballots)


def read(path: Path) -> list[Event] | None:
    """The events of a record; None if it is damaged or none. Raises StorageError if it cannot be read now."""
    try:
        with open_record(path) as store:
            return runs.events_of(store)
    except RecordError:
        return None


def decision_in(events: Sequence[Event]) -> Decision | None:
    """The decision of a finished run; None if it was not finished or its procedure failed."""
    try:
        return runs.finished(events)
    except RunError:
        return None


async def go_on(
    path: Path,
    cast: Cast,
    *,
    checks: Mapping[str, Any] | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Decision | None:
    """Finish the run in ``path`` with the open panel that began it; no call that has an outcome is made again.

    None if it cannot be gone on with: another version of the procedures began it, or it is damaged. Raises
    StorageError and ScriptError as :func:`dissensus.run.runs.resume`.
    """
    try:
        return await resume_from(path, cast=cast, checks=checks, on_event=on_event)
    except (StorageError, ScriptError):
        raise
    except (RunError, RecordError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What the records of a folder hold of some questions, by the question's place among them, from 0 on.

    Args:
        decided: decisions, each with its record.
        begun: records of runs that were not finished.
        unreadable: records that cannot be used, and why.
    """

    decided: Mapping[int, Decision] = field(default_factory=dict)
    begun: Mapping[int, Path] = field(default_factory=dict)
    unreadable: Sequence[tuple[Path, str]] = ()


def find(place: Path, questions: Sequence[Question], settings: HowDecided, panel: Panel, seed: int) -> Earlier:
    """What was asked before of ``questions``, under the same settings and seed, of the same panel.

    A record serves one question. Of several records of one question the latest count, finished ones before others. A
    decision that came to nothing because calls did not come about does not count: the question is open still. So is
    one whose budget ended first, if the budget is another now. Forks are not looked at: they hold what nobody said.

    Args:
        place: a folder of records, or one record; it need not exist.
        questions: what is to be asked.
        settings: how each of them is decided: by a vote, or by texts written in turns.
        panel: who takes part, as its models and tools were opened.
        seed: all randomness derives from it.
    """
    how = _how(settings, panel, seed)
    procedure = next(name for name, (_, kind) in _KINDS.items() if isinstance(settings, kind))
    places: dict[str, list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        places[_key(question, how)].append(number)
    ended: dict[str, list[_Run]] = defaultdict(list)
    begun: dict[str, list[_Run]] = defaultdict(list)
    unreadable = []
    for path in sorted(place.glob("*.db")) if place.is_dir() else [place] if place.is_file() else []:
        try:
            run = _run_in(path, procedure)
        except DissensusError as problem:
            unreadable.append((path, problem.message))
            continue
        if run is None or run.key not in places:
            continue
        if not run.ended:
            begun[run.key].append(run)
        elif run.decision is not None and _stands(run.decision, same_budget=_budgets(run.panel) == _budgets(panel)):
            ended[run.key].append(run)
    decided: dict[int, Decision] = {}
    open_ones: dict[int, Path] = {}
    for key, numbers in places.items():
        done = sorted(ended[key], key=_began)[-len(numbers) :]
        decided |= {number: run.decided() for number, run in zip(numbers, done, strict=False)}
        rest = numbers[len(done) :]
        cut = sorted(begun[key], key=_began)[-len(rest) :] if rest else []
        open_ones |= {number: run.path for number, run in zip(rest, cut, strict=False)}
    return Earlier(decided=decided, begun=open_ones, unreadable=unreadable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run in a record. ``ended`` without a decision means that its procedure failed."""

    path: Path
    key: str
    began: float
    panel: Panel
    ended: bool
    decision: Decision | None

    def decided(self) -> Decision:
        if self.decision is None:
            raise TypeError(self)
        return replace(self.decision, record=str(self.path))


def _began(run: _Run) -> float:
    return run.began


def _run_in(path: Path, name: str) -> _Run | None:
    """The run in a record; None if it is none of this procedure as this version holds it. Raises DissensusError."""
    with open_record(path) as store:
        events = runs.events_of(store)
    if not events:
        return None
    try:
        head = runs.head_of(events)
        if (head.procedure, head.version) != (name, PROCEDURES[name].version) or head.parent is not None:
            return None
        panel = panel_from_data(head.panel)
        part, kind = _KINDS[name]
        settings = kind.from_data(head.settings.get(part, {}))
        key = _key(question_from(head.settings), _how(settings, panel, head.seed))
    except (msgspec.ValidationError, UsageError, KeyError):  # of other code, or without a panel
        return None
    ended = events[-1].kind == "ended"
    return _Run(path=path, key=key, began=events[0].time, panel=panel, ended=ended, decision=decision_in(events))


def _how(settings: HowDecided, panel: Panel, seed: int) -> str:
    data = panel.to_data()
    for seat in data["seats"]:
        seat.pop("tokenizer", None)  # it follows from the model
    models = {seat.agent: model_data(panel, seat.agent) for seat in panel.seats}
    return digest_of([settings.to_data(), data["seats"], data["tools"], models, seed])


def _key(question: Question, how: str) -> str:
    return digest_of([question.id, question.text, question.kind, question.options, question.unit, how])


def _budgets(panel: Panel) -> tuple[object, object]:
    return panel.budget, panel.budgets


def _stands(decision: Decision, *, same_budget: bool) -> bool:
    if decision.status is Status.FAILED:
        return not lost(decision.ballots)
    return same_budget or decision.status is not Status.OPEN_BUDGET
