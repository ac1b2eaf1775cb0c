"""What a dispute ends with, as a decision that qualifies itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dissensus.decide.dispute.case import State
from dissensus.script.decisions import Decision, Status

STATUS: Final[Mapping[State, Status]] = {
    State.SETTLED: Status.DECIDED,
    State.CONSISTENT: Status.CONSISTENT,
    State.INCOMPLETE: Status.INCOMPLETE,
    State.DISPUTED: Status.DISPUTED,
    State.OPEN_BUDGET: Status.OPEN_BUDGET,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement(Decision):
    """How a case stands at the end of a run.

    As a decision: ``question`` is the case in words; ``answer`` what is left standing in a settled case, in words, else
    None; ``rule`` the rule that settled it. It says of the others that they are refuted, and why.

    Args:
        case: its id.
        state: :class:`~dissensus.decide.dispute.case.State`.
        verdict: why, the lines that decided, the losers, what was returned, what is left standing.
        verifier_input_sha256: hash of what a verifier is given.
    """

    case: str = ""
    state: str = ""
    verdict: Mapping[str, Any] = field(default_factory=dict)
    verifier_input_sha256: str | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Settlement:
        """The settlement that :meth:`to_data` wrote."""
        return msgspec.convert(dict(data), cls)
