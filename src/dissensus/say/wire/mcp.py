"""Follows MCP traffic: which requests were answered, which tasks were finished, and who broke a rule.

Start reading at :meth:`MCPTracker.see`. What versions differ in is :mod:`~dissensus.say.wire.mcp_versions`; tasks,
repeated requests and progress each have a file. Every answer, early or late, right or wrong, is paired with its request
first (:mod:`~dissensus.say.wire.jsonrpc`); what was discarded opens and closes nothing, and its answer is no orphan.

Which version holds: the one of ``initialize`` or of a request's ``_meta``, else the option ``version``. Without any, or
with one that is unknown, requests and answers are paired, and only the rules of JSON-RPC are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dissensus.errors import UsageError
from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import OK, RPC, VOID, Finding
from dissensus.say.wire.jsonrpc import (
    CLIENT,
    MALFORMED,
    NOTIFICATION,
    REQUEST,
    SERVER,
    Call,
    Fault,
    finder,
    kind_of,
    units,
)
from dissensus.say.wire.mcp_answers import capture, response
from dissensus.say.wire.mcp_desk import Desk, receiver
from dissensus.say.wire.mcp_notes import notification
from dissensus.say.wire.mcp_requests import request
from dissensus.say.wire.mcp_session import Session
from dissensus.say.wire.mcp_versions import RULES

_NOTIFICATIONS: Final = "notifications/"
_YES: Final = frozenset({True, "1", "true", "yes", "on"})


class MCPTracker:
    """Follows the MCP messages of one log, which may hold several connections.

    Args:
        book: where obligations are opened and closed.
        options: ``version``: the version to judge by where the log names none. ``complete``: the log begins with the
            connection, so a request before any ``initialize`` is one too early. Others are passed over.

    Raises:
        UsageError: an option has a value that it cannot have.
    """

    def __init__(self, book: Book, options: Mapping[str, Any] | None = None) -> None:
        options = options or {}
        version = options.get("version")
        if version is not None and version not in RULES:
            raise UsageError(
                f"{version!r} is no version of MCP that is known here.", next_step=f"It is one of: {', '.join(RULES)}."
            )
        self._desk = Desk(book, version, complete=options.get("complete") in _YES)
        self._sessions: dict[str, Session] = {}

    def see(self, m: Message) -> str | tuple[Finding, ...]:
        """Judge one message; ``m.wire`` is the JSON-RPC object, or a batch. Returns ``ok`` or what is to be said."""
        said: list[Finding] = []
        self._desk.said = said
        if m.wire is None:  # an object without its envelope: nothing went over the wire
            return OK
        side = CLIENT if m.sender.startswith(CLIENT) else SERVER
        session = self._session(m, side)
        for rpc in units(m.wire):
            self._see(session, m, rpc, side)
        return tuple(said) if said else OK

    def _see(self, session: Session, m: Message, rpc: Any, side: str) -> None:
        kind = kind_of(rpc)
        if kind is REQUEST and rpc["method"].startswith(_NOTIFICATIONS):
            kind = NOTIFICATION  # with an id, which it must not have
        if kind is REQUEST:
            request(session, m, rpc, side)
        elif kind is NOTIFICATION:
            notification(session, m, rpc, side)
        elif kind is MALFORMED:
            self._desk.say(m, Fault("rpc.malformed", VOID, "It is neither a request nor an answer."))
        else:
            response(session, m, rpc, side)
        session.heard[side] = kind

    def finish(self) -> tuple[Finding, ...]:
        """End of the log, before the book is closed: note the polls that nobody answered."""
        desk = self._desk
        desk.said = []
        for session in self._sessions.values():
            for seq, m in session.held.release():
                capture(session, m, seq)
            waiting = session.calls.open_calls() + (session.old.open_calls() if session.old is not None else [])
            for call in sorted(waiting, key=lambda one: one.seq):
                if "poll" in call.data and call.owed is None:
                    self._list_poll(call)
        return tuple(desk.said)

    @property
    def threads(self) -> int:
        """How many threads began: requests, chains of repeated requests, tasks."""
        return self._desk.threads

    @property
    def version(self) -> str | None:
        """The version that holds for the connection that was begun last; None if it is unknown."""
        stated = [session.version for session in self._sessions.values() if session.version is not None]
        return stated[-1] if stated else self._desk.version

    def state(self) -> dict[str, Any]:
        """All of it as JSON data; obligations as references into the book."""
        return {
            "version": self._desk.version,
            "complete": self._desk.complete,
            "threads": self._desk.threads,
            "sessions": {name: session.state() for name, session in self._sessions.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become the tracker that :meth:`state` was taken of; the book holds the obligations that were open then."""
        self._desk = Desk(self._desk.book, state["version"], complete=state["complete"])
        self._desk.threads = state["threads"]
        self._sessions.clear()
        find = finder(self._desk.book)
        for name, fields in state["sessions"].items():
            session = self._sessions[name] = Session(self._desk, fields["at"])
            session.restore(fields, find)

    def _session(self, m: Message, side: str) -> Session:
        client, server = (m.sender, receiver(m)) if side == CLIENT else (receiver(m), m.sender)
        name = f"{client}\n{server}"
        session = self._sessions.get(name)
        if session is None:
            at = "" if (client, server) == (CLIENT, SERVER) else f"@{server if client == CLIENT else client}"
            session = self._sessions[name] = Session(self._desk, at)
        return session

    def _list_poll(self, call: Call) -> None:
        sender, debtor, where = call.data["poll"]
        m = Message(id=call.message, sender=sender, receivers=(debtor,), at=call.at, line=call.line, where=where)
        book = self._desk.book
        call.owed = book.open(m, RPC, debtor, sender, thread=call.data["thread"], about=call.method)
        call.owed.opened_seq = call.seq
