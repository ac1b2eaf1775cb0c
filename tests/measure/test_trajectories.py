"""Votes over texts, and how many texts settle one: the reference's figures, and every order gone through."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.trajectories import expected_texts, settled, vote_over, vote_over_questions


@pytest.mark.parametrize(
    ("texts", "p", "value"),
    [(1, 0.403, 0.403), (5, 0.403, 0.322637), (11, 0.403, 0.253165), (40, 0.403, 0.109151), (5, 0.6, 0.68256),
     (41, 0.6, 0.903483)],
)  # fmt: skip
def test_votes_of_the_reference(texts: int, p: float, value: float) -> None:
    assert vote_over(texts, p) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize(
    ("texts", "values"),
    [(5, {1: 3.0, 0.9: 3.3186, 0.7: 3.8946, 0.5: 4.125}), (41, {1: 21.0, 0.9: 23.3333, 0.7: 29.9856, 0.5: 36.8598})],
)
def test_adaptive_numbers_of_the_reference(texts: int, values: dict[float, float]) -> None:
    assert {p: expected_texts(texts, p) for p in values} == pytest.approx(values, abs=5e-5)


@given(st.integers(1, 9), st.floats(0, 1))
def test_expected_texts_over_every_order(texts: int, p: float) -> None:
    total = 0.0
    for order in product((True, False), repeat=texts):
        drawn = next(
            k
            for k in range(1, texts + 1)
            if settled(max(sum(order[:k]), k - sum(order[:k])), min(sum(order[:k]), k - sum(order[:k])), texts - k)
            or k == texts
        )
        total += drawn * math.prod(p if first else 1 - p for first in order)
    assert expected_texts(texts, p) == pytest.approx(total)


def test_a_lead_that_can_be_equalled_is_not_settled() -> None:
    assert not settled(3, 1, 2)
    assert settled(3, 0, 2)


def test_a_mean_rate_fixes_little() -> None:
    """Published figures fall from 40.3 to 33.5 % over 40 texts, which equal questions cannot do."""
    assert vote_over_questions(40, [0.403] * 10) == pytest.approx(0.109151, abs=5e-7)
    unlike = vote_over_questions(40, [0.98] * 33 + [0.12] * 67)
    assert sum([0.98] * 33 + [0.12] * 67) / 100 == pytest.approx(0.4038)
    assert unlike == pytest.approx(0.33, abs=1e-4)


@given(st.integers(1, 60), st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_questions_that_differ_are_averaged(texts: int, rates: list[float]) -> None:
    expected = sum(vote_over(texts, rate) for rate in rates) / len(rates)
    assert vote_over_questions(texts, rates) == pytest.approx(expected, abs=1e-9)


def test_numbers_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="0 texts"):
        expected_texts(0, 0.5)
    with pytest.raises(UsageError, match=r"cannot be 1\.2"):
        expected_texts(5, 1.2)
    with pytest.raises(UsageError, match="no question"):
        vote_over_questions(5, [])
