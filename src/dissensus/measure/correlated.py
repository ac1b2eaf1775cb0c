"""Voters whose errors go together: two continuous models, and what correlation alone does and does not promise.

==================  =============================================================================================
model               a question's chance Theta (see :mod:`dissensus.measure.mixtures`)
==================  =============================================================================================
beta-binomial       Beta(p (1/rho - 1), q (1/rho - 1)); every kind of question from hopeless to trivial
Gaussian            Phi((Phi^-1(p) + sqrt(r) Z) / sqrt(1 - r)): one shared factor with latent correlation r
trap                0 or p0, in :mod:`dissensus.measure.mixtures` and :mod:`dissensus.measure.jury`
==================  =============================================================================================

With one accuracy and one correlation they give different curves: at p = .7, rho = .2 nine voters reach .88 (trap), .78
(beta-binomial) or .79 (Gaussian). A figure from one of them says which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.inputs import probability, voters
from dissensus.measure.mixtures import majority_given
from dissensus.measure.special import (
    Array,
    Numbers,
    incomplete_beta,
    log_beta,
    log_gamma,
    normal_cdf,
    normal_quantile,
    root,
)

_REACH = 9.0
"""Integrals over a bell curve stop this many of its widths out: what is left is below 1e-18."""

_HARDLY = 1e-13
"""A correlation below this makes the parameters of a beta distribution too large for its function."""

_STEP = 0.05
"""Step of those integrals in the same widths. The trapezoid rule on bell curves converges faster than any power."""


def beta_binomial_counts(n: int, p: float, rho: float) -> Array:
    """P(k of ``n`` voters are right), shape (n + 1,), under the beta-binomial with accuracy p and correlation rho.

    By products of (p + i t), (q + i t) and (1 + i t) with t = rho / (1 - rho), which stay exact down to rho = 0, where
    quotients of gamma functions lose every digit.
    """
    size = int(voters(n))
    accuracy, correlation = float(probability(p, "The accuracy p")), float(probability(rho, "The correlation rho"))
    if correlation == 1:  # all voters do the same
        found = np.zeros(size + 1)
        found[0], found[-1] = 1 - accuracy, accuracy
        return found
    spread = np.arange(size) * (correlation / (1 - correlation))
    with np.errstate(divide="ignore"):
        right = np.concatenate([[0.0], np.cumsum(np.log(accuracy + spread))])
        wrong = np.concatenate([[0.0], np.cumsum(np.log((1 - accuracy) + spread))])
    k = np.arange(size + 1)
    ways = log_gamma(size + 1) - log_gamma(k + 1) - log_gamma(size - k + 1)
    chances = np.exp(ways + right + wrong[::-1] - np.log1p(spread).sum())
    return np.asarray(chances / chances.sum())  # the logs of large factorials cost a few last digits, all the same way


def beta_binomial_majority(n: Numbers, p: float, rho: float) -> Array:
    """P_n under the beta-binomial, for each n; ties of an even n count half. Exact sums, no integration."""
    sizes = voters(n)
    found = [_above_half(beta_binomial_counts(int(size), p, rho)) for size in sizes.ravel()]
    return np.asarray(found).reshape(sizes.shape)


def beta_binomial_limit(p: float, rho: float) -> float:
    """P_n of very many voters: 1 - I_{1/2}(a, b), with a = p (1/rho - 1), b = q (1/rho - 1)."""
    accuracy, correlation = float(probability(p, "The accuracy p")), float(probability(rho, "The correlation rho"))
    if correlation in {0.0, 1.0} or accuracy in {0.0, 1.0}:
        return accuracy if correlation == 1 else _step(accuracy)
    if correlation < _HARDLY:  # Theta is normal to every digit there
        distance = (accuracy - 0.5) / math.sqrt(accuracy * (1 - accuracy)) / math.sqrt(correlation)
        return float(normal_cdf(distance))
    scale = 1 / correlation - 1
    # the limit is the chance that Theta is above one half: the same function from its other end
    return float(incomplete_beta((1 - accuracy) * scale, accuracy * scale, 0.5))


def beta_binomial_unanimous(n: int, p: float, rho: float) -> tuple[float, float]:
    """P(all ``n`` agree on right or wrong), and P(they are wrong, given that)."""
    counts = beta_binomial_counts(n, p, rho)
    both = float(counts[0] + counts[-1]) if n > 1 else 1.0
    return both, float(counts[0]) / both


def gaussian_majority(n: Numbers, p: float, latent: float) -> Array:
    """P_n under the Gaussian one-factor model with latent correlation ``latent``, for each n.

    In u = Phi^-1(Theta), which is normal with mean m = Phi^-1(p) / sqrt(1 - r) and variance s^2 = r / (1 - r), P_n is
    the integral of the majority's curve G_n(u) against that bell, or, by parts, of the bell's tail against G_n's own
    bell. The wider of the two bells carries the integral, so that nothing in it is steep at any r or n.
    """
    sizes = voters(n)
    centre, spread = _latent(p, latent)
    if spread in {0.0, math.inf}:
        found = majority_given(p, sizes) if spread == 0 else np.full(sizes.shape, float(p))
        return np.asarray(found, dtype=float)
    each = [_gaussian_one(float(size), centre, spread) for size in sizes.ravel()]
    return np.asarray(each).reshape(sizes.shape)


def gaussian_unanimous(n: int, p: float, latent: float) -> tuple[float, float]:
    """P(all ``n`` agree on right or wrong) under the Gaussian model, and P(they are wrong, given that)."""
    size = float(voters(n))
    centre, spread = _latent(p, latent)
    if spread in {0.0, math.inf}:
        right, wrong = (p**size, (1 - p) ** size) if spread == 0 else (p, 1 - p)
    else:
        right, wrong = _all_of(size, centre, spread), _all_of(size, -centre, spread)
    both = right + wrong if size > 1 else 1.0
    return both, wrong / both if both > 0 else math.nan


def gaussian_limit(p: float, latent: float) -> float:
    """P_n of very many voters: Phi(Phi^-1(p) / sqrt(r))."""
    accuracy, r = float(probability(p, "The accuracy p")), float(probability(latent, "The latent correlation"))
    if r == 0 or accuracy in {0.0, 1.0}:
        return _step(accuracy)
    return float(normal_cdf(normal_quantile(accuracy) / math.sqrt(r)))


def gaussian_correlation(p: float, latent: float) -> float:
    """Correlation rho of right-or-wrong answers at latent correlation r: the bivariate density summed over s up to r.

    With s = sin t this is the integral of exp(-c^2 / (1 + sin t)) / (2 pi p q) over t up to asin r, c = Phi^-1(p).
    """
    accuracy, r = float(probability(p, "The accuracy p")), float(probability(latent, "The latent correlation"))
    if accuracy in {0.0, 1.0}:
        return math.nan
    c = float(normal_quantile(accuracy))
    nodes, weights = np.polynomial.legendre.leggauss(64)
    half = math.asin(r) / 2
    inside = np.exp(-(c**2) / (1 + np.sin(half * (nodes + 1))))
    return float(half * (weights @ inside) / (2 * math.pi * accuracy * (1 - accuracy)))


def gaussian_latent(p: float, rho: float) -> float:
    """The latent correlation at which right-or-wrong answers have correlation ``rho``; the inverse of the above."""
    accuracy, correlation = float(probability(p, "The accuracy p")), float(probability(rho, "The correlation rho"))
    if accuracy in {0.0, 1.0} or correlation in {0.0, 1.0}:
        return correlation
    if correlation >= gaussian_correlation(accuracy, 1.0):  # one, but for rounding
        return 1.0
    return root(lambda r: gaussian_correlation(accuracy, r) - correlation, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Ladha:
    """What the correlation alone promises.

    Args:
        threshold: below this rho the majority beats one voter for sure; at or below 0 that promises nothing.
        guaranteed: whether the given correlation is below it.
    """

    threshold: float
    guaranteed: bool

    def __str__(self) -> str:
        if self.guaranteed:
            return "the majority is better than one voter, whatever else holds (Ladha's condition)"
        return "no guarantee that the majority beats one voter (Ladha's condition is not met)"


def ladha(n: float, p: float, rho: float) -> Ladha:
    """Whether ``n`` voters of accuracy ``p`` and mean correlation ``rho`` must beat one of them.

    Sufficient, not necessary: rho < 1 - (n / (n - 1)) (p - 1/4) / p^2 (Ladha 1992, in the form that Cantelli's
    inequality gives). ``n`` may be infinite. Measured panels of language models (rho .35 to .75) never meet it.
    With p at most 1/2, or one voter, there is no such condition: the threshold is NaN.
    """
    accuracy = float(probability(p, "The accuracy p"))
    if n != math.inf:
        voters(n)
    if not -1 <= rho <= 1:
        raise UsageError(f"A correlation cannot be {rho:g}: it lies between -1 and 1.")
    if accuracy <= 0.5 or n == 1:
        return Ladha(threshold=math.nan, guaranteed=False)
    factor = 1.0 if n == math.inf else n / (n - 1)
    threshold = 1 - factor * (accuracy - 0.25) / accuracy**2
    return Ladha(threshold=threshold, guaranteed=rho < threshold)


def bahadur_majority(n: int, p: float, correlation: float) -> float:
    """P_n when pairs have this correlation and all higher correlations are zero (Bahadur 1961, second order), n odd.

    I_p(k, k) + c (n - 1) (1/2 - p) (p q)^(k - 1) / (2 B(k, k)), k = (n + 1) / 2.

    Raises:
        UsageError: n is even, or no distribution has these moments: some pattern would have a chance below zero.
    """
    size, accuracy = int(voters(n)), float(probability(p, "The accuracy p"))
    if size % 2 == 0:
        raise UsageError("Bahadur's formula is for an odd number of voters.")
    low, high = bahadur_range(size, accuracy)
    if not low - 1e-12 <= correlation <= high + 1e-12:
        raise UsageError(
            f"{size} voters of accuracy {accuracy:g} cannot have pair correlation {correlation:g} with no higher ones: "
            f"it lies between {low:.4g} and {high:.4g}.",
            next_step="Use a mixture model instead: beta-binomial, Gaussian or trap.",
        )
    k = (size + 1) / 2
    shift = correlation * (size - 1) * (0.5 - accuracy) * (accuracy * (1 - accuracy)) ** (k - 1) / 2
    return float(incomplete_beta(k, k, accuracy) + shift * np.exp(-log_beta(k, k)))


def bahadur_range(n: int, p: float) -> tuple[float, float]:
    """The pair correlations that ``n`` voters can have when all higher ones are zero.

    A pattern with k right has 1 + c (s^2 - t) / 2 times its independent chance, s the sum of the standardised answers
    and t that of their squares; it must not fall below zero for any k.
    """
    size, accuracy = int(voters(n)), float(probability(p, "The accuracy p"))
    q = 1 - accuracy
    if size == 1 or accuracy in {0.0, 1.0}:
        return -1.0, 1.0
    k = np.arange(size + 1)
    sums = (k - size * accuracy) ** 2 / (accuracy * q)
    squares = (k * q**2 + (size - k) * accuracy**2) / (accuracy * q)
    pairs = (sums - squares) / 2
    return float(max(-1.0, (-1 / pairs[pairs > 0]).max(initial=-1.0))), float(
        min(1.0, (-1 / pairs[pairs < 0]).min(initial=1.0))
    )


def _above_half(counts: Array) -> float:
    n = counts.size - 1
    above = float(counts[n // 2 + 1 :].sum())
    return above + float(counts[n // 2]) / 2 if n % 2 == 0 else above


def _step(p: float) -> float:
    return 0.5 if p == 0.5 else float(p > 0.5)


def _latent(p: float, latent: float) -> tuple[float, float]:
    """Mean and standard deviation of u = Phi^-1(Theta); spread 0 for independent voters, inf for copies."""
    accuracy, r = float(probability(p, "The accuracy p")), float(probability(latent, "The latent correlation"))
    if r == 0 or accuracy in {0.0, 1.0}:
        return 0.0, 0.0
    if r == 1:
        return 0.0, math.inf
    return float(normal_quantile(accuracy)) / math.sqrt(1 - r), math.sqrt(r / (1 - r))


def _gaussian_one(n: float, centre: float, spread: float) -> float:
    k = (n + 1) / 2 if n % 2 else n / 2
    width = 1 / math.sqrt(k)  # of G_n's own bell, whose tails are those of phi(u)^k
    grid = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    if spread <= width:
        bell = np.exp(-(grid**2) / 2)
        value = incomplete_beta(k, k, normal_cdf(centre + spread * grid))
    else:
        t = grid * width
        theta = normal_cdf(t)
        with np.errstate(divide="ignore"):
            log_density = (k - 1) * (np.log(theta) + np.log(normal_cdf(-t))) - t**2 / 2
        bell = np.exp(log_density - log_density.max())
        value = normal_cdf((centre - t) / spread)
    return float(bell @ value / bell.sum())


def _all_of(n: float, centre: float, spread: float) -> float:
    """E Theta^n: Phi(u)^n against the bell of u, or its tail against the density of the largest of n normals."""
    if spread <= 1:
        grid = np.arange(-_REACH, _REACH + _STEP / 4, _STEP / 2)
        bell, value = np.exp(-(grid**2) / 2), normal_cdf(centre + spread * grid) ** n
    else:
        grid = np.arange(-_REACH, _REACH + _STEP / 8, _STEP / 4)
        with np.errstate(divide="ignore", under="ignore"):
            bell = np.exp((n - 1) * np.log(normal_cdf(grid)) - grid**2 / 2)
        value = normal_cdf((centre - grid) / spread)
    return float(bell @ value / bell.sum())
