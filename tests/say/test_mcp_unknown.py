"""MCP logs without a version, with one by option, and parts of connections."""

from __future__ import annotations

import pytest
from mcp_traffic import (
    CALL,
    QUESTION,
    V11,
    Case,
    answer,
    ask,
    bad,
    cancelled,
    check,
    greet,
    made,
    ok,
    on_task,
    polled,
    progress,
    task,
)

UNKNOWN = [
    Case("no version: requests and answers", [CALL, ok(1)], [], [answer(1, 1, 2)]),
    Case("no version: answered twice", [CALL, ok(1), ok(1)], [bad(3, "rpc.answered-twice")], [answer(1, 1, 2)]),
    Case("no version: id reused", [CALL, CALL], [bad(2, "rpc.id-reused", "client")], [answer(1, 1, None)]),
    Case("no version: no rule of MCP", [CALL, progress("x", 1), cancelled(1, "s"), ok(1)], [], [answer(1, 1, 4)]),
    Case(
        "no version: a task may do anything",
        [CALL, made(1), *polled(2, "completed"), *polled(3, "working")],
        [],
        on_task(1, 2, "fulfilled", 4),
    ),
    Case(
        "version by option",
        [CALL, progress("x", 1), ok(1)],
        [bad(2, "mcp.progress-orphan")],
        [answer(1, 1, 3)],
        {"version": V11},
    ),
    Case(
        "version by option: 2026",
        [CALL, QUESTION, ok(1)],
        [bad(2, "mcp.server-request")],
        [answer(1, 1, 3)],
        {"version": "2026-07-28"},
    ),
    Case("a part of a connection, by option, is not too early", [CALL, ok(1)], [], [answer(1, 1, 2)], {"version": V11}),
    Case(
        "but a whole one is",
        [CALL, ok(1)],
        [bad(1, "mcp.before-initialized", "client")],
        [],
        {"version": V11, "complete": True},
    ),
    Case(
        "an older request was answered before this greeting",
        [CALL, ok(1), *greet(ident=7)],
        [],
        [answer(1, 1, 2), answer(7, 3, 4)],
    ),
    Case("only answers were captured", [ok(1), ok(2)]),
    Case(
        "answers before the first request are orphans",
        [ok(5), CALL, ok(1)],
        [bad(1, "rpc.orphan-response", verdict="no-title")],
        [answer(1, 2, 3)],
    ),
    Case(
        "of captured answers, a task's promise is seen",
        [ok(1, task("working"))],
        [],
        [("k1", "performance", "server", "client", 1, "pending", None)],
    ),
    Case(
        "a second greeting begins anew",
        [*greet(), CALL, ok(1), *greet(), CALL, ok(1)],
        [],
        [answer(1, 4, 5), answer(0, 6, 7), answer(1, 9, 10)],
    ),
    Case(
        "what is open may be answered after a second greeting",
        [*greet(), ask(8, "tools/list"), *greet(), ok(8)],
        [],
        [answer(8, 4, 8), answer(0, 5, 6)],
    ),
    Case(
        "neither request nor answer",
        [{"dir": "c2s", "rpc": {"jsonrpc": "2.0", "id": 1}}],
        [bad(1, "rpc.malformed", "client", "void")],
    ),
]


@pytest.mark.parametrize("case", UNKNOWN, ids=[case.name for case in UNKNOWN])
def test_these_faults_and_obligations_and_no_others(case: Case) -> None:
    check(case)
