"""What judges of the NYU debates (arXiv 2311.08702) believed after each round, and how right that was.

A judge of a file gives two probabilities after each round, one for each answer, and ends the debate or has it go on.
``debates-metadata.jsonl`` says of each file in which setting it was held. Comments of judges are not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dissensus.errors import LogError

ROUND_COSTS: Final = 0.05
"""What each round after which a judge had the debate go on costs, in bits."""
SURE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge believed.

    Args:
        name: of the debate.
        beliefs: the probability of the right answer after each round, the first before anybody spoke.
        tops: the larger of the two probabilities, likewise.
        went_on: after how many rounds the judge did not end the debate.
    """

    name: str
    beliefs: tuple[float, ...]
    tops: tuple[float, ...]
    went_on: int

    @property
    def right(self) -> bool:
        """Whether the judge held the right answer for more likely at the end. Even is not right."""
        return self.beliefs[-1] > 0.5

    @property
    def brier(self) -> float:
        """Brier score of both answers at the end, 0 to 2; less is better."""
        return 2 * (1 - self.beliefs[-1]) ** 2

    @property
    def score(self) -> float:
        """The score by which judges were paid: log2 of the belief in the right answer, less what the rounds cost."""
        belief = self.beliefs[-1]
        return (math.log2(belief) if belief > 0 else -math.inf) - ROUND_COSTS * self.went_on


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of the metadata: how a debate was held, and what its judge was paid (None: it was not completed)."""

    name: str
    human: bool
    debate: bool
    in_paper: bool
    reward: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """How judges of one setting did; shares and means over ``number`` of them.

    ``sure`` counts those whose larger probability was at least :data:`SURE` at the end, ``sure_wrong`` those of them
    who were not right.
    """

    number: int
    right: int
    brier: float
    first: float
    last: float
    rounds: float
    score: float
    sure: int
    sure_wrong: int


def judged_from(document: Any, name: str) -> Judged:
    """The judge's beliefs in a debate file.

    Raises :class:`~dissensus.errors.LogError` for a file without a right answer or a judge.
    """
    setup = document.get("setup") if isinstance(document, Mapping) else None
    correct = setup.get("correctAnswerIndex") if isinstance(setup, Mapping) else None
    rounds = document.get("rounds") if isinstance(document, Mapping) else None
    if correct not in (0, 1) or isinstance(correct, bool) or not isinstance(rounds, list):
        raise LogError("The debate names no right answer, 0 or 1.", path=name, next_step="Give a file of `official`.")
    beliefs, tops, went_on = [], [], 0
    for each in rounds:
        body = each.get("JudgeFeedback") if isinstance(each, Mapping) else None
        if not isinstance(body, Mapping):
            continue
        given = body.get("distribution")
        if not isinstance(given, list) or len(given) != 2 or not all(_is_probability(one) for one in given):
            raise LogError("A judge gives no two probabilities.", path=name, next_step="Give a file of `official`.")
        beliefs.append(float(given[correct]))
        tops.append(float(max(given)))
        went_on += body.get("endDebate") is not True
    if not beliefs:
        raise LogError("The debate has no judge.", path=name, next_step="Give a file of `official`.")
    return Judged(name, tuple(beliefs), tuple(tops), went_on)


def setting_from(data: Any, name: str = "") -> Setting:
    """The setting in a line of the metadata. Raises :class:`~dissensus.errors.LogError` if it is none."""
    flags: tuple[bool, ...]
    reward: float | None
    try:
        how = data["setting"]
        status = data.get("status", {}).get("Complete")
        info = status["result"].get("judgingInfo") if status is not None else None
        reward = None if info is None else float(info["judgeReward"])
        flags = (how["isHuman"], how["isDebate"], data["includedInPaper"])
        title = str(data["name"])
    except (AttributeError, KeyError, TypeError, ValueError):
        flags, title, reward = (), "", None
    if len(flags) != 3 or not all(isinstance(flag, bool) for flag in flags):
        raise LogError("The line holds no setting of a debate.", path=name, next_step="Give `debates-metadata.jsonl`.")
    human, debate, in_paper = flags
    return Setting(title, human, debate, in_paper, reward)


def summary(judges: Iterable[Judged]) -> Summary:
    """How some judges did, at least one."""
    some = list(judges)
    n = len(some)
    sure = [one for one in some if one.tops[-1] >= SURE]
    return Summary(
        number=n,
        right=sum(one.right for one in some),
        brier=math.fsum(one.brier for one in some) / n,
        first=math.fsum(one.beliefs[0] for one in some) / n,
        last=math.fsum(one.beliefs[-1] for one in some) / n,
        rounds=sum(len(one.beliefs) for one in some) / n,
        score=math.fsum(one.score for one in some) / n,
        sure=len(sure),
        sure_wrong=sum(not one.right for one in sure),
    )


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
