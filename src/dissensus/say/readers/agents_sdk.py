"""Traces of the OpenAI Agents SDK: one JSON object per trace or span, as its processors export them.

A span carries ``object: trace.span``, ids, times, an error and ``span_data`` whose ``type`` says what it is. They come
as lines, as a list, or in the batches that the SDK uploads (``{"data": [...]}``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.entries import Entry, entries, has_keys, has_value, is_json, refuse, table, text
from dissensus.say.readers.span_tree import AGENT, HANDOFF, STEP, TOOL, Span, messages
from dissensus.say.readers.times import seconds

_MODELS: Final = {"generation", "response", "transcription", "speech"}


def _recognise(source: Source) -> float:
    head = source.head()
    if not is_json(head):
        return 0.0
    if has_value(head, "object", r"trace\.span"):
        return 0.97
    return 0.7 if has_value(head, "object", "trace") and has_keys(head, "workflow_name") else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    yield from messages(_spans(source, options), options)


def _spans(source: Source, options: Options) -> Iterator[Span | Skipped]:
    for entry in entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
            continue
        batch = entry.value.get("data") if "object" not in entry.value else None
        if not isinstance(batch, list):
            yield from _span(source, options, entry)
            continue
        for index, item in enumerate(batch):
            where = f"{entry.where}data[{index}]"
            yield from _span(source, options, Entry(entry.line, where, item if isinstance(item, dict) else {}))


def _span(source: Source, options: Options, entry: Entry) -> Iterator[Span | Skipped]:
    value = entry.value
    if value.get("object") == "trace":
        options.aside(Aside("trace", entry.line, entry.where))
        return
    number = text(value.get("id"))
    if value.get("object") != "trace.span" or not number:
        yield refuse(source, options, entry.line, "is no span and no trace of the Agents SDK.", entry.where or "This")
        return
    data, problem = table(value.get("span_data")), value.get("error")
    kind, party = _kind(data)
    yield Span(
        trace=text(value.get("trace_id")),
        id=number,
        parent=text(value.get("parent_id")) or None,
        kind=kind,
        party=party,
        asker=text(data.get("from_agent")) or None if kind == HANDOFF else None,
        start=seconds(value.get("started_at")),
        end=seconds(value.get("ended_at")),
        ended=value.get("ended_at") is not None or bool(problem),
        error=_what_failed(problem),
        asked=data.get("input"),
        answered=data.get("output"),
        label=_label(data),
        line=entry.line,
        where=entry.where,
    )


def _kind(data: dict[str, Any]) -> tuple[str, str]:
    sort = text(data.get("type"))
    if sort == "agent":
        return AGENT, text(data.get("name"), "agent")
    if sort == "function":
        return TOOL, text(data.get("name"), "tool")
    if sort == "mcp_tools":
        return TOOL, text(data.get("server"), "MCP server")
    if sort == "handoff":
        return HANDOFF, text(data.get("to_agent"), "nobody")
    if sort in _MODELS:
        return TOOL, text(data.get("model"), "model")
    return STEP, ""


def _label(data: dict[str, Any]) -> str:
    sort = text(data.get("type"), "span")
    return text(data.get("name"), sort) if sort == "custom" else sort


def _what_failed(problem: Any) -> str | None:
    """The error's message; an empty object is no error."""
    if not problem:
        return None
    return text(table(problem).get("message")) or str(problem)


AGENTS_SDK = Reader(
    name="agents-sdk",
    title="OpenAI Agents SDK traces",
    recognise=_recognise,
    read=_read,
    looks_for='objects with "object": "trace.span"',
    mapping={
        "agent span": "request from the agent above it (a root: from the user, outside) at its start; inform at its "
        "end, failure if it has an error, nothing if it has no end",
        "function span, mcp_tools span": "tool-call: request to the tool or server, and its result",
        "generation, response, transcription, speech span": "tool-call to the model",
        "handoff span": "hand-off: request from from_agent to to_agent; the next agent span of to_agent is its agree, "
        "and that span's end its inform or failure; an error of the hand-off itself is a refuse",
        "task, turn, guardrail, custom span; trace": "no message: counted as asides",
    },
    cannot_tell=(
        "Spans of agents carry no text: what an agent was asked and what it answered is not in such a trace.",
        "A span that was never exported, because the program died, leaves no line: what was open then is missing here.",
        "Whether the user accepted the last answer is not in a trace.",
    ),
)
