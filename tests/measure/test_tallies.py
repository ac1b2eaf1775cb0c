from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from voting_sets import oracle, tables

from dissensus.measure.patterns import distinct
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import FEW_ANSWERS, count_patterns, leaders, tally, winners, wrong_counts


@given(tables())
def test_leaders_ties_and_credit_are_those_of_counting_by_hand(table: VoteTable) -> None:
    counted = tally(table)
    for q, row in enumerate(table.codes.tolist()):
        votes = Counter(code for code in row if code >= 0)
        most = max(votes.values(), default=0)
        leaders = [code for code, count in votes.items() if count == most]
        gold = int(table.gold[q])
        assert counted.leader[q] == most
        assert counted.tied[q] == len(leaders)
        assert counted.credit[q] == (1 / len(leaders) if gold in leaders else 0)
        assert counted.right[q] == votes.get(gold, 0)
        assert counted.blank[q] == sum(code < 0 for code in row)


@given(arrays(np.int32, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(-2, 3)))
def test_the_two_ways_of_counting_agree(codes: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> None:
    renamed = np.where(codes >= 0, codes + FEW_ANSWERS, codes)
    for counted, sorted_ in zip(leaders(codes), leaders(renamed), strict=True):
        assert np.array_equal(counted, sorted_)
    for row, winner in zip(codes.tolist(), winners(codes).tolist(), strict=True):
        votes = Counter(code for code in row if code >= 0).most_common(2)
        alone = votes and (len(votes) == 1 or votes[0][1] > votes[1][1])
        assert winner == (votes[0][0] if alone else -1)


@given(tables())
def test_wrong_answers_are_counted_most_first(table: VoteTable) -> None:
    found = wrong_counts(table)
    for q, row in enumerate(table.codes.tolist()):
        votes = Counter(code for code in row if code >= 0 and code != table.gold[q])
        expected = sorted(votes.values(), reverse=True)
        assert found[q].tolist() == expected + [0] * (found.shape[1] - len(expected))


@given(tables())
def test_count_patterns_hold_every_question_once(table: VoteTable) -> None:
    counts = count_patterns(table)
    assert counts.times.sum() == table.n_questions
    assert np.array_equal(counts.right[counts.place], tally(table).right)
    assert np.array_equal(counts.wrong[counts.place], wrong_counts(table))
    assert np.array_equal(counts.right + counts.wrong.sum(axis=1) + counts.blank, np.full(len(counts.right), counts.n))
    rows = {(r, *w) for r, w in zip(counts.right.tolist(), map(tuple, counts.wrong.tolist()), strict=True)}
    assert len(rows) == len(counts.right)


@given(arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(0, 3)))
def test_distinct_rows_are_those_of_numpy(matrix: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:
    found = distinct(matrix)
    rows, place, counts = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)
    assert np.array_equal(found.rows, rows)
    assert np.array_equal(found.place, place.ravel())
    assert np.array_equal(found.counts, counts)


@pytest.mark.parametrize("width", [1, 62, 63, 64, 200])
def test_distinct_rows_of_any_width(width: int) -> None:
    rng = np.random.default_rng(width)
    few = rng.integers(0, 2, size=(7, width))
    matrix = few[rng.integers(0, 7, size=200)]
    found = distinct(matrix)
    assert np.array_equal(found.rows[found.place], matrix)
    assert len(found.rows) == len(np.unique(matrix, axis=0))


def test_the_oracle_of_the_definitions() -> None:
    counted = tally(oracle())
    assert counted.credit.sum() == pytest.approx(3 + 1 / 3)
    assert int(counted.strict.sum()) == 6
    assert int(counted.strict_right.sum()) == 3
    assert int(counted.unanimous.sum()) == 3
    assert int((counted.right == 0).sum()) == 2
