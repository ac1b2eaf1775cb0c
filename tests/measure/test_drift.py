"""The drift model without noise: every figure of the reference to its digits, each against turns played one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.drift import (
    ASSUMPTIONS,
    RIGHT_BELOW,
    additive_after,
    additive_mean,
    additive_share_right,
    critical_additive,
    critical_multiplicative,
    log_odds,
    multiplicative_after,
    multiplicative_drift,
    named,
    potential,
    right,
    rotation_limit,
    rotation_orders,
    share_wrong,
)
from dissensus.measure.seats import orders, placements

TABLE = {
    "HHCCC": 0.8,
    "HCHCC": 0.666667,
    "CHHCC": 0.6,
    "HCCHC": 0.533333,
    "CHCHC": 0.466667,
    "HCCCH": 0.4,
    "CCHHC": 0.4,
    "CHCCH": 0.333333,
    "CCHCH": 0.266667,
    "CCCHH": 0.2,
}


def played(order: str, turns: int, v: float, *, honest: float, add: float = 0.0, times: float = 1.0) -> float:
    """V after T turns, one by one; a corrupted turn stretches and adds."""
    for turn in range(turns):
        v = honest * v if order[turn % len(order)] == "H" else times * v + add
    return v


# --- the reference


@pytest.mark.parametrize(
    ("contract", "stretch", "rho"),
    [(0.5, math.sqrt(2), 0.666667), (0.5, 1.4, 0.673207), (0.9, 1.05, 0.683490), (0.5, 4, 0.333333)],
)
def test_critical_shares_of_the_multiplicative_form(contract: float, stretch: float, rho: float) -> None:
    critical = critical_multiplicative(contract, stretch)
    assert critical == pytest.approx(rho, abs=5e-7)
    assert multiplicative_drift(critical, contract, stretch) == pytest.approx(0, abs=1e-12)
    assert multiplicative_drift(critical - 0.01, contract, stretch) < 0 < multiplicative_drift(1, contract, stretch)


def test_the_additive_form_with_writers_drawn_at_random() -> None:
    assert additive_mean(0.6, 0.5, 0.2) == pytest.approx(0.6)
    critical = critical_additive(0.5, 0.2)
    assert critical == pytest.approx(0.634084, abs=5e-7)
    assert additive_mean(critical, 0.5, 0.2) == pytest.approx(math.log(2))
    assert additive_mean(1, 0.5, 0.2) == math.inf


def test_the_table_of_orders() -> None:
    found = rotation_orders(5, 3, 0.5, 0.2)
    assert {one.order: one.potential for one in found} == pytest.approx(TABLE, abs=5e-7)
    assert [one.order for one in found if not one.right] == ["HHCCC"]
    assert share_wrong(found) == 0.1
    assert found[0].order == "HHCCC"


def test_a_spectral_gap_does_not_give_a3() -> None:
    """T = diag(1, .5) has a gap, and its limit is right; read along the first axis nothing contracts."""
    turn, read, state = np.diag([1.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 0.0])
    before, after = float(potential(read @ state)), float(potential(read @ turn @ state))
    assert before == after == pytest.approx(0.313262, abs=5e-7)
    assert 0.5 * before == pytest.approx(0.156631, abs=5e-7)
    assert after > 0.5 * before


# --- against turns played one by one


@given(st.text("HC", min_size=1, max_size=7), st.floats(0.05, 0.95), st.floats(0.01, 2), st.floats(0, 5))
def test_an_order_tends_to_its_limit(order: str, contract: float, push: float, v: float) -> None:
    limit = rotation_limit(order, contract, push)
    if "H" not in order:
        assert limit == math.inf
        return
    assert played(order, 400 * len(order), v, honest=contract, add=push) == pytest.approx(limit, rel=1e-6, abs=1e-7)


@given(st.integers(1, 6), st.data(), st.integers(1, 30), st.integers(0, 5), st.floats(-2, 2))
def test_finitely_many_turns(n: int, data: st.DataObject, turns: int, start: int, x0: float) -> None:
    corrupted = data.draw(st.integers(0, n))
    seats = placements(n, corrupted)
    begin = float(potential(x0))
    stretched = multiplicative_after(seats, turns, start, x0=x0, contract=0.6, stretch=1.3)
    pushed = additive_after(seats, turns, start, x0=x0, contract=0.6, push=0.25)
    for place, order in enumerate(orders(n, corrupted)):
        turned = order[start % n :] + order[: start % n]
        assert stretched[place] == pytest.approx(played(turned, turns, begin, honest=0.6, times=1.3), rel=1e-9)
        assert pushed[place] == pytest.approx(played(turned, turns, begin, honest=0.6, add=0.25), rel=1e-9)


def test_random_writers_by_simulation_and_what_a_mean_hides() -> None:
    """The mean is right to four standard errors, and lies below ln 2 while a third of the texts are wrong."""
    share, mean, error = additive_share_right(0.6, 0.5, 0.2, seed=3)
    assert abs(mean - 0.6) <= 4 * error
    assert mean < RIGHT_BELOW
    assert 0.64 < share < 0.70


@given(st.floats(-600, 600))
def test_potential_and_log_odds_are_inverse(x: float) -> None:
    v = float(potential(x))
    assert v >= 0
    if -30 < x < 30:
        assert float(log_odds(v)) == pytest.approx(x, abs=1e-3 if x > 20 else 1e-6)
        assert v == pytest.approx(math.log1p(math.exp(-x)))
    if v > 0:
        assert float(right(np.array([v]))[0]) == (0.5 if abs(x) < 1e-11 else float(x > 0))


def test_a_text_that_favours_neither_answer_counts_half() -> None:
    assert right(np.array([0.6, RIGHT_BELOW, 0.7, np.inf])).tolist() == [1, 0.5, 0, 0]


def test_every_result_names_its_assumptions() -> None:
    assert set(named()["assumptions"]) == set(ASSUMPTIONS) == {"A1", "A2", "A3", "A4", "A5"}
    assert "not calibrated" not in named()["assumptions"]
    assert "calibrated" in named()["not_calibrated"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: critical_multiplicative(1.0, 1.4), "gH = 1"),
        (lambda: critical_multiplicative(0.5, 0.9), "gC = 0.9"),
        (lambda: critical_additive(0.5, 0.0), "b = 0"),
        (lambda: critical_additive(math.nan, 0.2), "gH = nan"),
        (lambda: additive_mean(1.2, 0.5, 0.2), "cannot be 1.2"),
        (lambda: rotation_limit("HXC", 0.5, 0.2), "no order"),
        (lambda: rotation_limit("", 0.5, 0.2), "no order"),
        (lambda: log_odds(0.0), "above 0"),
        (lambda: rotation_orders(40, 20, 0.5, 0.2), "too many"),
    ],
)
def test_bad_input_is_a_sentence(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator] # each is a function of nothing
