"""What makes a panel answer as it does, as data and as a digest: a profile holds for that panel and for no other.

In it: for each voter and spare the model with its options, the prompt, how it samples, which levers act on it, its
tools and its weight; and how answers are read. Not in it: what does not change an answer (prices, deadlines, limits
of a host), and what comes after the ballots (rule, checks, routes).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dissensus.agents.panel import Panel
from dissensus.answers import VERSION
from dissensus.decide.levers import Plan, levers_of, plan_for
from dissensus.decide.settings import VoteSettings, assign
from dissensus.decide.wording import asking_for
from dissensus.script.calls import Capability
from dissensus.script.questions import Question
from dissensus.script.seats import Seat
from dissensus.script.styles import ROTATION

_HANDLING = frozenset(
    {"api_key_env", "key_header", "timeout_s", "tries", "concurrency", "limit", "slots", "threads", "gpu_layers"}
    | {"delay_s", "dies_after", "most_bytes", "price_in", "price_out", "price_cached"}
)
"""Options of back ends that decide how fast, how often or at what price a model is asked."""

_PROBES = (
    Question(text="How many?", kind="number", unit="m"),
    Question(text="Which?", kind="choice", options=("left", "right")),
    Question(text="Is it?", kind="yes-no", options=("yes", "no")),
    Question(text="When?", kind="date"),
    Question(text="Who?", kind="text"),
)


def description_of(panel: Panel, settings: VoteSettings) -> dict[str, Any]:
    """The panel as it is asked under ``settings``, as JSON-ready data.

    Take the panel before its models and tools are opened: what these add is not known to everyone who compares.
    Raises SpecError for settings that do not fit the panel.
    """
    roles = assign(panel.seats, settings)
    levers = levers_of(roles, settings)
    agents = []
    for index, seat in enumerate((*roles.voters, *roles.spares)):
        plan = plan_for(seat, index, levers, settings, options=0, seed=0)
        context = {"context": seat.context} if seat.context else {}
        agents.append(
            {
                "agent": seat.agent,
                "model": model_data(panel, seat.agent),
                "prompt": seat.system,
                **context,
                "style": plan.style or seat.style,
                "wording": plan.wording,
                "temperature": seat.temperature if plan.temperature is None else plan.temperature,
                "max_tokens": seat.max_tokens,
                "tools": sorted(tool.name for tool in seat.tools),
                "max_steps": seat.max_steps if seat.tools else 0,
                "weight": seat.weight,
                "shown_examples": seat.model in settings.weak_models,
                "spare": seat.spare,
            }
        )
    return {
        "agents": agents,
        "options_shuffled": "shuffle" in levers,
        "read_by": settings.read_by,
        "grouped_by": model_data(panel, settings.grouper) if settings.group_by == "model" else "form",
    }


def model_data(panel: Panel, agent: str) -> dict[str, Any]:
    """The model of ``agent``, by what of it can change an answer."""
    spec = panel.spec_of(agent)
    options = {name: value for name, value in sorted(spec.options.items()) if name not in _HANDLING}
    return {"reference": spec.reference, "options": msgspec.to_builtins(options, str_keys=True)}


def wording_digest() -> str:
    """Digest of the words in which questions are put to agents and of how answers are read.

    It changes with the program, not with the panel: figures that were measured in other words may not hold any more.
    """
    plans = (Plan(order=(0, 1)), Plan(style=ROTATION[0], wording=1, order=(0, 1)))
    abilities = (frozenset[Capability](), frozenset({Capability.SCHEMA}), frozenset({Capability.LOGPROBS}))
    seats = [Seat(agent="probe", model=model, capabilities=can) for model in ("able", "weak") for can in abilities]
    settings = VoteSettings(weak_models=("weak",))
    put = [
        asking_for(question, question.kind, seat, plan, settings)
        for question in _PROBES
        for seat in seats
        for plan in plans
    ]
    return digest_of([VERSION, msgspec.to_builtins(put, str_keys=True)])


def digest_of(data: Any) -> str:
    """SHA-256 of JSON-ready data, as 64 hexadecimal digits; the order of keys does not matter."""
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()


def first_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Where two descriptions differ, as a part of a sentence; "" if they do not."""
    if (here := len(ours.get("agents", ()))) != (there := len(theirs.get("agents", ()))):
        return f"it has {there} agents, and this panel has {here}"
    return next(_differences(ours, theirs, ""), "")


def _differences(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in sorted(ours.keys() | theirs.keys()):
            yield from _differences(ours.get(name), theirs.get(name), f"{name} of {where}" if where else str(name))
    elif _are_lists(ours, theirs) and len(ours) == len(theirs):
        for place, (left, right) in enumerate(zip(ours, theirs, strict=True), 1):
            name = left.get("agent") if isinstance(left, Mapping) else None
            yield from _differences(left, right, str(name or f"{where} {place}"))
    elif ours != theirs:
        yield f"{where} is {_shown(theirs)} there and {_shown(ours)} here"


def _are_lists(ours: Any, theirs: Any) -> bool:
    return all(isinstance(one, Sequence) and not isinstance(one, str) for one in (ours, theirs))


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
