"""The receiver's ear on a real model: what comes with the writing is what scoring the same chunks gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from dissensus.agents.llama import Llama, load
from dissensus.agents.model import Model
from dissensus.decide.procedures import settings_of_round_robin
from dissensus.decide.round_robin_opinions import Ear
from dissensus.decide.round_robin_result import RoundRobin
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.record.memory import MemoryStore
from dissensus.run.performers import Live
from dissensus.run.runs import start
from dissensus.script.calls import Capability, Extend, Generate, Score
from dissensus.script.outcomes import Extended, Outcome
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

pytestmark = pytest.mark.model
QUESTION = Question(text="Tell how a loaf of bread is baked, in many words. How many steps are that?", kind="number")
SYSTEM = {"ada": "You calculate with care.", "ben": "Everything is 12."}
HOW = RoundRobinSettings(
    k=8, length=32, trajectories=1, temperature=0.0, boundary="word-number", ear="both", ear_candidates=("7", "12")
)


class Quiet:
    """The same model, which keeps to itself what was heard while it wrote."""

    def __init__(self, model: Llama) -> None:
        self.model, self.name, self.capabilities = model, model.name, model.capabilities

    async def generate(self, call: Generate) -> Outcome:
        return await self.model.generate(call)

    async def extend(self, call: Extend) -> Outcome:
        outcome = await self.model.extend(call)
        return replace(outcome, heard=None, others=None) if isinstance(outcome, Extended) else outcome

    async def score(self, call: Score) -> Outcome:
        return await self.model.score(call)

    async def close(self) -> None:
        return None


def ran(path: Path, ingest: str, *, quiet: bool) -> RoundRobin:
    async def go() -> RoundRobin:
        model = load(str(path), slots=2, context=512, threads=1, ingest=ingest)
        asked: Model = Quiet(model) if quiet else model
        seats = [
            Seat(
                agent=name, model=model.name, capabilities=frozenset(Capability), tokenizer=model.tokenizer, system=said
            )
            for name, said in SYSTEM.items()
        ]
        try:
            decision = await start(
                procedure="round-robin",
                settings=settings_of_round_robin(QUESTION, HOW),
                seats=seats,
                performer=Live(lambda _agent: asked),
                record=MemoryStore(),
            )
        finally:
            await model.close()
        assert isinstance(decision, RoundRobin)
        return decision

    return anyio.run(go)


@pytest.fixture(scope="module")
def scored(smollm2_path: Path) -> RoundRobin:
    """All of it by scoring."""
    return ran(smollm2_path, "handover", quiet=True)


@pytest.mark.parametrize("ingest", ["handover", "lockstep"])
def test_what_comes_with_the_writing_is_what_scoring_gives(smollm2_path: Path, ingest: str, scored: RoundRobin) -> None:
    told = ran(smollm2_path, ingest, quiet=False)
    assert told.texts[0].text == scored.texts[0].text
    one, other = told.ear, scored.ear
    assert isinstance(one, Ear)
    assert isinstance(other, Ear)
    peers = sum(writer != reader for writer in one.texts[0].writers for reader in SYSTEM)
    # where a writer had sampled more than was kept, it does not know what it makes of the next token
    assert peers / 2 <= sum(opinion.in_pass for opinion in one.texts[0].opinions) <= peers
    assert sum(opinion.in_pass for opinion in other.texts[0].opinions) == 0
    for mine, theirs in zip(one.texts[0].opinions, other.texts[0].opinions, strict=True):
        assert mine.problem == theirs.problem == ""
        # scored as text, a chunk may be cut into other tokens at its beginning
        assert mine.surprise == pytest.approx(theirs.surprise, abs=0.3)
        for before, after in zip(mine.answers, theirs.answers, strict=True):
            assert before == pytest.approx(after, abs=0.3)
    assert one.texts[0].opinions[0].answers != one.texts[0].opinions[1].answers, "each from its own prompt"
