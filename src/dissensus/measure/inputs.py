"""What the formulas refuse, and in which words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dissensus.errors import UsageError
from dissensus.measure.special import Array, Numbers

SUM_SLACK = 1e-9
"""How far from one a list of probabilities may sum: the rounding of numbers written in decimals, no more."""


def probability(value: Numbers, what: str) -> Array:
    """``value`` as an array, each element in [0, 1]; UsageError otherwise, NaN included."""
    array = np.asarray(value, dtype=float)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        raise UsageError(
            f"{what} cannot be {_first(array, wrong)}: a probability lies between 0 and 1.",
            next_step="Write seventy percent as 0.7.",
        )
    return array


def voters(value: Numbers, what: str = "The number of voters") -> Array:
    """``value`` as an array of whole numbers above zero, in floats; UsageError otherwise."""
    array = np.asarray(value, dtype=float)
    wrong = ~(np.isfinite(array) & (array >= 1) & (array == np.floor(array)))
    if wrong.any():
        raise UsageError(f"{what} cannot be {_first(array, wrong)}.", next_step="Use a whole number of at least 1.")
    return array


def distribution(values: Iterable[float] | Array, what: str) -> Array:
    """``values`` as a vector of probabilities that sum to one; UsageError otherwise."""
    vector = probability(np.asarray(list(values), dtype=float), f"A value of {what}")
    if abs((total := float(vector.sum())) - 1) > SUM_SLACK:
        raise UsageError(f"{what} sum to {total:.12g}, not to 1.", next_step="List every option with its share.")
    return vector


def _first(array: Array, wrong: npt.NDArray[np.bool_]) -> str:
    return f"{np.atleast_1d(array)[np.atleast_1d(wrong)][0]:g}"
