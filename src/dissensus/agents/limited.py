"""At most so many calls at a time, shared by all models on one host."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from weakref import WeakValueDictionary

import anyio
from anyio.lowlevel import RunVar

from dissensus.agents.model import Model
from dissensus.agents.wrapped import Wrapped
from dissensus.script.calls import Extend, Generate, Score
from dissensus.script.outcomes import Outcome


class _Queue:
    """Who is inside and who waits, in one event loop."""

    __slots__ = ("inside", "waiting")

    def __init__(self) -> None:
        self.inside = 0
        self.waiting: deque[anyio.Event] = deque()


class Limiter:
    """Lets at most ``places`` callers in at a time, first come first served: ``async with limiter: …``.

    One limiter may be shared by many models and used from several event loops, each of which counts for itself.
    """

    __slots__ = ("__weakref__", "_queue", "places")

    def __init__(self, places: int) -> None:
        if places < 1:
            raise ValueError("a limiter needs at least one place")
        self.places = places
        self._queue: RunVar[_Queue] = RunVar(f"dissensus-limiter-{id(self)}")

    def _here(self) -> _Queue:
        queue = self._queue.get(None)
        if queue is None:
            queue = _Queue()
            self._queue.set(queue)
        return queue

    async def __aenter__(self) -> None:
        queue = self._here()
        if queue.inside < self.places and not queue.waiting:
            queue.inside += 1
            return
        turn = anyio.Event()
        queue.waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:
            # cancelled: if our turn had come all the same, the place goes to the next
            if turn.is_set():
                self._leave(queue)
            else:
                queue.waiting.remove(turn)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(self._here())

    def _leave(self, queue: _Queue) -> None:
        queue.inside -= 1
        while queue.waiting and queue.inside < self.places:
            queue.inside += 1
            queue.waiting.popleft().set()


class HostLimits:
    """One limiter per host. Where models of one host name different limits, the strictest holds for all of them."""

    __slots__ = ("_limiters",)

    def __init__(self) -> None:
        # a limit lasts as long as a model uses it
        self._limiters: WeakValueDictionary[str, Limiter] = WeakValueDictionary()

    def limiter(self, host: str, places: int) -> Limiter:
        """The limiter of ``host``, with at most ``places`` places."""
        found = self._limiters.get(host)
        if found is None:
            found = self._limiters[host] = Limiter(places)
        found.places = min(found.places, places)
        return found


class Limited(Wrapped):
    """A model whose calls wait for a place. Waiting is not counted into ``Usage.seconds``, which the model measures."""

    __slots__ = ("_limiter",)

    def __init__(self, model: Model, limiter: Limiter) -> None:
        super().__init__(model)
        self._limiter = limiter

    async def generate(self, call: Generate) -> Outcome:
        """As the model inside, in turn."""
        async with self._limiter:
            return await self.model.generate(call)

    async def extend(self, call: Extend) -> Outcome:
        """As the model inside, in turn."""
        async with self._limiter:
            return await self.model.extend(call)

    async def score(self, call: Score) -> Outcome:
        """As the model inside, in turn."""
        async with self._limiter:
            return await self.model.score(call)
