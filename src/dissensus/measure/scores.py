"""How good stated probabilities are: calibration error, Brier, log loss, AUROC.

Everything takes ``p``, shape (Q,), the stated probability to be right, and ``y``, shape (Q,), what came of it in
[0, 1]: a tie of t counts 1/t right. Each question is then a mixture of a right and a wrong case, and scores are their
expectation. Equal ``p`` are never told apart, so nothing depends on the order of questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.isotonic import pooled
from dissensus.measure.special import Array, normal_cdf, x_log_y
from dissensus.measure.sums import count_by, sum_by
from dissensus.measure.table import Whole

BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """The different values that were stated, rising: ``p``, how often (``many``), and how many of these were right."""

    p: Array
    many: Array
    right: Array

    @property
    def questions(self) -> float:
        """Q."""
        return float(self.many.sum())

    @property
    def base(self) -> float:
        """Share of right answers over all."""
        return float(self.right.sum()) / self.questions


def stated(p: Array, y: Array) -> Stated:
    """Merge equal values; raises :class:`~dissensus.errors.UsageError` for values outside [0, 1], NaN included.

    Equal means to twelve digits: the rounding of a sum in another order must not tell two values apart.
    """
    for what, values in (("A probability", p), ("An outcome", y)):
        if not values.size:
            raise UsageError("There is no probability to judge.")
        if not ((values >= 0) & (values <= 1)).all():
            raise UsageError(f"{what} lies outside 0 to 1.")
    levels, place = np.unique(np.round(p, 12), return_inverse=True)
    return Stated(levels, count_by(place, len(levels)), sum_by(place, y, len(levels)))


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a reliability diagram: mean stated value, how many, share right."""

    stated: float
    count: int
    right: float


@dataclass(frozen=True, slots=True)
class Brier:
    """Brier score and what it is made of: ``score = reliability - resolution + uncertainty``, exactly.

    Args:
        score: mean of y (1 - p)^2 + (1 - y) p^2.
        reliability: how much of it recalibration would save (0: calibrated).
        resolution: how much the recalibrated values beat the base rate.
        uncertainty: score of the base rate.
        skill: 1 - score / uncertainty; None if all were right or all wrong.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    skill: float | None


@dataclass(frozen=True, slots=True)
class Scores:
    """All of them.

    Args:
        mean: mean stated probability; ``right`` is the share right.
        ece: expected calibration error, ten bins of equal width.
        ece_equal_mass: the same with ten bins of about equally many questions.
        ece_debiased: ``ece_equal_mass`` less an estimate of what chance adds to it.
        brier: with its parts.
        log_loss: in nats; infinite if a stated 1 was wrong or a stated 0 right.
        auroc: chance that a right answer has the larger value than a wrong one; None if all are right or all wrong.
        bins: behind ``ece_equal_mass``.
        histogram: how often values in [0, .1), [.1, .2) … [.9, 1] were stated.
    """

    mean: float
    right: float
    ece: float
    ece_equal_mass: float
    ece_debiased: float
    brier: Brier
    log_loss: float
    auroc: float | None
    bins: tuple[Bin, ...]
    histogram: tuple[int, ...]


def scores_of(p: Array, y: Array, *, bins: int = BINS) -> Scores:
    """Every score of ``p`` for ``y``; raises as :func:`stated`."""
    found = stated(p, y)
    equal, wide = equal_mass(found, bins), fixed(found, bins)
    return Scores(
        mean=float(found.p @ found.many) / found.questions,
        right=found.base,
        ece=calibration_error(found, wide),
        ece_equal_mass=calibration_error(found, equal),
        ece_debiased=debiased_error(found, equal),
        brier=brier(found),
        log_loss=log_loss(found),
        auroc=auroc(found),
        bins=bars(found, equal),
        histogram=tuple(round(many) for many in sum_by(wide, found.many, bins)),
    )


def fixed(found: Stated, bins: int = BINS) -> Whole:
    """Bin of each value, all of equal width: [0, .1), [.1, .2) … [.9, 1]."""
    place: Whole = np.minimum((found.p * bins).astype(np.int64), bins - 1)
    return place


def equal_mass(found: Stated, bins: int = BINS) -> Whole:
    """Bin of each value, so that bins hold about equally many questions; equal values are never split."""
    middle = (np.cumsum(found.many) - found.many / 2) / found.questions
    place: Whole = np.minimum((middle * bins).astype(np.int64), bins - 1)
    return place


def _binned(found: Stated, place: Whole) -> tuple[Array, Array, Array]:
    """Mean stated value, number and share right of each bin that is not empty."""
    bins, at = np.unique(place, return_inverse=True)
    many = sum_by(at, found.many, len(bins))
    return sum_by(at, found.p * found.many, len(bins)) / many, many, sum_by(at, found.right, len(bins)) / many


def calibration_error(found: Stated, place: Whole) -> float:
    """Expected calibration error: mean of |share right - mean stated| over bins, by size (Naeini et al. 2015)."""
    said, many, right = _binned(found, place)
    return float((many * np.abs(right - said)).sum()) / found.questions


def debiased_error(found: Stated, place: Whole) -> float:
    """The same less an estimate of what chance adds, at least 0 (Kumar, Liang & Ma 2019, section 5).

    If d is the difference in a bin and s the standard error of its share right, drawing anew would give E|N(d, s^2)| on
    average; that excess over |d| is taken off. It is the mean of a folded normal, so nothing is drawn here. Where a
    statement is exact, about two fifths of the apparent error go; where it is wrong, the error stays.
    """
    said, many, right = _binned(found, place)
    d = np.abs(right - said)
    s = np.sqrt(right * (1 - right) / many)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(s > 0, d / s, np.inf)
    folded = s * np.sqrt(2 / np.pi) * np.exp(-(np.minimum(z, 40.0) ** 2) / 2) + d * (1 - 2 * normal_cdf(-z))
    return max(0.0, float((many * (2 * d - folded)).sum()) / found.questions)


def bars(found: Stated, place: Whole) -> tuple[Bin, ...]:
    """What a reliability diagram draws."""
    return tuple(
        Bin(float(p), round(many), float(right)) for p, many, right in zip(*_binned(found, place), strict=True)
    )


def brier(found: Stated) -> Brier:
    """Brier score (1950), split by isotonic recalibration, without bins (Dimitriadis, Gneiting & Jordan 2021).

    Where the share right rises with the stated value, this is Murphy's split (1973) over the different values.
    """
    fitted = pooled(found.right / found.many, found.many)
    score, best = _squared(found, found.p), _squared(found, fitted)
    uncertainty = found.base * (1 - found.base)
    return Brier(
        score=score,
        reliability=score - best,
        resolution=uncertainty - best,
        uncertainty=uncertainty,
        skill=1 - score / uncertainty if uncertainty > 0 else None,
    )


def _squared(found: Stated, p: Array) -> float:
    return float((found.right * (1 - p) ** 2 + (found.many - found.right) * p**2).sum()) / found.questions


def log_loss(found: Stated) -> float:
    """Mean of -log of the probability that was stated for what came, in nats; infinite where that was 0."""
    wrong = found.many - found.right
    return float(-(x_log_y(found.right, found.p) + x_log_y(wrong, 1 - found.p)).sum()) / found.questions


def auroc(found: Stated) -> float | None:
    """Over all pairs of a right and a wrong case: share in which the right one has the larger value, a tie half.

    Each question counts y as right and 1 - y as wrong, also against itself. None without both.
    """
    wrong = found.many - found.right
    total = float(found.right.sum() * wrong.sum())
    return float((found.right * (np.cumsum(wrong) - wrong / 2)).sum()) / total if total > 0 else None
