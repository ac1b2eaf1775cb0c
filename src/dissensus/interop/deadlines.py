"""Which deadlines have passed since one asked last, without going over all that is open each time."""

from __future__ import annotations

import heapq
from typing import Final

from dissensus.say.book import Book
from dissensus.say.verdicts import Obligation

_SPARE: Final = 1_000
_EACH: Final = 256


class Deadlines:
    """Names each obligation of a book once, when its deadline has passed.

    Deadlines lie in a heap, so that a message costs little however much is open. The book is the truth: what was closed
    or put off since it was laid in is passed over or laid in anew.

    Args:
        book: the obligations that are watched.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._heap: list[tuple[float, int, Obligation]] = []
        self._count = 0
        self._named: dict[int, Obligation] = {}
        """Those that were named and are still open; holding them keeps their ids their own."""
        self._resting: list[Obligation] = []
        """Those past their deadline while they wait for somebody else."""
        self._unsorted = 0

    def opened(self, seq: int) -> None:
        """Take up what the message at place ``seq`` opened."""
        for owed in reversed(self._book.owed.values()):
            if owed.opened_seq < seq:
                break
            self._lay_in(owed)
        if len(self._heap) > 2 * len(self._book) + _SPARE:
            self.renew()

    def moved(self) -> None:
        """A deadline may have changed (A2A binds a promise by a later message): look again, now or soon.

        All that is open is gone over once in as many messages as keeps the cost of each the same.
        """
        self._unsorted += _EACH
        if self._unsorted >= len(self._book):
            self.renew()

    def renew(self) -> None:
        """Take up everything that is open."""
        self._unsorted = 0
        self._heap.clear()
        self._resting.clear()
        for owed in self._book.owed.values():
            self._lay_in(owed)

    def passed(self, now: float) -> list[Obligation]:
        """What became overdue by ``now``, in seconds since 1970-01-01 UTC, and was not named before; earliest first."""
        found: list[Obligation] = []
        if self._resting:
            resting, self._resting = self._resting, []
            for owed in resting:
                self._lay_in(owed)
        while self._heap and self._heap[0][0] < now:
            deadline, _, owed = heapq.heappop(self._heap)
            if id(owed) not in self._book.owed or id(owed) in self._named:
                continue
            if owed.deadline is None or owed.deadline > deadline:  # put off since
                self._lay_in(owed)
            elif owed.suspended:
                self._resting.append(owed)
            else:
                self._named[id(owed)] = owed
                found.append(owed)
        return found

    def closed(self, owed: Obligation) -> None:
        """``owed`` has ended."""
        self._named.pop(id(owed), None)

    def was_named(self, key: int) -> bool:
        """Whether the open obligation at ``key`` of the book was named."""
        return key in self._named

    def name(self, owed: Obligation) -> None:
        """``owed`` was named before, by a monitor whose state was taken over."""
        self._named[id(owed)] = owed

    def _lay_in(self, owed: Obligation) -> None:
        if owed.deadline is not None and id(owed) not in self._named:
            self._count += 1
            heapq.heappush(self._heap, (owed.deadline, self._count, owed))
