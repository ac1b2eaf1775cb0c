"""A group of agents: who takes part, with which models, tools and budget.

A panel is plain data. Nothing is opened before :func:`open_models` and :func:`open_tools` are called; what these find
out is put into the seats by :func:`with_capabilities` and :func:`with_tools`. The file format is in
:mod:`dissensus.agents.panel_file`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from dissensus.agents.budget import Budget, Limits
from dissensus.agents.model import Model
from dissensus.agents.personas import name_of, system_prompt
from dissensus.agents.prices import UNKNOWN_PRICES, Prices
from dissensus.agents.toolbox import Toolbox, ToolSource, open_toolbox
from dissensus.errors import UsageError
from dissensus.script.seats import Seat, data_with_seats
from dissensus.script.styles import ROTATION

TEMPERATURES: Final = (0.7, 0.5, 0.8, 0.6)
"""Temperatures in the order in which a panel of one model hands them out; with five styles, twenty combinations."""
MOST_AGENTS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model as :func:`dissensus.agents.registry.open_model` opens it. It holds no key.

    Args:
        reference: which model, as in ``llama:NAME`` or ``openai:NAME``.
        options: options of its back end.
        prices: what its tokens cost.
    """

    reference: str
    options: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices = UNKNOWN_PRICES


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Who takes part.

    Args:
        seats: the agents in file order, spares after the others. ``Seat.model`` is the model's reference, so that
            agents of one model are seen to share it under whatever name.
        models: the models by the name that the file gives them.
        model_of: name of each agent to the name of its model.
        tools: where tools come from, by name.
        budget: the most that a run may take.
        budgets: the most that an agent may take of it, by name, where one has a limit of its own.
        currency: of prices, costs and the budget; "" if none is named.
        path: the file it was read from; "" if from none.
    """

    seats: tuple[Seat, ...]
    models: Mapping[str, ModelSpec]
    model_of: Mapping[str, str]
    tools: Mapping[str, ToolSource] = field(default_factory=dict)
    budget: Limits = field(default_factory=Limits)
    budgets: Mapping[str, Limits] = field(default_factory=dict)
    currency: str = ""
    path: str = ""

    @property
    def folder(self) -> Path:
        """The folder from which commands and Python files of tools are looked for."""
        return Path(self.path).parent if self.path else Path()

    def seat(self, agent: str) -> Seat:
        """The seat of ``agent``. Raises :class:`KeyError` if there is none."""
        for seat in self.seats:
            if seat.agent == agent:
                return seat
        raise KeyError(agent)

    def spec_of(self, agent: str) -> ModelSpec:
        """The model of ``agent``. Raises :class:`KeyError` if there is no such agent."""
        return self.models[self.model_of[agent]]

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data for the record, without secrets, which no panel holds; :func:`panel_from_data` reads it."""
        return data_with_seats(self)


def panel_from_data(data: Mapping[str, Any]) -> Panel:
    """The panel that :meth:`Panel.to_data` wrote. Raises :class:`~dissensus.errors.UsageError` for other data."""
    try:
        return msgspec.convert(dict(data), Panel)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"This is not the data of a panel: {error}.", next_step="Give a panel file with --panel instead."
        ) from None


def load_panel(path: str | Path) -> Panel:
    """The panel in a YAML file.

    Raises:
        SpecError: something in the file is wrong; it names the line and says what to do.
    """
    from dissensus.agents.panel_file import read_panel

    return read_panel(path)


def default_panel(
    model: str,
    agents: int = 5,
    *,
    vary: bool = True,
    spares: int = 0,
    options: Mapping[str, Any] | None = None,
    temperature: float = TEMPERATURES[0],
    language: str = "",
    max_tokens: int = 512,
    deadline_s: float | None = None,
    budget: Limits | None = None,
) -> Panel:
    """A panel of agents on one model, called ada, ben, cleo ….

    Args:
        model: reference of the model.
        agents: how many vote.
        vary: give them different reasoning styles and temperatures; otherwise they differ in nothing but their seeds.
        spares: how many more step in for silent ones.
        options: options of the model's back end.
        temperature: of all agents, where they are not varied.
        language: in which they answer; "" leaves it to the question.
        max_tokens: most tokens in one reply.
        deadline_s: seconds after which an agent counts as silent.
        budget: the most that a run may take.

    Raises:
        UsageError: the number of agents is not between 1 and 1000, or the number of spares is negative.
    """
    if not (1 <= agents <= MOST_AGENTS and 0 <= spares <= MOST_AGENTS):
        raise UsageError(
            f"A panel has 1 to {MOST_AGENTS} agents and at most as many spares, not {agents} and {spares}.",
            next_step="Use a number in this range.",
        )
    seats = []
    for index in range(agents + spares):
        style = ROTATION[index % len(ROTATION)] if vary else ""
        seat = Seat(
            agent=name_of(index),
            model=model,
            system=system_prompt(style=style, language=language),
            style=style,
            language=language,
            temperature=TEMPERATURES[index % len(TEMPERATURES)] if vary else temperature,
            max_tokens=max_tokens,
            deadline_s=deadline_s,
            spare=index >= agents,
        )
        seats.append(seat)
    return Panel(
        seats=tuple(seats),
        models={"model": ModelSpec(reference=model, options=options or {})},
        model_of={seat.agent: "model" for seat in seats},
        budget=budget or Limits(),
    )


def open_models(panel: Panel) -> dict[str, Model]:
    """The model of each agent, by the agent's name. Agents whose specs are equal share one model.

    Whoever calls this closes each model once; :func:`close_models` does.

    Raises:
        ModelNotFound: a model is not there.
        MissingExtra: a back end needs a package that is not installed.
        SpecError: an option is wrong, or the variable that should hold a key is not set.
    """
    from dissensus.agents.priced import Priced
    from dissensus.agents.registry import open_model

    opened: dict[bytes, Model] = {}
    models: dict[str, Model] = {}
    for agent, name in panel.model_of.items():
        spec = panel.models[name]
        same = msgspec.json.encode(spec, order="sorted")
        if same not in opened:
            model = open_model(spec.reference, spec.options)
            opened[same] = Priced(model, spec.prices) if spec.prices != UNKNOWN_PRICES else model
        models[agent] = opened[same]
    return models


async def close_models(models: Mapping[str, Model]) -> None:
    """Close what :func:`open_models` opened."""
    for model in {id(model): model for model in models.values()}.values():
        await model.close()


def open_tools(panel: Panel) -> AbstractAsyncContextManager[Toolbox]:
    """The panel's tools, open until the context is left. See :func:`dissensus.agents.toolbox.open_toolbox`."""
    return open_toolbox(panel.tools, panel.folder)


def open_budget(
    panel: Panel,
    *,
    within: Budget | None = None,
    clock: Callable[[], float] = time.monotonic,
    elapsed_s: float = 0.0,
) -> tuple[Budget, dict[str, Budget]]:
    """The budget of a run of the panel, and below it those of agents that have one; their time runs from now.

    Args:
        panel: the panel.
        within: a budget that the run's is a part of.
        clock: seconds, never backwards.
        elapsed_s: seconds of work that the run has behind it.
    """
    run = Budget(panel.budget, within, clock=clock, elapsed_s=elapsed_s)
    named = sorted(panel.budgets.items())
    return run, {agent: Budget(limits, run, name=agent, clock=clock, elapsed_s=elapsed_s) for agent, limits in named}


def with_capabilities(panel: Panel, models: Mapping[str, Model]) -> Panel:
    """The panel with its seats knowing what the opened models can do, and their tokenizers where these say so."""

    def knowing(seat: Seat) -> Seat:
        if seat.agent not in panel.model_of:  # it runs tools and is asked nothing
            return seat
        model = models[seat.agent]
        return replace(seat, capabilities=model.capabilities, tokenizer=str(getattr(model, "tokenizer", "")))

    return replace(panel, seats=tuple(knowing(seat) for seat in panel.seats))


def with_tools(panel: Panel, tools: Toolbox) -> Panel:
    """The panel with its seats knowing the opened tools; the name of an MCP server gives way to its tools."""
    seats = []
    for seat in panel.seats:
        specs = [spec for tool in seat.tools for spec in (tools.specs(tool.name) or (tool,))]
        seats.append(replace(seat, tools=tuple(specs)))
    return replace(panel, seats=tuple(seats))
