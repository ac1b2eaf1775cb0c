"""What every back end and every wrapper has to pass. A new back end joins by one line in ``BACK_ENDS``."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from servers import Act, Hostile, answer, chat, hostile, stall

from dissensus.agents.http import HttpAgent, HttpOptions
from dissensus.agents.limited import Limited, Limiter
from dissensus.agents.model import Model
from dissensus.agents.openai import OpenAI, OpenAIOptions
from dissensus.agents.retried import Patience, Retried
from dissensus.agents.scripted import Rule, Scripted
from dissensus.script.calls import Capability, Extend, Generate, Score, Turn
from dissensus.script.outcomes import FAILURES, Extended, Reply, Scores, TransportFailure, from_data, to_data

pytestmark = pytest.mark.anyio
TURNS = (Turn("system", "Be brief."), Turn("user", "6 × 7?"))
CALL = Generate(turns=TURNS, seed=3, key="ask/ada")
TOLD = chat("42") | {"text": "42"}
"""An answer that all kinds of servers could give."""


def scripted(server: Hostile, act: Act) -> Model:
    assert server.url
    if act is stall:
        return Scripted([Rule("", fail="stall")])
    return Scripted("42", dies_after=0) if act is BROKEN else Scripted("42")


def openai(server: Hostile, _act: Act) -> Model:
    return OpenAI(OpenAIOptions(model="m", base_url=server.url))


def http(server: Hostile, _act: Act) -> Model:
    return HttpAgent(HttpOptions(url=server.url))


def wrapped(inner: Callable[[Hostile, Act], Model]) -> Callable[[Hostile, Act], Model]:
    patience = Patience(tries=2, first_wait_s=0.001)
    return lambda server, act: Retried(Limited(inner(server, act), Limiter(2)), patience)


BROKEN = answer({"error": "gone"}, status=500)
BACK_ENDS: dict[str, Callable[[Hostile, Act], Model]] = {"scripted": scripted, "openai": openai, "http": http}
BACK_ENDS |= {f"wrapped {name}": wrapped(build) for name, build in BACK_ENDS.items()}


@contextlib.asynccontextmanager
async def opened(name: str, act: Act) -> AsyncIterator[Model]:
    async with hostile(act) as server:
        model = BACK_ENDS[name](server, act)
        try:
            yield model
        finally:
            await model.close()
            await model.close()


every = pytest.mark.parametrize("name", BACK_ENDS)


@every
async def test_it_has_the_interface_and_a_name(name: str) -> None:
    async with opened(name, answer(TOLD)) as model:
        assert isinstance(model, Model)
        assert model.name
        assert isinstance(model.capabilities, frozenset)
        assert all(isinstance(one, Capability) for one in model.capabilities)


@every
async def test_it_answers_and_tells_how_long_it_took(name: str) -> None:
    async with opened(name, answer(TOLD)) as model:
        outcome = await model.generate(CALL)
    assert isinstance(outcome, Reply)
    assert outcome.text == "42"
    assert outcome.usage.seconds is not None
    assert outcome.usage.seconds >= 0
    assert outcome.usage.attempts == 1
    assert from_data(json.loads(json.dumps(to_data(outcome)))) == outcome


@every
async def test_a_failure_is_returned(name: str) -> None:
    async with opened(name, BROKEN) as model:
        outcome = await model.generate(CALL)
    assert isinstance(outcome, FAILURES)
    assert isinstance(outcome, TransportFailure)
    assert outcome.problem
    assert outcome.usage.attempts == (2 if name.startswith("wrapped") else 1)


@every
async def test_what_it_does_not_claim_is_a_lack(name: str) -> None:
    async with opened(name, answer(TOLD)) as model:
        asked = [
            (Capability.SCHEMA, await model.generate(dataclasses.replace(CALL, schema={"type": "object"}))),
            (Capability.CONTINUE, await model.extend(Extend(turns=TURNS))),
            (Capability.TOKENS, await model.extend(Extend(turns=TURNS, tokens=(1,)))),
            (Capability.LOGPROBS, await model.score(Score(turns=TURNS, continuations=("42",)))),
        ]
        for capability, outcome in asked:
            if capability in model.capabilities:
                assert isinstance(outcome, Reply | Extended | Scores), capability
            else:
                assert isinstance(outcome, TransportFailure), capability
                assert outcome.cause == "capability"
                assert outcome.problem


@every
async def test_it_can_be_cancelled_and_used_again(name: str) -> None:
    async with opened(name, stall) as model:
        for _ in range(3):
            with anyio.move_on_after(0.03) as scope:
                await model.generate(CALL)
            assert scope.cancelled_caught


@every
async def test_calls_side_by_side_do_not_disturb_each_other(name: str) -> None:
    async with opened(name, answer(TOLD)) as model:
        texts: list[str] = []

        async def one(seed: int) -> None:
            outcome = await model.generate(dataclasses.replace(CALL, seed=seed))
            assert isinstance(outcome, Reply)
            texts.append(outcome.text)

        async with anyio.create_task_group() as group:
            for seed in range(30):
                group.start_soon(one, seed)
    assert texts == ["42"] * 30
