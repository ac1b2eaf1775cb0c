"""Single objects of MCP, as the schema's examples show them: what kind of unit one is, by its type's name or its shape.

Units become a :class:`~dissensus.say.message.Message`; what only occurs inside units (params, content blocks, schemas,
capabilities) becomes a :class:`Part`. What has no known shape is a part of the kind ``unclassified``: it is named, and
never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.errors import LogError
from dissensus.say.message import STRUCTURE, Message
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, declared_by_error, id_text
from dissensus.say.wire.mcp_acts import act_of_answer, act_of_notification, act_of_request, sender_of
from dissensus.say.wire.mcp_versions import section

REQUEST, NOTIFICATION, RESPONSE, RESULT, ERROR = "request", "notification", "response", "result", "error"
PARAMS, CONTENT, CONTENTS, SCHEMA, CAPABILITIES = "params", "content", "contents", "schema", "capabilities"
MAP, PART, UNCLASSIFIED = "map", "part", "unclassified"
UNITS: Final = frozenset({REQUEST, NOTIFICATION, RESPONSE, RESULT, ERROR})
"""Kinds that one party sends to the other; a result or an error may lack its envelope."""

_SUFFIXES: Final = (
    ("ResultResponse", RESPONSE), ("Request", REQUEST), ("Notification", NOTIFICATION), ("Result", RESULT),
    ("Error", ERROR), ("Params", PARAMS), ("Schema", SCHEMA), ("Contents", CONTENTS), ("Content", CONTENT),
    ("Capabilities", CAPABILITIES),
)  # fmt: skip
_NAMED: Final = {
    "EmbeddedResource": CONTENT, "ResourceLink": CONTENT, "InputRequests": MAP, "InputResponses": MAP,
    "Resource": PART, "ResourceTemplate": PART, "Root": PART, "Tool": PART, "Prompt": PART, "PromptMessage": PART,
    "SamplingMessage": PART, "ModelPreferences": PART, "Implementation": PART, "Task": PART, "Annotations": PART,
}  # fmt: skip
_BLOCKS: Final = {
    "text": "TextContent", "image": "ImageContent", "audio": "AudioContent", "resource": "EmbeddedResource",
    "resource_link": "ResourceLink", "tool_use": "ToolUseContent", "tool_result": "ToolResultContent",
}  # fmt: skip
_SCHEMA_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_CLIENT_CAN: Final = frozenset({"roots", "sampling", "elicitation", "tasks", "experimental", "extensions"})
_SERVER_CAN: Final = frozenset(
    {"tools", "resources", "prompts", "logging", "completions", "tasks", "experimental", "extensions"}
)
_PREFERENCES: Final = frozenset({"hints", "costPriority", "speedPriority", "intelligencePriority"})
_PARAMS: Final = (
    ({"progressToken", "progress"}, "ProgressNotificationParams"),
    ({"requestId"}, "CancelledNotificationParams"),
    ({"level", "data"}, "LoggingMessageNotificationParams"),
    ({"ref", "argument"}, "CompleteRequestParams"),
    ({"messages", "maxTokens"}, "CreateMessageRequestParams"),
    ({"message", "requestedSchema"}, "ElicitRequestFormParams"),
    ({"mode", "url"}, "ElicitRequestURLParams"),
    ({"protocolVersion", "clientInfo"}, "InitializeRequestParams"),
    ({"name", "arguments"}, "CallToolRequestParams or GetPromptRequestParams"),
    ({"cursor"}, "PaginatedRequestParams"),
)
_NEEDS: Final = {REQUEST: ("method",), NOTIFICATION: ("method",), RESPONSE: ("id", "result")}
_CLIENTS_RESULTS: Final = ("ElicitResult", "CreateMessageResult", "ListRootsResult")


@dataclass(frozen=True, slots=True)
class Part:
    """An object that is no unit by itself.

    Args:
        kind: ``params``, ``content``, ``contents`` (of a resource), ``schema``, ``capabilities``, ``map``, ``part`` or
            ``unclassified``.
        type: its name in the schema, as given or as its shape suggests; "" if nothing does.
        data: the object.
    """

    kind: str
    type: str
    data: dict[str, Any] = field(repr=False)


def kind_of_type(name: str) -> str:
    """Kind of a type of the schema by its name: ``CallToolRequest`` is a request."""
    named = _NAMED.get(name)
    if named is not None:
        return named
    return next((kind for suffix, kind in _SUFFIXES if name.endswith(suffix)), UNCLASSIFIED)


def classify(data: dict[str, Any]) -> tuple[str, str]:
    """Kind and probable type of an object by its shape alone."""
    method = data.get("method")
    if type(method) is str:
        return (NOTIFICATION if method.startswith("notifications/") else REQUEST), ""
    if "result" in data and ("jsonrpc" in data or "id" in data):
        return RESPONSE, ""
    if "error" in data and ("jsonrpc" in data or "id" in data):
        return ERROR, ""
    if type(data.get("code")) is int and type(data.get("message")) is str:
        return ERROR, "Error"
    if type(data.get("resultType")) is str:
        return RESULT, "InputRequiredResult" if data["resultType"] == "input_required" else ""
    kind = data.get("type")
    if type(kind) is str and kind in _BLOCKS:
        return CONTENT, _BLOCKS[kind]
    if type(kind) is str and kind in _SCHEMA_TYPES:
        return SCHEMA, ""
    return _by_keys(data)


def _by_keys(data: dict[str, Any]) -> tuple[str, str]:
    keys = data.keys()
    if {"role", "content"} <= keys:
        return (RESULT, "CreateMessageResult") if "model" in keys else (PART, "SamplingMessage or PromptMessage")
    if data.get("action") in ("accept", "decline", "cancel"):
        return RESULT, "ElicitResult"
    if keys <= {"roots", "_meta"} and type(data.get("roots")) is list:
        return RESULT, "ListRootsResult"
    if {"protocolVersion", "serverInfo"} <= keys:
        return RESULT, "InitializeResult"
    if type(data.get("content")) is list:
        return RESULT, "CallToolResult"
    if {"taskId", "status"} <= keys:
        return PART, "Task"
    if {"name", "inputSchema"} <= keys:
        return PART, "Tool"
    for needed, name in _PARAMS:
        if needed <= keys:
            return PARAMS, name
    if "uri" in keys and keys & {"text", "blob"}:
        return CONTENTS, "BlobResourceContents" if "blob" in keys else "TextResourceContents"
    if {"uri", "name"} <= keys:
        return PART, "Resource" if keys - {"uri", "name", "_meta"} else "Root or Resource"
    if "uri" in keys and keys <= {"uri", "_meta"}:
        return PARAMS, "ReadResourceRequestParams or ResourceUpdatedNotificationParams"
    if keys and keys <= _PREFERENCES:
        return PART, "ModelPreferences"
    objects = all(type(value) is dict for value in data.values())
    if keys and objects and keys <= _SERVER_CAN | _CLIENT_CAN:
        if keys <= _CLIENT_CAN:
            return (
                CAPABILITIES,
                "ClientCapabilities" if keys - _SERVER_CAN else "ClientCapabilities or ServerCapabilities",
            )
        return CAPABILITIES, "ServerCapabilities"
    if keys and objects:
        kinds = {classify(value)[0] for value in data.values()}
        if kinds == {REQUEST}:
            return MAP, "InputRequests"
        if kinds == {RESULT}:
            return MAP, "InputResponses"
    return UNCLASSIFIED, ""


def load_object(type_name: str, data: Any, *, path: str = "", line: int = 1) -> Message | Part:
    """One object as what its type's name says, or, for an unknown or empty name, as what its shape says.

    Args:
        type_name: name in the schema: ``CallToolRequest``.
        data: the decoded object.
        path: of the file, for messages.
        line: where in it the object begins.

    Raises:
        LogError: it is no object, or lacks what its type cannot lack.
    """
    if type(data) is not dict:
        raise LogError("An object of MCP has to be a JSON object.", path=path, line=line, next_step="Correct the file.")
    kind, guess = kind_of_type(type_name), type_name
    if kind == UNCLASSIFIED:
        kind, guess = classify(data)
    missing = [key for key in _NEEDS.get(kind, ()) if key not in data]
    if kind == ERROR and type(_error(data).get("code")) is not int:
        missing.append("code")
    if missing:
        what = f"A {type_name or kind} needs {' and '.join(repr(key) for key in missing)}."
        raise LogError(what, path=path, line=line, next_step="Correct the file, or name another type.")
    if kind not in UNITS:
        return Part(kind, guess or type_name, data)
    return _message(kind, guess or type_name, data, line)


def _error(data: dict[str, Any]) -> dict[str, Any]:
    return section(data, "error") if "error" in data else data


def _message(kind: str, name: str, data: dict[str, Any], line: int) -> Message:
    content_type: str | None = None
    method = data.get("method")
    sender = SERVER
    if kind == REQUEST:
        sender, act = sender_of(str(method)) or CLIENT, act_of_request(str(method))
    elif kind == NOTIFICATION:
        sender = sender_of(str(method)) or SERVER
        act, content_type = act_of_notification(str(method), section(data, "params"))
    elif kind == ERROR:
        act = declared_by_error(_error(data).get("code"))[0]
    else:
        act, content_type = act_of_answer(None, data if kind == RESPONSE else {"result": data})
        sender = CLIENT if name in _CLIENTS_RESULTS else SERVER
    ident = id_text(data["id"]) if "id" in data else None
    asks = kind == REQUEST
    side = sender if asks else CLIENT if sender == SERVER else SERVER
    return Message(
        id=str(line),
        sender=sender,
        receivers=(SERVER if sender == CLIENT else CLIENT,),
        act=act,
        thread=f"rpc:{side[0]}:{ident}" if ident is not None else None,
        protocol="mcp",
        reply_with=ident if asks else None,
        in_reply_to=None if asks else ident,
        content=None if "jsonrpc" in data else data,
        content_type=content_type,
        line=line,
        tag_source=STRUCTURE,
        name=str(method) if method is not None else name or None,
        wire=data if "jsonrpc" in data else None,
    )
