"""Rules for ranked ballots: Borda, reciprocal ranks, instant run-off, Copeland, minimax, Schulze, approval.

A ballot lists options, best first, each at most once; options it leaves out stand together below. An empty ballot is a
blank. Every rule returns *all* options that win: a tie is broken by nobody here, and nothing depends on the order of
ballots or on what options are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.table import Whole

Ballot: TypeAlias = Sequence[int]
"""Options as numbers 0 … K - 1."""

Rule: TypeAlias = Callable[[Sequence[Ballot], int], tuple[int, ...]]
"""From ballots and the number of options to the winners, rising; empty if every ballot is."""


def checked(ballots: Sequence[Ballot], options: int) -> list[tuple[int, ...]]:
    """The ballots that are not empty.

    Raises:
        UsageError: a ballot names an option twice, or one that does not exist.
    """
    found = []
    for ballot in ballots:
        once = tuple(ballot)
        if len(set(once)) < len(once):
            raise UsageError("A ballot names an option twice.", next_step="Count it as invalid.")
        if once and not (min(once) >= 0 and max(once) < options):
            raise UsageError(f"A ballot names an option outside the {options} there are.")
        if once:
            found.append(once)
    return found


def _best(scores: Mapping[int, int | Fraction]) -> tuple[int, ...]:
    top = max(scores.values(), default=None)
    return tuple(sorted(option for option, score in scores.items() if score == top))


def first_choice(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """Plurality of first choices."""
    counted = checked(ballots, options)
    return _best(_firsts(counted, set(range(options)))) if counted else ()


def _firsts(ballots: Sequence[Ballot], standing: set[int]) -> dict[int, int]:
    """Ballots whose best standing option this is."""
    found = dict.fromkeys(standing, 0)
    for ballot in ballots:
        first = next((option for option in ballot if option in standing), None)
        if first is not None:
            found[first] += 1
    return found


def borda(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """K - 1 points for the first place, K - 2 for the second …; none for an option left out."""
    counted = checked(ballots, options)
    points = dict.fromkeys(range(options), 0)
    for ballot in counted:
        for place, option in enumerate(ballot):
            points[option] += options - 1 - place
    return _best(points) if counted else ()


def reciprocal_rank(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """Sum of 1 / place (mean reciprocal rank), in exact fractions; 0 for an option left out."""
    counted = checked(ballots, options)
    points = dict.fromkeys(range(options), Fraction(0))
    for ballot in counted:
        for place, option in enumerate(ballot):
            points[option] += Fraction(1, place + 1)
    return _best(points) if counted else ()


def approval(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """A point for every option that a ballot names; the order does not count."""
    counted = checked(ballots, options)
    points = dict.fromkeys(range(options), 0)
    for ballot in counted:
        for option in ballot:
            points[option] += 1
    return _best(points) if counted else ()


def instant_runoff(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """Drop all options with the fewest first places together, until one has more than half of the ballots that count.

    A ballot counts while one of its options stands. If all that still stand have equally many, they tie.
    """
    counted = checked(ballots, options)
    standing = set(range(options))
    while counted:
        firsts = _firsts(counted, standing)
        most, fewest = max(firsts.values()), min(firsts.values())
        if most == fewest or 2 * most > sum(firsts.values()):
            return _best(firsts)
        standing = {option for option, many in firsts.items() if many > fewest}
    return ()


def preferences(ballots: Sequence[Ballot], options: int) -> Whole:
    """How many ballots rank the row's option above the column's, shape (K, K); what is left out is below the rest."""
    found = np.zeros((options, options), dtype=np.int64)
    for ballot in checked(ballots, options):
        below = np.ones(options, dtype=bool)
        for option in ballot:
            below[option] = False
            found[option, below] += 1
    return found


def condorcet_winner(ballots: Sequence[Ballot], options: int) -> int | None:
    """The option that more ballots rank above than below each other one; None if there is none."""
    over = preferences(ballots, options)
    wins = (over > over.T).sum(axis=1)
    return int(wins.argmax()) if options and int(wins.max()) == options - 1 else None


def copeland(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """Most duels won less duels lost (Copeland 1951)."""
    if not checked(ballots, options):
        return ()
    over = preferences(ballots, options)
    score = (over > over.T).sum(axis=1) - (over < over.T).sum(axis=1)
    return tuple(int(option) for option in np.flatnonzero(score == score.max()))


def minimax(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """Smallest margin of the worst defeat (Simpson 1969, Kramer 1977)."""
    if not checked(ballots, options):
        return ()
    over = preferences(ballots, options)
    margin = over.T - over
    np.fill_diagonal(margin, np.iinfo(np.int64).min)
    worst = margin.max(axis=1)
    return tuple(int(option) for option in np.flatnonzero(worst == worst.min()))


def schulze(ballots: Sequence[Ballot], options: int) -> tuple[int, ...]:
    """Who has to each other a beat path at least as strong as the way back (Schulze 2011), strength by margins."""
    if not checked(ballots, options):
        return ()
    over = preferences(ballots, options)
    path = np.maximum(over - over.T, 0)
    for via in range(options):
        path = np.maximum(path, np.minimum(path[:, [via]], path[[via], :]))
    np.fill_diagonal(path, 0)
    wins = (path >= path.T).all(axis=1)
    return tuple(int(option) for option in np.flatnonzero(wins))


RULES: Mapping[str, Rule] = {
    "first choice": first_choice,
    "Borda": borda,
    "reciprocal rank": reciprocal_rank,
    "instant run-off": instant_runoff,
    "Copeland": copeland,
    "minimax": minimax,
    "Schulze": schulze,
}
"""The rules that use the order of a ballot, and the one that they have to beat."""


def credit(winners: Sequence[int], right: int | None) -> float:
    """1/t if the right option is among t winners, else 0."""
    return 1 / len(winners) if winners and right in winners else 0.0
