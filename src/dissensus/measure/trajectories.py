"""A vote over several texts written by the same agents: what it adds, and how many texts it takes to settle it.

Two answers, and texts that are independent *given the question*. Neither is true of language models in general: the
figures show what a vote does to a lead that is there, and it is the same for either side. **Voting amplifies whichever
side leads**: below one half, more texts make it worse.
"""

from __future__ import annotations

from typing import Final

from dissensus.errors import UsageError
from dissensus.measure.inputs import probability
from dissensus.measure.jury import condorcet
from dissensus.measure.special import Numbers

MOST: Final = 500
"""Texts beyond which the number needed is not worked out: it goes through every pair of counts."""


def vote_over(texts: int, p: float) -> float:
    """P(the vote over ``texts`` independent texts is right), each right with probability ``p``; a tie counts half."""
    return condorcet(texts, p)


def vote_over_questions(texts: int, rates: Numbers) -> float:
    """The same averaged over questions that differ: ``rates``, shape (Q,), is the chance of a text on each.

    A mean rate fixes little: with .403 on every question 40 texts are right on .109; with .403 as a mean of easy and
    impossible questions the vote stays near it.
    """
    from dissensus.measure.mixtures import majority_given

    given = probability(rates, "A rate")
    if not given.size:
        raise UsageError("There is no question.", next_step="Give the rate of at least one.")
    return float(majority_given(given.ravel(), float(texts)).mean())


def settled(first: int, second: int, left: int) -> bool:
    """Whether the answer with ``second`` votes cannot even tie that with ``first``, ``left`` votes still to come."""
    return first - second > left


def expected_texts(texts: int, p: float) -> float:
    """How many of ``texts`` are written on average if writing stops when the lead cannot even be equalled.

    Two answers; ``p`` is the chance of one of them (either: it is symmetric). Exact, over all orders.
    """
    if not 1 <= texts <= MOST:
        raise UsageError(f"A vote cannot take {texts} texts.", next_step=f"Use between 1 and {MOST}.")
    share = float(probability(p, "The share of the leader"))
    level = [0.0] * (texts + 1)  # by votes of the first answer; from the last text backwards
    for drawn in range(texts - 1, -1, -1):
        level = [
            0.0
            if settled(max(one, drawn - one), min(one, drawn - one), texts - drawn)
            else 1 + share * level[one + 1] + (1 - share) * level[one]
            for one in range(drawn + 1)
        ]
    return level[0]
