"""MCP: deadlines of tasks; random traffic never raises; splitting a log and going on from the state changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_traffic import META, V06, V11, V26, Audited, Line, ask, follow, greet, line, made, polled, source, text

from dissensus.errors import UsageError
from dissensus.say.book import Book
from dissensus.say.readers.base import Options
from dissensus.say.readers.mcp import READER
from dissensus.say.verdicts import Obligation
from dissensus.say.wire.mcp import MCPTracker

BEGIN = 1_767_603_600.0  # 2026-01-05T09:00:00Z, the time at which the tasks of these tests were created


def timed(*seconds_and_lines: tuple[float, Line]) -> str:
    return text({**one, "at": BEGIN + after} for after, one in seconds_and_lines)


def slow(*more: tuple[float, Line], ttl: float | None = 60_000) -> str:
    task = ask(1, "tools/call", {"name": "count", "task": {"ttl": 5}})
    return timed(*((0, one) for one in greet()), (0, task), (0, made(1, ttl=ttl)), *more)


def promise(found: Audited) -> Obligation:
    return next(one for one in found.obligations if one.kind == "performance")


@pytest.mark.parametrize(("after", "status"), [(60, "pending"), (61, "expired")])
def test_a_task_expires_when_its_ttl_is_over_and_not_before(after: float, status: str) -> None:
    owed = promise(Audited(slow(), as_of=BEGIN + after))
    assert (owed.status, owed.deadline, owed.deadline_source) == (status, BEGIN + 60, "policy")


def test_without_an_end_of_its_keeping_a_task_is_pending_for_ever() -> None:
    assert promise(Audited(slow(ttl=None), as_of=BEGIN + 1e9)).status == "pending"


def test_the_owner_may_keep_a_task_longer() -> None:
    longer = polled(2, "working", ttl=600_000)
    assert promise(Audited(slow((1, longer[0]), (1, longer[1])), as_of=BEGIN + 500)).status == "pending"


def test_a_result_after_the_ttl_is_late_and_nobody_is_at_fault() -> None:
    done = polled(2, "completed")
    found = Audited(slow((90, done[0]), (90, done[1])))
    owed = promise(found)
    assert (owed.status, owed.closed_line, owed.late_by_s) == ("expired", 7, 30.0)
    assert found.faults() == [(7, "late", "deadline", "server", "warning")]


def test_without_times_in_the_log_the_servers_clock_counts() -> None:
    content = text([*greet(), ask(1, "tools/call", {"task": {}}), made(1, ttl=60_000)])
    assert promise(Audited(content, as_of=BEGIN + 59)).status == "pending"
    assert promise(Audited(content, as_of=BEGIN + 61)).status == "expired"


def test_a_promise_is_violated_where_the_conversation_is_known_to_be_over() -> None:
    assert promise(Audited(slow(ttl=None), closed=True)).status == "violated"


def test_a_version_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="2025-11-25"):
        MCPTracker(Book(), {"version": "2025-11-2"})


IDS = st.sampled_from([0, 1, 2, "1", "e"])
NAMES = st.sampled_from(["k1", "k2"])
STATUSES = st.sampled_from(["working", "input_required", "completed", "failed", "cancelled", "paused"])
VERSIONS = st.sampled_from([V06, V11, V26, "someday"])
TASKS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"taskId": NAMES, "status": STATUSES},
    optional={
        "ttl": st.sampled_from([None, 5, 60_000]),
        "inputRequests": st.sampled_from([{"q": {}}, {"q": {}, "r": {}}]),
        "result": st.sampled_from([{}, {"isError": True}]),
    },
)
SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b"]),
        "taskId": NAMES,
        "task": st.just({"ttl": 9}),
        "requestId": IDS,
        "progressToken": IDS,
        "progress": st.integers(0, 4),
        "inputResponses": st.sampled_from([{"q": {"action": "accept"}}, {"q": {"action": "decline"}}, {}]),
        "requestState": st.sampled_from(["x", "y"]),
        "protocolVersion": VERSIONS,
        "_meta": st.sampled_from(
            [META, {"progressToken": 1}, {"io.modelcontextprotocol/related-task": {"taskId": "k1"}}]
        ),
    },
)
RESULTS = st.one_of(
    st.just({}),
    st.just({"isError": True}),
    TASKS,
    TASKS.map(lambda task: {"task": task}),
    TASKS.map(lambda task: {"resultType": "task", **task}),
    st.lists(TASKS, max_size=2).map(lambda tasks: {"tasks": tasks}),
    st.just({"action": "cancel"}),
    st.fixed_dictionaries({"protocolVersion": VERSIONS, "serverInfo": st.just({})}),
    st.sampled_from(
        [
            {"resultType": "input_required", "inputRequests": {"q": {}}, "requestState": "x"},
            {"resultType": "input_required", "requestState": "y"},
            {"resultType": "input_required", "inputRequests": {"q": {}}},
        ]
    ),
)
METHODS = st.sampled_from(
    [
        "initialize", "ping", "tools/call", "tools/call", "tools/list", "tasks/get", "tasks/list", "tasks/result",
        "tasks/update", "tasks/cancel", "elicitation/create", "subscriptions/listen", "notifications/odd",
    ]
)  # fmt: skip
TOLD = st.sampled_from(
    ["initialized", "cancelled", "progress", "tasks/status", "tasks", "subscriptions/acknowledged", "message"]
)
REQUESTS = st.builds(
    lambda ident, method, params: {"id": ident, "method": method, "params": params}, IDS, METHODS, SECTIONS
)
NOTES = st.builds(
    lambda method, params: {"method": f"notifications/{method}", "params": params}, TOLD, st.one_of(SECTIONS, TASKS)
)
ANSWERS = st.builds(lambda ident, result: {"id": ident, "result": result}, st.one_of(IDS, st.none()), RESULTS)
ERRORS = st.builds(
    lambda ident, code: {"id": ident, "error": {"code": code}},
    st.one_of(IDS, st.none()),
    st.sampled_from([-32603, -32602, 1]),
)
LINES = st.builds(line, st.sampled_from("cs"), st.one_of(REQUESTS, REQUESTS, NOTES, ANSWERS, ANSWERS, ERRORS))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)
ASKED = st.dictionaries(st.sampled_from(["taskId", "_meta", "requestId", "progressToken", "task"]), JSON)
GIVEN = st.dictionaries(st.sampled_from(["taskId", "status", "task", "resultType", "tasks"]), JSON)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "id": JSON,
        "method": st.one_of(METHODS, TOLD.map("notifications/{}".format), JSON),
        "params": st.one_of(ASKED, JSON),
        "result": st.one_of(GIVEN, JSON),
        "error": JSON,
    },
)


ODD = st.builds(lambda side, rpc: {"dir": side, "rpc": rpc}, st.sampled_from(["c2s", "s2c"]), st.one_of(PARTS, JSON))


OPTIONS = st.fixed_dictionaries({}, optional={"version": st.sampled_from([V06, V11, V26]), "complete": st.booleans()})


@given(st.lists(LINES, max_size=25), OPTIONS, st.data())
def test_going_on_from_the_state_changes_nothing(
    lines: list[Line], options: dict[str, Any], data: st.DataObject
) -> None:
    whole = follow(lines, options)
    for greeting in (V11, V26):
        begun = [*(greet() if greeting == V11 else []), *lines]
        assert follow(begun, options) == follow(begun, options, data.draw(st.integers(1, max(len(begun), 1))))
    assert follow(lines, options, data.draw(st.integers(1, max(len(lines), 1)))) == whole


@given(st.lists(LINES, max_size=25), OPTIONS)
def test_what_was_discarded_opens_and_closes_nothing(lines: list[Line], options: dict[str, Any]) -> None:
    findings, closed = follow(lines, options)
    discarded = {finding.id for finding in findings if finding.verdict in ("illegal", "no-title", "void")}
    requests = [
        f"m{number}"
        for number, one in enumerate(lines, 1)
        if not one["rpc"].get("method", "notifications/").startswith(("notifications/", "tasks/"))
    ]
    opened = sorted(one.opened_by for one in closed if one.kind == "answer")
    assert opened == sorted(set(requests) - discarded)
    assert not {one.opened_by for one in closed if one.kind != "answer"} & (discarded & set(requests))
    met = {one.closed_by for one in closed if one.kind in ("answer", "performance")} - {None}
    early = {finding.id for finding in findings if finding.rule in ("mcp.before-initialized", "rpc.id-reused")}
    assert not met & (discarded - early)
    assert all(1 <= finding.line <= len(lines) for finding in findings)
    assert all(one.closed_line == 0 or one.opened_line <= one.closed_line for one in closed)


@given(st.lists(ODD, max_size=12), OPTIONS)
def test_whatever_goes_over_the_wire_nothing_raises(lines: list[Line], options: dict[str, Any]) -> None:
    findings, _ = follow(lines, options)
    assert all(finding.rule for finding in findings)
    items = list(READER.read(source(text(lines)), Options(lenient=True)))
    assert len(items) >= len(lines) - 1  # a file of one object may be no message at all


@given(st.lists(LINES, max_size=20))
def test_an_audit_of_bare_units_never_raises(lines: list[Line]) -> None:
    found = Audited(text(one["rpc"] for one in lines))
    assert len(found.findings) <= 2 * len(lines)
