"""Mixtures of kinds of questions: reference values, brute force, and curves that turn."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.jury import condorcet
from dissensus.measure.mixtures import (
    Mixture,
    easy_hard,
    easy_hard_peak,
    easy_hard_shape,
    majority_given,
    trap_mixture,
    trap_of_correlation,
)

CONDORCET = """
.4|.352|.31744|.289792|.266568|.246502|.174378|.073529|.020897
.51|.514998|.518745|.521866|.524596|.527052|.536952|.55707|.579852
.55|.57475|.593127|.608288|.621421|.633123|.679003|.764071|.843755
.6|.648|.68256|.710208|.733432|.753498|.825622|.926471|.979103
.7|.784|.83692|.873964|.901191|.921775|.97361|.998636|.999987
.8|.896|.94208|.966656|.980419|.988346|.99903|.999999|1
.9|.972|.99144|.997272|.999109|.999704|.999999|1|1
"""


@given(st.integers(1, 400), st.floats(0, 1))
def test_the_same_as_the_closed_sum(n: int, p: float) -> None:
    assert majority_given(p, n) == pytest.approx(condorcet(n, p), abs=1e-11)


kinds = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=5)


def mixture_of(pairs: list[tuple[float, int]]) -> Mixture:
    total = sum(weight for _, weight in pairs)
    return Mixture([theta for theta, _ in pairs], [weight / total for _, weight in pairs])


@pytest.mark.parametrize("row", CONDORCET.split("\n")[1:-1])
def test_independent_voters(row: str) -> None:
    p, *values = map(float, row.split("|"))
    assert majority_given(p, [3, 5, 7, 9, 11, 21, 51, 101]) == pytest.approx(values, abs=5.001e-7)


@pytest.mark.parametrize("n", range(1, 10))
@given(pairs=kinds)
def test_every_pattern_of_right_and_wrong(n: int, pairs: list[tuple[float, int]]) -> None:
    mixture = mixture_of(pairs)
    right = agree = wrong = 0.0
    for pattern in product([0, 1], repeat=n):
        k = sum(pattern)
        chance = float(mixture.weights @ (mixture.points**k * (1 - mixture.points) ** (n - k)))
        right += chance * (0.5 if 2 * k == n else float(2 * k > n))
        agree += chance * (k in {0, n})
        wrong += chance * (k == 0)
    assert mixture.majority(n) == pytest.approx(right, abs=1e-12)
    if n > 1:
        both, given_both = mixture.unanimous(n)
        assert both == pytest.approx(agree, abs=1e-12)
        assert given_both * both == pytest.approx(wrong, abs=1e-12) or agree == 0


@given(kinds)
def test_moments_are_those_of_two_voters(pairs: list[tuple[float, int]]) -> None:
    mixture = mixture_of(pairs)
    p = mixture.accuracy
    both = float(mixture.weights @ mixture.points**2)
    if p * (1 - p) > 1e-6:
        assert mixture.correlation == pytest.approx((both - p * p) / (p * (1 - p)), abs=1e-9)
    assert mixture.majority([1, 2]) == pytest.approx([p, p])


def test_no_correlation_where_nothing_varies() -> None:
    assert math.isnan(Mixture([1.0], [1.0]).correlation)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0]), st.integers(1, 9)), min_size=1))
def test_the_limit_is_where_large_panels_go(pairs: list[tuple[float, int]]) -> None:
    mixture = mixture_of(pairs)
    assert mixture.majority(100_001) == pytest.approx(mixture.limit, abs=1e-6)


def test_the_order_of_kinds_does_not_matter() -> None:
    first, second = Mixture([0.9, 0.3, 0.6], [0.5, 0.2, 0.3]), Mixture([0.6, 0.9, 0.3], [0.3, 0.5, 0.2])
    assert first.majority([3, 9]) == pytest.approx(second.majority([3, 9]))


# --- the trap model


def test_trap_reference() -> None:
    mixture = trap_mixture(0.2, 0.875)
    expected = [0.7, 0.765625, 0.787158, 0.795009, 0.798014, 0.799990, 0.8]
    assert mixture.majority([1, 3, 5, 7, 9, 21, 99]) == pytest.approx(expected, abs=5e-7)
    assert mixture.limit == pytest.approx(0.8)
    assert mixture.correlation == pytest.approx(0.583333, abs=5e-7)
    agree, wrong = mixture.unanimous([3, 9])
    assert agree == pytest.approx([0.7375, 0.440526], abs=5e-7)
    assert wrong == pytest.approx([0.273305, 0.454002], abs=5e-7)


@pytest.mark.parametrize(("rho", "traps", "elsewhere"), [(0.2, 0.078947, 0.76), (0.583333333, 0.2, 0.875)])
def test_traps_of_a_correlation(rho: float, traps: float, elsewhere: float) -> None:
    share = trap_of_correlation(0.7, rho)
    assert share == pytest.approx(traps, abs=5e-7)
    assert 0.7 / (1 - share) == pytest.approx(elsewhere, abs=5e-7)


@given(st.floats(0.01, 0.99), st.floats(0.001, 0.999))
def test_traps_of_a_correlation_have_it(p: float, rho: float) -> None:
    share = trap_of_correlation(p, rho)
    mixture = trap_mixture(share, min(1.0, p / (1 - share)))
    assert mixture.accuracy == pytest.approx(p)
    assert mixture.correlation == pytest.approx(rho, rel=1e-6)


# --- easy and hard questions


def test_more_voters_help_and_then_hurt() -> None:
    mixture = easy_hard(0.6, 0.85, 0.4)
    expected = [0.67, 0.70435, 0.71101, 0.70865, 0.70325, 0.66971, 0.60836]
    assert mixture.majority([1, 3, 5, 7, 9, 21, 101]).round(5).tolist() == expected
    assert easy_hard_shape(0.6, 0.85, 0.4) == "rises, then falls"
    assert easy_hard_peak(0.6, 0.85, 0.4) == 5
    assert mixture.limit == pytest.approx(0.6)


@given(st.integers(0, 20), st.integers(11, 20), st.integers(0, 9))
def test_the_shape_is_that_of_the_curve(share: int, easy: int, hard: int) -> None:
    alpha, p1, p2 = share / 20, easy / 20, hard / 20
    odd = np.arange(1, 400, 2)
    curve = easy_hard(alpha, p1, p2).majority(odd)
    steps = np.diff(curve)
    signs = [int(np.sign(step)) for step in steps if abs(step) > 1e-13]
    turns = [sign for i, sign in enumerate(signs) if not i or sign != signs[i - 1]]
    drawn = {(): "flat", (1,): "rises", (-1,): "falls", (1, -1): "rises, then falls", (-1, 1): "falls, then rises"}
    shape, seen = easy_hard_shape(alpha, p1, p2), drawn[tuple(turns)]
    # a turn beyond 400 voters, or below rounding, is not seen; anything else must agree
    assert seen == shape or shape.startswith(seen)
    peak = easy_hard_peak(alpha, p1, p2)
    if peak is not None:
        assert easy_hard(alpha, p1, p2).majority(peak) == pytest.approx(max(curve.max(), alpha), abs=1e-13)
    else:
        assert curve.max() <= alpha + 1e-13


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Mixture([0.2, 0.3], [1.0]), "2 kinds of questions and 1 shares"),
        (lambda: Mixture([0.2, 1.3], [0.5, 0.5]), "cannot be 1.3"),
        (lambda: Mixture([0.2, 0.3], [0.5, 0.6]), "sum to 1.1, not to 1"),
        (lambda: Mixture([0.2], [1.0]).majority(0), "number of voters cannot be 0"),
        (lambda: Mixture([0.2], [1.0]).majority(math.inf), "number of voters cannot be inf"),
        (lambda: easy_hard(0.5, 0.4, 0.3), "above 1/2"),
        (lambda: trap_of_correlation(0.7, 1.2), "cannot be 1.2"),
    ],
)
def test_what_cannot_be_is_refused(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator]
