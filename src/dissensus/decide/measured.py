"""What a panel's agreement has been worth on labelled questions, as a vote carries it and says it.

These numbers stand in the settings of a vote, so that a replay needs no profile file. They are rates over questions
that were tried: what is said of them is never a probability for the question at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dissensus.errors import SpecError
from dissensus.measure.wording import hundredths, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Questions on which exactly so many agents gave the leading answer, and no other answer had as many.

    Args:
        agreeing: how many agents.
        count: questions.
        correct: of these, with the right answer in the lead.
        low, high: exact 95 % interval of the share right; 0 and 1 where ``count`` is 0.
    """

    agreeing: int
    count: int
    correct: int
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Questions of one kind: how many there were, and on how many of them the right answer led alone."""

    count: int
    correct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The numbers of a profile that a vote needs.

    Args:
        panel: digest of the panel that they were measured on.
        voters: how many voters it has.
        labels: labelled questions.
        levels: one for each number of agreeing agents that occurred.
        kinds: kinds of questions among the labelled ones.
        n_eff: effective number of voters, an order of magnitude; None if it is not defined.
        date: when it was measured, ``YYYY-MM-DD``.
        source: the profile's name, for texts.
        too_few: why there are no levels; "" if there are.
        caution: a sentence that belongs beside every figure; "" if there is none.
    """

    panel: str
    voters: int
    labels: int
    levels: tuple[Level, ...] = ()
    kinds: Mapping[str, Tried] = field(default_factory=dict)
    n_eff: float | None = None
    date: str = ""
    source: str = ""
    too_few: str = ""
    caution: str = ""

    def __post_init__(self) -> None:
        """Refuse counts that cannot be: a file may have been written by hand."""
        seen = [level.agreeing for level in self.levels]
        if self.voters < 1 or self.labels < 0 or len(set(seen)) < len(seen):
            raise SpecError("The counts of the profile cannot be.", next_step="Measure the panel again.")
        for level in self.levels:
            between = 0 <= level.low <= level.high <= 1  # false for NaN, too
            if not (1 <= level.agreeing <= self.voters and 0 <= level.correct <= level.count and between):
                raise SpecError(
                    f"The profile's numbers for {level.agreeing} agreeing agents cannot be.",
                    next_step="Measure the panel again.",
                )

    def level(self, agreeing: int) -> Level | None:
        """The questions on which so many agreed; None if that never happened."""
        return next((level for level in self.levels if level.agreeing == agreeing and level.count), None)


def measured_worth(found: Measured, votes: Sequence[int], kind: str) -> dict[str, Any]:
    """The readout of an agreement whose worth was measured.

    Args:
        found: the numbers.
        votes: ballots for each answer; those without an answer are in none.
        kind: the question's kind of answer.

    Returns:
        ``{"status": "measured", "text", "of", "agreeing", "right", "interval", "count", "correct", "labels",
        "n_eff", …}``. ``right`` and ``interval`` are None where no answer leads alone, or where so many never agreed.
        ``caution`` is there if the question's kind was not measured, or if the figures may be out of date.
    """
    most = max(votes, default=0)
    alone = most > 0 and sum(count == most for count in votes) == 1
    level = found.level(most) if alone else None
    sentences = [_rate(found, most, level, alone=alone), _where(found, kind)]
    if level is not None:
        sentences.append("This is how often such agreement was right there, not a probability for this question.")
    if found.n_eff is not None:
        about = f"about {found.n_eff:.1f} independent ones (an order of magnitude)"
        sentences.append(f"There, the {found.voters} agents were worth {about}.")
    worth: dict[str, Any] = {
        "status": "measured",
        "text": "",
        "of": found.voters,
        "agreeing": most,
        "right": level.correct / level.count if level else None,
        "interval": [level.low, level.high] if level else None,
        "count": level.count if level else 0,
        "correct": level.correct if level else 0,
        "labels": found.labels,
        "kinds": {name: tried.count for name, tried in found.kinds.items()},
        "n_eff": found.n_eff,
        "date": found.date,
        "source": found.source,
        "panel": found.panel,
    }
    if caution := _caution(found, kind):
        worth["caution"] = caution
        sentences.append(caution)
    return {**worth, "text": " ".join(filter(None, sentences))}


def _rate(found: Measured, most: int, level: Level | None, *, alone: bool) -> str:
    labelled = f"{found.labels:,} labelled questions"
    if not most:
        return f"No ballot holds an answer. The panel was measured on {labelled}."
    if not alone:
        return f"No answer leads alone, so no measured rate fits. The panel was measured on {labelled}."
    agreed = f"{most} of {found.voters} agents agreed"
    if level is None:
        return f"On none of {labelled} {agreed}, so how often that is right is not known."
    interval = f"95 % interval [{hundredths(level.low)}, {hundredths(level.high)}]"
    times = "once" if level.count == 1 else f"{level.count:,} times"
    return (
        f"On {labelled}, {agreed} {times}, and that answer was right {level.correct:,} of {level.count:,}: "
        f"{percent(level.correct / level.count)}, {interval}."
    )


def _where(found: Measured, kind: str) -> str:
    kinds = ", ".join(f"{tried.count:,} {name}" for name, tried in found.kinds.items())
    when = f" {found.date}" if found.date else ""
    text = f"Measured{when}; questions by kind: {kinds}."
    own = found.kinds.get(kind)
    if own is not None and len(found.kinds) > 1:
        text += f" Of the kind {kind}, the panel's answer was right {own.correct:,} of {own.count:,}."
    return text


def _caution(found: Measured, kind: str) -> str:
    if kind in found.kinds:
        return found.caution
    known = ", ".join(found.kinds)
    text = f"Caution: no question of the kind {kind} was among them (only {known}), so this may not hold here."
    return f"{text} {found.caution}".rstrip()
