"""Bounds on more voters: reference figures, and that they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.bounds import bounds
from dissensus.measure.correlated import beta_binomial_counts
from dissensus.measure.fits import binomial_matrix
from dissensus.measure.mixtures import Mixture, trap_mixture


def test_three_voters_of_the_trap_model_say_nearly_all() -> None:
    counts = binomial_matrix(3, np.array([0, 0.875])) @ np.array([0.2, 0.8])
    (found,) = bounds(counts, [21], level=None)
    assert (round(found.low or 0, 4), round(found.high or 0, 4)) == (0.7997, 0.8001)


@pytest.mark.parametrize(
    ("m", "at_21", "limit"), [(3, (0.731, 0.891), (0.552, 0.985)), (9, (0.797, 0.805), (0.678, 0.926))]
)
def test_beta_binomial_voters_leave_much_open(m: int, at_21: tuple[float, float], limit: tuple[float, float]) -> None:
    found = bounds(beta_binomial_counts(m, 0.7, 0.2), [21, math.inf], level=None)
    assert [(round(one.low or 0, 3), round(one.high or 0, 3)) for one in found] == [at_21, limit]


kinds = st.lists(st.tuples(st.integers(0, 800), st.integers(1, 9)), min_size=1, max_size=4)


@settings(max_examples=25)
@given(kinds, st.integers(2, 9))
def test_the_truth_lies_between(pairs: list[tuple[int, int]], m: int) -> None:
    total = sum(weight for _, weight in pairs)
    truth = Mixture([place / 800 for place, _ in pairs], [weight / total for _, weight in pairs])
    counts = binomial_matrix(m, truth.points) @ truth.weights
    for one in bounds(counts, [m, 21, math.inf], level=None):
        value = truth.limit if one.n == math.inf else float(truth.majority(one.n))
        assert one.low is not None
        assert one.high is not None
        assert one.low - 1e-6 <= value <= one.high + 1e-6


def test_confidence_covers_the_truth() -> None:
    """By Bonferroni and exact intervals more often than promised."""
    draw = np.random.default_rng(5)
    truth = trap_mixture(0.2, 0.875)
    chances = binomial_matrix(5, truth.points) @ truth.weights
    inside = 0
    for _ in range(60):
        (one,) = bounds(draw.multinomial(300, chances), [21], level=0.95)
        inside += one.low is not None and one.high is not None and one.low <= float(truth.majority(21)) <= one.high
    assert inside >= 57


def test_more_questions_and_lower_confidence_narrow_the_bounds() -> None:
    shares = beta_binomial_counts(5, 0.7, 0.2)

    def width(questions: float, level: float) -> float:
        (one,) = bounds(questions * shares, [9], level=level)
        return (one.high or 0) - (one.low or 0)

    assert width(10_000, 0.95) < width(300, 0.95)
    assert width(300, 0.5) < width(300, 0.95)


def test_the_observed_size_is_bound_by_its_own_interval() -> None:
    """At n = m the bounds are no wider than the corrected interval of the observed majority."""
    counts = np.array([30, 40, 60, 90, 80, 100.0])
    (one,) = bounds(counts, [5], level=0.95)
    share, spread = counts[3:].sum() / counts.sum(), math.sqrt(0.675 * 0.325 / counts.sum())
    assert one.low is not None
    assert one.high is not None
    assert share - 3.2 * spread < one.low < share < one.high < share + 3.2 * spread


def test_voters_who_exclude_each_other_give_no_bounds() -> None:
    for level in (None, 0.95):
        (one,) = bounds([0, 0, 500, 0, 0], [21], level=level)
        assert one.low is None
        assert "nothing follows" in str(one)


def test_bounds_in_words() -> None:
    several = bounds([100, 100, 200, 600], [21, math.inf], level=0.9)
    assert str(several[0]).startswith("21 voters: between ")
    assert "90 % confidence" in str(several[0])
    assert str(several[1]).startswith("very many voters")


@pytest.mark.parametrize(
    ("counts", "sizes", "level", "says"),
    [
        ([0, 0], [3], 0.95, "Counts must be"),
        ([1, 2], [0], 0.95, "number of voters cannot be 0"),
        ([1, 2], [2.5], 0.95, "number of voters cannot be 2.5"),
        ([1, 2], [3], 1.0, "confidence level cannot be 1"),
    ],
)
def test_what_cannot_be_is_refused(counts: list[float], sizes: list[float], level: float, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bounds(counts, sizes, level=level)
