"""Answering alone: exact bounds, the guarantee in simulations, what must be handed on, risk by coverage."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta  # type: ignore[import-untyped]
from voting_sets import mmlu_pro, random_table, spelled

from dissensus.errors import UsageError
from dissensus.measure.selective import risk_coverage, rule_for, select, thresholds_of
from dissensus.measure.tallies import tally


def test_nine_models(shared: Path) -> None:
    found = select(mmlu_pro(shared), targets=(0.05, 0.1))
    top = found.thresholds[-1]
    assert (top.t, top.count, top.wrong) == (9, 1180, 78)
    assert top.at_most == pytest.approx(float(beta.ppf(1 - 0.05 / 8, 79, 1102)))  # eight thresholds, 2 … 9
    assert found.base_risk == pytest.approx(1 - 0.68081, abs=6e-6)
    none, ten = found.rules
    assert (none.t, none.coverage, none.handed_on, none.at_most) == (None, 0.0, 1.0, None)
    assert none.least_handed_on == pytest.approx((1 - 0.68081 - 0.05) / 0.95, abs=1e-5)
    assert ten.t == 8
    assert ten.coverage == pytest.approx((778 + 1180) / 6065)
    assert ten.at_most is not None
    assert ten.at_most <= 0.1


def test_a_tied_question_is_never_answered_alone() -> None:
    table = spelled(["AABB", "AAAB", "AAAA", "AB--"] * 20, "AAAA" * 20, options=[4] * 80)
    thresholds = thresholds_of(tally(table))
    assert [(one.t, one.count, one.coverage) for one in thresholds] == [(3, 40, 0.5), (4, 20, 0.25)]
    assert thresholds[0].at_most == pytest.approx(1 - 0.025 ** (1 / 40))


def test_the_rule_keeps_its_promise() -> None:
    """Over many draws the true error rate of the answered questions is above the target in at most 5 %."""
    rng = np.random.default_rng(0)
    target, broken, found_one = 0.15, 0, 0
    true_wrong = {3: 0.30, 4: 0.145, 5: 0.16}  # by votes of five; just above and below the target
    share = {3: 0.4, 4: 0.3, 5: 0.3}
    for _ in range(600):
        votes = rng.choice([3, 4, 5], 200, p=[share[k] for k in (3, 4, 5)])
        right = rng.random(200) >= np.array([true_wrong[k] for k in votes])
        rows = [("A" if r else "B") * k + ("B" if r else "A") * (5 - k) for k, r in zip(votes, right, strict=True)]
        rule = select(spelled(rows, "A" * 200), targets=(target,)).rules[0]
        if rule.t is not None:
            found_one += 1
            kept = [k for k in (3, 4, 5) if k >= rule.t]
            risk = sum(share[k] * true_wrong[k] for k in kept) / sum(share[k] for k in kept)
            broken += risk > target
    assert broken <= 0.05 * 600
    assert found_one > 0


@given(st.floats(0.01, 0.9), st.floats(0.01, 0.5))
def test_what_any_rule_must_hand_on(base: float, target: float) -> None:
    rule = rule_for(target, (), base)
    assert 0 <= rule.least_handed_on <= 1
    # knowing all: refuse wrong ones until the rest keeps the target
    kept_wrong = max(0.0, base - rule.least_handed_on)
    if base > target:
        assert kept_wrong / (1 - rule.least_handed_on) == pytest.approx(target)
    else:
        assert rule.least_handed_on == 0


def test_sentences_instead_of_numbers() -> None:
    table = random_table(np.random.default_rng(1), 40, 5)
    assert "40 of at least 50" in select(table).sentence
    assert select(table).rules == ()
    unknown = select(replace(table, gold=np.full(40, -1, dtype=np.int32)))
    assert "No right answer" in unknown.sentence
    assert unknown.curve is None


@pytest.mark.parametrize("target", [0.0, 1.0, -0.1, float("nan")])
def test_an_error_rate_is_between_none_and_all(target: float) -> None:
    with pytest.raises(UsageError, match="error rate"):
        select(random_table(np.random.default_rng(1), 60, 5), targets=(target,))


def test_repeats_widen_the_bound() -> None:
    table = random_table(np.random.default_rng(2), 400, 5)
    alone = thresholds_of(tally(table))
    doubled = replace(table, groups=np.arange(400) // 2)
    same = [table.codes[place - place % 2] for place in range(400)]
    twice = replace(doubled, codes=np.array(same, dtype=np.int32))
    repeated = thresholds_of(tally(twice), twice.groups)
    assert thresholds_of(tally(twice))[-1].at_most < repeated[-1].at_most
    assert alone


def test_risk_by_coverage() -> None:
    found = risk_coverage(np.array([0.9, 0.9, 0.5, 0.1]), np.array([1.0, 0.0, 1.0, 0.0]))
    assert [(step.score, step.coverage, step.risk) for step in found.steps] == [
        (0.9, 0.5, 0.5), (0.5, 0.75, pytest.approx(1 / 3)), (0.1, 1.0, 0.5),
    ]  # fmt: skip


def test_the_area_is_the_mean_risk_over_coverage() -> None:
    score, right = np.array([0.9, 0.9, 0.5, 0.1, 0.1]), np.array([1.0, 0.0, 1.0, 0.0, 0.5])
    found = risk_coverage(score, right)
    fine = 4000
    total = 0.0
    orders = [order for order in permutations(range(5)) if all(np.diff(score[list(order)]) <= 0)]
    for order in orders:
        wrong = np.concatenate([[0.0], np.cumsum(1 - right[list(order)])])
        coverage = (np.arange(fine) + 0.5) / fine * 5
        total += float(np.mean(np.interp(coverage, np.arange(6), wrong) / coverage)) / len(orders)
    assert found.area == pytest.approx(total, abs=2e-3)


def test_an_oracle_has_the_least_area() -> None:
    rng = np.random.default_rng(3)
    right = (rng.random(4000) < 0.7).astype(float)
    found = risk_coverage(right, right)
    assert found.area == pytest.approx(found.oracle)
    assert risk_coverage(rng.random(4000), right).area == pytest.approx(0.3, abs=0.04)
    assert risk_coverage(np.ones(3), np.zeros(3)).oracle == 1.0
