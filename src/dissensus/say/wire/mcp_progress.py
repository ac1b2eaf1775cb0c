"""Progress tokens of MCP: who may report progress under which token, and for how long."""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.verdicts import ILLEGAL
from dissensus.say.wire.jsonrpc import Fault
from dissensus.say.wire.memory import Memory

_ENDED, _CANCELLED = 1, 2
_KINDS: Final = (str, int)


class Tokens:
    """Tokens of the requests of one connection. A token is known by who chose it, and by its type."""

    __slots__ = ("_last", "_over")

    def __init__(self) -> None:
        self._last: dict[str, float | None] = {}
        self._over = Memory()

    def begin(self, asker: str, token: Any) -> str | None:
        """A request asked for reports under ``token``; returns the key for :meth:`end`, None for no token."""
        if type(token) not in _KINDS:
            return None
        key = _key(asker, token)
        self._last[key] = None
        return key

    def end(self, key: Any, *, cancelled: bool = False) -> None:
        """What was reported on is over. After a cancellation, reports that are on their way are no fault."""
        if key in self._last:
            del self._last[key]
            self._over.note(key, _CANCELLED if cancelled else _ENDED)

    def report(self, asker: str, params: dict[str, Any], *, complete: bool) -> Fault | None:
        """Progress was reported to ``asker``.

        Args:
            asker: who asked for it.
            params: of the notification.
            complete: whether requests of the asker are in the log; otherwise an unknown token means nothing.
        """
        token, value = params.get("progressToken"), params.get("progress")
        if type(token) not in _KINDS:
            return (
                Fault("mcp.progress-orphan", ILLEGAL, "It names no request: the token is missing.")
                if complete
                else None
            )
        key = _key(asker, token)
        if key not in self._last:
            over = self._over[key]
            if over == _ENDED:
                return Fault("mcp.progress-after-end", ILLEGAL, f"What token {token!r} stands for is over.")
            if over or not complete:
                return None
            return Fault(
                "mcp.progress-orphan", ILLEGAL, f"No request of the {asker} asked for reports under {token!r}."
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        last = self._last[key]
        if last is not None and value <= last:
            return Fault("mcp.progress-not-increasing", ILLEGAL, f"Progress {value:g} comes after {last:g}.")
        self._last[key] = value
        return None

    def state(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return {"last": dict(self._last), "over": self._over.state()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Tokens:
        """What :meth:`state` was taken of."""
        tokens = cls()
        tokens._last = dict(state["last"])
        tokens._over = Memory.restore(state["over"])
        return tokens


def _key(asker: str, token: Any) -> str:
    return f"{asker} {'s' if type(token) is str else 'n'} {token}"
