"""Self-refine (Madaan et al., arXiv 2303.17651): one agent answers, criticises its own answer, and answers again.

In a panel of which some are corrupted the agent is the first in the order of seats, whoever that is.

Weakness: a model that has been told a falsehood finds its own answer in order; there is nobody else in the room.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from dissensus.answers import instruction_for
from dissensus.decide.answering import Answered, Room, ask_once, room
from dissensus.decide.finishing import Defended, finish
from dissensus.decide.single import SingleSettings, only
from dissensus.errors import SpecError
from dissensus.script.effects import Note, Script, Together
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

CRITICISE: Final = (
    "Go through your answer step by step. Name each step that is wrong and say why. If all of them are right, say so."
)
REFINE: Final = "Now answer the question again, with every error put right."


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineSettings(SingleSettings):
    """How often it refines.

    Args:
        rounds: how often it criticises and answers again.
    """

    rounds: int = 1

    def most_calls(self, agents: int) -> int:  # noqa: ARG002 - it is one agent, however many there are
        """An answer, then a critique and an answer each round."""
        return (1 + 2 * self.rounds) * self.trajectories

    def in_sequence(self, agents: int) -> int:  # noqa: ARG002 - it is one agent, however many there are
        """Each waits for the one before it."""
        return 1 + 2 * self.rounds


def self_refine(
    question: Question, seats: Sequence[Seat], settings: RefineSettings, seed: int
) -> Generator[Any, Any, Defended]:
    """One agent answers, and refines. Raises SpecError if there is no such agent, or for settings that cannot be."""
    here = only(room(question, seats, settings, seed), settings.agent)
    if settings.rounds < 0:
        raise SpecError("Nobody can refine less than never.", next_step="Set rounds to 0 or more.")
    yield Note("self-refine", {"seats": [seat.agent for seat in here.seats], "kind": here.kind}, key="self-refine")
    scripts: dict[str, Script] = {
        f"refine-{number + 1}": _refine(here, settings, number) for number in range(settings.trajectories)
    }
    came: Mapping[str, list[Answered]] = yield Together(scripts)
    texts = [one for found in came.values() for one in found]
    rule = f"self-refine: {here.seats[0].agent} answers, criticises and answers again, {settings.rounds} times"
    return (yield from finish(here, texts, rule=rule))


def _refine(here: Room, settings: RefineSettings, number: int) -> Generator[Any, Any, list[Answered]]:
    """The texts in order; only the last answer counts. A failed call ends it there, and what stood before counts."""
    seat, question = here.seats[0], here.question
    ask = partial(ask_once, here, seat, thread=f"refine-{number + 1}/{seat.agent}", scope=f"refine-{number + 1}")
    name = seat.agent if settings.trajectories == 1 else f"{seat.agent} {number + 1}"
    texts = [(yield from ask(here.prompt, name=name, key="answer-1"))]
    best = 0
    end = instruction_for(here.kind, question.options, question.unit)
    for turn in range(1, settings.rounds + 1):
        if not texts[-1].draft.text:
            break
        critique = yield from ask(CRITICISE, name=f"{name}, critique {turn}", key=f"critique-{turn}")
        texts.append(critique)
        if not critique.draft.text:
            break
        again = yield from ask(f"{REFINE}\n\n{end}", name=f"{name}, answer {turn + 1}", key=f"answer-{turn + 1}")
        texts.append(again)
        if again.draft.text:
            best = len(texts) - 1
    return [one if place == best else one.aside() for place, one in enumerate(texts)]
