"""Voters who differ, against every pattern of right and wrong."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.voters import count_distribution, majority_of, optimal_weights, weighted_majority

accuracies = st.lists(st.floats(0, 1), min_size=1, max_size=9)


def by_patterns(p: list[float], weights: list[float]) -> float:
    total = 0.0
    for pattern in product([True, False], repeat=len(p)):
        chance = math.prod(one if right else 1 - one for one, right in zip(p, pattern, strict=True))
        lead = sum(w if right else -w for w, right in zip(weights, pattern, strict=True))
        total += chance * (0.5 if lead == 0 else float(lead > 0))
    return total


@pytest.mark.parametrize(
    ("p", "expected"),
    [([0.9, 0.7, 0.5], 0.8), ([0.9, 0.6, 0.6, 0.6, 0.6], 0.78624), ([0.5] * 8 + [0.9], 0.609375)],
)
def test_reference_values(p: list[float], expected: float) -> None:
    assert majority_of(p) == pytest.approx(expected, abs=1e-12)


@given(accuracies)
def test_majority_is_the_sum_over_all_patterns(p: list[float]) -> None:
    assert majority_of(p) == pytest.approx(by_patterns(p, [1.0] * len(p)), abs=1e-12)


@given(accuracies, st.randoms(use_true_random=False))
def test_counts_are_a_distribution_with_the_right_mean_in_any_order(p: list[float], random: object) -> None:
    counts = count_distribution(p)
    assert counts.sum() == pytest.approx(1)
    assert counts @ np.arange(len(p) + 1) == pytest.approx(sum(p))
    shuffled = list(p)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert count_distribution(shuffled) == pytest.approx(counts, abs=1e-12)


def test_many_panels_at_once() -> None:
    panels = np.array([[[0.9, 0.7, 0.5], [0.1, 0.2, 0.3]]])
    assert majority_of(panels).shape == (1, 2)
    assert majority_of(panels)[0, 1] == pytest.approx(by_patterns([0.1, 0.2, 0.3], [1.0] * 3))


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=7), st.data())
def test_no_weights_do_better_than_the_log_odds(p: list[float], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.integers(-3, 9), min_size=len(p), max_size=len(p)))
    best = weighted_majority(p, optimal_weights(p))
    mine = weighted_majority(p, np.array(other, dtype=float))
    assert mine == pytest.approx(by_patterns(p, [float(w) for w in other]), abs=1e-12)
    assert best >= mine - 1e-12
    assert best >= max(p) - 1e-12


def test_weights_of_many_options() -> None:
    assert optimal_weights(0.25, options=4) == pytest.approx(0, abs=1e-15)
    assert optimal_weights([0.7, 0.7], options=[2, 4]) == pytest.approx([math.log(7 / 3), math.log(7)])
    assert optimal_weights([0.0, 1.0]).tolist() == [-math.inf, math.inf]


def test_equal_log_odds_tie() -> None:
    weights = optimal_weights([0.7, 0.7, 0.7, 0.7])
    assert weighted_majority([0.7] * 4, weights) == pytest.approx(0.784, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: majority_of([0.5, 1.5]), "cannot be 1.5"),
        (lambda: majority_of([0.5, math.nan]), "cannot be nan"),
        (lambda: majority_of([]), "at least one voter"),
        (lambda: optimal_weights(0.5, options=1), "at least two options"),
        (lambda: weighted_majority([0.5] * 23, [1.0] * 23), "2\\^23 patterns"),
        (lambda: weighted_majority([0.5, 0.5], [1.0]), "2 accuracies and 1 weights"),
        (lambda: weighted_majority([0.5, 1.0], optimal_weights([0.5, 1.0])), "not finite"),
    ],
)
def test_what_cannot_be_is_refused(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator]
