"""Correlation by factor against the pairs written out, one model at three hosts, and what an effective vote costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from voting_sets import HOSTS, gsm, random_table

from dissensus.measure.factors import factors_of
from dissensus.measure.pairs import effective_voters
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable

LEVELS = {
    "model": {"a": "m", "b": "m", "c": "n", "d": "n", "e": "o"},
    "prompt": {"a": "x", "b": "y", "c": "x", "d": "x", "e": "y"},
}


def five() -> VoteTable:
    table = random_table(np.random.default_rng(0), 300, 5)
    return replace(table, voters=tuple("abcde"), costs=dict(zip("abcde", (1.0, 2.0, 3.0, 4.0, 5.0), strict=True)))


def phi(table: VoteTable) -> Array:
    found: Array = np.corrcoef((~table.right).astype(float).T)
    return found


def test_pairs_are_sorted_by_factor() -> None:
    table = five()
    found = factors_of(table, LEVELS, bootstrap=300)
    assert found is not None
    model, prompt = found.factors
    r = phi(table)
    assert model.within.phi == pytest.approx((r[0, 1] + r[2, 3]) / 2)
    assert (model.within.pairs, model.between.pairs) == (2, 8)
    others = [r[i, j] for i in range(5) for j in range(i) if (i, j) not in {(1, 0), (3, 2)}]
    assert model.between.phi == pytest.approx(float(np.mean(others)))
    assert model.within.phi is not None
    assert model.between.phi is not None
    assert model.difference == pytest.approx(model.within.phi - model.between.phi)
    # same prompt, other model: a-c, a-d (x), b-e (y)
    assert model.alone.phi == pytest.approx((r[0, 2] + r[0, 3] + r[1, 4]) / 3)
    assert prompt.alone.phi == pytest.approx(r[0, 1])  # same model, other prompt: a-b only
    wrong = [(~table.right[:, i] & ~table.blank[:, i]) for i in range(5)]
    both = [wrong[i] & wrong[j] for i, j in ((0, 1), (2, 3))]
    same = [both[0] & (table.codes[:, 0] == table.codes[:, 1]), both[1] & (table.codes[:, 2] == table.codes[:, 3])]
    assert model.within.same_wrong == pytest.approx(sum(s.sum() for s in same) / sum(b.sum() for b in both))


def test_costs_of_levels_and_of_all() -> None:
    table = five()
    found = factors_of(table, LEVELS, bootstrap=300)
    assert found is not None
    r = phi(table)
    first, second, alone = found.factors[0].levels
    assert (first.voters, first.cost) == (("a", "b"), 3.0)
    assert first.n_eff == pytest.approx(effective_voters(2, float(r[0, 1])))
    assert first.cost_per_effective_vote == pytest.approx(3.0 / (first.n_eff or 0.0))
    assert second.accuracy == pytest.approx(float(table.right[:, 2:4].mean()))
    assert (alone.phi, alone.n_eff, alone.cost_per_effective_vote) == (None, 1.0, 5.0)
    mean = float(r[np.triu_indices(5, 1)].mean())
    assert found.cost == 15.0
    assert found.cost_per_effective_vote == pytest.approx(15.0 / (effective_voters(5, mean) or 0.0))
    unknown = factors_of(replace(table, costs={"a": 1.0}), LEVELS, bootstrap=300)
    assert unknown is not None
    assert unknown.cost is unknown.cost_per_effective_vote is None  # unknown is not 0


def test_one_model_at_three_hosts(shared: Path) -> None:
    table = gsm(shared)
    model = {voter: "Llama-3.1-405B" if voter in HOSTS else voter for voter in table.voters}
    found = factors_of(table, {"model": model}, bootstrap=500)
    assert found is not None
    factor = found.factors[0]
    assert factor.within.pairs == 3
    assert factor.within.phi == pytest.approx(0.61846, abs=6e-6)
    assert factor.within.same_wrong == pytest.approx(0.89655, abs=6e-6)
    llama = next(level for level in factor.levels if level.level == "Llama-3.1-405B")
    assert llama.n_eff == pytest.approx(1.341, abs=6e-4)
    assert factor.difference_ci is not None
    assert factor.difference_ci[0] > 0.1


def test_intervals_hold_the_figures_and_shrink() -> None:
    table = five()
    few = factors_of(table, LEVELS, bootstrap=500)
    many = factors_of(
        replace(random_table(np.random.default_rng(0), 5000, 5), voters=tuple("abcde")), LEVELS, bootstrap=500
    )
    assert few is not None
    assert many is not None
    width = []
    for found in (few, many):
        one = found.factors[0].within
        assert one.ci is not None
        assert one.phi is not None
        assert one.ci[0] < one.phi < one.ci[1]
        width.append(one.ci[1] - one.ci[0])
    assert width[1] < 0.4 * width[0]


def test_coverage_of_the_difference() -> None:
    """The interval of within less between holds the truth, which is 0 for voters that are all alike."""
    held = 0
    for seed in range(120):
        table = replace(random_table(np.random.default_rng(seed), 200, 5), voters=tuple("abcde"))
        found = factors_of(table, {"model": LEVELS["model"]}, bootstrap=300)
        assert found is not None
        ci = found.factors[0].difference_ci
        assert ci is not None
        held += ci[0] <= 0 <= ci[1]
    assert held >= 0.88 * 120


def test_factors_that_say_nothing_are_left_out() -> None:
    table = five()
    levels = {
        "host": dict.fromkeys("abcde", "one"),
        "seed": {voter: voter for voter in "abcde"},
        "order": {"z": "1"},
        "family": {"a": "f", "b": "f", "c": "g"},
    }
    found = factors_of(table, levels, bootstrap=300)
    assert found is not None
    assert [factor.name for factor in found.factors] == ["family"]
    assert found.factors[0].within.pairs == 1
    assert found.factors[0].between.pairs == 2
    assert len(found.missing) == 3
    assert factors_of(replace(table, gold=np.full(300, -1, dtype=np.int32)), levels) is None
    assert factors_of(table.columns([0]), levels) is None


def test_voters_without_a_correlation_are_left_out_of_means() -> None:
    table = five()
    codes = table.codes.copy()
    codes[:, 0] = table.gold
    found = factors_of(replace(table, codes=codes), LEVELS, bootstrap=300)
    assert found is not None
    assert found.factors[0].within.pairs == 1  # c-d; a is always right
    assert found.factors[0].levels[0].n_eff is None
