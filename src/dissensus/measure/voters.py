"""Voters who differ: the chance that their majority is right, and how much each one's vote should weigh.

All of this is for independent errors. Correlated voters are not described by their accuracies alone.
"""

from __future__ import annotations

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.inputs import probability
from dissensus.measure.special import Array, Numbers

ENUMERABLE = 22
"""Up to so many voters :func:`weighted_majority` goes through every pattern of right and wrong: 4 million."""

TIE_SLACK = 1e-12
"""Two sides closer than this share of all weight are a tie: log-odds of equal voters may differ in the last bit."""


def count_distribution(accuracies: Numbers) -> Array:
    """P(exactly k voters are right), k = 0 … n: the Poisson-binomial distribution.

    Args:
        accuracies: shape (..., n): each voter's chance to be right.

    Returns:
        Shape (..., n + 1), by adding one voter after the other: O(n^2), every step a sum of positive terms.
    """
    p = np.atleast_1d(probability(accuracies, "An accuracy"))
    n = p.shape[-1]
    found = np.zeros((*p.shape[:-1], n + 1))
    found[..., 0] = 1.0
    for i in range(n):
        one = p[..., i, None]
        found[..., 1 : i + 2] = found[..., 1 : i + 2] * (1 - one) + found[..., : i + 1] * one
        found[..., 0] *= 1 - p[..., i]
    return found


def majority_of(accuracies: Numbers) -> Array:
    """P(the majority is right) for voters of shape (..., n) with these accuracies; a tie counts half."""
    counts = count_distribution(accuracies)
    n = counts.shape[-1] - 1
    if n == 0:
        raise UsageError("A majority needs at least one voter.")
    above = counts[..., n // 2 + 1 :].sum(axis=-1)
    return np.asarray(above + counts[..., n // 2] / 2 if n % 2 == 0 else above)


def optimal_weights(accuracies: Numbers, *, options: Numbers = 2) -> Array:
    """The weights that make a vote among ``options`` most often right: log(p (K - 1) / (1 - p)).

    Source: Nitzan & Paroush 1982 for two options; for K it is the log-likelihood ratio when a wrong voter picks each of
    the K - 1 wrong options alike. A voter no better than chance weighs 0, a worse one less than 0, one who is never
    wrong infinitely much.
    """
    p = probability(accuracies, "An accuracy")
    k = np.asarray(options, dtype=float)
    if not (k >= 2).all():
        raise UsageError("A vote needs at least two options.")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) + np.log(k - 1) - np.log1p(-p))


def weighted_majority(accuracies: Numbers, weights: Numbers) -> float:
    """P(the heavier side is right) between right and wrong, a tie counting half, exact over all 2^n patterns.

    Args:
        accuracies: shape (n,), n at most 22.
        weights: shape (n,), finite; a vote of negative weight counts for the other side.

    Raises:
        UsageError: too many voters, shapes that differ, or a weight that is not finite.
    """
    p, w = np.atleast_1d(probability(accuracies, "An accuracy")), np.atleast_1d(np.asarray(weights, dtype=float))
    if p.shape != w.shape or p.ndim != 1 or not p.size:
        raise UsageError(f"There are {p.size} accuracies and {w.size} weights.")
    if p.size > ENUMERABLE:
        raise UsageError(
            f"{p.size} weighted voters have 2^{p.size} patterns.",
            next_step=f"Use at most {ENUMERABLE} voters, or equal weights (majority_of), which have no such limit.",
        )
    if not np.isfinite(w).all():
        raise UsageError("A weight is not finite.", next_step="Shrink accuracies away from 0 and 1 first.")
    chance, lead = np.ones(1), np.zeros(1)
    for one, weight in zip(p, w, strict=True):
        chance = np.concatenate([chance * one, chance * (1 - one)])
        lead = np.concatenate([lead + weight, lead - weight])
    tied = np.abs(lead) <= TIE_SLACK * np.abs(w).sum()
    return float(chance[(lead > 0) & ~tied].sum() + chance[tied].sum() / 2)
