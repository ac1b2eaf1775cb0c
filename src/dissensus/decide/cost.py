"""What a vote took, added up from the outcomes that its scripts were sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dissensus.script.decisions import Cost
from dissensus.script.effects import Script
from dissensus.script.outcomes import (
    BudgetExhausted,
    Extended,
    Invalid,
    Refusal,
    Reply,
    Scores,
    TimedOut,
    TransportFailure,
    Usage,
)

_CALLED = (Reply, Extended, Scores, Refusal, Invalid, TransportFailure, TimedOut, BudgetExhausted)
_UNREACHED = frozenset({"connect", "capability"})
_Number = TypeVar("_Number", int, float)


@dataclass(slots=True)
class Bill:
    """Usages in the order of the seats. ``unknown`` counts calls that did not say what tokens they took."""

    calls: int = 0
    unknown: int = 0
    usages: list[Usage] = field(default_factory=list)

    def add(self, outcome: Any) -> None:
        """Take in one outcome; a tool's, a check's or a person's is no call of a model."""
        if isinstance(outcome, list):
            for one in outcome:
                self.add(one)
        elif isinstance(outcome, _CALLED):
            if isinstance(outcome, TransportFailure) and outcome.cause in _UNREACHED:
                return
            if isinstance(outcome, BudgetExhausted) and not outcome.begun:
                return
            self.calls += 1
            self.usages.append(outcome.usage)
            self.unknown += outcome.usage.tokens_out is None

    def merge(self, other: Bill) -> None:
        """Add what another bill holds."""
        self.calls += other.calls
        self.unknown += other.unknown
        self.usages += other.usages

    def cost(self) -> Cost:
        """The sums. A figure is None if no call gave it; calls that gave none are left out of a sum."""

        def total(of: Callable[[Usage], _Number | None]) -> _Number | None:
            return _sum(value for usage in self.usages if (value := of(usage)) is not None)

        seconds = total(lambda usage: usage.seconds)
        return Cost(
            calls=self.calls,
            tokens_in=total(lambda usage: usage.tokens_in),
            tokens_out=total(lambda usage: usage.tokens_out),
            seconds=None if seconds is None else round(seconds, 3),
            money=total(lambda usage: usage.cost),
        )


def _sum(values: Iterable[_Number]) -> _Number | None:
    known = list(values)
    return sum(known[1:], known[0]) if known else None


def metered(script: Script, bill: Bill) -> Script:
    """``script``, unchanged, with every outcome that it is sent put on ``bill``."""
    sent: Any = None
    while True:
        try:
            what = script.send(sent)
        except StopIteration as stop:
            return stop.value
        sent = yield what
        bill.add(sent)
