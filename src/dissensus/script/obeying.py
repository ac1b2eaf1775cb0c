"""The live monitor of one run: is this post a legal move? It is asked before anybody sees the post.

It is given the events of the run in their order and nothing else: no clock, no arrival. So a run that is replayed,
resumed or forked is judged as it was live. Deadlines are none of its business: whoever waited has said on the record
who was silent, and the audit of a record (:mod:`dissensus.say.readers.record`) judges by that.

Calls need no judge: the engine makes them, each in a thread of its own, and pairs each with one outcome. All that is to
be seen to is that no post enters such a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissensus.errors import LogError, UnknownAct
from dissensus.record.event import Draft, Event
from dissensus.say.readers.record import CALLS, ON_THE_WIRE, PLATFORMS, Reading
from dissensus.say.verdicts import ILLEGAL, NO_TITLE, VOID
from dissensus.script.outcomes import Blocked

if TYPE_CHECKING:
    from dissensus.say.message import Message
    from dissensus.say.monitor import Monitor

_BAD: Final = frozenset({ILLEGAL, NO_TITLE, VOID})


class Obeying:
    """Follows what a run says."""

    def __init__(self) -> None:
        self._reading = Reading()
        self._monitor: Monitor | None = None
        self._told: list[Message] = []

    def against(self, draft: Draft) -> Blocked | None:
        """Why the post in ``draft`` must not be delivered; None if it may be, and then it counts as delivered."""
        thread = draft.thread
        try:
            m = self._reading.post(draft)
        except UnknownAct as error:
            return Blocked(verdict=VOID, rule="act", says=str(error))
        if m is None or m.act is None:
            return None
        if m.protocol in ON_THE_WIRE:
            return Blocked(verdict=VOID, rule="protocol", says=f"{thread}: {m.protocol} is spoken on the wire only")
        if thread in self._reading.calls:
            return Blocked(verdict=ILLEGAL, rule="thread", says=f"{thread}: this is the thread of a call")
        monitor = self._monitor or self._begun()
        try:
            verdict = monitor.see(m)
        except LogError as error:
            return Blocked(verdict=ILLEGAL, rule="protocol", says=str(error))
        if verdict not in _BAD:
            self._reading.typed.add(thread)
            self._told.append(m)
            return None
        found = next(one for one in monitor.last if one.verdict == verdict)
        if len(m.receivers) > 1:  # it may have been legal towards some of them: begin anew with what was delivered
            self._monitor = None
        return Blocked(verdict=verdict, rule=found.rule, says=found.says, expected=found.expected)

    def take(self, event: Event) -> None:
        """Take in what was put on the record; only calls matter."""
        if event.kind in CALLS:
            self._reading.call(event.key)

    def _begun(self) -> Monitor:
        """A monitor that has seen what was delivered so far. It is loaded only for runs that speak by a protocol."""
        from dissensus.say.monitor import Monitor

        self._monitor = monitor = Monitor(platforms=PLATFORMS)
        for m in self._told:
            monitor.see(m)
        return monitor
