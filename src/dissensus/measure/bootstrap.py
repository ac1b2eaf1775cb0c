"""Intervals by drawing questions again, never votes: the voters of one question stand or fall together.

A *unit* is a question, or a group of questions that are one question asked again. Every statistic here is a function of
sums over units of a few *features*, so a drawing is a vector of weights times a matrix, and equal units are merged.
Efron & Tibshirani 1993, chapters 13 (percentile) and 14 (BCa: corrected for bias and skewness).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.measure.intervals import LEVEL
from dissensus.measure.special import Array, normal_cdf, normal_quantile
from dissensus.measure.table import Whole

Method = Literal["percentile", "bca"]

Reals: TypeAlias = npt.NDArray[np.floating[Any]]
"""Floats of single or double precision."""

Statistic = Callable[[Array], Array]
"""Sums of the features, shape (R, F), to R values; NaN where a value is not defined."""

_CELLS = 4_000_000
"""Numbers that one block of features holds."""

_WORK = 2e10
"""Multiplications that drawings may take: first their number is lowered, then the jackknife takes their place."""

FEWEST = 200
"""Drawings that are worth their name."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is drawn.

    Args:
        features: from a slice of the U different units to their features, shape (slice, F). Whole numbers may come in
            single precision while no sum reaches 2^24: then they are exact, and twice as fast.
        counts: shape (U,): how many units are equal to each.
        width: F.
    """

    features: Callable[[slice], Reals]
    counts: Whole
    width: int

    @property
    def total(self) -> int:
        """Units drawn each time, repeated ones counted."""
        return int(self.counts.sum())

    def blocks(self) -> Iterator[slice]:
        """Slices of units whose features fit in memory together."""
        step = max(1, _CELLS // max(self.width, 1))
        for start in range(0, len(self.counts), step):
            yield slice(start, start + step)

    def sums(self, weights: Array) -> Array:
        """Weighted sums of the features; ``weights`` has shape (R, U)."""
        found = np.zeros((weights.shape[0], self.width))
        for block in self.blocks():
            features = self.features(block)
            part: Reals = weights[:, block].astype(features.dtype, copy=False)
            found += part @ features
        return found


def units_of(features: Array, groups: Whole | None = None, counts: Whole | None = None) -> Units:
    """Units from a matrix with one row a question; with ``groups``, rows of one group are added up."""
    if groups is None:
        return Units(lambda block: features[block], _ones(features) if counts is None else counts, features.shape[1])
    _, place = np.unique(groups, return_inverse=True)
    summed = np.zeros((int(place.max()) + 1, features.shape[1]))
    np.add.at(summed, place, features)
    ordered = summed[np.lexsort(summed.T[::-1])]  # in an order that does not depend on that of the questions
    return Units(lambda block: ordered[block], _ones(ordered), features.shape[1])


def units_of_values(values: Array, groups: Whole | None = None) -> Units:
    """Units of one value a question, whose mean is meant; the second feature counts questions."""
    if groups is not None:
        return units_of(np.column_stack([values, np.ones_like(values)]), groups)
    levels, counts = np.unique(values, return_counts=True)
    return units_of(np.column_stack([levels, np.ones_like(levels)]), counts=counts)


def mean_of_values(sums: Array) -> Array:
    """The statistic of :func:`units_of_values`."""
    found: Array = sums[:, 0] / sums[:, 1]
    return found


def _ones(rows: Array) -> Whole:
    return np.ones(rows.shape[0], dtype=np.int64)


def draws(units: Units, times: int, seed: int) -> Array:
    """Sums of the features in ``times`` drawings with replacement, shape (times, F)."""
    return np.concatenate(list(drawings(units, times, seed)))


def drawings(units: Units, times: int, seed: int) -> Iterator[Array]:
    """The same in parts that are small enough to work on, shape (part, F) each."""
    rng = np.random.default_rng(seed)
    kinds, total = len(units.counts), units.total
    step = max(1, _CELLS // max(kinds if 6 * kinds <= total else total, units.width))
    for start in range(0, times, step):
        yield units.sums(_weights(rng, units.counts, min(step, times - start)))


def _weights(rng: np.random.Generator, counts: Whole, many: int) -> Array:
    kinds, total = len(counts), int(counts.sum())
    if 6 * kinds <= total:
        return rng.multinomial(total, counts / total, size=many).astype(float)
    which = np.repeat(np.arange(kinds), counts)
    found = np.empty((many, kinds))
    for row in found:  # one at a time stays in the cache
        row[:] = np.bincount(which[rng.integers(0, total, size=total)], minlength=kinds)
    return found


def affordable(units: Units, times: int) -> int:
    """``times``, or fewer where the table is so large that they would take minutes; 0 if even a few hundred would."""
    most = int(_WORK / max(len(units.counts) * units.width, 1))
    return min(times, most) if most >= min(times, FEWEST) else 0


def interval(
    units: Units, statistic: Statistic, *, times: int, seed: int, method: Method = "bca", level: float = LEVEL
) -> tuple[float, float] | None:
    """Interval of ``statistic``; None if it is not defined, or does not vary (fewer than two units).

    Drawings in which it is not defined (a voter without an error) are left out; None if these are more than half. Where
    a table is so large that drawing would take minutes, the normal interval by the jackknife is the same.
    """
    if units.total < 2:
        return None
    whole = units.sums(units.counts[None, :].astype(float))
    point = float(statistic(whole)[0])
    if not np.isfinite(point):
        return None
    times = affordable(units, times)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if not times:
        low, high = point + normal_quantile(tails) * _jackknife_error(jackknife(units, statistic, whole), units.counts)
        return float(low), float(high)
    drawn = np.concatenate([statistic(sums) for sums in drawings(units, times, seed)])
    drawn = np.sort(drawn[np.isfinite(drawn)])
    if 2 * len(drawn) < times:
        return None
    if method == "bca":
        tails = _corrected(tails, point, drawn, jackknife(units, statistic, whole), units.counts)
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)


def jackknife(units: Units, statistic: Statistic, whole: Array) -> Array:
    """The statistic with one unit of each kind left out, shape (U,)."""
    return np.concatenate([statistic(np.asarray(whole - units.features(block))) for block in units.blocks()])


def _jackknife_error(left_out: Array, counts: Whole) -> float:
    many = float(counts.sum())
    spread = (counts * (left_out - np.average(left_out, weights=counts)) ** 2).sum()
    return float(np.sqrt(spread * (many - 1) / many))


def _corrected(tails: Array, point: float, drawn: Array, left_out: Array, counts: Whole) -> Array:
    below = float(np.mean(drawn < point) + np.mean(drawn == point) / 2)
    known = np.isfinite(left_out)
    if not 0 < below < 1 or not known.all():
        return tails
    shift = float(normal_quantile(below))
    pull = float(np.average(left_out, weights=counts)) - left_out
    spread = float((counts * pull**2).sum())
    skew = float((counts * pull**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    moved = shift + normal_quantile(tails)
    return normal_cdf(shift + moved / (1 - skew * moved))


def paired(difference: Array, groups: Whole | None = None) -> tuple[float, float | None]:
    """Mean and standard error of a paired difference, shape (Q,): sd/sqrt(Q), ddof 1; groups are added up first.

    The standard error is None for fewer than two units.
    """
    mean = float(difference.mean())
    if groups is None:
        size = difference.size
        return mean, float(difference.std(ddof=1)) / size**0.5 if size > 1 else None
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, weights=difference)
    sizes = np.bincount(place)
    many = len(sizes)
    if many < 2:
        return mean, None
    spread = float(((sums - mean * sizes) ** 2).sum()) * many / (many - 1)
    return mean, spread**0.5 / difference.size
