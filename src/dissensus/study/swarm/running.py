"""The whole job: shares are read, what was reported meets in cases, faults are planted, and it is told how all ended.

There is no state beside the records. Whatever was cut is gone on with, and what is done is not done again, whoever
died when: give the same swarm and folder again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from dissensus.record.event import Event
from dissensus.study.swarm.batch import Swarm, checked
from dissensus.study.swarm.bench import Bench, OnDone, Stage
from dissensus.study.swarm.outcomes import ItemResult, PlantResult
from dissensus.study.swarm.read_shares import read_shares
from dissensus.study.swarm.readings import ItemReport, Reading, look
from dissensus.study.swarm.settle import meet, plant_faults, rules_for
from dissensus.study.swarm.spending import Taken, at_work_s, taken


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmResult:
    """How a swarm has ended.

    Args:
        swarm: what was to be done.
        folder: where the records lie.
        items: each item.
        drawn: items that were drawn as spot checks: nothing contradicts there.
        plants: what became of planted faults.
        unplanted: kinds of faults that no item was fit for.
        reports: what each party has reported about each item, by party and item.
        readings: the records of the shares.
        cost: what all calls took.
        seconds: how long records were worked on, those side by side counted once.
        stopped: limits of the budget that were hit.
    """

    swarm: Swarm
    folder: Path
    items: tuple[ItemResult, ...]
    drawn: frozenset[str] = frozenset()
    plants: tuple[PlantResult, ...] = ()
    unplanted: tuple[str, ...] = ()
    reports: Mapping[tuple[str, str], ItemReport] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    cost: Taken = field(default_factory=Taken)
    seconds: float = 0.0
    stopped: tuple[str, ...] = ()


async def run_swarm_async(
    swarm: Swarm,
    folder: str | Path,
    *,
    jobs: int | None = None,
    require_cell: str | None = None,
    follow_standing: bool = True,
    repin: bool = False,
    on_done: OnDone | None = None,
) -> SwarmResult:
    """Do what is left of a swarm, and say how it has ended.

    Args:
        swarm: the batch.
        folder: where its records lie; it need not exist.
        jobs: records that are worked on side by side; as the swarm says if it is left out.
        require_cell: ``strong`` or ``medium``: run no program of others below that level.
        follow_standing: whether cases follow answers that persons made rules, in this folder.
        repin: read again what has changed since it was read, instead of refusing it.
        on_done: called after each piece of work.

    Raises:
        SpecError: the swarm cannot be.
        UsageError: something has changed since it was read.
        CellError: the required level is not reached. Nobody was asked.
        RunError: an agent cannot be asked any more, or a record cannot be written. The same call goes on.
        RecordError: a record is damaged.
    """
    bench = Bench(
        checked(swarm), Path(folder), jobs=jobs or swarm.jobs, require_cell=require_cell, on_done=on_done or _nothing
    )
    earlier = look(bench.folder, swarm, repin=repin)
    async with bench:
        read = await read_shares(bench, earlier)
        items, drawn = await meet(bench, read.reports, rules_for(bench, standing=follow_standing), repin=repin)
        plants, unfit = await plant_faults(bench, items, repin=repin)
    records = bench.records()
    return SwarmResult(
        swarm=swarm,
        folder=bench.folder,
        items=tuple(items),
        drawn=drawn,
        plants=tuple(plants),
        unplanted=tuple(unfit),
        reports=read.reports,
        readings=tuple(read.readings),
        cost=taken(records),
        seconds=at_work_s(records),
        stopped=tuple(sorted(_limits_hit(records))),
    )


def run_swarm(swarm: Swarm, folder: str | Path, **options: Any) -> SwarmResult:
    """:func:`run_swarm_async` with an event loop of its own. Not for use where one is running already."""

    async def go() -> SwarmResult:
        return await run_swarm_async(swarm, folder, **options)

    return anyio.run(go)


def _nothing(stage: Stage, name: str) -> None:
    """Whoever does not want to be told."""


def _limits_hit(records: Iterable[Sequence[Event]]) -> set[str]:
    return {
        str(event.body["outcome"]["what"])
        for events in records
        for event in events
        if event.kind == "outcome" and event.body["outcome"]["kind"] == "budget"
    }
