"""The versions of MCP, and in what they differ for an audit.

Sources: the specification of each version (modelcontextprotocol.io), for 2026-07-28 with its tasks extension
(``io.modelcontextprotocol/tasks``). The versions before 2025-06-18 have the same life cycle. Tasks came with
2025-11-25; who uses them earlier is held to the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

V2025_06, V2025_11, V2026_07 = "2025-06-18", "2025-11-25", "2026-07-28"

META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_TASK: Final = "io.modelcontextprotocol/related-task"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

WORKING, INPUT_REQUIRED = "working", "input_required"
COMPLETED, TASK_FAILED, TASK_CANCELLED = "completed", "failed", "cancelled"
TERMINAL: Final = (COMPLETED, TASK_FAILED, TASK_CANCELLED)
TASK_MOVES: Final[dict[str, frozenset[str]]] = {
    WORKING: frozenset({INPUT_REQUIRED, *TERMINAL}),
    INPUT_REQUIRED: frozenset({WORKING, *TERMINAL}),
    **{status: frozenset() for status in TERMINAL},
}
"""From each status of a task, those that may follow it; staying in a status is no move."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one version asks for.

    Args:
        version: its date.
        lifecycle: ``initialize``, its answer and ``notifications/initialized`` come before other requests.
        server_requests: the server may send requests; otherwise it can only answer that input is required.
        mrtr: requests may be answered by "input required" and are then repeated under a new id.
        starts: statuses in which a task may begin.
        error_is_failure: the task of a tool result with ``isError`` is failed; otherwise it is completed, and failed
            only by a JSON-RPC error.
        cancel_is_done: the answer to ``tasks/cancel`` is the cancelled task, and an error for a task that has ended;
            otherwise it only says that the wish was heard.
        server_cancels: methods of the client's requests that the server may cancel.
    """

    version: str
    lifecycle: bool
    server_requests: bool
    mrtr: bool
    starts: frozenset[str]
    error_is_failure: bool
    cancel_is_done: bool
    server_cancels: frozenset[str] = frozenset()


def _with_sessions(version: str) -> Rules:
    return Rules(
        version,
        lifecycle=True,
        server_requests=True,
        mrtr=False,
        starts=frozenset({WORKING}),
        error_is_failure=True,
        cancel_is_done=True,
    )


RULES: Final[dict[str, Rules]] = {
    V2025_06: _with_sessions(V2025_06),
    V2025_11: _with_sessions(V2025_11),
    V2026_07: Rules(
        V2026_07,
        lifecycle=False,
        server_requests=False,
        mrtr=True,
        starts=frozenset(TASK_MOVES),
        error_is_failure=False,
        cancel_is_done=False,
        server_cancels=frozenset({"subscriptions/listen"}),
    ),
    "2024-11-05": _with_sessions("2024-11-05"),
    "2025-03-26": _with_sessions("2025-03-26"),
}
"""By version. Under a version that is not here only the rules of JSON-RPC can be judged."""


def rules_of(version: str | None) -> Rules | None:
    """The rules of a version; None if it is unknown."""
    return RULES.get(version) if version is not None else None


def version_in(rpc: dict[str, Any]) -> str | None:
    """The version that a request's ``_meta`` names (2026-07-28 and later), or None."""
    version = section(section(rpc, "params"), "_meta").get(META_VERSION)
    return version if type(version) is str else None


_NOTHING: Final[dict[str, Any]] = {}


def section(value: Any, key: str) -> dict[str, Any]:
    """The mapping under ``key``; empty if there is none. It is for reading only."""
    inner = value.get(key) if type(value) is dict else None
    return inner if type(inner) is dict else _NOTHING


def task_in(result: Any) -> dict[str, Any] | None:
    """The task in a result that stands for a task instead of an answer (both forms), or None."""
    if type(result) is not dict:
        return None
    inner = result.get("task")
    if type(inner) is dict and type(inner.get("taskId")) is str:
        return inner
    if type(result.get("taskId")) is str and (result.get("resultType") == "task" or type(result.get("status")) is str):
        return result
    return None
