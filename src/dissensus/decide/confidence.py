"""A vote in which each answer weighs as much as its writer is sure of it (CISC, arXiv 2502.06233).

Each agent answers, then says how sure it is. The confidences of one question are put through a softmax, so that only
differences within it count, and an answer has the sum of its writers' weights.

Weakness: a confidence that is *sent* can be forged. Who claims certainty outweighs honest doubt; arXiv 2605.09076 is
said to find that one such agent costs a weighted scheme 10 to 55 % of the faults that it bears. Confidence from
log-probabilities (``p-true``) cannot be claimed in words, but a corrupted context moves it just the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from dissensus.decide.answering import Answered, AnswerSettings, Room, ask_once, asking, room
from dissensus.decide.cost import Bill
from dissensus.decide.finishing import Defended, finish
from dissensus.errors import SpecError
from dissensus.script.calls import Capability, Turn
from dissensus.script.effects import Note, ScoreTexts, Script, Together
from dissensus.script.outcomes import Outcome, Reply, Scores
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

HOW_SURE: Final = "How sure are you of your answer, from 0 (not at all) to 100 (certain)? Reply with the number alone."
IS_IT_RIGHT: Final = "Is your answer right? Reply with yes or no alone."
CONFIDENCE_TOKENS: Final = 8
_NUMBER: Final = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?)(?![\d.]*\d)\s{0,2}(%?)")
WEAKNESS: Final = {
    "stated": "Confidence is what each agent claims of itself: a corrupted one can claim certainty.",
    "p-true": "Confidence comes from the log-probabilities of the very models that may have been fed a falsehood.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSettings(AnswerSettings):
    """How confidence is had and what it weighs.

    Args:
        method: ``stated`` asks each agent for a number; ``p-true`` takes the probability of "yes" against "no" as its
            reply to whether its answer is right, where the back end scores texts.
        softmax: the temperature of the softmax over confidences from 0 to 1: low values let the surest one decide.
    """

    method: Literal["stated", "p-true"] = "stated"
    softmax: float = 0.5

    def in_sequence(self, agents: int) -> int:  # noqa: ARG002 - whatever their number
        """One answer; the confidence after it is a few tokens."""
        return 1


def confidence_vote(
    question: Question, seats: Sequence[Seat], settings: ConfidenceSettings, seed: int
) -> Generator[Any, Any, Defended]:
    """Everybody answers and is asked how sure they are; the weighted plurality decides.

    Raises SpecError, before anybody is asked, for settings that cannot be.
    """
    here = room(question, seats, settings, seed)
    if not (math.isfinite(settings.softmax) and settings.softmax > 0):
        raise SpecError(f"A softmax cannot have the temperature {settings.softmax}.", next_step="Use one above 0.")
    if settings.method == "p-true":
        for seat in here.seats:
            if Capability.LOGPROBS not in seat.capabilities:
                raise SpecError(
                    f"{seat.agent}'s model {seat.model} does not score texts.", next_step="Use the method stated."
                )
    yield Note("confidence", {"seats": [seat.agent for seat in here.seats], "kind": here.kind}, key="confidence")
    scripts: dict[str, Script] = {}
    for number in range(settings.trajectories):
        for seat in here.seats:
            name = seat.agent if settings.trajectories == 1 else f"{seat.agent} {number + 1}"
            scripts[name] = _sure(here, settings, seat, name)
    came: Mapping[str, tuple[Answered, float | None, Bill]] = yield Together(scripts)
    answers = [one for one, _, _ in came.values()]
    sure = [confidence for _, confidence, _ in came.values()]
    weights = softmax(sure, settings.softmax)
    bill = Bill()
    for _, _, own in came.values():
        bill.merge(own)
    silent = sum(one is None for one in sure)
    notes = [WEAKNESS[settings.method]]
    if silent:
        notes.append(f"{silent} of {len(sure)} agents gave no confidence that can be read; they weigh as unsure.")
    texts = [one.weighing(weight) for one, weight in zip(answers, weights, strict=True)]
    rule = f"confidence-weighted: {len(here.seats)} agents answer alone, each weighs by a softmax of its confidence"
    return (yield from finish(here, texts, rule=rule, notes=notes, more=bill))


def _sure(
    here: Room, settings: ConfidenceSettings, seat: Seat, name: str
) -> Generator[Any, Any, tuple[Answered, float | None, Bill]]:
    thread = f"alone/{name}"
    one = yield from ask_once(here, seat, here.prompt, name=name, key="ask", thread=thread, scope=name)
    bill = Bill()
    if not one.draft.text:
        return one, None, bill
    if settings.method == "stated":
        outcome: Outcome = yield asking(here, seat, HOW_SURE, key="confidence", thread=thread, length=CONFIDENCE_TOKENS)
        bill.add(outcome)
        sure = read_confidence(outcome.text) if isinstance(outcome, Reply) else None
    else:
        own = (Turn("user", here.prompt), Turn("assistant", one.draft.text))
        outcome = yield ScoreTexts(
            seat.agent, IS_IT_RIGHT, ("yes", "no"), thread=f"{thread}/true", examples=own, key="confidence"
        )
        bill.add(outcome)
        sure = _probability(outcome.logprobs) if isinstance(outcome, Scores) else None
    yield Note("confidence", {"confidence": sure}, actor=seat.agent, key="confidence/read")
    return one, sure, bill


def read_confidence(text: str) -> float | None:
    """The first number from 0 to 100 in ``text``, as a share; None if there is none."""
    for found in _NUMBER.finditer(text):
        number = float(found[1])
        if number <= 100:
            return number / 100
    return None


def _probability(logprobs: Sequence[float]) -> float | None:
    if len(logprobs) != 2 or not all(map(math.isfinite, logprobs)):
        return None
    return 1 / (1 + math.exp(min(logprobs[1] - logprobs[0], 700.0)))


def softmax(confidences: Sequence[float | None], temperature: float) -> list[float]:
    """Weights that add up to 1; who gave no confidence counts as having none.

    The weights are rounded to 9 digits, so that equal confidences tie whatever the machine makes of the last digit.
    """
    given = [0.0 if one is None else one for one in confidences]
    best = max(given, default=0.0)
    powers = [math.exp((one - best) / temperature) for one in given]
    return [round(power / math.fsum(powers), 9) for power in powers]
