from __future__ import annotations

import numpy as np
import pytest
from voting_sets import spelled

from dissensus.errors import UsageError
from dissensus.measure.table import VoteTable, table_of


def test_a_blank_is_never_right_and_keeps_its_reason() -> None:
    table = VoteTable(
        codes=np.array([[0, -1, -2], [1, 1, -2]], dtype=np.int32),
        gold=np.array([0, 1], dtype=np.int32),
        voters=("a", "b", "c"),
        reasons=("empty", "refused"),
    )
    assert table.right.tolist() == [[True, False, False], [True, True, False]]
    assert table.blanks() == {"empty": 1, "refused": 2}


def test_nothing_is_right_without_a_right_answer() -> None:
    table = spelled(["AB", "AA"], "-A")
    assert table.labelled.tolist() == [False, True]
    assert table.right.tolist() == [[False, False], [True, True]]


def test_choosing_rows_and_columns_keeps_everything_beside_them() -> None:
    table = spelled(["AB", "BA", "AA"], "ABA", voters=("p", "q"), strata=["s", "t", "s"], groups=[1, 1, 2])
    part = table.rows(np.array([True, False, True])).columns([1, 0])
    assert part.voters == ("q", "p")
    assert list(part.questions) == ["1", "3"]
    assert part.right.tolist() == [[False, True], [True, True]]
    assert part.strata is not None
    assert part.strata.tolist() == [0, 0]
    assert part.groups is not None
    assert part.groups.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: table_of([], []), "nothing to measure"),
        (lambda: table_of([[]], ["A"]), "nothing to measure"),
        (lambda: table_of([["A"], ["A", "B"]], ["A", "A"]), "has 2 answers"),
        (lambda: table_of([["A"]], ["A", "B"]), "2 right answers"),
        (lambda: table_of([["A", "B"]], ["A"], voters=("x", "x")), "Two voters are called 'x'"),
        (lambda: table_of([["A", "B"]], ["A"], voters=("x",)), "1 voters are named"),
        (lambda: table_of([["A"]], ["A"], options=[4, 4]), "the options are"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(make: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()  # type: ignore[operator]
