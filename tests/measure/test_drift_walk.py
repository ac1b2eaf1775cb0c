"""The drift model with noise: the reference's figures, closed forms against all placements, and drawing at random."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.drift_walk import Walk
from dissensus.measure.seats import placements

REFERENCE = [
    (5, 3, 5, Walk(0, 1, 0.5, 1), 0.588468),
    (5, 3, 5, Walk(0, 1, 1, 1), 0.327360),
    (5, 3, 2, Walk(0, 1, 0.5, 1), 0.546958),
    (5, 3, 10, Walk(0, 1, 0.5, 1), 0.624085),
    (5, 3, 3, Walk(0, 1, 0.5, 0), 0.6),
]


@pytest.mark.parametrize(("n", "corrupted", "turns", "walk", "value"), REFERENCE)
def test_figures_of_the_reference(n: int, corrupted: int, turns: int, walk: Walk, value: float) -> None:
    assert walk.accuracy(n, corrupted, turns) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize(("n", "corrupted", "turns", "walk", "value"), REFERENCE)
def test_drawing_at_random_agrees(n: int, corrupted: int, turns: int, walk: Walk, value: float) -> None:
    share, error = walk.simulated(n, corrupted, turns, runs=40_000, seed=1)
    assert 0 < error < 0.003
    assert abs(share - value) <= 4 * error


@given(
    st.integers(1, 6),
    st.data(),
    st.integers(1, 20),
    st.integers(0, 5),
    st.builds(Walk, st.floats(-2, 2), st.floats(-1, 2), st.floats(-1, 2), st.sampled_from([0.0, 0.3, 1.0, 5.0])),
)
def test_the_closed_form_is_the_mean_over_placements(
    n: int, data: st.DataObject, turns: int, start: int, walk: Walk
) -> None:
    corrupted = data.draw(st.integers(0, n))
    seats = placements(n, corrupted)
    found = walk.after(seats, turns, start)
    expected = []
    for honest in seats.tolist():
        many = sum(honest[(start + turn) % n] for turn in range(turns))
        mean = walk.x0 + many * walk.honest - (turns - many) * walk.corrupt
        if walk.noise:
            expected.append(0.5 * math.erfc(-mean / (walk.noise * math.sqrt(2 * turns))))
        else:
            expected.append(0.5 if abs(mean) < 1e-11 else float(mean > 0))
    assert found.tolist() == pytest.approx(expected, abs=1e-9)
    assert walk.accuracy(n, corrupted, turns) == pytest.approx(float(found.mean()), abs=1e-9)


def test_more_turns_help_whoever_pulls_more() -> None:
    walk = Walk(0, 1, 0.5, 1)
    assert walk.critical == pytest.approx(2 / 3)
    assert walk.accuracy(5, 3, 1000) > 0.97
    assert walk.accuracy(5, 4, 1000) < 1e-6
    assert Walk(0, 0, 1, 1).critical == 0
    assert Walk(0, 1, 0, 1).critical == 1


def test_a_large_table_needs_no_enumeration() -> None:
    assert 0 < Walk(0, 1, 1, 3).accuracy(1001, 500, 5000) < 1


def test_one_agent_alone() -> None:
    assert Walk(0, 1, 0.5, 1).after(np.array([[True]]), 4)[0] == pytest.approx(0.5 * math.erfc(-2 / math.sqrt(2)))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Walk(math.inf, 1, 1, 1), "start x0 cannot be inf"),
        (lambda: Walk(0, math.nan, 1, 1), "honest step cannot be nan"),
        (lambda: Walk(0, 1, 1, -1), "noise cannot be -1"),
        (lambda: Walk(0, 1, 1, 1).simulated(5, 3, 5, runs=1), "1 runs"),
        (lambda: Walk(0, 1, 1, 1).accuracy(5, 6, 5), "6 cannot be corrupted"),
    ],
)
def test_bad_input_is_a_sentence(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator] # each is a function of nothing
