"""Correlated voters: reference tables, exact sums and plain integration as oracles, and the ends of the range."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.correlated import (
    bahadur_majority,
    bahadur_range,
    beta_binomial_counts,
    beta_binomial_limit,
    beta_binomial_majority,
    beta_binomial_unanimous,
    gaussian_correlation,
    gaussian_latent,
    gaussian_limit,
    gaussian_majority,
    gaussian_unanimous,
    ladha,
)
from dissensus.measure.mixtures import Mixture, majority_given, trap_mixture, trap_of_correlation
from dissensus.measure.special import normal_cdf, normal_quantile

BETA_BINOMIAL = """
.01|.78151|.83175|.89169|.96039|.99817|.99997
.05|.7722|.81321|.85903|.91046|.95235|.96488
.1|.76185|.79398|.82745|.86259|.89073|.8996
.2|.7448|.76486|.78365|.80132|.81417|.81801
.3|.73166|.74425|.75518|.76472|.77124|.77312
.5|.714|.71864|.72229|.7252|.72706|.72757
"""
"""rho, then n = 3, 5, 9, 21, 99 and the limit, at p = .7."""

shares = st.floats(0.02, 0.98)


# --- beta-binomial


@pytest.mark.parametrize("row", BETA_BINOMIAL.split("\n")[1:-1])
def test_beta_binomial_table(row: str) -> None:
    rho, *values, limit = map(float, row.split("|"))
    assert beta_binomial_majority([3, 5, 9, 21, 99], 0.7, rho).round(5).tolist() == values
    assert round(beta_binomial_limit(0.7, rho), 5) == limit


@pytest.mark.parametrize(
    ("rho", "three", "nine"), [(0.1, 0.10953, 0.01273), (0.2, 0.14194, 0.04073), (0.5, 0.21825, 0.15265)]
)
def test_wrong_though_unanimous(rho: float, three: float, nine: float) -> None:
    assert [round(beta_binomial_unanimous(n, 0.7, rho)[1], 5) for n in (3, 9)] == [three, nine]


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 9))
def test_beta_binomial_in_exact_fractions(n: int, tenths: int, rho_tenths: int) -> None:
    p, rho = Fraction(tenths, 10), Fraction(rho_tenths, 10)
    spread = rho / (1 - rho)
    exact = []
    for k in range(n + 1):
        value = Fraction(math.comb(n, k))
        for i in range(k):
            value *= p + i * spread
        for i in range(n - k):
            value *= 1 - p + i * spread
        for i in range(n):
            value /= 1 + i * spread
        exact.append(float(value))
    assert beta_binomial_counts(n, float(p), float(rho)) == pytest.approx(exact, abs=1e-13)


@given(st.integers(2, 60), shares, st.floats(0, 1))
def test_beta_binomial_has_its_mean_and_correlation(n: int, p: float, rho: float) -> None:
    counts, k = beta_binomial_counts(n, p, rho), np.arange(n + 1)
    assert counts.sum() == pytest.approx(1)
    assert counts @ k == pytest.approx(n * p)
    both = counts @ (k * (k - 1)) / (n * (n - 1))
    assert (both - p * p) / (p * (1 - p)) == pytest.approx(rho, abs=1e-9)


@pytest.mark.parametrize("n", [1, 4, 9, 999])
def test_beta_binomial_meets_independence_and_copies(n: int) -> None:
    assert beta_binomial_majority(n, 0.7, 0.0) == pytest.approx(float(majority_given(0.7, n)), abs=1e-12)
    assert beta_binomial_majority(n, 0.7, 1e-14) == pytest.approx(float(majority_given(0.7, n)), abs=1e-10)
    assert beta_binomial_majority(n, 0.7, 1.0) == pytest.approx(0.7)
    assert beta_binomial_majority(n, 0.7, 1 - 1e-12) == pytest.approx(0.7, abs=1e-9)


def test_beta_binomial_limit_at_the_ends() -> None:
    assert [beta_binomial_limit(p, 0) for p in (0.4, 0.5, 0.6)] == [0, 0.5, 1]
    assert [beta_binomial_limit(p, 1) for p in (0.4, 0.5, 0.6)] == [0.4, 0.5, 0.6]
    assert [beta_binomial_limit(p, 0.3) for p in (0, 1)] == [0, 1]
    assert beta_binomial_limit(0.5, 0.3) == pytest.approx(0.5)


@given(shares, st.floats(0.05, 0.95))
def test_beta_binomial_goes_to_its_limit(p: float, rho: float) -> None:
    near = float(beta_binomial_majority(4001, p, rho))
    assert near == pytest.approx(beta_binomial_limit(p, rho), abs=2e-3)


# --- Gaussian one-factor


@pytest.mark.parametrize(
    ("r", "nine", "limit", "rho"),
    [
        (0.1, 0.85327, 0.95137, 0.05841),
        (0.3, 0.79187, 0.83082, 0.18163),
        (0.5, 0.7539, 0.77084, 0.31794),
        (0.7, 0.72761, 0.7346, 0.47866),
    ],
)
def test_gaussian_table(r: float, nine: float, limit: float, rho: float) -> None:
    assert round(float(gaussian_majority(9, 0.7, r)), 5) == nine
    assert round(gaussian_limit(0.7, r), 5) == limit
    assert round(gaussian_correlation(0.7, r), 5) == rho


@pytest.mark.parametrize("r", [1e-6, 0.02, 0.3, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.7])
def test_gaussian_against_plain_integration(r: float, p: float) -> None:
    """A very fine sum over the common factor, which the product does without."""
    z = np.linspace(-9, 9, 40_001)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    theta = normal_cdf((normal_quantile(p) + math.sqrt(r) * z) / math.sqrt(1 - r))
    for n in (1, 2, 3, 9, 21, 199):
        plain = float(weights @ majority_given(theta, n))
        assert float(gaussian_majority(n, p, r)) == pytest.approx(plain, abs=1e-11)
        if n > 1:
            right, wrong = float(weights @ theta**n), float(weights @ (1 - theta) ** n)
            agree, wrongly = gaussian_unanimous(n, p, r)
            assert agree == pytest.approx(right + wrong, abs=1e-11)
            assert wrongly * agree == pytest.approx(wrong, abs=1e-11)
    assert gaussian_correlation(p, r) == pytest.approx(float(weights @ theta**2 - p * p) / (p * (1 - p)), abs=1e-11)


@given(shares, st.floats(0, 1))
def test_latent_and_binary_correlation_are_inverse(p: float, rho: float) -> None:
    assert gaussian_correlation(p, gaussian_latent(p, rho)) == pytest.approx(rho, abs=1e-9)


def test_gaussian_at_the_ends() -> None:
    assert gaussian_majority([3, 9], 0.7, 0).tolist() == majority_given(0.7, [3, 9]).tolist()
    assert gaussian_majority([3, 9], 0.7, 1).tolist() == [0.7, 0.7]
    assert gaussian_majority(9, 0.7, 1 - 1e-12) == pytest.approx(0.7, abs=1e-6)
    assert [gaussian_limit(p, 0) for p in (0.4, 0.5, 0.6)] == [0, 0.5, 1]
    assert gaussian_majority(9, 1.0, 0.3) == 1
    assert gaussian_unanimous(9, 0.7, 1) == pytest.approx((1, 0.3))
    assert gaussian_unanimous(9, 0.7, 0) == pytest.approx((0.7**9 + 0.3**9, 0.3**9 / (0.7**9 + 0.3**9)))
    assert gaussian_unanimous(1, 0.7, 0.3) == pytest.approx((1, 0.3))


# --- one accuracy, one correlation, three curves


@pytest.mark.parametrize(
    ("rho", "trap", "beta", "gauss", "latent"),
    [
        (0.2, (0.8828, 0.9211), (0.7837, 0.8180), (0.7855, 0.8199), 0.3284),
        (0.175 / 0.3, (0.7980, 0.8000), (0.7143, 0.7174), (0.7166, 0.7205), 0.8058),
    ],
)
def test_correlation_alone_does_not_fix_the_curve(
    rho: float, trap: tuple[float, float], beta: tuple[float, float], gauss: tuple[float, float], latent: float
) -> None:
    share = trap_of_correlation(0.7, rho)
    traps = trap_mixture(share, 0.7 / (1 - share))
    assert (round(float(traps.majority(9)), 4), round(traps.limit, 4)) == trap
    assert (round(float(beta_binomial_majority(9, 0.7, rho)), 4), round(beta_binomial_limit(0.7, rho), 4)) == beta
    r = gaussian_latent(0.7, rho)
    assert round(r, 4) == latent
    assert (round(float(gaussian_majority(9, 0.7, r)), 4), round(gaussian_limit(0.7, r), 4)) == gauss


# --- Ladha's condition


@pytest.mark.parametrize(
    ("p", "n", "threshold"),
    [
        (0.7, 9, -0.0332),
        (0.7, 21, 0.0357),
        (0.7, 101, 0.0724),
        (0.7, math.inf, 0.0816),
        (0.8, 9, 0.0332),
        (0.8, 21, 0.0977),
        (0.8, math.inf, 0.1406),
        (0.9, 9, 0.0972),
        (0.9, 21, 0.1574),
        (0.9, math.inf, 0.1975),
    ],
)
def test_ladha_table(p: float, n: float, threshold: float) -> None:
    assert round(ladha(n, p, 0.1).threshold, 4) == threshold


@given(st.integers(1, 12), st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=4))
def test_what_ladha_guarantees_holds_for_every_mixture(half: int, pairs: list[tuple[float, int]]) -> None:
    total = sum(weight for _, weight in pairs)
    mixture = Mixture([theta for theta, _ in pairs], [weight / total for _, weight in pairs])
    n = 2 * half + 1
    assume(1e-6 < mixture.accuracy < 1 - 1e-6)
    found = ladha(n, mixture.accuracy, min(1.0, mixture.correlation))
    if found.guaranteed:
        assert float(mixture.majority(n)) >= mixture.accuracy - 1e-12


def test_ladha_speaks_plainly() -> None:
    assert not ladha(101, 0.7, 0.4).guaranteed
    assert "no guarantee" in str(ladha(101, 0.7, 0.4))
    assert "better than one voter" in str(ladha(101, 0.7, 0.05))
    assert math.isnan(ladha(101, 0.5, 0.0).threshold)
    assert not ladha(1, 0.9, 0.0).guaranteed


# --- Bahadur


@pytest.mark.parametrize(
    ("n", "p", "c", "expected"), [(3, 0.7, 0.1, 0.7588), (5, 0.7, 0.1, 0.7840), (9, 0.6, 0.05, 0.69162854)]
)
def test_bahadur_reference(n: int, p: float, c: float, expected: float) -> None:
    assert bahadur_majority(n, p, c) == pytest.approx(expected, abs=1e-7)


@given(st.integers(0, 4), st.floats(0.1, 0.9), st.floats(0, 1))
def test_bahadur_is_the_sum_over_all_patterns(half: int, p: float, where: float) -> None:
    n = 2 * half + 1
    low, high = bahadur_range(n, p)
    c = low + where * (high - low)
    total = right = 0.0
    for pattern in product([0, 1], repeat=n):
        z = [(x - p) / math.sqrt(p * (1 - p)) for x in pattern]
        pairs = (sum(z) ** 2 - sum(one * one for one in z)) / 2
        chance = math.prod(p if x else 1 - p for x in pattern) * (1 + c * pairs)
        assert chance >= -1e-12  # the whole range is possible
        total += chance
        right += chance * (2 * sum(pattern) > n)
    assert total == pytest.approx(1)
    assert bahadur_majority(n, p, c) == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bahadur_majority(9, 0.7, 0.4), "cannot have pair correlation 0.4"),
        (lambda: bahadur_majority(4, 0.7, 0.1), "odd number"),
        (lambda: beta_binomial_majority(3, 1.1, 0.1), "p cannot be 1.1"),
        (lambda: beta_binomial_majority(3, 0.7, -0.1), "rho cannot be -0.1"),
        (lambda: beta_binomial_majority(0, 0.7, 0.1), "number of voters cannot be 0"),
        (lambda: gaussian_majority(3, 0.7, math.nan), "latent correlation cannot be nan"),
        (lambda: ladha(9, 0.7, 1.5), "correlation cannot be 1.5"),
    ],
)
def test_what_cannot_be_is_refused(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator]
