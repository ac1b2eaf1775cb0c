"""The warnings of a vote: plain sentences about what its figures do not say by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dissensus.decide.checking import ACCEPTED, REJECTED
from dissensus.decide.routing import Standing
from dissensus.decide.tally import NOT_AWAITED, REPLY, Tally
from dissensus.script.decisions import Ballot, Status
from dissensus.script.outcomes import FAILURE_KINDS

_SHORT = 40
"""Replies up to so many characters can be the same by chance."""


def caveats_of(
    ballots: Sequence[Ballot], weights: Mapping[str, Fraction], tally: Tally, standing: Standing, unknown_calls: int
) -> tuple[str, ...]:
    """All that applies, most important first. ``weights`` are those of the configured voters."""
    found = [
        _verdicts(tally, standing),
        _fewer_count(ballots, weights),
        _stood_in(ballots),
        _given_up(ballots),
        _copies(ballots),
        _even(weights),
        _unknown(unknown_calls),
    ]
    return tuple(sentence for sentence in found if sentence)


def failures_of(ballots: Sequence[Ballot]) -> dict[str, int]:
    """Kind of failure to how many agents ended with it, spares included. Ballots that were given up are none."""
    kinds = Counter(ballot.outcome for ballot in ballots)
    return {kind: kinds[kind] for kind in FAILURE_KINDS if kinds[kind] and kind != NOT_AWAITED}


def _fewer_count(ballots: Sequence[Ballot], weights: Mapping[str, Fraction]) -> str:
    final = {ballot.stands_in_for or ballot.agent: ballot.outcome for ballot in ballots}
    counted = sum(outcome == REPLY for outcome in final.values())
    blanks = Counter(outcome for outcome in final.values() if outcome not in (REPLY, NOT_AWAITED))
    if not blanks:
        return ""
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(blanks.items()))
    return f"{counted} of {len(weights)} voters count; the others are blank ({kinds})."


def _stood_in(ballots: Sequence[Ballot]) -> str:
    pairs = [f"{ballot.agent} for {ballot.stands_in_for}" for ballot in ballots if ballot.stands_in_for]
    return f"Spares were asked in place of silent agents: {', '.join(pairs)}." if pairs else ""


def _given_up(ballots: Sequence[Ballot]) -> str:
    names = [ballot.agent for ballot in ballots if ballot.outcome == NOT_AWAITED]
    if not names:
        return ""
    return f"Not awaited, because no ballot of theirs could change the outcome: {', '.join(names)}."


def _copies(ballots: Sequence[Ballot]) -> str:
    counted = [ballot for ballot in ballots if ballot.answer is not None]
    copies = [ballot for ballot in counted if ballot.same_as]
    if not copies:
        return ""
    once = Counter(str(ballot.answer) for ballot in counted if not ballot.same_as)
    ranked = sorted(once.items(), key=lambda item: (-item[1], item[0]))
    says = (
        "it is " + " to ".join(str(number) for _, number in ranked) if len(ranked) > 1 else f"it is {ranked[0][1]} to 0"
    )
    text = (
        f"{len(copies)} of {len(counted)} ballots are copies (the same request or the same reply, word for word, by "
        f"the same model): one opinion photocopied. Counted once, {says}."
    )
    if all(ballot.reply is not None and len(ballot.reply) <= _SHORT for ballot in copies):
        text += " Replies as short as these can also coincide by chance."
    return text


def _verdicts(tally: Tally, standing: Standing) -> str:
    rejected = {check.answer for check in standing.checks if check.verdict == REJECTED}
    accepted = {check.answer for check in standing.checks if check.verdict == ACCEPTED} - rejected
    if standing.answer is None or not standing.checks:
        return ""
    if standing.answer in rejected:
        return f"An outside check rejects {standing.answer}."
    if tally.answer is not None and standing.answer != tally.answer and tally.answer in rejected:
        return f"The vote was for {tally.answer}; the outside check rejected it and accepted {standing.answer}."
    if tally.status is Status.SPLIT and standing.answer in accepted:
        return f"The vote was split; the outside check accepted {standing.answer} alone."
    if others := sorted(accepted - {standing.answer}):
        return f"The outside check also accepts {', '.join(others)}: it does not tell them apart."
    if standing.answer not in accepted:
        return "The outside check could not judge the answer."
    return ""


def _even(weights: Mapping[str, Fraction]) -> str:
    if len(weights) % 2 or len(set(weights.values())) > 1:
        return ""
    return f"{len(weights)} is an even number of voters, so two answers can tie."


def _unknown(calls: int) -> str:
    if not calls:
        return ""
    return f"The tokens of {calls} call{'s' * (calls > 1)} are not known; the cost leaves them out."
