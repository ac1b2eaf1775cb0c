"""Equal rows counted once: a million questions have a few hundred different rows of votes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.measure.table import Whole

_BITS = 62


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The different rows of a matrix.

    Args:
        rows: shape (U, k), in ascending order whatever the order of the matrix was.
        place: shape (Q,): which of them each row of the matrix is.
        counts: shape (U,): how often each occurs.
    """

    rows: Whole
    place: Whole
    counts: Whole


def distinct(matrix: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Patterns:
    """The different rows of ``matrix``, shape (Q, k), of whole numbers that are at least 0.

    Columns are packed into one number as far as its bits go, which sorts many times faster than rows do.
    """
    most = int(matrix.max()) if matrix.size else 0
    base = most + 1
    together = max(1, int(_BITS / math.log2(base))) if base > 1 else matrix.shape[1] or 1
    key: Whole = np.zeros(matrix.shape[0], dtype=np.int64)
    kinds = 1
    for start in range(0, matrix.shape[1], together):
        packed = np.zeros(matrix.shape[0], dtype=np.int64)
        for column in matrix.T[start : start + together]:
            packed *= base
            packed += column
        if kinds > 1:
            _, packed = np.unique(packed, return_inverse=True)
            packed = key * (int(packed.max(initial=0)) + 1) + packed
        values, key = np.unique(packed, return_inverse=True)
        kinds = max(len(values), 2)
    first = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.int64)
    first[key[::-1]] = np.arange(matrix.shape[0] - 1, -1, -1)
    return Patterns(
        rows=np.asarray(matrix[first], dtype=np.int64), place=key, counts=np.bincount(key, minlength=len(first))
    )
