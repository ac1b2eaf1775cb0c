"""One agent alone: what everything else has to beat. With several trajectories, the same agent sampled and voted on.

In a panel of which some are corrupted the agent is the first in the order of seats, whoever that is.

Weakness: it is as good as that agent.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dissensus.decide.answering import AnswerSettings, Room, room
from dissensus.decide.finishing import Defended, finish
from dissensus.decide.maj import alone
from dissensus.errors import SpecError
from dissensus.script.effects import Note
from dissensus.script.questions import Question
from dissensus.script.seats import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleSettings(AnswerSettings):
    """How one agent is asked.

    Args:
        agent: its name; empty takes the first in the order of seats.
    """

    agent: str = ""

    def most_calls(self, agents: int) -> int:  # noqa: ARG002 - it is one agent, however many there are
        """One for each trajectory."""
        return self.trajectories


def single(
    question: Question, seats: Sequence[Seat], settings: SingleSettings, seed: int
) -> Generator[Any, Any, Defended]:
    """One agent answers, ``settings.trajectories`` times. Raises SpecError if there is no such agent."""
    here = only(room(question, seats, settings, seed), settings.agent)
    yield Note("single", {"seats": [seat.agent for seat in here.seats], "kind": here.kind}, key="single")
    texts = yield from alone(here)
    return (yield from finish(here, texts, rule=f"{here.seats[0].agent} answers alone"))


def only(here: Room, agent: str) -> Room:
    """The room with one agent in it. Raises SpecError if there is no such agent."""
    by_name: Mapping[str, Seat] = {seat.agent: seat for seat in here.seats}
    if agent and agent not in by_name:
        raise SpecError(f"There is no agent {agent!r}.", next_step=f"The agents are {', '.join(by_name)}.")
    return replace(here, seats=(by_name[agent] if agent else here.seats[0],))
