"""Ranked rules: the reference's figures, elections everybody knows, and what every fair rule keeps."""

from __future__ import annotations

import json
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.ranked import (
    RULES,
    Ballot,
    approval,
    borda,
    condorcet_winner,
    copeland,
    credit,
    first_choice,
    instant_runoff,
    minimax,
    preferences,
    reciprocal_rank,
    schulze,
)

ballots_of_four = st.lists(
    st.permutations(range(4)).flatmap(lambda order: st.integers(0, 4).map(lambda many: tuple(order[:many]))),
    max_size=9,
)


def profile(text: str, names: str) -> list[Ballot]:
    """``3 ABC, 2 BA`` as ballots."""
    found: list[Ballot] = []
    for part in text.split(","):
        times, order = part.split()
        found += [tuple(names.index(option) for option in order)] * int(times)
    return found


@pytest.fixture(scope="module")
def votes(shared: Path) -> list[tuple[list[Ballot], int, dict[str, str]]]:
    lines = (shared / "data/voting/rankedvotingsc/votes.dedup.jsonl").read_text(encoding="utf-8").splitlines()
    found = []
    for row in map(json.loads, lines):
        ballots: list[Ballot] = [
            () if ballot == ["invalid"] or len(set(ballot)) < len(ballot) else tuple(map("ABCDE".index, ballot))
            for ballot in row["resps"][:8]
        ]
        found.append((ballots, "ABCDE".index(row["target"]), row))
    return found


def test_the_rules_of_the_file(votes: list[tuple[list[Ballot], int, dict[str, str]]]) -> None:
    for key, expected in (("irv_answer", 0.83498), ("bcv_answer", 0.83663), ("mrr_answer", 0.83168)):
        right = sum(row[key] == row["target"] for _, _, row in votes) / len(votes)
        assert right == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("first choice", 0.83333), ("instant run-off", 0.83333), ("Borda", 0.83251), ("reciprocal rank", 0.83003)],
)
def test_our_rules(votes: list[tuple[list[Ballot], int, dict[str, str]]], rule: str, expected: float) -> None:
    won = sum(credit(RULES[rule](ballots, 5), right) for ballots, right, _ in votes)
    assert won / len(votes) == pytest.approx(expected, abs=6e-6)


def test_condorcet_winners_of_the_file(votes: list[tuple[list[Ballot], int, dict[str, str]]]) -> None:
    winners = [(condorcet_winner(ballots, 5), right) for ballots, right, _ in votes]
    exist = [(winner, right) for winner, right in winners if winner is not None]
    assert len(exist) == 602
    assert sum(winner == right for winner, right in exist) / 602 == pytest.approx(0.83555, abs=6e-6)


def test_the_capital_of_tennessee() -> None:
    """Memphis, Nashville, Chattanooga, Knoxville: each rule has a winner of its own."""
    ballots = profile("42 MNCK, 26 NCKM, 15 CKNM, 17 KCNM", "MNCK")
    assert first_choice(ballots, 4) == (0,)
    assert borda(ballots, 4) == copeland(ballots, 4) == minimax(ballots, 4) == schulze(ballots, 4) == (1,)
    assert instant_runoff(ballots, 4) == (3,)
    assert condorcet_winner(ballots, 4) == 1


def test_schulzes_own_example() -> None:
    """Schulze 2011, section 3.1's well-known election of 45 voters: E wins, by beat paths only."""
    ballots = profile("5 ACBED, 5 ADECB, 8 BEDAC, 3 CABED, 7 CAEBD, 2 CBADE, 7 DCEBA, 8 EBADC", "ABCDE")
    assert preferences(ballots, 5).tolist() == [
        [0, 20, 26, 30, 22], [25, 0, 16, 33, 18], [19, 29, 0, 17, 24], [15, 12, 28, 0, 14], [23, 27, 21, 31, 0],
    ]  # fmt: skip
    assert condorcet_winner(ballots, 5) is None
    assert schulze(ballots, 5) == (4,)


def test_a_circle_is_a_tie_of_all() -> None:
    ballots = profile("1 ABC, 1 BCA, 1 CAB", "ABC")
    for rule in RULES.values():
        assert rule(ballots, 3) == (0, 1, 2)


def test_all_tied_last_leave_together() -> None:
    ballots = profile("4 A, 2 B, 2 CB, 1 D", "ABCD")
    # D goes; then B and C together, so A has all that count
    assert instant_runoff(ballots, 4) == (0,)
    assert instant_runoff(profile("2 A, 2 B", "AB"), 2) == (0, 1)


def test_what_is_left_out_is_last() -> None:
    ballots = [(0,), (1, 0)]
    assert preferences(ballots, 3).tolist() == [[0, 1, 2], [1, 0, 1], [0, 0, 0]]
    assert borda(ballots, 3) == (0,)
    assert reciprocal_rank(ballots, 3) == (0,)
    assert approval(ballots, 3) == (0,)


def test_fractions_are_exact() -> None:
    """1/2 + 1/3 + 1/6 is 1, which floats may miss."""
    ballots = profile("1 BA, 1 BCA, 1 BCDEFA, 1 G", "ABCDEFG")
    assert reciprocal_rank([*ballots, (6,)], 7) == (1,)
    assert reciprocal_rank(profile("1 GA, 1 HCA, 1 IDEFJA, 1 B", "ABCDEFGHIJ"), 10) == (0, 1, 6, 7, 8)


def test_no_ballot_no_winner() -> None:
    for rule in (*RULES.values(), approval):
        assert rule([], 3) == ()
        assert rule([(), ()], 3) == ()
    assert credit((), 0) == 0.0
    assert credit((0, 2), 2) == 0.5
    assert credit((0, 2), None) == 0.0


@pytest.mark.parametrize("ballot", [(0, 0), (3,), (-1,)])
def test_a_ballot_that_is_none_is_refused(ballot: tuple[int, ...]) -> None:
    for rule in (*RULES.values(), approval):
        with pytest.raises(UsageError, match="ballot"):
            rule([ballot], 3)


@given(ballots_of_four, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_fair_to_voters_and_options(ballots: list[Ballot], names: list[int], random: object) -> None:
    turned = [tuple(names[option] for option in ballot) for ballot in ballots]
    random.shuffle(turned)  # type: ignore[attr-defined]
    for rule in (*RULES.values(), approval):
        assert rule(turned, 4) == tuple(sorted(names[option] for option in rule(ballots, 4)))


@given(ballots_of_four)
def test_a_condorcet_winner_wins_where_the_rule_promises_it(ballots: list[Ballot]) -> None:
    over = preferences(ballots, 4)
    duels = [option for option in range(4) if all(over[option, i] > over[i, option] for i in range(4) if i != option)]
    winner = condorcet_winner(ballots, 4)
    assert duels == ([] if winner is None else [winner])
    if winner is not None:
        assert copeland(ballots, 4) == minimax(ballots, 4) == schulze(ballots, 4) == (winner,)


@given(ballots_of_four.filter(any))
def test_schulze_by_every_path(ballots: list[Ballot]) -> None:
    over = preferences(ballots, 4)

    def strength(first: int, last: int) -> int:
        others = [option for option in range(4) if option not in {first, last}]
        paths = [(first, *middle, last) for many in range(3) for middle in permutations(others, many)]
        return max(max(0, min(int(over[a, b] - over[b, a]) for a, b in pairwise(path))) for path in paths)

    winners = [a for a in range(4) if all(strength(a, b) >= strength(b, a) for b in range(4) if b != a)]
    assert schulze(ballots, 4) == tuple(winners)
