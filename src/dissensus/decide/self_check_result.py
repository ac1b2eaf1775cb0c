"""What a self-check ends with, as a decision that qualifies itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dissensus.decide.self_check_answers import Answered
from dissensus.decide.self_check_equal import Equal
from dissensus.decide.self_check_settings import LeftOut
from dissensus.decide.self_check_weighing import SelfVerdict
from dissensus.script.decisions import Decision, Status

STANDS: Final = "cites-and-stands"
ONE_QUESTION: Final = (
    "One question shows how one verdict came about: not how often the agent does so, and not that the answer is right."
)
NO_CONTRADICTION: Final = (
    "That the agent does not contradict itself is no proof that it is right; how it settles was not seen."
)
LOST: Final = frozenset({"transport", "budget"})
"""Outcomes that say nothing of the agent: the call did not come about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A document, how much of it was shown to the agent, and of how much, in characters."""

    name: str
    digest: str
    shown: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfChecked(Decision):
    """What an agent does when it contradicts itself.

    As a decision: ``answer`` is what the agent settled on, if its verdict cites words that stand there and say so
    (``decided``), else None: ``consistent`` if no two answers differed, ``disputed`` if the verdict is of another
    class, ``open_budget``, or ``failed`` if it cannot be told because calls failed.

    Args:
        agent: who was checked; ``pasted`` if nobody was asked.
        kind: the kind of answer that the question asks for.
        rounds: how often two answers were asked for; 0 if they were given.
        answers: every answer, in the order in which they were asked for.
        a, b: the first two that differ, ``a`` asked for first; None if none do.
        verdict: what the agent's settling rests on; None if there was nothing to settle.
        equal: what it did between two equal sources.
        documents: what it was shown.
        left_out: what it was not shown.
        shows_not: what this does not show.
    """

    agent: str = ""
    kind: str = ""
    rounds: int = 0
    answers: tuple[Answered, ...] = ()
    a: Answered | None = None
    b: Answered | None = None
    verdict: SelfVerdict | None = None
    equal: Equal = field(default_factory=lambda: Equal(did="not-asked"))
    documents: tuple[Seen, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    shows_not: str = ONE_QUESTION

    @property
    def stands(self) -> bool:
        """Whether the verdict cites what stands, and equal sources were escalated where that was asked."""
        right = self.equal.did in ("escalates", "not-asked")
        return self.verdict is not None and self.verdict.kind == STANDS and right

    @property
    def lost(self) -> bool:
        """Whether a call that the result hangs on did not come about, so that it is worth asking again."""
        last = self.verdict is None and any(one.outcome in LOST for one in self.answers)
        looks = [*(self.verdict.looks if self.verdict else ()), *self.equal.looks]
        return last or any(look.kind == "failed" and look.why.partition(":")[0] in LOST for look in looks)

    @property
    def exit_code(self) -> int:
        """0 if :attr:`stands`; 3 if it cannot be told because calls failed or the budget was over; else 1."""
        if self.status in (Status.FAILED, Status.OPEN_BUDGET) or self.equal.did == "failed":
            return 3
        return 0 if self.stands else 1

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SelfChecked:
        """The self-check that :meth:`to_data` wrote."""
        return msgspec.convert(dict(data), cls)
