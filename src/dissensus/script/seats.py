"""Who takes part, as far as a procedure may know: names, styles, what the model behind can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dissensus.script.calls import Capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool that an agent may use: what the agent reads about it. The performer holds the tool itself."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the arguments; empty means no arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One participant of a run. It is plain data and stands in the record's first event.

    Args:
        agent: name, unique in the run.
        model: name of the model behind it; agents that share it are likely to err together.
        capabilities: what that model's back end can do.
        system: the system prompt: persona, language and style of the answer.
        style: the reasoning style, a lever that buys independence ("" if none).
        language: the language to answer in ("" if none is asked for).
        temperature: sampling temperature; 0 is greedy.
        max_tokens: most tokens in one reply.
        weight: weight of its vote.
        deadline_s: seconds after which it counts as silent; None waits for ever.
        spare: steps in only for an agent that was silent past its deadline.
        tools: tools it may use; an agent with tools is asked through its own loop.
        max_steps: most turns of that loop.
        context: what this agent alone reads before each prompt, in the same turn: notes or documents of its own.
        tokenizer: digest of the model's tokenizer; "" if it is not known. Agents whose digests are equal can hand each
            other token ids.
    """

    agent: str
    model: str
    capabilities: Capabilities = frozenset()
    system: str = ""
    style: str = ""
    language: str = ""
    temperature: float = 0.7
    max_tokens: int = 512
    weight: float = 1.0
    deadline_s: float | None = None
    spare: bool = False
    tools: tuple[ToolSpec, ...] = ()
    max_steps: int = 8
    tokenizer: str = ""
    context: str = ""


def data_with_seats(what: Any) -> dict[str, Any]:
    """A dataclass with a field ``seats`` as JSON-ready data; sets are sorted, so that equal ones have equal bytes.

    An unknown tokenizer and an empty context are left out, as in records of before there were these fields.
    """
    data: dict[str, Any] = msgspec.to_builtins(what)
    for seat in data["seats"]:
        seat["capabilities"] = sorted(seat["capabilities"])
        for name in ("tokenizer", "context"):
            if not seat[name]:
                del seat[name]
    return data
