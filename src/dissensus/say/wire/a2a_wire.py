"""A2A units on JSON-RPC, 0.3 and 1.0 alike: what a request asks for, and what happened according to an answer.

The two wires say the same things differently. 0.3 has ``message/send`` and the like, a ``kind`` in each object, and
states such as ``input-required``; 1.0 has ``SendMessage``, wrapper keys (``task``, ``message``, ``statusUpdate``,
``artifactUpdate``) and ``TASK_STATE_INPUT_REQUIRED``. Here both become :class:`Asked` and :class:`Event`, with the
state under its 0.3 name. Nothing is judged here; whatever has the wrong shape is an event of kind ``other``.

Sources: a2a.proto of A2A 1.0 and the JSON schema of 0.3. As in the JSON of protocol buffers, ``task_id`` is read as
``taskId``.
"""

from __future__ import annotations

import difflib
from typing import Any, Final, NamedTuple

from dissensus.say.readers.times import seconds

V03, V10 = "0.3", "1.0"

SUBMITTED, WORKING = "submitted", "working"
INPUT_REQUIRED, AUTH_REQUIRED = "input-required", "auth-required"
COMPLETED, TASK_FAILED, CANCELED, REJECTED = "completed", "failed", "canceled", "rejected"

ACTIVE: Final = (SUBMITTED, WORKING)
INTERRUPTED: Final = (INPUT_REQUIRED, AUTH_REQUIRED)
TERMINAL: Final = (COMPLETED, TASK_FAILED, CANCELED, REJECTED)
STATES: Final = (*ACTIVE, *INTERRUPTED, *TERMINAL)

_PREFIX: Final = "TASK_STATE_"
_BY_NAME: Final[dict[str, dict[str, str]]] = {
    V03: {state: state for state in STATES},
    V10: {_PREFIX + state.upper().replace("-", "_"): state for state in STATES},
}

SEND, STREAM, GET, LIST, CANCEL, SUBSCRIBE, OTHER = "send", "stream", "get", "list", "cancel", "subscribe", "other"
"""What a request asks for. ``OTHER``: push notification settings, agent cards, methods that nobody knows."""

METHODS: Final[dict[str, tuple[str, str]]] = {
    "message/send": (SEND, V03),
    "message/stream": (STREAM, V03),
    "tasks/get": (GET, V03),
    "tasks/list": (LIST, V03),
    "tasks/cancel": (CANCEL, V03),
    "tasks/resubscribe": (SUBSCRIBE, V03),
    "tasks/pushNotificationConfig/set": (OTHER, V03),
    "tasks/pushNotificationConfig/get": (OTHER, V03),
    "tasks/pushNotificationConfig/list": (OTHER, V03),
    "tasks/pushNotificationConfig/delete": (OTHER, V03),
    "agent/getAuthenticatedExtendedCard": (OTHER, V03),
    "SendMessage": (SEND, V10),
    "SendStreamingMessage": (STREAM, V10),
    "GetTask": (GET, V10),
    "ListTasks": (LIST, V10),
    "CancelTask": (CANCEL, V10),
    "SubscribeToTask": (SUBSCRIBE, V10),
    "CreateTaskPushNotificationConfig": (OTHER, V10),
    "GetTaskPushNotificationConfig": (OTHER, V10),
    "ListTaskPushNotificationConfigs": (OTHER, V10),
    "DeleteTaskPushNotificationConfig": (OTHER, V10),
    "GetExtendedAgentCard": (OTHER, V10),
}
"""Methods, and the wire that each belongs to."""

_NOBODY_KNOWS: Final[tuple[str, str | None]] = (OTHER, None)

TASK, MESSAGE, STATUS, ARTIFACT, UNREADABLE = "task", "message", "status", "artifact", "other"

_KINDS: Final = {"task": TASK, "message": MESSAGE, "status-update": STATUS, "artifact-update": ARTIFACT}
_WRAPPERS: Final = {
    "task": TASK,
    "message": MESSAGE,
    "statusUpdate": STATUS,
    "artifactUpdate": ARTIFACT,
    "status_update": STATUS,
    "artifact_update": ARTIFACT,
}
DEADLINE: Final = "urn:dissensus:deadline"
"""Key in a message's metadata. A2A has no field for a deadline (A2A issue 857)."""


class Asked(NamedTuple):
    """What a request asks for.

    Args:
        op: one of the constants above.
        version: wire of the method; None for a method that nobody knows.
        task: id of the task that it names.
        context: id of the context that its message names.
        message: id of its message.
        deadline: as it stands in the metadata of its message.
        immediate: the client wants an answer before the task is done.
    """

    op: str
    version: str | None
    task: str | None = None
    context: str | None = None
    message: str | None = None
    deadline: Any = None
    immediate: bool = False


class Event(NamedTuple):
    """What happened to one task, or a message of the server.

    Args:
        kind: ``task``, ``message``, ``status``, ``artifact`` or ``other``.
        version: wire of its form; None if its form is that of both.
        task, context: ids.
        state: under its 0.3 name; None if there is none or nobody knows it (``raw`` is what stands there).
        raw: the state as written.
        artifacts: whether it brings any.
        says: whether the server says something: a message in the status, or the last message in the history.
        final: ``final`` of a 0.3 status update: the stream ends here.
        listed: one of many, in a list that need not be complete in its parts.
    """

    kind: str
    version: str | None = None
    task: str | None = None
    context: str | None = None
    state: str | None = None
    raw: Any = None
    artifacts: bool = False
    says: bool = False
    final: bool = False
    listed: bool = False


_UNREADABLE: Final = Event(UNREADABLE)


def op_of(method: str) -> str:
    """What a method asks for."""
    return METHODS.get(method, _NOBODY_KNOWS)[0]


def version_of(method: str) -> str | None:
    """The wire of a method; None for one that nobody knows."""
    return METHODS.get(method, _NOBODY_KNOWS)[1]


def asked(rpc: dict[str, Any]) -> Asked:
    """What a request or notification asks for; it has a ``method``."""
    op, version = METHODS.get(rpc["method"], _NOBODY_KNOWS)
    params = rpc.get("params")
    if type(params) is not dict:
        return Asked(op, version)
    if op not in (SEND, STREAM):
        return Asked(op, version, _text(params, "taskId", "task_id", "id") if version is not None else None)
    message = params.get("message")
    if type(message) is not dict:
        return Asked(op, version)
    deadline = None
    for metadata in (message.get("metadata"), params.get("metadata")):
        if deadline is None and type(metadata) is dict:
            deadline = metadata.get(DEADLINE)
    wanted = params.get("configuration")
    immediate = type(wanted) is dict and (
        wanted.get("returnImmediately") is True
        or wanted.get("return_immediately") is True
        or wanted.get("blocking") is False  # drafts of 1.0
    )
    return Asked(
        op,
        version,
        _text(message, "taskId", "task_id"),
        _text(message, "contextId", "context_id"),
        _text(message, "messageId", "message_id"),
        deadline,
        immediate,
    )


def events(result: Any) -> list[Event]:
    """What the result of a response says. A list of tasks gives one event each; all others give one."""
    if type(result) is not dict:
        return [_UNREADABLE]
    kind = result.get("kind")
    if type(kind) is str and kind in _KINDS:
        return [_event(_KINDS[kind], V03, result)]
    if "id" in result and type(result.get("status")) is dict:
        return [_event(TASK, None, result)]
    for key, of_kind in _WRAPPERS.items():
        inner = result.get(key)
        if type(inner) is dict:
            return [_event(of_kind, V10, inner)]
    tasks = result.get("tasks")
    if type(tasks) is list:
        found = [_listed(task) for task in tasks if type(task) is dict]
        return found or [_UNREADABLE]
    return [_UNREADABLE]


def pushed(value: Any) -> Any:
    """The event in what a server pushes to a client's address, or None: 1.0 pushes what streams carry, 0.3 a task.

    Logs hold it bare, in an envelope, or as parameters of some notification.
    """
    if type(value) is not dict or "result" in value or "error" in value:
        return None
    inner: Any = value
    if "method" in value:
        inner = value.get("params")
        method = value["method"]
        if type(method) is not str or method in METHODS:
            return None
    if type(inner) is not dict:
        return None
    found = events(inner)[0]
    if found.kind not in (TASK, STATUS, ARTIFACT) or found.task is None:
        return None
    return inner


def near_miss(raw: Any, version: str | None) -> str | None:
    """The name of the state that was probably meant, on the wire of ``version``."""
    names = _BY_NAME[version or (V10 if type(raw) is str and raw.startswith(_PREFIX) else V03)]
    if type(raw) is not str or not raw:
        return None
    plain = raw.removeprefix(_PREFIX).strip().lower().replace("_", "-").replace(" ", "-")
    found = difflib.get_close_matches(plain, STATES, n=1, cutoff=0.7)
    return next((name for name, state in names.items() if state == found[0]), None) if found else None


def wire_name(state: str, version: str | None) -> str:
    """A state as the wire calls it."""
    return _PREFIX + state.upper().replace("-", "_") if version == V10 else state


def deadline_of(raw: Any, at: float | None) -> float | None:
    """A deadline in seconds since 1970-01-01 UTC: ISO 8601, or seconds after ``at``; None if it is neither."""
    if isinstance(raw, (int, float)) and not isinstance(raw, bool) and 0 <= raw < 1_000_000_000:
        return None if at is None else at + raw
    return seconds(raw)


def _event(kind: str, version: str | None, value: dict[str, Any]) -> Event:
    task = _text(value, "id") if kind == TASK else _text(value, "taskId", "task_id")
    context = _text(value, "contextId", "context_id")
    if kind == MESSAGE:
        return Event(MESSAGE, version, task, context)
    if kind == ARTIFACT:
        return Event(ARTIFACT, version, task, context, artifacts=True) if task is not None else _UNREADABLE
    if task is None:
        return _UNREADABLE
    status = value.get("status")
    raw = status.get("state") if type(status) is dict else None
    if version is None:
        version = _wire_of(raw)
    state = _state(raw, version)
    says = type(status) is dict and type(status.get("message")) is dict
    if kind == STATUS:
        return Event(STATUS, version, task, context, state, raw, says=says, final=value.get("final") is True)
    return Event(
        TASK,
        version,
        task,
        context,
        state,
        raw,
        artifacts=bool(value.get("artifacts")),
        says=says or _agent_spoke(value.get("history")),
    )


def _listed(task: dict[str, Any]) -> Event:
    found = _event(TASK, V03 if task.get("kind") == "task" else None, task)
    return found._replace(listed=True)


def _state(raw: Any, version: str | None) -> str | None:
    return _BY_NAME[version or V10].get(raw) if type(raw) is str else None


def _wire_of(raw: Any) -> str | None:
    """The wire that a state belongs to."""
    if type(raw) is not str:
        return None
    return V10 if raw.startswith(_PREFIX) else V03 if raw in _BY_NAME[V03] else None


def _agent_spoke(history: Any) -> bool:
    last = history[-1] if type(history) is list and history else None
    return type(last) is dict and last.get("role") in ("agent", "ROLE_AGENT")


def _text(value: dict[str, Any], key: str, *others: str) -> str | None:
    """The id under ``key``, or under the first of the ``others`` that holds one; a number is written as a text."""
    found = value.get(key)
    if type(found) is str and found:
        return found
    if type(found) is int:
        return str(found)
    return _text(value, *others) if others else None
