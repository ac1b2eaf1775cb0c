"""Who carries the units of a study out: the seam, and the executor on this machine.

An executor is given units and does them in any order, wherever it likes; all that it has to keep is that each unit ends
up in its record. Units are plain data, and the state of a study is its records, so that it may be killed at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Protocol

from dissensus.errors import RunError, SpecError
from dissensus.run.casting import Cast
from dissensus.study.grid import Unit
from dissensus.study.side_by_side import side_by_side
from dissensus.study.unit_runs import Found, carry_out

OnDone = Callable[[Unit, Found], None]

DEAD_AFTER = 3
"""Units in a row in which not one call came about, after which a study stops."""


class Executor(Protocol):
    """Carries units out."""

    async def run(self, folder: Path, units: Sequence[Unit], on_done: OnDone) -> None:
        """Do ``units``, each into its record in ``folder``; ``on_done`` is called after each.

        Raises:
            RunError: no call comes about any more. What was done is kept.
            SpecError: a procedure cannot be held with a line-up.
        """
        ...


class Local:
    """In this process: one line-up after the other, so that its models are opened once, ``jobs`` units at a time.

    Args:
        jobs: units side by side.
        minutes: after so many no unit is begun any more; those that were are finished. None is no limit.
    """

    def __init__(self, jobs: int = 1, *, minutes: float | None = None) -> None:
        self.jobs = jobs
        self._until = None if minutes is None else time.monotonic() + 60 * minutes

    async def run(self, folder: Path, units: Sequence[Unit], on_done: OnDone) -> None:
        """See :class:`Executor`."""
        for _, group in groupby(units, key=lambda unit: unit.cell.lineup.name):
            own = list(group)
            if self._is_over():
                return
            async with Cast(own[0].cell.lineup.panel) as cast:
                refuse_early(own, cast)
                await self._side_by_side(folder, own, cast, on_done)

    def _is_over(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    async def _side_by_side(self, folder: Path, units: Sequence[Unit], cast: Cast, on_done: OnDone) -> None:
        dead = 0

        async def do(unit: Unit) -> None:
            nonlocal dead
            if self._is_over():
                return
            one = await carry_out(folder, unit, cast)
            on_done(unit, one)
            dead = dead + 1 if one.lost and one.lost >= _calls(one) else 0
            if dead >= DEAD_AFTER:
                raise RunError(
                    f"In the last {dead} runs no call came about ({_reason(one)}).",
                    next_step="See to the models or the budget, then give the same command again: it goes on here.",
                )

        await side_by_side([partial(do, unit) for unit in units], self.jobs)


def refuse_early(units: Sequence[Unit], cast: Cast) -> None:
    """Raise what the first unit of each arm would raise as soon as it begins, before any record is made."""
    from dissensus.decide.procedures import PROCEDURES

    seen: set[object] = set()
    for unit in units:
        if (kind := (unit.cell.arm.name, unit.cell.corrupted, unit.cell.tasks.name)) in seen:
            continue
        seen.add(kind)
        script = PROCEDURES[unit.cell.arm.procedure].build(unit.data, unit.seats(cast.panel.seats), unit.run_seed)
        try:
            script.send(None)
        except SpecError as error:
            raise SpecError(
                f"The procedure “{unit.cell.arm.name}” cannot be held with the line-up “{unit.cell.lineup.name}”: "
                f"{error.message}",
                path=unit.study.path,
                next_step=error.next_step,
            ) from None
        finally:
            script.close()


def _calls(one: Found) -> int:
    return sum(event.kind == "outcome" for event in one.events)


def _reason(one: Found) -> str:
    for event in one.events:
        if event.kind == "outcome" and "problem" in event.body["outcome"]:
            return str(event.body["outcome"]["problem"])
    return "the budget is used up"
