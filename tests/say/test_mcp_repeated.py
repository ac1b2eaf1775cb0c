"""MCP 2026-07-28: requests that are repeated with answers, subscriptions, and what the server may not do."""

from __future__ import annotations

import pytest
from mcp_traffic import (
    ANSWERS,
    ASKED,
    CHAIN,
    CHAIN_WAITS,
    FIRST,
    QUESTION,
    Case,
    again,
    answer,
    ask26,
    bad,
    cancelled,
    check,
    listen,
    ok,
    progress,
    tell,
)

NEWEST = [
    Case("2026 answered", [FIRST, ok(1, {"resultType": "complete"})], [], [answer(1, 1, 2)]),
    Case("2026 an old server says no resultType", [FIRST, ok(1)], [], [answer(1, 1, 2)]),
    Case(
        "2026 no greeting is needed",
        [ask26(1, "server/discover"), ok(1), ask26(2, "tools/list"), ok(2)],
        [],
        [answer(1, 1, 2), answer(2, 3, 4)],
    ),
    Case("2026 answered twice", [FIRST, ok(1), ok(1)], [bad(3, "rpc.answered-twice")], [answer(1, 1, 2)]),
    Case("2026 orphan", [FIRST, ok(9), ok(1)], [bad(2, "rpc.orphan-response", verdict="no-title")], [answer(1, 1, 3)]),
    Case("2026 id reused", [FIRST, again(1), ok(1)], [bad(2, "rpc.id-reused", "client")], [answer(1, 1, 3)]),
    Case(
        "2026 the server may not ask",
        [FIRST, QUESTION, ok("e", {"action": "accept"}, "c"), ok(1)],
        [bad(2, "mcp.server-request")],
        [answer(1, 1, 4)],
    ),
    Case(
        "2026 it asks by its answer",
        [FIRST, ASKED, again(2, inputResponses=ANSWERS, requestState="abc"), ok(2)],
        [],
        CHAIN,
    ),
    Case("2026 nobody answered its question", [FIRST, ASKED], [], CHAIN_WAITS),
    Case(
        "2026 repeated under the same id",
        [FIRST, ASKED, again(1, inputResponses=ANSWERS, requestState="abc"), ok(1)],
        [bad(3, "mcp.mrtr-same-id", "client")],
        CHAIN_WAITS,
    ),
    Case(
        "2026 the state is missing",
        [FIRST, ASKED, again(2, inputResponses=ANSWERS), ok(2)],
        [bad(3, "mcp.mrtr-state-not-echoed", "client")],
        CHAIN_WAITS,
    ),
    Case(
        "2026 the state was changed",
        [FIRST, ASKED, again(2, inputResponses=ANSWERS, requestState="xyz"), ok(2)],
        [bad(3, "mcp.mrtr-state-not-echoed", "client")],
        CHAIN_WAITS,
    ),
    Case(
        "2026 a state that nobody gave",
        [
            FIRST,
            ok(1, {"resultType": "input_required", "inputRequests": {"q": {}}}),
            again(2, inputResponses=ANSWERS, requestState="abc"),
            ok(2),
        ],
        [bad(3, "mcp.mrtr-state-not-echoed", "client")],
        CHAIN_WAITS,
    ),
    Case(
        "2026 no state, none echoed",
        [
            FIRST,
            ok(1, {"resultType": "input_required", "inputRequests": {"q": {}}}),
            again(2, inputResponses=ANSWERS),
            ok(2),
        ],
        [],
        CHAIN,
    ),
    Case(
        "2026 declined",
        [FIRST, ASKED, again(2, inputResponses={"q": {"action": "decline"}}, requestState="abc"), ok(2)],
        [],
        [CHAIN[0], ("chain:1", "input", "client", "server", 2, "declared:refused", 3), CHAIN[2]],
    ),
    Case(
        "2026 come again later: a state and no question",
        [FIRST, ok(1, {"resultType": "input_required", "requestState": "s"}), again(2, requestState="s"), ok(2)],
        [],
        [CHAIN[0], CHAIN[2]],
    ),
    Case(
        "2026 asked back twice",
        [
            FIRST,
            ASKED,
            again(2, inputResponses=ANSWERS, requestState="abc"),
            ok(2, {"resultType": "input_required", "inputRequests": {"r": {}}, "requestState": "def"}),
            again(3, inputResponses={"r": {"action": "accept"}}, requestState="def"),
            ok(3),
        ],
        [],
        [
            *CHAIN,
            ("chain:1", "input", "client", "server", 4, "fulfilled", 5),
            ("chain:1", "answer", "server", "client", 5, "fulfilled", 6),
        ],
    ),
    Case(
        "2026 two chains at once are told apart",
        [
            FIRST,
            ASKED,
            again(5),
            ok(5, {"resultType": "input_required", "inputRequests": {"z": {}}, "requestState": "other"}),
            again(6, inputResponses={"z": {"action": "accept"}}, requestState="other"),
            again(2, inputResponses=ANSWERS, requestState="abc"),
        ],
        [],
        [
            CHAIN[0],
            ("chain:1", "input", "client", "server", 2, "fulfilled", 6),
            ("chain:1", "answer", "server", "client", 6, "pending", None),
            ("chain:5", "answer", "server", "client", 3, "fulfilled", 4),
            ("chain:5", "input", "client", "server", 4, "fulfilled", 5),
            ("chain:5", "answer", "server", "client", 5, "pending", None),
        ],
    ),
    Case(
        "2026 another request in between is none of it",
        [FIRST, ASKED, ask26(2, "tools/call", {"name": "other"}), ok(2)],
        [],
        [*CHAIN_WAITS, answer(2, 3, 4)],
    ),
    Case("2026 cancelled by the client", [FIRST, cancelled(1)], [], [answer(1, 1, 2, "declared:cancelled")]),
    Case(
        "2026 the server may not cancel",
        [FIRST, cancelled(1, "s"), ok(1)],
        [bad(2, "mcp.cancel-no-title", verdict="no-title")],
        [answer(1, 1, 3)],
    ),
    Case(
        "2026 but for a subscription",
        [
            *listen(),
            tell("tools/list_changed", {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}),
            cancelled(1, "s"),
        ],
        [],
        [answer(1, 1, 2), ("rpc:c:1", "performance", "server", "client", 2, "declared:cancelled", 4)],
    ),
    Case(
        "2026 a subscription goes on",
        listen(),
        [],
        [answer(1, 1, 2), ("rpc:c:1", "performance", "server", "client", 2, "pending", None)],
    ),
    Case(
        "2026 a subscription ends",
        [*listen(), ok(1)],
        [],
        [answer(1, 1, 2), ("rpc:c:1", "performance", "server", "client", 2, "fulfilled", 3)],
    ),
    Case(
        "2026 progress for nobody", [FIRST, progress("x", 1), ok(1)], [bad(2, "mcp.progress-orphan")], [answer(1, 1, 3)]
    ),
]


@pytest.mark.parametrize("case", NEWEST, ids=[case.name for case in NEWEST])
def test_these_faults_and_obligations_and_no_others(case: Case) -> None:
    check(case)
