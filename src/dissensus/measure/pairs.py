"""Errors two by two: how often both are wrong, how often they would be if independent, and whether on the same answer.

For voters i and j with error rates e and joint error J, phi = (J - e_i e_j) / sqrt(e_i q_i e_j q_j). It is not defined,
and left out of means, where a voter is always right or always wrong. The number of independent voters that n are worth,
n / (1 + (n - 1) rho), is exact for the variance of the mean and an order of magnitude for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.bootstrap import Reals, Units, units_of
from dissensus.measure.patterns import distinct
from dissensus.measure.special import Array, log_gamma, normal_cdf
from dissensus.measure.table import Flags, VoteTable, Whole

_BLOCK = 2**20

_KEPT = 20_000_000
"""Numbers up to which the features of all units are kept in memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairwise figures of n voters over Q questions with a known right answer; matrices have shape (n, n).

    Args:
        error: shape (n,): share of questions on which a voter is not right, blanks included.
        joint: share of questions on which both err; the diagonal is ``error``.
        both_wrong: questions on which both gave a wrong answer, none blank.
        same_wrong: those of them on which they gave the same.
        questions: Q.
    """

    error: Array
    joint: Array
    both_wrong: Whole
    same_wrong: Whole
    questions: int

    @property
    def product(self) -> Array:
        """What ``joint`` would be if errors were independent, off the diagonal."""
        found: Array = np.outer(self.error, self.error)
        return found

    @property
    def phi(self) -> Array:
        """Correlation of errors; NaN where it is not defined."""
        return phi_of(self.joint, self.error)

    def above(self) -> tuple[Whole, Whole]:
        """Row and column of each pair, i < j."""
        rows, columns = np.triu_indices(len(self.error), 1)
        return rows, columns


def phi_of(joint: Array, error: Array) -> Array:
    """Correlations from joint errors, shape (n, n), and error rates, shape (n,)."""
    spread = np.sqrt(error * (1 - error))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = (joint - np.outer(error, error)) / np.outer(spread, spread)
    found[:, spread == 0] = np.nan
    found[spread == 0, :] = np.nan
    return found


def pairs_of(table: VoteTable) -> Pairs:
    """Pairwise figures over all rows of ``table``, whose right answers are all known."""
    n = table.n_voters
    joint = np.zeros((n, n))
    both = np.zeros((n, n), dtype=np.int64)
    same = np.zeros((n, n), dtype=np.int64)
    step = max(1, _BLOCK * 4 // n)
    for start in range(0, table.n_questions, step):
        codes = table.codes[start : start + step].T.copy()
        right = table.right[start : start + step].T
        wrong = (codes >= 0) & ~right
        erring = (~right).astype(np.float32)
        joint += erring @ erring.T
        answered = wrong.astype(np.float32)
        both += (answered @ answered.T).astype(np.int64)
        for i in range(n):
            same[i, i + 1 :] += ((codes[i + 1 :] == codes[i]) & wrong[i]).sum(axis=1)
    same += same.T
    np.fill_diagonal(same, np.diag(both))
    joint /= table.n_questions
    return Pairs(
        error=np.diag(joint).copy(), joint=joint, both_wrong=both, same_wrong=same, questions=table.n_questions
    )


def phi_units(right: Flags, groups: Whole | None = None) -> Units:
    """Units for the mean correlation of errors: questions, errors of each voter, errors of each pair together."""
    n = right.shape[1]
    rows, columns = np.triu_indices(n, 1)

    def features(wrong: Reals) -> Reals:
        ones: Reals = np.ones((len(wrong), 1), dtype=wrong.dtype)
        return np.concatenate([ones, wrong, wrong[:, rows] * wrong[:, columns]], axis=1)

    if groups is not None:
        return units_of(np.asarray(features((~right).astype(float))), groups)
    found = distinct(right)
    wrong: Reals = np.asarray(1 - found.rows, dtype=np.float32 if right.shape[0] < 2**24 else np.float64)
    width = 1 + n + len(rows)
    if wrong.shape[0] * width <= _KEPT:
        kept = features(wrong)
        return Units(lambda block: kept[block], found.counts, width)
    return Units(lambda block: features(wrong[block]), found.counts, width)


def mean_phi(sums: Array, n: int) -> Array:
    """The statistic of :func:`phi_units`: mean over the pairs whose correlation is defined; NaN where none is."""
    rows, columns = np.triu_indices(n, 1)
    questions = sums[:, :1]
    error = sums[:, 1 : n + 1] / questions
    joint = sums[:, n + 1 :] / questions
    spread = np.sqrt(error * (1 - error))
    below = spread[:, rows] * spread[:, columns]
    defined = below > 1e-9
    phi = np.where(defined, joint - error[:, rows] * error[:, columns], 0.0) / np.where(defined, below, 1.0)
    many = defined.sum(axis=1)
    return np.where(many > 0, phi.sum(axis=1) / np.maximum(many, 1), np.nan)


def effective_voters(n: int, rho: float) -> float | None:
    """Independent voters, n / (1 + (n - 1) rho), with the same variance of the mean; None if it is not above zero."""
    inflation = 1 + (n - 1) * rho
    return n / inflation if inflation > 0 else None


def rho_from_sums(right: Array, right_squared: Array, questions: Array, n: int) -> Array:
    """Correlation of right answers among exchangeable voters, by U-statistics; NaN where it is not defined.

    Args:
        right: sum over questions of c, the votes that are right; any shape.
        right_squared: sum of c^2.
        questions: number of questions.
        n: votes a question.

    With p = mean c/n, j the share of right pairs within questions and pp that across questions, all without bias:
    (j - pp) / (p - pp). For voters of different accuracy it is below the mean phi.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        p = right / (n * questions)
        within = (right_squared - right) / (questions * n * (n - 1))
        across = (right**2 - right_squared) / (float(n) ** 2 * questions * (questions - 1))
        found: Array = np.asarray((within - across) / (p - across), dtype=float)
    defined = (right > 0) & (right < n * questions) & (questions > 1) & (n > 1)
    return np.where(defined, found, np.nan)


def chance_of_same(options: Whole | None, wrong: Whole) -> float | None:
    """Share of equal wrong answers if wrong voters chose alike among K - 1: the mean of 1/(K - 1) over the same cases.

    Args:
        options: shape (Q,): K; 0 where it is not known.
        wrong: shape (Q,): wrong answers to each question, blanks left out.

    Returns:
        None where K is not known for a case, or there is no case.
    """
    cases = wrong * (wrong - 1) / 2
    if options is None or not cases.sum() or (options[cases > 0] < 2).any():
        return None
    counted = cases > 0
    return float((cases[counted] / (options[counted] - 1)).sum() / cases.sum())


def normal_p(pairs: Pairs) -> Array:
    """Two-sided p of each pair by the normal approximation with the exact variance; for panels with very many pairs."""
    i, j = pairs.above()
    spread = pairs.error * (1 - pairs.error)
    sd = np.sqrt(spread[i] * spread[j] / max(pairs.questions - 1, 1))
    distance = np.abs(pairs.joint[i, j] - pairs.product[i, j])
    return np.asarray(2 * normal_cdf(-np.divide(distance, sd, out=np.zeros_like(sd), where=sd > 0)))


def exact_p(pairs: Pairs) -> Array:
    """Two-sided mid-p of each pair, i < j."""
    wrong = np.rint(pairs.error * pairs.questions).astype(int)
    both = np.rint(pairs.joint * pairs.questions).astype(int)
    rows, columns = pairs.above()
    return np.array(
        [
            mid_p(int(both[i, j]), int(wrong[i]), int(wrong[j]), pairs.questions)
            for i, j in zip(rows, columns, strict=True)
        ]
    )


def mid_p(overlap: int, first: int, second: int, questions: int) -> float:
    """Two-sided mid-p of the hypergeometric test that two voters err independently (Lancaster 1961), doubled tail.

    Args:
        overlap: questions on which both err.
        first: questions on which one errs.
        second: questions on which the other does.
        questions: all of them.
    """
    low, high = max(0, first + second - questions), min(first, second)
    if low == high:
        return 1.0
    mean = first * second / questions
    deviation = np.sqrt(mean * (1 - first / questions) * (questions - second) / (questions - 1))
    reach = 45 * deviation + 50
    from_, to = max(low, int(min(overlap, mean) - reach)), min(high, int(max(overlap, mean) + reach))
    k = np.arange(from_, to + 1, dtype=float)
    log_chance = (
        _log_choose(float(first), k)
        + _log_choose(float(questions - first), second - k)
        - _log_choose(float(questions), np.array([float(second)]))
    )
    chance = np.exp(log_chance)
    at = float(chance[overlap - from_])
    above, below = float(chance[overlap - from_ + 1 :].sum()), float(chance[: overlap - from_].sum())
    return min(1.0, 2 * (min(above, below) + at / 2))


def _log_choose(top: float, k: Array) -> Array:
    return np.asarray(log_gamma(top + 1) - log_gamma(k + 1) - log_gamma(top - k + 1))


def holm(p: Array) -> Array:
    """p-values corrected for their number by Holm's step-down rule (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    found = np.empty_like(p)
    found[order] = np.minimum(stepped, 1.0)
    return found
