"""LangSmith runs: ``run_type``, ``parent_run_id``, ``start_time``, ``end_time``, ``error``.

As lines, as a list, under ``runs``, or as one tree with ``child_runs``. A run that was posted at its start and patched
at its end stands twice in a log of requests; both are put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.readers.base import Item, Options, Reader, Skipped, Source
from dissensus.say.readers.entries import Entry, entries, has_keys, is_json, refuse, rows, table, text
from dissensus.say.readers.span_tree import AGENT, STEP, SYSTEM, TOOL, Span, messages
from dissensus.say.readers.times import seconds

_TOOLS: Final = {"tool", "retriever"}
_MODELS: Final = {"llm", "embedding"}
_Node = tuple[str, Any, tuple[str, str] | None]
"""Place of a run, the run, and trace and id of the one that it stands in."""


def _recognise(source: Source) -> float:
    head = source.head()
    if not is_json(head) or not has_keys(head, "run_type"):
        return 0.0
    return 0.95 if has_keys(head, "start_time") or has_keys(head, "dotted_order") else 0.5


def _read(source: Source, options: Options) -> Iterator[Item]:
    yield from messages(_spans(source, options), options)


def _spans(source: Source, options: Options) -> Iterator[Span | Skipped]:
    for entry in entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
            continue
        runs = rows(entry.value.get("runs")) if "id" not in entry.value else []
        stack: list[_Node] = [(f"{entry.where}runs[{i}]", run, None) for i, run in enumerate(runs)]
        stack.reverse()
        yield from _tree(source, options, entry.line, stack or [(entry.where, entry.value, None)])


def _tree(source: Source, options: Options, line: int, stack: list[_Node]) -> Iterator[Span | Skipped]:
    """A run and the runs inside it. Those may leave out which trace and parent they belong to: it is plain."""
    while stack:
        where, run, above = stack.pop()
        number = text(table(run).get("id"))
        if not number:
            yield refuse(source, options, line, "is no run: it has no id.", where or "This")
            continue
        trace = text(run.get("trace_id")) or (above[0] if above is not None else "")
        parent = _parent(run) or (above[1] if above is not None else None)
        trace = trace or ("" if parent else number)
        yield _span(run, trace, number, parent, Entry(line, where, run))
        inner = [(f"{where}.child_runs[{i}]".lstrip("."), child) for i, child in enumerate(rows(run.get("child_runs")))]
        stack.extend((place, child, (trace, number)) for place, child in reversed(inner))


def _parent(run: dict[str, Any]) -> str | None:
    if parent := text(run.get("parent_run_id")):
        return parent
    parents = rows(run.get("parent_run_ids"))
    if parents:
        return text(parents[-1]) or None
    # "<time>Z<root>.<time>Z<parent>.<time>Z<run>"
    order = text(run.get("dotted_order")).split(".")
    return order[-2].rpartition("Z")[2] or None if len(order) > 1 else None


def _span(run: dict[str, Any], trace: str, number: str, parent: str | None, entry: Entry) -> Span:
    metadata = table(table(run.get("extra")).get("metadata"))
    name, sort = text(run.get("name"), "run"), text(run.get("run_type"))
    kind, party = STEP, name
    if sort in _TOOLS:
        kind = TOOL
    elif sort in _MODELS:
        kind, party = TOOL, text(metadata.get("ls_model_name"), name)
    elif text(metadata.get("langgraph_node")) == name and parent:
        kind = AGENT
    elif sort in {"chain", "agent"}:
        kind = AGENT if sort == "agent" else SYSTEM
    error, answered = run.get("error"), run.get("outputs")
    status = text(run.get("status"))
    return Span(
        trace=trace,
        id=number,
        parent=parent,
        kind=kind,
        party=party,
        start=seconds(run.get("start_time")),
        end=seconds(run.get("end_time")),
        ended=run.get("end_time") is not None or bool(error) or status in {"success", "error"},
        error=_what_failed(error, status),
        asked=run.get("inputs"),
        answered=answered,
        call=_call(run),
        label=sort or "run",
        line=entry.line,
        where=entry.where,
    )


def _what_failed(error: Any, status: str) -> str | None:
    if error:
        return error if isinstance(error, str) else str(error)
    return "error" if status == "error" else None


def _call(run: dict[str, Any]) -> str | None:
    """Id of the tool call, which stands in the tool message that came out."""
    out = table(table(run.get("outputs")).get("output"))
    return text(out.get("tool_call_id")) or text(table(out.get("kwargs")).get("tool_call_id")) or None


LANGSMITH = Reader(
    name="langsmith",
    title="LangSmith runs",
    recognise=_recognise,
    read=_read,
    looks_for='objects with "run_type" and "start_time"',
    mapping={
        "root run (chain)": "request from the user, outside, at its start; inform at its end, failure if it has an "
        "error, nothing if it has no end",
        "chain run that is a LangGraph node (its name is metadata.langgraph_node), agent run": "request from the "
        "nearest agent above, or from the root",
        "tool, retriever run": "tool-call: request to the tool, and its result",
        "llm, embedding run": "tool-call to the model",
        "other chain, prompt, parser run": "no message: counted as asides",
    },
    cannot_tell=(
        "Which node is an agent and which a plain function is not said: every node of a graph is taken as a party.",
        "A hand-off between nodes is a change of the graph's state; it is not a run and not seen.",
        "Whether the user accepted the last answer is not in a trace.",
    ),
)
