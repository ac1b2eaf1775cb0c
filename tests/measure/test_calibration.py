"""P(right) from the vote: the reference's figures, learning and judging apart, and silence without labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reordered import reordered
from voting_sets import mmlu_pro, random_table, tables

from dissensus.errors import UsageError
from dissensus.measure.calibration import Calibration, calibrate, crossed, independent, levels_of
from dissensus.measure.candidates import candidates_of, wrong_options
from dissensus.measure.crossfit import folds_of, order_of
from dissensus.measure.logistic import expit, fit_logistic
from dissensus.measure.scores import scores_of
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import tally


@pytest.fixture(scope="module")
def mmlu(shared: Path) -> VoteTable:
    return mmlu_pro(shared)


@pytest.mark.parametrize(("tempered", "mean", "ece"), [(False, 0.9251, 0.2443), (True, 0.6360, 0.0460)])
def test_the_independent_posterior_of_the_reference(mmlu: VoteTable, tempered: bool, mean: float, ece: float) -> None:
    everything = np.ones(mmlu.n_questions, dtype=bool)
    p = independent(mmlu, candidates_of(mmlu), wrong_options(mmlu), everything, tempered=tempered)
    found = scores_of(p, tally(mmlu).credit)
    assert found.mean == pytest.approx(mean, abs=6e-5)
    assert found.ece == pytest.approx(ece, abs=6e-5)


def test_nine_models(mmlu: VoteTable) -> None:
    found = calibrate(mmlu)
    brier = {way.name: way.scores.brier.score for way in found.ways}
    error = {way.name: way.scores.ece for way in found.ways}
    auroc = {way.name: way.scores.auroc or 0.0 for way in found.ways}
    assert list(brier) == ["who", "isotonic", "count", "share", "tempered", "independent"]
    assert list(brier.values()) == sorted(brier.values())
    assert brier["share"] == pytest.approx(0.17215, abs=6e-6)
    assert error["share"] == pytest.approx(0.04220, abs=6e-6)
    assert brier["who"] < 0.150 < brier["isotonic"] < brier["share"] < brier["independent"]
    assert max(error["isotonic"], error["count"], error["who"]) < 0.015
    assert error["independent"] > 0.2
    assert auroc["who"] > 0.82
    assert auroc["share"] < 0.79
    rates = [.249, .363, .478, .630, .734, .782, .898, .934]  # fmt: skip
    assert [level.right.rate for level in found.levels][1:] == pytest.approx(rates, abs=5e-4)
    assert [level.count for level in found.levels][1:] == [310, 711, 837, 863, 676, 706, 778, 1180]
    assert found.p_right(9) == pytest.approx((1180 - 78 + 0.5) / 1181)
    assert found.p_right(10) is None


def test_levels_are_jeffreys_and_never_fall() -> None:
    table = random_table(np.random.default_rng(0), 120, 7)
    levels = levels_of(tally(table))
    for level in levels:
        assert level.right.rate is not None
        assert level.jeffreys == pytest.approx((level.right.rate * level.count + 0.5) / (level.count + 1))
    rising = [level.isotonic for level in levels]
    assert rising == sorted(rising)


def test_without_labels_there_is_no_probability() -> None:
    table = random_table(np.random.default_rng(1), 100, 5)
    found = calibrate(replace(table, gold=np.full(100, -1, dtype=np.int32)))
    assert found == Calibration(0, (), (), 0, found.sentence)
    assert "unknown" in found.sentence


def test_with_few_labels_there_is_a_sentence_and_no_number() -> None:
    table = random_table(np.random.default_rng(2), 49, 5)
    found = calibrate(table)
    assert (found.levels, found.ways) == ((), ())
    assert found.sentence == "Not enough labels: 49 of at least 50 right answers; no probability is stated."
    enough = calibrate(random_table(np.random.default_rng(2), 50, 5))
    assert enough.levels
    assert enough.way("who") is None
    assert "at least 200" in enough.missing[0]
    assert calibrate(random_table(np.random.default_rng(2), 200, 5)).way("who") is not None


def test_repeated_questions_are_one_label() -> None:
    table = random_table(np.random.default_rng(3), 120, 5)
    found = calibrate(replace(table, groups=np.arange(120) // 3))
    assert found.labels == 40
    assert "40 of at least 50" in found.sentence


@pytest.mark.parametrize("seed", range(3))
def test_order_and_names_do_not_matter(seed: int) -> None:
    table = random_table(np.random.default_rng(4), 260, 5)
    first, second = calibrate(table), calibrate(reordered(table, seed))
    for level, same in zip(first.levels, second.levels, strict=True):
        assert (level.k, level.count) == (same.k, same.count)
        assert level.isotonic == pytest.approx(same.isotonic)
    assert [way.name for way in first.ways] == [way.name for way in second.ways]
    for one, other in zip(first.ways, second.ways, strict=True):
        assert one.scores.brier.score == pytest.approx(other.scores.brier.score, abs=1e-9)
        assert one.scores.auroc == pytest.approx(other.scores.auroc, abs=1e-9)


def test_nothing_is_judged_on_what_it_learned_from() -> None:
    """Where the right answer is a coin, no way may look better than chance."""
    rng = np.random.default_rng(5)
    found = []
    for seed in range(12):
        table = random_table(rng, 400, 9, options=2)
        coin = np.where(rng.random(400) < 0.5, table.gold, 1 - table.gold).astype(np.int32)
        way = calibrate(replace(table, gold=coin), seed=seed).way("who")
        assert way is not None
        found.append(way.scores.auroc or 0.0)
    assert float(np.mean(found)) == pytest.approx(0.5, abs=0.03)


@given(tables(most_questions=20), st.integers(2, 6), st.integers(0, 3))
def test_parts_are_of_one_size_and_repeats_stay_together(table: VoteTable, many: int, seed: int) -> None:
    if table.n_questions < 4:
        return
    grouped = replace(table, groups=np.arange(table.n_questions) % (table.n_questions // 2 + 1))
    part = folds_of(table, many=many, seed=seed)
    sizes = np.bincount(part)
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == min(many, table.n_questions)
    together = folds_of(grouped, many=many, seed=seed)
    assert grouped.groups is not None
    for group in np.unique(grouped.groups):
        assert len(np.unique(together[grouped.groups == group])) == 1


def test_parts_follow_names() -> None:
    table = random_table(np.random.default_rng(6), 50, 3)
    turned = table.rows(np.ones(50, dtype=bool))
    turned = replace(turned, questions=list(reversed(table.questions)))
    assert folds_of(table).tolist() == folds_of(turned)[::-1].tolist()
    assert sorted(order_of(table).tolist()) == list(range(50))
    with pytest.raises(UsageError):
        folds_of(table, many=1)
    with pytest.raises(UsageError):
        folds_of(replace(table, groups=np.zeros(50, dtype=np.int64)))


def test_each_part_is_stated_by_the_others() -> None:
    part = np.array([0, 1, 0, 2])
    assert crossed(part, lambda seen: np.full(4, float(seen.sum()))).tolist() == [2.0, 3.0, 2.0, 3.0]


def test_logistic_regression_finds_the_coefficients() -> None:
    rng = np.random.default_rng(7)
    x = np.column_stack([np.ones(40_000), rng.normal(size=(40_000, 2))])
    right = (rng.random(40_000) < expit(x @ np.array([0.3, 1.2, -0.8]))).astype(float)
    b = fit_logistic(x, right, 1 - right, np.zeros(3))
    assert b == pytest.approx([0.3, 1.2, -0.8], abs=0.05)
    slope = x.T @ (right - expit(x @ b))
    assert float(np.abs(slope).max()) < 1e-2


def test_logistic_regression_of_data_that_can_be_told_apart_stays_finite() -> None:
    x = np.column_stack([np.ones(10), np.arange(10.0)])
    right = (np.arange(10) >= 5).astype(float)
    b = fit_logistic(x, right, 1 - right, np.array([0.0, 1.0]))
    assert np.isfinite(b).all()
    assert expit(x @ b)[0] < 0.5 < expit(x @ b)[9]
    everything = fit_logistic(x, np.ones(10), np.zeros(10), np.zeros(2))
    assert np.isfinite(everything).all()
