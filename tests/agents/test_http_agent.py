"""An agent that is a program behind a URL: its contract, and how little it can break."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import Act, answer, body, drip, endless, half, hang_up, hostile, raw, stall

from dissensus.agents.http import HttpAgent, HttpOptions, read_answer
from dissensus.agents.model import Model
from dissensus.errors import SpecError
from dissensus.script.calls import Capability, Extend, Generate, Score, Turn
from dissensus.script.outcomes import Outcome, Refusal, Reply, TimedOut, TransportFailure

CALL = Generate(
    turns=(Turn("system", "Be brief."), Turn("user", "6 × 7?")), seed=9, stop=("\n",), max_tokens=7, key="ask/ada"
)


async def ask(act: Act, call: Generate = CALL, **options: Any) -> Outcome:
    async with hostile(act) as server:
        agent = HttpAgent(HttpOptions(url=server.url, **options))
        try:
            return await agent.generate(call)
        finally:
            await agent.close()


@pytest.mark.anyio
async def test_the_program_is_sent_the_whole_call() -> None:
    schema = {"type": "string"}
    async with hostile(answer({"text": '"42"'})) as server:
        agent = HttpAgent(
            HttpOptions(url=f"{server.url}/agents/ada", capabilities=(Capability.CHAT, Capability.SCHEMA))
        )
        assert isinstance(agent, Model)
        outcome = await agent.generate(Generate(turns=CALL.turns, schema=schema, temperature=0.5, key="ask/ada"))
        await agent.close()
        assert server.paths == ["/v1/agents/ada"]
        assert server.seen[0].data == {
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 × 7?"}],
            "temperature": 0.5,
            "max_tokens": 512,
            "seed": 0,
            "stop": [],
            "schema": schema,
            "key": "ask/ada",
        }
    assert isinstance(outcome, Reply)
    assert outcome.text == '"42"'
    assert agent.name == f"{server.url}/agents/ada"


@pytest.mark.anyio
async def test_what_a_program_tells_of_itself_is_kept_where_it_can_be() -> None:
    told = {"tokens_in": 5, "tokens_out": 1, "cost": 0.25}
    outcome = await ask(answer({"text": "42", "finish": "length", "model": "mine", "usage": told}))
    assert isinstance(outcome, Reply)
    assert (outcome.finish, outcome.model) == ("length", "mine")
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.cost) == (5, 1, 0.25)
    told = {"tokens_in": -5, "tokens_out": "1", "cost": -1}  # type: ignore[dict-item]
    outcome = await ask(answer({"text": "42", "finish": 7, "usage": told}), name="ada's program")
    assert isinstance(outcome, Reply)
    assert (outcome.finish, outcome.model) == ("other", "ada's program")
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.cost) == (None, None, None)


FAILURES: list[tuple[Act, str]] = [
    (answer({"error": "my database is gone"}), "other"),
    (answer({"error": "my database is gone", "retry": True}), "body"),
    (answer({"error": {"odd": 1}}), "other"),
    (answer({"text": None}), "empty"),
    (answer({}), "empty"),
    (answer({"text": 42}), "body"),
    (answer({"text": ["42"]}), "body"),
    (answer("42"), "body"),
    (answer(["42"]), "body"),
    (body(b"42 is the answer", kind="text/plain"), "body"),
    (body(b"<html><p>42</p></html>", kind="text/html"), "body"),
    (body(b""), "body"),
    (half(b'{"text": "42', of=100), "body"),
    (hang_up, "connect"),
    (raw(b"42\r\n\r\n"), "connect"),
    (answer({"text": "42"}, status=500), "status"),
    (answer({"text": "42"}, status=404), "status"),
    (answer({"text": "42"}, status=429), "rate-limited"),
    (answer({"detail": "context length exceeded"}, status=400), "context-length"),
    (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), "body"),
    (raw(b"HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), "status"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("act", "cause"), FAILURES)
async def test_anything_else_is_a_failure(act: Act, cause: str) -> None:
    outcome = await ask(act, timeout_s=20)
    assert isinstance(outcome, TransportFailure), outcome
    assert outcome.cause == cause, outcome


@pytest.mark.anyio
@pytest.mark.parametrize("act", [stall, drip])
async def test_a_program_that_does_not_answer_times_out(act: Act) -> None:
    assert isinstance(await ask(act, timeout_s=0.2), TimedOut)


@pytest.mark.anyio
async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    outcome = await ask(endless, most_bytes=100_000)
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "body"


@pytest.mark.anyio
async def test_a_refusal_is_no_reply() -> None:
    outcome = await ask(answer({"refusal": "Not I", "text": "42"}))
    assert isinstance(outcome, Refusal)
    assert outcome.text == "Not I"


@pytest.mark.anyio
async def test_a_key_goes_along_and_never_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "canary-0123456789")
    async with hostile(answer({"text": "your key is canary-0123456789", "model": "canary-0123456789"})) as server:
        agent = HttpAgent(HttpOptions(url=server.url, api_key_env="AGENT_KEY"))
        outcome = await agent.generate(CALL)
        await agent.close()
        assert server.seen[0].headers["authorization"] == "Bearer canary-0123456789"
    assert isinstance(outcome, Reply)
    assert "canary" not in f"{outcome!r} {agent!r} {agent.name} {agent.options!r}"


@pytest.mark.anyio
async def test_what_the_contract_lacks_is_named() -> None:
    agent = HttpAgent(HttpOptions(url="http://127.0.0.1:1"))
    for outcome in (
        await agent.generate(Generate(turns=CALL.turns, schema={"type": "string"})),
        await agent.extend(Extend(turns=CALL.turns)),
        await agent.score(Score(turns=CALL.turns, continuations=("a",))),
    ):
        assert isinstance(outcome, TransportFailure)
        assert outcome.cause == "capability"
    with pytest.raises(SpecError):
        HttpOptions(url="http://127.0.0.1:1", capabilities=(Capability.TOKENS,))
    with pytest.raises(SpecError):
        HttpOptions(url="http://127.0.0.1:1", timeout_s=-1)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_what_the_program_says_is_what_the_reply_says(text: str) -> None:
    outcome = read_answer(json.dumps({"text": text}).encode(), name="n", seconds=1.0, hide=str)
    assert isinstance(outcome, Reply)
    assert outcome.text == text
