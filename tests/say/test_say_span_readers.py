"""Readers of traces: who asked whom, in which order, and what never ended."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import LogError
from dissensus.say.message import Message
from dissensus.say.readers.agents_sdk import AGENTS_SDK
from dissensus.say.readers.base import Aside, Options, Reader, Skipped, Source
from dissensus.say.readers.langsmith import LANGSMITH
from dissensus.say.readers.otel import OPENINFERENCE, OTEL
from dissensus.say.readers.span_tree import AGENT, STEP, TOOL, UNSEEN, USER, Span, messages


def source(text: str | bytes) -> Source:
    raw = text if isinstance(text, bytes) else text.encode()
    return Source("log", lambda: io.BytesIO(raw))


def lines(objects: Iterable[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def read(reader: Reader, text: str | bytes, **options: Any) -> list[Message]:
    items = list(reader.read(source(text), Options(**options)))
    assert all(isinstance(item, Message) for item in items), items
    return [item for item in items if isinstance(item, Message)]


def brief(found: Iterable[Message]) -> list[tuple[str, str, str, str | None]]:
    return [(m.act or "-", m.sender, ",".join(m.receivers), m.thread) for m in found]


def sdk(
    number: str, parent: str | None, start: str, end: str | None, data: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": number,
        "trace_id": "trace_1",
        "parent_id": parent,
        "started_at": f"2026-03-02T10:00:{start}.000000+00:00",
        "ended_at": None if end is None else f"2026-03-02T10:00:{end}.000000+00:00",
        "span_data": data,
        "error": None,
        **more,
    }


def agent(name: str) -> dict[str, Any]:
    return {"type": "agent", "name": name, "handoffs": [], "tools": [], "output_type": "str"}


HANDED_OVER = [  # in the order of export: by end
    {"object": "trace", "id": "trace_1", "workflow_name": "Agent workflow", "group_id": None, "metadata": None},
    sdk("g1", "a1", "01", "02", {"type": "generation", "input": [], "output": [], "model": "gpt-4o", "usage": {}}),
    sdk("h1", "a1", "02", "03", {"type": "handoff", "from_agent": "triage", "to_agent": "billing"}),
    sdk("a1", None, "00", "03", agent("triage")),
    sdk("f1", "a2", "05", "06", {"type": "function", "name": "refund", "input": '{"order": 7}', "output": "done"}),
    sdk("a2", None, "04", "07", agent("billing")),
]


def test_agents_sdk_trace_in_order_of_time_and_with_the_hand_off_taken_up() -> None:
    asides: list[Aside] = []
    found = read(AGENTS_SDK, lines(HANDED_OVER), aside=asides.append)
    assert brief(found) == [
        ("request", USER, "triage", "trace_1/a1"),
        ("request", "triage", "gpt-4o", "trace_1/g1"),
        ("inform", "gpt-4o", "triage", "trace_1/g1"),
        ("request", "triage", "billing", "trace_1/h1"),
        ("inform", "triage", USER, "trace_1/a1"),
        ("agree", "billing", "triage", "trace_1/h1"),
        ("request", "billing", "refund", "trace_1/f1"),
        ("inform", "refund", "billing", "trace_1/f1"),
        ("inform", "billing", "triage", "trace_1/h1"),
    ]
    assert [m.protocol for m in found] == [
        "fipa-request", "tool-call", "tool-call", "hand-off", "fipa-request", "hand-off", "tool-call", "tool-call",
        "hand-off",
    ]  # fmt: skip
    assert [m.outside for m in found] == [True, False, False, False, True, False, False, False, False]
    assert all(m.tag_source == "structure" for m in found)
    assert (found[7].content, found[6].content, found[7].line) == ("done", '{"order": 7}', 5)
    assert [(aside.kind, aside.line) for aside in asides] == [("trace", 1)]
    assert len({m.id for m in found}) == len(found)


def test_a_hand_off_that_nobody_takes_up_and_a_span_without_an_end_stay_open() -> None:
    found = read(AGENTS_SDK, lines([*HANDED_OVER[:4], sdk("f9", "a1", "02", None, {"type": "function", "name": "t"})]))
    threads = [m.thread for m in found if m.act in {"inform", "failure", "agree"}]
    assert "trace_1/h1" not in threads
    assert "trace_1/f9" not in threads
    assert [m.act for m in found if m.thread == "trace_1/f9"] == ["request"]


def test_an_error_is_a_failure_with_its_message() -> None:
    error = {"message": "Error running tool", "data": {"tool_name": "refund"}}
    found = read(
        AGENTS_SDK,
        lines(
            [
                sdk(
                    "f1",
                    "a2",
                    "05",
                    "06",
                    {"type": "function", "name": "refund", "input": "", "output": None},
                    error=error,
                ),
                sdk(
                    "h1",
                    "a2",
                    "06",
                    "06",
                    {"type": "handoff", "from_agent": "billing", "to_agent": "legal"},
                    error=error,
                ),
                sdk("a2", None, "04", "07", agent("billing")),
            ]
        ),
    )
    failures = [m for m in found if m.act in {"failure", "refuse"}]
    assert brief(failures) == [
        ("failure", "refund", "billing", "trace_1/f1"),
        ("refuse", "legal", "billing", "trace_1/h1"),
    ]
    assert failures[0].content == "Error running tool"


def test_the_batches_that_the_sdk_uploads_and_a_list_say_the_same_as_lines() -> None:
    expected = brief(read(AGENTS_SDK, lines(HANDED_OVER)))
    assert brief(read(AGENTS_SDK, json.dumps({"data": HANDED_OVER}))) == expected
    assert brief(read(AGENTS_SDK, json.dumps(HANDED_OVER, indent=2))) == expected
    assert brief(read(AGENTS_SDK, json.dumps({"data": HANDED_OVER}, indent=1))) == expected


def test_a_span_written_at_its_start_and_again_at_its_end_is_one_span() -> None:
    started = [{**one, "ended_at": None} for one in HANDED_OVER[1:]]
    assert brief(read(AGENTS_SDK, lines([*started, *HANDED_OVER]))) == brief(read(AGENTS_SDK, lines(HANDED_OVER)))


def otlp_span(
    number: str, parent: str, start: int, end: int, attributes: dict[str, Any], **more: Any
) -> dict[str, Any]:
    def typed(value: Any) -> dict[str, Any]:
        if isinstance(value, int):
            return {"intValue": str(value)}
        if isinstance(value, list):
            return {"arrayValue": {"values": [typed(item) for item in value]}}
        return {"stringValue": value}

    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": number,
        "parentSpanId": parent,
        "name": more.pop("name", "span"),
        "kind": 1,
        "startTimeUnixNano": str(1_772_445_600_000_000_000 + start * 1_000_000_000),
        "endTimeUnixNano": str(1_772_445_600_000_000_000 + end * 1_000_000_000) if end else "0",
        "attributes": [{"key": key, "value": typed(value)} for key, value in attributes.items()],
        "status": {},
        **more,
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    scope = {"scope": {"name": "agents"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


GENAI = [
    otlp_span("03", "02", 2, 3, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}, name="chat"),
    otlp_span(
        "05", "04", 5, 6,
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "call_1"},
        name="execute_tool search", status={"code": 2, "message": "quota exceeded"},
    ),
    otlp_span("04", "02", 4, 7, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "researcher"}),
    otlp_span("06", "02", 7, 8, {"http.request.method": "GET"}, name="GET"),
    otlp_span("02", "01", 1, 9, {"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent planner"),
    otlp_span("01", "", 0, 10, {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "report"}),
]  # fmt: skip
TRACE = "5b8efff798038103d269b633813fc60c"


def test_otel_genai_spans_in_order_of_time() -> None:
    asides: list[Aside] = []
    found = read(OTEL, json.dumps(otlp(*GENAI)), aside=asides.append)
    assert brief(found) == [
        ("request", USER, "report", f"{TRACE}/01"),
        ("request", "report", "planner", f"{TRACE}/02"),
        ("request", "planner", "gpt-4o", f"{TRACE}/03"),
        ("inform", "gpt-4o", "planner", f"{TRACE}/03"),
        ("request", "planner", "researcher", f"{TRACE}/04"),
        ("request", "researcher", "search", f"{TRACE}/05"),
        ("failure", "search", "researcher", f"{TRACE}/05"),
        ("inform", "researcher", "planner", f"{TRACE}/04"),
        ("inform", "planner", "report", f"{TRACE}/02"),
        ("inform", "report", USER, f"{TRACE}/01"),
    ]
    failure = found[6]
    assert (failure.content, failure.in_reply_to, found[5].reply_with) == ("quota exceeded", "call_1", "call_1")
    assert found[0].at == 1_772_445_600.0
    assert failure.where == "resourceSpans[0].scopeSpans[0].spans[1]"
    assert [aside.kind for aside in asides] == ["GET"]


def test_otel_wrappers_all_say_the_same() -> None:
    expected = brief(read(OTEL, json.dumps(otlp(*GENAI))))

    def flat(one: dict[str, Any]) -> dict[str, Any]:
        names = {item["key"]: next(iter(item["value"].values())) for item in one["attributes"]}
        return {
            "name": one["name"],
            "context": {"trace_id": f"0x{one['traceId']}", "span_id": f"0x{one['spanId']}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": f"0x{one['parentSpanId']}" if one["parentSpanId"] else None,
            "start_time": int(one["startTimeUnixNano"]),
            "end_time": int(one["endTimeUnixNano"]) or None,
            "status": {"status_code": "ERROR" if one["status"].get("code") == 2 else "UNSET"},
            "attributes": names,
            "events": [],
        }

    flats = [flat(one) for one in GENAI]
    jaeger = [
        {
            "traceID": one["traceId"],
            "spanID": one["spanId"],
            "operationName": one["name"],
            "references": [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": one["parentSpanId"]}]
            if one["parentSpanId"]
            else [],
            "startTime": int(one["startTimeUnixNano"]) // 1000,
            "duration": (int(one["endTimeUnixNano"]) - int(one["startTimeUnixNano"])) // 1000,
            "tags": [{"key": item["key"], "type": "string", "value": next(iter(item["value"].values()))}
                     for item in one["attributes"]]
            + ([{"key": "otel.status_code", "type": "string", "value": "ERROR"}] if one["status"] else []),
        }
        for one in GENAI
    ]  # fmt: skip
    for written in (
        lines(otlp(one) for one in GENAI),
        json.dumps(otlp(*GENAI), indent=2),
        lines(flats),
        "".join(json.dumps(one, indent=4) + "\n" for one in flats),  # what the console exporter prints
        json.dumps({"data": flats}),
        json.dumps({"data": [{"traceID": TRACE, "spans": jaeger}]}),
    ):
        assert brief(read(OTEL, written)) == expected, written[:80]


def test_no_end_is_pending_and_the_same_invocation_from_inside_is_no_second_request() -> None:
    who = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    asides: list[Aside] = []
    found = read(
        OTEL, json.dumps(otlp(otlp_span("02", "01", 1, 2, who), otlp_span("01", "", 0, 0, who))), aside=asides.append
    )
    assert brief(found) == [("request", USER, "planner", f"{TRACE}/01")]
    assert len(asides) == 1


def test_a_parent_that_is_not_in_the_log_leaves_the_caller_unknown() -> None:
    who = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    found = read(OTEL, json.dumps(otlp(otlp_span("02", "99", 1, 2, who))))
    assert [(m.sender, m.outside) for m in found] == [(UNSEEN, True), ("planner", True)]


def test_openinference_spans_from_lines_and_from_a_table() -> None:
    def one(number: str, parent: str | None, what: tuple[str, str], *times: int, **attributes: Any) -> dict[str, Any]:
        (kind, name), (start, end) = what, times
        return {
            "name": name,
            "context": {"trace_id": "t", "span_id": number},
            "span_kind": kind,
            "parent_id": parent,
            "start_time": f"2026-03-02T10:00:0{start}+00:00",
            "end_time": f"2026-03-02T10:00:0{end}+00:00",
            "status_code": attributes.pop("status_code", "OK"),
            "status_message": "",
            "attributes": {"openinference.span.kind": kind, **attributes},
        }

    spans = [
        one("1", None, ("CHAIN", "query"), 0, 9, **{"input.value": "Is anybody there?"}),
        one("2", "1", ("AGENT", "helper"), 1, 8),
        one("3", "2", ("LLM", "ChatCompletion"), 2, 3, **{"llm.model_name": "gpt-4o"}),
        one("4", "2", ("TOOL", "lookup"), 4, 5, **{"tool.name": "search", "status_code": "ERROR"}),
        one("5", "1", ("CHAIN", "format"), 8, 9),
    ]
    expected = [
        ("request", USER, "query", "t/1"),
        ("request", "query", "helper", "t/2"),
        ("request", "helper", "gpt-4o", "t/3"),
        ("inform", "gpt-4o", "helper", "t/3"),
        ("request", "helper", "search", "t/4"),
        ("failure", "search", "helper", "t/4"),
        ("inform", "helper", "query", "t/2"),
        ("inform", "query", USER, "t/1"),
    ]
    assert brief(read(OPENINFERENCE, lines(spans))) == expected
    columns = [
        {**{key: value for key, value in span.items() if key not in {"context", "attributes"}},
         **{f"context.{key}": value for key, value in span["context"].items()},
         **{f"attributes.{key}": value for key, value in span["attributes"].items()}}
        for span in spans
    ]  # fmt: skip
    assert brief(read(OPENINFERENCE, lines(columns))) == expected
    nested = [{**span, "attributes": {"openinference": {"span": {"kind": span["span_kind"]}}}} for span in spans]
    assert [m.act for m in read(OPENINFERENCE, lines(nested))] == [act for act, *_ in expected]


def run(number: str, parent: str | None, what: tuple[str, str], *times: int | None, **more: Any) -> dict[str, Any]:
    (kind, name), (start, end) = what, times
    return {
        "id": number,
        "name": name,
        "run_type": kind,
        "trace_id": "r",
        "parent_run_id": parent,
        "start_time": f"2026-03-02T10:00:{start:02}",
        "end_time": None if end is None else f"2026-03-02T10:00:{end:02}",
        "error": None,
        "inputs": {},
        "outputs": None if end is None else {},
        "extra": {"metadata": {}},
        **more,
    }


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"langgraph_node": name}}


RUNS = [
    run("r", None, ("chain", "LangGraph"), 0, 20),
    run("n1", "r", ("chain", "researcher"), 1, 9, extra=node("researcher")),
    run(
        "m1",
        "n1",
        ("llm", "ChatOpenAI"),
        2,
        3,
        extra={"metadata": {"ls_model_name": "gpt-4o", "langgraph_node": "researcher"}},
    ),
    run("t1", "n1", ("tool", "search"), 4, 5, error="TimeoutError()", outputs=None),
    run("p1", "n1", ("prompt", "ChatPromptTemplate"), 6, 7),
    run("n2", "r", ("chain", "writer"), 10, None, extra=node("writer")),
]


def test_langsmith_runs() -> None:
    expected = [
        ("request", USER, "LangGraph", "r/r"),
        ("request", "LangGraph", "researcher", "r/n1"),
        ("request", "researcher", "gpt-4o", "r/m1"),
        ("inform", "gpt-4o", "researcher", "r/m1"),
        ("request", "researcher", "search", "r/t1"),
        ("failure", "search", "researcher", "r/t1"),
        ("inform", "researcher", "LangGraph", "r/n1"),
        ("request", "LangGraph", "writer", "r/n2"),
        ("inform", "LangGraph", USER, "r/r"),
    ]
    found = read(LANGSMITH, lines(reversed(RUNS)))
    assert brief(found) == expected
    assert found[5].content == "TimeoutError()"
    tree = {**RUNS[0], "child_runs": [{**RUNS[1], "child_runs": RUNS[2:5]}, RUNS[5]]}
    assert brief(read(LANGSMITH, json.dumps(tree, indent=2))) == expected
    assert brief(read(LANGSMITH, json.dumps({"runs": RUNS}))) == expected
    by_order = [{**{k: v for k, v in one.items() if k != "parent_run_id"},
                 "dotted_order": ".".join(f"20260302T100000000000Z{part}" for part in path)}
                for one, path in zip(RUNS, (["r"], ["r", "n1"], ["r", "n1", "m1"], ["r", "n1", "t1"], ["r", "n1", "p1"],
                                            ["r", "n2"]), strict=True)]  # fmt: skip
    assert brief(read(LANGSMITH, lines(by_order))) == expected


def test_langsmith_post_and_patch_of_one_run_are_one_run() -> None:
    posted = [{**one, "end_time": None, "outputs": None, "error": None} for one in RUNS]
    patched = [
        {key: one[key] for key in ("id", "trace_id", "end_time", "outputs", "error", "parent_run_id")} for one in RUNS
    ]
    assert brief(read(LANGSMITH, lines([*posted, *patched]))) == brief(read(LANGSMITH, lines(RUNS)))


@pytest.mark.parametrize("reader", [AGENTS_SDK, LANGSMITH, OTEL, OPENINFERENCE])
def test_what_is_no_span_is_an_error_with_its_line_or_is_skipped_and_counted(reader: Reader) -> None:
    good = {
        "agents-sdk": HANDED_OVER[3],
        "langsmith": RUNS[0],
        "otel": otlp(GENAI[5]),
        "openinference": otlp(GENAI[5]),
    }[reader.name]
    broken = lines([good]) + '{"id": 7, "object":\n' + lines([{"hello": 1}]) + "[3]\n" + lines([good])
    with pytest.raises(LogError) as caught:
        list(reader.read(source(broken), Options()))
    assert caught.value.line == 2
    items = list(reader.read(source(broken), Options(lenient=True)))
    assert [item.line for item in items if isinstance(item, Skipped)] == [2, 3, 4]
    with pytest.raises(LogError, match=r"UTF-8|JSON"):
        list(reader.read(source(lines([good]).encode() + b'{"id": "\xff"}\n'), Options()))


def spans_strategy() -> st.SearchStrategy[list[Span]]:
    ids = st.sampled_from(["1", "2", "3", "4", "5", "6"])
    times = st.one_of(st.none(), st.integers(0, 5).map(float))
    one = st.builds(
        Span,
        trace=st.sampled_from(["x", "y"]),
        id=ids,
        parent=st.one_of(st.none(), ids),
        kind=st.sampled_from([AGENT, TOOL, STEP]),
        party=st.sampled_from(["ada", "ben"]),
        start=times,
        end=times,
        ended=st.booleans(),
    )
    return st.lists(one, max_size=12)


@given(spans_strategy())
def test_every_span_is_seen_once_asked_before_answered_and_nested_in_its_parent(spans: list[Span]) -> None:
    """Whatever the parents and the times, loops of parents included."""
    asides: list[Aside] = []
    found = [item for item in messages(spans, Options(aside=asides.append)) if isinstance(item, Message)]
    threads = {span.thread for span in spans}
    requests = [m.thread for m in found if m.act == "request"]
    assert len(requests) == len(set(requests))
    assert len(requests) + len(asides) == len(threads)
    open_now: set[str | None] = set()
    for m in found:
        if m.act == "request":
            open_now.add(m.thread)
        else:
            assert m.thread in open_now
            open_now.remove(m.thread)


@given(st.integers(1, 30), st.randoms(use_true_random=False))
def test_a_small_window_loses_no_span(window: int, random: Any) -> None:
    spans = [
        Span(
            trace=f"t{n % 3}",
            id=str(n),
            kind=AGENT,
            party=f"a{n}",
            parent=None if n < 3 else str(n % 3),
            start=n,
            end=n + 0.5,
        )
        for n in range(20)
    ]
    random.shuffle(spans)
    found = [item for item in messages(spans, Options(extra={"window": window})) if isinstance(item, Message)]
    assert sorted(m.id for m in found) == sorted(f"{span.thread}:{end}" for span in spans for end in ("start", "end"))


def json_values() -> st.SearchStrategy[Any]:
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )


@given(st.data())
def test_anything_in_the_right_envelope_is_read_or_refused_with_a_log_error(data: st.DataObject) -> None:
    value = json_values()
    keys = [
        "object", "id", "trace_id", "parent_id", "started_at", "ended_at", "span_data", "error", "run_type",
        "parent_run_id", "start_time", "end_time", "outputs", "extra", "child_runs", "runs", "data", "spans",
        "traceId", "spanId", "parentSpanId", "attributes", "status", "status_code", "context", "references",
        "tags", "duration", "startTimeUnixNano", "resourceSpans", "dotted_order",
    ]  # fmt: skip
    body = st.dictionaries(
        st.sampled_from(keys), st.one_of(value, st.sampled_from(["trace.span", "trace", "tool", "x"])), max_size=8
    )
    span_data = st.fixed_dictionaries(
        {"type": st.sampled_from(["agent", "handoff", "function"]), "name": value, "to_agent": value}
    )
    envelope = st.one_of(
        body,
        st.builds(lambda a, b: {"object": "trace.span", "id": "1", **a, "span_data": b}, body, span_data),
        st.builds(lambda a: {"id": "1", "run_type": "tool", **a}, body),
        st.builds(lambda a: otlp({"spanId": "1", **a}), body),
        st.builds(lambda a: {"resourceSpans": [a, {"scopeSpans": a}]}, value),
    )
    text = lines(data.draw(st.lists(envelope, max_size=4)))
    for reader in (AGENTS_SDK, LANGSMITH, OTEL, OPENINFERENCE):
        assert 0.0 <= reader.recognise(source(text)) <= 1.0
        for lenient in (False, True):
            try:
                for item in reader.read(source(text), Options(lenient=lenient)):
                    assert isinstance(item, Message | Skipped)
            except LogError:
                assert not lenient
