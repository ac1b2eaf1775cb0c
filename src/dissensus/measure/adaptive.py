"""Asking voters one after the other and stopping when the lead is clear.

Stopping early certifies that the answer is the one that *all* voters would have given most votes (the mode). It says
nothing of whether that is right.

* ``beta``: stop when the leader would beat the second with chance .95, Beta(votes + 1, votes of the second + 1)
  (Aggarwal et al. 2023, adaptive consistency).
* ``lead``: stop when the leader is k votes ahead; for two options and independent voters, Wald's sequential test.
* ``window``: ask w at a time and stop when these agree (Li et al. 2024, early-stopping self-consistency).

In all of them the answer is the plurality of the votes drawn, ties split. A blank is a vote drawn for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.candidates import Candidates
from dissensus.measure.intervals import LEVEL
from dissensus.measure.special import Array, incomplete_beta
from dissensus.measure.table import Flags, Whole

ORDERS = 20
"""Orders of the voters that are tried; results are means over them. On more than 20,000 questions fewer, at least 3."""

Stop = Callable[[Array, int, Whole], Flags]
"""From counts so far, shape (Q, width), votes drawn, and the newest votes, shape (Q, drawn), to where to stop."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a rule would have done.

    Args:
        rule: its name.
        credit: share of questions right, ties split.
        votes: mean votes drawn for a question.
        same: share of questions on which the answer also has the most votes of all voters; ties count in part.
    """

    rule: str
    credit: float
    votes: float
    same: float


def beta_rule(confidence: float = LEVEL) -> Stop:
    """Stop when P(the leader beats the second) is at least ``confidence``."""
    _probability(confidence)

    def stop(counts: Array, _drawn: int, _votes: Whole) -> Flags:
        first, second = _two(counts)
        votes = np.arange(float(first.max(initial=0)) + 1)
        sure = incomplete_beta(votes + 1, votes[:, None] + 1, 0.5) >= confidence  # leader, second
        ahead: Flags = sure[first.astype(np.int64), second.astype(np.int64)]
        return ahead

    return stop


def lead_rule(k: int) -> Stop:
    """Stop when the leader is ``k`` votes ahead of the second."""
    _positive(k, "A lead")

    def stop(counts: Array, _drawn: int, _votes: Whole) -> Flags:
        first, second = _two(counts)
        ahead: Flags = first - second >= k
        return ahead

    return stop


def window_rule(w: int) -> Stop:
    """Ask ``w`` at a time; stop when the last ``w`` all gave the same answer."""
    _positive(w, "A window")

    def stop(_counts: Array, drawn: int, votes: Whole) -> Flags:
        if drawn % w:
            return np.zeros(len(votes), dtype=bool)
        last = votes[:, drawn - w : drawn]
        same: Flags = (last == last[:, :1]).all(axis=1) & (last[:, 0] >= 0)
        return same

    return stop


def _probability(value: float) -> None:
    if not 0.5 < value < 1:
        raise UsageError(f"A confidence cannot be {value:g}.", next_step="Choose one between 0.5 and 1, such as 0.95.")


def _positive(value: int, what: str) -> None:
    if value < 1:
        raise UsageError(f"{what} cannot be {value}.", next_step="Choose at least 1.")


def _two(counts: Array) -> tuple[Array, Array]:
    """Votes of the leader and of the second."""
    if counts.shape[1] == 1:
        return counts[:, 0], np.zeros(len(counts))
    top = np.partition(counts, counts.shape[1] - 2, axis=1)[:, -2:]
    return top[:, 1], top[:, 0]


RULES: dict[str, Stop] = {
    "beta .95": beta_rule(),
    "lead 2": lead_rule(2),
    "lead 3": lead_rule(3),
    "window 5": window_rule(5),
}


def stopped(voted: Candidates, name: str, rule: Stop, *, orders: int = ORDERS, seed: int = 0) -> Stopped:
    """Try ``rule`` in ``orders`` random orders of the voters, the same for all questions of ``voted``."""
    rng = np.random.default_rng(seed)
    questions, n = voted.local.shape
    orders = min(orders, max(3, 400_000 // questions))
    everybody = voted.leaders(voted.counts())
    credit = votes = same = 0.0
    for _ in range(orders):
        order = rng.permutation(n)
        counts, drawn = run(voted, order, rule)
        leaders = _leaders(counts)
        tied = np.maximum(leaders.sum(axis=1), 1)
        credit += float(voted.credit(leaders).mean())
        votes += float(drawn.mean())
        same += float(((leaders & everybody).sum(axis=1) / tied).mean())
    return Stopped(name, credit / orders, votes / orders, same / orders)


def run(voted: Candidates, order: Whole, rule: Stop) -> tuple[Array, Whole]:
    """Ask voters in ``order`` until ``rule`` stops or all were asked: counts, shape (Q, width), and votes drawn."""
    questions = voted.local.shape[0]
    counts = np.zeros((questions, voted.width))
    drawn = np.zeros(questions, dtype=np.int64)
    open_ = np.arange(questions)
    votes = voted.local[:, order].astype(np.int64)
    for asked, column in enumerate(votes.T, 1):
        vote = column[open_]
        voting = vote >= 0
        counts[open_[voting], vote[voting]] += 1
        drawn[open_] = asked
        open_ = open_[~rule(counts[open_], asked, votes[open_, :asked])]
        if not open_.size:
            break
    return counts, drawn


def _leaders(counts: Array) -> Flags:
    top = counts.max(axis=1, keepdims=True)
    found: Flags = (counts == top) & (counts > 0)
    return found
