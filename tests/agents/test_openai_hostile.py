"""Servers that misbehave: a typed outcome each time, never an exception, never a reply."""

from __future__ import annotations

import gzip
import json
from typing import Any

import anyio
import pytest
from servers import Act, answer, body, chat, drip, endless, half, hang_up, hostile, raw, stall, stall_inside

from dissensus.agents.openai import OpenAI, OpenAIOptions
from dissensus.script.calls import Generate, Turn
from dissensus.script.outcomes import Invalid, Outcome, Refusal, Reply, TimedOut, TransportFailure, to_data

pytestmark = pytest.mark.anyio
CALL = Generate(turns=(Turn("user", "What is 6 × 7?"),), key="ask/ada", max_tokens=64)


async def ask(act: Act, call: Generate = CALL, **options: Any) -> Outcome:
    async with hostile(act) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, **options))
        try:
            outcome = await model.generate(call)
        finally:
            await model.close()
    to_data(outcome)  # whatever it is, a record can hold it
    return outcome


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


STATUS: list[tuple[Act, str, int | None]] = [
    (answer(error("slow down", code="rate_limit_exceeded"), status=429), "rate-limited", 429),
    (answer(error("You exceeded your quota", code="insufficient_quota"), status=429), "status", 429),
    (answer(error("boom"), status=500), "status", 500),
    (body(b"<html>Bad gateway</html>", status=502, kind="text/html"), "status", 502),
    (answer({"error": {"code": 503, "message": "Loading model"}}, status=503), "status", 503),
    (answer(error("This model's maximum context length is 10"), status=400), "context-length", 400),
    (answer(error("x", code="context_length_exceeded"), status=400), "context-length", 400),
    (answer(error("x", type="exceed_context_size_error", code=400), status=400), "context-length", 400),
    (answer({"object": "error", "message": "Input is too long", "code": 400}, status=400), "context-length", 400),
    (answer({"detail": [{"loc": ["body", "seed"], "msg": "not an integer"}]}, status=422), "status", 422),
    (answer(error("no such model"), status=404), "status", 404),
    (body(b"", status=400), "status", 400),
    (raw(b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/v1\r\nContent-Length: 0\r\n\r\n"), "status", 302),
    (raw(b"HTTP/1.1 307 T\r\nLocation: http://[::bad\r\nContent-Length: 0\r\n\r\n"), "status", 307),
]  # fmt: skip


@pytest.mark.parametrize(("act", "cause", "status"), STATUS)
async def test_an_error_status_is_a_failure_with_its_cause(act: Act, cause: str, status: int | None) -> None:
    outcome = await ask(act)
    assert isinstance(outcome, TransportFailure)
    assert (outcome.cause, outcome.status) == (cause, status)
    assert outcome.usage.seconds is not None
    assert outcome.usage.tokens_in is None


WHOLE = json.dumps(chat()).encode()
BODIES: list[tuple[Act, str]] = [
    (body(WHOLE[: len(WHOLE) // 2]), "body"),
    (half(WHOLE[:20], of=len(WHOLE)), "body"),
    (hang_up, "connect"),
    (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "connect"),
    (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), "connect"),
    (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "body"),
    (body(b"<!DOCTYPE html><html><body>Welcome to nginx!</body></html>", kind="text/html"), "body"),
    (body(b""), "body"),
    (body(b"null"), "body"),
    (body(b'"42"'), "body"),
    (body(b"[" * 100_000), "body"),
    (answer([chat()]), "body"),
    (answer({"choices": []}), "empty"),
    (answer({"choices": None}), "body"),
    (answer({"choices": {"0": "42"}}), "body"),
    (answer({"choices": ["42"]}), "body"),
    (answer({"choices": [{"message": "42"}]}), "empty"),
    (answer({"choices": [{"text": "42"}]}), "empty"),
    (answer(chat(None)), "empty"),
    (answer(chat(42)), "body"),
    (answer(chat(["42"])), "body"),
    (answer(chat([{"type": "text", "text": "42"}])), "body"),
    (answer(chat("", finish="length")), "empty"),
    (answer(chat("Half an ans", finish="error")), "body"),
    (answer(error("upstream died", code=502)), "body"),
    (answer({"error": "no model loaded"}), "body"),
    (answer(error("slow down", code=429)), "rate-limited"),
    (body(b"\x1f\x8b\x08 not gzip at all", Content_Encoding="gzip"), "body"),
    (body(b"whatever", Content_Encoding="br"), "body"),
]


@pytest.mark.parametrize(("act", "cause"), BODIES)
async def test_a_body_that_is_no_answer_is_a_failure_with_its_cause(act: Act, cause: str) -> None:
    outcome = await ask(act, timeout_s=20)
    assert isinstance(outcome, TransportFailure), outcome
    assert outcome.cause == cause, outcome


async def test_nobody_listens() -> None:
    async with hostile(hang_up) as server:
        url = server.url
    model = OpenAI(OpenAIOptions(model="m", base_url=url))
    outcome = await model.generate(CALL)
    await model.close()
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "connect"


@pytest.mark.parametrize("act", [stall, stall_inside, drip])
async def test_a_stall_ends_after_the_time_of_one_try(act: Act) -> None:
    outcome = await ask(act, timeout_s=0.3)
    assert isinstance(outcome, TimedOut)
    assert outcome.after_s == 0.3
    assert outcome.usage.seconds is not None
    assert 0.3 <= outcome.usage.seconds < 5


async def test_an_endless_body_is_not_read_to_its_end() -> None:
    outcome = await ask(endless, most_bytes=200_000, timeout_s=20)
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "body"
    assert "200,000" in outcome.problem


async def test_a_packed_body_is_read_and_a_bomb_is_not_unpacked() -> None:
    packed = gzip.compress(json.dumps(chat("packed")).encode())
    fine = await ask(body(packed, Content_Encoding="gzip"))
    assert isinstance(fine, Reply)
    assert fine.text == "packed"
    bomb = gzip.compress(b" " * 50_000_000)
    outcome = await ask(body(bomb, Content_Encoding="gzip"), most_bytes=100_000)
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "body"


async def test_a_redirect_is_not_followed_and_its_host_is_named() -> None:
    outcome = await ask(STATUS[-2][0])
    assert isinstance(outcome, TransportFailure)
    assert "elsewhere.example" in outcome.problem  # the test's guard on sockets fails it if it was asked


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_the_variable_it_came_from(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVER_KEY", "canary-key-0123456789")
    outcome = await ask(answer(error("bad key canary-key-0123456789"), status=status), api_key_env="MY_SERVER_KEY")
    assert isinstance(outcome, TransportFailure)
    assert outcome.status == status
    assert "MY_SERVER_KEY" in outcome.problem
    assert "canary" not in outcome.problem


REFUSALS: list[tuple[Act, str]] = [
    (answer(chat(None, refusal="I cannot help with that.")), "I cannot help with that."),
    (answer(chat("Half a", finish="content_filter")), "Half a"),
    (answer(chat(None, finish="content_filter")), ""),
    (answer(error("The prompt was filtered", code="content_filter"), status=400), "The prompt was filtered"),
]


@pytest.mark.parametrize(("act", "text"), REFUSALS)
async def test_a_filter_or_a_refusal_is_no_reply(act: Act, text: str) -> None:
    outcome = await ask(act)
    assert isinstance(outcome, Refusal)
    assert outcome.text == text


async def test_a_tool_call_instead_of_an_answer_is_invalid() -> None:
    tool = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    outcome = await ask(answer(chat(None, finish="tool_calls", tool_calls=[tool])))
    assert isinstance(outcome, Invalid)
    assert "tool" in outcome.problem


WRONG_COUNTS: list[object] = [
    {"prompt_tokens": -1, "completion_tokens": -3},
    {"prompt_tokens": "12", "completion_tokens": "3"},
    {"prompt_tokens": 10**300, "completion_tokens": 10**15},
    {"prompt_tokens": 1.5, "completion_tokens": True},
    {"prompt_tokens": None, "completion_tokens": [3]},
    [],
    "many",
    0,
]


@pytest.mark.parametrize("usage", WRONG_COUNTS)
async def test_wrong_token_counts_are_unknown_and_so_is_the_cost(usage: object) -> None:
    outcome = await ask(answer(chat("42", usage=usage)), price_in=1.0, price_out=2.0)
    assert isinstance(outcome, Reply)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.usage.cost) == (None, None, None)


async def test_a_wrong_count_is_noted_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    await ask(answer(chat("42", usage={"prompt_tokens": -7, "completion_tokens": 3})))
    assert "-7 prompt_tokens" in caplog.text


async def test_more_cached_tokens_than_the_prompt_had_are_unknown() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 11}}
    outcome = await ask(answer(chat("42", usage=usage)))
    assert isinstance(outcome, Reply)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_cached) == (10, None)


async def test_text_that_no_record_could_hold_is_made_holdable() -> None:
    escapes = WHOLE.replace(b'"42"', rb'"a\ud800b\udc00c\ud83d\ude00"')
    outcome = await ask(body(escapes))
    assert isinstance(outcome, Reply)
    assert outcome.text == "a\ufffdb\ufffdc\U0001f600"
    broken = await ask(body(WHOLE.replace(b'"42"', b'"4\xff2"')))
    assert isinstance(broken, Reply)
    assert broken.text == "4\ufffd2"
    marked = await ask(body(b"\xef\xbb\xbf" + WHOLE))
    assert isinstance(marked, Reply)


@pytest.mark.parametrize(
    ("finish", "told"), [("stop", "stop"), ("length", "length"), ("odd", "other"), (None, "other")]
)
async def test_how_a_message_ended_is_told(finish: str | None, told: str) -> None:
    outcome = await ask(answer(chat("42", finish=finish)))
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.finish, outcome.model) == ("42", told, "served-model")


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ({"Retry_After": "7"}, 7, 7),
        ({"Retry_After": "0.25"}, 0.25, 0.25),
        ({"Retry_After": "-5"}, 0, 0),
        ({"Retry_After": "Tue, 01 Dec 2026 10:00:30 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 30, 30),
        ({"Retry_After": "Tue, 01 Dec 2026 09:00:00 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 0, 0),
        ({"Retry_After": "Sat, 01 Jan 2000 00:00:00 GMT"}, 0, 0),
        ({"Retry_After": "inf"}, None, None),
        ({"Retry_After": "nan"}, None, None),
        ({"Retry_After": "soon"}, None, None),
        ({"Retry_After": "Tue, 99 Dec 2026 10:00:30 GMT"}, None, None),
        ({}, None, None),
    ],
)
async def test_how_long_the_server_asks_to_wait(header: dict[str, str], low: float | None, high: float | None) -> None:
    outcome = await ask(answer(error("slow down"), status=429, **header))
    assert isinstance(outcome, TransportFailure)
    assert outcome.retry_after_s == low == high


async def test_a_cancelled_call_is_cancelled_and_the_next_one_works() -> None:
    async with hostile(stall, answer(chat("next"))) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, concurrency=1))
        with anyio.move_on_after(0.2) as scope:
            await model.generate(CALL)
        assert scope.cancelled_caught
        outcome = await model.generate(CALL)
        await model.close()
        await model.close()
    assert isinstance(outcome, Reply)
    assert outcome.text == "next"


CANARY = 'sk-canary/0123"456789+abc'


@pytest.mark.parametrize(
    "act",
    [
        answer(error(f"Bearer {CANARY} is not known"), status=401),
        answer(error(f"Bearer {CANARY} is not known"), status=400),
        body(f"<html>Authorization: Bearer {CANARY.replace(chr(34), '&quot;')}</html>".encode(), status=500),
        body(json.dumps({"weird": CANARY}).encode()),
        body(
            f"GET /?key={CANARY.replace('/', '%2F').replace(chr(34), '%22').replace('+', '%2B')}".encode(), status=500
        ),
        answer(chat(f"your key is {CANARY}")),
        answer(chat(None, refusal=f"I will not use {CANARY}")),
        answer({**chat("42"), "model": CANARY}),
        answer(error(CANARY)),
        raw(f"HTTP/1.1 302 F\r\nLocation: http://{CANARY}/\r\nContent-Length: 0\r\n\r\n".encode()),
        raw(f"HTTP/1.1 200 {CANARY}\r\nContent-Length: 5\r\nX-Echo: {CANARY}\r\n\r\n".encode()),
        raw(f"{CANARY}\r\n".encode()),
    ],
)
async def test_a_key_that_the_server_sends_back_goes_nowhere(
    act: Act, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY + "\n")
    caplog.set_level(1)
    async with hostile(act) as server:
        model = OpenAI(OpenAIOptions(model="m", base_url=server.url, api_key_env="CANARY_KEY"))
        outcome = await model.generate(CALL)
        shown = [repr(model), str(model), model.name, repr(model.options), json.dumps(to_data(outcome)), repr(outcome)]
        assert server.seen[0].headers["authorization"] == f"Bearer {CANARY}"
        assert CANARY.encode() not in server.seen[0].body
        await model.close()
    assert "httpcore2" in caplog.text  # the libraries did log; so the next line means something
    for text in [*shown, caplog.text]:
        assert "canary" not in text
