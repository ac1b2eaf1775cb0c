"""Plurality of independent voters: the published table, every vote counted, and what must not matter."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.mixtures import majority_given
from dissensus.measure.plurality import even_options, plurality, plurality_curve, plurality_limit

TABLE = """
.6 .4|.7535 / .7535|.9265 / .9265|.9791 / .9791
.51 .49|.5271 / .5271|.5571 / .5571|.5799 / .5799
.4 .35 .25|.4104 / .4933|.6052 / .6356|.6920 / .7121
.34 .33 .33|.2679 / .3499|.3376 / .3692|.3577 / .3840
.5 .3 .2|.6637 / .7279|.9367 / .9454|.9870 / .9886
.4 .3 .3|.4189 / .5043|.6662 / .6954|.7951 / .8127
.3 .25 .25 .2|.3057 / .3730|.4730 / .5122|.5820 / .6095
.4 .2 .2 .2|.5690 / .6350|.9153 / .9284|.9873 / .9893
.26 .25 .25 .24|.2144 / .2741|.2665 / .3015|.2960 / .3229
.21 .2 .2 .2 .19|.1572 / .2233|.2142 / .2499|.2434 / .2709
.3 .2 .2 .15 .15|.3704 / .4530|.6923 / .7271|.8481 / .8644
"""
"""Options, the right one first, then strictly first / ties split for 11, 51 and 101 voters."""


def by_votes(options: list[float], n: int, blank: float = 0.0) -> tuple[float, float]:
    """Every vote of every voter; the last choice is a blank."""
    unique = split = 0.0
    chances = [*options, blank]
    for votes in product(range(len(chances)), repeat=n):
        chance = math.prod(chances[vote] for vote in votes)
        counts = [votes.count(option) for option in range(len(options))]
        if counts[0] and counts[0] == max(counts):
            ties = counts.count(counts[0])
            unique += chance * (ties == 1)
            split += chance / ties
    return unique, split


def by_polynomials(options: list[Fraction], n: int) -> tuple[float, float]:
    """The textbook algorithm in exact fractions: for each number of right votes, a product of truncated series."""
    unique = split = Fraction(0)
    for a in range(1, n + 1):
        series = {(0, 0): Fraction(1)}  # (votes, ties) to coefficient
        for q in options[1:]:
            longer: dict[tuple[int, int], Fraction] = {}
            for (votes, ties), value in series.items():
                for i in range(min(a, n - a - votes) + 1):
                    key = (votes + i, ties + (i == a))
                    longer[key] = longer.get(key, Fraction(0)) + value * q**i / math.factorial(i)
            series = longer
        front = math.factorial(n) * options[0] ** a / Fraction(math.factorial(a))
        for (votes, ties), value in series.items():
            if votes == n - a:
                unique += front * value * (ties == 0)
                split += front * value / (ties + 1)
    return float(unique), float(split)


@pytest.mark.parametrize("row", TABLE.split("\n")[1:-1])
def test_published_table(row: str) -> None:
    options, *cells = row.split("|")
    shares = [float(share) for share in options.split()]
    for n, cell in zip((11, 51, 101), cells, strict=True):
        found = plurality(shares, n)
        assert [f"{found.unique:.4f}", f"{found.split:.4f}"] == [f"0{value}" for value in cell.split(" / ")]


def test_a_voter_right_less_than_half_the_time_among_ten_wrong_answers() -> None:
    unique, split = plurality_curve([0.4, *[0.06] * 10], [3, 5, 9, 21])
    assert unique.round(4).tolist() == [0.3520, 0.5663, 0.7373, 0.9592]
    assert split.round(4).tolist() == [0.4816, 0.6391, 0.8009, 0.9703]
    assert plurality_limit([0.4, *[0.06] * 10]) == 1


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=4).filter(any), st.integers(1, 6), st.booleans())
def test_every_vote_counted(shares: list[int], n: int, some_blank: bool) -> None:
    total = sum(shares) + (3 if some_blank else 0)
    options, blank = [share / total for share in shares], (3 / total if some_blank else 0.0)
    expected = by_votes(options, n, blank)
    found = plurality(options, n, blank=blank)
    assert (found.unique, found.split) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(7, 17))
def test_the_textbook_algorithm(shares: list[int], n: int) -> None:
    options = [Fraction(share, sum(shares)) for share in shares]
    found = plurality([float(option) for option in options], n)
    assert (found.unique, found.split) == pytest.approx(by_polynomials(options, n), abs=1e-12)


@given(st.integers(1, 400), st.floats(0, 1))
def test_two_options_are_a_majority(n: int, p: float) -> None:
    found = plurality([p, 1 - p], n)
    assert found.split == pytest.approx(float(majority_given(p, n)), abs=1e-11)
    assert found.unique <= found.split + 1e-12


@settings(max_examples=30)
@given(st.lists(st.integers(1, 50), min_size=2, max_size=12), st.integers(1, 250), st.randoms(use_true_random=False))
def test_every_option_wins_its_share_and_order_does_not_matter(shares: list[int], n: int, random: object) -> None:
    """Whoever is right, somebody wins: each option's chance, ties split, sums to one."""
    options = [share / sum(shares) for share in shares]
    wins = [plurality([options[i], *options[:i], *options[i + 1 :]], n).split for i in range(len(options))]
    assert sum(wins) == pytest.approx(1, abs=1e-10)
    rivals = options[1:]
    random.shuffle(rivals)  # type: ignore[attr-defined]
    assert plurality([options[0], *rivals], n).split == pytest.approx(wins[0], abs=1e-12)


@pytest.mark.parametrize(("options", "n"), [(7, 999), (1000, 999), (1000, 40), (3, 998)])
def test_equal_options_win_equally_often_however_many(options: int, n: int) -> None:
    assert plurality(even_options(1 / options, options), n).split == pytest.approx(1 / options, abs=1e-12)


def test_options_nobody_picks_change_nothing() -> None:
    assert plurality([0.4, 0.35, 0.25, 0.0, 0.0], 51) == plurality([0.4, 0.35, 0.25], 51)


def test_blanks_never_win_and_never_tie() -> None:
    assert plurality([0.1], 3, blank=0.9).split == pytest.approx(1 - 0.9**3)
    assert plurality([0.0, 0.2], 3, blank=0.8).split == 0
    # a voter who fails one time in ten costs accuracy, but the others' lead stays
    assert plurality([0.45, 0.45], 9, blank=0.1).split == pytest.approx((1 - 0.1**9) / 2, abs=1e-12)


def test_limit() -> None:
    assert plurality_limit([0.4, 0.4, 0.2]) == 0.5
    assert plurality_limit([0.3, 0.4, 0.3]) == 0
    assert plurality([0.26, 0.25, 0.25, 0.24], 9999).split > 0.86  # slowly, but there


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plurality([0.5, 0.4], 3), "sum to 0.9, not to 1"),
        (lambda: plurality([0.5, 0.6, -0.1], 3), "cannot be -0.1"),
        (lambda: plurality([0.5, 0.5], 0), "number of voters cannot be 0"),
        (lambda: plurality([0.5, 0.5], 2.5), "number of voters cannot be 2.5"),  # type: ignore[arg-type]
        (lambda: plurality([np.nan, 1.0], 3), "cannot be nan"),
        (lambda: plurality([], 3), "sum to 0"),
        (lambda: even_options(0.5, 1), "at least two options"),
    ],
)
def test_what_cannot_be_is_refused(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator]
