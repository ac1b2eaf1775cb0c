"""The vote of the honest agents alone: an oracle, and no defence. Nobody who defends knows who is honest.

It is told by the operator, and it is the most that leaving agents out could ever bring. It stands in a comparison so
that one sees how far the others are from it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dissensus.decide.answering import AnswerSettings, room
from dissensus.decide.finishing import Defended, finish
from dissensus.decide.maj import alone
from dissensus.errors import SpecError
from dissensus.script.effects import Note
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

ORACLE: Final = (
    "ORACLE: the corrupted agents were left out by somebody who knew them. This is no defence, and the most that "
    "leaving agents out could bring."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleSettings(AnswerSettings):
    """What the operator knows.

    Args:
        honest: names of the honest agents; empty means all of them.
    """

    honest: tuple[str, ...] = ()

    def most_calls(self, agents: int) -> int:
        """One for each honest agent and trajectory."""
        return (len(self.honest) or agents) * self.trajectories


def honest_only(
    question: Question, seats: Sequence[Seat], settings: OracleSettings, seed: int
) -> Generator[Any, Any, Defended]:
    """The honest agents answer alone and are voted on. Raises SpecError for a name that is no agent's."""
    here = room(question, seats, settings, seed)
    names = [seat.agent for seat in here.seats]
    if strangers := [name for name in settings.honest if name not in names]:
        raise SpecError(f"There is no agent {strangers[0]!r}.", next_step=f"The agents are {', '.join(names)}.")
    honest = settings.honest or tuple(names)
    here = replace(here, seats=tuple(seat for seat in here.seats if seat.agent in honest))
    yield Note("oracle", {"seats": [seat.agent for seat in here.seats], "kind": here.kind}, key="oracle")
    texts = yield from alone(here)
    rule = f"ORACLE: the {len(here.seats)} honest agents answer alone"
    return (yield from finish(here, texts, rule=rule, notes=[ORACLE], oracle=True))
