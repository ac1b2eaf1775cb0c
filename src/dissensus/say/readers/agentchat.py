"""Messages of AutoGen AgentChat: streams, task results, saved states.

Each has a ``type`` and a ``source``. Tool calls are paired by their ids, hand-offs and requests for input are typed.
Who answers a hand-off or a request for input is not written down: it is who speaks next, and is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dissensus.say.message import INFERRED, STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.calls import Calls
from dissensus.say.readers.entries import Entry, entries, has_keys, has_value, is_json, refuse, rows, table, text
from dissensus.say.readers.times import seconds

PERSON: Final = "user"
"""Who is asked for input."""
_SPEECH: Final = frozenset(
    {"TextMessage", "MultiModalMessage", "StopMessage", "ToolCallSummaryMessage", "StructuredMessage", "HandoffMessage"}
)
_CALLS: Final = frozenset({"ToolCallRequestEvent", "AssistantMessage"})
_RESULTS: Final = frozenset({"ToolCallExecutionEvent", "FunctionExecutionResultMessage"})
_INNER: Final = frozenset(
    {
        "CodeExecutionEvent",
        "CodeGenerationEvent",
        "MemoryQueryEvent",
        "ModelClientStreamingChunkEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
        "SystemMessage",
        "ThoughtEvent",
    }
)
_KNOWN: Final = "|".join(sorted((_SPEECH | _CALLS | _RESULTS | _INNER) - {"AssistantMessage", "SystemMessage"}))
_DEEPEST: Final = 8


def _recognise(source: Source) -> float:
    head = source.head()
    if not is_json(head) or has_keys(head, "delivery_stage"):
        return 0.0
    if has_keys(head, "source") and has_value(head, "type", f'(?:{_KNOWN}|UserInputRequestedEvent)(?:\\[[^"]*\\])?'):
        return 0.95
    if has_keys(head, "message_thread") or (has_keys(head, "agent_states") and has_value(head, "type", "TeamState")):
        return 0.9
    return 0.85 if has_keys(head, "llm_context") and has_value(head, "type", "AssistantAgentState") else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    team = _Team(options)
    for entry in entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
            continue
        found = list(_messages(entry.value, entry.where))
        repeated = team.is_repeated(entry.value, [value for _, value, _ in found])
        if not found:
            if "messages" in entry.value or "message_thread" in entry.value or "type" in entry.value:
                options.aside(Aside(text(entry.value.get("type"), "empty"), entry.line, entry.where))
            else:
                yield refuse(
                    source, options, entry.line, "is no message of AgentChat and holds none.", entry.where or "This"
                )
        for where, value, agent in found:
            if repeated:
                options.aside(Aside("message repeated in the task's result", entry.line, where))
            elif not isinstance(value, dict):
                yield refuse(source, options, entry.line, "is no message.", where)
            else:
                yield from team.message(Entry(entry.line, where, value), agent)


def _messages(value: dict[str, Any], where: str) -> Iterator[tuple[str, Any, str]]:
    """Each message in an entry, its place, and the agent whose context it is from ("" if it is from the team's).

    An entry is one message, a response, a task's result, or a saved state.
    """
    if "source" in value and "type" in value:
        yield where, value, ""
        return
    if isinstance(value.get("chat_message"), dict):
        for i, inner in enumerate(rows(value.get("inner_messages"))):
            yield _at(where, f"inner_messages[{i}]"), inner, ""
        yield _at(where, "chat_message"), value["chat_message"], ""
        return
    threads = list(_lists(value, where, ("message_thread",)))
    threads = threads or list(_lists(value, where, ("messages", "llm_messages")))
    for place, messages, agent in threads:
        for i, message in enumerate(messages):
            config = table(message).get("config")  # AutoGen Studio wraps each one
            yield f"{place}[{i}]", config if isinstance(config, dict) else message, agent


def _lists(value: dict[str, Any], where: str, keys: tuple[str, ...]) -> Iterator[tuple[str, list[Any], str]]:
    """The lists under these keys, wherever they are, not inside each other, and the agent whose state they are in."""
    stack: list[tuple[str, dict[str, Any], str, int]] = [(where, value, "", 0)]
    while stack:
        place, here, agent, depth = stack.pop()
        deeper = []
        for key, inner in here.items():
            if key in keys and isinstance(inner, list):
                yield _at(place, key), inner, agent
            elif isinstance(inner, dict) and depth < _DEEPEST:
                owner = key.partition("/")[0] if "agent_state" in inner or "llm_context" in inner else agent
                deeper.append((_at(place, key), inner, owner, depth + 1))
        stack.extend(reversed(deeper))


def _at(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


class _Team:
    """What is under way in a team."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._calls = Calls("call:")
        self._offered: dict[str, list[tuple[str, str]]] = {}
        """Hand-offs by the agent they go to: thread and who hands over."""
        self._taken: dict[str, list[tuple[str, str]]] = {}
        self._asked: dict[str, tuple[str, str | None]] = {}
        """Open requests for input by the agent that asks: thread and request id."""
        self._first: bytes | None = None
        self._count = 0

    def is_repeated(self, value: dict[str, Any], found: list[Any]) -> bool:
        """Whether an entry is the result of a task whose messages were streamed just before it."""
        if not found:
            return False
        result = "messages" in value and "source" not in value
        first, encoded = self._first, msgspec.json.encode(found[0]) if result or self._first is None else b""
        if result:
            self._first = None
            return first == encoded
        self._first = first if first is not None else encoded
        return False

    def message(self, entry: Entry, agent: str) -> Iterator[Message]:
        """The messages that one entry is."""
        self._count += 1
        value = entry.value
        kind, source = text(value.get("type"), "message"), text(value.get("source")) or agent or "assistant"
        number = text(value.get("id")) or f"{entry.line or ''}{entry.where and ':' + entry.where}" or f"{self._count}"
        place: dict[str, Any] = {"line": entry.line, "where": entry.where, "at": seconds(value.get("created_at"))}
        plain = kind.partition("[")[0]
        yield from self._begun(number, source, place)
        content = value.get("content")
        if (
            plain in _CALLS
            and isinstance(content, list)
            and all(isinstance(call, dict) for call in content)
            and content
        ):
            for i, call in enumerate(content):
                tool, call_id = text(call.get("name"), "tool"), text(call.get("id")) or None
                asked = call.get("arguments")
                yield self._calls.call(_part(number, i), source, tool, call_id, asked, name=kind, **place)
        elif (
            plain in _RESULTS
            and isinstance(content, list)
            and all(isinstance(one, dict) for one in content)
            and content
        ):
            for i, result in enumerate(content):
                yield self._calls.result(
                    _part(number, i), text(result.get("name")) or None, text(result.get("call_id")) or None,
                    result.get("content"), failed=_failed(result), caller=source, name=kind, **place,
                )  # fmt: skip
        elif plain == "UserInputRequestedEvent":
            yield self._input(number, source, text(value.get("request_id")) or None, place)
        elif plain in _INNER:
            self._options.aside(Aside(plain, entry.line, entry.where))
        else:
            yield from self._speech(number, source, kind, value, place)

    def _begun(self, number: str, source: str, place: dict[str, Any]) -> Iterator[Message]:
        """Whoever a task was handed to is heard of: it has taken it."""
        for i, (thread, giver) in enumerate(self._offered.pop(source, ())):
            self._taken.setdefault(source, []).append((thread, giver))
            yield Message(
                id=f"{number}.taken{i or ''}", sender=source, receivers=(giver,), act="agree", thread=thread,
                protocol="hand-off", tag_source=INFERRED, **place,
            )  # fmt: skip

    def _input(self, number: str, source: str, request: str | None, place: dict[str, Any]) -> Message:
        thread = f"input:{request or number}"
        self._asked[source] = (thread, request)
        return Message(
            id=number, sender=source, receivers=(PERSON,), act="query-ref", thread=thread, protocol="fipa-query",
            reply_with=request, tag_source=STRUCTURE, name="UserInputRequestedEvent", **place,
        )  # fmt: skip

    def _speech(
        self, number: str, source: str, kind: str, value: dict[str, Any], place: dict[str, Any]
    ) -> Iterator[Message]:
        """Words: the answer to what is open to the speaker, an offer to hand over, or untagged."""
        content = value.get("content")
        answered = False
        if source in self._asked:
            thread, request = self._asked.pop(source)
            answered = True
            yield Message(
                id=number, sender=PERSON, receivers=(source,), act="inform", thread=thread, protocol="fipa-query",
                in_reply_to=request, content=content, content_type="result", tag_source=INFERRED, name=kind, **place,
            )  # fmt: skip
        for i, (thread, giver) in enumerate(self._taken.pop(source, ())):
            answered = True
            yield Message(
                id=f"{number}.done{i or ''}", sender=source, receivers=(giver,), act="inform", thread=thread,
                protocol="hand-off", content=content, content_type="result", tag_source=INFERRED, name=kind, **place,
            )  # fmt: skip
        target = text(value.get("target")) if kind == "HandoffMessage" else ""
        if target:
            thread = f"hand-off:{number}"
            self._offered.setdefault(target, []).append((thread, source))
            yield Message(
                id=f"{number}.offer" if answered else number, sender=source, receivers=(target,), act="request",
                thread=thread, protocol="hand-off", content=content, tag_source=STRUCTURE, name=kind, **place,
            )  # fmt: skip
        elif not answered:
            yield Message(id=number, sender=source, content=content, name=kind, **place)


def _part(number: str, index: int) -> str:
    return number if index == 0 else f"{number}.{index}"


def _failed(result: dict[str, Any]) -> bool:
    """Whether a tool failed; before AutoGen 0.4.6 only the text said so."""
    said = result.get("is_error")
    return said if isinstance(said, bool) else text(result.get("content")).startswith("Error")


READER = Reader(
    name="agentchat",
    title="AutoGen AgentChat messages",
    recognise=_recognise,
    read=_read,
    looks_for='messages with "source" and a "type" such as "TextMessage", or a saved team state',
    mapping={
        "ToolCallRequestEvent": "tool-call: a request to each tool that it calls",
        "ToolCallExecutionEvent": "inform or failure (is_error) of each tool, by call id",
        "HandoffMessage": "hand-off: request to the target; the target's next entry of any kind is its agree and its "
        "next words are its inform, both inferred",
        "UserInputRequestedEvent": "query-ref to the user; the next words of that agent are the answer, inferred",
        "TextMessage and other words": "untagged",
        "thoughts, streaming chunks, code, memory, selection of speakers": "no message: counted as asides",
        "saved states": "the message_thread of the team's manager; without one, the contexts of the agents",
        "TaskResult after its own stream": "counted as asides: the same messages again",
    },
    cannot_tell=(
        "A team is a broadcast: whom words are meant for is not said, so nothing is owed for them.",
        "That whoever a task was handed to spoke does not say that the task was done.",
        "Who is the person that gives input is not said.",
    ),
)
