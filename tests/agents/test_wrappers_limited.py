"""At most so many at a time, in turn, whatever is cancelled; and thousands may wait at little cost."""

from __future__ import annotations

import gc
import tracemalloc

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import answer, chat, hostile

from dissensus.agents.limited import HostLimits, Limited, Limiter
from dissensus.agents.model import Model
from dissensus.agents.openai import OpenAI, OpenAIOptions
from dissensus.agents.scripted import Scripted
from dissensus.script.calls import Extend, Generate, Score, Turn
from dissensus.script.outcomes import Outcome, Reply

CALL = Generate(turns=(Turn("user", "hi"),))


class Watched(Scripted):
    """Counts how many calls are inside at once."""

    inside = 0
    most = 0

    async def generate(self, call: Generate) -> Outcome:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            return await super().generate(call)
        finally:
            self.inside -= 1


@pytest.mark.anyio
async def test_models_that_share_a_limiter_share_its_places() -> None:
    watched = Watched("x", delay_s=0.002)
    limiter = Limiter(3)
    models = [Limited(watched, limiter), Limited(watched, limiter)]
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(models[number % 2].generate, CALL)
    assert (watched.most, watched.inside, watched.calls) == (3, 0, 40)


@pytest.mark.anyio
async def test_who_came_first_goes_first() -> None:
    order: list[int] = []
    limiter = Limiter(1)

    async def enter(number: int) -> None:
        async with limiter:
            order.append(number)
            await checkpoint()

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(enter, number)
            await checkpoint()
    assert order == list(range(20))


@settings(max_examples=60)
@given(
    places=st.integers(1, 4),
    tasks=st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 8)), min_size=1, max_size=15),
)
def test_no_place_is_lost_or_given_twice_whatever_is_cancelled(
    places: int, tasks: list[tuple[int, int | None]]
) -> None:
    """Each task holds its place for some turns of the loop; some are cancelled after some turns."""

    async def main() -> None:
        limiter, inside, done = Limiter(places), [0], [0]

        async def hold(turns: int, scope: anyio.CancelScope) -> None:
            with scope:
                async with limiter:
                    inside[0] += 1
                    assert inside[0] <= places
                    try:
                        for _ in range(turns):
                            await checkpoint()
                    finally:
                        inside[0] -= 1
                done[0] += 1

        async def cancel(turns: int, scope: anyio.CancelScope) -> None:
            for _ in range(turns):
                await checkpoint()
            scope.cancel()

        async with anyio.create_task_group() as group:
            for turns, cancelled_after in tasks:
                scope = anyio.CancelScope()
                group.start_soon(hold, turns, scope)
                if cancelled_after is not None:
                    group.start_soon(cancel, cancelled_after, scope)
        assert done[0] >= sum(cancelled_after is None for _, cancelled_after in tasks)
        # all places are free again
        with anyio.fail_after(1):
            async with anyio.create_task_group() as group:
                for _ in range(places):
                    group.start_soon(hold, 1, anyio.CancelScope())

    anyio.run(main)


def test_one_limiter_serves_several_event_loops() -> None:
    limiter = Limiter(1)
    model = Limited(Scripted("x"), limiter)
    for _ in range(3):
        assert isinstance(anyio.run(model.generate, CALL), Reply)


def test_the_strictest_limit_of_a_host_holds_while_it_is_used() -> None:
    limits = HostLimits()
    one = limits.limiter("http://a", 8)
    assert limits.limiter("http://a", 2) is one
    assert limits.limiter("http://a", 5) is one
    assert one.places == 2
    assert limits.limiter("http://b", 5) is not one
    del one
    gc.collect()
    assert limits.limiter("http://a", 8).places == 8
    with pytest.raises(ValueError, match="place"):
        Limiter(0)


@pytest.mark.anyio
async def test_the_wrapper_is_a_model_and_passes_everything_on() -> None:
    inner = Scripted("one two", name="inner")
    model = Limited(inner, Limiter(1))
    assert isinstance(model, Model)
    assert (model.name, model.capabilities) == ("inner", inner.capabilities)
    turns = CALL.turns
    assert await model.extend(Extend(turns=turns)) == await inner.extend(Extend(turns=turns))
    score = Score(turns=turns, continuations=("one",))
    assert await model.score(score) == await inner.score(score)
    await model.close()


@pytest.mark.anyio
async def test_waiting_for_a_place_is_not_counted_as_time_of_the_call() -> None:
    async with hostile(answer(chat()), keep_alive=True) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url))
        limiter = Limiter(1)
        limited = Limited(model, limiter)
        outcomes: list[Outcome] = []

        async def one() -> None:
            outcomes.append(await limited.generate(CALL))

        async with anyio.create_task_group() as group, limiter:
            group.start_soon(one)
            await anyio.sleep(0.5)
        await model.close()
    (reply,) = outcomes
    assert isinstance(reply, Reply)
    assert reply.usage.seconds is not None
    assert reply.usage.seconds < 0.4


@pytest.mark.anyio
async def test_models_on_one_host_share_its_connections() -> None:
    async with hostile(answer(chat()), keep_alive=True) as server:
        models = [OpenAI(OpenAIOptions(model=name, base_url=server.url, concurrency=4)) for name in "abc"]
        for _ in range(3):
            for model in models:
                assert isinstance(await model.generate(CALL), Reply)
        assert server.connections == 1
        await models[0].close()
        assert isinstance(await models[1].generate(CALL), Reply)
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(models[number % 3].generate, CALL)
        assert server.connections <= 5
        assert len(server.seen) == 70
        for model in models:
            await model.close()


@pytest.mark.anyio
async def test_two_thousand_waiting_calls_take_little_memory() -> None:
    async with hostile(answer(chat()), keep_alive=True) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, concurrency=16))
        limited = Limited(model, Limiter(16))
        await limited.generate(CALL)
        tracemalloc.start()
        try:
            async with anyio.create_task_group() as group:
                for _ in range(2000):
                    group.start_soon(limited.generate, CALL)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        await model.close()
        assert len(server.seen) == 2001
        assert server.most_at_once <= 16
    assert peak < 60_000_000
