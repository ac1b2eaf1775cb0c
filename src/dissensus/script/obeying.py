"""The live monitor of one run: is this post a legal move? It is asked before anybody sees the post.

It is given the events of the run in their order and nothing else: no clock, no arrival. So a run that is replayed,
resumed or forked is judged as it was live. Deadlines are none of its business: whoever waited has said on the record
who was silent, and the audit of a record (:mod:`dissensus.say.readers.record`) judges by that.
"""

from __future__ import annotations

from typing import Final

from dissensus.errors import LogError, UnknownAct
from dissensus.record.event import Draft, Event
from dissensus.say.message import Message
from dissensus.say.monitor import WIRE, Monitor
from dissensus.say.readers.record import CALLS, PLATFORMS, Reading
from dissensus.say.verdicts import ILLEGAL, NO_TITLE, VOID
from dissensus.script.outcomes import Blocked

_BAD: Final = frozenset({ILLEGAL, NO_TITLE, VOID})


class Obeying:
    """Follows what a run says."""

    def __init__(self) -> None:
        self._reading = Reading()
        self._monitor = Monitor(platforms=PLATFORMS)
        self._told: list[Message] = []

    def against(self, draft: Draft) -> Blocked | None:
        """Why the post in ``draft`` must not be delivered; None if it may be, and then it counts as delivered."""
        try:
            m = self._reading.post(draft)
        except UnknownAct as error:
            return Blocked(verdict=VOID, rule="act", says=str(error))
        if m is None or m.act is None:
            return None
        if m.protocol in WIRE:
            return Blocked(
                verdict=VOID, rule="protocol", says=f"{draft.thread}: {m.protocol} is spoken on the wire only"
            )
        if draft.thread in self._reading.calls:
            return Blocked(verdict=ILLEGAL, rule="thread", says=f"{draft.thread}: this is the thread of a call")
        try:
            verdict = self._monitor.see(m)
        except LogError as error:
            return Blocked(verdict=ILLEGAL, rule="protocol", says=str(error))
        if verdict not in _BAD:
            self._reading.typed.add(draft.thread)
            self._told.append(m)
            return None
        found = next(one for one in self._monitor.last if one.verdict == verdict)
        if len(m.receivers) > 1:
            self._forget()
        return Blocked(verdict=verdict, rule=found.rule, says=found.says, expected=found.expected)

    def take(self, event: Event) -> None:
        """Take in a call, or the outcome of one; other events change nothing."""
        if event.kind in CALLS or event.kind == "outcome":
            for m in self._reading.take(event):
                if isinstance(m, Message):
                    self._monitor.see(m)
                    self._told.append(m)

    def _forget(self) -> None:
        """Begin anew with what was delivered: a post to several may have been legal towards some of them."""
        self._monitor = Monitor(platforms=PLATFORMS)
        for m in self._told:
            self._monitor.see(m)
