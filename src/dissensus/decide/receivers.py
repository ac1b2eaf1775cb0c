"""A vote in which each answer weighs as much as the *others* believe it: receivers score what they were sent.

Everybody answers; then each agent's model scores the texts of all others as its own reply to the same question (mean
log-probability per token). A text's score is the median over its receivers, and a softmax turns scores into weights.

Nobody can claim a score, as one can claim a confidence. Weakness: where most receivers have been fed the same
falsehood, most scores come from them, and a median follows them; and a score says how likely a text is, not how right.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Literal

from dissensus.decide.answering import Answered, AnswerSettings, Room, room
from dissensus.decide.cost import Bill
from dissensus.decide.finishing import Defended, finish
from dissensus.decide.maj import alone
from dissensus.errors import SpecError
from dissensus.script.calls import Capability
from dissensus.script.effects import Note, ScoreTexts, Script, Together
from dissensus.script.outcomes import Outcome, Scores
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

WEAKNESS: Final = "Scores come from the receivers: where most of them are corrupted, so are the scores."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings(AnswerSettings):
    """What is scored and what it weighs.

    Args:
        scored: the whole ``text``, or the ``answer`` alone in one line.
        softmax: the temperature of the softmax over scores (natural-log probability per token).
    """

    scored: Literal["text", "answer"] = "text"
    softmax: float = 0.5


def receiver_vote(
    question: Question, seats: Sequence[Seat], settings: ReceiverSettings, seed: int
) -> Generator[Any, Any, Defended]:
    """Everybody answers, everybody scores the others' answers, and the weighted plurality decides.

    Raises SpecError, before anybody is asked, if a back end does not score texts, or for settings that cannot be.
    """
    here = room(question, seats, settings, seed)
    if not (math.isfinite(settings.softmax) and settings.softmax > 0):
        raise SpecError(f"A softmax cannot have the temperature {settings.softmax}.", next_step="Use one above 0.")
    if len(here.seats) < 2:
        raise SpecError("One agent alone has nobody who could score it.", next_step="Use at least two agents.")
    for seat in here.seats:
        if Capability.LOGPROBS not in seat.capabilities:
            raise SpecError(
                f"{seat.agent}'s model {seat.model} does not score texts.",
                next_step="Take a back end with log-probabilities, such as the embedded engine, or leave this one out.",
            )
    yield Note("receivers", {"seats": [seat.agent for seat in here.seats], "kind": here.kind}, key="receivers")
    texts = yield from alone(here)
    given = [one for one in texts if one.draft.answer is not None]
    scripts: dict[str, Script] = {seat.agent: _score(here, settings, seat, given) for seat in here.seats}
    came: Mapping[str, tuple[Mapping[str, float], Bill]] = yield Together(scripts)
    bill = Bill()
    for _, own in came.values():
        bill.merge(own)
    heard = {one.draft.name: [found[one.draft.name] for found, _ in came.values() if one.draft.name in found]
             for one in given}  # fmt: skip
    scores = {name: median(values) if values else None for name, values in heard.items()}
    weights = weigh(scores, settings.softmax)
    yield Note("scores", {"scores": scores, "weights": weights}, key="scores")
    notes = [WEAKNESS]
    if unheard := sum(score is None for score in scores.values()):
        notes.append(f"{unheard} of {len(scores)} texts were scored by nobody; they weigh as the least likely one.")
    weighed = [one.weighing(weights.get(one.draft.name, 1.0)) for one in texts]
    rule = f"receiver-scored: {len(here.seats)} agents answer alone, each text weighs by what its receivers make of it"
    return (yield from finish(here, weighed, rule=rule, notes=notes, more=bill))


def _score(
    here: Room, settings: ReceiverSettings, seat: Seat, given: Sequence[Answered]
) -> Generator[Any, Any, tuple[dict[str, float], Bill]]:
    """What ``seat`` makes of each text that is not its own: mean log-probability per token."""
    bill = Bill()
    others = [one for one in given if one.draft.agent != seat.agent]
    if not others:
        return {}, bill
    said = tuple(f"Answer: {one.draft.answer}" if settings.scored == "answer" else one.draft.text for one in others)
    outcome: Outcome = yield ScoreTexts(seat.agent, here.prompt, said, thread=f"ear/{seat.agent}", key="score")
    bill.add(outcome)
    if not isinstance(outcome, Scores) or len(outcome.logprobs) != len(others):
        return {}, bill
    return {
        one.draft.name: mean
        for one, mean in zip(others, outcome.means(), strict=True)
        if math.isfinite(mean)
    }, bill  # fmt: skip


def weigh(scores: Mapping[str, float | None], temperature: float) -> dict[str, float]:
    """Weights that add up to 1, rounded to 9 digits; an unscored text weighs as the least likely one."""
    known = [score for score in scores.values() if score is not None]
    least, best = min(known, default=0.0), max(known, default=0.0)
    powers = {
        name: math.exp(((least if score is None else score) - best) / temperature) for name, score in scores.items()
    }
    total = math.fsum(powers.values())
    return {name: round(power / total, 9) for name, power in powers.items()}
