"""Errors of JSON-RPC that a proxy of A2A answers with.

Source: the tables of errors in the specifications of A2A (0.3, section 8; 1.0, section 5.4) and of JSON-RPC 2.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dissensus.say.wire.a2a_wire import METHODS, V10

if TYPE_CHECKING:
    from dissensus.interop.a2a_watch import Judged

_BY_RULE: Final[dict[str, tuple[int, str]]] = {
    "a2a.message-to-terminal": (-32004, "UNSUPPORTED_OPERATION"),
    "a2a.followup-not-asked": (-32004, "UNSUPPORTED_OPERATION"),
    "a2a.unknown-task": (-32001, "TASK_NOT_FOUND"),
    "a2a.context-mismatch": (-32602, "INVALID_PARAMS"),
}
_OTHER: Final = (-32600, "INVALID_REQUEST")
_INTERNAL, INVALID_ANSWER = -32603, -32006


def error_for(request: dict[str, Any], judged: Judged) -> dict[str, Any]:
    """The error that a request is answered with which must not be sent, or which came along with one."""
    if not judged.blocked:
        return _error(request.get("id"), _OTHER[0], "Not sent: another request of the batch is not legal.")
    code, reason = _BY_RULE.get(judged.rule, _OTHER)
    version = METHODS.get(str(request.get("method")), ("", ""))[1]
    return _error(request.get("id"), code, judged.says or "This is not legal here.", _data(judged, reason, version))


def withheld(ident: Any, judged: Judged) -> dict[str, Any]:
    """The error in place of an answer that the server must not give."""
    data = _data(judged, "INVALID_AGENT_RESPONSE", "")
    return _error(ident, INVALID_ANSWER, judged.says or "The answer of the server is not legal.", data)


def failed(ident: Any, why: str, *, code: int = _INTERNAL) -> dict[str, Any]:
    """The error in place of an answer that did not come."""
    return _error(ident, code, why)


def _data(judged: Judged, reason: str, version: str | None) -> Any:
    """1.0 wants a list of typed details; 0.3 leaves it open."""
    if version != V10:
        return {"rule": judged.rule}
    return [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "a2a-protocol.org",
            "metadata": {"rule": judged.rule},
        }
    ]


def _error(ident: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": ident, "error": error}
