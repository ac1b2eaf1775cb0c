"""Two procedures on the same questions: their difference, with an interval, a test, and a correction for many looks.

The unit is the question, or the *story* where several questions share one: those stand or fall together. Units are
drawn again, never runs or trajectories, which would count one question as many.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.bootstrap import Method, interval, mean_of_values, units_of_values
from dissensus.measure.compare import sign_test
from dissensus.measure.inputs import probability
from dissensus.measure.intervals import LEVEL, clopper_pearson, effective_questions
from dissensus.measure.pairs import holm
from dissensus.measure.special import Array, Numbers, normal_quantile
from dissensus.measure.table import Whole

MCNEMAR: Final = "McNemar, exact"
SIGNS: Final = "signs dealt anew by unit"
"""The test where a value may be a fraction (a tie was shared) or where questions share stories."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A share or a difference with its 95 % interval.

    Args:
        value: None if there is nothing to take it of.
        low, high: None as the value.
        n: questions.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True, slots=True)
class Paired:
    """One procedure less another on the same questions.

    Args:
        first, second: accuracies.
        difference: first less second; ``low`` and ``high`` its interval.
        only_first, only_second: questions on which only this one was right; where values are fractions, on which this
            one did better.
        p: two-sided.
        p_holm: corrected for the family of comparisons; equal to ``p`` until :func:`corrected` has seen them all.
        test: the test of ``p``.
        questions, units: how many; fewer units than questions where some share a story.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    only_first: int
    only_second: int
    p: float
    p_holm: float
    test: str
    questions: int
    units: int

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def wilson(hits: float, of: float, level: float = LEVEL) -> tuple[float, float]:
    """Two-sided interval of a share (Wilson 1927); both numbers may be fractions, ``of`` above 0.

    Raises:
        UsageError: ``hits`` outside [0, ``of``], or a level that is none.
    """
    if not 0 <= hits <= of or of <= 0:
        raise UsageError(f"{hits:g} of {of:g} is no share.", next_step="Check the counts.")
    if not 0 < level < 1:
        raise UsageError(f"A confidence level cannot be {level:g}.", next_step="Write 95 percent as 0.95.")
    z = float(normal_quantile((1 + level) / 2))
    rate = hits / of
    middle = (rate + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return (0.0 if hits == 0 else middle - half), (1.0 if hits == of else middle + half)


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p of McNemar's test: discordant questions as fair coins, exact; 1 if there are none."""
    if only_first < 0 or only_second < 0:
        raise UsageError("Discordant questions cannot be fewer than none.", next_step="Check the counts.")
    total, fewer = only_first + only_second, min(only_first, only_second)
    ways = one = 1
    for k in range(fewer):
        one = one * (total - k) // (k + 1)
        ways += one
    return min(1.0, ways / (1 << max(total - 1, 0)))  # whole numbers: exact however many there are


def accuracy(credit: Numbers, groups: Sequence[Hashable] | None = None) -> Interval:
    """Mean of ``credit``, shape (Q,), each in [0, 1], with Wilson's interval.

    Where ties were shared or questions share a story, the interval is that of as many independent yes-or-no questions
    as fix the mean equally well.

    Args:
        credit: of each question.
        groups: the story of each question; None where each stands alone.
    """
    values = _values(credit)
    if not values.size:
        return Interval(None, None, None, 0)
    size = effective_questions(values, None if groups is None else _codes(groups, values.size))
    rate = float(values.mean())
    low, high = wilson(min(rate * size, size), size)
    return Interval(rate, low, high, values.size)


def compare_paired(
    first: Numbers,
    second: Numbers,
    *,
    groups: Sequence[Hashable] | None = None,
    times: int = 2000,
    seed: int = 0,
    method: Method = "bca",
) -> Paired:
    """``first`` less ``second``, shape (Q,) each: credit of the same questions in the same order, in [0, 1].

    Args:
        first: 1 right, 0 not, or the share of a tie.
        second: the same of the other side.
        groups: the story of each question; drawn as wholes.
        times: drawings for the interval.
        seed: of the drawings.
        method: of the interval.

    Raises:
        UsageError: no question, shapes that differ, a credit outside [0, 1].
    """
    one, other = _values(first), _values(second)
    if one.size != other.size or not one.size:
        raise UsageError(
            f"The two sides answered {one.size} and {other.size} questions.",
            next_step="Compare them on the same questions, at least one.",
        )
    codes = None if groups is None else _codes(groups, one.size)
    difference = one - other
    units = one.size if codes is None else len(np.unique(codes))
    won, lost = int((difference > 0).sum()), int((difference < 0).sum())
    whole = bool((np.abs(difference) % 1 == 0).all())
    coins = whole and units == one.size
    p = mcnemar(won, lost) if coins else sign_test(difference, codes, seed=seed)
    low, high = _interval(difference, codes, units, times=times, seed=seed, method=method)
    return Paired(
        first=float(one.mean()),
        second=float(other.mean()),
        difference=float(difference.mean()),
        low=low,
        high=high,
        only_first=won,
        only_second=lost,
        p=p,
        p_holm=p,
        test=MCNEMAR if coins else SIGNS,
        questions=one.size,
        units=units,
    )


def corrected(family: Mapping[str, Paired]) -> dict[str, Paired]:
    """The same comparisons, each with the p that allows for all of them (Holm 1979); the order is kept."""
    p = holm(np.array([found.p for found in family.values()], dtype=float))
    return {name: replace(found, p_holm=float(q)) for (name, found), q in zip(family.items(), p, strict=True)}


def _interval(
    difference: Array, codes: Whole | None, units: int, *, times: int, seed: int, method: Method
) -> tuple[float, float]:
    """Drawn anew; where the difference is the same on every question, what none in so many units still allows."""
    value = float(difference[0])
    if bool((difference == value).all()):
        unseen = clopper_pearson(0, units)[1]
        return value - unseen * (value + 1), value + unseen * (1 - value)
    found = interval(units_of_values(difference, codes), mean_of_values, times=times, seed=seed, method=method)
    return found if found is not None else (-1.0, 1.0)  # one story alone: nothing is known of another


def _values(credit: Numbers) -> Array:
    return np.atleast_1d(probability(credit, "A credit")).ravel()


def _codes(groups: Sequence[Hashable], size: int) -> Whole:
    if len(groups) != size:
        raise UsageError(f"There are {size} questions and {len(groups)} stories.", next_step="Name one for each.")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
