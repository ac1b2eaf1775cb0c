"""Which voters to keep: a panel built voter by voter, by accuracy or by accuracy per cost, judged on other questions.

The next voter is the one that adds most right answers to the plurality (per unit of its cost), on the questions learned
from; what the panel of each size is worth is measured on questions that had no say in choosing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dissensus.measure.bootstrap import interval, mean_of_values, paired, units_of_values
from dissensus.measure.calibration import different
from dissensus.measure.candidates import Candidates, candidates_of
from dissensus.measure.crossfit import folds_of
from dissensus.measure.intervals import Share, share
from dissensus.measure.patterns import distinct
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable, Whole

FEWEST = 50
"""Different questions with a known right answer that choosing takes at least."""

MOST_VOTERS = 60
"""Voters beyond which no panel is chosen: each step tries all that are left."""

By = Literal["accuracy", "accuracy per cost"]


@dataclass(frozen=True, slots=True)
class Size:
    """The panel of one size.

    Args:
        n: voters.
        added: the voter that all questions together would add at this size.
        accuracy: of panels of this size on questions that had no say in choosing them.
        minus_all: that less the accuracy of all voters together, with interval, paired by question.
        cost: of the panel that all questions together would choose; None where costs are not known.
    """

    n: int
    added: str
    accuracy: Share
    minus_all: float
    ci: tuple[float, float] | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A panel.

    Args:
        by: what each step maximised.
        panel: the voters, in the order chosen, of the smallest size that is not shown to be worse than the best size.
        best: the size with the highest accuracy.
        sizes: every size.
    """

    by: By
    panel: tuple[str, ...]
    best: int
    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Panels chosen; empty with a sentence where none could be."""

    choices: tuple[Choice, ...]
    folds: int
    sentence: str = ""


def choose(table: VoteTable, *, folds: Whole | None = None, bootstrap: int = 2000, seed: int = 0) -> Chosen:
    """Choose voters by accuracy, and by accuracy per cost where every voter's cost is known and above 0.

    Args:
        table: questions without a known right answer are left out.
        folds: shape (Q,): part of each question of ``table``; None: five parts by name.
        bootstrap: drawings of questions for intervals.
        seed: of all drawings.
    """
    labels = different(table)
    if table.n_voters < 3:
        return Chosen((), 0, "There is nothing to choose from: fewer than three voters.")
    if table.n_voters > MOST_VOTERS:
        return Chosen((), 0, f"Panels are chosen from at most {MOST_VOTERS} voters.")
    if labels < FEWEST:
        return Chosen((), 0, f"Not enough labels: {labels} of at least {FEWEST} right answers; no panel is chosen.")
    known = table.rows(table.labelled)
    part = folds_of(known, seed=seed) if folds is None else folds[table.labelled]
    voted = candidates_of(known)
    costs = _costs(table)
    ways: list[tuple[By, Array]] = [("accuracy", np.ones(table.n_voters))]
    if (costs > 0).all() and float(np.ptp(costs)) > 0:
        ways.append(("accuracy per cost", costs))
    choices = tuple(_choice(known, voted, part, by, price, bootstrap=bootstrap, seed=seed) for by, price in ways)
    return Chosen(choices, len(np.unique(part)))


def _choice(
    table: VoteTable, voted: Candidates, part: Whole, by: By, price: Array, *, bootstrap: int, seed: int
) -> Choice:
    n, costs = table.n_voters, _costs(table)
    credit = np.zeros((n, table.n_questions))
    for one in np.unique(part):
        here = part == one
        order = path(voted.rows(~here), price, table.voters)
        credit[:, here] = running_credit(voted.rows(here), order)
    order = path(voted, price, table.voters)
    everyone = voted.credit(voted.leaders(voted.counts()))
    groups = table.groups
    sizes = []
    for n_ in range(1, n + 1):
        difference = credit[n_ - 1] - everyone
        spent = float(costs[order[:n_]].sum())
        sizes.append(
            Size(
                n=n_,
                added=table.voters[order[n_ - 1]],
                accuracy=share(credit[n_ - 1], groups),
                minus_all=paired(difference, groups)[0],
                ci=interval(units_of_values(difference, groups), mean_of_values, times=bootstrap, seed=seed),
                cost=spent if np.isfinite(spent) else None,
            )
        )
    means = credit.mean(axis=1)
    best = int(np.argmax(means >= means.max() - 1e-12))
    enough = next(
        size for size in range(n) if size == best or not _worse(credit[size] - credit[best], table, bootstrap, seed)
    )
    return Choice(by, tuple(table.voters[place] for place in order[: enough + 1]), best + 1, tuple(sizes))


def _costs(table: VoteTable) -> Array:
    """Cost of each voter, NaN where it is not known."""
    return np.array([table.costs.get(voter, np.nan) for voter in table.voters])


def _worse(difference: Array, table: VoteTable, bootstrap: int, seed: int) -> bool:
    found = interval(units_of_values(difference, table.groups), mean_of_values, times=bootstrap, seed=seed)
    return found is not None and found[1] < 0


def path(voted: Candidates, price: Array, names: Sequence[str]) -> list[int]:
    """Places of all voters in the order in which they are chosen.

    Each step takes the voter with the largest gain of right answers / price; where nobody gains, the one that loses
    least; then the cheaper, then the first by name.
    """
    found = distinct(np.column_stack([voted.local + 1, voted.right + 1]))
    n = voted.local.shape[1]
    local, right, times = found.rows[:, :n] - 1, found.rows[:, n] - 1, found.counts.astype(float)
    state = _State(len(local), voted.width)
    chosen: list[int] = []
    left = list(range(n))
    now = 0.0
    while left:
        scored = []
        for voter in left:
            gain = float(times @ state.credit_with(local[:, voter], right)) - now
            worth = gain / price[voter] if gain > 0 else gain
            scored.append((-round(worth, 9), float(price[voter]), names[voter], voter))
        voter = min(scored)[3]
        state.add(local[:, voter])
        now = float(times @ state.credit(right))
        chosen.append(voter)
        left.remove(voter)
    return chosen


def running_credit(voted: Candidates, order: Sequence[int]) -> Array:
    """Credit of the plurality of the first 1 … n voters of ``order``, shape (n, Q)."""
    state = _State(len(voted.local), voted.width)
    found = np.zeros((len(order), len(voted.local)))
    for place, voter in enumerate(order):
        state.add(voted.local[:, voter].astype(np.int64))
        found[place] = state.credit(voted.right)
    return found


class _State:
    """Votes counted so far: adding one voter changes one count a question."""

    def __init__(self, rows: int, width: int) -> None:
        self._counts = np.zeros((rows, width), dtype=np.int64)
        self._leader = np.zeros(rows, dtype=np.int64)
        self._tied = np.zeros(rows, dtype=np.int64)
        self._rows = np.arange(rows)

    def _after(self, vote: Whole) -> tuple[Whole, Whole]:
        """Votes of the leaders, and how many they are, once ``vote`` (shape (Q,), -1 blank) is counted."""
        mine = self._counts[self._rows, np.maximum(vote, 0)] + 1
        voted = vote >= 0
        ahead, level = voted & (mine > self._leader), voted & (mine == self._leader)
        return np.where(ahead, mine, self._leader), np.where(ahead, 1, self._tied + level)

    def credit_with(self, vote: Whole, right: Whole) -> Array:
        """Credit of each question if ``vote`` were counted too."""
        leader, tied = self._after(vote)
        votes = self._counts[self._rows, np.maximum(right, 0)] + (vote == right)
        return np.where((right >= 0) & (votes == leader) & (votes > 0), 1.0 / np.maximum(tied, 1), 0.0)

    def credit(self, right: Whole) -> Array:
        """Credit of each question."""
        votes = self._counts[self._rows, np.maximum(right, 0)]
        return np.where((right >= 0) & (votes == self._leader) & (votes > 0), 1.0 / np.maximum(self._tied, 1), 0.0)

    def add(self, vote: Whole) -> None:
        """Count ``vote``."""
        self._leader, self._tied = self._after(vote)
        voted = np.flatnonzero(vote >= 0)
        self._counts[voted, vote[voted]] += 1
