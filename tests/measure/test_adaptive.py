"""Stopping early: Wald's closed forms, the criterion of the paper, windows, and the whole panel as the limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta  # type: ignore[import-untyped]
from voting_sets import gsm, mmlu_pro, random_table, spelled, tables

from dissensus.errors import UsageError
from dissensus.measure.adaptive import RULES, beta_rule, lead_rule, run, stopped, window_rule
from dissensus.measure.candidates import Candidates, candidates_of
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable, Whole


def drawn_until(votes: str, rule: str) -> tuple[int, str]:
    """Votes drawn of the string, and the leaders then."""
    voted = candidates_of(spelled([votes], "A"))
    rules = {**RULES, "window 3": window_rule(3)}
    counts, drawn = run(voted, np.arange(len(votes)), rules[rule])
    names = {int(voted.local[0, i]): letter for i, letter in enumerate(votes) if letter != "-"}
    top = counts[0].max()
    return int(drawn[0]), "".join(sorted(name for i, name in names.items() if counts[0, i] == top))


@pytest.mark.parametrize(
    ("votes", "rule", "expected"),
    [
        ("AABBBBB", "lead 2", (2, "A")),
        ("ABAABBB", "lead 2", (4, "A")),
        ("ABABABA", "lead 2", (7, "A")),
        ("A-A--BB", "lead 2", (3, "A")),
        ("AAABBBB", "lead 3", (3, "A")),
        ("AABAAAB", "window 3", (6, "A")),
        ("AABABAB", "window 3", (7, "A")),
        ("AA-AAA-", "window 3", (6, "A")),
        ("---AAAA", "window 3", (6, "A")),
        ("AAAAAAA", "beta .95", (4, "A")),
        ("AB", "lead 2", (2, "AB")),
        ("--", "lead 2", (2, "")),
    ],
)
def test_when_it_stops(votes: str, rule: str, expected: tuple[int, str]) -> None:
    assert drawn_until(votes, rule) == expected


def test_the_beta_criterion_is_its_definition() -> None:
    stop = beta_rule(0.95)
    for first in range(12):
        for second in range(first + 1):
            chance = 1 - float(beta.cdf(0.5, first + 1, second + 1))
            counts = np.array([[second, first, 0]], dtype=float)
            assert bool(stop(counts, 0, np.zeros((1, 0), dtype=np.int64))[0]) == (chance >= 0.95)


@pytest.mark.parametrize(("p", "k"), [(0.7, 2), (0.6, 3), (0.8, 1)])
def test_a_lead_is_walds_test(p: float, k: int) -> None:
    """Independent voters, two options: P(right) = 1 / (1 + (q/p)^k), votes (2 P - 1) k / (p - q)."""
    rng = np.random.default_rng(0)
    codes = (rng.random((20_000, 120)) < p).astype(np.int32)
    table = VoteTable(codes=codes, gold=np.ones(20_000, dtype=np.int32), voters=tuple(map(str, range(120))))
    counts, drawn = run(candidates_of(table), np.arange(120), lead_rule(k))
    voted = candidates_of(table)
    right = 1 / (1 + ((1 - p) / p) ** k)
    top = counts.max(axis=1, keepdims=True)
    assert float(voted.credit((counts == top) & (counts > 0)).mean()) == pytest.approx(right, abs=0.01)
    assert float(drawn.mean()) == pytest.approx((2 * right - 1) * k / (2 * p - 1), rel=0.03)


def never(_counts: Array, _drawn: int, votes: Whole) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.zeros(len(votes), dtype=bool)


@given(tables(), st.permutations(range(6)))
def test_without_stopping_it_is_plurality_in_any_order(table: VoteTable, order: list[int]) -> None:
    voted = candidates_of(table)
    places = np.array([place for place in order if place < table.n_voters])
    counts, drawn = run(voted, places, never)
    assert (counts == voted.counts()).all()
    assert (drawn == table.n_voters).all()
    found = stopped(voted, "never", never)
    assert found.credit == pytest.approx(float(voted.credit(voted.leaders(voted.counts())).mean()))
    assert found.votes == table.n_voters


@pytest.mark.parametrize("rule", RULES)
def test_forty_four_models(shared: Path, rule: str) -> None:
    """All 44 votes are right on .96413 of the questions; a tenth of them do almost as well."""
    voted = candidates_of(gsm(shared))
    found = stopped(voted, rule, RULES[rule])
    assert found.credit == pytest.approx(0.96413, abs=0.005)
    assert found.votes < 12
    assert found.same > 0.98


def test_a_stricter_rule_asks_more_and_finds_the_mode_more_often(shared: Path) -> None:
    voted = candidates_of(mmlu_pro(shared))
    found = [stopped(voted, str(k), lead_rule(k)) for k in (1, 2, 3, 4)]
    assert [one.votes for one in found] == sorted(one.votes for one in found)
    assert [one.same for one in found] == sorted(one.same for one in found)


def test_it_certifies_the_mode_not_the_truth() -> None:
    """Voters that are all wrong in the same way are stopped at once, and wrong."""
    table = spelled(["BBBBBBBBB"] * 10, "A" * 10)
    found = stopped(candidates_of(table), "lead 3", lead_rule(3))
    assert (found.credit, found.votes, found.same) == (0.0, 3.0, 1.0)


def test_large_tables_are_tried_in_fewer_orders() -> None:
    table = random_table(np.random.default_rng(1), 200_000, 3)
    voted = candidates_of(table)
    calls: list[int] = []

    def watched(_counts: Array, drawn: int, votes: Whole) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        calls.append(drawn)
        return np.zeros(len(votes), dtype=bool)

    stopped(voted, "watched", watched)
    assert calls.count(1) == 3
    assert isinstance(voted, Candidates)


@pytest.mark.parametrize(
    "bad", [lambda: beta_rule(0.5), lambda: beta_rule(1.0), lambda: lead_rule(0), lambda: window_rule(0)]
)
def test_settings_that_mean_nothing_are_refused(bad: object) -> None:
    with pytest.raises(UsageError):
        bad()  # type: ignore[operator]
