"""From finished texts to a decision: weigh and count their answers, draw or keep ties, say what qualifies the result.

It counts as the round-robin counts its texts (:mod:`~dissensus.decide.round_robin_count`), so that the two differ in
how texts come about and in nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from dissensus.decide.answering import Answered, Draft, Room
from dissensus.decide.caveats import failures_of
from dissensus.decide.cost import Bill
from dissensus.decide.tally import Tally, Vote, count, exact
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Note
from dissensus.script.keys import seed_of
from dissensus.script.outcomes import Invalid

_LEAST = 1e-12
"""A weight below this counts as this: no answer is counted as if nobody had given it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defended(Decision):
    """A decision by finished texts. Each ballot is that of a text that counted.

    Args:
        drafts: every text, those that only served others included, in order.
        seats: the agents in order.
        tied: the answers among which a draw decided, or nothing was decided; empty without a tie.
        invalid: texts that counted and had no answer that can be read.
        oracle: whether it was told what nobody knows: no defence, and the most that a defence could be.
    """

    drafts: tuple[Draft, ...] = ()
    seats: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    invalid: int = 0
    oracle: bool = False


def finish(
    here: Room,
    texts: Sequence[Answered],
    *,
    rule: str,
    notes: Sequence[str] = (),
    more: Bill | None = None,
    oracle: bool = False,
) -> Generator[Any, Any, Defended]:
    """Put the ballots on the record and decide by the plurality of the texts that count.

    Args:
        here: the room.
        texts: all texts in order.
        rule: what is done, in words.
        notes: what qualifies it, most important first.
        more: what calls took that brought no text.
        oracle: see :class:`Defended`.
    """
    counting = [one.draft for one in texts if one.draft.counts]
    ballots = tuple(one.ballot() for one in counting)
    for ballot in ballots:
        yield Note("ballot", msgspec.to_builtins(ballot), durable=True, key=f"ballot/{ballot.agent}")
    tally = count([_vote(one) for one in counting], "plurality")
    answer, status, tied = _winner(here, tally)
    bill = Bill()
    for one in texts:
        bill.merge(one.bill)
    if more is not None:
        bill.merge(more)
    ties = "a tie is drawn" if here.settings.ties == "seeded" else "a tie is a split"
    return Defended(
        question=here.question.text,
        answer=answer,
        status=status,
        ballots=ballots,
        votes={name: float(votes) for name, votes in tally.votes.items()},
        dissent=tuple(
            {"agent": one.name, "answer": one.answer, "reason": ""}
            for one in counting
            if one.answer is not None and one.answer != answer
        ),
        failures=failures_of(ballots),
        warnings=(*notes, *_caveats(here, counting, tied, bill)),
        worth={"status": "unmeasured", "text": "What this agreement is worth was not measured."},
        cost=bill.cost(),
        rule=f"{rule}; plurality of {len(counting)} text{'s' * (len(counting) != 1)}; {ties}",
        drafts=tuple(one.draft for one in texts),
        seats=tuple(seat.agent for seat in here.seats),
        tied=tied,
        invalid=sum(one.outcome == Invalid.kind for one in counting),
        oracle=oracle,
    )


def _vote(draft: Draft) -> Vote:
    return Vote(answer=draft.answer, weight=exact(max(draft.weight, _LEAST)), outcome=draft.outcome)


def _winner(here: Room, tally: Tally) -> tuple[str | None, Status, tuple[str, ...]]:
    if tally.status is not Status.SPLIT or len(tally.leaders) < 2:
        return tally.answer, tally.status, ()
    tied = tuple(sorted(tally.leaders))
    if here.settings.ties == "abstain":
        return None, Status.SPLIT, tied
    return tied[seed_of(here.seed, "tie") % len(tied)], Status.DECIDED, tied


def _caveats(here: Room, counting: Sequence[Draft], tied: Sequence[str], bill: Bill) -> Iterator[str]:
    if tied:
        how = "one was drawn by the seed" if here.settings.ties == "seeded" else "none was taken"
        yield f"{len(tied)} answers were tied ({', '.join(tied)}); {how}."
    if blanks := Counter(one.outcome for one in counting if one.answer is None):
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(blanks.items()))
        count_of = sum(one.answer is not None for one in counting)
        yield f"{count_of} of {len(counting)} texts count; the others are blank ({told})."
    if cut := sum(one.cut for one in counting):
        yield f"{cut} of {len(counting)} texts ended at their limit."
    if bill.unknown:
        yield f"The tokens of {bill.unknown} call{'s' * (bill.unknown > 1)} are not known; the cost leaves them out."


def shares_of(decision: Decision) -> dict[str | None, Fraction]:
    """What each answer has of the decision: all of it, or an equal share where a draw among ties decided.

    None stands for no answer. A tie that was kept shares too, so that a rule for ties changes no figure.
    """
    tied: Sequence[str] = getattr(decision, "tied", ()) or _leaders(decision)
    if len(tied) > 1:
        return {answer: Fraction(1, len(tied)) for answer in tied}
    return {decision.answer: Fraction(1)}


def _leaders(decision: Decision) -> tuple[str, ...]:
    if decision.status is not Status.SPLIT or not decision.votes or decision.rule.startswith("majority"):
        return ()  # short of a majority nobody has won, whoever leads
    best: Any = max(decision.votes.values())
    return tuple(answer for answer, votes in decision.votes.items() if votes == best)
