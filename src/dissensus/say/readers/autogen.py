"""AutoGen's structured event log (``autogen_core.events``): what its runtime sends, delivers and drops.

A message is logged when it is sent and again when it is delivered. A direct message is a request to the agent that
handles it, its response an inform, an exception in the handler a failure. The log has no ids, so a response answers the
oldest open request between the same two.

The lines come as loggers write them: plain JSON, JSON after a time and a logger's name, or as text inside a JSON
record. Lines of other loggers between them are counted as asides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.say.message import INFERRED, STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.calls import Calls
from dissensus.say.readers.entries import refuse, stamp, table, text
from dissensus.say.readers.times import seconds

PLATFORM: Final = "ams"
"""FIPA's name for the agent that runs a platform: here, AutoGen's runtime."""
OUTSIDE: Final = "user"
"""Who sends where the log says ``null``: the program around the runtime."""
_TYPES: Final = frozenset(
    {
        "Message",
        "MessageDropped",
        "MessageHandlerException",
        "AgentConstructionException",
        "ToolCall",
        "LLMCall",
        "LLMStreamStart",
        "LLMStreamEnd",
    }
)
_SNIFFED: Final = 40
"""Lines of the beginning that are looked at."""


def _event(raw: bytes) -> tuple[dict[str, Any] | None, str, dict[str, Any]]:
    """The event in a line, the text before it, and the JSON record that it was wrapped in."""
    at = raw.find(b"{")
    if at < 0:
        return None, "", {}
    try:
        value = msgspec.json.decode(raw[at:])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None, "", {}
    record = table(value)
    for _ in range(2):
        if not isinstance(value, dict) or text(value.get("type")) in _TYPES:
            break
        inner = next((value[key] for key in ("message", "msg", "event", "log") if value.get(key)), None)
        value = _event(inner.encode("utf-8", "replace"))[0] if isinstance(inner, str) else inner
    found = value if isinstance(value, dict) and text(value.get("type")) in _TYPES else None
    return found, raw[:at].decode("utf-8", "replace"), record


def _is_runtime(event: dict[str, Any] | None) -> bool:
    if event is None:
        return False
    kind = event["type"]
    return ("delivery_stage" in event and "kind" in event) if kind == "Message" else kind not in {"ToolCall", "LLMCall"}


def _recognise(source: Source) -> float:
    head = source.head()
    if b"delivery_stage" not in head and b"handling_agent" not in head:
        return 0.0
    return 0.97 if any(_is_runtime(_event(line)[0]) for line in head.split(b"\n")[:_SNIFFED]) else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    delivered = _delivered(source)
    runtime = _Runtime(options, delivered)
    skipped: list[Skipped] = []
    for line, raw in source.lines(skip=skipped.append if options.lenient else None):
        event, prefix, record = _event(raw)
        if event is not None:
            at = stamp(prefix) if prefix else None
            for key in ("timestamp", "time", "asctime", "created"):
                at = seconds(record.get(key)) if at is None else at
            yield from runtime.event(event, line, at)
        elif b'"delivery_stage' in raw or b'"handling_agent' in raw:
            yield refuse(source, options, line, "this event of AutoGen is no JSON, or is cut off.")
        else:
            options.aside(Aside("line of another logger", line))
    yield from skipped
    yield from runtime.lost()


def _delivered(source: Source) -> frozenset[str]:
    """The kinds of message whose delivery is logged at all."""
    found: set[str] = set()
    for _, raw in source.lines(skip=lambda _: None):
        if b"DELIVER" in raw:
            found |= {kind for kind in ("DIRECT", "RESPOND") if kind.encode() in raw}
            if len(found) == 2:
                break
    return frozenset(found)


@dataclass(slots=True)
class _Direct:
    """A request that is not answered yet."""

    thread: str
    asker: str
    agent: str
    payload: Any


@dataclass(slots=True)
class _Sent:
    """A message that was sent and is not delivered yet."""

    line: int
    thread: str
    payload: Any


class _Runtime:
    """What is under way in one runtime."""

    def __init__(self, options: Options, delivered: frozenset[str]) -> None:
        self._options = options
        self._delivered = delivered
        self._calls = Calls("call:")
        self._open: dict[str, list[_Direct]] = {}
        """By the agent that owes an answer, oldest first."""
        self._sent: dict[tuple[str, str, str], deque[_Sent]] = {}

    def event(self, event: dict[str, Any], line: int, at: float | None) -> Iterator[Message]:
        """The messages that one event is."""
        kind = event["type"]
        if kind == "Message":
            yield from self._message(event, line, at)
        elif kind == "MessageDropped":
            yield self._dropped(event, line, at)
        elif kind == "MessageHandlerException":
            yield self._raised(event, line, at)
        elif kind in {"ToolCall", "LLMCall", "LLMStreamEnd"}:
            yield from self._call(event, line, at)
        else:
            self._options.aside(Aside(kind, line))

    def _message(self, event: dict[str, Any], line: int, at: float | None) -> Iterator[Message]:
        kind = text(event.get("kind")).rpartition(".")[2]
        stage = text(event.get("delivery_stage")).rpartition(".")[2]
        sender, receiver = _party(event.get("sender")), _party(event.get("receiver"))
        key = (kind, sender, receiver)
        if kind not in {"DIRECT", "RESPOND"}:
            if stage == "DELIVER":
                self._options.aside(Aside("delivered to a subscriber", line))
            else:
                yield _plain(event, sender, (receiver,) if event.get("receiver") else (), _place(event, line, at, kind))
            return
        if stage == "SEND":
            sent = _Sent(line, f"direct:{line}", event.get("payload"))
            if kind in self._delivered:
                self._sent.setdefault(key, deque()).append(sent)
            if kind == "RESPOND" and kind in self._delivered:
                self._options.aside(Aside("answer sent", line))
            else:
                yield self._said(kind, event, line, at)
        elif self._arrived(key, event.get("payload")) and kind == "DIRECT":
            self._options.aside(Aside("delivered", line))
        else:
            yield self._said(kind, event, line, at)

    def _arrived(self, key: tuple[str, str, str], payload: Any) -> bool:
        """Whether this delivery is that of a message that was seen when it was sent; it is then no longer under way."""
        waiting = self._sent.get(key)
        if not waiting:
            return False
        index = next((i for i, sent in enumerate(waiting) if sent.payload == payload), 0)
        del waiting[index]
        return True

    def _said(self, kind: str, event: dict[str, Any], line: int, at: float | None) -> Message:
        sender, receiver, payload = _party(event.get("sender")), _party(event.get("receiver")), event.get("payload")
        place = _place(event, line, at, kind)
        if kind == "DIRECT":
            thread = f"direct:{line}"
            self._open.setdefault(receiver, []).append(_Direct(thread, sender, receiver, payload))
            return _tagged("request", thread, (sender, receiver), place, content=payload)
        mine = [direct for direct in self._open.get(sender, ()) if direct.asker == receiver]
        if not mine:
            return _plain(event, sender, (receiver,), place)
        self._open[sender].remove(mine[0])
        sure = STRUCTURE if len(mine) == 1 else INFERRED
        return _tagged("inform", mine[0].thread, (sender, receiver), place, content=payload, tag_source=sure)

    def _raised(self, event: dict[str, Any], line: int, at: float | None) -> Message:
        """A handler raised an exception."""
        agent, place = _party(event.get("handling_agent")), _place(event, line, at)
        mine = [direct for direct in self._open.get(agent, ()) if direct.payload == event.get("payload")]
        if not mine:  # it handled a published message, for which nothing is owed
            return _plain(event, agent, (), place)
        self._open[agent].remove(mine[0])
        return _tagged("failure", mine[0].thread, (agent, mine[0].asker), place, content=event.get("exception"))

    def _dropped(self, event: dict[str, Any], line: int, at: float | None) -> Message:
        """A message was dropped on its way, there or back."""
        sender, receiver, payload = _party(event.get("sender")), _party(event.get("receiver")), event.get("payload")
        kind, place = text(event.get("kind")).rpartition(".")[2], _place(event, line, at)
        self._arrived((kind, sender, receiver), payload)
        agent, asker = (sender, receiver) if kind == "RESPOND" else (receiver, sender)
        mine = [direct for direct in self._open.get(agent, ()) if direct.asker == asker]
        if kind == "DIRECT":
            mine = [direct for direct in mine if direct.payload == payload]
        if not mine or kind not in {"DIRECT", "RESPOND"}:
            return _plain(event, PLATFORM, (), place)
        self._open[agent].remove(mine[0])
        more = {"content": "The message was dropped.", "about": agent}
        return _tagged("failure", mine[0].thread, (PLATFORM, asker), place, **more)

    def _call(self, event: dict[str, Any], line: int, at: float | None) -> Iterator[Message]:
        """A call of a tool or a model, which is logged when it is over."""
        tool = event["type"] == "ToolCall"
        answer = event.get("result" if tool else "response")
        caller = text(event.get("agent_id"), OUTSIDE)
        if answer is None:
            yield _plain(event, caller, (), _place(event, line, at))
            return
        name = text(event.get("tool_name"), "tool") if tool else text(table(answer).get("model"), "model")
        number = text(event.get("call_id")) or None
        asked = event.get("arguments" if tool else "messages")
        place: dict[str, Any] = {"line": line, "at": at, "name": event["type"], "outside": caller == OUTSIDE}
        yield self._calls.call(f"{line}", caller, name, number, asked, **place)
        yield self._calls.result(f"{line}.1", name, number, answer, failed=False, caller=caller, **place)

    def lost(self) -> Iterator[Message]:
        """At the end of the log: what was sent, and of whose delivery nothing was logged."""
        under_way = [(sent, key) for key, waiting in self._sent.items() for sent in waiting]
        for sent, (kind, sender, receiver) in sorted(under_way, key=lambda one: one[0].line):
            yield Message(
                id=f"{sent.line}.lost",
                sender=PLATFORM,
                receivers=(sender,),
                about=receiver,
                content=f"{kind} to {receiver}, sent in line {sent.line}: no delivery in this log",
                content_type="lost",
                line=sent.line,
                name="lost",
            )


def _party(value: Any) -> str:
    return text(value, OUTSIDE)


def _place(event: dict[str, Any], line: int, at: float | None, name: str = "") -> dict[str, Any]:
    return {"id": f"{line}", "line": line, "at": at, "name": name or text(event.get("type"))}


def _plain(event: dict[str, Any], sender: str, receivers: tuple[str, ...], place: dict[str, Any]) -> Message:
    """A message without a tag."""
    content = event.get("payload", event.get("exception", event.get("arguments")))
    return Message(sender=sender, receivers=receivers, content=content, **place)


def _tagged(act: str, thread: str, parties: tuple[str, str], place: dict[str, Any], **more: Any) -> Message:
    return Message(
        sender=parties[0],
        receivers=(parties[1],),
        act=act,
        thread=thread,
        protocol="fipa-request",
        content_type="result" if act == "inform" else None,
        outside=OUTSIDE in parties,
        **{"tag_source": STRUCTURE, **place, **more},
    )


READER = Reader(
    name="autogen",
    title="AutoGen core events",
    recognise=_recognise,
    read=_read,
    looks_for='events with "kind" and "delivery_stage"',
    mapping={
        "DIRECT": "request to the receiver when it is sent (from null: from the user, outside)",
        "RESPOND": "inform when it is delivered, or when it is sent if the log has no deliveries of responses; "
        "inferred where several requests between the same two are open",
        "MessageHandlerException": "failure of the handling agent",
        "MessageDropped": "failure, reported by the platform (ams) about the receiver",
        "SEND without DELIVER": 'at the end of the log a message "lost" without a tag; a request stays pending',
        "PUBLISH": "untagged: whoever publishes asks nobody in particular",
        "ToolCall, LLMCall, LLMStreamEnd": "tool-call: request and result in one",
        "deliveries; other types; lines of other loggers": "no message: counted as asides",
    },
    cannot_tell=(
        "Messages have no ids here: of several requests between the same two, which one a response answers is a guess.",
        "What a subscriber owes for a published message is not said, so nothing is owed for it.",
        "The times that loggers write have no zone; they are taken as UTC.",
    ),
    ids="line",
)
