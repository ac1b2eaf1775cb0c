"""What a JSON-RPC unit of MCP does as a communicative act, and who sends what."""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.verdicts import CANCELLED, REFUSED
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, declared_by_error, error_of
from dissensus.say.wire.mcp_chains import status_of_answer
from dissensus.say.wire.mcp_versions import (
    COMPLETED,
    INPUT_REQUIRED,
    TASK_CANCELLED,
    TASK_FAILED,
    WORKING,
    section,
    task_in,
)

FROM_CLIENT: Final = frozenset(
    {
        "initialize", "tools/call", "tools/list", "prompts/get", "prompts/list", "resources/list", "resources/read",
        "resources/templates/list", "resources/subscribe", "resources/unsubscribe", "completion/complete",
        "logging/setLevel", "server/discover", "subscriptions/listen", "tasks/update", "notifications/initialized",
        "notifications/roots/list_changed",
    }
)  # fmt: skip
"""Methods that only a client sends."""
FROM_SERVER: Final = frozenset(
    {
        "sampling/createMessage", "elicitation/create", "roots/list", "notifications/message",
        "notifications/tools/list_changed", "notifications/prompts/list_changed",
        "notifications/resources/list_changed", "notifications/resources/updated",
        "notifications/elicitation/complete", "notifications/subscriptions/acknowledged", "notifications/tasks",
    }
)  # fmt: skip
"""Methods that only a server sends."""
FROM_BOTH: Final = frozenset(
    {
        "ping", "tasks/get", "tasks/list", "tasks/result", "tasks/cancel", "notifications/cancelled",
        "notifications/progress", "notifications/tasks/status",
    }
)  # fmt: skip
"""Methods that either may send."""
TELLING: Final = (FROM_CLIENT | FROM_SERVER | FROM_BOTH) - {"tasks/get", "tasks/list", "tasks/cancel", "ping"}
"""Methods by which MCP is recognised; the others occur in A2A and elsewhere too."""

_REQUESTS: Final = {
    "elicitation/create": "query-ref",
    "tasks/cancel": "cancel",
    "subscriptions/listen": "subscribe",
    "resources/subscribe": "subscribe",
}
_NOTIFICATIONS: Final[dict[str, tuple[str, str | None]]] = {
    "notifications/cancelled": ("cancel", None),
    "notifications/progress": ("inform", "partial"),
    "notifications/subscriptions/acknowledged": ("agree", None),
}
_STATUSES: Final[dict[Any, tuple[str, str | None]]] = {
    WORKING: ("inform", "partial"),
    INPUT_REQUIRED: ("query-ref", None),
    COMPLETED: ("inform", "result"),
    TASK_FAILED: ("failure", None),
    TASK_CANCELLED: ("inform", "cancelled"),
}

ActAndType = tuple[str, str | None]


def sender_of(method: str) -> str | None:
    """Who sends this method; None if either may, or nobody knows."""
    return CLIENT if method in FROM_CLIENT else SERVER if method in FROM_SERVER else None


def act_of_request(method: str) -> str:
    """The act of a request: it is one, but for elicitation (a question), cancelling and subscribing."""
    return _REQUESTS.get(method, "request")


def act_of_notification(method: str, params: dict[str, Any]) -> ActAndType:
    """Act and content type of a notification."""
    if method in ("notifications/tasks/status", "notifications/tasks"):
        return _of_status(params)
    return _NOTIFICATIONS.get(method, ("inform", None))


def act_of_answer(method: str | None, rpc: dict[str, Any]) -> ActAndType:
    """Act and content type of an answer to ``method`` (None: the request is not in the log)."""
    if "error" in rpc:
        return declared_by_error(error_of(rpc)[0])[0], None
    result = section(rpc, "result")
    body = task_in(result)
    if body is not None:
        return _of_status(body) if (method or "").startswith("tasks/") else ("agree", None)
    if result.get("resultType") == "input_required":
        return "query-ref", None
    if result.get("isError") is True:
        return "failure", None
    if method == "elicitation/create" or (method is None and set(result) <= {"action", "content", "_meta"}):
        status = status_of_answer(result)
        if status in (REFUSED, CANCELLED):
            return "refuse", "cancelled" if status == CANCELLED else None
    return "inform", "result"


def _of_status(body: dict[str, Any]) -> ActAndType:
    status = body.get("status")
    if status == COMPLETED and section(body, "result").get("isError") is True:
        return "failure", None
    return _STATUSES.get(status if type(status) is str else None, ("inform", None))
