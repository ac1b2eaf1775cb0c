"""Small procedures and performers that the tests of the engine share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import anyio

from dissensus.decide.procedures import Procedure
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Ask, Note, Post, Race, Together, under
from dissensus.script.outcomes import Outcome, Reply, Scores, TransportFailure
from dissensus.script.seats import Seat

SEATS = tuple(Seat(agent=name, model="scripted:test", temperature=0.0) for name in ("ada", "ben", "cleo"))


def decision(answer: object) -> Decision:
    """A decision that holds ``answer`` and nothing else."""
    return Decision(question="?", answer=repr(answer), status=Status.DECIDED)


def tree(settings: Mapping[str, Any]) -> Generator[Any, Any, Any]:
    """A script built from data: ``["ask", agent]``, ``["post", agent]``, ``["list", …]``, ``["together", …]``,
    ``["race", k, …]``, ``["then", …]``, ``["under", name, x]``. Returns what came, nested alike."""
    return (yield from _node(settings["tree"]))


def _node(node: Sequence[Any]) -> Generator[Any, Any, Any]:
    match node:
        case ["ask", agent]:
            outcome = yield Ask(agent, f"a question to {agent}")
            return _said(outcome)
        case ["post", agent]:
            yield Post(agent, f"a word from {agent}")
            return "posted"
        case ["note", text]:
            yield Note("remark", {"text": text})
            return "noted"
        case ["list", *agents]:
            outcomes = yield [Ask(agent, f"side by side, {agent}") for agent in agents]
            return [_said(outcome) for outcome in outcomes]
        case ["then", *nodes]:
            results: list[Any] = []
            for one in nodes:
                results += [(yield from _node(one))]
            return results
        case ["under", name, one]:
            return (yield from under(name, _node(one)))
        case ["together", *nodes]:
            named = yield Together({f"t{index}": _node(one) for index, one in enumerate(nodes)})
            return list(named.values())
        case ["race", count, *nodes]:
            scripts = {f"r{index}": _node(one) for index, one in enumerate(nodes)}
            finish = yield Race(scripts, lambda used: len(used) >= count)
            return [list(finish.used.items()), list(finish.given_up)]
        case _:
            raise ValueError(node)


def _said(outcome: Outcome) -> str:
    return outcome.text if isinstance(outcome, Reply) else outcome.kind


def _tree_decision(settings: Mapping[str, Any], _seats: Sequence[Seat], _seed: int) -> Generator[Any, Any, Decision]:
    return decision((yield from tree(settings)))


def procedure(build: Callable[..., Any] = _tree_decision) -> Procedure:
    """A procedure for :data:`dissensus.decide.procedures.PROCEDURES`, under the name ``test``."""
    return Procedure(name="test", version="1", build=build)


class Clerk:
    """A model that keeps every call it got, waits as it is told, and answers with what it saw last."""

    name = "scripted:test"
    capabilities = frozenset({Capability.CHAT, Capability.LOGPROBS})

    def __init__(self, agent: str = "", delays: Mapping[str, float] | None = None) -> None:
        self.agent = agent
        self.delays = delays or {}
        self.calls: list[Generate] = []

    async def generate(self, call: Generate) -> Reply:
        self.calls.append(call)
        await anyio.sleep(self.delays.get(call.key, 0))
        return Reply(text=f"{call.turns[-1].text} | seed {call.seed}")

    async def extend(self, call: Extend) -> Outcome:
        return TransportFailure(problem=f"cannot continue {call.text!r}", cause="capability")

    async def score(self, call: Score) -> Scores:
        count = len(call.continuations)
        return Scores(logprobs=tuple(-float(i) for i in range(count)), lengths=(1,) * count)

    async def close(self) -> None:
        return None
