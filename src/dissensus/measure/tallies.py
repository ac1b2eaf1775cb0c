"""The votes of each question, counted: who leads, who ties, how many were right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dissensus.measure.patterns import Patterns, distinct
from dissensus.measure.special import Array
from dissensus.measure.table import Codes, Flags, VoteTable, Whole

FEW_ANSWERS = 32
"""Different answers below which they are counted in columns of their own."""

_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """Counts for each question, shape (Q,) each.

    Args:
        n: voters configured, blanks included.
        leader: votes of the answer with the most; 0 if all are blank.
        tied: how many answers have that many; 0 if all are blank.
        right: votes for the right answer.
        blank: blank cells.
        credit: plurality with ties split: 1/t if the right answer is among t leaders, else 0.
    """

    n: int
    leader: Whole
    tied: Whole
    right: Whole
    blank: Whole
    credit: Array

    @property
    def unanimous(self) -> Flags:
        """All voters gave the same answer, none is blank."""
        found: Flags = self.leader == self.n
        return found

    @property
    def unique(self) -> Flags:
        """The right answer has strictly the most votes."""
        found: Flags = self.credit == 1.0
        return found

    @property
    def strict(self) -> Flags:
        """The leader has more than half of all voters configured."""
        return 2 * self.leader > self.n

    @property
    def strict_right(self) -> Flags:
        """The right answer has more than half of all voters configured."""
        return 2 * self.right > self.n


def tally(table: VoteTable) -> Tallies:
    """Count the votes of each question."""
    leader, tied = leaders(table.codes)
    right = table.right.sum(axis=1, dtype=np.int64)
    leads = (right == leader) & (right > 0)
    return Tallies(
        n=table.n_voters,
        leader=leader,
        tied=tied,
        right=right,
        blank=table.blank.sum(axis=1, dtype=np.int64),
        credit=np.where(leads, 1.0 / np.maximum(tied, 1), 0.0),
    )


def leaders(codes: Codes) -> tuple[Whole, Whole]:
    """Votes of the leading answer of each row, and how many answers have that many; blanks (below 0) are no votes.

    Where few answers occur at all they are counted; where many do, each row is sorted.
    """
    if int(codes.max(initial=-1)) >= FEW_ANSWERS:
        return _lead(np.sort(codes, axis=1))
    leader, tied = (np.zeros(codes.shape[0], dtype=np.int64) for _ in range(2))
    for rows, votes in _votes(codes):
        most = votes.max(axis=1)
        leader[rows] = most
        tied[rows] = (votes == most[:, None]).sum(axis=1) * (most > 0)
    return leader, tied


def winners(codes: Codes) -> Codes:
    """The answer that leads each row alone; -1 for a tie, and where all are blank."""
    found: Codes = np.full(codes.shape[0], -1, dtype=np.int32)
    for rows, votes in _votes(codes):
        best = votes.argmax(axis=1)
        most = np.take_along_axis(votes, best[:, None], axis=1)
        alone = ((votes == most).sum(axis=1) == 1) & (most[:, 0] > 0)
        found[rows] = np.where(alone, best, -1)
    return found


def _votes(codes: Codes) -> Iterator[tuple[slice, Whole]]:
    """Slices of rows, and the votes for each answer in them, shape (slice, answers)."""
    answers = int(codes.max(initial=0)) + 1
    step = max(1, _CELLS // answers)
    for start in range(0, codes.shape[0], step):
        block = codes[start : start + step]
        place = np.arange(block.shape[0], dtype=np.int64)[:, None] * (answers + 1) + np.maximum(block, -1) + 1
        votes = np.bincount(place.ravel(), minlength=block.shape[0] * (answers + 1))
        yield slice(start, start + step), votes.reshape(-1, answers + 1)[:, 1:]


def _lead(ordered: Codes) -> tuple[Whole, Whole]:
    """Length of the longest run of an answer in each sorted row, and how many runs are as long."""
    rows = ordered.shape[0]
    run, leader, tied = (np.zeros(rows, dtype=np.int64) for _ in range(3))
    for place in range(ordered.shape[1]):
        column = ordered[:, place]
        if place:
            run *= column == ordered[:, place - 1]
        run += 1
        run *= column >= 0
        tied += (run == leader) & (run > 0)
        ahead = run > leader
        tied[ahead] = 1
        leader[ahead] = run[ahead]
    return leader, tied


def wrong_counts(table: VoteTable) -> Whole:
    """Shape (Q, k): the votes of each wrong answer, most first; as many columns as any question has wrong answers."""
    codes = np.where(table.right | table.blank, np.int32(-1), table.codes)
    codes.sort(axis=1)
    n = codes.shape[1]
    lengths = np.zeros(codes.shape, dtype=np.int64)
    run = np.zeros(codes.shape[0], dtype=np.int64)
    for place in range(n):
        column = codes[:, place]
        if place:
            run *= column == codes[:, place - 1]
        run += 1
        run *= column >= 0
        ends = column != codes[:, place + 1] if place + 1 < n else np.ones(len(column), dtype=bool)
        lengths[:, place] = run * ends
    lengths = -np.sort(-lengths, axis=1)
    used = int((lengths > 0).sum(axis=1).max(initial=0))
    return lengths[:, :used]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The different ways in which votes fell, whatever the answers are called and whoever gave them.

    Args:
        n: voters configured.
        right: shape (U,): votes for the right answer.
        wrong: shape (U, k): votes for each wrong answer, most first.
        blank: shape (U,): blank cells.
        place: shape (Q,): which of the U ways each question is.
        times: shape (U,): how often each occurs.
    """

    n: int
    right: Whole
    wrong: Whole
    blank: Whole
    place: Whole
    times: Whole


def count_patterns(table: VoteTable) -> Counts:
    """The ways in which the votes of ``table`` fell."""
    wrong = wrong_counts(table)
    right = table.right.sum(axis=1, dtype=np.int64)
    found: Patterns = distinct(np.column_stack([right, wrong]))
    return Counts(
        n=table.n_voters,
        right=found.rows[:, 0],
        wrong=found.rows[:, 1:],
        blank=table.n_voters - found.rows.sum(axis=1),
        place=found.place,
        times=found.counts,
    )
