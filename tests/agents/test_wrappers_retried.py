"""Tries again what may help, as long as the server asks and never past the caller's deadline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import answer, chat, hostile

from dissensus.agents.model import Model
from dissensus.agents.openai import OpenAI, OpenAIOptions
from dissensus.agents.retried import Patience, Retried, retryable
from dissensus.agents.scripted import Scripted
from dissensus.script.calls import Attempt, Extend, Generate, Score, Turn
from dissensus.script.outcomes import (
    BudgetExhausted,
    Cancelled,
    Invalid,
    Outcome,
    Refusal,
    Reply,
    Scores,
    TimedOut,
    TransportFailure,
    Usage,
)

TURNS = (Turn("user", "6 × 7?"),)
QUICK = Patience(first_wait_s=0.001, longest_wait_s=0.01)
DOWN = TransportFailure(problem="no connection", cause="connect", usage=Usage(seconds=2.0))
BUSY = TransportFailure(problem="too many", cause="rate-limited", status=429, retry_after_s=0.005)


async def run(replies: Sequence[str | Outcome], patience: Patience = QUICK) -> tuple[Outcome, list[Attempt], int]:
    inner, told = Scripted(replies), list[Attempt]()
    outcome = await Retried(inner, patience).generate(Generate(turns=TURNS, key="ask/ada", report=told.append))
    return outcome, told, inner.calls


@pytest.mark.anyio
async def test_a_failure_that_may_pass_is_tried_again_and_each_try_is_told() -> None:
    outcome, told, calls = await run([DOWN, BUSY, "42"])
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.usage.attempts, calls) == ("42", 3, 3)
    assert [(one.number, one.problem, one.status) for one in told] == [(1, "no connection", None), (2, "too many", 429)]
    assert told[1].waited_s >= 0.005
    assert outcome.usage.seconds == 0.0  # the scripted failures took their delay: none


@pytest.mark.anyio
async def test_the_last_failure_is_returned_with_the_number_of_tries() -> None:
    outcome, told, calls = await run([DOWN] * 9)
    assert isinstance(outcome, TransportFailure)
    assert (outcome.usage.attempts, len(told), calls) == (4, 3, 4)


@pytest.mark.anyio
async def test_seconds_of_all_tries_are_added_up() -> None:
    class Slow(Scripted):
        async def score(self, call: Score) -> Outcome:
            assert call.continuations == ()
            self.calls += 1
            usage = Usage(seconds=float(self.calls))
            if self.calls < 3:
                return TransportFailure(problem="x", cause="status", status=503, usage=usage)
            return Scores(logprobs=(), lengths=(), usage=usage)

    outcome = await Retried(Slow(), QUICK).score(Score(turns=TURNS, continuations=()))
    assert isinstance(outcome, Scores)
    assert (outcome.usage.seconds, outcome.usage.attempts) == (6.0, 3)


FINAL: list[Outcome] = [
    Reply(text="42"),
    Refusal(),
    Invalid(problem="x"),
    TimedOut(after_s=1.0),
    BudgetExhausted(what="calls"),
    Cancelled(),
    TransportFailure(problem="x", cause="context-length", status=400),
    TransportFailure(problem="x", cause="capability"),
    TransportFailure(problem="x", cause="crashed"),
    TransportFailure(problem="x", cause="other"),
    *(
        TransportFailure(problem="x", cause="status", status=status)
        for status in (301, 400, 401, 403, 404, 422, 429, 501)
    ),
]


@pytest.mark.anyio
@pytest.mark.parametrize("final", FINAL)
async def test_what_another_try_cannot_help_is_returned_at_once(final: Outcome) -> None:
    outcome, told, calls = await run([final, "never said"])
    assert outcome.kind == final.kind
    assert (told, calls) == ([], 1)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 529])
def test_which_statuses_are_tried_again(status: int) -> None:
    assert retryable(TransportFailure(problem="x", cause="status", status=status))


@pytest.mark.anyio
async def test_a_wait_that_would_outlast_the_deadline_is_not_begun() -> None:
    long = TransportFailure(problem="come back tomorrow", cause="rate-limited", status=429, retry_after_s=50.0)
    with anyio.fail_after(10):
        outcome, told, calls = await run([long, "42"], Patience())
    assert outcome.kind == "transport"
    assert (told, calls) == ([], 1)


@pytest.mark.anyio
async def test_a_cancel_during_a_wait_is_a_cancel() -> None:
    told: list[Attempt] = []
    long = TransportFailure(problem="later", cause="rate-limited", status=429, retry_after_s=50.0)
    model = Retried(Scripted([long, "42"]))
    async with anyio.create_task_group() as group:
        group.start_soon(model.generate, Generate(turns=TURNS, report=told.append))
        while not told:  # noqa: ASYNC110 - the report is a plain callback
            await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    assert len(told) == 1


@pytest.mark.anyio
async def test_extend_and_score_are_tried_again_too() -> None:
    model = Retried(Scripted([DOWN, "4 2", DOWN, "4"]), QUICK)
    extended = await model.extend(Extend(turns=TURNS))
    assert extended.kind == "extended"
    scored = await model.score(Score(turns=TURNS, continuations=("4",)))
    assert isinstance(scored, Scores)
    assert scored.usage.attempts == 2


@given(
    st.integers(0, 2**31 - 1),
    st.text(max_size=20),
    st.integers(1, 2000),
    st.none() | st.floats(min_value=0, allow_nan=False, allow_infinity=False),
)
def test_waits_are_bounded_and_a_function_of_the_call(seed: int, key: str, number: int, asked: float | None) -> None:
    patience = Patience(first_wait_s=0.5, longest_wait_s=30.0)
    wait_s = patience.wait_s(seed, key, number, asked)
    assert 0 <= wait_s <= 30.0
    assert wait_s == patience.wait_s(seed, key, number, asked)
    if asked is not None:
        assert wait_s >= min(asked, 30.0)
    else:
        assert wait_s >= min(0.25 * 2.0 ** min(number - 1, 60), 30.0)


def test_calls_that_fail_together_do_not_come_back_together() -> None:
    waits = {Patience().wait_s(seed, "ask", 1, None) for seed in range(50)}
    assert len(waits) == 50
    assert {Patience().wait_s(7, f"ask/{name}", 1, 5.0) for name in "ab"} != {5.0}


@pytest.mark.anyio
async def test_a_real_server_that_recovers() -> None:
    acts = [
        answer({"error": {"message": "slow down"}}, status=429, Retry_After="0.05"),
        answer({"error": {"message": "loading"}}, status=503),
        answer(chat("at last")),
    ]
    told: list[Attempt] = []
    async with hostile(*acts) as server:
        model: Model = Retried(OpenAI(OpenAIOptions(model="m", base_url=server.url)), Patience(first_wait_s=0.001))
        started = anyio.current_time()
        outcome: Any = await model.generate(Generate(turns=TURNS, report=told.append))
        took_s = anyio.current_time() - started
        await model.close()
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.usage.attempts, len(server.seen)) == ("at last", 3, 3)
    assert took_s >= 0.05
    assert [one.status for one in told] == [429, 503]
    assert len({seen.body for seen in server.seen}) == 1
    assert isinstance(model, Model)
