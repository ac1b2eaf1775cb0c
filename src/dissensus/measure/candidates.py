"""The answers given to each question, numbered within it, and what any weighted vote makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.measure.special import Array
from dissensus.measure.table import Flags, VoteTable, Whole

_TIE = 1e-9
"""Scores this close, relative to the larger, are equal: sums of weights differ in their last digits by order."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The answers of Q questions by n voters.

    Args:
        local: shape (Q, n): number of the answer among those given to this question, from 0; -1 for a blank.
        right: shape (Q,): number of the right answer; -1 if nobody gave it or it is not known.
        given: shape (Q,): different answers given.
        width: the most answers given to any question, at least 1.
    """

    local: npt.NDArray[np.int16]
    right: Whole
    given: Whole
    width: int

    def rows(self, keep: Flags | Whole) -> Candidates:
        """Those of some questions."""
        return Candidates(self.local[keep], self.right[keep], self.given[keep], self.width)

    @property
    def there(self) -> Flags:
        """Shape (Q, width): which numbers stand for an answer."""
        found: Flags = np.arange(self.width) < self.given[:, None]
        return found

    def scores(self, weights: Array) -> Array:
        """Sum of the weights behind each answer, shape (Q, width); ``weights`` has shape (n,) or (Q, n)."""
        questions, n = self.local.shape
        found = np.zeros(questions * self.width)
        start = np.arange(questions, dtype=np.int64) * self.width
        for voter in range(n):
            voted = np.flatnonzero(self.local[:, voter] >= 0)
            weight = weights[voter] if weights.ndim == 1 else weights[voted, voter]
            found[start[voted] + self.local[voted, voter]] += weight  # a voter has one vote: no place occurs twice
        return found.reshape(questions, self.width)

    def counts(self) -> Array:
        """Votes of each answer, shape (Q, width)."""
        return self.scores(np.ones(self.local.shape[1]))

    def leaders(self, scores: Array) -> Flags:
        """Which given answers have the highest score; shape (Q, width). None where all voters are blank."""
        lowest = np.where(self.there, scores, -np.inf)
        top = lowest.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            slack = _TIE * np.maximum(1.0, np.abs(np.where(np.isfinite(top), top, 0.0)))
        found: Flags = (lowest >= top - slack) & self.there
        return found

    def credit(self, leaders: Flags) -> Array:
        """1/t where the right answer is among t leaders, else 0; shape (Q,)."""
        tied = leaders.sum(axis=1)
        hit = np.take_along_axis(leaders, np.maximum(self.right, 0)[:, None], axis=1)[:, 0] & (self.right >= 0)
        return np.where(hit, 1.0 / np.maximum(tied, 1), 0.0)


def candidates_of(table: VoteTable) -> Candidates:
    """Number the answers of each question of ``table``."""
    order = np.argsort(table.codes, axis=1, kind="stable")
    ordered = np.take_along_axis(table.codes, order, axis=1)
    new = ordered >= 0
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    number = np.cumsum(new, axis=1, dtype=np.int16) - np.int16(1)
    number[ordered < 0] = -1
    local = np.empty(table.codes.shape, dtype=np.int16)
    np.put_along_axis(local, order, number, axis=1)
    given = new.sum(axis=1, dtype=np.int64)
    right = np.where(table.right, local, np.int16(-1)).max(axis=1).astype(np.int64)
    return Candidates(local, right, given, max(1, int(given.max(initial=1))))


def wrong_options(table: VoteTable) -> Array:
    """How many wrong answers a voter may fall for on each question, shape (Q,), at least 1: K - 1 where K is known.

    Elsewhere it is the number of equally attractive wrong answers that would make two wrong voters agree as often as
    they do on the questions with a known right answer: 1 / the share of equal answers among both wrong.
    """
    known = np.zeros(table.n_questions)
    if table.options is not None:
        known = np.asarray(table.options - 1.0, dtype=float)
    if (known >= 1).all():
        return known
    return np.asarray(np.where(known >= 1, known, _spread(table)), dtype=float)


def _spread(table: VoteTable) -> float:
    from dissensus.measure.tallies import wrong_counts

    if not table.labelled.any():
        return 1.0
    counts = wrong_counts(table.rows(table.labelled)).astype(float)
    wrong = counts.sum(axis=1)
    both = float((wrong * (wrong - 1)).sum())
    same = float((counts * (counts - 1)).sum())
    return max(1.0, both / same) if same > 0 else 1.0
