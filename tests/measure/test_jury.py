"""Closed forms against printed tables, against brute force over all votes, and at their ends."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.jury import (
    clopper_pearson,
    condorcet,
    effective_voters,
    split_posterior,
    trap,
    trap_unanimous,
)

SIZES = (3, 5, 7, 9, 11, 21, 51, 101)
TABLE = {
    0.4: (0.352, 0.31744, 0.289792, 0.266568, 0.246502, 0.174378, 0.073529, 0.020897),
    0.51: (0.514998, 0.518745, 0.521866, 0.524596, 0.527052, 0.536952, 0.55707, 0.579852),
    0.55: (0.57475, 0.593127, 0.608288, 0.621421, 0.633123, 0.679003, 0.764071, 0.843755),
    0.6: (0.648, 0.68256, 0.710208, 0.733432, 0.753498, 0.825622, 0.926471, 0.979103),
    0.7: (0.784, 0.83692, 0.873964, 0.901191, 0.921775, 0.97361, 0.998636, 0.999987),
    0.8: (0.896, 0.94208, 0.966656, 0.980419, 0.988346, 0.99903, 0.999999, 1),
    0.9: (0.972, 0.99144, 0.997272, 0.999109, 0.999704, 0.999999, 1, 1),
}


@pytest.mark.parametrize("p", TABLE)
def test_condorcet_to_the_digits_of_the_table(p: float) -> None:
    assert tuple(round(condorcet(n, p), 6) for n in SIZES) == TABLE[p]


def exact(n: int, p: float) -> float:
    """The sum itself, in whole numbers: a float is a fraction."""
    right, whole = p.as_integer_ratio()
    wrong = whole - right
    powers = [1]
    for _ in range(n):
        powers.append(powers[-1] * wrong)
    twice, power = 0, 1
    for k in range(n + 1):
        if 2 * k >= n:
            twice += (2 if 2 * k > n else 1) * math.comb(n, k) * power * powers[n - k]
        power *= right
    return float(Fraction(twice, 2 * whole**n))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 20, 21, 101, 300, 901, 1000])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.02, 0.4, 0.5, 0.51, 0.7, 0.999, 1.0])
def test_condorcet_against_exact_sums(n: int, p: float) -> None:
    assert condorcet(n, p) == pytest.approx(exact(n, p), abs=1e-12)


def votes(n: int, p: float) -> list[tuple[int, float]]:
    """All vectors of ``n`` independent votes: how many are right, and the probability."""
    return [(sum(vote), math.prod(p if right else 1 - p for right in vote)) for vote in product((0, 1), repeat=n)]


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("p", [0.3, 0.5, 0.7, 0.875])
def test_everything_against_brute_force_over_all_votes(n: int, p: float) -> None:
    majority = sum(chance * (1 if 2 * k > n else 0.5 if 2 * k == n else 0) for k, chance in votes(n, p))
    assert condorcet(n, p) == pytest.approx(majority, abs=1e-14)
    for lam in (0.0, 0.2, 0.9):
        # a trap is one more world, of weight lam, in which nobody is right
        worlds = [(k, (1 - lam) * chance, False) for k, chance in votes(n, p)] + [(0, lam, True)]
        right = sum(chance * (1 if 2 * k > n else 0.5 if 2 * k == n else 0) for k, chance, _ in worlds)
        assert trap(n, lam, p) == pytest.approx(right, abs=1e-14)
        unanimous = sum(chance for k, chance, trapped in worlds if trapped or k == n)
        wrong = sum(chance for _, chance, trapped in worlds if trapped)
        assert list(trap_unanimous(n, lam, p)) == pytest.approx([unanimous, wrong / unanimous], abs=1e-14)
    for a in range(n + 1):
        # the truth is one of two with even odds: how likely is it the side that got a of n votes
        side = sum(chance for k, chance in votes(n, p) if k == a)
        other = sum(chance for k, chance in votes(n, p) if k == n - a)
        assert split_posterior(a, n - a, p) == pytest.approx(side / (side + other), abs=1e-13)


def test_the_trap_model_to_the_digits_of_the_reference() -> None:
    found = [round(trap(n, 0.2, 0.875), 6) for n in (1, 3, 5, 7, 9, 21, 99)]
    assert found == [0.7, 0.765625, 0.787158, 0.795009, 0.798014, 0.79999, 0.8]
    printed = {
        3: (0.735938, 0.271762),
        5: (0.610327, 0.327693),
        9: (0.440526, 0.454002),
        21: (0.248446, 0.805003),
    }
    assert {n: tuple(round(value, 6) for value in trap_unanimous(n, 0.2, 0.875)) for n in printed} == printed


def test_only_the_margin_of_a_split_counts() -> None:
    assert round(split_posterior(5, 4, 0.7), 6) == 0.7
    assert round(split_posterior(9, 0, 0.7), 5) == 0.99951
    assert split_posterior(105, 96, 0.7) == split_posterior(9, 0, 0.7)
    assert split_posterior(4, 5, 0.7) == pytest.approx(0.3)
    assert split_posterior(3, 3, 0.9) == 0.5
    assert (split_posterior(1, 0, 1.0), split_posterior(0, 1, 1.0)) == (1.0, 0.0)
    assert (split_posterior(1, 0, 0.0), split_posterior(0, 1, 0.0)) == (0.0, 1.0)
    assert split_posterior(10**6, 0, 0.6) == 1.0
    assert split_posterior(0, 10**6, 0.6) == 0.0


def test_effective_voters_to_the_digits_of_the_reference() -> None:
    assert [round(effective_voters(1000, rho) or 0, 3) for rho in (0.5, 0.2)] == [1.998, 4.98]
    assert round(effective_voters(9, 0.7 / 0.3 * 0.2 * 0.875 / 0.7) or 0, 4) == 1.5882
    assert effective_voters(9, 0) == 9
    assert effective_voters(9, 1) == 1
    assert (effective_voters(3, -0.25) or 0) > 3
    assert effective_voters(3, -0.5) is None
    assert effective_voters(5, -0.5) is None


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(78, 1180, 0.0526, 0.0818), (6, 465, 0.0047, 0.0279), (0, 54, 0.0, 0.0660), (29, 239, 0.0828, 0.1696)],
)
def test_exact_intervals_to_the_digits_of_the_reference(k: int, n: int, low: float, high: float) -> None:
    assert tuple(round(value, 4) for value in clopper_pearson(k, n)) == (low, high)


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.5, 0.9, 0.95])
)
def test_the_ends_of_an_interval_leave_half_the_rest_in_each_tail(case: tuple[int, int], level: float) -> None:
    k, n = case
    low, high = clopper_pearson(k, n, level)
    tail = (1 - level) / 2
    assert 0 <= low <= k / n <= high <= 1

    def at_least(p: float, least: int) -> float:
        return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(least, n + 1))

    assert low == 0 if k == 0 else at_least(low, k) == pytest.approx(tail, abs=1e-9)
    assert high == 1 if k == n else 1 - at_least(high, k + 1) == pytest.approx(tail, abs=1e-9)
    mirrored = clopper_pearson(n - k, n, level)
    assert [1 - high, 1 - low] == pytest.approx(list(mirrored), abs=1e-9)


def test_the_end_with_nothing_seen_is_the_rule_of_three() -> None:
    assert clopper_pearson(0, 100, 0.9)[1] == pytest.approx(1 - 0.05 ** (1 / 100))


@given(st.integers(1, 50), st.floats(0, 1), st.floats(0, 1))
def test_bounds_hold_everywhere(n: int, p: float, lam: float) -> None:
    won = condorcet(2 * n - 1, p)
    assert 0 <= won <= 1
    assert condorcet(2 * n, p) == won
    assert condorcet(2 * n - 1, 1 - p) == pytest.approx(1 - won, abs=1e-9)
    assert trap(n, lam, p) <= 1 - lam + 1e-12
    unanimous, wrong = trap_unanimous(n, lam, p)
    assert 0 <= unanimous <= 1 + 1e-12
    assert math.isnan(wrong) if unanimous == 0 else 0 <= wrong <= 1


def test_unanimity_that_cannot_be_has_no_share_of_errors() -> None:
    unanimous, wrong = trap_unanimous(3, 0, 0)
    assert unanimous == 0
    assert math.isnan(wrong)


def test_arguments_out_of_range_are_refused_with_a_next_step() -> None:
    for call in (
        lambda: condorcet(0, 0.5),
        lambda: condorcet(3, 1.1),
        lambda: condorcet(3, math.nan),
        lambda: trap(3, -0.1, 0.5),
        lambda: trap_unanimous(3, 0.2, 2),
        lambda: split_posterior(-1, 2, 0.5),
        lambda: effective_voters(3, 1.5),
        lambda: clopper_pearson(4, 3),
        lambda: clopper_pearson(1, 3, 1.0),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.next_step
