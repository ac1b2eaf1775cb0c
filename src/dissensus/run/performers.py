"""Who carries out what a script asks for. The engine is the same; only the performer differs.

* :class:`Live` calls models, tools and checks.
* :class:`Recorded` answers from a record as far as it goes, then hands on to another performer, or refuses.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol, Self

import anyio
import anyio.abc

from dissensus.agents.model import Model
from dissensus.errors import DissensusError, NotRecorded, ReplayMismatch, RunError
from dissensus.run.recordable import recordable
from dissensus.run.render import Job
from dissensus.run.spending import Spending
from dissensus.script.calls import Attempt, Call, Extend, Generate, Score
from dissensus.script.effects import AskPerson, RunCheck, UseTool
from dissensus.script.outcomes import (
    BudgetExhausted,
    CheckResult,
    Outcome,
    TimedOut,
    ToolResult,
    TransportFailure,
    to_data,
)

_RUNS = itertools.count(1)
_FORGET_S = 5.0


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one job. ``origin`` goes into the record beside it (where a fork took it from)."""

    key: str
    outcome: Outcome
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aside:
    """Something to be recorded that no script waits for: a failed try, a late reply."""

    kind: str
    key: str
    body: Mapping[str, Any]


class StillWaiting(Exception):
    """Nothing is left to do until a person answers. ``keys`` are the open questions."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(", ".join(keys))
        self.keys = tuple(keys)


class Performer(Protocol):
    """Carries out jobs, side by side."""

    def start(self, job: Job) -> None:
        """Begin ``job``. Returns at once."""
        ...

    def cancel(self, key: str) -> None:
        """Give up a job. No effect if it is finished or was never started."""
        ...

    async def next(self) -> Sequence[Finished | Aside]:
        """Wait until something is finished. Never empty.

        Raises :class:`StillWaiting` when only persons are left to answer.
        """
        ...


class Live:
    """Performs jobs for real. Use as an async context manager; leaving it cancels what still runs.

    Args:
        model_of: gives the model behind an agent; asked at the agent's first call, not before.
        tools: by name.
        checks: outside checks, by name.
        spending: asked before each call; nothing binds if it is left out.
    """

    def __init__(
        self,
        model_of: Callable[[str], Model],
        *,
        tools: Mapping[str, Any] | None = None,
        checks: Mapping[str, Any] | None = None,
        spending: Spending | None = None,
    ) -> None:
        self._model_of = model_of
        self._tools = tools or {}
        self._checks = checks or {}
        self._spending = spending or Spending()
        self._group: anyio.abc.TaskGroup
        self._ready: list[Finished | Aside] = []
        self._crash: Exception | None = None
        self._something = anyio.Event()
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._late: set[str] = set()
        self._persons: list[str] = []
        self._run = f"run-{next(_RUNS)}"
        self._streaming: dict[int, Model] = {}

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._group.cancel_scope.cancel()
        if isinstance(error, anyio.get_cancelled_exc_class()):
            await self._group.__aexit__(kind, error, trace)
        else:  # kept from the group, which would wrap it
            await self._group.__aexit__(None, None, None)
        with anyio.move_on_after(_FORGET_S, shield=True):
            for model in self._streaming.values():
                if (forget := getattr(model, "forget", None)) is not None:
                    await forget(f"{self._run}/")

    def start(self, job: Job) -> None:
        """Begin ``job`` in a task of its own; a person's question is only noted."""
        if isinstance(job.effect, AskPerson):
            self._persons.append(job.key)
            return
        self._scopes[job.key] = anyio.CancelScope()
        self._group.start_soon(self._perform, job)

    def cancel(self, key: str) -> None:
        """Stop the job under ``key``."""
        if key in self._persons:
            self._persons.remove(key)
        if (scope := self._scopes.pop(key, None)) is not None:
            scope.cancel()

    async def next(self) -> Sequence[Finished | Aside]:
        """Whatever is finished by now; waits for the first."""
        while not self._ready:
            if self._crash is not None:
                raise self._crash
            waited_for = self._scopes.keys() - self._late
            if self._persons and not waited_for:
                raise StillWaiting(self._persons)
            if not waited_for:
                raise RunError("The script waits for something that nobody was asked for.")
            self._something = anyio.Event()
            await self._something.wait()
        ready, self._ready = self._ready, []
        return ready

    def _tell(self, what: Finished | Aside) -> None:
        self._ready.append(what)
        self._something.set()

    async def _perform(self, job: Job) -> None:
        scope = self._scopes.get(job.key)
        if scope is None:  # cancelled before it began
            return
        with scope:
            try:
                outcome = recordable(await self._in_time(job))
            except DissensusError as error:  # no outcome of a call: the run cannot go on like this
                self._crash = error
                self._something.set()
                return
            if self._scopes.pop(job.key, None) is None:
                return
            if job.key in self._late:
                self._late.discard(job.key)
                self._tell(Aside("late", job.key, {"outcome": to_data(outcome)}))
            else:
                self._tell(Finished(job.key, outcome))

    async def _in_time(self, job: Job) -> Outcome:
        """The job's outcome. At its deadline silence is reported and the call goes on: what comes then is late."""
        if job.deadline_s is None:
            return await self._outcome(job)
        deadline_s = job.deadline_s

        async def watch() -> None:
            await anyio.sleep(deadline_s)
            self._late.add(job.key)
            self._tell(Finished(job.key, recordable(TimedOut(after_s=deadline_s))))

        outcome: Outcome = TimedOut(after_s=deadline_s)
        error: DissensusError | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                outcome = await self._outcome(job)
            except DissensusError as raised:  # outside the group, so that it is not wrapped
                error = raised
            group.cancel_scope.cancel()
        if error is not None:
            raise error
        return outcome

    async def _outcome(self, job: Job) -> Outcome:
        began = time.perf_counter()
        try:
            match job.effect:
                case UseTool() as use:
                    left_s = self._spending.left_s(use.agent)
                    if left_s is not None and left_s <= 0:
                        return BudgetExhausted(what="seconds")
                    tool = self._tools.get(use.tool)
                    if tool is None:
                        return ToolResult(text=f"There is no tool named {use.tool!r}.", ok=False)
                    result: Outcome = await tool.call(use.arguments, job.deadline_s)
                    return result
                case RunCheck() as check:
                    run = self._checks.get(check.check)
                    if run is None:
                        return CheckResult(verdict="error", detail=f"There is no check named {check.check!r} here.")
                    verdict: Outcome = await run(check.question, check.answer)
                    return verdict
                case _:
                    pass
            if job.call is None or job.seat is None:
                return TransportFailure(problem=f"Nobody can perform {job.effect.kind!r}.", cause="capability")
            outcome = await self._call(job.seat.agent, job.call)
        except DissensusError:
            raise
        except Exception as error:  # noqa: BLE001 - a back end by others may raise anything; it is no speech
            return TransportFailure(problem=f"{type(error).__name__}: {error}"[:500], cause="crashed")
        usage = getattr(outcome, "usage", None)
        if usage is not None and usage.seconds is None:
            outcome = replace(outcome, usage=replace(usage, seconds=time.perf_counter() - began))
        return outcome

    async def _call(self, agent: str, call: Call) -> Outcome:
        model = self._model_of(agent)
        lease = self._spending.reserve(agent, call)
        if isinstance(lease, BudgetExhausted):
            return lease
        left_s = self._spending.left_s(agent)
        key = call.key

        def report(attempt: Attempt) -> None:
            self._tell(
                Aside(
                    "attempt",
                    key,
                    {
                        "number": attempt.number,
                        "problem": attempt.problem,
                        "status": attempt.status,
                        "waited_s": attempt.waited_s,
                    },
                )
            )

        call = replace(call, report=report)
        if isinstance(call, Extend | Score) and call.stream:
            # runs side by side may name their texts alike; what one agent has read is nothing to another run
            call = replace(call, stream=f"{self._run}/{call.stream}")
            self._streaming[id(model)] = model
        outcome: Outcome | None = None
        try:
            with anyio.move_on_after(left_s):
                match call:
                    case Generate():
                        outcome = await model.generate(call)
                    case Extend():
                        outcome = await model.extend(call)
                    case Score():
                        outcome = await model.score(call)
        finally:
            if lease is not None:
                lease.settle(getattr(outcome, "usage", None))
        for notice in self._spending.notices():
            self._tell(Aside("budget-warning", key, notice))
        return BudgetExhausted(what="seconds", begun=True) if outcome is None else outcome


@dataclass(frozen=True, slots=True)
class Past:
    """A recorded outcome. ``origin`` goes along with it into the record that is written now."""

    seq: int
    request: str
    outcome: Outcome
    origin: Mapping[str, Any] = field(default_factory=dict)


class Recorded:
    """Answers from a record, in recorded order; what is not there goes to ``then``.

    Nothing is performed by ``then`` before all recorded outcomes that can be used have been used. Without ``then`` a
    missing outcome raises :class:`~dissensus.errors.NotRecorded`. An outcome recorded for another request raises
    :class:`~dissensus.errors.ReplayMismatch`, or, with ``strict`` off (fork), counts as missing.
    """

    def __init__(self, past: Mapping[str, Past], then: Performer | None = None, *, strict: bool = True) -> None:
        self._past = past
        self._then = then
        self._strict = strict
        self._due: dict[str, Past] = {}
        self._held: list[Job] = []

    def start(self, job: Job) -> None:
        """Line ``job`` up with its recorded outcome, or hold it for the other performer."""
        past = self._past.get(job.key)
        if past is not None and past.request != job.request:
            if self._strict:
                raise ReplayMismatch(
                    job.key,
                    f"The request under the key {job.key!r} is not the one that event {past.seq} answers: the prompt, "
                    "the context or a parameter has changed.",
                    next_step="Restore what was changed, or use `dissensus fork` to run it anew from there.",
                )
            past = None
        if past is not None:
            self._due[job.key] = past
        elif self._then is not None:
            self._held.append(job)
        else:
            raise NotRecorded(
                job.key,
                f"The record holds no outcome under the key {job.key!r}.",
                next_step="The run was interrupted there; `dissensus resume` finishes it.",
            )

    def cancel(self, key: str) -> None:
        """Forget the job under ``key``."""
        self._due.pop(key, None)
        self._held = [job for job in self._held if job.key != key]
        if self._then is not None:
            self._then.cancel(key)

    async def next(self) -> Sequence[Finished | Aside]:
        """The earliest recorded outcome that is due; when there is none, what the other performer has."""
        if self._due:
            key = min(self._due, key=lambda key: self._due[key].seq)
            past = self._due.pop(key)
            return [Finished(key, past.outcome, past.origin)]
        if self._then is None:
            raise RunError("The script waits for something that nobody was asked for.")
        held, self._held = self._held, []
        for job in held:
            self._then.start(job)
        return await self._then.next()
