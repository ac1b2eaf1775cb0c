"""The panel against its best member: on the same questions, and with the member chosen on others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dissensus.measure.bootstrap import interval, mean_of_values, paired, units_of_values
from dissensus.measure.patterns import distinct
from dissensus.measure.planning import detectable_mean
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import Tallies

_SPLITS = 200


@dataclass(frozen=True, slots=True)
class Best:
    """The best single voter.

    Args:
        voter: highest accuracy on these questions; the first by name of those that have it.
        accuracy: on these questions, on which it was chosen: optimistic.
        crossfit: accuracy of a voter chosen on one half of the questions, on the other half; mean of many halvings.
            None for fewer than two questions.
        minus: panel minus best, its standard error and 95 % interval, paired by question.
        differing: share of questions on which they differ at all.
        detectable: smallest difference that these questions would show four times in five; None if none.
    """

    voter: str
    accuracy: float
    crossfit: float | None
    minus: float
    error: float | None
    ci: tuple[float, float] | None
    differing: float
    detectable: float | None


def best_single(table: VoteTable, tallies: Tallies, *, times: int, seed: int) -> Best:
    """Compare plurality with the best voter of ``table``, whose right answers are all known."""
    accuracy = table.right.mean(axis=0)
    names = sorted(range(table.n_voters), key=lambda place: (-accuracy[place], table.voters[place]))
    best = names[0]
    difference = tallies.credit - table.right[:, best]
    minus, error = paired(difference, table.groups)
    differing = float((difference != 0).mean())
    asked = table.n_questions if table.groups is None else len(np.unique(table.groups))
    least = math.inf if error is None else detectable_mean(asked, error * math.sqrt(asked), differing)
    return Best(
        voter=table.voters[best],
        accuracy=float(accuracy[best]),
        crossfit=crossfit(table, seed=seed),
        minus=minus,
        error=error,
        ci=interval(units_of_values(difference, table.groups), mean_of_values, times=times, seed=seed),
        differing=differing,
        detectable=least if math.isfinite(least) else None,
    )


def crossfit(table: VoteTable, *, seed: int) -> float | None:
    """Accuracy of the voter who is best on a random half, on the other half; ties between voters are averaged.

    Questions whose voters were right in the same way are alike, so a halving is one multivariate hypergeometric draw.
    """
    if table.n_questions < 2:
        return None
    found = distinct(table.right)
    rng = np.random.default_rng(seed)
    half = table.n_questions // 2
    first = rng.multivariate_hypergeometric(found.counts, half, size=_SPLITS, method="marginals")
    second = found.counts - first
    rows = found.rows.astype(float)
    there: Array = first @ rows
    here: Array = second @ rows
    scores = (_chosen(there, here) / (table.n_questions - half) + _chosen(here, there) / half) / 2
    return float(scores.mean())


def _chosen(by: Array, scored: Array) -> Array:
    """Mean of ``scored`` over the voters that are best by ``by``; rows are halvings."""
    best = by == by.max(axis=1, keepdims=True)
    found: Array = (scored * best).sum(axis=1) / best.sum(axis=1)
    return found
