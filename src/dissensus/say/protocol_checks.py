"""Static checks of a protocol, P01 to P15, each with a shortest path that shows the fault.

``docs/protocol-checks.md`` explains them. The search behind them is :mod:`dissensus.say.exploring`; the checks
themselves lie in :mod:`dissensus.say.checks`.
"""

from __future__ import annotations

from typing import Final

from dissensus.say.checks.choices import check_determined, check_knowledge, check_races
from dissensus.say.checks.fault import ERROR, WARNING, Check, Fault
from dissensus.say.checks.names import check_acts, check_roles, check_used
from dissensus.say.checks.owing import check_deadlines, check_open, check_settled, check_titles
from dissensus.say.checks.states import check_dead, check_ends, check_final, check_loops, check_reachable
from dissensus.say.exploring import explore
from dissensus.say.protocol import Protocol

__all__ = ["CODES", "ERROR", "WARNING", "Fault", "check"]

CODES: Final[dict[str, str]] = {
    "P01": "an act that nobody knows",
    "P02": "a role that is not declared",
    "P03": "a role that is declared and never bound",
    "P04": "a state that cannot be reached",
    "P05": "a state from which no final one can be reached: a dead end or a trap",
    "P06": "one message that is two moves",
    "P07": "two roles may speak at once, and it matters who was first",
    "P08": "a role that cannot know which branch was taken",
    "P09": "an obligation left open where the conversation ends",
    "P10": "an answer or a performance that may be waited for for ever",
    "P11": "closing what is not open",
    "P12": "ending or handing on an obligation without title",
    "P13": "a move out of a final state",
    "P14": "a move that can never be made",
    "P15": "a loop without a bound",
}
"""What each code finds."""

_CHECKS: Final[tuple[Check, ...]] = (
    check_acts, check_roles, check_used, check_reachable, check_ends, check_determined, check_races, check_knowledge,
    check_settled, check_deadlines, check_open, check_titles, check_final, check_dead, check_loops,
)  # fmt: skip


def check(protocol: Protocol) -> tuple[Fault, ...]:
    """All faults of ``protocol``, by code and line; the empty tuple if there is none.

    Raises:
        SpecError: the protocol is too large to be searched.
    """
    found = explore(protocol)
    faults = [fault for each in _CHECKS for fault in each(found)]
    return tuple(sorted(faults, key=lambda fault: (fault.code, fault.line)))
