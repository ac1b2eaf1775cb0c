"""A case: claims, the bytes that they cite, and what the user declares about them. And the states that it goes through.

A case is data. Everything that its verdict follows from is in it, so a record that holds one can be worked out again
on another machine, years later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.precedence import Precedence


class State(StrEnum):
    """Where a case is."""

    OPEN = "open"
    INCOMPLETE = "incomplete"
    """returned to the authors, with a reason for each claim"""
    CONSISTENT = "consistent"
    """nothing contradicts; that is not settled, and no claim is verified by it"""
    CONTESTED = "contested"
    VERIFYING = "verifying"
    DISPUTED = "disputed"
    """more than one claim stands: only a person can tell"""
    WAITING = "waiting"
    SETTLED = "settled"
    REOPENED = "reopened"
    """a cited source has changed, or there is a claim with a new source"""
    OPEN_BUDGET = "open_budget"
    ERROR = "error"


NEXT: Final[Mapping[State, frozenset[State]]] = {
    State.OPEN: frozenset([State.INCOMPLETE, State.CONSISTENT, State.CONTESTED]),
    State.INCOMPLETE: frozenset([State.OPEN, State.REOPENED]),
    State.CONSISTENT: frozenset([State.SETTLED, State.REOPENED]),
    State.CONTESTED: frozenset([State.VERIFYING]),
    State.VERIFYING: frozenset([State.SETTLED, State.DISPUTED, State.INCOMPLETE, State.OPEN]),
    State.DISPUTED: frozenset([State.WAITING]),
    State.WAITING: frozenset([State.SETTLED, State.INCOMPLETE]),
    State.SETTLED: frozenset([State.REOPENED]),
    State.REOPENED: frozenset([State.OPEN]),
    State.OPEN_BUDGET: frozenset([State.REOPENED]),
    State.ERROR: frozenset(),
}
"""What may follow on what. ``open_budget`` and ``error`` may follow on anything that is not settled."""
LAST: Final = frozenset(
    [State.INCOMPLETE, State.CONSISTENT, State.DISPUTED, State.SETTLED, State.OPEN_BUDGET, State.ERROR]
)
"""States in which a run may end."""
_CUT: Final = frozenset([State.OPEN_BUDGET, State.ERROR])


def may_follow(state: State, following: State) -> bool:
    """Whether ``following`` may come after ``state``."""
    return following in NEXT[state] or (following in _CUT and state not in _CUT | {State.SETTLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """Captured bytes, and what the user says about them. Whoever makes claims says none of it.

    Args:
        text: the bytes as UTF-8 text; None if they are none.
        base64: the bytes, if they are no text.
        pages: the text of each page, of a file that has pages.
        media: media type.
        name: a label, for people.
        kind: what kind of source it is, for rules of precedence: ``signed-note``.
        table: how it is to be read, if it is a table.
    """

    text: str | None = None
    base64: str | None = None
    pages: tuple[str, ...] | None = None
    media: str = ""
    name: str = ""
    kind: str = ""
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSize:
    """A declared conversion: one ``unit`` is ``factor`` ``of``, by this evidence; ``subject`` None is any."""

    unit: str
    factor: Decimal
    of: str
    evidence: tuple[Evidence, ...]
    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that evidence came from, which may be made again because it only reads.

    Args:
        tool: its name in the panel.
        arguments: as they were.
        repeatable: the same arguments always give the same output, so another output refutes. Otherwise the world may
            have changed, and another output says nothing.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came with a claim and weighs nothing. It stands on the record and is in no verifier's input."""

    claim: str
    confidence: str = ""
    scratchpad: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a person is asked. ``ask`` False leaves a dispute as it is.

    Args:
        ask: whether to ask.
        to: who may answer; empty means anybody.
        deadline_s, remind_s: seconds; neither decides anything.
        escalate_to: who may answer too once the deadline has passed.
        sources: folders in which the pinned bytes lie.
        base: folder that relative live references start from.
    """

    ask: bool = True
    to: tuple[str, ...] = ()
    deadline_s: float | None = None
    remind_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    base: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is to be settled.

    Args:
        id: its name.
        title: the question in words, for people.
        claims: the reports.
        sources: captured bytes by SHA-256.
        live: live reference to the SHA-256 of what lies there when the case is opened; or GONE, NOT_CHECKED.
        pack_sizes: conversions beyond the standard table.
        precedence: the user's rules for when two sound sources differ.
        calls: calls that may be made again.
        verifier: the agent that is asked which source is wrong, if programs cannot tell; "" asks none.
        turns: most turns of one look of that agent.
        rounds: how often an author that is in the panel is asked for evidence that is lacking.
        reports: what came with the claims and weighs nothing.
        asking: how a person is asked.
        after: the record that the case was looked at in before, if it is reopened; "" if this is the first look.
        cell: what the verifier's cell keeps from it, as the cell says; None if no program of others was run.
        spot_check: whether the verifier looks at the sources even if nothing contradicts.
        sources_of: for an author, the sources that it works from: it is shown these alone when it is asked for
            evidence, and can cite no others. An author that is not named is shown all.
    """

    id: str
    claims: tuple[Claim, ...]
    sources: Mapping[str, Pinned] = field(default_factory=dict)
    title: str = ""
    live: Mapping[str, str] = field(default_factory=dict)
    pack_sizes: tuple[PackSize, ...] = ()
    precedence: Precedence | None = None
    calls: tuple[ToolCall, ...] = ()
    verifier: str = ""
    turns: int = 6
    rounds: int = 1
    reports: tuple[Report, ...] = ()
    asking: Asking = Asking()
    after: str = ""
    cell: Mapping[str, Any] | None = None
    spot_check: bool = False
    sources_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
