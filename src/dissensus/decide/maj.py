"""MAJ: the vote on finished answers, held under the conditions of the round-robin.

Each agent writes one answer alone and all count alike. It differs from :mod:`~dissensus.decide.vote` in nothing that a
user would care for and in all that would spoil a comparison: no levers, no repair turn, no other wording.

Weakness: whoever has more than half of the agents has the answer, and nothing in a finished answer can tell.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from dissensus.decide.answering import Answered, AnswerSettings, Room, ask_once, room
from dissensus.decide.finishing import Defended, finish
from dissensus.script.effects import Note, Script, Together
from dissensus.script.questions import Question
from dissensus.script.seats import Seat


def maj(
    question: Question, seats: Sequence[Seat], settings: AnswerSettings, seed: int
) -> Generator[Any, Any, Defended]:
    """Every agent answers alone, ``settings.trajectories`` times; the plurality decides.

    Raises SpecError, before anybody is asked, for a question or settings that cannot be.
    """
    here = room(question, seats, settings, seed)
    yield Note("maj", {"seats": [seat.agent for seat in here.seats], "kind": here.kind}, key="maj")
    texts = yield from alone(here)
    return (yield from finish(here, texts, rule=f"MAJ: {len(here.seats)} agents answer alone"))


def alone(here: Room) -> Generator[Any, Any, list[Answered]]:
    """Every agent's own answer, as often as there are trajectories, all side by side."""
    many = here.settings.trajectories
    scripts: dict[str, Script] = {}
    for number in range(many):
        for seat in here.seats:
            name = seat.agent if many == 1 else f"{seat.agent} {number + 1}"
            how = {"name": name, "key": "ask", "thread": f"alone/{name}", "scope": name}
            scripts[name] = ask_once(here, seat, here.prompt, **how)
    came: Mapping[str, Answered] = yield Together(scripts)
    return list(came.values())
