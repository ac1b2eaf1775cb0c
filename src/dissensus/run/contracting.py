"""``dissensus.contract``: one task, one panel, one holder at a time, from Python."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio

from dissensus.agents.panel import Panel, default_panel, load_panel
from dissensus.decide.contract import Contract, ContractSettings, checked
from dissensus.decide.procedures import settings_of_contract
from dissensus.record.event import Event
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.run.api import DEFAULT_MODEL
from dissensus.run.casting import Cast, run_procedure


async def contract_async(
    task: str,
    *,
    panel: Panel | Cast | str | Path | None = None,
    model: str = DEFAULT_MODEL,
    agents: int = 5,
    settings: ContractSettings | None = None,
    seed: int = 0,
    record: str | Path | Store | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Contract:
    """Put a task out to tender among a panel: take bids, award it to the best, have it reported.

    Args:
        task: what is to be done, as the agents read it.
        panel: who may bid: a panel, an open cast, or a panel file.
        model: without a panel: the model of all agents.
        agents: without a panel: how many there are.
        settings: how bids are compared, how long is waited, how often the task is announced.
        seed: all randomness derives from it.
        record: a new ``.db`` file, or an empty store; None keeps the record in memory only.
        on_event: called after each event.

    Raises:
        UsageError: something that was asked for cannot be; the message says what to do.
        RunError: the run could not be finished; its record can be resumed.
    """
    settings = settings or ContractSettings()
    if panel is None:
        panel = default_panel(model, agents)
    elif isinstance(panel, str | Path):
        panel = load_panel(panel)
    seats = (panel.panel if isinstance(panel, Cast) else panel).seats
    checked(task, seats, settings)  # what cannot be is refused before a file is made
    async with AsyncExitStack() as stack:
        cast = panel if isinstance(panel, Cast) else await stack.enter_async_context(Cast(panel))
        store: Store
        if isinstance(record, str | Path):
            store = stack.enter_context(open_record(record, "x"))
        else:
            store = MemoryStore() if record is None else record
        found = await run_procedure(
            procedure="contract",
            settings=settings_of_contract(task, settings),
            panel=cast,
            record=store,
            seed=seed,
            on_event=on_event,
        )
    if not isinstance(found, Contract):
        raise TypeError(found)
    return found


def contract(task: str, **options: Any) -> Contract:
    """:func:`contract_async` with an event loop of its own. Not for use where one is running already."""

    async def go() -> Contract:
        return await contract_async(task, **options)

    return anyio.run(go)
