"""Logs of MCP traffic: JSON-RPC units, bare or in envelopes, one a line or in one document, and text logs of clients.

An envelope says who spoke and when: ``{"dir": "c2s", "at": …, "rpc": {…}}``, or under other names that are in use. Of a
bare unit the side is told by :mod:`~dissensus.say.readers.mcp_sides`. A text log names it in each line
(:mod:`~dissensus.say.readers.mcp_text`). Whether a unit was legal is for
:class:`~dissensus.say.wire.mcp.MCPTracker` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from dissensus.say.message import STRUCTURE, Message
from dissensus.say.readers.base import HEAD, Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.decoding import decode
from dissensus.say.readers.documents import Document, bad, beginning, is_lines, json_lines
from dissensus.say.readers.mcp_sides import Sides
from dissensus.say.readers.mcp_text import Said, looks_like_text_log, said
from dissensus.say.readers.server_sent import first_values, has_events, in_events
from dissensus.say.readers.times import seconds
from dissensus.say.wire.jsonrpc import CLIENT, MALFORMED, NOTIFICATION, REQUEST, SERVER, id_text, kind_of
from dissensus.say.wire.mcp_acts import TELLING, act_of_answer, act_of_notification, act_of_request
from dissensus.say.wire.mcp_objects import UNCLASSIFIED, classify, load_object
from dissensus.say.wire.mcp_versions import section, version_in

_INSIDE: Final = ("rpc", "message", "payload", "frame", "body", "data", "raw", "json", "msg", "content")
_ENVELOPES: Final = frozenset(_INSIDE)
_LONGEST_WAY: Final = 40
_WAYS: Final = ("dir", "direction", "from", "sender", "source", "side", "type", "kind")
_TIMES: Final = ("at", "timestamp", "ts", "time", "date")
_SESSIONS: Final = ("session", "sessionId", "session_id", "connection", "connectionId", "conn")
_LISTS: Final = frozenset({"messages", "entries", "log", "events", "frames", "history", "records"})
_FROM_CLIENT: Final = frozenset(
    {"c2s", "client-to-server", "client->server", "client→server", "client", "to-server", "host"}
)
_FROM_SERVER: Final = frozenset({"s2c", "server-to-client", "server->client", "server→client", "server", "to-client"})
_SENT: Final = frozenset({"send", "sent", "out", "outgoing", "outbound", "tx", "->"})
_RECEIVED: Final = frozenset({"recv", "receive", "received", "in", "incoming", "inbound", "rx", "<-"})
_NOT_MCP: Final = "This is neither a JSON-RPC message nor an envelope of one."
_SURE, _LIKELY, _MAYBE, _SINGLE = 0.96, 0.9, 0.55, 0.5
"""``_SINGLE``: the file is one object that occurs in MCP; every reader that sees more in it goes first."""
_FIELDS: Final = frozenset({"id", "method", "params", "result", "error"})
_OTHER: Final = {CLIENT: SERVER, SERVER: CLIENT}


class Envelope(NamedTuple):
    """One or more units, and what stands around them."""

    units: list[Any]
    way: str
    at: float | None
    session: str


class _Writer:
    """Turns units into messages. One for each log."""

    def __init__(self) -> None:
        self.sides: dict[str, Sides] = {}
        self.logs_client: bool | None = None
        """Whether "sent" means sent by the client; told by the first unit whose sender its method tells."""

    def messages(self, place: tuple[int, str], envelope: Envelope, *, server: str = "") -> Iterator[Message]:
        line, where = place
        for index, rpc in enumerate(envelope.units):
            spot = where if len(envelope.units) == 1 else f"{where}[{index}]"
            yield self._message(line, spot, rpc, envelope, server or envelope.session)

    def _message(self, line: int, where: str, rpc: Any, envelope: Envelope, party: str) -> Message:
        sides = self.sides.setdefault(party, Sides())
        unit = rpc if type(rpc) is dict else {}
        side = self._side(sides, unit, envelope.way)
        at = f"@{party}" if party else ""
        thread, method = sides.note(side, unit, at)
        kind = kind_of(rpc)
        name: str | None = None
        content_type: str | None = None
        act: str | None
        if kind is REQUEST:
            name = unit["method"]
            act = act_of_request(unit["method"])
        elif kind is NOTIFICATION:
            name = unit["method"]
            act, content_type = act_of_notification(unit["method"], section(unit, "params"))
        elif kind is MALFORMED:
            act, thread = None, None
        else:
            act, content_type = act_of_answer(method, unit)
        ident = id_text(unit["id"]) if "id" in unit else None
        parties = {CLIENT: CLIENT, SERVER: party or SERVER}
        return Message(
            id=f"{line}{where}" if line else where or "1",
            sender=parties[side],
            receivers=(parties[_OTHER[side]],),
            act=act,
            thread=thread,
            protocol="mcp",
            reply_with=ident if kind is REQUEST else None,
            in_reply_to=ident if kind not in (REQUEST, NOTIFICATION, MALFORMED) else None,
            content_type=content_type,
            at=envelope.at,
            line=line,
            where=where,
            tag_source=STRUCTURE,
            name=name,
            wire=rpc,
        )

    def _side(self, sides: Sides, unit: dict[str, Any], way: str) -> str:
        if way in _FROM_CLIENT:
            return CLIENT
        if way in _FROM_SERVER:
            return SERVER
        told = sides.sender(unit)
        sent = True if way in _SENT else False if way in _RECEIVED else None
        if sent is None:
            return told
        method = unit.get("method")
        if self.logs_client is None and type(method) is str and method in TELLING:
            self.logs_client = sent == (told == CLIENT)
        return told if self.logs_client is None else CLIENT if sent == self.logs_client else SERVER


def _opened(value: Any) -> Envelope | None:
    """The units in a value: itself, those of a batch, or what an envelope holds; None if there are none."""
    if _is_batch(value):
        return Envelope(value, "", None, "")
    if type(value) is not dict:
        return None
    if _is_unit(value):
        return Envelope([value], "", None, "")
    found = _ENVELOPES.intersection(value)
    if not found:
        return None
    way = _first_way(value)
    for key in _INSIDE:
        if key not in found:
            continue
        inner = value[key]
        if type(inner) is str and inner[:1] in ("{", "["):
            try:
                inner = decode(inner.encode("utf-8", "replace"))
            except ValueError:
                continue
        if (type(inner) is dict and (_is_unit(inner) or (key == "rpc" and way))) or _is_batch(inner):
            units = inner if type(inner) is list else [inner]
            return Envelope(units, way, _time(value), _session(value))
    return None


def _first_way(value: dict[str, Any]) -> str:
    for key in _WAYS:
        if key in value and (way := _way(value[key])) in _KNOWN_WAYS:
            return way
    return ""


def _time(value: dict[str, Any]) -> float | None:
    for key in _TIMES:
        if key in value and (at := seconds(value[key])) is not None:
            return at
    return None


def _session(value: dict[str, Any]) -> str:
    for key in _SESSIONS:
        if key in value and type(value[key]) in (str, int):
            return str(value[key])
    return ""


_KNOWN_WAYS: Final = _FROM_CLIENT | _FROM_SERVER | _SENT | _RECEIVED


def _way(value: Any) -> str:
    return _plain(value) if type(value) is str and len(value) < _LONGEST_WAY else ""


@lru_cache(maxsize=256)
def _plain(way: str) -> str:
    return way.strip().lower().replace("_", "-").replace(" ", "")


def _is_unit(value: Any) -> bool:
    if type(value) is not dict or kind_of(value) is MALFORMED:
        return False
    return "jsonrpc" in value or ("id" in value and not value.keys() - _FIELDS)


def _is_batch(value: Any) -> bool:
    return type(value) is list and bool(value) and all(_is_unit(inner) for inner in value)


def read(source: Source, options: Options) -> Iterator[Item]:
    """One message for each JSON-RPC unit of the log.

    Raises:
        LogError: a line or an entry holds no unit, and reading is not lenient.
    """
    writer = _Writer()
    if has_events(source.head()):
        for entry in in_events(source, options):
            if isinstance(entry, Skipped):
                yield entry
            else:
                yield from _of_value(writer, source, options, (entry[0], ""), entry[1])
    elif _is_text(source):
        for spoken in said(source, options):
            if isinstance(spoken, Skipped):
                yield spoken
            else:
                yield from _of_text(writer, source, options, spoken)
    elif is_lines(source):
        for entry in json_lines(source, options):
            if isinstance(entry, Skipped):
                yield entry
            else:
                yield from _of_value(writer, source, options, (entry[0], ""), entry[1])
    else:
        yield from _of_document(writer, source, options)


def _is_text(source: Source) -> bool:
    return source.head().lstrip()[:1] not in (b"{", b"[") or (
        not beginning(source)[1] and looks_like_text_log(source.head().decode("utf-8", "replace"))
    )


def _of_text(writer: _Writer, source: Source, options: Options, spoken: Said) -> Iterator[Item]:
    opened = _opened(spoken.value)
    if opened is None:
        yield bad(source, options, spoken.line, _NOT_MCP)
        return
    envelope = Envelope(opened.units, spoken.side or "", spoken.at, "")
    yield from writer.messages((spoken.line, ""), envelope, server=spoken.server)


def _of_value(writer: _Writer, source: Source, options: Options, place: tuple[int, str], value: Any) -> Iterator[Item]:
    envelope = _opened(value)
    if envelope is not None:
        yield from writer.messages(place, envelope)
    elif type(value) is dict and not place[1] and _single(source) is not None:
        thing = load_object("", value, path=source.name, line=place[0])
        if isinstance(thing, Message):
            yield thing
        else:
            options.aside(Aside(f"an object of MCP: {thing.kind}", *place))
    else:
        yield bad(source, options, place[0], _NOT_MCP, place[1])


def _single(source: Source) -> dict[str, Any] | None:
    """The object that the whole file is, as the examples of the schema are; None if it is something else."""
    head = source.head()
    if len(head) >= HEAD:
        return None
    try:
        value = decode(head)
    except ValueError:
        return None
    return value if type(value) is dict else None


def _of_document(writer: _Writer, source: Source, options: Options) -> Iterator[Item]:
    document = Document(source, options, _LISTS)
    value = document.value
    if type(value) is list:
        for index, (line, entry) in enumerate(document.entries()):
            yield from _of_value(writer, source, options, (line, f"[{index}]"), entry)
    else:
        key = _list_of(value)
        if key is None:
            yield from _of_value(writer, source, options, (1, ""), value)
        else:
            for index, (line, entry) in enumerate(document.entries(key)):
                yield from _of_value(writer, source, options, (line, f"{key}[{index}]"), entry)
    if document.cut is not None:
        yield document.cut


def _list_of(value: Any) -> str | None:
    """The key under which a document holds its entries, if it does."""
    if type(value) is not dict or _opened(value) is not None:
        return None
    for key in sorted(_LISTS & value.keys()):
        if type(value[key]) is list and any(_opened(entry) is not None for entry in value[key]):
            return key
    return None


def _recognise(source: Source) -> float:
    """A method or an answer that only MCP has makes it sure; JSON-RPC that could be anything's is a weak sign."""
    text = source.head().decode("utf-8", "replace")
    best = 0.0
    if text.lstrip()[:1] not in ("{", "["):
        if not has_events(source.head()):
            return _LIKELY if looks_like_text_log(text) else 0.0
        values = tuple(first_values(source.head()))
    else:
        values = beginning(source)[1]
    single = _single(source)
    if single is not None:
        kind = classify(single)[0]
        told = kind not in (UNCLASSIFIED, REQUEST, NOTIFICATION)
        best = _likeness(single) if "method" in single else _SINGLE if told else 0.0
    for value in _first(values):
        envelope = _opened(value)
        for rpc in envelope.units if envelope is not None else ():
            best = max(best, _likeness(rpc))
    return best


def _first(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if type(value) is list and not _is_batch(value):
            yield from value[:64]
        elif type(value) is dict and _opened(value) is None:
            for key in _LISTS:
                if type(value.get(key)) is list:
                    yield from value[key][:64]
        else:
            yield value


def _likeness(rpc: Any) -> float:
    if type(rpc) is not dict:
        return 0.0
    method = rpc.get("method")
    if type(method) is str:
        if method in TELLING or version_in(rpc) is not None:
            return _SURE
        if method.startswith("tasks/") and "taskId" in section(rpc, "params"):
            return _LIKELY
        return _MAYBE if method == "ping" else 0.2
    result = section(rpc, "result")
    if "resultType" in result or {"protocolVersion", "serverInfo"} <= result.keys():
        return _SURE
    if any(type(result.get(key)) is list for key in ("tools", "prompts", "resources", "resourceTemplates", "content")):
        return _LIKELY
    if type(result.get("taskId")) is str or type(section(result, "task").get("taskId")) is str:
        return _LIKELY
    return 0.2 if "jsonrpc" in rpc else 0.0


READER = Reader(
    ids="line",
    name="mcp",
    title="MCP traffic on JSON-RPC, 2025-06-18, 2025-11-25 and 2026-07-28",
    recognise=_recognise,
    read=read,
    looks_for='JSON-RPC with "initialize", "tools/call" or another method of MCP, or lines "Message from client: {…}"',
    mapping={
        "request": "request; elicitation/create: query-ref; tasks/cancel: cancel; subscribing: subscribe",
        "result": "inform; isError: failure; a task: agree; input_required: query-ref",
        "elicitation declined or cancelled": "refuse",
        "error -32603": "failure",
        "error -32700, -32600 to -32602": "not-understood",
        "other errors": "refuse",
        "notifications/progress": "inform (partial)",
        "notifications/cancelled": "cancel",
        "status of a task": "working: inform (partial); input_required: query-ref; completed: inform; failed: failure",
        "thread": "rpc:c:ID and rpc:s:ID for requests of client and server, the task's id, chain:ID if repeated",
        "several servers, or sessions, in one log": "their name after an @",
    },
    cannot_tell=(
        "Who sent a line that does not say so is told by its method or by what it refers to; for ping it is guessed.",
        "Closing an HTTP stream cancels a request, and no log of messages shows that.",
        "How long a task is kept (ttl) is a policy of its owner: past it a task is expired, and no promise is broken.",
    ),
)
