"""One connection of an MCP log: its open requests, its version, how far it has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from dissensus.say.message import Message
from dissensus.say.verdicts import Obligation
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, Call, Calls, Held, id_text
from dissensus.say.wire.mcp_chains import Chains
from dissensus.say.wire.mcp_desk import Desk
from dissensus.say.wire.mcp_progress import Tokens
from dissensus.say.wire.mcp_tasks import Tasks
from dissensus.say.wire.mcp_versions import Rules, rules_of
from dissensus.say.wire.memory import Memory

NEW, ASKED, GREETED, READY = "new", "asked", "greeted", "ready"
"""How far the greeting has come: nothing, ``initialize``, its answer, ``notifications/initialized``."""
WAS_CANCELLED: Final = 3
"""What is remembered of a request that was cancelled."""
OTHER: Final = {CLIENT: SERVER, SERVER: CLIENT}
MOST_EARLY: Final = 100
"""Requests before any ``initialize`` that are kept in mind, should one follow."""


class Session:
    """What is known of one connection.

    Args:
        desk: of the tracker.
        at: suffix of its threads; empty where a log has one connection.

    Attributes:
        default: version that holds where the log names none.
        calls: open requests; ``old`` are those from before the last ``initialize``.
        held: answers from before the first request.
        version: as named by the log.
        phase: how far the greeting has come.
        greeting: id of the last ``initialize``, in a list of one; empty before it.
        early: requests of the client before any ``initialize``, while no version was known.
        asked: who has sent requests.
        heard: kind of the last message of each side.
        marked: ids under which notifications were sent, wrongly.
    """

    __slots__ = (
        "asked", "at", "calls", "chains", "default", "desk", "early", "greeting", "heard", "held", "marked", "old",
        "phase", "tasks", "tokens", "version",
    )  # fmt: skip

    def __init__(self, desk: Desk, at: str) -> None:
        self.desk = desk
        self.at = at
        self.default = desk.version
        self.calls = Calls(unique=True)
        self.old: Calls | None = None
        self.held = Held()
        self.version: str | None = None
        self.phase = NEW
        self.greeting: list[Any] = []
        self.early: list[tuple[int, Message]] = []
        self.asked = {CLIENT: False, SERVER: False}
        self.heard = {CLIENT: "", SERVER: ""}
        self.marked = Memory()
        self.tokens = Tokens()
        self.tasks = Tasks(desk, self.tokens, at)
        self.chains = Chains()

    @property
    def rules(self) -> Rules | None:
        """The rules that hold now."""
        return rules_of(self.version if self.version is not None else self.default)

    def mark(self, side: str, ident: Any) -> None:
        """A notification was sent under an id, which it must not have."""
        self.marked.note(f"{side} {type(ident).__name__} {id_text(ident)}", 1)

    def is_marked(self, side: str, ident: Any) -> bool:
        """Whether an id is that of a notification."""
        return f"{side} {type(ident).__name__} {id_text(ident)}" in self.marked

    def begin_again(self) -> None:
        """A new ``initialize``: ids may be used again. What is open may still be answered."""
        self.old, self.calls = self.calls, Calls(unique=True)
        self.calls.asked = True
        self.marked = Memory()

    def find(self, asker: str, ident: Any) -> Call | None:
        """An open call."""
        call = self.calls.find(asker, ident)
        if call is None and self.old is not None:
            return self.old.find(asker, ident)
        return call

    def end(self, call: Call, note: int) -> None:
        """A call will get no answer; ``note`` is remembered of its id."""
        self.calls.done(call, note)
        if self.old is not None:
            self.old.done(call, note)

    def state(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return {
            "at": self.at,
            "calls": self.calls.state(),
            "old": self.old.state() if self.old is not None else None,
            "held": self.held.state(),
            "version": self.version,
            "phase": self.phase,
            "greeting": list(self.greeting),
            "early": msgspec.to_builtins(self.early),
            "asked": dict(self.asked),
            "heard": dict(self.heard),
            "marked": self.marked.state(),
            "tokens": self.tokens.state(),
            "tasks": self.tasks.state(),
            "chains": self.chains.state(),
        }

    def restore(self, state: dict[str, Any], find: Callable[[Any], Obligation | None]) -> None:
        """Take up what :meth:`state` was taken of."""
        self.calls = Calls.restore(state["calls"], find)
        self.old = Calls.restore(state["old"], find) if state["old"] is not None else None
        self.held = Held.restore(state["held"])
        self.version, self.phase = state["version"], state["phase"]
        self.greeting = list(state["greeting"])
        self.early = msgspec.convert(state["early"], list[tuple[int, Message]])
        self.asked, self.heard = dict(state["asked"]), dict(state["heard"])
        self.marked = Memory.restore(state["marked"])
        self.tokens = Tokens.restore(state["tokens"])
        self.tasks = Tasks(self.desk, self.tokens, self.at)
        self.tasks.restore(state["tasks"], find)
        self.chains = Chains.restore(state["chains"], find)
