"""What a procedure ends with. Never a winner alone: nine to nil and five to four are different facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec


class Status(StrEnum):
    """How a procedure ended."""

    DECIDED = "decided"
    SPLIT = "split"
    """no option wins"""
    DISPUTED = "disputed"
    """goes to a person"""
    WAITING = "waiting"
    ABSTAINED = "abstained"
    OPEN_BUDGET = "open_budget"
    FAILED = "failed"
    CONSISTENT = "consistent"
    """of a dispute: nothing contradicts, which settles nothing"""
    INCOMPLETE = "incomplete"
    """of a dispute: a report went back to its author"""
    REPORTED = "reported"
    """of a share: its items were read, which decides nothing"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """One agent's answer as counted, with the reply it came from.

    Args:
        agent: who cast it.
        answer: the canonical answer; None for a blank.
        reply: what the agent wrote, verbatim; None if there was no reply.
        outcome: kind of the outcome: ``reply``, ``abstained``, or one of the failures.
        weight: weight of the vote.
        reason: the agent's reasons, where it gave some apart from the answer.
        key: key of the effect whose outcome this was read from.
        read_by: how the answer was read: ``schema``, ``parser``, ``repair``, ``log-probability``, ``model``.
        same_as: name of an earlier agent whose request or reply was identical; "" if none.
        stands_in_for: name of the silent agent that this spare replaced; "" if none.
        model: the model behind the agent.
        style: the reasoning style that it was given; "" if none.
    """

    agent: str
    answer: str | None
    reply: str | None
    outcome: str
    weight: float = 1.0
    reason: str = ""
    key: str = ""
    read_by: str = ""
    same_as: str = ""
    stands_in_for: str = ""
    model: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What an outside check said about one answer: ``accepted``, ``rejected`` or ``error``."""

    check: str
    answer: str
    verdict: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run took. ``None`` means unknown, never 0.

    ``calls`` counts calls that reached a back end, retries not included.
    """

    calls: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    money: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The result of a procedure, with everything that qualifies it.

    Args:
        question: the question's text.
        answer: the canonical winning answer, or None.
        status: see :class:`Status`.
        ballots: every ballot, blanks included, in seat order.
        votes: canonical answer to its (weighted) votes, most first; blanks are not in it.
        dissent: the ballots that differ from the answer: agent, answer, reason.
        failures: kind of failure to how many agents ended with it.
        warnings: plain sentences.
        worth: what the agreement is worth: ``{"status": "unmeasured" | "measured", "text": …, …}``.
        checks: what outside checks said; empty means none was made.
        routed: what was done on disagreement or hollow unanimity, in order.
        cost: calls, tokens, seconds, money.
        record: where the record lies ("" if it was kept in memory).
        rule: the rule that was stated before the vote.
        stopped: why less was done than could have been: ``budget: calls`` (or ``tokens``, ``seconds``, ``money``): a
            limit kept at least one call from being made; ``no-progress``: a round brought nothing new; "" otherwise.
    """

    question: str
    answer: str | None
    status: Status
    ballots: tuple[Ballot, ...] = ()
    votes: Mapping[str, float] = field(default_factory=dict)
    dissent: tuple[Mapping[str, Any], ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    worth: Mapping[str, Any] = field(default_factory=lambda: {"status": "unmeasured"})
    checks: tuple[Check, ...] = ()
    routed: tuple[Mapping[str, Any], ...] = ()
    cost: Cost = Cost()
    record: str = ""
    rule: str = ""
    stopped: str = ""

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data, as ``dissensus decide --json`` prints it."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Decision:
        """The decision that :meth:`to_data` wrote."""
        return msgspec.convert(dict(data), cls)
