"""The outcome bound, by going through all rules for five agents ballot by ballot, and the ways out of it."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.outcome_bound import (
    NONE,
    A,
    B,
    accuracy_of,
    anonymous_rules,
    is_neutral,
    worst_sum,
)

N = 5
OTHER = {A: B, B: A, NONE: NONE}
BALLOTS = list(product((A, B), repeat=N))


def world(corrupted: tuple[int, ...], right: str) -> tuple[str, ...]:
    return tuple(OTHER[right] if seat in corrupted else right for seat in range(N))


def test_every_anonymous_neutral_rule_of_five_keeps_the_bound() -> None:
    neutral = 0
    for rule in anonymous_rules(N):
        said = {ballots: rule[ballots.count(A)] for ballots in BALLOTS}
        exchanged = all(said[tuple(OTHER[b] for b in ballots)] == OTHER[said[ballots]] for ballots in BALLOTS)
        assert exchanged == is_neutral(rule)
        if not exchanged:
            continue
        neutral += 1
        for right in (A, B):
            accuracy = [
                {said[world(seats, right)] == right for seats in combinations(range(N), corrupted)}
                for corrupted in range(N + 1)
            ]
            assert all(len(values) == 1 for values in accuracy)  # anonymous: the placement changes nothing
            values = [float(one.pop()) for one in accuracy]
            assert values == [accuracy_of(rule, corrupted, right) for corrupted in range(N + 1)]
            assert all(values[c] + values[N - c] <= 1 for c in range(N + 1))
    assert neutral == 27
    assert len(list(anonymous_rules(N))) == 729
    assert worst_sum(N) == 1


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_coins_do_not_help(first: list[float], second: list[float]) -> None:
    """Any anonymous rule with coins, made neutral by playing it on exchanged labels half of the time."""
    share = [(a, (1 - a) * b) for a, b in zip(first, second, strict=True)]  # of saying A, of saying B
    says_right = [(share[k][0] + share[N - k][1]) / 2 for k in range(N + 1)]  # with k ballots for the right answer
    for corrupted in range(N + 1):
        assert says_right[N - corrupted] + says_right[corrupted] <= 1 + 1e-12


def test_a_rule_that_favours_an_answer_escapes() -> None:
    assert worst_sum(N, lambda _: True) == 2
    assert not is_neutral((A,) * (N + 1))


def test_a_rule_that_knows_who_is_who_escapes() -> None:
    """The word of an agent known to be honest: neutral, not anonymous, right with 2 and with 3 corrupted."""
    for corrupted in (2, 3):
        for seats in combinations(range(1, N), corrupted):
            assert all(world(seats, right)[0] == right for right in (A, B))


def test_even_tables_and_limits() -> None:
    assert worst_sum(4) == 1
    assert worst_sum(1) == 1
    with pytest.raises(UsageError, match="10 agents"):
        next(iter(anonymous_rules(10)))
