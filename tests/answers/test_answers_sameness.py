"""Classes of the same answer, a panel's ballots made comparable, and answers against gold."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.answers import EXACT, Read, Tolerance, classes, group, matches_gold, partition, read, same
from dissensus.answers.quantity import Quantity
from dissensus.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("number", "5 h", "300 min"),
        ("number", "8", "8.00"),
        ("number", "0.5", "½"),
        ("number", "$1,000", "1000 dollars"),
        ("number", "36 km/h", "10 m/s"),
        ("number", "not a number", "not a number"),
        ("date", "30 November 2026", "2026-11-30"),
        ("text", "The Beatles", "beatles!"),
        ("yes-no", "True", "yes"),
    ],
)
def test_same(kind: str, a: str, b: str) -> None:
    assert same(kind, a, b)
    assert same(kind, b, a)


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("number", "5 h", "5"),
        ("number", "12 %", "0.12"),
        ("number", "1 day", "24"),
        ("number", "30 days", "1 month"),
        ("number", "8 EUR", "8 USD"),
        ("number", "1/3", "0.3333333333333333"),
        ("number", "not a number", "nor this"),
        ("date", "2026", "30 November 2026"),
        ("text", "Paris", "Parys"),
    ],
)
def test_not_the_same(kind: str, a: str, b: str) -> None:
    assert not same(kind, a, b)
    assert not same(kind, b, a)


def test_percent_is_a_share_only_where_declared() -> None:
    assert same("number", "12 %", "0.12", unit="ratio")
    assert not same("number", "12 %", "0.12", unit="%")


def test_classes_are_in_order_of_their_first_place_and_leave_blanks_out() -> None:
    answers = ["8", None, "9", "8.0", "eight", None, "x", "9.00", "x"]
    assert classes("number", answers) == [[0, 3, 4], [2, 7], [6, 8]]


def test_a_tolerance_chains_and_a_class_that_grows_too_wide_is_refused() -> None:
    near = Tolerance(relative=Fraction("0.01"))
    assert partition("number", ["1.00", "1.01", "5"], tolerance=near).classes == [[0, 1], [2]]
    chained = partition("number", ["1.00", "1.02", "1.01"], tolerance=near)
    assert chained.classes == [[0, 1, 2]]
    assert chained.diameters == [Fraction("0.02") / (Fraction("1.02") * Fraction("0.01"))]
    with pytest.raises(UsageError, match=r"Answers chain from 1 to 1\.03"):
        partition("number", ["1.00", "1.01", "1.02", "1.03"], tolerance=near)
    wide = Tolerance(relative=Fraction("0.01"), widest=Fraction(4))
    assert len(classes("number", ["1.00", "1.01", "1.02", "1.03"], tolerance=wide)) == 1


def test_an_absolute_tolerance_is_in_the_declared_unit() -> None:
    near = Tolerance(absolute=Fraction(1))
    assert classes("number", ["300", "5 h", "301 min", "303"], unit="min", tolerance=near) == [[0, 1, 2], [3]]
    assert classes("number", ["8", "9", "11"], tolerance=near) == [[0, 1], [2]]
    assert classes("number", ["8 h", "8.5 h"], tolerance=near) == [[0], [1]]  # one of what?
    assert classes("number", ["8 h", "8", "8 EUR"], tolerance=near) == [[0], [1], [2]]


@pytest.mark.parametrize("wrong", [{"relative": Fraction(1)}, {"absolute": Fraction(-1)}, {"widest": Fraction(1, 2)}])
def test_a_tolerance_that_cannot_be_is_refused(wrong: dict[str, Fraction]) -> None:
    with pytest.raises(UsageError):
        Tolerance(**wrong)


def closed(values: list[Fraction], tolerance: Tolerance) -> set[frozenset[int]]:
    """The classes by brute force: any two near ones are joined, until nothing changes."""
    parts = [{place} for place in range(len(values))]

    def near(one: int, other: int) -> bool:
        a, b = values[one], values[other]
        return abs(a - b) <= max(tolerance.absolute, tolerance.relative * max(abs(a), abs(b)))

    while True:
        touching = next(((p, q) for p, q in combinations(parts, 2) if any(near(a, b) for a in p for b in q)), None)
        if touching is None:
            return {frozenset(part) for part in parts}
        one, other = touching
        parts.remove(other)
        one |= other


@given(
    st.lists(st.integers(-60, 60), min_size=1, max_size=9),
    st.sampled_from(["0", "0.05", "0.3", "0.9"]),
    st.integers(0, 4),
)
def test_neighbours_on_a_line_give_the_closure(numbers: list[int], relative: str, absolute: int) -> None:
    tolerance = Tolerance(Fraction(relative), Fraction(absolute), Fraction(10**6))
    found = partition("number", [str(number) for number in numbers], tolerance=tolerance)
    assert {frozenset(part) for part in found.classes} == closed([Fraction(n) for n in numbers], tolerance)
    for part, width in zip(found.classes, found.diameters, strict=True):
        low, high = min(numbers[i] for i in part), max(numbers[i] for i in part)
        allowed = max(Fraction(absolute), Fraction(relative) * max(abs(low), abs(high)))
        assert width == (0 if low == high else (high - low) / allowed)


ANSWERS = st.sampled_from(
    ["8", "8.0", "eight", "8 EUR", "8 euros", "$8", "300 min", "5 h", "5", "x", "X", "", "unsure", "1/3", "12 %"]
)


@given(st.lists(ANSWERS | st.none(), max_size=8), st.randoms(use_true_random=False))
def test_classes_do_not_depend_on_the_order_of_ballots(answers: list[str | None], rng: random.Random) -> None:
    order = list(range(len(answers)))
    rng.shuffle(order)
    turned = classes("number", [answers[place] for place in order])
    assert {frozenset(part) for part in classes("number", answers)} == {
        frozenset(order[place] for place in part) for part in turned
    }
    tolerance = Tolerance(relative=Fraction("0.1"), widest=Fraction(100))
    turned = classes("number", [answers[place] for place in order], tolerance=tolerance)
    assert {frozenset(part) for part in classes("number", answers, tolerance=tolerance)} == {
        frozenset(order[place] for place in part) for part in turned
    }


@given(st.lists(ANSWERS, min_size=3, max_size=3), st.sampled_from(["number", "text", "auto", "yes-no", "date"]))
def test_same_is_an_equivalence(three: list[str], kind: str) -> None:
    a, b, c = three
    assert same(kind, a, a)
    assert same(kind, a, b) == same(kind, b, a)
    assert not (same(kind, a, b) and same(kind, b, c)) or same(kind, a, c)
    assert classes(kind, [a, b], tolerance=EXACT) == ([[0, 1]] if same(kind, a, b) else [[0], [1]])


def reads(*replies: str) -> list[Read]:
    return [read("number", reply) for reply in replies]


def test_bare_numbers_join_the_only_unit() -> None:
    found = group("number", reads("8 euros", "8", "€9", "unsure", "9", "which?"))
    assert found.answers == ("8 EUR", "8 EUR", "9 EUR", None, "9 EUR", None)
    assert (found.joined, found.unit) == ((1, 4), "EUR")
    assert found.note == "2 ballots without this unit counted as EUR."


def test_bare_numbers_stay_alone_beside_two_units() -> None:
    found = group("number", reads("8 euros", "8 hours", "8"))
    assert found.answers == ("8 EUR", "8 h", "8")
    assert found.joined == ()
    assert found.note == "1 ballot without a unit stand by themselves: the others state EUR and h."


def test_a_counted_thing_joins_no_unit() -> None:
    assert group("number", reads("8 euros", "8 pens", "8")).answers == ("8 EUR", "8", "8 EUR")


def test_nothing_joins_where_no_unit_is_stated() -> None:
    assert group("number", reads("8", "8 pens", "9")) == group("text", reads("8", "8", "9"))


def test_of_two_units_of_a_kind_a_bare_number_joins_where_it_says_the_same() -> None:
    assert group("number", reads("5 h", "300 min", "300", "5", "7")).answers == ("5 h", "5 h", "5 h", "5 h", "7")
    assert group("number", reads("18 hours and 48 minutes", "1128")).answers == ("18.8 h", "18.8 h")
    assert group("number", reads("5 h", "5 min", "5")).answers == ("5 h", "5 min", "5")


def test_cents_and_pounds_join_the_only_currency() -> None:
    assert group("number", reads("75 cents", "$0.75", "0.75")).answers == ("0.75 USD",) * 3
    assert group("number", reads("75 cents", "$0.75", "€0.75")).answers == ("75 cents", "0.75 USD", "0.75 EUR")
    assert group("number", reads("8 pounds", "£8")).answers == ("8 GBP", "8 GBP")
    assert group("number", reads("8 pounds", "8 lb")).answers == ("8 lb", "8 lb")


def test_an_amount_joins_the_only_rate() -> None:
    assert group("number", reads("$18 per hour", "$18", "18")).answers == ("18 USD/h",) * 3
    assert group("number", reads("$18 per hour", "$18 per day", "$18")).answers[2] == "18 USD"


def test_a_declared_unit_has_settled_it() -> None:
    settled = [read("number", reply, unit="min") for reply in ("5 h", "300")]
    assert group("number", settled, "min").answers == ("300 min", "300 min")


@given(st.lists(ANSWERS, max_size=7), st.randoms(use_true_random=False))
def test_grouping_does_not_depend_on_the_order_of_ballots(replies: list[str], rng: random.Random) -> None:
    order = list(range(len(replies)))
    rng.shuffle(order)
    found = group("number", reads(*replies)).answers
    assert group("number", reads(*(replies[place] for place in order))).answers == tuple(
        found[place] for place in order
    )


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("$64", "64", True),
        ("64", "64 dollars", True),
        ("540 meters", "540", True),
        ("70,000", "70000", True),
        ("3 minutes 36 seconds", "216", True),
        ("60%", "60", True),
        ("60%", "0.6", False),
        ("5 h", "300 min", True),
        ("5 h", "5 min", False),
        ("6", "9", False),
        ("x", "9", False),
    ],
)
def test_matches_gold(answer: str, gold: str, *, right: bool) -> None:
    assert matches_gold("number", answer, gold) is right
    assert matches_gold("number", gold, answer) is right


def test_matches_gold_for_other_kinds() -> None:
    assert matches_gold("choice", "B", "Rome", options=("Paris", "Rome"))
    assert matches_gold("date", "30 November 2026", "2026-11-30")
    assert not matches_gold("date", "2026", "2026-11-30")


def test_the_value_of_a_read_is_exact() -> None:
    value = read("number", "Answer: 1/3 h").value
    assert isinstance(value, Quantity)
    assert value.number == Fraction(1, 3)
