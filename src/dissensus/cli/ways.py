"""The ways in which ``decide`` has a question decided, behind one face: a vote, or texts written in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.decide.procedures import settings_of_round_robin, settings_of_vote
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.settings import VoteSettings
from dissensus.script.questions import Question
from dissensus.script.seats import Seat


@dataclass(frozen=True, slots=True)
class Way:
    """How questions are decided. ``checks`` are outside checks by name."""

    settings: VoteSettings | RoundRobinSettings
    checks: Mapping[str, Any]

    @property
    def procedure(self) -> str:
        """Its name in records."""
        return "vote" if isinstance(self.settings, VoteSettings) else "round-robin"

    def data_for(self, question: Question) -> dict[str, Any]:
        """What the procedure is built from for this question."""
        if isinstance(self.settings, VoteSettings):
            return settings_of_vote(question, self.settings)
        return settings_of_round_robin(question, self.settings)

    def refuse_early(self, questions: Sequence[Question], seats: Sequence[Seat], seed: int) -> None:
        """Raise what would be raised at the first question that cannot be, before any is asked and a record begun."""
        from dissensus.decide.election import prepare
        from dissensus.decide.round_robin_writers import seated

        for question in questions:
            if isinstance(self.settings, VoteSettings):
                prepare(question, seats, self.settings, seed)
            else:
                seated(question, seats, self.settings, seed)

    def rows(self, seats: Sequence[Seat]) -> list[str]:
        """The names of those whose ballots are waited for."""
        own = [seat.agent for seat in seats if not seat.spare]
        if isinstance(self.settings, VoteSettings):
            aside = (self.settings.stronger, self.settings.grouper)
            return [name for name in own if name not in aside]
        return [f"text-{number + 1}" for number in range(self.settings.texts(len(own)))]
