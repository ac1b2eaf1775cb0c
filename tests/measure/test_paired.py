"""Paired comparisons: the reference's figures, coverage and level by simulation, and questions that share a story."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.paired import MCNEMAR, SIGNS, accuracy, compare_paired, corrected, mcnemar, wilson

# --- the reference


@pytest.mark.parametrize(
    ("counts", "p"), [((15, 5), 0.041389), ((5, 0), 0.0625), ((6, 0), 0.03125), ((30, 12), 0.007916), ((0, 0), 1.0)]
)
def test_mcnemar_of_the_reference(counts: tuple[int, int], p: float) -> None:
    assert mcnemar(*counts) == pytest.approx(p, abs=5e-7)
    assert mcnemar(*reversed(counts)) == mcnemar(*counts)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(2, 250, 0.002197, 0.028695), (914, 1319, 0.667526, 0.717252), (0, 125, 0.0, 0.029815)],
)
def test_wilson_of_the_reference(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-7)


# --- closed forms


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_counts_the_tables_at_least_as_uneven(first: int, second: int) -> None:
    total, gap = first + second, abs(first - second)
    ways = sum(math.comb(total, k) for k in range(total + 1) if abs(2 * k - total) >= gap)
    assert mcnemar(first, second) == pytest.approx(ways / 2**total)


def test_mcnemar_of_very_many_questions_is_a_number() -> None:
    assert 0 < mcnemar(5200, 4800) < 1e-4


@given(st.integers(1, 400), st.data())
def test_wilson_is_where_the_score_test_turns(of: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, of))
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
    mirrored = wilson(of - hits, of)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-12)
    for end in (low, high):
        if 0 < end < 1:
            z = (hits / of - end) / math.sqrt(end * (1 - end) / of)
            assert abs(z) == pytest.approx(1.959963984540054, abs=1e-6)


def test_wilson_covers() -> None:
    draw = np.random.default_rng(5).binomial(60, 0.85, size=4000)
    inside = np.mean([low <= 0.85 <= high for low, high in (wilson(int(hits), 60) for hits in draw)])
    assert 0.93 <= inside <= 0.97


# --- the comparison


def test_a_comparison_by_hand() -> None:
    first = [1] * 30 + [0] * 12 + [1] * 58
    second = [0] * 30 + [1] * 12 + [1] * 58
    found = compare_paired(first, second)
    assert (found.first, found.second, found.questions, found.units) == (0.88, 0.7, 100, 100)
    assert found.difference == pytest.approx(0.18)
    assert (found.only_first, found.only_second, found.test) == (30, 12, MCNEMAR)
    assert found.p == found.p_holm == pytest.approx(0.007916, abs=5e-7)
    assert 0.03 < found.low < 0.18 < found.high < 0.32
    back = compare_paired(second, first)
    assert (back.difference, back.p) == pytest.approx((-found.difference, found.p))
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=0.02)


def test_the_interval_covers_the_true_difference() -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(300):
        outcome = rng.choice(4, size=150, p=[0.4, 0.25, 0.1, 0.25])  # both, only first, only second, none
        first, second = np.isin(outcome, (0, 1)).astype(float), np.isin(outcome, (0, 2)).astype(float)
        found = compare_paired(first, second, times=400, seed=trial)
        covered += found.low <= 0.15 <= found.high
    assert 0.91 <= covered / 300 <= 0.98


def test_questions_of_one_story_count_once() -> None:
    """Ten copies of each of 12 questions are no more evidence than the 12."""
    first, second = np.array([1.0] * 6 + [0.0] * 6), np.zeros(12)
    alone = compare_paired(first, second)
    copied = compare_paired(
        np.repeat(first, 10), np.repeat(second, 10), groups=[f"story {i // 10}" for i in range(120)]
    )
    assert (copied.questions, copied.units, copied.test) == (120, 12, SIGNS)
    assert copied.difference == alone.difference
    assert (copied.low, copied.high) == pytest.approx((alone.low, alone.high), abs=0.03)
    assert copied.p == pytest.approx(alone.p, abs=0.01)
    blind = compare_paired(np.repeat(first, 10), np.repeat(second, 10))
    assert blind.p < copied.p / 1000
    assert blind.high - blind.low < (copied.high - copied.low) / 2


def test_a_group_for_each_question_changes_nothing() -> None:
    first, second = [1, 1, 1, 0, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 1, 0]
    apart = compare_paired(first, second, groups=range(8))
    assert apart.p == compare_paired(first, second).p
    assert apart.test == MCNEMAR


def test_shared_ties_are_no_coins() -> None:
    found = compare_paired([0.5, 1, 1, 0, 1], [0, 0, 0.5, 0, 1])
    assert found.test == SIGNS
    assert (found.only_first, found.only_second) == (3, 0)
    assert 0.1 < found.p <= 0.5


def test_no_difference_seen_is_not_a_difference_of_nothing() -> None:
    found = compare_paired([1] * 20, [1] * 20)
    assert (found.difference, found.p) == (0, 1)
    assert found.low == pytest.approx(-found.high)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 20))
    always = compare_paired([1] * 20, [0] * 20)
    assert (always.difference, always.high) == (1, 1)
    assert always.low == pytest.approx(1 - 2 * (1 - 0.025 ** (1 / 20)))


def test_one_story_alone_says_nothing_of_another() -> None:
    found = compare_paired([1, 0, 1], [0, 0, 1], groups=["a", "a", "a"])
    assert (found.low, found.high, found.units) == (-1, 1, 1)


def test_holm_by_hand() -> None:
    family = {
        name: compare_paired([1] * won + [0] * 20, [0] * (won + 20)) for name, won in (("a", 6), ("b", 12), ("c", 3))
    }
    found = corrected(family)
    assert list(found) == ["a", "b", "c"]
    assert found["b"].p_holm == pytest.approx(3 * family["b"].p)
    assert found["a"].p_holm == pytest.approx(2 * 0.03125)
    assert found["c"].p_holm == pytest.approx(0.25)
    assert corrected({}) == {}


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_what_is_said_is_true_of_any_pair(pairs: list[tuple[bool, bool]]) -> None:
    first, second = ([float(one[i]) for one in pairs] for i in (0, 1))
    found = compare_paired(first, second, times=200)
    assert found.difference == pytest.approx(found.first - found.second)
    assert found.only_first - found.only_second == pytest.approx(found.difference * len(pairs))
    assert -1 <= found.low <= found.difference + 1e-9
    assert found.difference - 1e-9 <= found.high <= 1
    assert 0 < found.p <= 1


# --- one side


def test_accuracy_has_wilsons_interval() -> None:
    found = accuracy([1] * 914 + [0] * 405)
    assert (found.value, found.n) == (914 / 1319, 1319)
    assert (found.low, found.high) == pytest.approx((0.667526, 0.717252), abs=5e-7)
    assert accuracy([]).value is None
    copied = accuracy([1] * 30 + [0] * 30, groups=[i // 10 for i in range(60)])
    assert copied.low is not None
    assert copied.low < wilson(30, 60)[0] - 0.1  # six stories, not sixty questions


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: compare_paired([1, 0], [1]), "2 and 1 questions"),
        (lambda: compare_paired([], []), "0 and 0 questions"),
        (lambda: compare_paired([2], [1]), "cannot be 2"),
        (lambda: compare_paired([1], [1], groups=["a", "b"]), "1 questions and 2 stories"),
        (lambda: wilson(3, 2), "no share"),
        (lambda: wilson(0, 0), "no share"),
        (lambda: wilson(1, 2, 1.0), "confidence level"),
        (lambda: mcnemar(-1, 2), "fewer than none"),
    ],
)
def test_bad_input_is_a_sentence(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator] # each is a function of nothing
