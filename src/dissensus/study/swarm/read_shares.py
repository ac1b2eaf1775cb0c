"""The first half of a swarm: every share is read into a record of its own, its programs in a cell of their own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final

from dissensus.decide.procedures import settings_of_report
from dissensus.decide.swarm.work import Share
from dissensus.errors import RunError, ScriptError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.run.casting import run_procedure
from dissensus.run.reporting import in_cell
from dissensus.script.outcomes import TransportFailure
from dissensus.study.records import go_on
from dissensus.study.side_by_side import Piece, side_by_side
from dissensus.study.swarm.batch import seed_of
from dissensus.study.swarm.bench import Bench, OnDone
from dissensus.study.swarm.readings import Earlier, Reading, look, path_for
from dissensus.study.swarm.shares import panel_for, share_of
from dissensus.study.swarm.spending import Lent

DEAD_AFTER: Final = 3
"""Items in a row of which one agent could not be asked, after which a swarm stops."""


async def read_shares(bench: Bench, earlier: Earlier) -> Earlier:
    """Read what is left, beginning with what was begun; how it stands afterwards.

    Raises:
        RunError: an agent cannot be asked any more, or a record cannot be written.
        CellError: the level that was required of a record that is gone on with is not reached.
    """
    begun = [_go_on(bench, reading) for reading in earlier.begun]
    await side_by_side([*begun, *(_begin(bench, share) for share in earlier.left)], bench.jobs)
    return look(bench.folder, bench.swarm, repin=True)


def _go_on(bench: Bench, reading: Reading) -> Piece:
    share = reading.share

    async def work() -> None:
        async with AsyncExitStack() as stack:
            cast, _ = await _reader(bench, stack, share, (share.cell or {}).get("required"))
            try:
                if await go_on(reading.path, cast, on_event=_Watch(share, bench.on_done, set(reading.reports))):
                    return
            except ScriptError:  # the record says how; items that were not read are silent
                return
        rest = [item for item in share.items if item not in reading.reports]
        if rest:  # another version of the procedures began it
            await _begin(bench, share_of(bench.swarm, bench.swarm.party(share.party), share.agent, rest))()

    return work


def _begin(bench: Bench, share: Share) -> Piece:
    async def work() -> None:
        async with AsyncExitStack() as stack:
            cast, told = await _reader(bench, stack, share, bench.require_cell)
            store = stack.enter_context(open_record(path_for(bench.folder, share), "x"))
            try:
                await run_procedure(
                    procedure="report",
                    settings=settings_of_report(replace(share, cell=told)),
                    panel=cast,
                    record=store,
                    seed=seed_of(bench.swarm.seed, "report", share.party, share.agent),
                    on_event=_Watch(share, bench.on_done, set()),
                )
            except ScriptError:
                return

    return work


async def _reader(
    bench: Bench, stack: AsyncExitStack, share: Share, require: str | None
) -> tuple[Lent, dict[str, Any] | None]:
    """Whoever reads a share, programs in a cell that holds its sources alone, and what a record says of that cell."""
    panel = panel_for(share, await bench.panel() if share.by == "agent" else bench.swarm.panel)
    told: dict[str, Any] | None = None
    wrap: Callable[[Any], Any] | None = None
    if any(source.kind == "command" for source in panel.tools.values()):
        wrap, told = await stack.enter_async_context(in_cell(share, require))
    return await stack.enter_async_context(bench.cast(panel, wrap)), told


class _Watch:
    """Counts the items of a share as they are read, and stops where nobody can be asked."""

    def __init__(self, share: Share, on_done: OnDone, before: set[str]) -> None:
        self.share = share
        self.on_done = on_done
        self.before = before
        self.dead = 0

    def __call__(self, event: Event) -> None:
        if event.kind != "reported" or event.body["item"] in self.before:
            return
        self.on_done("reading", f"{self.share.party}/{event.body['item']}")
        self.dead = self.dead + 1 if event.body["failed"] == TransportFailure.kind else 0
        if self.dead >= DEAD_AFTER:
            raise RunError(
                f"{self.share.agent} could not be asked about the last {self.dead} items: {event.body['silent']}",
                next_step="See to the model, then give the same command again: it goes on here.",
            )
