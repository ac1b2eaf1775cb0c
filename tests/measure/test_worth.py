"""What is said of an agreement that was not measured: never more than is known."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.jury import trap_unanimous
from dissensus.measure.worth import unmeasured


def test_unanimity_of_one_model_is_illustrated_with_its_assumptions() -> None:
    worth = unmeasured(9, 9, same_model=True)
    assert worth["status"] == "unmeasured"
    assert "its agreement with itself says little" in worth["text"]
    shown = worth["illustration"]
    assert shown["assumed"] == {"trap_share": 0.2, "accuracy_elsewhere": 0.875}
    assert round(shown["p_wrong_given_unanimous"], 3) == 0.454
    assert round(shown["p_unanimous"], 3) == 0.441
    for words in ("assumed", "not a measurement of this panel or this question", "20%", "0.875", "45.4%", "9 agents"):
        assert words in shown["text"]


@pytest.mark.parametrize(
    ("ballots", "leading", "same_model"), [(9, 8, True), (9, 9, False), (5, 3, False), (1, 1, True), (0, 0, True)]
)
def test_nothing_else_is_illustrated(ballots: int, leading: int, *, same_model: bool) -> None:
    assert "illustration" not in unmeasured(ballots, leading, same_model)


def test_different_models_are_not_taken_to_be_independent() -> None:
    text = unmeasured(5, 5, same_model=False)["text"]
    assert "Different models often share errors too" in text
    assert "has not been measured" in text


def test_copies_do_not_count() -> None:
    worth = unmeasured(5, 5, same_model=True, copies=2)
    assert "2 of the ballots are copies of another" in worth["text"]
    assert worth["illustration"]["n"] == 3
    assert "illustration" not in unmeasured(3, 3, same_model=True, copies=2)
    assert "1 of the ballots is a copy of another" in unmeasured(3, 2, same_model=True, copies=1)["text"]


def test_who_gave_no_answer_is_named() -> None:
    assert unmeasured(3, 3, same_model=True, blanks=2)["text"].startswith(
        "All 3 ballots that hold an answer agree; 2 of 5 agents gave none."
    )
    assert unmeasured(3, 2, same_model=False)["text"].startswith("2 of 3 ballots that hold an answer agree.")
    assert unmeasured(1, 1, same_model=True)["text"] == "One ballot holds an answer. One opinion is no agreement."
    assert unmeasured(0, 0, same_model=True, blanks=5)["text"] == (
        "No ballot holds an answer. There is no agreement to weigh."
    )


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([True, False]), st.integers(0, 40), st.integers(0, 5))
def test_no_probability_is_given_for_the_question(
    ballots: int,
    leading: int,
    same_model: bool,
    copies: int,
    blanks: int,
) -> None:
    if leading > ballots or copies > max(0, ballots - 1):
        with pytest.raises(UsageError):
            unmeasured(ballots, leading, same_model, copies=copies, blanks=blanks)
        return
    worth = unmeasured(ballots, leading, same_model, copies=copies, blanks=blanks)
    assert json.loads(json.dumps(worth)) == worth
    assert worth.keys() <= {"status", "text", "illustration"}
    assert not re.search(r"%|probab|likel|confiden|certain|chance", worth["text"])
    if "illustration" in worth:
        n = worth["illustration"]["n"]
        assert n == ballots - copies
        assert worth["illustration"]["p_wrong_given_unanimous"] == trap_unanimous(n, 0.2, 0.875)[1]
