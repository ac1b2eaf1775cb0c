"""To which of its receivers may a message not be delivered? Asked of a copy, so that asking changes nothing.

A message to many may be legal towards some of them. If it is stopped it was said to nobody, so the monitor must not
take it for said to those. The copy knows the message's own thread and nothing else, so that it costs as much as that.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import msgspec

from dissensus.say.message import Message
from dissensus.say.monitor import WIRE, Monitor
from dissensus.say.seen import Seen
from dissensus.say.snapshot import taken
from dissensus.say.verdicts import HELD, ILLEGAL, LATE, NO_TITLE, OK, VOID, Obligation

BLOCKED: Final = frozenset({ILLEGAL, NO_TITLE, VOID})
"""Verdicts of messages that should not be delivered."""
_COUNTS: Final = frozenset({OK, LATE, HELD})
"""Verdicts of messages that change something, now or later."""


def stopped_at(monitor: Monitor, m: Message) -> tuple[str, tuple[str, ...]]:
    """The verdict on ``m`` if it is stopped though a part of it is legal, and the receivers of the other part.

    ``("", ())`` for a message that may be delivered, and for one of which no part, or nothing but the whole, counts.

    Raises:
        LogError: the message cannot be judged.
    """
    if len(m.receivers) < 2 or m.thread is None or m.act is None or m.protocol in WIRE:
        return "", ()
    copy = Monitor(
        protocol=monitor.default,
        profile=monitor.profile,
        delivery=monitor.delivery,
        authority=monitor.authority,
        platforms=monitor.platforms,
        find=lambda name, _profile: monitor.table(name, m.line).protocol,
    )

    def judged(*receivers: str) -> str:
        copy.restore(taken(_Part(monitor, m.thread or "")))  # type: ignore[arg-type] # it has all that is looked at
        return copy.see(msgspec.structs.replace(m, receivers=receivers))

    if (verdict := judged(*m.receivers)) not in BLOCKED:
        return "", ()
    others = tuple(receiver for receiver in m.receivers if judged(receiver) not in _COUNTS)
    return (verdict, others) if 0 < len(others) < len(m.receivers) else ("", ())


class _Part:
    """A monitor as if it knew one thread."""

    def __init__(self, monitor: Monitor, thread: str) -> None:
        self._monitor = monitor
        self.ids, self.trackers, self.tables = Seen(), dict[str, Any](), dict[str, Any]()
        self.running, self.astray, self.closed = (
            {thread: threads[thread]} if thread in threads else {}
            for threads in (monitor.running, monitor.astray, monitor.closed)
        )
        self.long_closed = Seen()
        if thread in monitor.long_closed:
            self.long_closed.add(thread)
        talks = (*self.running.values(), *self.astray.values(), *self.closed.values())
        owed = {id(one): one for talk in talks for one in _owed(talk) if id(one) in monitor.book.owed}
        self.book = SimpleNamespace(owed=owed, requests=0, unanswered=0, seq=monitor.book.seq, counts={})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)


def _owed(talk: Any) -> Iterator[Obligation]:
    for machine in (*talk.machines(), *(talk.strangers or {}).values()):
        yield from machine.owed
        for applied in machine.run or ():
            yield from applied.opened
    for other in (talk.side or {}).values():
        yield from _owed(other)
