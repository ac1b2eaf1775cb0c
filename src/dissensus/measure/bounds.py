"""What any panel of more voters could reach, given only how many of m were right.

The counts for m voters fix the first m moments of F, the distribution of a question's chance, and nothing else. The
majority's accuracy with N voters is linear in F; its least and greatest value over all F that give the counts are two
linear programs. Every honest extrapolation lies between them, and a fit that looks more precise gets its precision from
its form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.fits import binomial_matrix, checked_counts
from dissensus.measure.inputs import voters
from dissensus.measure.mixtures import majority_given
from dissensus.measure.special import Array, Numbers, incomplete_beta_inverse, least_linear

GRID = 801
"""Points of F on [0, 1]; one half is among them."""

SLACK = 1e-4
"""How far a share may be off where the counts are taken at their word."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and greatest accuracy of a majority of ``n`` that the counts allow.

    Args:
        n: voters; infinite for the limit.
        low: least; None if no interchangeable voters give such counts.
        high: greatest; None as ``low``.
        level: the confidence with which they hold for other questions of the same kind; None where the shares were
            taken as exact, up to ``SLACK``, so that the bounds are about these questions alone.
    """

    n: float
    low: float | None
    high: float | None
    level: float | None

    def __str__(self) -> str:
        who = "very many voters" if self.n == math.inf else f"{self.n:g} voters"
        if self.low is None or self.high is None:
            return f"{who}: no interchangeable voters give these counts, so nothing follows from them"
        sure = "for these questions" if self.level is None else f"with {100 * self.level:g} % confidence"
        return f"{who}: between {self.low:.3f} and {self.high:.3f} {sure}, whatever the mixture of questions"


def bounds(counts: Numbers, sizes: Iterable[float], *, level: float | None = 0.95) -> list[Bounds]:
    """Bounds for a majority of each of ``sizes`` (``math.inf`` for the limit).

    Args:
        counts: shape (m + 1,): how many questions had k of m right.
        sizes: numbers of voters to ask about.
        level: confidence in (0, 1): each share of questions with k right, and with at least k right, may be anywhere in
            its Clopper-Pearson interval, all 2m - 1 of them at once (Bonferroni). None: see :class:`Bounds`.

    Raises:
        UsageError: no counts, a size below 1, a level that is none.
    """
    given = checked_counts(counts)
    m = given.size - 1
    if level is not None and not 0 < level < 1:
        raise UsageError(f"A confidence level cannot be {level:g}.", next_step="Write 95 percent as 0.95.")
    theta = np.linspace(0, 1, GRID)
    cells = binomial_matrix(m, theta)
    tails = cells[::-1].cumsum(axis=0)[::-1]
    if level is None:
        rows, shares = cells, given / given.sum()
        low, high = shares - SLACK, shares + SLACK
    else:
        rows = np.vstack([tails[1:], cells[1:-1]])
        hits = np.concatenate([given[::-1].cumsum()[::-1][1:], given[1:-1]])
        low, high = _intervals(np.minimum(hits, given.sum()), float(given.sum()), (1 - level) / len(hits))
    found = []
    for n in sizes:
        value = _above_half(theta) if n == math.inf else majority_given(theta, voters(n))
        least, most = _extreme(value, 1, rows, low, high), _extreme(value, -1, rows, low, high)
        found.append(Bounds(n=n, low=least, high=most, level=level))
    return found


def _extreme(value: Array, sign: Literal[1, -1], rows: Array, low: Array, high: Array) -> float | None:
    """The least (sign 1) or greatest (-1) ``value @ w`` over distributions w with ``rows @ w`` in [low, high]."""
    within = np.vstack([rows, -rows]), np.concatenate([high, -low])
    weights = least_linear(sign * value, at_most=within, equal=(np.ones((1, value.size)), np.ones(1)))
    return None if weights is None else float(np.clip(value @ weights, 0, 1))


def _intervals(hits: Array, of: float, miss: float) -> tuple[Array, Array]:
    """Clopper-Pearson intervals of hits / of, each missing with chance ``miss``."""
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, incomplete_beta_inverse(hits, of - hits + 1, miss / 2), 0.0)
        high = np.where(hits < of, incomplete_beta_inverse(hits + 1, of - hits, 1 - miss / 2), 1.0)
    return low, high


def _above_half(theta: Array) -> Array:
    return np.asarray((theta > 0.5) + (theta == 0.5) / 2)
