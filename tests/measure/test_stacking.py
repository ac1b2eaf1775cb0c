"""The stacker: its maximum is one, voters that copy share a weight, few labels give plurality."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from voting_sets import mmlu_pro, random_table

from dissensus.measure.candidates import candidates_of, wrong_options
from dissensus.measure.compare import crossed
from dissensus.measure.crossfit import folds_of
from dissensus.measure.scores import scores_of
from dissensus.measure.special import Array
from dissensus.measure.stacking import _RIDGE, _RIDGE_COMMON, Stacker, fit_stacker
from dissensus.measure.table import Flags, VoteTable


def penalised(table: VoteTable, stacker: Stacker) -> float:
    """The penalised log-likelihood, question by question."""
    voted, wrong = candidates_of(table), wrong_options(table)
    total = 0.0
    for row, codes in enumerate(table.codes.tolist()):
        given = sorted({code for code in codes if code >= 0})
        scores = {
            answer: sum(w for code, w in zip(codes, stacker.weights, strict=True) if code == answer) for answer in given
        }
        left = wrong[row] + 1 - len(given)
        none = np.exp(stacker.none) * left
        everything = sum(np.exp(score) for score in scores.values()) + none
        gold = int(table.gold[row])
        total += float(np.log((np.exp(scores[gold]) if gold in scores else none) / everything))
    assert voted.width >= 1
    apart = stacker.weights - stacker.weights.mean()
    size = float(stacker.weights @ stacker.weights) + stacker.none**2
    return total - _RIDGE * float(apart @ apart) / 2 - _RIDGE_COMMON * size / 2


def test_the_fit_is_the_maximum() -> None:
    table = random_table(np.random.default_rng(0), 60, 4)
    everything = np.ones(60, dtype=bool)
    found = fit_stacker(candidates_of(table), wrong_options(table), everything)
    best = penalised(table, found)
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(30):
            step = size * rng.normal(size=5)
            assert penalised(table, Stacker(found.weights + step[:4], found.none + step[4])) < best
    begun = fit_stacker(candidates_of(table), wrong_options(table), everything, Stacker(np.full(4, 3.0), 2.0))
    assert begun.weights == pytest.approx(found.weights, abs=1e-5)


def test_posteriors_add_up() -> None:
    table = random_table(np.random.default_rng(2), 200, 5, blank=0.3)
    voted, wrong = candidates_of(table), wrong_options(table)
    posterior = fit_stacker(voted, wrong, np.ones(200, dtype=bool)).posterior(voted, wrong)
    assert (posterior >= 0).all()
    assert (posterior.sum(axis=1) <= 1 + 1e-12).all()
    assert (posterior[~voted.there] == 0).all()
    full = voted.given == 4  # no option is left
    assert posterior[full].sum(axis=1) == pytest.approx(1.0)


def test_who_copies_shares_a_weight() -> None:
    table = random_table(np.random.default_rng(3), 3000, 4)
    copied = VoteTable(
        codes=np.column_stack([table.codes, table.codes[:, 0], table.codes[:, 0]]),
        gold=table.gold,
        voters=("a", "b", "c", "d", "a2", "a3"),
        options=table.options,
    )
    alone = fit_stacker(candidates_of(table), wrong_options(table), np.ones(3000, dtype=bool))
    found = fit_stacker(candidates_of(copied), wrong_options(copied), np.ones(3000, dtype=bool))
    assert found.weights[[0, 4, 5]] == pytest.approx(found.weights[0])
    assert float(found.weights[[0, 4, 5]].sum()) == pytest.approx(float(alone.weights[0]), abs=0.1)


def test_voters_that_are_alike_lose_little_by_learning() -> None:
    """Two hundred labels cannot teach a difference that is not there."""
    lost = []
    for seed in range(20):
        table = random_table(np.random.default_rng(seed), 1200, 7)
        voted, wrong = candidates_of(table), wrong_options(table)
        posterior = fit_stacker(voted, wrong, np.arange(1200) < 200).posterior(voted, wrong)
        plurality = voted.credit(voted.leaders(voted.counts()))[200:]
        lost.append(float((plurality - voted.credit(voted.leaders(posterior))[200:]).mean()))
    assert float(np.mean(lost)) < 0.02


def test_nine_models(shared: Path) -> None:
    table = mmlu_pro(shared)
    voted, wrong = candidates_of(table), wrong_options(table)

    def decide(seen: Flags, here: Flags) -> tuple[Array, Array]:
        posterior = fit_stacker(voted, wrong, seen).posterior(voted.rows(here), wrong[here])
        there = voted.rows(here)
        return there.credit(there.leaders(posterior)), posterior.max(axis=1)

    credit, posterior = crossed(folds_of(table), decide)
    assert posterior is not None
    assert credit.mean() > 0.70651 + 0.01  # better than the best voter alone, which plurality is not
    assert scores_of(posterior, credit).ece < 0.03
