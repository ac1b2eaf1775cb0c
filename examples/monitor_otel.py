"""A program that traces its agents with OpenTelemetry is watched by adding one span processor.

A trace on disk holds what has ended. A monitor sees a span start, so a tool that hangs is an answer that is owed. Needs
the extra `otel`: pip install 'dissensus[otel]'.
"""

from __future__ import annotations

import threading

import dissensus
from dissensus.errors import MissingExtra
from dissensus.interop.otel_processor import span_processor
from dissensus.say.verdicts import Obligation


def agent(name: str) -> dict[str, str]:
    """Attributes of an agent's span, by the conventions for generative AI."""
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}


def tool(name: str) -> dict[str, str]:
    """Attributes of a tool's span."""
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}


def program(monitor: dissensus.Monitor, noticed: threading.Event) -> None:
    """An agent that uses two tools, of which one hangs; adding the processor is all that it does for the monitor."""
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()
    provider.add_span_processor(span_processor(monitor))
    tracer = provider.get_tracer("example")
    with tracer.start_as_current_span("invoke_agent planner", attributes=agent("planner")):
        with tracer.start_as_current_span("execute_tool search", attributes=tool("search")):
            pass
        tracer.start_span("execute_tool fetch", attributes=tool("fetch"))
        print("at work now:", ", ".join(f"{owed.debtor} for {owed.creditor}" for owed in monitor.open()))
        noticed.wait(30)


if __name__ == "__main__":
    fetch_is_late = threading.Event()

    def overdue(owed: Obligation) -> None:
        """Say so, and remember whether it was the tool."""
        print(f"overdue: {owed.debtor}, asked by {owed.creditor}")
        if owed.debtor == "fetch":
            fetch_is_late.set()

    try:
        # nothing here has a deadline of its own: what takes longer than 0.2 s is overdue
        with dissensus.Monitor(ttl=0.2, watch=0.05, on_overdue=overdue) as m:
            program(m, fetch_is_late)
        for each in m.report()["obligations"]:
            print(f"{each['creditor']} → {each['debtor']}: {each['status']}")
    except (MissingExtra, ModuleNotFoundError):
        print("Skipped: the SDK of OpenTelemetry is not installed (pip install 'dissensus[otel]').")
