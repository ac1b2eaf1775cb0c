from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from voting_sets import random_table, spelled

from dissensus.measure.subsets import any_curve, binary_curve, plurality_curve, unanimity_curve, usual_sizes
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import Counts, count_patterns, tally


def counts_of(right: int, wrong: list[int], blank: int) -> Counts:
    one = np.array([1])
    return Counts(
        n=right + sum(wrong) + blank,
        right=np.array([right]),
        wrong=np.array([sorted(wrong, reverse=True)], dtype=np.int64).reshape(1, -1),
        blank=np.array([blank]),
        place=one - 1,
        times=one,
    )


def by_hand(table: VoteTable, n: int) -> tuple[float, float, float, float]:
    """Plurality, binary majority, unanimously right, unanimously wrong: the mean over every choice of n voters."""
    found = []
    for chosen in itertools.combinations(range(table.n_voters), n):
        part = table.columns(chosen)
        counted = tally(part)
        half = (2 * counted.right > n) + (2 * counted.right == n) / 2
        right = counted.right == n
        found.append((counted.credit.mean(), half.mean(), right.mean(), (counted.unanimous & ~right).mean()))
    means = np.mean(found, axis=0)
    return float(means[0]), float(means[1]), float(means[2]), float(means[3])


@pytest.mark.parametrize("voters", [2, 3, 5, 6, 9])
def test_curves_are_the_mean_over_every_choice_of_voters(voters: int) -> None:
    rng = np.random.default_rng(voters)
    table = random_table(rng, 25, voters, options=5, accuracy=0.45, blank=0.15)
    counts = count_patterns(table)
    weights = counts.times / counts.times.sum()
    sizes = tuple(range(1, voters + 1))
    plurality = weights @ plurality_curve(counts, sizes)
    binary = weights @ binary_curve(counts.right, voters, sizes)
    right, wrong = (weights @ part for part in unanimity_curve(counts, sizes))
    for place, n in enumerate(sizes):
        assert (plurality[place], binary[place], right[place], wrong[place]) == pytest.approx(
            by_hand(table, n), abs=1e-12
        )


@settings(max_examples=60)
@given(
    right=st.integers(0, 4),
    wrong=st.lists(st.integers(1, 3), max_size=3),
    blank=st.integers(0, 2),
    data=st.data(),
)
def test_plurality_of_any_counts(right: int, wrong: list[int], blank: int, data: st.DataObject) -> None:
    cells = "R" * right + "".join(chr(65 + place) * count for place, count in enumerate(wrong)) + "-" * blank
    if not cells:
        return
    n = data.draw(st.integers(1, len(cells)))
    found = plurality_curve(counts_of(right, wrong, blank), (n,))[0, 0]
    assert found == pytest.approx(by_hand(spelled([cells], "R"), n)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("right", "wrong", "blank", "n", "expected"),
    [
        (3, [3, 2], 1, 3, 0.386904762),
        (3, [3, 2], 1, 9, 0.5),
        (4, [2, 2, 1], 0, 5, 0.690476190),
        (2, [2, 2, 2], 1, 4, 0.25),
        (1, [], 8, 3, 1 / 3),
    ],
)
def test_plurality_of_the_reference(right: int, wrong: list[int], blank: int, n: int, expected: float) -> None:
    assert plurality_curve(counts_of(right, wrong, blank), (n,))[0, 0] == pytest.approx(expected, abs=5e-10)


def test_binary_majority_of_the_reference() -> None:
    assert binary_curve(np.array([26]), 40, (9,))[0, 0] == pytest.approx(0.8576165174462388, rel=1e-13)


def test_plurality_of_flags_is_the_binary_majority() -> None:
    right = np.arange(41)
    counts = Counts(
        n=40,
        right=right,
        wrong=(40 - right)[:, None],
        blank=np.zeros(41, dtype=np.int64),
        place=right,
        times=np.ones(41, dtype=np.int64),
    )
    sizes = (1, 3, 4, 9, 21, 40)
    assert np.allclose(plurality_curve(counts, sizes), binary_curve(right, 40, sizes), atol=1e-12)


def test_any_and_all_right_are_the_closed_forms() -> None:
    m, n = 100, 9
    c = np.arange(m + 1)
    some, every = any_curve(c, m, (n, m))
    assert some[:, 0] == pytest.approx([1 - math.comb(m - k, n) / math.comb(m, n) for k in c])
    assert every[:, 0] == pytest.approx([math.comb(k, n) / math.comb(m, n) for k in c])
    assert some[:, 1].tolist() == (c > 0).tolist()


def test_the_curve_ends_at_the_plurality_of_all() -> None:
    table = random_table(np.random.default_rng(4), 300, 30, options=8)
    counts = count_patterns(table)
    end = plurality_curve(counts, (30,))[:, 0]
    assert end[counts.place] == pytest.approx(tally(table).credit)
    near = plurality_curve(counts, (29, 30))
    assert abs(float((counts.times * (near[:, 0] - near[:, 1])).sum()) / 300) < 0.02


def test_many_voters_are_no_trouble() -> None:
    sizes = usual_sizes(1500)
    assert sizes[-1] == 1500
    found = plurality_curve(counts_of(700, [500, 200, 50], 50), (1, 21, 101))[0]
    assert found[0] == pytest.approx(700 / 1500)
    assert 0.5 < found[1] < found[2] < 1


@given(st.integers(1, 400))
def test_usual_sizes_begin_with_one_voter_and_end_with_all(m: int) -> None:
    sizes = usual_sizes(m)
    assert sizes[0] == 1
    assert sizes[-1] == m
    assert list(sizes) == sorted(set(sizes))
    assert {n for n in (3, 5, 9, 21) if n <= m} <= set(sizes)
