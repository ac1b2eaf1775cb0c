"""What a round-robin is compared with, by name: finished answers, asked for and read under its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.decide.answer_debate import DebateSettings, answer_debate
from dissensus.decide.answering import AnswerSettings
from dissensus.decide.confidence import ConfidenceSettings, confidence_vote
from dissensus.decide.honest_only import OracleSettings, honest_only
from dissensus.decide.maj import maj
from dissensus.decide.receivers import ReceiverSettings, receiver_vote
from dissensus.decide.revision import RevisionSettings, last_revises
from dissensus.decide.self_refine import RefineSettings, self_refine
from dissensus.decide.single import SingleSettings, single
from dissensus.errors import SpecError
from dissensus.script.effects import Script
from dissensus.script.questions import Question
from dissensus.script.seats import Seat


@dataclass(frozen=True, slots=True)
class Defence:
    """One of them.

    Args:
        name: as it stands in records.
        run: question, seats, settings and seed to the script.
        settings: the class of its settings.
        about: one line for people.
    """

    name: str
    run: Callable[[Question, Sequence[Seat], Any, int], Script]
    settings: type[AnswerSettings]
    about: str

    def build(self, data: Mapping[str, Any], seats: Sequence[Seat], seed: int) -> Script:
        """The script from what :func:`settings_of_defence` wrote. Raises SpecError for what cannot be read."""
        try:
            question = msgspec.convert(data["question"], Question)
        except (KeyError, msgspec.ValidationError) as problem:
            raise SpecError(f"The settings hold no question that can be read: {problem}.") from None
        return self.run(question, seats, self.settings.from_data(data.get("settings", {})), seed)


DEFENCES: Final[Mapping[str, Defence]] = {
    one.name: one
    for one in (
        Defence("answer-debate", answer_debate, DebateSettings, "everybody answers, reads the others, answers again"),
        Defence("confidence", confidence_vote, ConfidenceSettings, "a vote weighted by stated confidence (CISC)"),
        Defence("honest-only", honest_only, OracleSettings, "ORACLE: the vote of those who are known to be honest"),
        Defence("last-revises", last_revises, RevisionSettings, "a row of agents, each revising the answer before it"),
        Defence("maj", maj, AnswerSettings, "the vote on finished answers, under the round-robin's conditions"),
        Defence("receivers", receiver_vote, ReceiverSettings, "a vote weighted by what the others make of each text"),
        Defence("self-refine", self_refine, RefineSettings, "one agent answers, criticises and answers again"),
        Defence("single", single, SingleSettings, "one agent alone"),
    )
}


def settings_of_defence(question: Question, settings: AnswerSettings) -> dict[str, Any]:
    """What a defence is built from, as JSON data: ``{"question": …, "settings": …}``."""
    return {"question": msgspec.to_builtins(question), "settings": settings.to_data()}
