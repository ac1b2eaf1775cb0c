from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom  # type: ignore[import-untyped]

from dissensus.measure.intervals import at_most, clopper_pearson, effective_questions, share


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_clopper_pearson_has_a_tail_of_one_fortieth_on_each_side(pair: tuple[int, int]) -> None:
    hits, of = pair
    low, high = clopper_pearson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
    if hits:
        assert binom.sf(hits - 1, of, low) == pytest.approx(0.025, rel=1e-6)
    if hits < of:
        assert binom.cdf(hits, of, high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(78, 1180, 0.0526, 0.0818), (6, 465, 0.0047, 0.0279), (0, 54, 0, 0.0660), (29, 239, 0.0828, 0.1696)],
)
def test_clopper_pearson_of_the_reference(hits: int, of: int, low: float, high: float) -> None:
    assert clopper_pearson(hits, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("of", [1, 10, 1000])
def test_none_in_n_is_never_nothing(of: int) -> None:
    assert at_most(0, of) == pytest.approx(1 - 0.05 ** (1 / of))
    assert share(np.zeros(of)).at_most == pytest.approx(1 - 0.05 ** (1 / of))


def test_a_share_of_nothing_is_not_defined() -> None:
    found = share(np.zeros(0))
    assert (found.rate, found.low, found.high, found.at_most) == (None, None, None, None)


def test_every_question_asked_four_times_tells_no_more_than_once() -> None:
    values = np.array([1.0] * 30 + [0.0] * 20)
    once, four = share(values), share(np.repeat(values, 4), np.repeat(np.arange(50), 4))
    assert (four.rate, four.low, four.high) == pytest.approx((once.rate, once.low, once.high))
    apart = share(np.repeat(values, 4))
    assert apart.high is not None
    assert apart.low is not None
    assert once.high is not None
    assert once.low is not None
    assert apart.high - apart.low < 0.6 * (once.high - once.low)


def test_repeated_questions_without_any_error_count_once_each() -> None:
    assert effective_questions(np.zeros(400), np.repeat(np.arange(100), 4)) == pytest.approx(100)


def test_split_ties_vary_less_than_right_and_wrong() -> None:
    values = np.array([0.5] * 50 + [1.0] * 100)
    assert effective_questions(values) > 150
    assert (
        effective_questions(np.array([0.5, 0.5])) <= 4
    )  # two alike show no spread, and that is not taken for certainty
