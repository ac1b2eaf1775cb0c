"""The interface that every back end has."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dissensus.script.calls import Capabilities, Extend, Generate, Score
from dissensus.script.outcomes import Outcome


@runtime_checkable
class Model(Protocol):
    """Something that answers calls. Failures are returned as outcomes; nothing is raised but cancellation.

    A back end that cannot do a kind of call returns ``TransportFailure(cause="capability")`` naming what it lacks. One
    that knows its tokenizer says its digest in an attribute ``tokenizer``: equal digests, equal ids for equal texts.
    """

    @property
    def name(self) -> str:
        """What stands in records: the model, without secrets or hosts' credentials."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What this back end can do."""
        ...

    async def generate(self, call: Generate) -> Outcome:
        """Chat in, one message out: Reply or a failure."""
        ...

    async def extend(self, call: Extend) -> Outcome:
        """Text or token ids in, at most ``max_tokens`` more out: Extended or a failure."""
        ...

    async def score(self, call: Score) -> Outcome:
        """Log-probability of each continuation: Scores or a failure."""
        ...

    async def close(self) -> None:
        """Release connections, threads and memory. Safe to call twice."""
        ...
