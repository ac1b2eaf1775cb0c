"""Continuing on streams as a user's run does it: over the process that holds them, which may die."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from dissensus.agents.llama import Llama, load
from dissensus.agents.llama_engine import Engine, StreamSettings, release, share
from dissensus.agents.probe import probe
from dissensus.errors import SpecError
from dissensus.script.calls import Extend, Score, Turn
from dissensus.script.outcomes import Extended, Outcome, Scores, TransportFailure

pytestmark = [pytest.mark.anyio, pytest.mark.model]
OPTIONS: dict[str, Any] = {"slots": 1, "context": 512, "threads": 1, "streams": 8}
TURNS = (Turn("system", "Be brief."), Turn("user", "Tell a story of a mill."))


@pytest.fixture(scope="module", autouse=True)
def engines(smollm2_path: Path) -> Iterator[list[Engine]]:
    """Keeps both processes running for all tests of this module."""
    pytest.importorskip("xllamacpp")
    model = load(str(smollm2_path), **OPTIONS)
    kept = [share(model._settings), share(model.streams._settings)]
    for engine in kept:
        engine.start(lambda _line: None)
    yield kept
    for engine in kept:
        release(engine)


@pytest.fixture
async def model(smollm2_path: Path) -> AsyncIterator[Llama]:
    opened = load(str(smollm2_path), **OPTIONS)
    yield opened
    await opened.forget("")
    await opened.close()


def call(stream: str = "r/t/ada", **more: Any) -> Extend:
    fields: dict[str, Any] = {"turns": TURNS, "tokens": (), "max_tokens": 6, "temperature": 0, "stream": stream}
    return Extend(**(fields | more))


async def more(model: Llama, asked: Extend) -> Extended:
    outcome = await model.extend(asked)
    assert isinstance(outcome, Extended), outcome
    return outcome


async def test_a_stream_says_what_the_servers_route_says_and_more(model: Llama) -> None:
    by_stream, by_server = await more(model, call()), await more(model, call(stream=""))
    assert by_stream.tokens == by_server.tokens
    assert by_stream.text == by_server.text
    assert by_stream.finish == by_server.finish == "length"
    assert by_stream.logprobs == pytest.approx(by_server.logprobs, abs=1e-3)
    assert by_stream.usage.tokens_in == by_server.usage.tokens_in
    assert by_stream.ends is not None
    assert by_stream.ends[-1] == len(by_stream.text.encode())
    assert (by_stream.sampled, by_stream.dropped, by_stream.fidelity) == (6, 0, "token_exact")
    assert by_stream.tokenizer == model.tokenizer
    assert by_stream.template
    assert by_stream.heard is None


async def test_a_text_is_continued_on_the_same_stream_and_marked_as_text(model: Llama) -> None:
    first = await more(model, call())
    by_ids = await more(model, call(tokens=first.tokens))
    by_text = await more(model, call(tokens=None, text=first.text))
    assert by_text.tokens == by_ids.tokens
    assert (by_ids.fidelity, by_text.fidelity) == ("token_exact", "text_prefill")
    assert by_ids.usage.tokens_cached == (by_ids.usage.tokens_in or 0) - 1


async def test_continuations_are_scored_as_by_the_servers_route(model: Llama) -> None:
    written = await more(model, call())
    ends = (" the", " mill stood", "")
    scored = []
    for stream in ("r/t/ada", ""):
        outcome = await model.score(Score(turns=TURNS, continuations=ends, tokens=written.tokens, stream=stream))
        assert isinstance(outcome, Scores)
        scored.append(outcome)
    assert scored[0].logprobs == pytest.approx(scored[1].logprobs, abs=2e-3)
    assert scored[0].lengths == scored[1].lengths
    steering = max(model._control)
    for wrong in (call(tokens=(steering,)), Score(turns=TURNS, continuations=ends, tokens=(steering,), stream="r/t/a")):
        refused = await (model.extend(wrong) if isinstance(wrong, Extend) else model.score(wrong))
        assert isinstance(refused, TransportFailure)
        assert "steers the chat" in refused.problem


async def test_many_calls_at_once_share_passes_and_each_gets_its_own(model: Llama) -> None:
    alone = [(await more(model, call(f"a/t/{number}", seed=number, temperature=1.0))).tokens for number in range(4)]
    came: dict[int, Outcome] = {}

    async def one(number: int) -> None:
        came[number] = await model.extend(call(f"b/t-{number}/ada", seed=number, temperature=1.0))

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(one, number)
    assert [getattr(came[number], "tokens", None) for number in range(4)] == alone


async def test_half_a_character_comes_as_bytes(model: Llama) -> None:
    birds = "\U0001f99c" * 6
    turns = (Turn("user", f"Go on: {birds}"),)
    raw, halves = b"", 0
    tokens: tuple[int, ...] = ()
    for _ in range(8):
        piece = await more(model, call(turns=turns, tokens=tokens, max_tokens=1))
        halves += piece.raw is not None
        raw += piece.text.encode() if piece.raw is None else piece.raw
        tokens += piece.tokens or ()
    assert halves
    assert raw.decode("utf-8", "ignore")


async def test_what_does_not_fit_is_a_failure_of_its_own(model: Llama) -> None:
    outcome = await model.extend(call(max_tokens=600))
    assert isinstance(outcome, TransportFailure)
    assert outcome.cause == "context-length"


async def test_the_probe_finds_it_sound_and_exact(model: Llama) -> None:
    found = await probe(model)
    assert {finding.verdict for finding in found.findings} == {"kept"}, found.findings
    assert found.fidelity == "token_exact"
    assert model.streams.told["exactness"]["exact"] is True


async def test_hanging_up_gives_the_call_up(model: Llama) -> None:
    with anyio.move_on_after(0.3) as scope:
        await model.extend(call("r/t/slow", max_tokens=400))
    assert scope.cancelled_caught
    with anyio.fail_after(20):
        await more(model, call("r/t/slow"))


async def test_a_process_that_dies_in_the_middle_is_an_outcome_and_the_next_call_starts_another(
    smollm2_path: Path,
) -> None:
    """Another number of streams makes it another process than that of the other tests."""
    model = load(str(smollm2_path), **(OPTIONS | {"streams": 2}))
    expected = await more(model, call())
    came: list[Outcome] = []

    async def write() -> None:
        came.append(await model.extend(call("r/t/ben", max_tokens=400)))

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await anyio.sleep(0.5)
        assert model.streams.pid is not None
        os.kill(model.streams.pid, signal.SIGKILL)
    assert isinstance(came[0], TransportFailure)
    assert came[0].cause == "crashed"
    assert "SIGKILL" in came[0].problem
    again = await more(model, call())
    assert again.tokens == expected.tokens
    engine = model.streams._engine
    assert engine is not None
    folder = Path(engine.address).parent
    assert folder.stat().st_mode & 0o077 == 0, "nobody else may enter"
    await model.close()
    assert not folder.exists()


async def test_in_lockstep_the_others_read_along(smollm2_path: Path) -> None:
    model = load(str(smollm2_path), **(OPTIONS | {"streams": 3, "ingest": "lockstep"}))
    for agent in ("ada", "ben"):
        read = await more(model, call(f"r/t/{agent}", max_tokens=0))
        assert (read.tokens, read.text) == ((), "")
    written = await more(model, call("r/t/ada"))
    assert written.others is not None
    assert written.others["ben"] == pytest.approx(written.logprobs, abs=1e-6), "the same prompt: the same opinion"
    assert written.read == 5
    second = await more(model, call("r/t/ben", tokens=written.tokens))
    assert second.usage.tokens_cached == second.usage.tokens_in
    await model.close()


async def test_a_process_that_measures_says_its_rates(smollm2_path: Path) -> None:
    settings = StreamSettings(path=str(smollm2_path), streams=2, context=512, threads=1, ingest="auto")
    engine = share(settings)
    await anyio.to_thread.run_sync(engine.start, lambda _line: None)
    assert engine.told["rates"]["one"] > 0
    await anyio.to_thread.run_sync(release, engine)


# --- what comes over the socket


def answered(address: str, frame: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(10)
        caller.connect(address)
        caller.sendall(frame)
        found = b""
        while part := caller.recv(4096):
            found += part
        return found


@pytest.mark.parametrize(
    "call",
    [
        b"\xc1",
        {"do": "write"},
        {"do": "fly", "stream": "a", "prompt": [1], "text": []},
        {"do": "write", "stream": "a", "prompt": [10**9], "text": [], "most": 1},
        {"do": "score", "stream": "a", "prompt": [1], "text": [], "continuations": [[-1]]},
        [],
    ],
)
async def test_a_call_that_makes_no_sense_is_refused_and_ends_nothing(model: Llama, call: object) -> None:
    await more(model, Extend(turns=TURNS, tokens=(), max_tokens=1, stream="r/t/ada"))
    assert model.streams._engine is not None
    body = call if isinstance(call, bytes) else msgspec.msgpack.encode(call)
    found = answered(model.streams._engine.address, len(body).to_bytes(4, "big") + body)
    assert "makes no sense" in msgspec.msgpack.decode(found[4:])["problem"]


async def test_too_long_a_call_is_hung_up_on(model: Llama) -> None:
    await more(model, Extend(turns=TURNS, tokens=(), max_tokens=1, stream="r/t/ada"))
    assert model.streams._engine is not None
    assert answered(model.streams._engine.address, (2**31).to_bytes(4, "big")) == b""


def test_options_that_cannot_be(smollm2_path: Path) -> None:
    for wrong in ({"streams": 0}, {"streams": 257}, {"ingest": "sometimes"}):
        with pytest.raises(SpecError):
            load(str(smollm2_path), **wrong)
