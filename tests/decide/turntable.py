"""Writers for tests of the round-robin: scripted models behind a script, with and without an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from dissensus.agents.model import Model
from dissensus.decide.procedures import settings_of_round_robin
from dissensus.decide.round_robin import round_robin
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.run.performers import Live
from dissensus.run.render import render
from dissensus.run.runs import start
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.effects import Effect
from dissensus.script.keys import seed_of
from dissensus.script.outcomes import Outcome
from dissensus.script.questions import Question
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

QUESTION = Question(text="How many?", kind="number")
CAN = frozenset({Capability.CHAT, Capability.CONTINUE, Capability.TOKENS})
NAMES = ("ada", "ben", "cleo", "dan", "eve", "fay", "gus")


def seats(n: int, *, can: frozenset[Capability] = CAN, **more: Any) -> tuple[Seat, ...]:
    """So many seats of one model."""
    return tuple(Seat(agent=name, model="scripted", capabilities=can, **more) for name in NAMES[:n])


def played(
    models: Mapping[str, Model] | Callable[[str, Effect], Outcome],
    table: Sequence[Seat],
    settings: RoundRobinSettings,
    *,
    seed: int = 0,
    question: Question = QUESTION,
) -> RoundRobin:
    """The decision without an engine: everything in order, nothing recorded."""
    by_name = {seat.agent: seat for seat in table}

    def answer(key: str, effect: Effect) -> Outcome:
        if callable(models):
            return models(key, effect)
        agent: str = getattr(effect, "agent", "")
        call = render(effect, key, by_name[agent], (), seed_of(seed, key)).call
        model = models[agent]
        if isinstance(call, Score):
            return anyio.run(model.score, call)
        assert isinstance(call, Extend | Generate)
        return anyio.run(model.extend, call) if isinstance(call, Extend) else anyio.run(model.generate, call)

    result: RoundRobin = rehearse(round_robin(question, table, settings, seed), answer)
    return result


def ran(
    models: Mapping[str, Model],
    table: Sequence[Seat],
    settings: RoundRobinSettings,
    *,
    seed: int = 0,
    question: Question = QUESTION,
    path: Path | None = None,
) -> tuple[RoundRobin, Store]:
    """The decision of a real run, and its record, which is closed if it lies at ``path``."""
    store: Store = MemoryStore() if path is None else open_record(path, "x")

    async def go() -> Any:
        return await start(
            procedure="round-robin",
            settings=settings_of_round_robin(question, settings),
            seats=table,
            performer=Live(lambda agent: models[agent]),
            record=store,
            seed=seed,
        )

    decision: RoundRobin = anyio.run(go)
    if path is not None:
        store.close()
    return decision, store
