"""Who sent a bare JSON-RPC unit of MCP: by its method, by the request that it answers, by what an answer looks like.

What is told by nothing is taken as the client's if it asks, and as the server's if it answers or reports.
"""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.wire.jsonrpc import CLIENT, REQUEST, SERVER, id_text, kind_of
from dissensus.say.wire.mcp_acts import sender_of
from dissensus.say.wire.mcp_versions import section, task_in

_OTHER: Final = {CLIENT: SERVER, SERVER: CLIENT}
_CLIENTS_ANSWERS: Final = (frozenset({"action"}), frozenset({"roots"}), frozenset({"role", "content", "model"}))
"""Keys of answers that only a client gives: to elicitation, to roots/list, to sampling."""


class Sides:
    """Open requests of one log, by who asked."""

    __slots__ = ("_open", "_owners", "_tokens")

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], tuple[str, str]] = {}
        self._owners: dict[str, str] = {}
        self._tokens: dict[tuple[str, str], str] = {}

    def sender(self, rpc: dict[str, Any]) -> str:
        """Who sent ``rpc``, as far as that can be told."""
        method = rpc.get("method")
        if type(method) is not str:
            return self._answerer(rpc)
        side = sender_of(method)
        if side is not None:
            return side
        params = section(rpc, "params")
        if method.startswith("tasks/"):
            owner = self._owners.get(str(params.get("taskId")))
            return _OTHER[owner] if owner is not None else CLIENT
        if method == "notifications/tasks/status":
            return self._owners.get(str(params.get("taskId")), SERVER)
        if method == "notifications/progress":
            return CLIENT if (SERVER, _name(params.get("progressToken"))) in self._tokens else SERVER
        if method == "notifications/cancelled":
            name = _name(params.get("requestId"))
            return SERVER if (SERVER, name) in self._open and (CLIENT, name) not in self._open else CLIENT
        return SERVER if method.startswith("notifications/") else CLIENT

    def _answerer(self, rpc: dict[str, Any]) -> str:
        name = _name(rpc.get("id"))
        to_client, to_server = (CLIENT, name) in self._open, (SERVER, name) in self._open
        if to_client != to_server:
            return SERVER if to_client else CLIENT
        result = section(rpc, "result")
        return CLIENT if any(keys <= result.keys() for keys in _CLIENTS_ANSWERS) else SERVER

    def note(self, side: str, rpc: dict[str, Any], at: str) -> tuple[str | None, str | None]:
        """Take note of a unit that ``side`` sent.

        Args:
            side: who.
            rpc: the unit.
            at: suffix of threads.

        Returns:
            The thread that it belongs to, and, for an answer, the method that it answers.
        """
        params = section(rpc, "params")
        if "method" in rpc:
            if kind_of(rpc) is not REQUEST:
                return self._thread_of_note(side, rpc, params, at), None
            name = _name(rpc["id"])
            method = rpc["method"]
            task = params.get("taskId")
            thread = f"rpc:{side[0]}:{id_text(rpc['id'])}{at}"
            if method.startswith("tasks/") and type(task) is str:
                thread = task + at
            self._open[side, name] = method, thread
            token = section(params, "_meta").get("progressToken")
            if token is not None:
                self._tokens[side, _name(token)] = thread
            return thread, None
        asker = _OTHER[side]
        asked = self._open.pop((asker, _name(rpc.get("id"))), None)
        method, thread = asked if asked is not None else (None, f"rpc:{asker[0]}:{id_text(rpc.get('id'))}{at}")
        body = task_in(rpc.get("result"))
        if body is not None:
            self._owners[body["taskId"]] = side
            thread = body["taskId"] + at
        return thread, method

    def _thread_of_note(self, side: str, rpc: dict[str, Any], params: dict[str, Any], at: str) -> str | None:
        method = rpc.get("method")
        if method == "notifications/cancelled" and "requestId" in params:
            return f"rpc:{side[0]}:{id_text(params['requestId'])}{at}"
        if method == "notifications/progress":
            return self._tokens.get((_OTHER[side], _name(params.get("progressToken"))))
        task = params.get("taskId")
        return task + at if type(task) is str else None


def _name(value: Any) -> str:
    return f"{'s' if type(value) is str else 'n'} {id_text(value)}"
