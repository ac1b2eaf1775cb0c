"""LangChain and LangGraph: dumps of messages, of states and checkpoints, of streams.

Three shapes of one message: the constructor that ``dumps`` writes (``lc``, ``id``, ``kwargs``), ``messages_to_dict``
(``type``, ``data``), and the plain fields. Dumps of states repeat what was said before in every snapshot: a message is
read once, by its id, or by its place where it has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.readers import documents
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.chat_items import (
    Call,
    Nothing,
    Part,
    Result,
    Text,
    calls_of,
    has_failed,
    is_entry,
    parts_of,
)
from dissensus.say.readers.chatting import Chat
from dissensus.say.readers.times import seconds

_KINDS: Final = {
    "human": "user", "ai": "assistant", "tool": "tool", "system": "system", "function": "tool", "chat": "chat",
    "developer": "system", "remove": "remove",
}  # fmt: skip
"""Types of messages, without ``Message`` and ``Chunk``, and the role of each."""
_STATES: Final = frozenset(
    {
        "channel_values", "checkpoint", "chunk", "data", "delta", "event", "generation", "generations", "input",
        "inputs", "kwargs", "message", "messages", "output", "outputs", "result", "results", "state", "states", "value",
        "values", "writes",
    }
)  # fmt: skip
"""Keys above messages that name no node of a graph."""
_SKIPPED: Final = frozenset({"additional_kwargs", "response_metadata", "usage_metadata", "tool_calls", "metadata"})
_DEEPEST: Final = 12
_LISTS: Final = frozenset({"messages"})

Path = tuple[str | int, ...]


def _fields(value: Any) -> tuple[str, dict[str, Any]] | None:
    """Role and fields of a message in any of its shapes; None if it is none."""
    if not isinstance(value, dict):
        return None
    kind, fields = value.get("type"), value
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        path = value.get("id")
        kind = path[-1] if isinstance(path, list) and path else None
        fields = value["kwargs"]
    elif isinstance(value.get("data"), dict):
        fields = value["data"]
    elif "content" not in value and "tool_calls" not in value and kind != "remove":
        return None
    if not isinstance(kind, str):
        return None
    plain = kind.removesuffix("Chunk").removesuffix("Message")
    role = _KINDS.get(plain.lower())
    if role is None or (plain != plain.lower() and plain == kind):
        return None
    if role == "chat":
        role = fields.get("role") if isinstance(fields.get("role"), str) else "chat"
    return str(role), fields


def _is_message(value: Any) -> bool:
    return _fields(value) is not None


def _parts(value: dict[str, Any], agent: str) -> tuple[list[Part], str | None]:
    """What a message says, and the agent who says it, if one does. Raises ValueError where it is none."""
    found = _fields(value)
    if found is None and not is_entry(value):
        raise ValueError("This is no message.")
    if found is None:  # states may hold messages as chat interfaces have them
        parts = parts_of(value)
        named = value.get("name")
        by_agent = value.get("role") == "assistant"
        return parts, (named if isinstance(named, str) and named else agent) if by_agent else None
    role, fields = found
    content = fields.get("content")
    if role == "remove":
        return [Nothing("removal of a message")], None
    name = fields.get("name") if isinstance(fields.get("name"), str) and fields.get("name") else None
    if role == "tool":
        call_id = fields.get("tool_call_id")
        return [Result(call_id if isinstance(call_id, str) else None, name, content, has_failed(fields, content))], None
    if role != "assistant":
        return [Text("user" if role == "user" else "system", name or {"user": "human"}.get(role, role), content)], None
    calls: list[Part] = [*calls_of(fields)]
    invalid = fields.get("invalid_tool_calls")
    for call in invalid if isinstance(invalid, list) else ():
        if isinstance(call, dict):  # asked for all the same: nobody can have answered it
            identity, tool = call.get("id"), call.get("name")
            tool = tool if isinstance(tool, str) and tool else "invalid tool call"
            calls.append(Call(identity if isinstance(identity, str) else None, tool, call.get("args")))
    extra = fields.get("additional_kwargs")
    if not calls and isinstance(extra, dict):
        calls.extend(calls_of(extra))
    if not calls and isinstance(content, list):
        blocks = parts_of({"role": "assistant", "content": content})
        calls.extend(part for part in blocks if isinstance(part, Call))
    said = content
    if isinstance(content, list):  # blocks of calls are listed as calls already
        said = [block for block in content if not (isinstance(block, dict) and block.get("type") == "tool_use")]
    speaker = name or agent
    return ([Text("assistant", speaker, said)] if said or not calls else []) + calls, speaker


def _found(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Paths of lists of messages and of single ones, in their order, and the node of the graph that each is from."""
    if len(path) > _DEEPEST:
        return
    if _is_message(value):
        yield path, _node(path)
    elif isinstance(value, list):
        if any(_is_message(inner) for inner in value):
            pair = len(value) == 2 and isinstance(value[1], dict) and "langgraph_node" in value[1]
            yield ((*path, 0), str(value[1]["langgraph_node"])) if pair else (path, _node(path))
            return
        for at, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from _found(inner, (*path, at))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, (dict, list)) and key not in _SKIPPED:
                yield from _found(inner, (*path, key))


def _node(path: Path) -> str:
    """The node that wrote messages, where a stream of updates names it: ``{"planner": {"messages": …}}``."""
    names = [step for step in path if isinstance(step, str) and step not in _STATES and not step.startswith("__")]
    return names[-1].split(":")[0] if names and path and "messages" in path[-2:] else "ai"


class _Thread:
    """One thread of a graph: its conversation, and what of it was read already."""

    def __init__(self, prefix: str) -> None:
        self.chat = Chat(prefix, assistant="ai", user="human")
        self.ids: dict[str, set[str]] = {}
        self.nameless: list[Any] = []

    def repeated(self, values: list[Any]) -> int:
        """How many messages at the beginning of a list stood, without ids, in the list before."""
        common = 0
        for old, new in zip(self.nameless, values, strict=False):
            if old != new:
                break
            common += 1
        return common if common in (len(values), len(self.nameless)) else 0

    def fresh(self, value: Any, parts: list[Part]) -> list[Part]:
        """Of what a message says, what was not read yet; a stream may bring one message in pieces, or grown."""
        found = _fields(value)
        name = (found[1] if found else value).get("id")
        if not isinstance(name, str) or not name:
            return parts
        known = self.ids.get(name)
        calls = {part.id for part in parts if isinstance(part, Call) and part.id}
        self.ids[name] = (known or set()) | calls
        return (
            parts if known is None else [part for part in parts if isinstance(part, Call) and part.id in calls - known]
        )


class _Dump:
    """All threads of one file."""

    def __init__(self, source: Source, options: Options) -> None:
        self.source = source
        self.options = options
        self.threads: dict[Any, _Thread] = {}
        self.made = 0

    def thread_for(self, value: Any, values: list[Any]) -> _Thread:
        """The thread that a list of messages continues: the one that its record names, else the last, or a new one."""
        key = _thread_of(value)
        thread = self.threads.get(key)
        if thread is None or (key is None and self._begins_anew(thread, values)):
            thread = self.threads[key] = _Thread(f"r{self.made}:" if self.made else "")
            self.made += 1
        return thread

    @staticmethod
    def _begins_anew(thread: _Thread, values: list[Any]) -> bool:
        first = _fields(values[0]) if values else None
        if len(values) < 2 or first is None or first[0] not in ("user", "system") or thread.repeated(values):
            return False
        names = {found[1].get("id") for inner in values if (found := _fields(inner)) is not None}
        return not any(isinstance(name, str) and name in thread.ids for name in names)

    def read(self, record: Any, path: Path, node: str, listed: list[tuple[int, Any]], at: Path = ()) -> Iterator[Item]:
        """The messages of the list at ``path`` in a record, or the one message there; ``at`` is the record's place."""
        values = [inner for _, inner in listed]
        thread = self.thread_for(record, values)
        skip = thread.repeated(values) if len(values) > 1 else 0
        time = None if any(step in ("values", "channel_values") for step in path) else _time_of(record)
        single = _is_message(_at(record, path))
        for number, (line, inner) in enumerate(listed):
            where = _written((*at, *path) if single else (*at, *path, number))
            try:
                parts, speaker = _parts(inner, node) if number >= skip else ([], None)
            except ValueError as error:
                thread.chat.count += 1
                yield documents.bad(self.source, self.options, line, str(error), where)
                continue
            fresh = thread.fresh(inner, parts) if number >= skip else []
            for item in thread.chat.turn(fresh or [Nothing("repeated")], speaker, line=line, where=where, at=time):
                if isinstance(item, Aside):
                    self.options.aside(item)
                else:
                    yield item
        if len(values) > 1 and (not skip or len(values) >= len(thread.nameless)):
            thread.nameless = values


def _thread_of(record: Any) -> str | None:
    """The thread that a record names: ``thread_id``, or that in its ``config`` or ``metadata``."""
    if not isinstance(record, dict):
        return None
    around = [record, *(record.get(key) for key in ("config", "metadata", "configurable"))]
    around += [holder.get("configurable") for holder in around if isinstance(holder, dict)]
    names = (holder.get("thread_id") for holder in around if isinstance(holder, dict))
    return next((name for name in names if isinstance(name, str) and name), None)


def _time_of(record: Any) -> float | None:
    if not isinstance(record, dict):
        return None
    return next((at for key in ("ts", "created_at", "timestamp") if (at := seconds(record.get(key))) is not None), None)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _written(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _recognise(source: Source) -> float:
    lined, values = documents.beginning(source)
    if any(isinstance(value, dict) and any(key in value for key in _OTHERS) for value in values):
        return 0.0
    best = 0.0
    for value in values[:16] if lined else values:
        for inner in documents.find(value):
            found = _fields(inner)
            if found is None:
                continue
            if inner.get("lc") == 1 or "tool_calls" in found[1] or "additional_kwargs" in found[1]:
                return 0.9
            best = max(best, 0.7 if found[0] in ("user", "assistant") else 0.2)
    return best


_OTHERS: Final = ("jsonrpc", "resourceSpans", "run_type", "act", "traj")
"""Keys of other formats that may hold such messages inside."""


def _read(source: Source, options: Options) -> Iterator[Item]:
    dump = _Dump(source, options)
    if documents.is_lines(source):
        for item in documents.json_lines(source, options):
            if isinstance(item, Skipped):
                yield item
                continue
            line, value = item
            found = list(_found(value))
            if not found:
                options.aside(Aside("no messages", line))
            for path, node in found:
                inner = _at(value, path)
                listed = [inner] if _is_message(inner) else inner
                yield from dump.read(value, path, node, [(line, one) for one in listed])
        return
    document = documents.Document(source, options, _LISTS)
    records = document.value if isinstance(document.value, list) and not any(map(_is_message, document.value)) else None
    some = False
    for number, record in enumerate(records if records is not None else [document.value]):
        for path, node in _found(record):
            some = True
            inner = _at(record, path)
            whole: Path = (number, *path) if records is not None else path
            listed = [(0, inner)] if _is_message(inner) else list(document.entries(*whole))
            yield from dump.read(record, path, node, listed, whole[: len(whole) - len(path)])
    if not some:
        raise source.wrong(0, "This document holds no LangChain message.")
    if document.cut is not None:
        yield document.cut


READER: Final = Reader(
    name="langchain",
    title="LangChain and LangGraph (messages, states, checkpoints, streams)",
    recognise=_recognise,
    read=_read,
    looks_for='messages with "type": "human", "ai" or "tool", or constructors with "lc": 1',
    mapping={
        "ai with tool_calls": "a request to each tool, in threads of their own; text said with it stays with it",
        "ai with invalid_tool_calls": "the same: it was asked for, and nobody can answer it",
        "tool": "inform to who called; failure with status error or text that begins with Error",
        "human, ai, system without calls": "untagged",
        "a message that stood in an earlier snapshot": "no message; counted as repeated",
        "remove": "no message; counted",
        "name of a message, or the node that wrote it": "the agent's name",
    },
    cannot_tell=(
        "What agents promise or ask in words carries no act; a pattern file (--patterns) can tag it.",
        "A dump of a state has no times: how long a call took is not known.",
    ),
)
