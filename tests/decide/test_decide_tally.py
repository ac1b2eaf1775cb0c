"""The count: exact, blind to order and names, and right about when nothing can change."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.decide.tally import Rule, Tally, Vote, count, exact, plain, settled, state
from dissensus.errors import SpecError
from dissensus.script.decisions import Status

ANSWERS = ("a", "b", "c")
BLANKS = ("abstained", "transport", "budget", "invalid")
rules = st.sampled_from(["plurality", "majority"])
weights = st.sampled_from([Fraction(1), Fraction(1), Fraction(2), Fraction(1, 10), Fraction(3, 10)])


@st.composite
def one_vote(draw: st.DrawFn) -> Vote:
    weight = draw(weights)
    if draw(st.booleans()):
        return Vote(answer=draw(st.sampled_from(ANSWERS)), weight=weight)
    return Vote(answer=None, weight=weight, outcome=draw(st.sampled_from(BLANKS)))


def said(*answers: str | None, outcome: str = "transport") -> list[Vote]:
    return [
        Vote(answer=answer, weight=Fraction(1), outcome="reply" if answer is not None else outcome)
        for answer in answers
    ]


def facts(tally: Tally) -> tuple[str | None, Status]:
    return tally.answer, tally.status


@pytest.mark.parametrize(
    ("votes", "rule", "expected"),
    [
        (said("a", "a", "b"), "plurality", ("a", Status.DECIDED)),
        (said("a", "b"), "plurality", (None, Status.SPLIT)),
        (said("a", None, None), "plurality", ("a", Status.DECIDED)),
        (said("a", "a", "b", "c"), "majority", (None, Status.SPLIT)),
        (said("a", "a", "a", "c"), "majority", ("a", Status.DECIDED)),
        (said("a", "a", None, None, None), "majority", (None, Status.SPLIT)),
        (said("a", "a", None, outcome="budget"), "plurality", ("a", Status.DECIDED)),
        (said("a", None, outcome="budget"), "plurality", (None, Status.OPEN_BUDGET)),
        (said("a", "a", "b", None, outcome="budget"), "plurality", (None, Status.OPEN_BUDGET)),
        (said("a", "b", None, outcome="budget"), "plurality", (None, Status.OPEN_BUDGET)),
        (said("a", "a", None, None, outcome="budget"), "majority", (None, Status.OPEN_BUDGET)),
        (said("a", "b", "c", "c", None, outcome="budget"), "majority", (None, Status.OPEN_BUDGET)),
        (said("a", "b", "c", "d", None, outcome="budget"), "majority", (None, Status.SPLIT)),
        (said(None, None, outcome="budget"), "plurality", (None, Status.OPEN_BUDGET)),
        (said(None, None, outcome="abstained"), "plurality", (None, Status.ABSTAINED)),
        (said(None, None, outcome="refusal"), "plurality", (None, Status.FAILED)),
        (said(None, outcome="abstained") + said(None, outcome="timeout"), "plurality", (None, Status.FAILED)),
        ([], "plurality", (None, Status.FAILED)),
    ],
)
def test_each_status(votes: list[Vote], rule: Rule, expected: tuple[str | None, Status]) -> None:
    assert facts(count(votes, rule)) == expected


@given(st.lists(one_vote(), max_size=7), rules, st.randoms(use_true_random=False), st.permutations(ANSWERS))
def test_order_of_voters_and_names_of_options_change_nothing(
    votes: list[Vote],
    rule: Rule,
    random: object,
    names: list[str],
) -> None:
    rename = dict(zip(ANSWERS, names, strict=True))
    shuffled = list(votes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert count(shuffled, rule) == count(votes, rule)
    renamed = [Vote(answer=rename.get(v.answer or ""), weight=v.weight, outcome=v.outcome) for v in shuffled]
    before, after = count(votes, rule), count(renamed, rule)
    assert after.status is before.status
    assert after.answer == (rename[before.answer] if before.answer is not None else None)
    assert {rename[answer]: votes_for for answer, votes_for in before.votes.items()} == after.votes


@settings(max_examples=300, deadline=None)
@given(st.lists(one_vote(), max_size=4), st.lists(weights, max_size=3), rules)
def test_settled_means_that_no_continuation_changes_answer_or_status(
    votes: list[Vote],
    outstanding: list[Fraction],
    rule: Rule,
) -> None:
    """The oracle tries everything that the remaining voters could do."""
    choices: list[tuple[str | None, str]] = [(answer, "reply") for answer in (*ANSWERS, "new", "newer", "newest")]
    choices += [(None, blank) for blank in BLANKS]
    outcomes = {
        facts(
            count(
                [
                    *votes,
                    *(
                        Vote(answer=answer, weight=weight, outcome=outcome)
                        for weight, (answer, outcome) in zip(outstanding, does, strict=True)
                    ),
                ],
                rule,
            )
        )
        for does in product(choices, repeat=len(outstanding))
    }
    assert settled(votes, outstanding, rule) == (len(outcomes) == 1)


def test_weights_are_what_was_written() -> None:
    tenths = [Vote(answer="a", weight=exact(0.1)), Vote(answer="a", weight=exact(0.2))]
    tally = count([*tenths, Vote(answer="b", weight=exact(0.3))], "plurality")
    assert tally.status is Status.SPLIT
    assert tally.leaders == ("a", "b")
    assert float(tally.votes["a"]) == 0.3


@pytest.mark.parametrize("weight", [0, -1, 1e308, float("nan"), float("inf")])
def test_weights_that_make_no_sense_are_refused(weight: float) -> None:
    with pytest.raises(SpecError, match="weight"):
        exact(weight)


def test_the_rule_names_its_denominator() -> None:
    assert "5 configured voters" in state("majority", [Fraction(1)] * 5)
    assert "total weight 2.5" in state("plurality", [Fraction(1), Fraction(3, 2)])
    assert plain(Fraction(3)) == "3"
