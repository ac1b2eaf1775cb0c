"""Short ways to write MCP traffic, and what an audit of it says; shared by the tests of MCP."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Options, Skipped, Source
from dissensus.say.readers.mcp import READER
from dissensus.say.verdicts import OK, Finding, Obligation
from dissensus.say.wire.mcp import MCPTracker

Line = dict[str, Any]

V06, V11, V26 = "2025-06-18", "2025-11-25", "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": V26, "io.modelcontextprotocol/clientCapabilities": {}}


def line(side: str, rpc: Mapping[str, Any]) -> Line:
    """An envelope; ``side`` is ``c`` or ``s``."""
    return {"dir": "c2s" if side == "c" else "s2c", "rpc": {"jsonrpc": "2.0", **rpc}}


def ask(ident: Any, method: str, params: Any = None, side: str = "c") -> Line:
    return line(side, {"id": ident, "method": method, **({} if params is None else {"params": params})})


def ask26(ident: Any, method: str, params: Mapping[str, Any] | None = None) -> Line:
    params = params or {}
    return ask(ident, method, {**params, "_meta": {**META, **params.get("_meta", {})}})


def ok(ident: Any, result: Any = None, side: str = "s") -> Line:
    return line(side, {"id": ident, "result": {} if result is None else result})


def err(ident: Any, code: int, side: str = "s") -> Line:
    return line(side, {"id": ident, "error": {"code": code, "message": "no"}})


def tell(method: str, params: Any = None, side: str = "s") -> Line:
    return line(side, {"method": f"notifications/{method}", **({} if params is None else {"params": params})})


def greet(version: str = V11, ident: Any = 0) -> list[Line]:
    """The three lines that every connection of 2025 begins with."""
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "demo", "version": "1"}}
    there = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "srv", "version": "1"}}
    return [ask(ident, "initialize", hello), ok(ident, there), tell("initialized", side="c")]


def task(status: str = "working", name: str = "k1", **more: Any) -> dict[str, Any]:
    times = {"createdAt": "2026-01-05T09:00:00Z", "lastUpdatedAt": "2026-01-05T09:00:01Z"}
    return {"taskId": name, "status": status, **times, "ttl": None, **more}


def made(ident: Any, status: str = "working", name: str = "k1", side: str = "s", **more: Any) -> Line:
    """A request is answered by a task, as in 2025-11-25."""
    return ok(ident, {"task": task(status, name, **more)}, side)


def made26(ident: Any, status: str = "working", name: str = "k1", **more: Any) -> Line:
    return ok(ident, {"resultType": "task", **task(status, name, **more)})


def polled(ident: Any, status: str, name: str = "k1", **more: Any) -> list[Line]:
    """``tasks/get`` and its answer."""
    return [ask(ident, "tasks/get", {"taskId": name}), ok(ident, task(status, name, **more))]


def text(lines: Iterable[Line]) -> str:
    return "".join(json.dumps(one) + "\n" for one in lines)


def source(content: str | bytes, name: str = "log") -> Source:
    raw = content if isinstance(content, bytes) else content.encode()
    return Source(name, lambda: io.BytesIO(raw))


class Audited:
    """What an audit found."""

    def __init__(
        self, content: str | bytes, *, as_of: float | None = None, closed: bool = False, **options: Any
    ) -> None:
        self.findings: list[Finding] = []
        self.obligations: list[Obligation] = []
        monitor = Monitor(on_finding=self.findings.append, on_closed=self.obligations.append, wire=options)
        for item in READER.read(source(content), Options(extra=options)):
            assert not isinstance(item, Skipped)
            monitor.see(item)
        monitor.finish(as_of, closed=closed)
        tracker = monitor.trackers.get("mcp")
        self.version = tracker.version if tracker is not None else None
        self.counts = (monitor.book.requests, monitor.book.unanswered, monitor.threads_seen())

    def faults(self) -> list[tuple[Any, ...]]:
        return sorted((f.line, f.verdict, f.rule, f.party, f.level) for f in self.findings)

    def owed(self) -> list[tuple[Any, ...]]:
        return sorted(
            (o.thread, o.kind, o.debtor, o.creditor, o.opened_line, o.status, o.closed_line or None)
            for o in self.obligations
        )


ERROR = {"content": [], "isError": True}
Row = tuple[Any, ...]


class Case(NamedTuple):
    """A log, the faults that must be found, the obligations besides that of the greeting; nothing else may exist."""

    name: str
    lines: list[Line]
    faults: list[Row] = []  # noqa: RUF012 - a default that nobody changes
    owed: list[Row] = []  # noqa: RUF012
    options: dict[str, Any] = {}  # noqa: RUF012


def answer(ident: Any, opened: int, closed: int | None, status: str = "fulfilled", side: str = "c") -> Row:
    debtor, creditor = ("server", "client") if side == "c" else ("client", "server")
    return (f"rpc:{side}:{ident}", "answer", debtor, creditor, opened, status if closed else "pending", closed)


def on_task(opened: int, made_at: int, status: str = "pending", closed: int | None = None) -> list[Row]:
    """The answer that is a task, and the task's performance."""
    return [
        ("k1", "answer", "server", "client", opened, "fulfilled", made_at),
        ("k1", "performance", "server", "client", made_at, status, closed),
    ]


def bad(line: int, rule: str, party: str = "server", verdict: str = "illegal") -> Row:
    return (line, verdict, rule, party, "violation")


CALL = ask(1, "tools/call", {"name": "count"})
TASK = ask(1, "tools/call", {"name": "count", "task": {"ttl": 60000}})
QUESTION = ask("e", "elicitation/create", {"message": "which?", "requestedSchema": {"type": "object"}}, "s")
ASKED = ok(1, {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": "abc"})
ANSWERS = {"q": {"action": "accept"}}


def again(ident: Any, **params: Any) -> Line:
    return ask26(ident, "tools/call", {"name": "count", **params})


FIRST = again(1)
HANDED = [answer(1, 4, 5)]
CHAIN = [
    ("chain:1", "answer", "server", "client", 1, "fulfilled", 2),
    ("chain:1", "input", "client", "server", 2, "fulfilled", 3),
    ("chain:1", "answer", "server", "client", 3, "fulfilled", 4),
]
CHAIN_WAITS = [CHAIN[0], ("chain:1", "input", "client", "server", 2, "pending", None)]


def token(ident: Any, name: Any, side: str = "c") -> Line:
    return ask(ident, "tools/call", {"name": "count", "_meta": {"progressToken": name}}, side)


def progress(name: Any, value: float, side: str = "s") -> Line:
    return tell("progress", {"progressToken": name, "progress": value}, side)


def cancelled(ident: Any, side: str = "c") -> Line:
    return tell("cancelled", {"requestId": ident}, side)


def related(ident: Any) -> Line:
    meta = {"io.modelcontextprotocol/related-task": {"taskId": "k1"}}
    return ask(ident, "elicitation/create", {"message": "which?", "_meta": meta}, "s")


def listen() -> list[Line]:
    done = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, "notifications": {}}
    return [ask26(1, "subscriptions/listen", {"notifications": {}}), tell("subscriptions/acknowledged", done)]


def message(number: int, one: Line) -> Message:
    client = one["dir"] == "c2s"
    parties = ("client", "server") if client else ("server", "client")
    return Message(id=f"m{number}", sender=parties[0], receivers=parties[1:], line=number, wire=one["rpc"])


def follow(
    lines: list[Line], options: dict[str, Any], cut: int | None = None
) -> tuple[list[Finding], list[Obligation]]:
    """What a tracker says of ``lines``; after ``cut`` of them it goes on from its state, as JSON."""
    findings: list[Finding] = []
    closed: list[Obligation] = []
    book = Book(closed.append)
    tracker = MCPTracker(book, options)
    for number, one in enumerate(lines, 1):
        book.seq = number
        said = tracker.see(message(number, one))
        if said is not OK:
            assert isinstance(said, tuple)
            assert said
            findings.extend(said)
        if number == cut:
            state = json.loads(json.dumps(tracker.state()))
            tracker = MCPTracker(book)
            tracker.restore(state)
    findings.extend(tracker.finish())
    book.finish(None)
    return findings, closed


def check(case: Case) -> None:
    """The log has these faults and these obligations, besides that of a first greeting with id 0, and no others."""
    found = Audited(text(case.lines), **case.options)
    assert found.faults() == sorted(case.faults)
    units = [one["rpc"] for one in case.lines]
    asked = [at for at, unit in enumerate(units, 1) if unit.get("method") == "initialize" and unit["id"] == 0]
    greeted = [at for at, unit in enumerate(units, 1) if "serverInfo" in unit.get("result", {})]
    greeting = [answer(0, asked[0], greeted[0])] if asked else []
    assert found.owed() == sorted([*greeting, *case.owed])
    whole = follow(case.lines, case.options)
    for cut in range(1, len(case.lines) + 1):  # wherever a log is split, going on from the state changes nothing
        assert follow(case.lines, case.options, cut) == whole
