"""``dissensus.run.disputing``: a case from Python, with a record, and with whoever takes part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from dissensus.agents.budget import Budget, Limits, tighter
from dissensus.agents.cells import inside, open_cell
from dissensus.agents.command_tools import CommandTool
from dissensus.agents.panel import Panel
from dissensus.decide.dispute.case import Case
from dissensus.decide.dispute.case_data import case_from, checked
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.dispute.script import RUNS_TOOLS
from dissensus.decide.dispute.settlement import Settlement
from dissensus.decide.procedures import settings_of_dispute
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.run.casting import Cast, run_procedure
from dissensus.script.seats import Seat

Wrap = Callable[[Any], Any]


async def dispute_async(
    case: Case,
    *,
    panel: Panel | None = None,
    budget: Limits | None = None,
    within: Budget | None = None,
    require_cell: str | None = None,
    seed: int = 0,
    record: str | Path | Store | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Settlement:
    """Settle a case by its evidence, or say what is lacking, or leave a question to a person on the record.

    Args:
        case: the claims with the bytes that they cite.
        panel: the verifier, authors who can be asked for evidence, tools that can be run again; None if nobody is.
        budget: the most that it may take, in place of the panel's.
        within: what it and other cases may take together. What is left of that now is the most that this one may take,
            also when it goes on after a person has answered, and stands on its record as its budget.
        require_cell: ``strong`` or ``medium``: run nothing of others below that level. Tools that are programs always
            run in a cell that holds the cited evidence alone.
        seed: all randomness derives from it.
        record: a new ``.db`` file, or an empty store; None keeps the record in memory only.
        on_event: called after each event.

    Raises:
        UsageError: the case cannot be.
        CellError: the required level is not reached. Nothing was asked or run.
        RunError: the run could not be finished; its record can be resumed.
    """
    checked(case)
    panel = panel or Panel(seats=(), models={}, model_of={})
    budget = budget or panel.budget
    panel = replace(panel, budget=budget if within is None else tighter(budget, within.left()))
    if case.calls and not case.verifier:
        panel = replace(panel, seats=(*panel.seats, Seat(agent=RUNS_TOOLS, model="none")))
    async with AsyncExitStack() as stack:
        wrap: Wrap | None = None
        programs = any(source.kind == "command" for source in panel.tools.values())  # an author may have one
        if case.calls or programs or require_cell is not None:
            wrap, told = await stack.enter_async_context(_in_cell(case, require_cell))
            case = replace(case, cell=told)
        cast = await stack.enter_async_context(Cast(panel, wrap=wrap, within=within))
        store: Store
        if isinstance(record, str | Path):
            store = stack.enter_context(open_record(record, "x"))
        else:
            store = MemoryStore() if record is None else record
        found = await run_procedure(
            procedure="dispute",
            settings=settings_of_dispute(case),
            panel=cast,
            record=store,
            seed=seed,
            on_event=on_event,
        )
    if not isinstance(found, Settlement):
        raise TypeError(found)
    return found


@asynccontextmanager
async def _in_cell(case: Case, require: str | None) -> AsyncIterator[tuple[Wrap, dict[str, Any]]]:
    """What puts a program into a cell that holds the cited evidence alone, and what a record says of that cell."""
    bytes_of = {digest: source_of(pinned).data for digest, pinned in case.sources.items()}
    names = {digest: f"evidence/{digest[:16]}" for digest in bytes_of}
    async with open_cell(names, bytes_of, require=require) as cell:

        def wrap(tool: Any) -> Any:
            return inside(tool, cell) if isinstance(tool, CommandTool) else tool

        yield wrap, {**cell.on_record(), "required": require}


@asynccontextmanager
async def cell_again(data: Mapping[str, Any]) -> AsyncIterator[Wrap]:
    """The cell of a recorded case, for a run that goes on.

    Raises :class:`~dissensus.errors.CellError`, before anything is run, if the level that was required is not reached.
    """
    case = case_from(data)
    async with _in_cell(case, (case.cell or {}).get("required")) as (wrap, _):
        yield wrap


def dispute(case: Case, **options: Any) -> Settlement:
    """:func:`dispute_async` with an event loop of its own. Not for use where one is running already."""

    async def go() -> Settlement:
        return await dispute_async(case, **options)

    return anyio.run(go)
