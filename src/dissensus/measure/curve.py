"""How accuracy goes with the number of voters: exact subset means, simultaneous bands, where adding stops paying."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.bootstrap import FEWEST, Units, affordable, draws, units_of
from dissensus.measure.intervals import LEVEL, clopper_pearson
from dissensus.measure.special import Array, incomplete_beta, normal_cdf, normal_quantile
from dissensus.measure.subsets import any_curve, binary_curve, plurality_curve, unanimity_curve, usual_sizes
from dissensus.measure.table import Whole
from dissensus.measure.tallies import Counts

_STILL = 1e-12
"""Standard deviation of a mean that does not vary."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean over all choices of n voters.

    Args:
        n: voters.
        plurality: ties split.
        band: of ``plurality``, simultaneous over the whole curve; None for fewer than two questions.
        majority: right or wrong only, at least half (half of a tie): a lower bound of plurality.
        condorcet: what independent voters of the same mean accuracy would reach.
        any_right, all_right: at least one of n is right (pass@n), all are (pass^n).
        wrong_if_unanimous: share wrong of the choices that are unanimous; None if none are.
        behind: how much less than the best size, and the simultaneous interval of that.
    """

    n: int
    plurality: float
    band: tuple[float, float] | None
    majority: float
    condorcet: float
    any_right: float
    all_right: float
    wrong_if_unanimous: float | None
    behind: float
    behind_band: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve and what may be said of it.

    Args:
        points: by size.
        argmax: the odd size (or the largest) with the highest plurality, the smallest of those.
        enough: the smallest odd size that is not shown to be worse than the best.
        falls: a size beyond the best is shown to be worse; ``worst`` is the worst of those.
        rises: the largest size is the best, and shown to be better than every smaller one.
        spread, differing: of ``enough`` against ``argmax``: standard deviation of the difference over questions, and on
            what share of them there is one.
    """

    points: tuple[Point, ...]
    argmax: int
    enough: int | None
    falls: bool
    rises: bool
    worst: int | None = None
    spread: float = 0.0
    differing: float = 0.0

    def at(self, n: int) -> Point:
        """The point of ``n`` voters."""
        return next(point for point in self.points if point.n == n)


def condorcet(n: int, p: float) -> float:
    """P(the majority of n independent voters of accuracy p is right), a tie counting half: I_p(k, k), 2k - 1 odd."""
    k = (n + 1) // 2 if n % 2 else n // 2
    return float(incomplete_beta(k, k, p))


def curve_of(counts: Counts, *, times: int, seed: int, groups: Whole | None = None) -> Curve:
    """The subset curve of a table whose right answers are all known."""
    m = counts.n
    sizes = usual_sizes(m)
    plurality = plurality_curve(counts, sizes)
    weights = counts.times / counts.times.sum()
    mean: Array = weights @ plurality
    majority = weights @ binary_curve(counts.right, m, sizes)
    right, wrong = (weights @ part for part in unanimity_curve(counts, sizes))
    some, every = (weights @ part for part in any_curve(counts.right, m, sizes))
    accuracy = float(weights @ counts.right) / m
    named = [i for i, n in enumerate(sizes) if n % 2 or n == m]  # an even panel can only tie more
    best = next(i for i in named if mean[i] >= mean[named].max() - 1e-12)
    if groups is None:
        units = units_of(np.column_stack([plurality, np.ones(len(weights))]), counts=counts.times)
    else:
        units = units_of(np.column_stack([plurality[counts.place], np.ones(len(counts.place))]), groups)
    bands = behind_bands = None
    if units.total > 1:
        drawn = _means(units, times, seed)
        bands = share_band(mean, drawn, units.total)
        behind_bands = band(mean[best] - mean, drawn[:, [best]] - drawn, units.total)
        behind_bands[0][best] = behind_bands[1][best] = 0.0
    points = tuple(
        Point(
            n=n,
            plurality=float(mean[i]),
            band=None if bands is None else (float(bands[0][i]), float(bands[1][i])),
            majority=float(majority[i]),
            condorcet=condorcet(n, accuracy),
            any_right=float(some[i]),
            all_right=float(every[i]),
            wrong_if_unanimous=float(wrong[i] / (right[i] + wrong[i])) if right[i] + wrong[i] > 0 else None,
            behind=float(mean[best] - mean[i]),
            behind_band=None if behind_bands is None else (float(behind_bands[0][i]), float(behind_bands[1][i])),
        )
        for i, n in enumerate(sizes)
    )
    shown = [point.behind_band is not None and point.behind_band[0] > 1e-12 for point in points]
    last = len(points) - 1
    worse = [sizes[i] for i in range(best + 1, len(sizes)) if shown[i]]
    enough = None if bands is None else next(i for i in named if not shown[i])
    apart = plurality[:, best] - plurality[:, best if enough is None else enough]
    return Curve(
        points,
        argmax=sizes[best],
        enough=None if enough is None else sizes[enough],
        spread=float(np.sqrt(weights @ (apart - weights @ apart) ** 2)),
        differing=float(weights @ (np.abs(apart) > 1e-12)),
        falls=bool(worse),
        worst=min(worse, key=lambda n: float(mean[sizes.index(n)])) if worse else None,
        rises=best == last and last > 0 and all(shown[i] for i in named[:-1]),
    )


def _means(units: Units, times: int, seed: int) -> Array:
    sums = draws(units, max(affordable(units, times), min(times, FEWEST)), seed)
    found: Array = sums[:, :-1] / sums[:, -1:]
    return found


def band(mean: Array, drawn: Array, questions: int, level: float = LEVEL) -> tuple[Array, Array]:
    """Simultaneous interval of all means: mean ± q sd, q as in :func:`max_t`.

    Args:
        mean: shape (S,).
        drawn: shape (R, S): the same in R drawings of questions.
        questions: how many were drawn.
        level: chance that the interval holds all means.
    """
    reach = max_t(mean, drawn, level) * np.sqrt(variance(drawn, questions))
    return mean - reach, mean + reach


def variance(drawn: Array, questions: int) -> Array:
    """Variance of each mean, as if one more question had come out by chance: few questions rarely show their spread."""
    found: Array = drawn.var(axis=0, ddof=1) + 0.25 / questions**2
    return found


def max_t(mean: Array, drawn: Array, level: float = LEVEL) -> float:
    """The quantile, over drawings, of the largest |deviation| / sd among all means; at least that of one mean."""
    sd = drawn.std(axis=0, ddof=1)
    varies = sd > _STILL
    alone = float(normal_quantile((1 + level) / 2))
    if not varies.any():
        return alone
    return max(alone, float(np.quantile(np.max(np.abs(drawn[:, varies] - mean[varies]) / sd[varies], axis=1), level)))


def share_band(mean: Array, drawn: Array, questions: int) -> tuple[Array, Array]:
    """Simultaneous interval of shares: exact ones, each at the level that belongs to the q of :func:`max_t`.

    Near 0 and 1, where shares are skewed, this keeps its level longer than mean ± q sd does.
    """
    each = 1 - 2 * float(normal_cdf(-max_t(mean, drawn)))
    binomial = np.clip(mean * (1 - mean), 0.0, None)
    effective = np.where(binomial > 1e-12, binomial / variance(drawn, questions), float(questions))
    found = [clopper_pearson(float(p * of), float(of), each) for p, of in zip(mean, effective, strict=True)]
    return np.array([low for low, _ in found]), np.array([high for _, high in found])
