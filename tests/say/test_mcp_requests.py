"""Requests, cancellations, progress and the greeting of MCP: what breaks each rule, and a twin that does not."""

from __future__ import annotations

import pytest
from mcp_traffic import (
    CALL,
    ERROR,
    QUESTION,
    V06,
    V11,
    Case,
    answer,
    ask,
    bad,
    cancelled,
    check,
    err,
    greet,
    ok,
    progress,
    tell,
    token,
)

BOTH: list[Case] = []
"""Cases that hold for both versions that greet."""
for version in (V06, V11):
    G = greet(version)
    BOTH += [
        Case(f"{version} answered", [*G, CALL, ok(1)], [], [answer(1, 4, 5)]),
        Case(f"{version} unanswered", [*G, CALL], [], [answer(1, 4, None)]),
        Case(f"{version} refused", [*G, CALL, err(1, -32000)], [], [answer(1, 4, 5, "declared:refused")]),
        Case(f"{version} failed", [*G, CALL, err(1, -32603)], [], [answer(1, 4, 5, "declared:failed")]),
        Case(f"{version} garbled", [*G, CALL, err(1, -32602)], [], [answer(1, 4, 5, "declared:not-understood")]),
        Case(f"{version} tool error", [*G, CALL, ok(1, ERROR)], [], [answer(1, 4, 5, "declared:failed")]),
        Case(
            f"{version} answered twice",
            [*G, CALL, ok(1), ok(1)],
            [bad(6, "rpc.answered-twice")],
            [answer(1, 4, 5)],
        ),
        Case(
            f"{version} orphan",
            [*G, CALL, ok(9), ok(1)],
            [bad(5, "rpc.orphan-response", verdict="no-title")],
            [answer(1, 4, 6)],
        ),
        Case(
            f"{version} id reused while open",
            [*G, CALL, CALL, ok(1)],
            [bad(5, "rpc.id-reused", "client")],
            [answer(1, 4, 6)],
        ),
        Case(
            f"{version} id reused later; its answer is no orphan",
            [*G, CALL, ok(1), CALL, ok(1)],
            [bad(6, "rpc.id-reused", "client")],
            [answer(1, 4, 5)],
        ),
        Case(
            f"{version} two name spaces",
            [*G, CALL, ask(1, "roots/list", None, "s"), ok(1, {"roots": []}, "c"), ok(1)],
            [],
            [answer(1, 4, 7), answer(1, 5, 6, side="s")],
        ),
        Case(
            f"{version} number and text are two ids",
            [*G, CALL, ask("1", "ping"), ok("1"), ok(1)],
            [],
            [answer(1, 4, 7), answer(1, 5, 6)],
        ),
        Case(
            f"{version} notification answered",
            [*G, tell("roots/list_changed", side="c"), ok(None)],
            [bad(5, "rpc.notification-answered")],
        ),
        Case(
            f"{version} notification refused without an id",
            [*G, tell("strange", side="c"), err(None, -32601)],
            [bad(5, "rpc.notification-answered")],
        ),
        Case(
            f"{version} notification with an id, answered",
            [*G, ask(5, "notifications/roots/list_changed"), ok(5)],
            [bad(5, "rpc.notification-answered")],
        ),
        Case(f"{version} an unreadable request is answered without an id", [*G, err(None, -32700)]),
        Case(
            f"{version} before the answer to initialize",
            [G[0], CALL, G[1], G[2], ok(1)],
            [bad(2, "mcp.before-initialized", "client")],
        ),
        Case(
            f"{version} before initialized",
            [*G[:2], CALL, G[2], ok(1)],
            [bad(3, "mcp.before-initialized", "client")],
        ),
        Case(
            f"{version} before initialize",
            [CALL, *greet(version), ok(1)],
            [bad(1, "mcp.before-initialized", "client")],
        ),
        Case(
            f"{version} the server asks before initialized",
            [*G[:2], QUESTION, G[2], ok("e", {"action": "accept"}, "c")],
            [bad(3, "mcp.before-initialized", "server")],
        ),
        Case(
            f"{version} ping and log messages may come before",
            [G[0], ask("p", "ping"), ok("p"), G[1], tell("message", {"level": "info", "data": 1}), G[2]],
            [],
            [answer("p", 2, 3)],
        ),
        Case(
            f"{version} cancelled by who asked",
            [*G, CALL, cancelled(1)],
            [],
            [answer(1, 4, 5, "declared:cancelled")],
        ),
        Case(
            f"{version} cancelled by the other",
            [*G, CALL, cancelled(1, "s"), ok(1)],
            [bad(5, "mcp.cancel-no-title", verdict="no-title")],
            [answer(1, 4, 6)],
        ),
        Case(
            f"{version} the client cancels what the server asked",
            [*G, QUESTION, cancelled("e")],
            [bad(5, "mcp.cancel-no-title", "client", "no-title")],
            [answer("e", 4, None, side="s")],
        ),
        Case(
            f"{version} the server cancels what it asked",
            [*G, QUESTION, cancelled("e", "s")],
            [],
            [answer("e", 4, 5, "declared:cancelled", "s")],
        ),
        Case(f"{version} cancelled when answered: a race", [*G, CALL, ok(1), cancelled(1)], [], [answer(1, 4, 5)]),
        Case(
            f"{version} cancel of nothing",
            [*G, cancelled(77)],
            [bad(4, "mcp.cancel-no-title", "client", "no-title")],
        ),
        Case(
            f"{version} initialize cancelled",
            [G[0], cancelled(0), *G[1:]],
            [bad(2, "mcp.cancel-initialize", "client")],
        ),
        Case(
            f"{version} answer after cancel",
            [*G, CALL, cancelled(1), ok(1)],
            [(6, "ok", "mcp.answer-after-cancel", "server", "info")],
            [answer(1, 4, 5, "declared:cancelled")],
        ),
        Case(
            f"{version} progress",
            [*G, token(1, "t"), progress("t", 1), progress("t", 1.5), ok(1)],
            [],
            [answer(1, 4, 7)],
        ),
        Case(
            f"{version} progress for nobody",
            [*G, token(1, "t"), progress("x", 1), ok(1)],
            [bad(5, "mcp.progress-orphan")],
            [answer(1, 4, 6)],
        ),
        Case(
            f"{version} progress: 7 is not the token '7'",
            [*G, token(1, "7"), progress(7, 1), ok(1)],
            [bad(5, "mcp.progress-orphan")],
            [answer(1, 4, 6)],
        ),
        Case(
            f"{version} progress stands still; what was set aside sets no mark",
            [*G, token(1, 7), progress(7, 2), progress(7, 2), progress(7, 1), progress(7, 3), ok(1)],
            [bad(6, "mcp.progress-not-increasing"), bad(7, "mcp.progress-not-increasing")],
            [answer(1, 4, 9)],
        ),
        Case(
            f"{version} progress after the end",
            [*G, token(1, "t"), ok(1), progress("t", 1)],
            [bad(6, "mcp.progress-after-end")],
            [answer(1, 4, 5)],
        ),
        Case(
            f"{version} progress crosses a cancellation",
            [*G, token(1, "t"), cancelled(1), progress("t", 1)],
            [],
            [answer(1, 4, 5, "declared:cancelled")],
        ),
        Case(
            f"{version} a token may be used again when it is free",
            [*G, token(1, "t"), progress("t", 5), ok(1), token(2, "t"), progress("t", 1), ok(2)],
            [],
            [answer(1, 4, 6), answer(2, 7, 9)],
        ),
        *(
            Case(
                f"{version} elicitation: {action}",
                [*G, QUESTION, ok("e", {"action": action}, "c")],
                [],
                [answer("e", 4, 5, status, "s")],
            )
            for action, status in (
                ("accept", "fulfilled"),
                ("decline", "declared:refused"),
                ("cancel", "declared:cancelled"),
            )
        ),
    ]


@pytest.mark.parametrize("case", BOTH, ids=[case.name for case in BOTH])
def test_these_faults_and_obligations_and_no_others(case: Case) -> None:
    check(case)
