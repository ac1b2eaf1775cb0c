"""Weighted votes: the best weights for independent voters against every rule there is, shrinkage, and caps."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from voting_sets import mmlu_pro, spelled, tables

from dissensus.measure.candidates import candidates_of, wrong_options
from dissensus.measure.compare import crossed, weighted_log_odds
from dissensus.measure.special import Array
from dissensus.measure.table import Flags, VoteTable
from dissensus.measure.tallies import tally
from dissensus.measure.weights import capped, log_odds, log_odds_scores, shrunk_accuracy

accuracies = st.lists(st.floats(0.3, 0.95), min_size=1, max_size=5)


def every_outcome(p: list[float]) -> list[tuple[str, float, float]]:
    """Votes of two options, and their chance if A, or if B, is right."""
    found = []
    for votes in product("AB", repeat=len(p)):
        if_a = float(np.prod([q if vote == "A" else 1 - q for vote, q in zip(votes, p, strict=True)]))
        if_b = float(np.prod([1 - q if vote == "A" else q for vote, q in zip(votes, p, strict=True)]))
        found.append(("".join(votes), if_a, if_b))
    return found


@given(accuracies)
def test_no_rule_beats_log_odds_for_independent_voters(p: list[float]) -> None:
    outcomes = every_outcome(p)
    table = spelled([votes for votes, _, _ in outcomes], "A" * len(outcomes))
    voted = candidates_of(table)
    # both options are always there: a vote for one at zero weight is none, so a rival with no voters has score 0
    scores = log_odds_scores(voted, np.array(p), np.ones(len(outcomes)))
    mine = np.where(table.codes == table.gold[:, None], log_odds(np.array(p)), 0.0).sum(axis=1)
    other = np.where(table.codes != table.gold[:, None], log_odds(np.array(p)), 0.0).sum(axis=1)
    for row, (votes, if_a, if_b) in enumerate(outcomes):
        assert mine[row] - other[row] == pytest.approx(np.log(if_a / if_b), abs=1e-9)
        if len(set(votes)) == 2 and abs(np.log(if_a / if_b)) > 1e-6:
            assert (voted.credit(voted.leaders(scores))[row] == 1.0) == (if_a > if_b)


def test_two_parts_of_the_nine_models(shared: Path) -> None:
    """Two parts by parity of the question's number, accuracies as they are."""
    table = mmlu_pro(shared)
    voted, wrong = candidates_of(table), wrong_options(table)
    part = np.array([int(name) % 2 for name in table.questions])

    def accuracy(options: Array) -> float:
        def decide(seen: Flags, here: Flags) -> tuple[Array, Array]:
            return weighted_log_odds(voted.rows(here), options[here], table.right[seen], strength=0.0)

        return float(crossed(part, decide)[0].mean())

    assert float(voted.credit(voted.leaders(voted.counts())).mean()) == pytest.approx(0.68081, abs=6e-6)
    assert accuracy(wrong) == pytest.approx(0.69761, abs=6e-6)
    assert accuracy(np.ones_like(wrong)) > 0.72  # wrong votes of these voters are not spread evenly


def test_evidence_in_proportion_moves_the_posterior_and_no_decision(shared: Path) -> None:
    table = mmlu_pro(shared)
    voted, wrong = candidates_of(table), wrong_options(table)
    plain = weighted_log_odds(voted, wrong, table.right)
    tempered = weighted_log_odds(voted, wrong, table.right, n_eff=2.048)
    assert (plain[0] == tempered[0]).all()
    assert float(tempered[1].mean()) < float(plain[1].mean()) - 0.2


def test_shrinking() -> None:
    rng = np.random.default_rng(0)
    same = rng.random((60, 9)) < 0.7
    alike = shrunk_accuracy(same)
    assert float(np.ptp(alike)) < 0.5 * float(np.ptp(same.mean(axis=0)))
    apart = rng.random((4000, 3)) < [0.9, 0.6, 0.3]
    assert shrunk_accuracy(apart) == pytest.approx(apart.mean(axis=0), abs=0.01)
    assert shrunk_accuracy(apart, 0.0) == pytest.approx(apart.mean(axis=0))
    assert shrunk_accuracy(apart, 1e12) == pytest.approx(apart.mean())
    assert shrunk_accuracy(np.ones((5, 1), dtype=bool)).tolist() == [1.0]


def test_certain_voters_have_a_bounded_weight() -> None:
    assert log_odds(np.array([0.0, 0.5, 1.0])).tolist() == [-30.0, 0.0, 30.0]


def test_a_family_has_one_vote() -> None:
    weights = capped([[0, 1, 2], [4]], 5)
    assert weights.tolist() == [1 / 3, 1 / 3, 1 / 3, 1.0, 1.0]
    assert capped([[0, 1, 2]], 3, cap=2.0).tolist() == [2 / 3] * 3
    assert capped([[0, 1]], 2, cap=5.0).tolist() == [1.0, 1.0]
    assert capped([[]], 2).tolist() == [1.0, 1.0]
    voted = candidates_of(spelled(["AAABB"], "B"))
    assert voted.credit(voted.leaders(voted.counts())).tolist() == [0.0]
    assert voted.credit(voted.leaders(voted.scores(weights))).tolist() == [1.0]


@given(tables())
def test_equal_weights_are_plurality(table: VoteTable) -> None:
    voted, tallies = candidates_of(table), tally(table)
    leaders = voted.leaders(voted.counts())
    assert voted.credit(leaders).tolist() == tallies.credit.tolist()
    assert leaders.sum(axis=1).tolist() == tallies.tied.tolist()
    assert voted.counts().max(axis=1).tolist() == tallies.leader.tolist()
    assert voted.given.tolist() == [len({code for code in row if code >= 0}) for row in table.codes.tolist()]


def test_ties_hold_however_weights_add_up() -> None:
    voted = candidates_of(spelled(["AAABBB"], "A"))
    weights = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1])  # .1 + .2 + .3 and .3 + .2 + .1 differ in the last digit
    assert voted.scores(weights)[0, 0] != voted.scores(weights)[0, 1]
    assert voted.credit(voted.leaders(voted.scores(weights))).tolist() == [0.5]


def test_how_many_wrong_answers_there_are() -> None:
    known = spelled(["AB", "AC"], "AB", options=[4, 2])
    assert wrong_options(known).tolist() == [3.0, 1.0]
    # both wrong three times, on the same answer once: as if there were three
    opened = spelled(["XY", "XX", "YZ", "AA"], "AAAA")
    assert wrong_options(opened).tolist() == [3.0] * 4
    assert wrong_options(spelled(["XX", "YY"], "AA")).tolist() == [1.0, 1.0]
    assert wrong_options(spelled(["XX", "YY"], "--")).tolist() == [1.0, 1.0]
