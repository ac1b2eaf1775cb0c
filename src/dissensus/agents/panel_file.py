"""The panel file: YAML in, :class:`~dissensus.agents.panel.Panel` out.

::

    models:
      local: {use: "llama:qwen2.5-coder-0.5b"}
      big:
        use: "openai:Qwen/Qwen2.5-7B-Instruct"
        url: "http://localhost:8000/v1"
        api_key_env: MY_KEY                    # the NAME of the variable that holds the key
        limit: 16                              # most calls at a time
        prices: {in: 0.1, out: 0.3, currency: EUR}   # money per million tokens
    agents:
      - {name: ada, model: local, temperature: 0.7, style: estimate, weight: 1, deadline: 30s, tools: [calculator]}
      - {count: 4, model: local, styles: [exact, cases], temperatures: [0.5, 0.8], budget: {calls: 3}}   # each
    spares:
      - {name: zoe, model: big}
    tools:
      lookup: {command: ["./lookup.sh", "{word}"], timeout: 5s, description: "Looks a word up."}
      units: {python: "units.py:convert"}
      files: {mcp: {command: ["my-server"]}}
    budget: {tokens: 200000, calls: 100, seconds: 10 min, money: 2.0}

Everything but ``agents`` may be left out. A ``model`` may also be a reference such as ``llama:NAME``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from dissensus.agents.budget import Limits
from dissensus.agents.entries import (
    AgentEntry,
    BudgetEntry,
    GroupEntry,
    PanelEntry,
    ShareEntry,
    nearest,
    read_entry,
    undefined,
)
from dissensus.agents.model_entries import read_models
from dissensus.agents.panel import MOST_AGENTS, ModelSpec, Panel
from dissensus.agents.personas import name_of, system_prompt
from dissensus.agents.secrets import looks_like_secret
from dissensus.agents.tool_entries import read_tools
from dissensus.agents.toolbox import ToolSource
from dissensus.script.seats import Seat, ToolSpec
from dissensus.script.styles import STYLES
from dissensus.specfile import Place, Spec, read_spec

RESERVED: Final = frozenset({"engine", "everybody", "operator", "person", "procedure", "public"})
"""Names that mean something else in a record."""

_REFERENCE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:.+")


def read_panel(path: str | Path) -> Panel:
    """The panel in the file at ``path``. Raises :class:`~dissensus.errors.SpecError` for whatever is wrong with it."""
    return panel_of(read_spec(path, "panel file"))


def panel_of(spec: Spec) -> Panel:
    """The panel that ``spec`` describes. Raises :class:`~dissensus.errors.SpecError` for whatever is wrong with it."""
    _refuse_secrets(spec, spec.data, ())
    whole = read_entry(PanelEntry, spec, spec.data, (), "a panel file")
    models, currency = read_models(spec, whole.models)
    tools, tool_specs = read_tools(spec, whole.tools)
    seats = _Seats(spec, models, tools, tool_specs)
    seats.add(whole.agents, "agents", spare=False)
    seats.add(whole.spares, "spares", spare=True)
    return Panel(
        seats=tuple(seats.seats.values()),
        models=models,
        model_of=seats.model_of,
        tools={name: source for name, source in tools.items() if name in whole.tools or name in seats.used},
        budget=_budget(spec, whole.budget, {name: models[name] for name in seats.model_of.values()}),
        budgets=seats.budgets,
        currency=currency,
        path=spec.path,
    )


class _Seats:
    """Collects seats, so that no name is given twice."""

    def __init__(
        self,
        spec: Spec,
        models: dict[str, ModelSpec],
        tools: Mapping[str, ToolSource],
        tool_specs: Mapping[str, tuple[ToolSpec, ...]],
    ) -> None:
        self.spec = spec
        self.models = models
        self.tools = tools
        self.tool_specs = tool_specs
        self.seats: dict[str, Seat] = {}
        self.model_of: dict[str, str] = {}
        self.budgets: dict[str, Limits] = {}
        self.used: set[str] = set()
        self._lines: dict[str, int] = {}

    def add(self, data: Any, key: str, *, spare: bool) -> None:
        """The seats of one list, or of a single group."""
        items: list[tuple[Any, Place]] = [(data, (key,))]
        if isinstance(data, list):
            items = [(item, (key, at)) for at, item in enumerate(data)]
        elif not isinstance(data, Mapping):
            hint = "Write a list of agents, or one mapping with a count."
            raise self.spec.wrong((key,), f'"{key}" has to be a list.', next_step=hint)
        if not items and not spare:
            raise self.spec.wrong((key,), "The panel has no agents.", next_step="Add at least one.")
        taken = {name for item, _ in items for name in _own_names(item)} | self.seats.keys()
        for item, place in items:
            if isinstance(item, Mapping) and "count" in item:
                self._add_group(
                    read_entry(GroupEntry, self.spec, item, place, "a group of agents"), place, taken, spare=spare
                )
            else:
                self._add(read_entry(AgentEntry, self.spec, item, place, "an agent"), place, spare=spare)

    def _add_group(self, group: GroupEntry, place: Place, taken: set[str], *, spare: bool) -> None:
        if (group.model is None) is (group.models is None):
            hint = "Give one of them."
            raise self.spec.wrong(place, 'A group of agents has either "model" or "models".', next_step=hint)
        if group.names is not None and len(group.names) != group.count:
            problem = f'A group of {group.count} agents has {len(group.names)} "names".'
            raise self.spec.wrong((*place, "names"), problem, next_step="Name each of them, or none.")
        models = group.models or [group.model or ""]
        styles: list[str | None] = [*group.styles] if group.styles else [None]
        names = iter(group.names) if group.names is not None else _free_names(taken)
        shared = {
            name: getattr(group, name)
            for name in ("weight", "deadline", "max_tokens", "max_steps", "tools", "budget", "persona", "language")
        }
        for at in range(group.count):
            agent = AgentEntry(
                name=next(names),
                model=models[at % len(models)],
                style=styles[at % len(styles)],
                temperature=group.temperatures[at % len(group.temperatures)],
                **shared,
            )
            where = {
                "name": ("names", at),
                "model": ("models", at % len(models)),
                "style": ("styles", at % len(styles)),
            }
            self._add(agent, place, where, spare=spare)

    def _add(self, agent: AgentEntry, place: Place, where: Mapping[str, Place] | None = None, *, spare: bool) -> None:
        """Seat an agent. ``where`` says what in the entry at ``place`` gave its name, model and style."""
        spec, name = self.spec, agent.name
        named, modelled, styled = ((*place, *(where or {}).get(key, (key,))) for key in ("name", "model", "style"))
        if name in self.seats:
            raise spec.wrong(
                named,
                f'There are two agents called "{name}".',
                next_step=f"See line {self._lines[name]}; give each its own name.",
            )
        if name.lower() in RESERVED:
            raise spec.wrong(named, f'No agent can be called "{name}".', next_step="Choose another name.")
        if len(self.seats) >= MOST_AGENTS:
            raise spec.wrong(place, f"A panel has at most {MOST_AGENTS} agents.", next_step="Take some out.")
        if agent.style is not None and agent.style not in STYLES:
            hint = nearest(agent.style, tuple(STYLES))
            raise spec.wrong(styled, f'There is no reasoning style "{agent.style}".', next_step=hint)
        self._lines[name] = spec.line(named)
        self.model_of[name] = self._model(agent.model, modelled)
        if agent.budget:
            model = {self.model_of[name]: self.models[self.model_of[name]]}
            self.budgets[name] = _share(spec, agent.budget, model, (*place, "budget"))
        self.seats[name] = Seat(
            agent=name,
            model=self.models[self.model_of[name]].reference,
            system=system_prompt(agent.persona, agent.style or "", agent.language),
            style=agent.style or "",
            language=agent.language,
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            weight=agent.weight,
            deadline_s=agent.deadline,
            spare=spare,
            tools=tuple(
                tool for at, given in enumerate(agent.tools) for tool in self._tool(given, (*place, "tools", at))
            ),
            max_steps=agent.max_steps,
        )

    def _model(self, given: str, place: Place) -> str:
        if given not in self.models:
            if not _REFERENCE.fullmatch(given):
                raise undefined(self.spec, place, "model", given, tuple(self.models))
            self.models[given] = ModelSpec(reference=given)
        return given

    def _tool(self, given: str, place: Place) -> tuple[ToolSpec, ...]:
        if given not in self.tools:
            raise undefined(self.spec, place, "tool", given, tuple(self.tools))
        self.used.add(given)
        return self.tool_specs[given]


def _own_names(item: Any) -> Iterator[str]:
    """Names that an entry claims, so that no group takes them."""
    if isinstance(item, Mapping):
        names = item.get("names")
        claimed = [item.get("name"), *(names if isinstance(names, list) else ())]
        yield from (name for name in claimed if isinstance(name, str))


def _free_names(taken: set[str]) -> Iterator[str]:
    for index in range(10 * MOST_AGENTS):
        name = name_of(index)
        if name not in taken:
            taken.add(name)
            yield name


def _budget(spec: Spec, data: Mapping[str, Any], models: Mapping[str, ModelSpec]) -> Limits:
    budget = read_entry(BudgetEntry, spec, data, ("budget",), "a budget")
    _priced(spec, budget.money, models, ("budget",))
    return Limits(tokens=budget.tokens, calls=budget.calls, seconds=budget.seconds, money=budget.money)


def _share(spec: Spec, data: Mapping[str, Any], models: Mapping[str, ModelSpec], place: Place) -> Limits:
    share = read_entry(ShareEntry, spec, data, place, "the budget of an agent")
    _priced(spec, share.money, models, place)
    return Limits(tokens=share.tokens, calls=share.calls, money=share.money)


def _priced(spec: Spec, money: float | None, models: Mapping[str, ModelSpec], place: Place) -> None:
    """Refuse a limit on money where a model's prices are not known."""
    for name, model in models.items() if money is not None else ():
        if model.prices.tokens_in is None or model.prices.tokens_out is None:
            raise spec.wrong(
                (*place, "money"),
                f'The budget limits money, and nobody knows what the model "{name}" costs.',
                next_step="Add prices to the model ({in: 0, out: 0} if it is free), or limit tokens instead.",
            )


def _refuse_secrets(spec: Spec, data: Any, place: Place) -> None:
    """Refuse a key that stands in the file, wherever it stands, without showing it."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            _refuse_secrets(spec, value, (*place, key))
    elif isinstance(data, list):
        for at, value in enumerate(data):
            _refuse_secrets(spec, value, (*place, at))
    elif data is not None and not isinstance(data, bool):
        text = str(data)
        name = str(place[-1]) if isinstance(place[-1], str) else ""
        if looks_like_secret(name, text) or _has_password(text):
            raise spec.wrong(
                place,
                f"{_where(place)} seems to hold a key or password itself, and panel files are shared.",
                next_step="Put it into an environment variable and name that one: api_key_env: NAME.",
            )


def _has_password(text: str) -> bool:
    if "://" not in text or "@" not in text:
        return False
    try:
        return any(urlsplit(word).password for word in re.findall(r"\w+://\S+", text))
    except ValueError:
        return False


def _where(place: Place) -> str:
    named = [part for part in place if isinstance(part, str)]
    return f'"{named[-1]}"' if named and len(named[-1]) <= 40 else "A value"
