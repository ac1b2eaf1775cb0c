from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.budget import Amounts, Budget, Exhausted, Lease, Limits, tighter
from dissensus.script.outcomes import BudgetExhausted, Usage


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def used(tokens: int = 0, cost: float | None = None) -> Usage:
    return Usage(tokens_in=tokens, tokens_out=0, cost=cost)


def lease(given: Lease | Exhausted) -> Lease:
    assert isinstance(given, Lease), given
    return given


def refused(given: Lease | Exhausted) -> str:
    assert isinstance(given, Exhausted)
    return given.what


def test_what_is_reserved_is_not_handed_out_twice() -> None:
    budget = Budget(Limits(tokens=100))
    first = lease(budget.reserve(tokens=60))
    assert refused(budget.reserve(tokens=60)) == "tokens"
    first.settle(used(10))
    assert budget.left().tokens == 90
    lease(budget.reserve(tokens=90))
    assert budget.left().tokens == 0


def test_a_refusal_says_how_much_is_left_and_becomes_an_outcome() -> None:
    refusal = Budget(Limits(tokens=100), name="agent ada").reserve(tokens=101)
    assert isinstance(refusal, Exhausted)
    assert refusal.why == "The budget of the agent ada has 100 of 100 tokens left; a call of up to 101 does not fit."
    assert refusal.outcome() == BudgetExhausted(what="tokens")


def test_a_refused_reservation_holds_nothing_anywhere() -> None:
    parent = Budget(Limits(tokens=50))
    child = Budget(Limits(tokens=100), parent)
    assert refused(child.reserve(tokens=60)) == "tokens"
    for budget in (parent, child):
        assert budget.held() == Amounts(calls=0, tokens=0, money=0)


def test_released_calls_cost_nothing_and_end_once() -> None:
    budget = Budget(Limits(calls=1, money=0.1))
    held = lease(budget.reserve(money=0.1))
    assert refused(budget.reserve(money=0.0)) == "calls"
    held.release()
    held.settle(used(5, cost=0.1))
    assert budget.spent().calls == 0
    assert budget.left().money == 0.1
    again = lease(budget.reserve(money=0.1))
    again.settle(used(5, cost=0.1))
    again.release()
    assert budget.spent().calls == 1


def test_money_sums_are_exact() -> None:
    budget = Budget(Limits(money=0.7))
    for _ in range(10):
        lease(budget.reserve(money=0.07)).settle(used(1, cost=0.07))
    assert budget.left().money == 0
    assert budget.spent().money == 0.7
    assert refused(budget.reserve(money=1e-9)) == "money"


def test_a_call_pays_what_it_took_even_above_its_reservation() -> None:
    budget = Budget(Limits(tokens=100))
    lease(budget.reserve(tokens=10)).settle(used(150))
    assert budget.spent().tokens == 150
    assert budget.left().tokens == 0
    assert refused(budget.reserve(tokens=0)) == "tokens"


def test_unknown_usage_counts_as_reserved_and_is_reported_as_unknown() -> None:
    budget = Budget(Limits(tokens=100, money=1.0))
    lease(budget.reserve(tokens=30, money=0.5)).settle(Usage())
    assert budget.spent().tokens is None
    assert budget.spent().money is None
    assert budget.charged().tokens == 30
    assert budget.left() == Amounts(tokens=70, money=0.5)


@pytest.mark.parametrize(
    "usage",
    [None, Usage(tokens_in=-5, tokens_out=3, cost=-1), Usage(tokens_in=5, cost=math.nan), Usage(cost=math.inf)],
)
def test_usage_that_makes_no_sense_gives_nothing_back(usage: Usage | None) -> None:
    budget = Budget(Limits(tokens=100, money=1.0))
    lease(budget.reserve(tokens=30, money=0.25)).settle(usage)
    assert budget.left() == Amounts(tokens=70, money=0.75)
    assert budget.spent().tokens is None


def test_unknown_price_and_unknown_cost_under_a_money_limit_end_the_spending() -> None:
    budget = Budget(Limits(money=1.0))
    first, second = lease(budget.reserve(tokens=5)), lease(budget.reserve(tokens=5))
    first.settle(used(5, cost=0.25))
    assert budget.left().money == 0.75
    second.settle(used(5))
    assert refused(budget.reserve(tokens=5, money=0.01)) == "money"


def test_unknown_cost_without_a_money_limit_stops_nothing() -> None:
    budget = Budget(Limits(tokens=100), clock=Clock())
    lease(budget.reserve(tokens=5)).settle(used(5))
    lease(budget.reserve(tokens=5)).settle(used(5, cost=0.5))
    assert budget.spent() == Amounts(calls=2, tokens=10, money=None, seconds=0)
    assert budget.left() == Amounts(tokens=90)


def test_time_is_a_limit_of_the_wall_clock() -> None:
    clock = Clock()
    budget = Budget(Limits(seconds=60), clock=clock, elapsed_s=10)
    assert budget.left().seconds == 50
    clock.now += 49.5
    lease(budget.reserve())
    clock.now += 0.5
    assert refused(budget.reserve()) == "seconds"
    clock.now -= 500
    assert budget.spent().seconds == 0


def test_children_share_what_the_parent_has() -> None:
    root = Budget(Limits(calls=3))
    ada, ben = Budget(Limits(calls=2), root, name="ada"), Budget(None, root)
    for child in (ada, ben, ben):
        lease(child.reserve(tokens=1))
    assert ada.left().calls == 0
    assert refused(ada.reserve(tokens=1)) == "calls"
    assert (ada.held().calls, ben.held().calls, root.held().calls) == (1, 2, 3)


def test_each_limit_gives_notice_once_at_half_and_at_four_fifths() -> None:
    clock = Clock()
    root = Budget(Limits(tokens=2_000_000, seconds=10), clock=clock)
    child = Budget(Limits(tokens=20_000_000), root)
    lease(child.reserve(tokens=999_999)).settle(used(999_999))
    assert not root.notices
    lease(child.reserve(tokens=1)).settle(used(1))
    half = "1000000 of 2000000 tokens in the budget of the run are used."
    assert [str(one) for one in root.notices] == [half]
    lease(child.reserve(tokens=599_999)).settle(used(599_999))
    assert [str(one) for one in root.notices] == [half], "once"
    lease(child.reserve(tokens=1)).settle(used(1))
    lease(child.reserve(tokens=5)).settle(used(5))
    steps = [("run", "tokens", 0.5), ("run", "tokens", 0.8)]
    assert [one.step for one in root.notices] == steps
    assert (root.notices[1].used, root.notices[1].limit) == (1_600_000, 2_000_000)
    clock.now += 9
    assert [one.step for one in root.notices] == [*steps, ("run", "seconds", 0.8)], "two steps at once: the higher one"
    assert child.notices == ()


def test_a_limit_of_nothing_gives_no_notice_but_refuses() -> None:
    budget = Budget(Limits(calls=0, tokens=0))
    assert refused(budget.reserve(tokens=0)) == "calls"
    assert budget.notices == ()


@given(
    st.builds(Limits, calls=st.none() | st.integers(0, 9), tokens=st.none() | st.integers(0, 99)),
    st.builds(Amounts, calls=st.none() | st.integers(0, 9), tokens=st.none() | st.integers(0, 99)),
)
def test_the_tighter_of_two_limits_admits_what_both_admit(limits: Limits, left: Amounts) -> None:
    both = tighter(limits, left)
    for what in ("calls", "tokens"):
        for amount in range(100):
            fits = [(limit is None or amount <= limit) for limit in (getattr(limits, what), getattr(left, what))]
            assert (getattr(both, what) is None or amount <= getattr(both, what)) is all(fits)
    assert (both.seconds, both.money) == (None, None)


def test_calls_of_an_earlier_part_of_the_run_count() -> None:
    budget = Budget(Limits(calls=3, tokens=100))
    budget.charge(used(40))
    budget.charge(None, tokens=20)
    assert budget.left() == Amounts(calls=1, tokens=40)
    budget.charge(Usage())
    assert refused(budget.reserve(tokens=1)) == "calls"


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf])
def test_amounts_that_cannot_be_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not negative"):
        Limits(seconds=bad)
    with pytest.raises(ValueError, match="not negative"):
        Budget().reserve(money=bad)
