"""Counting votes: exact weights, stated rules, and when no ballot to come can change the outcome.

Nothing here depends on the order of voters or on what the options are called: a tie is a tie. Weights are exact
fractions of what was written down, so three voters of weight 0.1 tie with one of 0.3, as they should.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dissensus.errors import SpecError
from dissensus.script.decisions import Status
from dissensus.script.outcomes import BudgetExhausted

Rule = Literal["plurality", "majority"]
RULES: tuple[Rule, ...] = ("plurality", "majority")

REPLY = "reply"
ABSTAINED = "abstained"
MOST_WEIGHT = 1e12
"""Most weight of one vote: sums of it stay numbers that a record can hold."""
NOT_AWAITED = "cancelled"
"""Outcome of a ballot that was given up because it could change nothing. It is no failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One voter, as counted. ``answer`` is None for a blank; ``outcome`` says what kind of blank it is."""

    answer: str | None
    weight: Fraction
    outcome: str = REPLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a count came to.

    Args:
        votes: answer to its weight, most first; answers with equal weight stand in the order of their text.
        leaders: every answer with the most votes; more than one is a tie, none means that nobody voted.
        answer: the answer that wins under the rule, or None.
        status: how the vote ended.
    """

    votes: Mapping[str, Fraction]
    leaders: tuple[str, ...]
    answer: str | None
    status: Status


def exact(weight: float) -> Fraction:
    """The number that was written: 0.1 is one tenth. Raises SpecError unless it is above zero and at most 1e12."""
    if not 0 < weight <= MOST_WEIGHT:  # what is no number is neither
        raise SpecError(
            f"A vote cannot have the weight {weight}.",
            next_step=f"Use a number above zero and at most {MOST_WEIGHT:g}, or leave the agent out of the panel.",
        )
    return Fraction(str(weight))


def state(rule: Rule, weights: Sequence[Fraction]) -> str:
    """The rule in words, with its denominator, as it is put on the record before the vote."""
    voters = f"{len(weights)} configured voters"
    if any(weight != 1 for weight in weights):
        voters += f" of total weight {plain(sum(weights, Fraction(0)))}"
    if rule == "majority":
        return f"majority: an answer wins with more than half of the {voters}; blank ballots count in the denominator"
    return (
        f"plurality: the answer with the most votes of the {voters} wins; a tie is a split, blank ballots do not count"
    )


def plain(number: Fraction) -> str:
    """A weight as a person writes it: ``3``, ``2.5``."""
    return str(number.numerator) if number.denominator == 1 else f"{float(number):g}"


def count(votes: Iterable[Vote], rule: Rule) -> Tally:
    """Count ``votes``, one for each configured voter, blanks included.

    ============================  =====================================================================
    status                        when
    ============================  =====================================================================
    ``decided``                   plurality: one answer has strictly the most votes, whatever the ballots that
                                  were not paid for would have said;
                                  majority: one answer has more than half of all configured weight
    ``split``                     somebody voted, no answer wins, and budget is not what was missing
    ``open_budget``               the ballots that were not paid for could have made another answer, or any answer,
                                  win; or nobody voted and at least one ballot was not paid for
    ``abstained``                 nobody voted, at least one abstained and no call failed
    ``failed``                    nobody voted and at least one call failed for another reason, or there were no voters
    ============================  =====================================================================
    """
    everyone = tuple(votes)
    sums: dict[str, Fraction] = {}
    for vote in everyone:
        if vote.answer is not None:
            sums[vote.answer] = sums.get(vote.answer, Fraction(0)) + vote.weight
    ranked = dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
    best = max(ranked.values(), default=Fraction(0))
    leaders = tuple(answer for answer, votes_for in ranked.items() if votes_for == best)
    total = sum((vote.weight for vote in everyone), Fraction(0))
    unpaid = sum((vote.weight for vote in everyone if vote.outcome == BudgetExhausted.kind), Fraction(0))
    second = (*ranked.values(), Fraction(0), Fraction(0))[1]
    wins = (best > second + unpaid) if rule == "plurality" else (best > total / 2)
    if ranked and wins:
        return Tally(votes=ranked, leaders=leaders, answer=leaders[0], status=Status.DECIDED)
    return Tally(
        votes=ranked, leaders=leaders, answer=None, status=_without_winner(everyone, best, total, unpaid, rule)
    )


def _without_winner(everyone: Sequence[Vote], best: Fraction, total: Fraction, unpaid: Fraction, rule: Rule) -> Status:
    if best:
        could_win = unpaid > 0 if rule == "plurality" else best + unpaid > total / 2
        return Status.OPEN_BUDGET if could_win else Status.SPLIT
    outcomes = {vote.outcome for vote in everyone}
    if unpaid:
        return Status.OPEN_BUDGET
    return Status.ABSTAINED if outcomes == {ABSTAINED} else Status.FAILED


def settled(votes: Iterable[Vote], outstanding: Iterable[Fraction], rule: Rule, *, may_merge: bool = False) -> bool:
    """Whether answer and status are the same whatever the voters of the weights ``outstanding`` still do.

    They may give any answer, a new one included, or end blank in any way. Exact: True if and only if nothing can
    change. With ``may_merge``, answers that differ now may turn out to be the same later (a bare 300 beside 5 h); then
    True still means that nothing can change, and False only that it might.
    """
    so_far, weights = tuple(votes), tuple(outstanding)
    if not weights:
        return True
    rest = sum(weights, Fraction(0))
    now = count(so_far, rule)
    first, second = (*now.votes.values(), Fraction(0), Fraction(0))[:2]
    cast = sum(now.votes.values(), Fraction(0))
    unpaid = sum((vote.weight for vote in so_far if vote.outcome == BudgetExhausted.kind), Fraction(0))
    if rule == "plurality":
        if first > (cast - first if may_merge else second) + rest + unpaid:
            return True
        return cast + rest <= unpaid if may_merge else first + rest <= second + unpaid  # open, whatever comes
    half = (sum((vote.weight for vote in so_far), Fraction(0)) + rest) / 2
    if first > half:
        return True
    if (cast if may_merge else first) + rest > half:
        return False
    # Nobody can win any more; what is left open is whether unpaid ballots, now or to come, are to blame for it.
    if first == 0:
        return unpaid > 0 and min(weights) + unpaid > half
    return (cast if may_merge else first) + rest + unpaid <= half or first + unpaid > half
