"""Spans of a running program, through the real SDK: the monitor hears of them as an audit of the trace would."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import dissensus
from dissensus.errors import MissingExtra
from dissensus.interop import otel_processor
from dissensus.interop.live_monitor import Monitor
from dissensus.interop.message_logs import audit_file
from dissensus.interop.otel_processor import SpanFollower, span_processor
from dissensus.say.verdicts import Obligation

pytest.importorskip("opentelemetry.sdk.trace", reason="the extra `otel` is not installed")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status, StatusCode, Tracer, set_span_in_context


class Kept(SpanExporter):
    """Keeps what is exported, as the SDK writes it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.lines += [span.to_json(indent=None) for span in spans]
        return SpanExportResult.SUCCESS


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider()
    yield provider
    provider.shutdown()


def traced(provider: TracerProvider, monitor: dissensus.Monitor) -> Tracer:
    provider.add_span_processor(span_processor(monitor))
    return provider.get_tracer("test")


def agent(name: str) -> dict[str, Any]:
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}


def tool(name: str, call: str) -> dict[str, Any]:
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call}


def program(tracer: Tracer) -> None:
    """An agent asks another, which uses tools; one tool fails, and in between is a step that means nothing."""
    with tracer.start_as_current_span("invoke_agent planner", attributes=agent("planner")):
        with (
            tracer.start_as_current_span("GET /agents"),
            tracer.start_as_current_span("invoke_agent researcher", attributes=agent("researcher")),
        ):
            with tracer.start_as_current_span("execute_tool search", attributes=tool("search", "c1")) as span:
                span.set_attribute("gen_ai.tool.call.result", "three sources")
            with tracer.start_as_current_span("execute_tool fetch", attributes=tool("fetch", "c2")) as span:
                span.set_status(Status(StatusCode.ERROR, "no route"))
            with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat",
                                                                    "gen_ai.request.model": "m"}):  # fmt: skip
                pass
        with tracer.start_as_current_span("invoke_agent planner", attributes=agent("planner")):
            pass  # the same invocation, seen from inside


def owed(report: dict[str, Any]) -> list[tuple[str, ...]]:
    keys = ("thread", "kind", "debtor", "creditor", "status", "opened_by", "closed_by", "protocol", "outside")
    return sorted(tuple(str(each[key]) for key in keys) for each in report["obligations"])


def test_the_monitor_hears_what_an_audit_of_the_trace_finds(provider: TracerProvider, tmp_path: Path) -> None:
    kept = Kept()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with dissensus.Monitor() as monitor:
        program(traced(provider, monitor))
    trace = tmp_path / "trace.jsonl"
    trace.write_text("\n".join(kept.lines), encoding="utf-8")
    audited = audit_file(trace).to_data()
    assert audited["format"] == "otel"
    assert owed(monitor.report()) == owed(audited)
    assert {(each["debtor"], each["status"]) for each in monitor.report()["obligations"]} == {
        ("planner", "fulfilled"), ("researcher", "fulfilled"), ("search", "fulfilled"), ("fetch", "declared:failed"),
        ("m", "fulfilled"),
    }  # fmt: skip
    assert monitor.counts["violations"] == 0


def test_what_hangs_is_owed_and_becomes_overdue(provider: TracerProvider) -> None:
    overdue: list[Obligation] = []
    with dissensus.Monitor(ttl=60, on_overdue=overdue.append) as monitor:
        tracer = traced(provider, monitor)
        with tracer.start_as_current_span("invoke_agent a", attributes=agent("a")):
            hung = tracer.start_span("execute_tool slow", attributes=tool("slow", "c1"))
            (answer,) = [each for each in monitor.open() if each.debtor == "slow"]
            assert answer.creditor == "a"
            assert answer.opened_at is not None
            monitor.check(answer.opened_at + 61)
            assert [each.debtor for each in overdue if each.debtor == "slow"] == ["slow"]
            hung.end()
        assert monitor.open() == []


def test_attributes_that_come_after_the_start(provider: TracerProvider) -> None:
    with dissensus.Monitor() as monitor:
        tracer = traced(provider, monitor)
        with tracer.start_as_current_span("run") as outer:
            assert monitor.counts["messages"] == 0
            outer.set_attributes({"openinference.span.kind": "AGENT", "agent.name": "late"})
            with tracer.start_as_current_span("step"):
                assert [each.debtor for each in monitor.open()] == ["late"]
                with tracer.start_as_current_span("lookup") as inner:
                    inner.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "lookup"})
        report = monitor.report()
    assert [(each["creditor"], each["debtor"], each["status"]) for each in report["obligations"]] == [
        ("late", "lookup", "fulfilled"),
        ("user", "late", "fulfilled"),
    ]


def test_a_child_that_outlives_its_parent(provider: TracerProvider) -> None:
    with dissensus.Monitor() as monitor:
        tracer = traced(provider, monitor)
        parent = tracer.start_span("invoke_agent a", attributes=agent("a"))
        parent.end()
        child = tracer.start_span("t", context=set_span_in_context(parent), attributes=tool("t", "c"))
        assert [(each.creditor, each.debtor) for each in monitor.open()] == [("a", "t")]
        child.end()
        assert monitor.open() == []


def test_the_program_goes_on_whatever_happens(provider: TracerProvider) -> None:
    def fails(_: object) -> None:
        raise RuntimeError("no")

    with dissensus.Monitor(on_finding=fails, on_overdue=fails, ttl=1e-9, strict=True) as monitor:
        tracer = traced(provider, monitor)
        program(tracer)
        assert monitor.report()["failures"]["count"] > 0
        outlives = tracer.start_span("execute_tool t", attributes=tool("t", "c"))
    outlives.end()
    program(tracer)  # the monitor has ended
    assert monitor.counts["messages"] == 11


def test_many_threads_trace_at_once(provider: TracerProvider) -> None:
    with dissensus.Monitor() as monitor:
        tracer = traced(provider, monitor)

        def work() -> None:
            for _ in range(10):
                program(tracer)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    counts = monitor.counts
    assert counts["messages"] == 600
    assert (counts["violations"], counts["unanswered"], counts["pending"]) == (0, 0, 0)


def test_nothing_is_kept_of_what_is_over(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel_processor, "MOST_OPEN", 5)
    with dissensus.Monitor() as monitor:
        follower = SpanFollower(monitor)
        tracer = provider.get_tracer("test")
        spans = [tracer.start_span(f"{number}") for number in range(8)]
        spans += [tracer.start_span(f"{number}", attributes=tool("t", f"{number}")) for number in range(8)]
        for span in spans:
            assert isinstance(span, ReadableSpan)
            follower.started(span)
            assert len(follower._open) <= 5
        for span in spans:
            span.end()
            assert isinstance(span, ReadableSpan)
            follower.ended(span)
        kept: list[Any] = [follower._open, follower._parts, follower._waiting]
        assert not any(kept)
        statuses = [each["status"] for each in monitor.report()["obligations"]]
        assert sorted(statuses) == ["fulfilled"] * 5 + ["pending"] * 3, "three were given up"


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with dissensus.Monitor() as monitor, pytest.raises(MissingExtra, match=r"dissensus\[otel\]"):
        span_processor(monitor)


def test_no_thread_tells_of_an_answer_before_its_question(provider: TracerProvider) -> None:
    told: list[str | None] = []

    class Slow(Monitor):
        """Still hears of a start when another thread ends that span."""

        def see(self, message: Any) -> str:
            if message.act == "request":
                ends = threading.Thread(target=span.end)
                ends.start()
                ends.join(10)
                assert not ends.is_alive()
            told.append(message.act)
            return super().see(message)

    with Slow() as monitor:
        tracer = traced(provider, monitor)
        span = tracer.start_span("late")  # what it is comes later, so that another span's start tells of it
        span.set_attributes(tool("search", "c1"))
        tracer.start_span("GET /", context=set_span_in_context(span)).end()
        assert monitor.open() == []
    assert told == ["request", "inform"]
