"""Sums by place: what numpy's bincount gives, as floats."""

from __future__ import annotations

import numpy as np

from dissensus.measure.special import Array
from dissensus.measure.table import Whole


def sum_by(place: Whole, values: Array, many: int) -> Array:
    """Sum of ``values`` at each place 0 … ``many`` - 1; both have shape (Q,)."""
    return np.asarray(np.bincount(place, weights=values, minlength=many), dtype=float)


def count_by(place: Whole, many: int) -> Array:
    """How often each place 0 … ``many`` - 1 occurs."""
    return np.bincount(place, minlength=many).astype(float)
