"""Weighted votes: how much each voter's vote should count, learned from right answers or fixed by families."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.measure.candidates import Candidates
from dissensus.measure.special import Array
from dissensus.measure.table import Flags

_WIDEST = 30.0


def shrunk_accuracy(right: Flags, strength: float | None = None) -> Array:
    """Accuracy of each voter, drawn towards the mean of all; shape (n,).

    Args:
        right: shape (Q, n), at least one question.
        strength: how many questions the mean is worth. None: taken from the data by moments (empirical Bayes): voters
            that differ no more than chance makes them get one accuracy, voters that differ widely keep theirs.
    """
    questions, _ = right.shape
    accuracy = right.mean(axis=0)
    mean = float(accuracy.mean())
    if strength is None:
        by_chance = mean * (1 - mean) / questions
        spread = float(accuracy.var(ddof=1)) if accuracy.size > 1 else 0.0
        between = spread - by_chance
        if between <= 1e-12 * max(by_chance, 1e-12):
            return np.full(accuracy.shape, mean)
        strength = max(1.0, mean * (1 - mean) / between - 1)
    found: Array = (accuracy * questions + strength * mean) / (questions + strength)
    return found


def log_odds(accuracy: Array) -> Array:
    """log(p / (1 - p)), shape (n,), within ±30: an accuracy of 0 or 1 in the labels is no certainty."""
    with np.errstate(divide="ignore"):
        found: Array = np.log(accuracy) - np.log1p(-accuracy)
    return np.clip(found, -_WIDEST, _WIDEST)


def log_odds_scores(voted: Candidates, accuracy: Array, wrong: Array) -> Array:
    """Votes weighted by log(p W / (1 - p)), W the number of wrong options: the best there is if errors are independent.

    Nitzan & Paroush 1982 for two options (W = 1); with more, wrong votes are taken to spread evenly over the W.

    Args:
        voted: answers to Q questions.
        accuracy: shape (n,).
        wrong: shape (Q,), at least 1.

    Returns:
        shape (Q, width).
    """
    found: Array = voted.scores(log_odds(accuracy)) + voted.counts() * np.log(wrong)[:, None]
    return found


def capped(members: Sequence[Sequence[int]], n: int, cap: float = 1.0) -> Array:
    """Weights with which each family of voters has at most ``cap`` votes together; shape (n,).

    Args:
        members: places of the voters of each family; voters in none of them are alone.
        n: voters.
        cap: votes of a family; a family with fewer members has as many votes as members.
    """
    weights = np.ones(n)
    for family in members:
        if family:
            weights[list(family)] = min(1.0, cap / len(family))
    return weights
