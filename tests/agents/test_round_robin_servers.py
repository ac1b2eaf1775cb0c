"""Texts in turns over real sockets: ids, text, a server that dies in the middle of a turn, and going on afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from servers import Act, Seen, answer, half, hostile, response

from dissensus.agents.openai.model import OpenAI
from dissensus.agents.openai.options import OpenAIOptions
from dissensus.agents.retried import Patience, Retried
from dissensus.decide.procedures import settings_of_round_robin
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.record.memory import MemoryStore
from dissensus.record.sqlite import open_record
from dissensus.run import runs
from dissensus.run.performers import Live
from dissensus.script.decisions import Status
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

TEXT = "three and four is seven, so the answer is 7"
PROMPT = (1, 2, 3, 4, 5)
QUESTION = Question(text="How many?", kind="number")
END = 0


def completion(seen: Seen) -> dict[str, Any]:
    """What a server that knows one text adds to it: a token for each character, and the end as a token of its own."""
    prompt: Sequence[int] = seen.data["prompt"]
    most: int = seen.data["max_tokens"]
    ids = [*map(ord, TEXT[len(prompt) - len(PROMPT) :]), END][:most]
    ended = ids[-1:] == [END]
    return {
        "model": "m",
        "choices": [
            {
                "index": 0, "text": "".join(map(chr, ids[: len(ids) - ended])), "token_ids": ids,
                "finish_reason": "stop" if ended else "length", "stop_reason": None,
            }
        ],
        "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(ids)},
    }  # fmt: skip


def like_vllm(*, dies_at: int = 0) -> tuple[Act, list[int]]:
    """A server with the routes that token ids take; completion number ``dies_at`` breaks off in the middle."""
    completions: list[int] = []

    async def act(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path.endswith("/tokenize"):
            await answer({"tokens": list(PROMPT), "count": len(PROMPT)})(seen, writer)
            return
        if seen.path.endswith("/detokenize"):
            await answer({"prompt": "".join(map(chr, seen.data["tokens"]))})(seen, writer)
            return
        completions.append(len(seen.data["prompt"]))
        done = completion(seen)
        if len(completions) == dies_at:
            whole = json.dumps(done).encode()
            await half(whole[: len(whole) // 2], of=len(whole))(seen, writer)
            return
        await answer(done)(seen, writer)

    return act, completions


def model(url: str) -> OpenAI:
    return OpenAI(OpenAIOptions(model="m", base_url=f"{url}/v1", server="vllm", timeout_s=5.0))


def seats(one: OpenAI) -> tuple[Seat, ...]:
    return tuple(Seat(agent=name, model="openai:m", capabilities=one.capabilities) for name in ("ada", "ben", "cleo"))


async def run(one: Any, table: Sequence[Seat], store: Any, **more: Any) -> RoundRobin:
    settings = RoundRobinSettings(k=8, trajectories=1, temperature=0.0, **more)
    found = await runs.start(
        procedure="round-robin",
        settings=settings_of_round_robin(QUESTION, settings),
        seats=table,
        performer=Live(lambda _agent: one),
        record=store,
    )
    assert isinstance(found, RoundRobin)
    return found


@pytest.mark.anyio
async def test_by_token_ids_the_text_is_written_without_a_seam() -> None:
    act, completions = like_vllm()
    async with hostile(act) as server:
        one = model(server.url)
        found = await run(one, seats(one), MemoryStore())
        await one.close()
    text = found.texts[0]
    assert (text.text, found.answer, found.fidelity, text.end) == (TEXT, "7", "token_exact", "eos")
    assert text.ids == tuple(map(ord, TEXT))
    assert completions == [len(PROMPT) + before for before in range(0, len(TEXT) + 1, 8)]
    assert [turn.prompt for turn in text.turns] == [len(PROMPT)] * len(text.turns)
    exact = found.ledger["counted"]["exact"]
    assert exact["decoded"] == len(TEXT) + 1
    assert exact["computed"] + exact["cached"] == sum(completions)


@pytest.mark.anyio
async def test_a_server_that_dies_in_the_middle_of_a_turn_leaves_no_half_of_it(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    act, _ = like_vllm(dies_at=3)
    async with hostile(act) as server:
        one = model(server.url)
        with open_record(path, "x") as store:
            found = await run(one, seats(one), store, on_failure="end")
        await one.close()
    text = found.texts[0]
    assert (text.end, found.status, found.answer) == ("failed", Status.FAILED, None)
    assert text.text == TEXT[:16]
    last = text.turns[-1]
    assert (last.failure, last.cause, last.kept, last.added) == ("transport", "body", 0, "")
    assert (await anyio.to_thread.run_sync(runs.replay, path)).identical


@pytest.mark.anyio
async def test_the_turn_is_passed_on_or_tried_again_and_the_text_is_whole() -> None:
    act, _ = like_vllm(dies_at=3)
    async with hostile(act) as server:
        one = model(server.url)
        passed = await run(one, seats(one), MemoryStore())
        await one.close()
    assert passed.texts[0].text == TEXT
    assert [turn.failure for turn in passed.texts[0].turns].count("transport") == 1
    act, completions = like_vllm(dies_at=3)
    async with hostile(act) as server:
        one = model(server.url)
        again = await run(Retried(one, Patience(first_wait_s=0.01)), seats(one), MemoryStore())
        await one.close()
    assert again.texts[0].text == TEXT
    assert not any(turn.failure for turn in again.texts[0].turns)
    assert len(completions) == len(again.texts[0].turns) + 1


@pytest.mark.anyio
async def test_a_run_cut_by_a_dead_server_goes_on_from_its_record() -> None:
    """The process ends while the third turn is out; what had come is not asked for again."""
    act, _ = like_vllm()
    store = MemoryStore()
    out = anyio.Event()

    async def stuck(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path.endswith("/completions") and len(seen.data["prompt"]) == len(PROMPT) + 16:
            out.set()
            await asyncio.sleep(3600)
        await act(seen, writer)

    async with hostile(stuck) as server:
        one = model(server.url)
        async with anyio.create_task_group() as group:
            group.start_soon(run, one, seats(one), store)
            await out.wait()
            group.cancel_scope.cancel()
        await one.close()
    act, completions = like_vllm()
    async with hostile(act) as server:
        two = model(server.url)
        found = await runs.resume(store, Live(lambda _agent: two))
        await two.close()
    assert isinstance(found, RoundRobin)
    assert found.texts[0].text == TEXT
    assert completions[0] == len(PROMPT) + 16


@pytest.mark.anyio
async def test_a_context_that_is_full_is_told_as_such() -> None:
    problem = {"error": {"message": "This model's maximum context length is 16 tokens.", "type": "BadRequestError"}}

    async def act(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path.endswith("/completions") and len(seen.data["prompt"]) >= 16:
            writer.write(response(json.dumps(problem).encode(), status=400))
            return
        await like_vllm()[0](seen, writer)

    async with hostile(act) as server:
        one = model(server.url)
        found = await run(one, seats(one), MemoryStore())
        await one.close()
    text = found.texts[0]
    assert (text.end, text.text) == ("failed", TEXT[:16])
    assert {turn.cause for turn in text.turns if turn.failure} == {"context-length"}
    assert found.status is Status.FAILED
