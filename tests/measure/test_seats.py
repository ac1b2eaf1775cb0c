"""Seats: every table of the reference to its digits, closed forms against going through all placements, null models."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.seats import (
    ANY,
    FIRST,
    LAST,
    MAJORITY,
    NULLS,
    Turn,
    ceiling,
    honest_at_an_end,
    honest_majority,
    honest_turns,
    null_verdicts,
    null_votes,
    orders,
    placements,
    predicted_nulls,
    some_honest_speaks,
    start_counts,
    starts,
    turn_counts,
    turns_of_seats,
)

TOKENS = Path(__file__).parent / "data" / "gsm8k_even_tokens.json"


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 7))
    return n, draw(st.integers(0, n)), draw(st.integers(1, 25))


def by_hand(n: int, corrupted: int, turns: int) -> list[list[bool]]:
    """Who is honest turn by turn, for every placement."""
    return [[turn % n not in seats for turn in range(turns)] for seats in map(set, combinations(range(n), corrupted))]


# --- the reference


@pytest.mark.parametrize(
    ("corrupted", "row"), [(3, [0.4, 0.7, 0.9, 1, 1, 1]), (4, [0.2, 0.4, 0.6, 0.8, 1, 1])], ids=["3c2t", "4c1t"]
)
def test_some_honest_agent_speaks(corrupted: int, row: list[float]) -> None:
    assert [some_honest_speaks(5, corrupted, turns) for turns in range(1, 7)] == pytest.approx(row, abs=1e-12)


def test_some_honest_agent_of_seven_speaks() -> None:
    assert some_honest_speaks(7, 4, 3) == pytest.approx(0.885714, abs=5e-7)
    assert some_honest_speaks(7, 5, 4) == pytest.approx(0.857143, abs=5e-7)


@pytest.mark.parametrize(
    ("corrupted", "values"),
    [(3, {2: 0.1, 3: 0.3, 4: 0, 5: 0, 6: 0, 8: 0}), (2, {2: 0.3, 3: 0.7, 4: 0.4, 6: 0.6, 10: 1})],
    ids=["3c2t", "2c3t"],
)
def test_most_turns_are_honest(corrupted: int, values: dict[int, float]) -> None:
    assert {turns: honest_majority(5, corrupted, turns) for turns in values} == pytest.approx(values, abs=1e-12)


def test_seven_turns_can_be_mostly_honest_with_three_of_five_corrupted() -> None:
    """Two honest agents on the two seats that come twice have 4 of 7 turns: one placement in ten."""
    assert honest_majority(5, 3, 7) == pytest.approx(0.1)
    assert [turns for turns in range(4, 60) if honest_majority(5, 3, turns) > 0] == [7]


def test_the_ceiling_of_short_texts() -> None:
    tokens = json.loads(TOKENS.read_text(encoding="utf-8"))["tokens"]
    assert len(tokens) == 660
    assert round(sum(tokens) / 660, 2) == 125.01
    assert sorted(tokens)[int(0.95 * 660)] == 227
    counts = turn_counts(tokens, 100)
    assert counts == {1: 253, 2: 339, 3: 63, 4: 4, 5: 1}
    assert round(ceiling(counts, 5, 3), 4) == 0.6064
    assert ceiling(turn_counts(tokens, 25), 5, 3) > 0.97  # shorter turns let almost everybody speak
    with_end = turn_counts((length + 1 for length in tokens), 100)
    assert round(ceiling(with_end, 5, 3), 4) == 0.61  # if the sign that ends a text needs room in the turn too


def test_the_counted_tokens_are_of_the_data(shared: Path) -> None:
    """A token is at least a byte and at most a few words: a file of other items would not fit the lengths."""
    found = json.loads(TOKENS.read_text(encoding="utf-8"))["tokens"]
    lines = (shared / "data" / "round-robin" / "gsm8k" / "test.even.jsonl").read_text(encoding="utf-8").splitlines()
    characters = [len(json.loads(line)["answer"]) for line in lines]
    assert len(characters) == len(found)
    assert all(1.2 < many / tokens < 5 for many, tokens in zip(characters, found, strict=True))


def test_the_last_writer_decides_a_vote_of_rotated_texts() -> None:
    """Reference: .40 over placements with a fixed start, 0 with rotation."""
    fixed = predicted_nulls(5, 3, 5, starts(5, 5, rotate=False))
    rotated = predicted_nulls(5, 3, 5, starts(5, 5))
    assert fixed[LAST] == pytest.approx(0.4)
    assert rotated[LAST] == 0
    assert rotated[FIRST] == 0
    assert fixed[ANY] == rotated[ANY] == 1


# --- against going through all placements


@given(tables())
def test_closed_forms_are_counts_over_placements(table: tuple[int, int, int]) -> None:
    n, corrupted, turns = table
    everyone = by_hand(n, corrupted, turns)
    many = len(everyone)
    assert some_honest_speaks(n, corrupted, turns) == pytest.approx(sum(map(any, everyone)) / many)
    assert honest_at_an_end(n, corrupted) == pytest.approx(sum(text[0] for text in everyone) / many)
    assert honest_at_an_end(n, corrupted) == pytest.approx(sum(text[-1] for text in everyone) / many)
    assert honest_majority(n, corrupted, turns) == pytest.approx(sum(2 * sum(t) > turns for t in everyone) / many)
    counts = Counter(map(sum, everyone))
    assert dict(honest_turns(n, corrupted, turns)) == pytest.approx({k: c / many for k, c in counts.items()})


@given(tables(), st.integers(1, 6), st.booleans())
def test_predicted_null_models_are_those_of_the_turns(table: tuple[int, int, int], texts: int, rotate: bool) -> None:
    n, corrupted, turns = table
    begins = starts(n, texts, rotate=rotate)
    sums = dict.fromkeys(NULLS, 0.0)
    seated = placements(n, corrupted)
    for honest in seated.tolist():
        written = [[Turn((begin + turn) % n, honest[(begin + turn) % n]) for turn in range(turns)] for begin in begins]
        found = null_votes(written)
        assert found is not None
        for name in NULLS:
            sums[name] += found[name] / len(seated)
    assert predicted_nulls(n, corrupted, turns, begins) == pytest.approx(sums)


@given(tables(), st.integers(0, 9))
def test_turns_of_seats_add_up(table: tuple[int, int, int], start: int) -> None:
    n, _, turns = table
    assert turns_of_seats(n, turns, start) == tuple(
        sum((start + turn) % n == seat for turn in range(turns)) for seat in range(n)
    )


def test_orders_and_placements_are_the_same_list() -> None:
    for n, corrupted in ((5, 3), (4, 0), (3, 3), (1, 1)):
        words = ["".join("H" if honest else "C" for honest in row) for row in placements(n, corrupted).tolist()]
        assert words == list(orders(n, corrupted))
        assert len(set(words)) == math.comb(n, corrupted)


# --- null models


def test_null_models_of_one_text() -> None:
    text = [Turn(0, honest=False), Turn(1, honest=True), Turn(2, honest=False), Turn(3, honest=True)]
    assert null_verdicts(text) == {FIRST: 0, LAST: 1, MAJORITY: 0.5, ANY: 1}


def test_a_turn_that_left_nothing_decides_nothing() -> None:
    text = [Turn(0, honest=True, kept=3), Turn(1, honest=False, kept=5), Turn(2, honest=True, kept=0)]
    assert null_verdicts(text) == {FIRST: 1, LAST: 0, MAJORITY: 0.5, ANY: 1}
    assert null_verdicts([Turn(0, honest=True, kept=0)]) is None
    assert null_votes([[], [Turn(0, honest=True, kept=0)]]) is None


def test_a_vote_over_texts_under_a_null_model() -> None:
    honest, corrupted = [Turn(0, honest=True)], [Turn(1, honest=False)]
    found = null_votes([honest, corrupted, corrupted, []])
    assert found == dict.fromkeys(NULLS, 0.0)
    assert null_votes([honest, corrupted]) == dict.fromkeys(NULLS, 0.5)


def test_null_models_are_right_as_often_as_their_writers_alone() -> None:
    """An attack that fails on 4 of 10 questions leaves a corrupted last writer right on these."""
    found = predicted_nulls(5, 3, 5, honest_right=0.9, corrupted_right=0.4)
    assert found[LAST] == pytest.approx(0.4 * 0.9 + 0.6 * 0.4)
    text = [Turn(0, honest=False)]
    alone = null_votes([text], honest_right=0.9, corrupted_right=0.4)
    assert alone == pytest.approx(dict.fromkeys(NULLS, 0.4))
    thrice = null_votes([text] * 3, corrupted_right=0.4)
    assert thrice == pytest.approx(dict.fromkeys(NULLS, 0.4**3 + 3 * 0.4**2 * 0.6))


def test_unbalanced_starts_are_counted() -> None:
    assert start_counts(3, [[Turn(m % 3, honest=True)] for m in range(4)]) == (2, 1, 1)
    assert start_counts(2, [[]]) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((0, 0, 1), "0 agents"), ((5, 6, 1), "6 cannot be corrupted"), ((5, -1, 1), "-1"), ((5, 3, 0), "0 turns")],
)
def test_tables_that_cannot_be(arguments: tuple[int, int, int], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        some_honest_speaks(*arguments)
    with pytest.raises(UsageError, match=says):
        predicted_nulls(*arguments)


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(UsageError, match="155,117,520 ways"):
        placements(30, 15)
    with pytest.raises(UsageError, match="no text"):
        ceiling({}, 5, 3)
    with pytest.raises(UsageError, match="no text"):
        predicted_nulls(5, 3, 5, ())
    with pytest.raises(UsageError, match="0 tokens"):
        turn_counts([5], 0)
