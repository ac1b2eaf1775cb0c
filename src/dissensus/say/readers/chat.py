"""Chats with tools: OpenAI, Anthropic and Gemini messages, tau-bench runs, requests with their responses.

A call is a request to the tool, its result an inform or a failure; what users and assistants say in words is untagged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.readers import documents
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.chat_items import Call, Result, is_entry, parts_of
from dissensus.say.readers.chatting import Chat
from dissensus.say.readers.times import seconds

_FIRST: Final = (
    "messages", "traj", "trajectory", "conversation", "conversations", "simulations", "items", "contents", "history",
    "input", "request", "body", "kwargs",
)  # fmt: skip
"""Keys that lead to what was said first; the first one there counts."""
_THEN: Final = ("output", "response", "choices")
"""Keys that lead to what was said in answer."""
_WRAPS: Final = ("message", "payload", "item", "msg")
"""Keys under which a line of a transcript keeps its entry."""
_TIMES: Final = ("timestamp", "created_at", "created", "ts", "at")
_SESSIONS: Final = ("session_id", "sessionId", "thread_id", "conversation_id", "run_id")
_LISTS: Final = frozenset((*_FIRST, *_THEN))
_DEEPEST: Final = 6

Path = tuple[str | int, ...]


def _unwrapped(value: Any) -> tuple[float | None, Any]:
    """The time of an entry and the entry itself; lines of transcripts wrap it once or twice."""
    at = None
    for _ in range(3):
        if not isinstance(value, dict):
            break
        for key in _TIMES:
            if at is None and key in value:
                at = seconds(value[key])
        if value.get("role") is not None or is_entry(value):
            break
        inner = next((value[key] for key in _WRAPS if isinstance(value.get(key), dict)), None)
        if inner is None:
            break
        value = inner
    return at, value


def _wraps_entry(value: Any) -> bool:
    return is_entry(value) or (isinstance(value, dict) and any(is_entry(value.get(key)) for key in _WRAPS))


def _chats(value: Any, path: Path = ()) -> list[list[Path]]:
    """The conversations in a value: of each, the paths of its entries, or of the lists that hold them."""
    if len(path) > _DEEPEST:
        return []
    if _wraps_entry(value):
        return [[path]]
    if isinstance(value, list):
        if any(_wraps_entry(inner) for inner in value[:50]):
            return [[path]]
        return [chat for at, inner in enumerate(value) for chat in _chats(inner, (*path, at))]
    if not isinstance(value, dict):
        return []
    found = []
    for keys in (_FIRST, _THEN):
        chats = next((chats for key in keys if key in value and (chats := _chats(value[key], (*path, key)))), None)
        if chats is not None:
            found.append(chats)
    if len(found) == 2 and all(len(chats) == 1 for chats in found):
        return [found[0][0] + found[1][0]]
    return found[0] if found else []


def _written(path: Path) -> str:
    """A path as people write it: ``[3].traj[5]``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _recognise(source: Source) -> float:
    _, values = documents.beginning(source)
    best = 0.0
    for value in values[:16]:
        if isinstance(value, dict) and any(key in value for key in ("jsonrpc", "act", "resourceSpans", "run_type")):
            return 0.0
        for chat in _chats(value)[:4]:
            for path in chat:
                inner = _at(value, path)
                for entry in inner[:50] if isinstance(inner, list) else [inner]:
                    if isinstance(entry, dict) and isinstance(entry.get("content"), dict):
                        return 0.0  # MCP, which has the same blocks in other wrappings
                    best = max(best, _likeness(entry))
    if len(values) == 1 and _wraps_entry(values[0]):  # one entry and no more may be a part of anything
        best = min(best, 0.5)
    return best


def _likeness(entry: Any) -> float:
    if not is_entry(entry):
        entry = next((entry[key] for key in _WRAPS if isinstance(entry, dict) and is_entry(entry.get(key))), None)
        if entry is None:
            return 0.0
    try:
        parts = parts_of(entry)
    except ValueError:
        return 0.3
    return 0.85 if any(isinstance(part, (Call, Result)) for part in parts) else 0.6


def _read(source: Source, options: Options) -> Iterator[Item]:
    made = 0
    sessions: dict[Any, Chat] = {}
    if not documents.is_lines(source):
        document = documents.Document(source, options, _LISTS)
        chats = _chats(document.value)
        if not chats:
            raise source.wrong(0, "This document holds no chat: no list of entries with a role.")
        for number, paths in enumerate(chats):
            chat = Chat(f"r{number}:" if len(chats) > 1 else "")
            for path in paths:
                inner = _at(document.value, path)
                listed = document.entries(*path) if isinstance(inner, list) else iter([(0, inner)])
                for at, (line, entry) in enumerate(listed):
                    where = _written((*path, at) if isinstance(inner, list) else path)
                    yield from _one(chat, entry, line, where, source=source, options=options)
        if document.cut is not None:
            yield document.cut
        return
    for item in documents.json_lines(source, options):
        if isinstance(item, Skipped):
            yield item
            continue
        line, value = item
        chats = [] if _wraps_entry(value) else _chats(value)
        if not chats:
            session = _session(value)
            if session not in sessions:
                sessions[session] = Chat(f"r{made}:" if made else "")
                made += 1
            yield from _one(sessions[session], value, line, "", source=source, options=options)
        for paths in chats:
            chat = Chat(f"r{made}:" if made or len(chats) > 1 else "")
            made += 1
            for path in paths:
                inner = _at(value, path)
                for at, entry in enumerate(inner if isinstance(inner, list) else [inner]):
                    where = _written((*path, at) if isinstance(inner, list) else path)
                    yield from _one(chat, entry, line, where, source=source, options=options)


def _session(value: Any) -> str | int | None:
    """The session that a line of a transcript names."""
    if isinstance(value, dict):
        for key in _SESSIONS:
            name = value.get(key)
            if isinstance(name, (str, int)):
                return name
    return None


def _one(chat: Chat, value: Any, line: int, where: str, *, source: Source, options: Options) -> Iterator[Item]:
    """The messages of one entry."""
    at, entry = _unwrapped(value)
    try:
        if not isinstance(entry, dict):
            raise ValueError("An entry has to be a mapping.")  # noqa: TRY004, TRY301 - a fault of the log
        parts = parts_of(entry)
    except ValueError as error:
        yield documents.bad(source, options, line, str(error), where)
        return
    name = entry.get("name")
    by_agent = entry.get("role") in ("assistant", "model")
    speaker = name if by_agent and isinstance(name, str) else "assistant" if by_agent else None
    for item in chat.turn(parts, speaker, line=line, where=where, at=at):
        if isinstance(item, Aside):
            options.aside(item)
        else:
            yield item


READER: Final = Reader(
    name="openai-chat",
    title="Chats with tools (OpenAI, Anthropic, Gemini, tau-bench)",
    recognise=_recognise,
    read=_read,
    looks_for='entries with a "role" and "content", "tool_calls" or "tool_call_id"; items of type "function_call"',
    mapping={
        "a tool call (tool_calls, function_call, tool_use, functionCall)": (
            "request to the tool, in a thread of its own; text said with it is kept in its content"
        ),
        "a tool's message (role tool or function, function_call_output, tool_result)": "inform to who called",
        "the same with status error, is_error, or text that begins with Error": "failure",
        "a result without an open call": "inform in a thread where it is not legal",
        "an id that comes again after it was answered": "a new request",
        "user, assistant, system text": "untagged",
        "web_search_call and other calls that the server answers itself": "request and inform in one",
        "reasoning, thinking, lines of a transcript that hold no entry": "no message; counted",
    },
    cannot_tell=(
        "What users and assistants promise or ask in words carries no act; a pattern file (--patterns) can tag it.",
        "Whether a result that came is right: only that the tool answered, or said that it failed.",
    ),
)
