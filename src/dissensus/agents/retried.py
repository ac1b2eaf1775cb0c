"""Tries again what may come through the next time, waiting longer each time or as long as the server asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import anyio

from dissensus.agents.model import Model
from dissensus.agents.wrapped import Wrapped
from dissensus.script.calls import Attempt, Extend, Generate, Score
from dissensus.script.keys import seed_of
from dissensus.script.outcomes import (
    Extended,
    Invalid,
    Outcome,
    Refusal,
    Reply,
    Scores,
    TimedOut,
    TransportFailure,
    Usage,
)

RETRYABLE_CAUSES = frozenset({"connect", "rate-limited", "body", "empty"})
RETRYABLE_STATUS = frozenset({408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})

_CallT = TypeVar("_CallT", Generate, Extend, Score)
_WithUsage = Reply | Extended | Scores | Refusal | Invalid | TransportFailure | TimedOut


def retryable(outcome: Outcome) -> bool:
    """Whether the same call may well come through if it is made again."""
    if not isinstance(outcome, TransportFailure):
        return False
    return outcome.cause in RETRYABLE_CAUSES or (outcome.cause == "status" and outcome.status in RETRYABLE_STATUS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how long to wait.

    Args:
        tries: most tries of one call, the first included.
        first_wait_s: wait before the second try; doubled each time after.
        longest_wait_s: no single wait is longer, whatever the server asks for.
        jitter: share of a wait that varies, so that calls which failed together do not come back together.
    """

    tries: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    jitter: float = 0.5

    def wait_s(self, call_seed: int, key: str, number: int, asked_s: float | None) -> float:
        """Seconds to wait after failed try ``number`` (from 1). The jitter is a function of the call, not of chance."""
        part = seed_of(call_seed, f"{key}/retry/{number}") / 2**31
        backoff = self.first_wait_s * 2.0 ** min(number - 1, 60) * (1 - self.jitter * part)
        if asked_s is not None:
            # never sooner than asked; the part on top keeps those who were told the same time apart
            backoff = max(asked_s * (1 + 0.1 * self.jitter * part), 0.0)
        return min(backoff, self.longest_wait_s)


class Retried(Wrapped):
    """A model whose failed calls are made again where that may help (:func:`retryable`).

    ``call.report`` is told of each failed try before the next one. ``Usage.attempts`` counts all tries and
    ``Usage.seconds`` adds them up, waits not included. A wait that would outlast the caller's deadline is not begun:
    the failure is returned at once, so that the caller learns what happened rather than that time ran out.
    """

    __slots__ = ("patience",)

    def __init__(self, model: Model, patience: Patience | None = None) -> None:
        super().__init__(model)
        self.patience = patience or Patience()

    async def generate(self, call: Generate) -> Outcome:
        """As the model inside, tried again where that may help."""
        return await self._try(self.model.generate, call, call.seed)

    async def extend(self, call: Extend) -> Outcome:
        """As the model inside, tried again where that may help."""
        return await self._try(self.model.extend, call, call.seed)

    async def score(self, call: Score) -> Outcome:
        """As the model inside, tried again where that may help."""
        return await self._try(self.model.score, call, 0)

    async def _try(self, do: Callable[[_CallT], Awaitable[Outcome]], call: _CallT, seed: int) -> Outcome:
        outcome = await do(call)
        number, seconds = 1, None
        while retryable(outcome) and number < self.patience.tries:
            assert isinstance(outcome, TransportFailure)  # noqa: S101 - what retryable() means, told to the type checker
            wait_s = self.patience.wait_s(seed, call.key, number, outcome.retry_after_s)
            if anyio.current_time() + wait_s >= anyio.current_effective_deadline():
                break
            if call.report is not None:
                call.report(Attempt(number, outcome.problem, outcome.status, wait_s))
            seconds = _sum(seconds, outcome.usage.seconds)
            await anyio.sleep(wait_s)
            outcome = await do(call)
            number += 1
        return outcome if number == 1 else _counted(outcome, number, seconds)


def _counted(outcome: Outcome, attempts: int, earlier_s: float | None) -> Outcome:
    if not isinstance(outcome, _WithUsage):
        return outcome
    usage: Usage = outcome.usage
    return replace(outcome, usage=replace(usage, attempts=attempts, seconds=_sum(earlier_s, usage.seconds)))


def _sum(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other
