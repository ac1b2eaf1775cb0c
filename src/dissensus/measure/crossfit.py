"""Parts of a table for cross-validation: what is judged on a question never saw that question.

A part is fixed by the names of the questions, not by their order, so the same questions in another order give the same
figures. Questions that are one question asked again are in one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.table import VoteTable, Whole

FOLDS = 5


def folds_of(table: VoteTable, *, many: int = FOLDS, seed: int = 0) -> Whole:
    """Number of the part of each question, shape (Q,), 0 to ``many`` - 1, in parts of the same size or one more.

    Without names, rows are numbered. There are never more parts than different questions.

    Raises:
        UsageError: fewer than two parts are asked for, or there are fewer than two different questions.
    """
    names: Sequence[str] = table.questions or [str(row) for row in range(table.n_questions)]
    keys = np.array([crc32(f"{seed}/{name}".encode()) for name in names], dtype=np.int64)
    if table.groups is not None:
        _, place = np.unique(table.groups, return_inverse=True)
        first = np.full(int(place.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, place, keys)
        keys = first[place]
    _, unit = np.unique(keys, return_inverse=True)
    return parts_of(unit, many)


def parts_of(unit: Whole, many: int) -> Whole:
    """Deal units, numbered from 0 in the order of dealing, to ``many`` parts; raises as :func:`folds_of`."""
    units = int(unit.max(initial=-1)) + 1
    many = min(many, units)
    if many < 2:
        raise UsageError(
            "Cross-validation needs at least two parts, each with a question.",
            next_step="Give the right answers of more questions.",
        )
    found: Whole = unit % many
    return found


def order_of(table: VoteTable, *, seed: int = 0) -> Whole:
    """Places of the questions in an order that is random but fixed by their names; shape (Q,)."""
    names: Sequence[str] = table.questions or [str(row) for row in range(table.n_questions)]
    keys = np.array([crc32(f"{seed}/{name}".encode()) for name in names], dtype=np.int64)
    return np.argsort(keys, kind="stable")
