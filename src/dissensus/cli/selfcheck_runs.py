"""Self-checks of many questions, a record for each, so that a run that was cut goes on where it stopped.

The name of a record holds a digest of all that decides its course. What is found done under it is not asked again; what
was begun is finished; what lost calls to a dead server is asked anew in a record beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dissensus.decide.procedures import settings_of_self_check
from dissensus.decide.self_check_result import SelfChecked
from dissensus.decide.self_check_settings import SelfCheckSettings
from dissensus.errors import RunError, StorageError, UsageError
from dissensus.record.opening import open_record
from dissensus.script.questions import Question

if TYPE_CHECKING:
    from dissensus.agents.model import Model
    from dissensus.record.event import Event
    from dissensus.run.casting import Cast

PROCEDURE: Final = "self-check"
MOST_RECORDS: Final = 1000
DEAD_AFTER: Final = 3
"""Questions in a row on which calls were lost, after which nothing more is asked."""

OnEvent = Callable[["Event"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One question, and how it is put."""

    question: Question
    settings: SelfCheckSettings


async def run_one(
    job: Job, path: Path, *, cast: Cast | None, seed: int, on_event: OnEvent | None = None
) -> SelfChecked:
    """Check one question in a new record. Without a cast nobody is asked: the replies were given."""
    from dissensus.run import runs
    from dissensus.run.casting import run_procedure

    settings = settings_of_self_check(job.question, job.settings)
    with open_record(path, "x") as store:
        if cast is not None:
            return _checked(
                await run_procedure(
                    procedure=PROCEDURE, settings=settings, panel=cast, record=store, seed=seed, on_event=on_event
                )
            )
        return _checked(
            await runs.start(
                procedure=PROCEDURE, settings=settings, seats=(), performer=runs.live(_nobody), record=store, seed=seed
            )
        )


async def run_pasted(job: Job | None, path: Path, *, seed: int) -> SelfChecked:
    """Check one question with replies that a person pastes; a record that was begun is gone on with."""
    from dissensus.cli.selfcheck_paste import SEAT, Pasted
    from dissensus.run import runs

    live = runs.live(lambda _agent: Pasted())
    if job is None:
        with open_record(path, "a") as store:
            head = runs.head_of(runs.events_of(store))
            if head.procedure != PROCEDURE or [seat.agent for seat in head.seats] != [SEAT.agent]:
                raise UsageError(
                    f"The run in {path} is none whose replies are pasted.", next_step=f"dissensus resume {path}"
                )
            return _checked(await runs.resume(store, live))
    with open_record(path, "x") as store:
        return _checked(
            await runs.start(
                procedure=PROCEDURE,
                settings=settings_of_self_check(job.question, job.settings),
                seats=(SEAT,),
                performer=live,
                record=store,
                seed=seed,
            )
        )


class Many:
    """Self-checks of many questions in one folder.

    Args:
        folder: where the records lie.
        cast: the panel, open; None if replies were given.
        seed: all randomness derives from it and a question's own keys.
    """

    def __init__(self, folder: Path, cast: Cast | None, seed: int) -> None:
        self.folder = folder
        self.cast = cast
        self.seed = seed
        self._known: dict[Path, SelfChecked] = {}

    async def run(self, jobs: Sequence[Job], on_done: Callable[[SelfChecked], None]) -> list[SelfChecked]:
        """Every question, in order; those that were checked before are read from their records.

        Raises:
            RunError: on several questions in a row calls did not come about. What was done is kept.
            StorageError: a record cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            why = problem.strerror or problem
            raise StorageError(
                f"{self.folder} cannot be made: {why}.", next_step="Name another with --record."
            ) from None
        done: list[SelfChecked] = []
        dead = 0
        for job in jobs:
            found = self.found(job)
            dead = 0 if found is not None else dead
            if found is None:
                found = await self._ask(job)
                dead = dead + 1 if found.lost else 0
            done.append(found)
            on_done(found)
            if dead == DEAD_AFTER:
                raise RunError(
                    f"On the last {dead} questions calls did not come about ({_problem(found)}).",
                    next_step="See to the model or the budget, then give the same command again: it goes on from here.",
                )
        return done

    def found(self, job: Job) -> SelfChecked | None:
        """The question as it was checked before; None if it has to be, or to its end."""
        from dissensus.study.records import decision_in, read

        for path in self.paths(job):
            if path in self._known:
                return self._known[path]
            if not path.exists():
                return None
            found = decision_in(read(path) or ())
            if isinstance(found, SelfChecked) and not found.lost:
                self._known[path] = replace(found, record=str(path))
                return self._known[path]
        return None

    def paths(self, job: Job) -> Iterator[Path]:
        """Records that may hold a question, in the order in which they are tried."""
        from dissensus.cli.questions import slug
        from dissensus.study.panel_digest import digest_of

        put = [PROCEDURE, settings_of_self_check(job.question, job.settings), self._who(job.settings), self.seed]
        stem = f"{slug(job.question.id or job.question.text)}-{digest_of(put)[:12]}"
        yield self.folder / f"{stem}.db"
        yield from (self.folder / f"{stem}-{number}.db" for number in range(2, MOST_RECORDS))

    def _who(self, settings: SelfCheckSettings) -> Any:
        """Who is asked, by what of it can change an answer."""
        from dissensus.study.panel_digest import model_data

        if self.cast is None:
            return None
        seats: list[Mapping[str, Any]] = []
        for seat in self.cast.panel.seats:
            if seat.agent == settings.agent or not settings.agent:
                data = msgspec.to_builtins(seat)
                data["capabilities"] = sorted(data["capabilities"])
                seats.append({**data, "model": model_data(self.cast.panel, seat.agent)})
        return seats

    async def _ask(self, job: Job) -> SelfChecked:
        """Finish the record that was begun, or ask in a new one."""
        from dissensus.study.records import go_on, read

        for path in self.paths(job):
            if not path.exists():
                return await run_one(job, path, cast=self.cast, seed=self.seed)
            events = read(path)
            if events is None or self.cast is None or not events or events[-1].kind == "ended":
                continue
            if isinstance(found := await go_on(path, self.cast), SelfChecked):
                return found
        raise StorageError(f"There are too many records of one question in {self.folder}.", next_step="Remove some.")


def _checked(found: Any) -> SelfChecked:
    if not isinstance(found, SelfChecked):
        raise TypeError(found)
    return found


def _problem(found: SelfChecked) -> str:
    looks = [*(found.verdict.looks if found.verdict else ()), *found.equal.looks]
    problems = [one.problem for one in found.answers] + [look.why for look in looks if look.kind == "failed"]
    return next(filter(None, problems), "no reason given")


def _nobody(agent: str) -> Model:
    raise RunError(f"The run has no seat for {agent}.")
