"""From a panel to runs: opens its models and tools once, and keeps them open from run to run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dissensus.agents.budget import Budget
from dissensus.agents.checks import check_from_spec
from dissensus.agents.model import Model
from dissensus.agents.panel import (
    Panel,
    close_models,
    open_budget,
    open_models,
    open_tools,
    panel_from_data,
    with_capabilities,
    with_tools,
)
from dissensus.errors import RunError
from dissensus.record.event import Event
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.run.spending import Spending, Step
from dissensus.run.waiting import at_work
from dissensus.script.decisions import Decision
from dissensus.script.outcomes import from_data

Checks = Mapping[str, Any]


class Cast:
    """A panel whose models and tools are open. Use as an async context manager; it may serve many runs.

    Args:
        panel: who takes part.
        late: open the models only when one is asked (for runs that may need none, as most forks do).
        wrap: put around each tool, for instance a cell in which it runs.
        within: what all runs here may take together; the budget of each is a part of it.
    """

    def __init__(
        self,
        panel: Panel,
        *,
        late: bool = False,
        wrap: Callable[[Any], Any] | None = None,
        within: Budget | None = None,
    ) -> None:
        self.panel = panel
        self._within = within
        self._late = late
        self._wrap = wrap
        self._models: dict[str, Model] = {}
        self._tools: Mapping[str, Any] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        try:
            if self.panel.tools:
                toolbox = await self._stack.enter_async_context(open_tools(self.panel))
                self._tools, self.panel = toolbox, with_tools(self.panel, toolbox)
                if self._wrap is not None:
                    self._tools = {name: self._wrap(tool) for name, tool in toolbox.items()}
            self._stack.push_async_callback(self._close_models)
            if not self._late:
                self._models = open_models(self.panel)
                self.panel = with_capabilities(self.panel, self._models)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _close_models(self) -> None:
        await close_models(self._models)

    def model_of(self, agent: str) -> Model:
        """The model behind ``agent``."""
        if not self._models:
            self._models = open_models(self.panel)
        return self._models[agent]

    def performer(self, checks: Checks | None = None, past: Sequence[Event] = ()) -> Live:
        """A live performer for one run, with a budget of its own from which ``past`` calls are taken first."""
        budget, purses = open_budget(self.panel, within=self._within, elapsed_s=active_seconds(past))
        told: list[Step] = []
        for event in past:
            if event.kind == "outcome":
                outcome = from_data(event.body["outcome"])
                if getattr(outcome, "model", ""):  # it reached a back end
                    purses.get(event.actor, budget).charge(getattr(outcome, "usage", None))
            elif event.kind == "budget-warning" and "what" in event.body:
                told.append((event.body["budget"], event.body["what"], event.body["share"]))
        spending = Spending(budget, purses, lambda agent: self.panel.spec_of(agent).prices, told)
        return Live(self.model_of, tools=self._tools, checks=checks, spending=spending)


def active_seconds(events: Sequence[Event]) -> float:
    """Seconds that a run was at work: from its start and from each resumption to the event before the next.

    Waiting for a person costs none.
    """
    total, began, last = 0.0, None, None
    for event in at_work(events):
        if began is None or event.kind == "resumed":
            total += (last - began) if began is not None and last is not None else 0.0
            began = event.time
        last = event.time
    return max(total + ((last - began) if began is not None and last is not None else 0.0), 0.0)


async def run_procedure(
    *,
    procedure: str = "vote",
    settings: Mapping[str, Any],
    panel: Panel | Cast,
    record: Store,
    seed: int = 0,
    checks: Checks | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Decision:
    """Run ``procedure`` with a panel; an open :class:`Cast` is used as it is and stays open.

    See :func:`dissensus.run.runs.start` for the rest of the arguments and the errors.
    """
    if not isinstance(panel, Cast):
        async with Cast(panel) as cast:
            return await run_procedure(
                procedure=procedure, settings=settings, panel=cast, record=record, seed=seed, checks=checks,
                on_event=on_event,
            )  # fmt: skip
    return await runs.start(
        procedure=procedure,
        settings=settings,
        seats=panel.panel.seats,
        performer=panel.performer(checks),
        record=record,
        seed=seed,
        panel=panel.panel.to_data(),
        on_event=on_event,
    )


async def resume_from(
    path: str | Path,
    *,
    cast: Cast | None = None,
    checks: Checks | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Decision:
    """Finish the run in the record at ``path``; see :func:`dissensus.run.runs.resume`.

    Args:
        path: the record.
        cast: the open panel to go on with, if it is the one that the record names; it stays open. None opens that one.
        checks: the outside checks by name; None makes them again from their names in the record.
        on_event: called after each event.
    """
    with open_record(path) as store:
        if (decision := runs.finished(runs.events_of(store))) is not None:
            return replace(decision, record=str(path))
    with open_record(path, "a") as store:
        events = list(store.read())
        head = runs.head_of(events)
        if cast is None and not head.panel and not head.seats:  # nobody takes part, so there is nothing to open
            return await runs.resume(store, Live(_nobody), on_event=on_event)
        async with _cast_again(head, path) if cast is None else nullcontext(cast) as live:
            performer = live.performer(checks or checks_of(head.settings), events)
            return await runs.resume(store, performer, on_event=on_event)


@asynccontextmanager
async def _cast_again(head: runs.Head, path: str | Path) -> AsyncIterator[Cast]:
    """The panel of a record, opened anew; tools that ran in a cell get one again."""
    panel = _panel_of(head, path)
    if (case := head.settings.get("case")) and case.get("cell"):
        from dissensus.run.disputing import cell_again

        async with cell_again(case) as wrap, Cast(panel, late=True, wrap=wrap) as cast:
            yield cast
        return
    if (share := head.settings.get("share")) and share.get("cell"):
        from dissensus.run.reporting import cell_again as cell_of_share_again

        async with cell_of_share_again(share) as wrap, Cast(panel, late=True, wrap=wrap) as cast:
            yield cast
        return
    async with Cast(panel, late=True) as cast:
        yield cast


async def fork_from(
    parent: str | Path,
    into: str | Path,
    *,
    at: int,
    text: str,
    reuse: str = "unaffected",
    checks: Checks | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Decision:
    """Fork the record ``parent`` into a new one. Errors as :func:`~dissensus.run.runs.fork`."""
    with open_record(parent) as store:
        events = runs.events_of(store)
    runs.outcome_at(events, at, parent)  # refuse before a file is made
    head = runs.head_of(events)
    async with _cast_again(head, parent) as cast:
        performer = cast.performer(checks or checks_of(head.settings))
        with open_record(into, "x") as store:
            return await runs.fork(parent, store, performer, at=at, text=text, reuse=reuse, on_event=on_event)


def checks_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The outside checks that a record names. A Python callable cannot be made again from its name; pass it anew."""
    names = settings.get("vote", {}).get("checks", ())
    return {name: check_from_spec(name) for name in names}


def _nobody(agent: str) -> Model:
    raise RunError(f"The run has no seat for {agent}.")


def _panel_of(head: runs.Head, path: str | Path) -> Panel:
    if not head.panel:
        raise RunError(
            f"The record {path} does not say which models its agents had.",
            next_step="Use dissensus.run.runs.resume or fork from Python, with a performer of your own.",
        )
    return panel_from_data(head.panel)
