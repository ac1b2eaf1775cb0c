"""Intervals of shares: exact ones, also where questions repeat, and what none in N still allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.special import Array, incomplete_beta_inverse
from dissensus.measure.table import Whole

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """A share of questions.

    Args:
        rate: None if there is nothing to take a share of.
        low, high: 95 % interval; None as the rate.
        at_most: one-sided 95 % bound from above; for none in N it is 1 - .05^(1/N), about 3/N.
    """

    rate: float | None
    low: float | None
    high: float | None
    at_most: float | None


NOTHING = Share(None, None, None, None)


def clopper_pearson(hits: float, of: float, level: float = LEVEL) -> tuple[float, float]:
    """Exact two-sided interval of a share (Clopper & Pearson 1934). Both numbers may be fractions; ``of`` above 0."""
    tail = (1 - level) / 2
    low = float(incomplete_beta_inverse(hits, of - hits + 1, tail)) if hits > 0 else 0.0
    high = float(incomplete_beta_inverse(hits + 1, of - hits, 1 - tail)) if hits < of else 1.0
    return low, high


def at_most(hits: float, of: float, level: float = LEVEL) -> float:
    """Exact one-sided upper bound of a share."""
    return float(incomplete_beta_inverse(hits + 1, of - hits, level)) if hits < of else 1.0


def share(values: Array, groups: Whole | None = None) -> Share:
    """The mean of ``values`` (shape (Q,), each in [0, 1]) as a share of questions, with an exact interval.

    Where values are not all 0 or 1 (ties split) or questions repeat, the interval is that of the number of
    independent yes-or-no questions with the same variance (Korn & Graubard 1998). Without variance, a group counts
    once.
    """
    if not values.size:
        return NOTHING
    rate = float(values.mean())
    effective = effective_questions(values, groups)
    low, high = clopper_pearson(rate * effective, effective)
    return Share(rate, low, high, at_most(rate * effective, effective))


def effective_questions(values: Array, groups: Whole | None = None) -> float:
    """How many independent yes-or-no questions fix the mean of ``values`` as well as these do.

    Without groups never fewer than there are, but for very few: values between 0 and 1 vary less. With groups never
    more.
    """
    size = float(values.size)
    rate = float(values.mean())
    binomial = rate * (1 - rate)
    if binomial <= 0 or (groups is None and bool(((values == 0) | (values == 1)).all())):
        return size if groups is None else _as_groups(groups)
    if groups is None:
        return size * binomial / (float(values.var()) + 0.25 / size)  # as if one more had come out by chance
    _, place = np.unique(groups, return_inverse=True)
    sizes = np.bincount(place).astype(float)
    sums = np.bincount(place, weights=values)
    spread = float(((sums - rate * sizes) ** 2).sum()) / size
    return min(size, size * binomial / spread) if spread > 1e-12 else _as_groups(groups)


def _as_groups(groups: Whole) -> float:
    _, sizes = np.unique(groups, return_counts=True)
    return float(sizes.sum()) ** 2 / float((sizes.astype(float) ** 2).sum())
