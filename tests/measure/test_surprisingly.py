"""The surprisingly popular answer, where it is known to help and where it changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from voting_sets import spelled, tables

from dissensus.errors import UsageError
from dissensus.measure.candidates import candidates_of
from dissensus.measure.surprisingly import surprise
from dissensus.measure.table import VoteTable


def test_the_capital_of_pennsylvania() -> None:
    """Six of ten say that it is Philadelphia, and expect nine to; those who know better expect most to be wrong."""
    voted = candidates_of(spelled(["PPPPPPHHHH"], "H"))
    says_p, says_h = [0.9, 0.1], [0.7, 0.3]
    first = voted.local[0, 0]
    predicted = np.array([[p if first == 0 else p[::-1] for p in [says_p] * 6 + [says_h] * 4]])
    found = surprise(voted, predicted)
    assert voted.credit(voted.leaders(voted.counts())).tolist() == [0.0]
    assert voted.credit(voted.leaders(found)).tolist() == [1.0]
    assert sorted(found[0].tolist()) == pytest.approx([0.6 - 0.82, 0.4 - 0.18])


@given(tables())
def test_who_predicts_nothing_or_the_truth_changes_nothing(table: VoteTable) -> None:
    voted = candidates_of(table)
    silent = np.full((table.n_questions, table.n_voters, voted.width), np.nan)
    plurality = voted.leaders(voted.counts())
    assert (voted.leaders(surprise(voted, silent)) == plurality).all()
    counts = voted.counts()
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    exact = np.repeat(share[:, None, :], table.n_voters, axis=1)
    assert np.abs(surprise(voted, exact)).max() < 1e-12


def test_silence_is_left_out_of_the_mean() -> None:
    voted = candidates_of(spelled(["ABB"], "B"))
    predicted = np.array([[[0.2, 0.8], [np.nan, np.nan], [0.4, 0.6]]])
    assert surprise(voted, predicted)[0].tolist() == pytest.approx([1 / 3 - 0.3, 2 / 3 - 0.7])


def test_what_does_not_fit_is_refused() -> None:
    voted = candidates_of(spelled(["ABB"], "B"))
    with pytest.raises(UsageError, match="Predictions are"):
        surprise(voted, np.zeros((1, 2, 2)))
    with pytest.raises(UsageError, match="outside 0 to 1"):
        surprise(voted, np.full((1, 3, 2), 80.0))
