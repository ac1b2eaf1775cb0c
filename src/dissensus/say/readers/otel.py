"""OpenTelemetry spans of generative AI: the GenAI conventions, OpenInference, and OpenLLMetry's older attributes.

The same spans come in several wrappers: OTLP/JSON (``resourceSpans``, one document or one a line, as the collector's
file exporter writes them), what the SDKs' console exporters print, and what trace stores give out (flat objects,
``data`` or ``spans`` lists, Jaeger's tags).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.entries import Entry, entries, has_keys, is_json, refuse, rows, table, text
from dissensus.say.readers.otel_shapes import attribute, attributes, is_span, spans_of
from dissensus.say.readers.span_tree import AGENT, STEP, SYSTEM, TOOL, Span, messages
from dissensus.say.readers.times import seconds

_OPERATION, _OPENINFERENCE = "gen_ai.operation.name", "openinference.span.kind"

_OPERATIONS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "invoke_agent": (AGENT, ("gen_ai.agent.name", "gen_ai.agent.id")),
    "invoke_workflow": (AGENT, ("gen_ai.workflow.name",)),
    "execute_tool": (TOOL, ("gen_ai.tool.name",)),
    "chat": (TOOL, ("gen_ai.request.model", "gen_ai.response.model")),
    "generate_content": (TOOL, ("gen_ai.request.model", "gen_ai.response.model")),
    "text_completion": (TOOL, ("gen_ai.request.model", "gen_ai.response.model")),
    "embeddings": (TOOL, ("gen_ai.request.model", "gen_ai.response.model")),
    "retrieval": (TOOL, ("gen_ai.data_source.id",)),
}
"""What an operation is, and the attributes that name who does it. Others (``create_agent``, ``plan``) are inner
steps."""

_KINDS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "AGENT": (AGENT, ("agent.name", "graph.node.id")),
    "CHAIN": (SYSTEM, ()),
    "TOOL": (TOOL, ("tool.name",)),
    "LLM": (TOOL, ("llm.model_name",)),
    "EMBEDDING": (TOOL, ("embedding.model_name",)),
    "RETRIEVER": (TOOL, ()),
    "RERANKER": (TOOL, ("reranker.model_name",)),
}
"""The same for the span kinds of OpenInference."""

_TRACELOOP: Final = {"agent": AGENT, "tool": TOOL, "workflow": SYSTEM}
_ASKED: Final = ("gen_ai.tool.call.arguments", "gen_ai.input.messages", "input.value", "traceloop.entity.input")
_ANSWERED: Final = ("gen_ai.tool.call.result", "gen_ai.output.messages", "output.value", "traceloop.entity.output")
_CALL: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")


def _head(source: Source) -> tuple[bool, bool, bool]:
    """Whether the beginning looks like spans, names GenAI operations, and names OpenInference kinds."""
    head = source.head()
    if not is_json(head):
        return False, False, False
    wrapped = any(has_keys(head, key) for key in ("resourceSpans", "resource_spans"))
    flat = any(has_keys(head, key) for key in ("trace_id", "traceId", "traceID", "context.trace_id"))
    genai = b'"gen_ai.' in head or b'"traceloop.span.kind"' in head
    inference = b'"openinference.span.kind"' in head or b'"attributes.openinference.span.kind"' in head
    nested = has_keys(head, "openinference") and has_keys(head, "span_kind")
    older = flat and any(b'"span_kind":' + gap + b'"' + kind.encode() in head for kind in _KINDS for gap in (b"", b" "))
    return wrapped or (flat and (genai or inference or nested or older)), genai, inference or nested or older


def _recognise_otel(source: Source) -> float:
    spans, genai, inference = _head(source)
    if not spans:
        return 0.0
    return 0.95 if genai else 0.5 if inference else 0.8


def _recognise_openinference(source: Source) -> float:
    spans, genai, inference = _head(source)
    if not spans or not inference:
        return 0.0
    return 0.7 if genai else 0.95


def _read(source: Source, options: Options) -> Iterator[Item]:
    yield from messages(_spans(source, options), options)


def _spans(source: Source, options: Options) -> Iterator[Span | Skipped]:
    for entry in entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
            continue
        found = False
        for where, item in spans_of(entry.value):
            found = True
            place = Entry(entry.line, f"{entry.where}.{where}".strip("."), table(item))
            if is_span(place.value):
                yield span_of(place)
            else:
                yield refuse(source, options, entry.line, "is no span: it has no ids.", place.where or "This")
        if not found:
            if any(key in entry.value for key in ("resourceLogs", "resourceMetrics")) or entry.value == {}:
                options.aside(Aside("logs, metrics", entry.line, entry.where))
            elif not any(key in entry.value for key in ("resourceSpans", "resource_spans", "data", "spans")):
                yield refuse(source, options, entry.line, "holds no spans.", entry.where or "This")


def span_of(entry: Entry) -> Span:
    """The operation that one span is, whichever way its attributes are named."""
    value = entry.value
    context = table(value.get("context"))
    found = attributes(value)
    label = text(value.get("name")) or text(value.get("operationName"))
    kind, party, sort = _what(found, value, label)
    start, end = _times(value)
    return Span(
        trace=_id(value, context, "trace_id", "traceId", "traceID", "context.trace_id"),
        id=_id(value, context, "span_id", "spanId", "spanID", "context.span_id"),
        parent=_parent(value),
        kind=kind,
        party=party,
        asker=_asker(found, kind),
        start=start,
        end=end,
        ended=end is not None,
        error=_error(value, found),
        asked=_first(found, _ASKED),
        answered=_first(found, _ANSWERED),
        call=text(_first(found, _CALL)) or None if kind == TOOL else None,
        label=sort or label or "span",
        line=entry.line,
        where=entry.where,
    )


def _what(found: Mapping[str, Any], value: Mapping[str, Any], label: str) -> tuple[str, str, str]:
    """What a span is, who does it, and how the convention calls it."""
    operation = text(attribute(found, _OPERATION))
    if operation:
        kind, names = _OPERATIONS.get(operation, (STEP, ()))
        rest = label.removeprefix(operation).strip()  # spans are named "invoke_agent NAME"
        return kind, _first_text(found, names) or rest or operation, operation
    sort = text(attribute(found, _OPENINFERENCE)) or text(value.get("span_kind"))
    if sort.upper() in _KINDS:
        kind, names = _KINDS[sort.upper()]
        return kind, _first_text(found, names) or label or sort, sort.upper()
    loop = text(attribute(found, "traceloop.span.kind"))
    if loop:
        return _TRACELOOP.get(loop, STEP), text(attribute(found, "traceloop.entity.name"), label or loop), loop
    return STEP, "", ""


def _asker(found: Mapping[str, Any], kind: str) -> str | None:
    """The agent on whose behalf a tool or a model is called, where the span itself says so."""
    return text(attribute(found, "gen_ai.agent.name")) or None if kind == TOOL else None


def _id(value: Mapping[str, Any], context: Mapping[str, Any], *names: str) -> str:
    for name in names:
        if found := text(value.get(name)) or text(context.get(name)):
            return found.removeprefix("0x")
    return ""


def _parent(value: Mapping[str, Any]) -> str | None:
    """Id of the parent; ids of zeros only mean that there is none."""
    found = ""
    for name in ("parent_id", "parentSpanId", "parent_span_id", "parentId", "parent_spanId"):
        found = found or text(value.get(name))
    for link in rows(value.get("references")):
        if not found and table(link).get("refType") == "CHILD_OF":
            found = text(table(link).get("spanID"))
    if not found:
        found = text(table(value.get("parent")).get("span_id"))
    found = found.removeprefix("0x")
    return found if found.strip("0") else None


def _times(value: Mapping[str, Any]) -> tuple[float | None, float | None]:
    start = end = None
    for name in ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "StartTime"):
        start = seconds(value.get(name)) if start is None else start
    for name in ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "EndTime"):
        end = seconds(value.get(name)) if end is None else end
    if end is None and start is not None and isinstance(value.get("duration"), int | float):
        end = start + value["duration"] / 1e6  # Jaeger counts microseconds
    return (start or None), (end or None)  # 0 is how OTLP says "not set"


def _error(value: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    status = value.get("status")
    code = table(status).get("code", table(status).get("status_code", value.get("status_code", status)))
    failed = code == 2 or (isinstance(code, str) and code.upper().rpartition("_")[2].rpartition(".")[2] == "ERROR")
    failed = failed or attribute(found, "otel.status_code") == "ERROR"
    kind = text(attribute(found, "error.type"))
    if not failed and not kind:
        return None
    said = table(status).get("message") or table(status).get("description") or value.get("status_message")
    return text(said) or kind or "error"


def _first(found: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((one for name in names if (one := attribute(found, name)) is not None), None)


def _first_text(found: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((one for name in names if (one := text(attribute(found, name)))), "")


_CANNOT: Final = (
    "A span is written when it ends: what was running when the program died is missing here, and is not pending.",
    "Sampling may have left spans out; where the parent of a span is missing, who asked for it is not known.",
    "That a tool ended without an error does not say that it did what was asked.",
)
_TIMES: Final = "at its start; inform at its end, failure if its status is an error, nothing if it has no end"

OTEL = Reader(
    name="otel",
    title="OpenTelemetry spans (GenAI conventions)",
    recognise=_recognise_otel,
    read=_read,
    looks_for='"resourceSpans", or spans with "gen_ai.…" attributes',
    mapping={
        "invoke_agent, invoke_workflow": "request from the nearest agent above (a root: from the user, outside) "
        + _TIMES,
        "execute_tool": "tool-call: request to gen_ai.tool.name, with gen_ai.tool.call.id, and its result",
        "chat, generate_content, text_completion, embeddings, retrieval": "tool-call to the model or data source",
        "traceloop.span.kind": "agent, tool and workflow as above, where there is no gen_ai.operation.name",
        "invoke_agent inside invoke_agent of the same agent": "the same invocation seen from inside: no message",
        "other spans, logs, metrics": "no message: counted as asides",
    },
    cannot_tell=_CANNOT,
)

OPENINFERENCE = Reader(
    name="openinference",
    title="OpenInference spans",
    recognise=_recognise_openinference,
    read=_read,
    looks_for='spans with "openinference.span.kind"',
    mapping={
        "AGENT, CHAIN at the root": f"request from the nearest agent above (a root: from the user, outside) {_TIMES}",
        "TOOL": "tool-call: request to tool.name, and its result",
        "LLM, EMBEDDING, RETRIEVER, RERANKER": "tool-call to the model or store",
        "CHAIN below the root, GUARDRAIL, EVALUATOR, PROMPT": "no message: counted as asides",
    },
    cannot_tell=_CANNOT,
)
