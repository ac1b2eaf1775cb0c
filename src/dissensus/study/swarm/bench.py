"""What is open while a swarm is worked on: its models once, its purse, and the cells of its programs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import anyio

from dissensus.agents.cells.ladder import reach, required
from dissensus.agents.panel import Panel
from dissensus.agents.tools import in_thread
from dissensus.errors import CellError, RunError
from dissensus.record.event import Event
from dissensus.run.casting import Cast
from dissensus.study.swarm.batch import Swarm
from dissensus.study.swarm.case_runs import CASES, PLANTS
from dissensus.study.swarm.names import events_in, numbered
from dissensus.study.swarm.readings import REPORTS
from dissensus.study.swarm.shares import panel_for, share_of
from dissensus.study.swarm.spending import Lent, purse

Stage = Literal["reading", "case", "plant"]
OnDone = Callable[[Stage, str], None]
"""Called after each item that was read, each item whose cases are done, and each planted fault that was looked at."""


class Bench:
    """One call of a swarm. Use as an async context manager.

    Args:
        swarm: the batch.
        folder: where its records lie.
        jobs: records that are worked on side by side.
        require_cell: level below which no program of others is run; None is any.
        on_done: called after each piece of work.
    """

    def __init__(self, swarm: Swarm, folder: Path, *, jobs: int, require_cell: str | None, on_done: OnDone) -> None:
        self.swarm = swarm
        self.folder = folder
        self.jobs = jobs
        self.require_cell = require_cell
        self.on_done = on_done
        self._stack = AsyncExitStack()
        self._opening = anyio.Lock()
        self._models: Cast | None = None
        self._able: Panel | None = None

    async def __aenter__(self) -> Self:
        await self._check_cells()
        await self._stack.__aenter__()
        _, self._spending = purse(self.swarm.budget, self.swarm.panel, self.records())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _check_cells(self) -> None:
        """Refuse a level that this machine does not reach, and tools that run in no cell if one is required."""
        if self.require_cell is None:
            return
        required(await in_thread(reach), self.require_cell)
        for party in self.swarm.parties:
            for agent in party.agents:
                panel = panel_for(share_of(self.swarm, party, agent, ()), self.swarm.panel)
                beside = [name for name, source in panel.tools.items() if source.kind in ("python", "mcp")]
                if beside:
                    raise CellError(
                        f"The tool {beside[0]!r} of {agent} is no program that can be run in a cell.",
                        next_step="Give the agent a tool with `command`, or leave --require-cell out.",
                    )

    async def panel(self) -> Panel | None:
        """The panel with seats that know what their models can do; opens the models of those who take part, once."""
        async with self._opening:
            if self.swarm.panel is not None and self._able is None:
                panel = self.swarm.panel
                agents = {agent for party in self.swarm.parties if party.by == "agent" for agent in party.agents}
                model_of = {
                    agent: name for agent, name in panel.model_of.items() if agent in agents | {self.swarm.verifier}
                }
                only = _of_agents(panel, model_of)
                self._models = await self._stack.enter_async_context(Cast(only))
                able = {seat.agent: seat for seat in self._models.panel.seats}
                self._able = replace(panel, seats=tuple(able.get(seat.agent, seat) for seat in panel.seats))
        return self._able

    def cast(self, panel: Panel, wrap: Callable[[Any], Any] | None = None) -> Lent:
        """A cast of ``panel`` that pays from the swarm's purse; a record of it names the budget of the whole swarm."""

        def model_of(agent: str) -> Any:
            if self._models is None:
                raise RunError(f"The model of {agent} is not open.")
            return self._models.model_of(agent)

        return Lent(replace(panel, budget=self.swarm.budget), model_of, self._spending, wrap=wrap)

    async def seated(self, names: set[str]) -> Panel:
        """A panel of those agents of ``names`` that there are, without tools."""
        known = {seat.agent for seat in self.swarm.panel.seats} if self.swarm.panel is not None else set()
        panel = await self.panel() if names & known else None
        if panel is None:
            return Panel(seats=(), models={}, model_of={})
        return _of_agents(panel, {agent: name for agent, name in panel.model_of.items() if agent in names})

    def records(self) -> list[list[Event]]:
        """The events of all records of the folder."""
        return [events_in(path) for name in (REPORTS, CASES, PLANTS) for path in numbered(self.folder / name)]


def _of_agents(panel: Panel, model_of: dict[str, str]) -> Panel:
    return replace(
        panel,
        seats=tuple(replace(seat, tools=()) for seat in panel.seats if seat.agent in model_of),
        model_of=model_of,
        models={name: panel.models[name] for name in dict.fromkeys(model_of.values())},
        tools={},
    )
