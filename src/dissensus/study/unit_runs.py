"""One unit of a study in its record: is it done, and do it, or finish what was begun.

The name of the record holds a digest of everything that decides the run, so a study that was cut goes on by itself, and
what was changed is run anew. There is no other state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dissensus.errors import StorageError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.run import runs
from dissensus.run.casting import Cast
from dissensus.script.decisions import Decision
from dissensus.script.outcomes import BudgetExhausted, TransportFailure
from dissensus.study.grid import Unit
from dissensus.study.records import decision_in, go_on, read

MOST_RECORDS = 100
"""Records of one unit, all but one of them cut or lost."""

_TOLD = frozenset({"context-length", "capability"})
"""Causes of a failed call that say something of model and request: asked again they would come again."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finished run.

    Args:
        path: its record.
        events: what it holds.
        decision: what the run came to.
        lost: calls that did not come about: a server was gone, or the budget.
    """

    path: Path
    events: Sequence[Event]
    decision: Decision
    lost: int


def path_of(folder: Path, unit: Unit) -> Path:
    """The unit's first record."""
    cell = unit.cell
    where = folder / "records" / _word(cell.tasks.name) / _word(cell.lineup.name) / _word(cell.arm.family)
    return where / f"{_word(unit.task.id.rpartition('/')[2])}-{unit.digest[:16]}.db"


def paths_of(folder: Path, unit: Unit) -> Iterator[Path]:
    """Records that may hold the unit, in the order in which they are tried."""
    first = path_of(folder, unit)
    yield first
    yield from (first.with_name(f"{first.stem}-{number}.db") for number in range(2, MOST_RECORDS))


def found(folder: Path, unit: Unit) -> Found | None:
    """The finished run of the unit that lost no call, else the last one that is finished; None if there is none."""
    last: Found | None = None
    for path in paths_of(folder, unit):
        if not path.exists():
            return last
        if (one := _found(path)) is not None:
            if not one.lost:
                return one
            last = one
    return last


def _found(path: Path) -> Found | None:
    events = read(path)
    if events is None or (decision := decision_in(events)) is None:
        return None
    return Found(path, events, decision, lost_calls(events))


def lost_calls(events: Sequence[Event]) -> int:
    """Calls that did not come about and might another time."""
    outcomes = [event.body["outcome"] for event in events if event.kind == "outcome"]
    return sum(
        one["kind"] == BudgetExhausted.kind or (one["kind"] == TransportFailure.kind and one["cause"] not in _TOLD)
        for one in outcomes
    )


async def carry_out(folder: Path, unit: Unit, cast: Cast) -> Found:
    """Run the unit in a new record, or finish one that was begun; what is finished, and lost no call, is left as it is.

    Raises:
        SpecError: the procedure cannot be held with this line-up.
        StorageError: a record cannot be written.
        ScriptError: the procedure failed.
    """
    for path in paths_of(folder, unit):
        if path.exists():
            events = read(path)
            if events is None:
                continue
            if events and events[-1].kind == "ended":
                if (one := _found(path)) is not None and not one.lost:
                    return one
                continue
            if not events:
                await _start(path, "a", unit, cast)
            elif await go_on(path, cast) is None:
                continue
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            await _start(path, "x", unit, cast)
        if (one := _found(path)) is not None:
            return one
    raise StorageError(f"There are too many records of one run in {folder}.", next_step="Remove some.")


async def _start(path: Path, mode: str, unit: Unit, cast: Cast) -> None:
    with open_record(path, mode) as store:
        await runs.start(
            procedure=unit.cell.arm.procedure,
            settings=unit.data,
            seats=unit.seats(cast.panel.seats),
            performer=cast.performer(),
            record=store,
            seed=unit.run_seed,
            panel=cast.panel.to_data(),
        )


def _word(text: str) -> str:
    """``text`` as it can stand in the name of a file; long ones are cut, since a digest tells them apart."""
    return re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII).strip("-.")[:48] or "x"
