"""Runs side by side may name their texts alike: each has streams of its own, and gives them back when it ends."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dissensus.agents.retried import Retried
from dissensus.agents.scripted import Scripted
from dissensus.run.performers import Live
from dissensus.run.render import render
from dissensus.script.effects import Continue, ScoreTexts
from dissensus.script.outcomes import Extended, Scores
from dissensus.script.seats import Seat

pytestmark = pytest.mark.anyio
SEAT = Seat(agent="ada", model="scripted")


class Keeping(Scripted):
    """A model that keeps something for each stream until it is told to forget."""

    def __init__(self) -> None:
        super().__init__("one two three", keep_calls=True)
        self.forgotten: list[str] = []

    async def forget(self, prefix: str) -> None:
        self.forgotten.append(prefix)

    def streams(self) -> list[str]:
        return [getattr(call, "stream", "") for call in self.asked or ()]


async def one_run(model: Any, effect: Continue | ScoreTexts, key: str) -> object:
    async with Live(lambda _agent: model) as live:
        live.start(render(effect, key, SEAT, (), 0))
        [finished] = await live.next()
        return getattr(finished, "outcome", None)


async def test_streams_of_runs_are_kept_apart_and_forgotten() -> None:
    inner = Keeping()
    model = Retried(inner)
    effect = Continue("ada", "Go on.", tokens=(), stream="text-1/ada", hear=True)
    outcomes: list[object] = []

    async def run() -> None:
        outcomes.append(await one_run(model, effect, "turn"))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(run)
    assert all(isinstance(outcome, Extended) for outcome in outcomes)
    streams = inner.streams()
    assert len(set(streams)) == 3
    assert all(stream.endswith("/text-1/ada") for stream in streams)
    assert sorted(inner.forgotten) == sorted(stream.removesuffix("text-1/ada") for stream in streams)


async def test_a_score_has_its_stream_and_what_names_none_keeps_none() -> None:
    inner = Keeping()
    scored = await one_run(inner, ScoreTexts("ada", "Go on.", ("one",), text="and ", stream="text-1/ada"), "score")
    assert isinstance(scored, Scores)
    assert inner.streams()[0].endswith("/text-1/ada")
    assert len(inner.forgotten) == 1
    await one_run(inner, Continue("ada", "Go on.", text="one"), "turn")
    assert inner.streams()[1] == ""
    assert len(inner.forgotten) == 1


async def test_hints_are_no_part_of_a_requests_hash() -> None:
    plain = Continue("ada", "Go on.", text="one")
    hinted = Continue("ada", "Go on.", text="one", stream="text-1/ada", hear=True)
    assert render(plain, "k", SEAT, (), 0).request == render(hinted, "k", SEAT, (), 0).request
    whole, begun = ScoreTexts("ada", "Q", ("a",)), ScoreTexts("ada", "Q", ("a",), text="b")
    assert render(whole, "k", SEAT, (), 0).request != render(begun, "k", SEAT, (), 0).request
    with_stream = ScoreTexts("ada", "Q", ("a",), stream="text-1/ada")
    assert render(whole, "k", SEAT, (), 0).request == render(with_stream, "k", SEAT, (), 0).request
