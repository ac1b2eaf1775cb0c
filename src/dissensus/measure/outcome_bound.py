"""What no rule that looks at final answers alone can do, shown by going through all of them.

Two answers; honest agents give the right one and corrupted agents the other. A rule is *anonymous* if it depends on how
many gave each answer, and *answer-neutral* if exchanging the two answers exchanges what it says. With c corrupted
agents N - c ballots are for the right answer; with N - c corrupted ones c are. The second world shows the ballots of
the first with the two labels exchanged, so the rule says the right answer in the one where it says the wrong answer in
the other, and

    accuracy(c) + accuracy(N - c) <= 1.

A rule may toss coins: accuracies are then means, and the bound holds for each outcome of the coins. It says nothing of
rules that know who is who, that check answers, or that read what was written: those are the ways out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

from dissensus.errors import UsageError

A, B, NONE = "A", "B", "none"
"""What a rule may say."""

Rule = tuple[str, ...]
"""What an anonymous rule says if k of N ballots are for A, k = 0 … N."""

MOST: Final = 9
"""Agents up to which rules are enumerated: 3^10."""

_OTHER: Final = {A: B, B: A, NONE: NONE}


def anonymous_rules(n: int) -> Iterator[Rule]:
    """All 3^(N + 1) anonymous rules that toss no coin."""
    if not 1 <= n <= MOST:
        raise UsageError(f"Rules for {n} agents cannot be gone through.", next_step=f"Use between 1 and {MOST} agents.")
    return product((A, B, NONE), repeat=n + 1)


def is_neutral(rule: Rule) -> bool:
    """Whether exchanging the answers exchanges what the rule says."""
    return all(_OTHER[said] == other for said, other in zip(rule, reversed(rule), strict=True))


def accuracy_of(rule: Rule, corrupted: int, right: str = A) -> float:
    """1 if the rule finds the answer ``right`` with that many corrupted agents, else 0."""
    n = len(rule) - 1
    for_a = n - corrupted if right == A else corrupted
    return float(rule[for_a] == right)


def worst_sum(n: int, keep: Callable[[Rule], bool] = is_neutral) -> float:
    """The largest accuracy(c) + accuracy(N - c) over all c and all anonymous rules that ``keep`` lets through."""
    return max(
        accuracy_of(rule, corrupted) + accuracy_of(rule, n - corrupted)
        for rule in anonymous_rules(n)
        if keep(rule)
        for corrupted in range(n + 1)
    )
