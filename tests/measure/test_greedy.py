"""Choosing a panel: each step against trying all, and figures from questions that had no say."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from reordered import reordered
from voting_sets import mmlu_pro, random_table, tables

from dissensus.measure.candidates import candidates_of
from dissensus.measure.greedy import choose, path, running_credit
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import tally


def plurality(table: VoteTable, chosen: tuple[int, ...]) -> float:
    return float(tally(table.columns(chosen)).credit.sum())


@given(tables())
def test_credits_are_those_of_the_first_voters(table: VoteTable) -> None:
    order = list(range(table.n_voters))[::-1]
    found = running_credit(candidates_of(table), order)
    for many in range(1, table.n_voters + 1):
        assert found[many - 1] == pytest.approx(tally(table.columns(order[:many])).credit)


@given(tables(most_voters=5))
def test_each_step_is_the_best_of_all(table: VoteTable) -> None:
    order = path(candidates_of(table), np.ones(table.n_voters), table.voters)
    assert sorted(order) == list(range(table.n_voters))
    for many in range(table.n_voters):
        before = tuple(order[:many])
        best = max(plurality(table, (*before, voter)) for voter in range(table.n_voters) if voter not in before)
        assert plurality(table, tuple(order[: many + 1])) == pytest.approx(best)


def test_a_price_decides_between_equals_and_weighs_gains() -> None:
    table = random_table(np.random.default_rng(0), 300, 3, accuracy=0.7)
    codes = np.column_stack([table.codes[:, 0], table.codes[:, 0], table.codes[:, 1]])
    twins = replace(table, codes=codes, voters=("dear", "cheap", "other"))
    voted = candidates_of(twins)
    assert path(voted, np.array([2.0, 1.0, 50.0]), twins.voters)[0] == 1
    assert path(voted, np.array([1.0, 1.0, 1.0]), twins.voters)[0] in {1, 2}  # never the later of equals by name
    good, bad = table.right.mean(axis=0).argmax(), table.right.mean(axis=0).argmin()
    price = np.ones(3)
    price[good] = 1000.0
    assert path(candidates_of(table), price, table.voters)[0] != good
    assert good != bad


def test_nine_models(shared: Path) -> None:
    found = choose(mmlu_pro(shared), bootstrap=500)
    assert [choice.by for choice in found.choices] == ["accuracy"]
    sizes = found.choices[0].sizes
    assert sizes[0].added == "gemini-1.5-pro-002"
    assert sizes[0].accuracy.rate == pytest.approx(0.70651, abs=6e-6)
    assert sizes[-1].accuracy.rate == pytest.approx(0.68081, abs=6e-6)
    assert sizes[-1].minus_all == 0.0
    best = sizes[found.choices[0].best - 1]
    assert best.ci is not None
    assert best.ci[0] > 0  # fewer voters are better than all
    assert len(found.choices[0].panel) <= found.choices[0].best


def test_chosen_panels_are_judged_on_other_questions() -> None:
    """Ten coins: the best of them on the questions at hand is a coin on others."""
    rng = np.random.default_rng(1)
    means, optimistic = [], []
    for _ in range(60):
        codes = rng.integers(0, 2, (60, 10)).astype(np.int32)
        table = VoteTable(
            codes=codes,
            gold=np.zeros(60, dtype=np.int32),
            voters=tuple(f"v{i:02}" for i in range(10)),
            questions=[str(rng.integers(10**9)) for _ in range(60)],
        )
        found = choose(table, bootstrap=200).choices[0]
        means += [size.accuracy.rate or 0.0 for size in found.sizes[:5]]
        optimistic.append(float(table.right.mean(axis=0).max()))
    assert float(np.mean(optimistic)) > 0.58
    assert float(np.mean(means)) == pytest.approx(0.5, abs=0.03)


def test_costs_open_a_second_way() -> None:
    table = random_table(np.random.default_rng(2), 200, 4)
    costs = dict(zip(table.voters, (1.0, 2.0, 4.0, 8.0), strict=True))
    found = choose(replace(table, costs=costs), bootstrap=200)
    assert [choice.by for choice in found.choices] == ["accuracy", "accuracy per cost"]
    for choice in found.choices:
        assert choice.sizes[-1].cost == 15.0
        spent = [size.cost or 0.0 for size in choice.sizes]
        assert spent == sorted(spent)
    unknown = choose(replace(table, costs={table.voters[0]: 1.0}), bootstrap=200)
    assert [choice.by for choice in unknown.choices] == ["accuracy"]
    assert unknown.choices[0].sizes[0].cost is None or unknown.choices[0].sizes[0].added == table.voters[0]
    free = choose(replace(table, costs=dict.fromkeys(table.voters, 0.0)), bootstrap=200)
    assert [choice.by for choice in free.choices] == ["accuracy"]


def test_what_cannot_be_chosen_from() -> None:
    rng = np.random.default_rng(3)
    assert "fewer than three" in choose(random_table(rng, 60, 2)).sentence
    assert "49 of at least 50" in choose(random_table(rng, 49, 4)).sentence
    assert "at most 60" in choose(random_table(rng, 60, 61)).sentence


@pytest.mark.parametrize("seed", range(2))
def test_order_and_names_do_not_matter(seed: int) -> None:
    table = random_table(np.random.default_rng(4), 150, 5)
    first, second = choose(table, bootstrap=200), choose(reordered(table, seed), bootstrap=200)
    assert [size.added for size in first.choices[0].sizes] == [size.added for size in second.choices[0].sizes]
    for one, other in zip(first.choices[0].sizes, second.choices[0].sizes, strict=True):
        assert one.accuracy.rate == pytest.approx(other.accuracy.rate)


def test_a_small_panel_may_be_the_best_of_its_size() -> None:
    table = random_table(np.random.default_rng(5), 400, 5)
    order = path(candidates_of(table), np.ones(5), table.voters)
    assert plurality(table, tuple(order[:1])) == max(plurality(table, one) for one in combinations(range(5), 1))
