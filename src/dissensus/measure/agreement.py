"""What a number of equal votes has been worth: right answers by leader count, unanimity, the vote share as a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.intervals import Share, share
from dissensus.measure.special import Array
from dissensus.measure.table import Whole
from dissensus.measure.tallies import Tallies


@dataclass(frozen=True, slots=True)
class Level:
    """The questions on which the leading answer had k votes.

    Args:
        k: votes of the leader; 0 where all voters are blank.
        count: questions.
        correct: of them right, a tie of t counting 1/t.
        right: correct / count with its interval.
    """

    k: int
    count: int
    correct: float
    right: Share


@dataclass(frozen=True, slots=True)
class Unanimous:
    """The questions on which all voters gave the same answer, none blank.

    Args:
        count: questions.
        wrong: of them wrong.
        share_wrong: wrong / count with its exact interval; without a wrong one, ``share_wrong.at_most`` is what to say.
        independent_claim: what it would be for independent voters of the same mean accuracy; None if that is not known.
    """

    count: int
    wrong: int
    share_wrong: Share
    independent_claim: float | None


def by_count(tallies: Tallies, groups: Whole | None = None) -> list[Level]:
    """One row for each number of votes 1 … n that a leader can have, and one for 0 if that occurs."""
    found = []
    for k in range(tallies.n + 1):
        rows = tallies.leader == k
        count = int(rows.sum())
        if k or count:
            right = share(tallies.credit[rows], None if groups is None else groups[rows])
            found.append(Level(k, count, float(tallies.credit[rows].sum()), right))
    return found


def unanimous(tallies: Tallies, chance: float | None, error: float, accuracy: float, groups: Whole | None) -> Unanimous:
    """Unanimity and how often it was wrong.

    Args:
        tallies: of the questions with a known right answer.
        chance: mean of 1/(K - 1) over questions; None where the number of options K is not known.
        error: mean over voters of the share of wrong answers, blanks left out.
        accuracy: mean over voters of the share of right answers.
        groups: questions asked again.
    """
    rows = tallies.unanimous
    wrong = 1.0 - tallies.credit[rows]
    claim = None
    if chance is not None and accuracy > 0:
        odds = (error / accuracy) ** tallies.n * chance ** (tallies.n - 1)
        claim = float(odds / (1 + odds))
    return Unanimous(
        int(rows.sum()), round(float(wrong.sum())), share(wrong, None if groups is None else groups[rows]), claim
    )


@dataclass(frozen=True, slots=True)
class Score:
    """The leader's share of the votes, read as if it were a probability to be right. It is none; this says how far off.

    Args:
        auroc: chance that a right leader has the larger share than a wrong one; None if all are right or all wrong.
        ece: mean distance of share and accuracy, one bin for each leader count.
        brier: mean of c (1 - s)^2 + (1 - c) s^2, c the credit, s the share.
    """

    auroc: float | None
    ece: float
    brier: float


def score_share(tallies: Tallies) -> Score:
    """How well the share of the leading answer tells right from wrong. A tie of t counts 1/t right."""
    k = np.arange(tallies.n + 1)
    many = np.bincount(tallies.leader, minlength=tallies.n + 1).astype(float)
    right = np.bincount(tallies.leader, weights=tallies.credit, minlength=tallies.n + 1)
    wrong: Array = many - right
    total = right.sum() * wrong.sum()
    lower = np.cumsum(wrong) - wrong
    share_of = k / tallies.n
    questions = many.sum()
    return Score(
        auroc=float((right * (lower + wrong / 2)).sum() / total) if total > 0 else None,
        ece=float(np.abs(right - share_of * many).sum() / questions),
        brier=float((right * (1 - share_of) ** 2 + wrong * share_of**2).sum() / questions),
    )
