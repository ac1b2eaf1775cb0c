"""Logs of A2A traffic: JSON-RPC units of 0.3 or 1.0, one a line, bare or in an envelope that says when and which way.

Also read: what a server sent as events (``data: {…}``), batches, lists of units, units spread over several lines, and
what a server pushed to a client's address. A bare unit with a ``method`` comes from the client, any other from the
server. Whether a unit was legal is for :class:`~dissensus.say.wire.a2a.A2ATracker` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from dissensus.errors import LogError
from dissensus.say.message import STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.decoding import decode
from dissensus.say.readers.entries import Entry, entries
from dissensus.say.readers.times import seconds
from dissensus.say.wire import a2a_wire as wire
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, declared_by_error, error_of, id_text

_ACT_OF_REQUEST: Final = {
    wire.CANCEL: "cancel",
    wire.GET: "query-ref",
    wire.LIST: "query-ref",
    wire.SUBSCRIBE: "subscribe",
    wire.OTHER: "request",
}
_ACT_OF_STATE: Final[dict[str | None, tuple[str, str | None]]] = {
    wire.SUBMITTED: ("inform", "acknowledged"),
    wire.WORKING: ("agree", None),
    wire.INPUT_REQUIRED: ("query-ref", None),
    wire.AUTH_REQUIRED: ("query-ref", None),
    wire.COMPLETED: ("inform", "done"),
    wire.TASK_FAILED: ("failure", None),
    wire.CANCELED: ("inform", "cancelled"),
    wire.REJECTED: ("refuse", None),
}
_INSIDE: Final = ("rpc", "message", "payload", "body", "data")
_TIMES: Final = ("at", "ts", "time", "timestamp")
_WAYS: Final = ("dir", "direction")
_FROM_CLIENT: Final = frozenset({"c2s", "client-to-server", "client->server", "request"})
_FROM_SERVER: Final = frozenset({"s2c", "server-to-client", "server->client", "response"})
_FIELDS: Final = (b"event:", b"id:", b"retry:", b":")
_LOOKED_AT: Final = 40
_LONGEST_EVENT: Final = 1_000
"""Most lines of one server-sent event."""
_BOTH: Final = frozenset({"tasks/get", "tasks/list", "tasks/cancel"})
"""Methods that MCP has as well."""


def read(source: Source, options: Options) -> Iterator[Item]:
    """One message for each JSON-RPC unit of the log.

    Raises:
        LogError: a line is no JSON or no object.
    """
    skipped: list[Skipped] = []
    begun, data, rest = 0, b"", 0  # an event that goes on over several lines
    cut_off = "The event that begins here is no JSON, or is cut off."
    for number, raw in source.lines(skip=skipped.append if options.lenient else None):
        yield from skipped
        skipped.clear()
        line = raw.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else raw.strip()
        part = line[5:] if line[:5] == b"data:" else None
        value = _decoded(line if part is None else part)
        if part is not None and value is None and rest < _LONGEST_EVENT:
            begun, data, rest = begun or number, data + b"\n" + part, rest + 1
            value = _decoded(data)
            if value is not None:
                yield from _messages(source, options, begun, "", value[0])
                begun, data, rest = 0, b"", 0
            continue
        if data and not line.startswith(_FIELDS):
            yield from _refused(source, options, begun, cut_off)
            begun, data, rest = 0, b"", 0
        if value is not None:
            unit = value[0]
            if type(unit) is dict and "jsonrpc" in unit:
                yield message_of(unit, number)
            else:
                yield from _messages(source, options, number, "", unit)
        elif line.startswith(_FIELDS):
            options.aside(Aside("field of a server-sent event", line=number))
        elif line[-1:] in {b"{", b"[", b","}:  # units that are spread over several lines
            yield from _spread(source, options, number)
            return
        else:
            yield from _refused(source, options, number, _why(line))
    if data:
        yield from _refused(source, options, begun, cut_off)
    yield from skipped


def _spread(source: Source, options: Options, after: int) -> Iterator[Item]:
    """What is no object a line, from the first such line on."""
    for entry in entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
        elif entry.line == 0 or entry.line >= after:
            yield from _messages(source, options, entry.line, entry.where, entry.value)


def _messages(source: Source, options: Options, line: int, where: str, value: Any) -> Iterator[Item]:
    """The units in one JSON value: itself, what its envelope holds, or those of a batch."""
    if type(value) is list:
        for index, inner in enumerate(value):
            yield from _messages(source, options, line, f"{where}[{index}]", inner)
        return
    if type(value) is not dict:
        yield from _refused(source, options, line, "This is no JSON object.", where)
        return
    if "jsonrpc" in value:
        yield message_of(value, line, where)
        return
    for key in _INSIDE:
        inner = value.get(key)
        if type(inner) is str and inner[:1] in {"{", "["}:
            found = _decoded(inner.encode("utf-8", "replace"))
            inner = found[0] if found is not None else None
        units: list[Any] = inner if type(inner) is list else [inner]
        if units and all(type(unit) is dict and is_unit(unit) for unit in units):
            at = next((moment for name in _TIMES if (moment := seconds(value.get(name))) is not None), None)
            way = next((value[name] for name in _WAYS if type(value.get(name)) is str), None)
            client = value.get("client")
            client = client if type(client) is str and client else CLIENT
            for index, unit in enumerate(units):
                place = where if type(inner) is dict else f"{where}[{index}]"
                yield message_of(unit, line, place, at=at, way=way, client=client)
            return
    if is_unit(value):
        yield message_of(value, line, where)
        return
    options.aside(Aside("no JSON-RPC", line=line, where=where))


def message_of(
    unit: dict[str, Any],
    line: int,
    where: str = "",
    *,
    at: float | None = None,
    way: str | None = None,
    client: str = CLIENT,
) -> Message:
    """One unit as a message.

    Args:
        unit: the JSON-RPC object.
        line: its line from 1.
        where: its place where the line says too little.
        at: when, in seconds since 1970-01-01 UTC.
        way: ``c2s`` or ``s2c``; None: told from the unit.
        client: name of the client's side. Each has a name space of ids of its own.
    """
    push = wire.pushed(unit)
    from_client = "method" in unit and push is None
    if way is not None and (way in _FROM_CLIENT or way in _FROM_SERVER):
        from_client = way in _FROM_CLIENT
    sender, receiver = (client, SERVER) if from_client else (SERVER, client)
    act: str | None
    content_type = task = name = deadline = ident = answered = None
    if push is not None:
        act, content_type, task, name = _of_event(wire.events(push)[0])
    elif type(unit.get("method")) is str:
        what = wire.asked(unit)
        act = _ACT_OF_REQUEST.get(what.op) or ("request" if what.task is None else "inform")
        task, name = what.task, unit["method"]
        deadline = wire.deadline_of(what.deadline, at)
        ident = id_text(unit["id"]) if "id" in unit else None
        if ident is None:
            act = "inform"
    elif "error" in unit:
        act, answered = declared_by_error(error_of(unit)[0])[0], id_text(unit.get("id"))
    elif "result" in unit:
        act, content_type, task, name = _of_event(wire.events(unit["result"])[0])
        answered = id_text(unit.get("id"))
    else:
        act = None
    thread = task if task is not None else f"rpc:{id_text(unit.get('id'))}"
    return Message(
        id=f"{line}{where}" if line else where,
        sender=sender,
        receivers=(receiver,),
        act=act,
        thread=thread,
        protocol="a2a",
        reply_with=ident,
        in_reply_to=answered,
        reply_by=deadline,
        content_type=content_type,
        at=at,
        line=line,
        where=where,
        tag_source=STRUCTURE,
        name=name,
        wire=unit,
    )


def _of_event(event: wire.Event) -> tuple[str, str | None, str | None, str | None]:
    """Act, content type, task, and how the log calls it."""
    if event.kind == wire.ARTIFACT:
        return "inform", "partial", event.task, None
    if event.kind in (wire.TASK, wire.STATUS) and not event.listed:
        act, content_type = _ACT_OF_STATE.get(event.state, ("inform", None))
        return act, content_type, event.task, event.raw if type(event.raw) is str else None
    return "inform", "result", None if event.listed else event.task, None


def is_unit(value: dict[str, Any]) -> bool:
    """Whether an object is one of JSON-RPC, or what a server pushes to a client's address."""
    if "jsonrpc" in value or ("id" in value and ("method" in value or "result" in value or "error" in value)):
        return True
    return wire.pushed(value) is not None


def _decoded(raw: bytes) -> tuple[Any] | None:
    try:
        return (decode(raw),)
    except ValueError:
        return None


def _why(line: bytes) -> str:
    try:
        msgspec.json.decode(line)
    except UnicodeError:
        return "The line is not UTF-8."
    except RecursionError:
        return "The line is nested deeper than any message."
    except msgspec.DecodeError as error:
        if "UTF-8" in str(error) or "utf-8" in str(error):
            return "The line is not UTF-8."
        cut = line[:1] == b"{" and not line.endswith(b"}")
        return f"The line breaks off: {error}." if cut else f"The line is no JSON: {error}."
    return "The line is no JSON."


def _refused(source: Source, options: Options, line: int, why: str, where: str = "") -> Iterator[Skipped]:
    if not options.lenient:
        raise source.wrong(line, f"{where}: {why}" if where else why)
    yield Skipped(line, why, where)


def _recognise(source: Source) -> float:
    """A method or an answer that only A2A has makes it sure; JSON-RPC that could be anything's is a weak sign."""
    weak = 0.0
    for unit in _first_units(source):
        method = unit.get("method")
        if type(method) is str:
            if method in wire.METHODS and method not in _BOTH:
                return 0.97
            if method in _BOTH and type(unit.get("params")) is dict and "taskId" not in unit["params"]:
                weak = max(weak, 0.6)
            elif method not in _BOTH and "jsonrpc" in unit and wire.pushed(unit) is None:
                return 0.0  # another protocol on JSON-RPC
        result = wire.pushed(unit) if "method" in unit or "result" not in unit else unit["result"]
        found = wire.events(result)[0] if result is not None else None
        if found is not None and found.task is not None and found.kind in (wire.TASK, wire.STATUS, wire.ARTIFACT):
            return 0.95
        if found is not None and found.kind == wire.MESSAGE and found.version is not None:
            weak = max(weak, 0.7)
        if "jsonrpc" in unit:
            weak = max(weak, 0.2)
    return weak


def _first_units(source: Source) -> Iterable[dict[str, Any]]:
    """Units at the beginning of a log, as far as they can be read."""
    head = source.head().removeprefix(b"\xef\xbb\xbf")
    if head.lstrip()[:1] not in (b"{", b"[", b"d", b"e", b":", b"i", b"r"):
        return
    values: list[Any] = []
    for line in head.split(b"\n")[:_LOOKED_AT]:
        value = _decoded(line.strip().removeprefix(b"data:"))
        if value is not None:
            values.append(value[0])
    if not values and b'"jsonrpc"' in head:
        try:
            values = [source.document()]
        except LogError:
            values = [entry.value for entry in _some(source)]
    quiet = Options(lenient=True)
    for value in values:
        for item in _messages(source, quiet, 0, "", value):
            if isinstance(item, Message) and type(item.wire) is dict:
                yield item.wire


def _some(source: Source) -> Iterator[Entry]:
    for count, entry in enumerate(entries(source, Options(lenient=True))):
        if count >= _LOOKED_AT:
            return
        if isinstance(entry, Entry):
            yield entry


READER = Reader(
    ids="line",
    name="a2a",
    title="A2A traffic on JSON-RPC, 0.3 and 1.0",
    recognise=_recognise,
    read=read,
    looks_for='JSON-RPC with "message/send", "SendMessage" or an A2A task',
    mapping={
        "SendMessage, message/send, or streaming": "request; with a task id: inform. An answer is owed either way",
        "CancelTask, tasks/cancel": "cancel",
        "GetTask, ListTasks, tasks/get, tasks/list": "query-ref",
        "SubscribeToTask, tasks/resubscribe": "subscribe",
        "submitted": "inform (acknowledged): nothing is promised, the answer stays owed",
        "working": "agree",
        "input-required, auth-required": "query-ref to the client, who owes input or authorization",
        "completed": "inform",
        "failed": "failure",
        "rejected": "refuse",
        "canceled": "inform (cancelled)",
        "artifact": "inform (partial)",
        "a message of the server": "inform",
        "error -32603": "failure",
        "error -32700, -32600 to -32602, -32005": "not-understood",
        "other errors": "refuse",
        "thread": "the task's id; until it is known, rpc: and the request's id",
        '"client" in an envelope': "name of the client's side, where several ask under the same ids",
        f'metadata["{wire.DEADLINE}"]': "deadline of the answer and of the task",
    },
    cannot_tell=(
        "A log of A2A does not show what was said on other connections to the same server.",
        "A2A has no field for deadlines: without one in the metadata, what is open is pending and never violated.",
    ),
)
