"""Trajectories of llmcontract: a user, an agent with tools, and what that project's own monitor thought of them.

One record a line, told apart by ``type``. Results follow their calls, paired by name and order. ``monitor`` and
``outcome`` are the opinion of another program: they are counted apart, and no verdict here depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.readers import documents
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.chat_items import Call, Nothing, Part, Result, Text, has_failed
from dissensus.say.readers.chatting import Chat
from dissensus.say.readers.times import seconds

_OPINIONS: Final = {"monitor": "verdict", "outcome": "outcome"}
_OWN: Final = {
    "agent_text": "content", "agent_tool_call": "name", "monitor": "verdict", "outcome": "outcome",
    "tool_result": "name",
}  # fmt: skip
"""Types that only this format has, each with a field that its records carry."""


def _recognise(source: Source) -> float:
    _, values = documents.beginning(source)
    records = [value for value in values if isinstance(value, dict)]
    if any("jsonrpc" in record or "role" in record for record in records):
        return 0.0
    return 0.95 if any(_OWN.get(str(record.get("type")), "") in record for record in records) else 0.0


def _parts(record: dict[str, Any]) -> tuple[list[Part], str | None]:
    """What a record says, and the agent who says it. Raises ValueError where it is no such record."""
    kind = record.get("type")
    if not isinstance(kind, str):
        raise ValueError("A record has to say its type.")  # noqa: TRY004 - a fault of the log
    content = record.get("content")
    if kind in _OPINIONS:
        opinion = record.get(_OPINIONS[kind])
        return [Nothing(f"{kind}: {str(opinion)[:40]}")], None
    if kind == "user":
        return [Text("user", "user", content)], None
    if kind == "agent_text":
        return [Text("assistant", "agent", content)], "agent"
    if kind in ("agent_tool_call", "tool_result"):
        tool, name = record.get("name"), record.get("id", record.get("call_id"))
        if not isinstance(tool, str) or not tool:
            raise ValueError(f"A record of type {kind} has to name its tool.")
        call_id = name if isinstance(name, str) and name else None
        if kind == "agent_tool_call":
            return [Call(call_id, tool, record.get("args"))], "agent"
        return [Result(call_id, tool, content, has_failed(record, content))], None
    return [Nothing(kind[:40])], None


def _read(source: Source, options: Options) -> Iterator[Item]:
    runs = 0
    chat = Chat(assistant="agent")
    for item in documents.json_lines(source, options):
        if isinstance(item, Skipped):
            yield item
            continue
        line, record = item
        try:
            if not isinstance(record, dict):
                raise ValueError("A record has to be a mapping.")  # noqa: TRY004, TRY301 - a fault of the log
            parts, speaker = _parts(record)
        except ValueError as error:
            yield documents.bad(source, options, line, str(error))
            continue
        if record.get("type") == "meta" and chat.count:  # several trajectories in one file
            runs += 1
            chat = Chat(f"r{runs}:", assistant="agent")
        for said in chat.turn(parts, speaker, line=line, at=seconds(record.get("timestamp"))):
            if isinstance(said, Aside):
                options.aside(said)
            else:
                yield said


READER: Final = Reader(
    name="llmcontract",
    title="llmcontract trajectories",
    recognise=_recognise,
    read=_read,
    looks_for='lines with "type": "agent_tool_call", "tool_result" or "agent_text"',
    mapping={
        "agent_tool_call": "request to the tool, in a thread of its own",
        "tool_result": "inform to the agent, or failure if it begins with Error; paired by name and order",
        "user, agent_text": "untagged",
        "monitor, outcome": "no message: another program's opinion; counted with its verdict",
        "meta": "no message; counted. Begins a run",
    },
    cannot_tell=(
        "Calls carry no ids: of two open calls to one tool, the first result is taken for the first call.",
        "Whether the agent kept to the order that the trajectory's own contract wants: that is a protocol to give.",
    ),
)
