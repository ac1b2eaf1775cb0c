"""Tool calls and their results: which result answers which call.

A call is a request to the tool, in a thread of its own; its result is an inform, or a failure that says so. They are
paired by call id; where the log has none, by the tool's name and the order. An id may come again once it was answered:
that is a new call. Nothing is decided here: a result that answers no open call goes into the thread where it does not
belong, for the monitor to see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dissensus.say.message import STRUCTURE, Message

PROTOCOL: Final = "tool-call"
"""Name of the shipped protocol that calls follow."""


@dataclass(slots=True)
class _Call:
    """One call that has no result yet."""

    thread: str
    id: str | None
    tool: str
    caller: str


class Calls:
    """The calls of one conversation.

    Args:
        prefix: put before thread names, where one log holds several conversations: ``r3:``.
        by_id: whether the log pairs by id; without, its tags are inferred from names and order where two calls to one
            tool are open at once, and from structure otherwise.
    """

    __slots__ = ("_last", "_loose", "_open", "_times", "prefix")

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._open: dict[str, list[_Call]] = {}
        """By id, oldest first: some servers give every call the same id."""
        self._loose: list[_Call] = []
        """Calls without an id, oldest first."""
        self._last: dict[str, tuple[str, str, str]] = {}
        """Thread, tool and caller of the last call with an id, for a result that comes once too often."""
        self._times: dict[str, int] = {}

    def call(self, message_id: str, caller: str, tool: str, call_id: str | None, content: Any, **place: Any) -> Message:
        """The request that a call is. ``place`` are further fields: ``line``, ``where``, ``at``, ``name``."""
        name = call_id or f"{tool}@{message_id}"
        times = self._times[name] = self._times.get(name, 0) + 1
        thread = f"{self.prefix}{name}" if times == 1 else f"{self.prefix}{name}#{times}"
        call = _Call(thread, call_id, tool, caller)
        if call_id:
            self._open.setdefault(call_id, []).append(call)
            self._last[call_id] = (thread, tool, caller)
        else:
            self._loose.append(call)
        return Message(
            id=message_id,
            sender=caller,
            receivers=(tool,),
            act="request",
            thread=thread,
            protocol=PROTOCOL,
            reply_with=call_id or None,
            content=content,
            tag_source=STRUCTURE,
            **place,
        )

    def result(
        self,
        message_id: str,
        tool: str | None,
        call_id: str | None,
        content: Any,
        *,
        failed: bool,
        caller: str,
        **place: Any,
    ) -> Message:
        """The inform or failure that a result is. ``caller`` is who gets it if no call is found."""
        call = self._take(tool, call_id)
        if call is not None:
            thread, sender, receiver = call.thread, tool or call.tool, call.caller
        elif call_id and call_id in self._last:  # answered before
            thread, called, receiver = self._last[call_id]
            sender = tool or called
        else:
            thread, sender, receiver = f"{self.prefix}{call_id or message_id}", tool or "tool", caller
        return Message(
            id=message_id,
            sender=sender,
            receivers=(receiver,),
            act="failure" if failed else "inform",
            thread=thread,
            protocol=PROTOCOL,
            in_reply_to=call_id or None,
            content=content,
            content_type=None if failed else "result",
            tag_source=STRUCTURE,
            **place,
        )

    def _take(self, tool: str | None, call_id: str | None) -> _Call | None:
        """The open call that a result answers, which is then open no more."""
        if call_id and (same := self._open.get(call_id)):
            at = next((at for at, call in enumerate(same) if call.tool == tool), 0)
            call = same.pop(at)
            if not same:
                del self._open[call_id]
            return call
        for at, call in enumerate(self._loose):
            if tool is None or call.tool == tool:
                return self._loose.pop(at)
        if not call_id:  # the result lost the id that the call had
            for key, same in self._open.items():
                if tool is None or same[0].tool == tool:
                    call = same.pop(0)
                    if not same:
                        del self._open[key]
                    return call
        return None
