from __future__ import annotations

import numpy as np
import pytest
from voting_sets import oracle, random_table, spelled

from dissensus.measure.agreement import by_count, score_share, unanimous
from dissensus.measure.best import best_single, crossfit
from dissensus.measure.clusters import clusters_of, silhouette
from dissensus.measure.curve import curve_of
from dissensus.measure.keyreview import review
from dissensus.measure.pairs import pairs_of
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import count_patterns, tally


def test_right_answers_by_leader_count_of_the_oracle() -> None:
    levels = {level.k: (level.count, level.correct) for level in by_count(tally(oracle()))}
    assert levels == {0: (1, 0), 1: (1, pytest.approx(1 / 3)), 2: (3, 1), 3: (3, 2)}


def test_every_count_of_votes_has_a_row_and_zero_only_where_it_occurs() -> None:
    levels = by_count(tally(spelled(["AAA", "AAB"], "AA")))
    assert [level.k for level in levels] == [1, 2, 3]
    assert levels[0].right.rate is None


def test_the_share_as_a_score_of_the_oracle() -> None:
    found = score_share(tally(oracle()))
    assert found.auroc == pytest.approx(0.735714, abs=5e-7)
    assert found.ece == pytest.approx(0.25)
    assert found.brier == pytest.approx(0.277778, abs=5e-7)


def test_auroc_is_the_mean_over_all_pairs_of_questions() -> None:
    counted = tally(random_table(np.random.default_rng(1), 60, 5, accuracy=0.5))
    c, s = counted.credit, counted.leader / counted.n
    above = (s[:, None] > s) + (s[:, None] == s) / 2
    expected = (c[:, None] * (1 - c) * above).sum() / (c.sum() * (1 - c).sum())
    assert score_share(counted).auroc == pytest.approx(expected)


@pytest.mark.parametrize("key", ["A", "B"])
def test_all_right_or_all_wrong_has_no_auroc(key: str) -> None:
    assert score_share(tally(spelled(["AAA", "AAC"], key * 2))).auroc is None


def test_unanimity_of_the_oracle() -> None:
    table = oracle()
    found = unanimous(tally(table), 1 / 3, 0.3, 0.45, None)
    assert (found.count, found.wrong) == (3, 1)
    assert found.independent_claim == pytest.approx((0.3 / 0.45) ** 3 / 9 / (1 + (0.3 / 0.45) ** 3 / 9))
    assert unanimous(tally(table), None, 0.3, 0.45, None).independent_claim is None


def test_the_best_voter_of_the_oracle() -> None:
    table = oracle()
    found = best_single(table, tally(table), times=300, seed=0)
    assert (found.voter, found.accuracy) == ("x", 0.75)
    assert found.minus == pytest.approx(-0.333333, abs=5e-7)
    assert found.error == pytest.approx(0.166667, abs=5e-7)
    assert found.differing == 3 / 8  # three on one side come by luck one time in four: no difference can be shown
    assert found.detectable is None


def test_equal_voters_are_told_apart_by_name_not_by_place() -> None:
    table = spelled(["AB", "BA"], "AA", voters=("z", "a"))
    assert best_single(table, tally(table), times=300, seed=0).voter == "a"


def test_a_voter_chosen_on_other_questions_is_worth_less_than_the_best_in_hindsight() -> None:
    rng = np.random.default_rng(3)
    table = VoteTable(
        codes=(rng.random((60, 12)) < 0.5).astype(np.int32),
        gold=np.zeros(60, dtype=np.int32),
        voters=tuple(f"v{place}" for place in range(12)),
    )
    fair = crossfit(table, seed=1)
    assert fair is not None
    assert fair == pytest.approx(0.5, abs=0.1)
    assert fair < table.right.mean(axis=0).max() - 0.03


def test_a_voter_who_is_clearly_best_loses_nothing_by_cross_fitting() -> None:
    table = spelled(["ABB", "AAB", "ABA", "ABB", "AAB", "ABC"] * 5, "A" * 30)
    assert crossfit(table, seed=0) == pytest.approx(1.0)
    assert crossfit(spelled(["AB"], "A"), seed=0) is None


def test_voters_that_copy_each_other_are_one_group() -> None:
    rng = np.random.default_rng(5)
    base = random_table(rng, 300, 3, accuracy=0.6).codes
    noise = rng.random((300, 6)) < 0.05
    codes = np.where(
        noise, 3, np.column_stack([base[:, 0], base[:, 0], base[:, 0], base[:, 1], base[:, 1], base[:, 1]])
    )
    table = VoteTable(codes=codes.astype(np.int32), gold=np.zeros(300, dtype=np.int32), voters=tuple("abcxyz"))
    found = clusters_of(pairs_of(table).phi, table.voters)
    assert found is not None
    assert [set(group.voters) for group in found.groups] == [set("abc"), set("xyz")]
    assert all(group.phi is not None and group.phi > 0.6 for group in found.groups)
    assert set(found.order) == set("abcxyz")
    assert len(found.merges) == 5


def test_independent_voters_make_no_groups() -> None:
    rng = np.random.default_rng(6)
    wrong = rng.random((2000, 8)) < 0.4
    phi = np.corrcoef(wrong.T.astype(float))
    found = clusters_of(phi, tuple("abcdefgh"))
    assert found is not None
    assert len(found.groups) == 1
    assert found.silhouette is None


def test_voters_without_a_correlation_are_not_in_the_tree() -> None:
    phi = np.full((4, 4), np.nan)
    phi[:3, :3] = [[1, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 1]]
    found = clusters_of(phi, ("a", "b", "c", "d"))
    assert found is not None
    assert found.voters == ("a", "b", "c")
    assert clusters_of(phi[2:, 2:], ("c", "d")) is None


def test_the_silhouette_of_two_tight_groups_is_near_one() -> None:
    distance = np.array([[0, 0.1, 1, 1], [0.1, 0, 1, 1], [1, 1, 0, 0.1], [1, 1, 0.1, 0]])
    assert silhouette(distance, np.array([1, 1, 2, 2])) == pytest.approx(0.9)
    assert silhouette(distance, np.array([1, 1, 1, 1])) == 0
    assert silhouette(distance, np.array([1, 1, 2, 3])) == pytest.approx(0.9 * 2 / 4)


def test_key_review_lists_the_strongest_doubt_first() -> None:
    rows = ["AAAAAAAAA", "BBBBBBBAA", "BBBBBBBBC", "CCCCBBBB-", "BBBBBBBBB"]
    table = spelled(rows, "AAAAA", questions=["fine", "seven", "eight", "spread", "all"])
    found = review(table, tally(table))
    assert [(doubt.question, doubt.reason) for doubt in found.listed] == [
        ("all", "unanimous against the key"),
        ("eight", "most against the key"),
        ("seven", "most against the key"),
        ("spread", "nobody has the key"),
    ]
    assert (found.unanimous, found.most, found.nobody, found.total) == (1, 3, 3, 4)
    assert found.listed[0].leader == ("B",)
    assert found.listed[3].leader == ("B", "C")
    assert review(table, tally(table), most_listed=1).total == 4


def test_where_the_curve_rises_stops_and_falls() -> None:
    rng = np.random.default_rng(9)
    rises = VoteTable(
        codes=(rng.random((2000, 5)) > 0.7).astype(np.int32), gold=np.zeros(2000, dtype=np.int32), voters=tuple("abcde")
    )
    found = curve_of(count_patterns(rises), times=500, seed=0)
    assert found.rises
    assert found.argmax == 5
    assert found.at(5).plurality == pytest.approx(found.at(5).condorcet, abs=0.03)
    falls = VoteTable(
        codes=(rng.random((2000, 5)) > 0.35).astype(np.int32),
        gold=np.zeros(2000, dtype=np.int32),
        voters=tuple("abcde"),
    )
    found = curve_of(count_patterns(falls), times=500, seed=0)
    assert found.falls
    assert (found.argmax, found.worst) == (1, 5)
    copies = VoteTable(
        codes=np.repeat((rng.random((300, 1)) > 0.7).astype(np.int32), 5, axis=1),
        gold=np.zeros(300, dtype=np.int32),
        voters=tuple("abcde"),
    )
    found = curve_of(count_patterns(copies), times=500, seed=0)
    assert (found.argmax, found.enough, found.falls, found.rises) == (1, 1, False, False)


def test_even_sizes_are_never_recommended() -> None:
    table = random_table(np.random.default_rng(10), 400, 4, accuracy=0.7)
    found = curve_of(count_patterns(table), times=500, seed=0)
    assert found.argmax != 2
    assert found.enough != 2
