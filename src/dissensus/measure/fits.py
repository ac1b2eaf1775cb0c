"""Models of a panel fitted to how many of its voters were right, each with a verdict.

The data are counts: of Q questions, how many had k of m voters right, k = 0 … m. A model fitted to m voters answers
"and with N?"; whether to believe it is a second question, so every fit carries a goodness-of-fit test, and gives a
ceiling only if it survived that test. Surviving is not proof: models that fit alike can have different ceilings, which
:mod:`dissensus.measure.bounds` shows.

More voters means more of the same kind, drawn from where the m came from, on questions of the same kind.

A fitted model's accuracy is that of a majority between right and wrong. Where wrong answers differ among each other,
plurality does better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.correlated import beta_binomial_counts, beta_binomial_limit, beta_binomial_majority
from dissensus.measure.mixtures import Mixture, trap_mixture
from dissensus.measure.special import (
    Array,
    Numbers,
    chi2_above,
    least,
    log_gamma,
    root,
    x_log_y,
)

Name = Literal["independent", "trap", "beta-binomial", "two classes", "any mixture"]
Verdict = Literal["survived", "rejected", "untested"]

LEVEL = 0.05
"""A fit whose test has a p below this is rejected."""

POOLED = 5.0
"""The test joins neighbouring counts until each cell has this many expected questions: chi-square needs it."""

GRID = 401
"""Points of the non-parametric mixture on [0, 1]; one half is among them."""

STEPS = 20_000
"""Steps of its EM; fewer above a hundred voters, who determine it better."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What very many voters would reach, according to one fit.

    Args:
        fit: which.
        value: the accuracy, or None where the fit may not be asked.
        verdict: whether the fit survived its test.
        sentence: all of this in words; a value is never printed without it.
    """

    fit: Name
    value: float | None
    verdict: Verdict
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A model fitted to counts.

    Args:
        name: the model.
        parameters: its parameters by name.
        expected: shape (m + 1,): the model's share of questions with k of m right.
        questions: Q, the number of questions fitted to.
        g2: 2 Q sum f ln(f / expected) over all cells.
        test_g2: the same over pooled cells, which the verdict rests on.
        freedom: degrees of freedom of that test; below 1 nothing can be tested.
        p_value: its chi-square tail.
        mixture: the distribution of Theta where it has finitely many points.
        together_p: p of a test that sees more than counts do: for independent voters, of their errors dealt anew.
    """

    name: Name
    parameters: Mapping[str, float]
    expected: Array
    questions: float
    g2: float
    test_g2: float
    freedom: int
    p_value: float
    mixture: Mixture | None
    together_p: float = math.nan

    @property
    def verdict(self) -> Verdict:
        """Whether the data let the model stand."""
        if self.together_p < LEVEL:
            return "rejected"
        if self.freedom < 1:
            return "untested"
        return "rejected" if self.p_value < LEVEL else "survived"

    def majority(self, n: Numbers) -> Array:
        """The majority's accuracy with ``n`` voters if the model were true. Look at ``verdict`` before printing it."""
        if self.mixture is None:
            return beta_binomial_majority(n, self.parameters["p"], self.parameters["rho"])
        return self.mixture.majority(n)

    @property
    def limit(self) -> float:
        """The same for very many voters. Print it with :meth:`ceiling`, which may refuse."""
        if self.mixture is None:
            return beta_binomial_limit(self.parameters["p"], self.parameters["rho"])
        return self.mixture.limit

    def ceiling(self) -> Ceiling:
        """The limit, if the fit survived its test and the data determine it; else a sentence that says why not."""
        test = f"G2 = {self.test_g2:.1f} on {self.freedom} degrees of freedom, p {_p(self.p_value)}"
        if self.together_p < LEVEL:
            said = f"{self.name}: rejected (errors together, p {_p(self.together_p)}), so it gives no ceiling"
        elif self.verdict == "rejected":
            said = f"{self.name}: rejected ({test}), so it gives no ceiling"
        elif self.verdict == "untested":
            said = f"{self.name}: too few voters or questions to test it, so it gives no ceiling"
        elif self.name == "any mixture":
            said = f"{self.name}: {len(self.expected) - 1} voters do not determine its ceiling; see the bounds"
        else:
            said = f"{self.name}: ceiling {self.limit:.3f} if it is true; it survived its test ({test})"
            return Ceiling(fit=self.name, value=self.limit, verdict=self.verdict, sentence=said)
        return Ceiling(fit=self.name, value=None, verdict=self.verdict, sentence=said)


def subset_counts(counts: Numbers, m: int) -> Array:
    """Counts for ``m`` voters from those for M: the average over all subsets of m voters, exactly.

    Shape (M + 1,) to (m + 1,). A question with c of M right is one with k of m right in C(c, k) C(M - c, m - k) of
    C(M, m) subsets. The result is smoother than a sample of m voters, so tests on it reject too rarely.
    """
    given = checked_counts(counts)
    most = given.size - 1
    if not 1 <= m <= most:
        raise UsageError(f"There are {most} voters: subsets of {m} cannot be drawn from them.")
    c, k = np.arange(most + 1.0), np.arange(m + 1.0)[:, None]
    with np.errstate(invalid="ignore"):
        log_ways = (
            _log_choose(c, k) + _log_choose(most - c, m - k) - _log_choose(np.array(float(most)), np.array(float(m)))
        )
    return np.asarray(np.exp(log_ways) @ given)


def fit_independent(counts: Numbers) -> Fit:
    """Independent voters of one accuracy: the binomial. Source of Condorcet's promise; nearly always rejected."""
    given = checked_counts(counts)
    p = _mean(given)
    return _fit("independent", {"p": p}, Mixture([p], [1.0]), given, free=1)


def fit_trap(counts: Numbers) -> Fit:
    """The trap model: a zero-inflated binomial, by maximum likelihood in closed form.

    With f+ the share of questions where anybody was right and s the mean share right among those, p0 solves
    p0 / (1 - (1 - p0)^m) = s, and the traps are 1 - f+ / (1 - (1 - p0)^m) of all questions. Fewer hopeless questions
    than even independent voters would have means no traps.
    """
    given = checked_counts(counts)
    m = given.size - 1
    some = float(given[1:].sum() / given.sum())
    share = _mean(given) / some if some > 0 else 0.0
    if some == 0:
        traps, elsewhere = 1.0, 0.0
    elif share >= 1:
        traps, elsewhere = 1 - some, 1.0
    else:
        elsewhere = root(lambda p: _share_where_any(p, m) - share, 0.0, 1.0) if share > 1 / m else 0.0
        hit = -math.expm1(m * math.log1p(-elsewhere)) if elsewhere < 1 else 1.0
        traps = 1 - some / hit if hit > 0 else -1.0
        if traps < 0:
            traps, elsewhere = 0.0, _mean(given)
    mixture = trap_mixture(traps, elsewhere)
    return _fit("trap", {"traps": traps, "p0": elsewhere}, mixture, given, free=2)


def fit_beta_binomial(counts: Numbers) -> Fit:
    """The beta-binomial by maximum likelihood, in p and rho."""
    given = checked_counts(counts)
    m, p = given.size - 1, _mean(given)
    if p in {0.0, 1.0} or m == 1:
        return _fit("beta-binomial", {"p": p, "rho": 0.0}, None, given, free=2)

    def loss(point: Array) -> float:
        return -_log_likelihood(given, beta_binomial_counts(m, _unit(point[0]), _unit(point[1])))

    starts = [_point(p, rho) for rho in (0.02, 0.3, 0.8)]
    found = _best_of(loss, starts)
    fitted = {"p": _unit(found[0]), "rho": _unit(found[1])}
    if loss(found) >= -_log_likelihood(given, beta_binomial_counts(m, p, 0.0)):
        fitted = {"p": p, "rho": 0.0}  # the best is at the edge: no correlation at all
    return _fit("beta-binomial", fitted, None, given, free=2)


def fit_two_classes(counts: Numbers) -> Fit:
    """Two kinds of questions, each with its own chance to be right, by maximum likelihood."""
    given = checked_counts(counts)
    m, p = given.size - 1, _mean(given)
    if p in {0.0, 1.0} or m == 1:
        return _fit("two classes", {"share": 1.0, "high": p, "low": p}, Mixture([p], [1.0]), given, free=3)

    def loss(point: Array) -> float:
        share, high, low = map(_unit, point)
        return -_log_likelihood(given, share * _binomial(m, high) + (1 - share) * _binomial(m, low))

    starts = [_point(share, 1 - (1 - p) * gap, p * gap) for share in (0.2, 0.5, 0.8) for gap in (0.1, 0.6)]
    share, high, low = map(_unit, _best_of(loss, starts))
    if high < low:
        share, high, low = 1 - share, low, high
    fitted = {"share": share, "high": high, "low": low}
    return _fit("two classes", fitted, Mixture([high, low], [share, 1 - share]), given, free=3)


def fit_any_mixture(counts: Numbers) -> Fit:
    """The mixture of binomials that fits best, with no form assumed: maximum likelihood on a grid, by EM.

    Where some mixture gives the counts exactly, so do endlessly many; EM from a flat start, stopped after a fixed
    number of steps, goes to a smooth one. Its predictions for a few more voters are stable; its limit is not determined
    by m voters, so it gives no ceiling.

    The test asks whether *any* mixture can be true, with m degrees of freedom, which is more than it has, so that it
    rejects too rarely. Rejected means that the voters are not interchangeable, or disagree more than chance.
    """
    given = checked_counts(counts)
    theta = np.linspace(0, 1, GRID)
    weights = _by_expectation(given / given.sum(), binomial_matrix(given.size - 1, theta))
    mixture = Mixture(theta, weights / weights.sum())
    fitted = {"accuracy": mixture.accuracy, "rho": mixture.correlation}
    return _fit("any mixture", fitted, mixture, given, free=0)


def binomial_matrix(m: int, theta: Array) -> Array:
    """P(k of ``m`` right) for each chance in ``theta``: shape (m + 1, len(theta)), columns sum to one."""
    k = np.arange(m + 1.0)[:, None]
    log_chance = x_log_y(k, theta) + x_log_y(m - k, 1 - theta)
    return np.asarray(np.exp(_log_choose(np.array(float(m)), k) + log_chance))


def _by_expectation(shares: Array, matrix: Array) -> Array:
    """Weights by EM: w <- w * A'(f / (A w)), from equal ones."""
    weights = np.full(matrix.shape[1], 1 / matrix.shape[1])
    for _ in range(min(STEPS, STEPS * 100 // matrix.shape[0])):
        weights = weights * ((shares / (matrix @ weights)) @ matrix)
    return weights


def _fit(name: Name, parameters: Mapping[str, float], mixture: Mixture | None, given: Array, *, free: int) -> Fit:
    m, questions = given.size - 1, float(given.sum())
    if mixture is None:
        expected = beta_binomial_counts(m, parameters["p"], parameters["rho"])
    else:
        expected = binomial_matrix(m, mixture.points) @ mixture.weights
    cells = _pool(given, expected * questions)
    freedom, test = cells[0].size - 1 - free, _g2(*cells)
    return Fit(
        name=name,
        parameters=dict(parameters),
        expected=expected,
        questions=questions,
        g2=_g2(given, expected * questions),
        test_g2=test,
        freedom=freedom,
        p_value=float(chi2_above(test, freedom)) if freedom > 0 else math.nan,
        mixture=mixture,
    )


def _pool(given: Array, expected: Array) -> tuple[Array, Array]:
    """Neighbouring cells joined until each expects at least POOLED questions; a rest at the end joins its neighbour."""
    cells: list[list[float]] = []
    seen = hoped = 0.0
    for one, two in zip(given, expected, strict=True):
        seen, hoped = seen + float(one), hoped + float(two)
        if hoped >= POOLED:
            cells.append([seen, hoped])
            seen = hoped = 0.0
    if cells:
        cells[-1][0] += seen
        cells[-1][1] += hoped
    else:
        cells.append([seen, hoped])
    return np.array([cell[0] for cell in cells]), np.array([cell[1] for cell in cells])


def _g2(given: Array, expected: Array) -> float:
    seen = given > 1e-9  # an average over drawings may leave a cell with less than any question could fill
    with np.errstate(divide="ignore"):
        return max(0.0, float(2 * (given[seen] * np.log(given[seen] / expected[seen])).sum()))


def checked_counts(counts: Numbers) -> Array:
    """``counts`` as an array; UsageError unless they are finite, none below zero, and not all zero."""
    given = np.asarray(counts, dtype=float)
    if given.ndim != 1 or given.size < 2 or not np.isfinite(given).all() or (given < 0).any() or given.sum() <= 0:
        raise UsageError(
            "Counts must be numbers, none below zero and not all zero: how many questions had 0, 1, … m voters right."
        )
    return given


def _mean(given: Array) -> float:
    return float(np.arange(given.size) @ given / given.sum() / (given.size - 1))


def _share_where_any(p: float, m: int) -> float:
    return p / -math.expm1(m * math.log1p(-p)) if 0 < p < 1 else (1 / m if p <= 0 else 1.0)


def _log_choose(n: Array, k: Array) -> Array:
    """Log of C(n, k), -inf outside 0 <= k <= n."""
    inside = (k >= 0) & (k <= n)
    low, high = np.where(inside, k, 0), np.where(inside, n - k, n)
    return np.asarray(np.where(inside, log_gamma(n + 1) - log_gamma(low + 1) - log_gamma(high + 1), -np.inf))


def _binomial(m: int, p: float) -> Array:
    return binomial_matrix(m, np.array([p]))[:, 0]


def _log_likelihood(given: Array, model: Array) -> float:
    return float(x_log_y(given, np.maximum(model, 1e-300)).sum() / given.sum())


def _best_of(loss: Callable[[Array], float], starts: Iterable[Numbers]) -> Array:
    found = [least(loss, start) for start in starts]
    return found[int(np.argmin([loss(one) for one in found]))]


def _unit(x: float) -> float:
    return 1 / (1 + math.exp(-min(40.0, max(-40.0, float(x)))))


def _point(*probabilities: float) -> list[float]:
    return [math.log(p / (1 - p)) for p in probabilities]


def _p(value: float) -> str:
    if value >= 0.001:
        return f"= {value:.3f}"
    return f"= {value:.0e}" if value > 0 else "< 1e-300"
