"""Tasks of MCP 2025-11-25 and 2026-07-28: their life, and what breaks each rule of it."""

from __future__ import annotations

import pytest
from mcp_traffic import (
    ANSWERS,
    ERROR,
    FIRST,
    TASK,
    V11,
    Case,
    answer,
    ask,
    bad,
    cancelled,
    check,
    err,
    greet,
    made,
    made26,
    ok,
    on_task,
    polled,
    progress,
    related,
    task,
    tell,
)

G = greet(V11)
TASKS = [
    Case(
        "task done, result fetched",
        [
            *G,
            TASK,
            made(1),
            *polled(2, "working"),
            *polled(3, "completed"),
            ask(4, "tasks/result", {"taskId": "k1"}),
            ok(4),
        ],
        [],
        on_task(4, 5, "fulfilled", 9),
    ),
    Case("task still at work", [*G, TASK, made(1), *polled(2, "working")], [], on_task(4, 5)),
    Case("task failed", [*G, TASK, made(1), *polled(2, "failed")], [], on_task(4, 5, "declared:failed", 7)),
    Case(
        "told by a notification",
        [*G, TASK, made(1), tell("tasks/status", task("completed"))],
        [],
        on_task(4, 5, "fulfilled", 6),
    ),
    Case(
        "told by the result alone",
        [*G, TASK, made(1), ask(2, "tasks/result", {"taskId": "k1"}), ok(2)],
        [],
        on_task(4, 5, "fulfilled", 7),
    ),
    Case(
        "told by an error as result",
        [*G, TASK, made(1), ask(2, "tasks/result", {"taskId": "k1"}), ok(2, ERROR), *polled(3, "failed")],
        [],
        on_task(4, 5, "declared:failed", 7),
    ),
    Case(
        "2025: an error as result, then completed",
        [*G, TASK, made(1), ask(2, "tasks/result", {"taskId": "k1"}), ok(2, ERROR), *polled(3, "completed")],
        [bad(9, "mcp.iserror-status")],
        on_task(4, 5, "declared:failed", 7),
    ),
    Case(
        "2025: completed, then an error as result",
        [*G, TASK, made(1), *polled(2, "completed"), ask(3, "tasks/result", {"taskId": "k1"}), ok(3, ERROR)],
        [bad(9, "mcp.iserror-status")],
        on_task(4, 5, "fulfilled", 7),
    ),
    Case(
        "2025: failed, then an error as result",
        [*G, TASK, made(1), *polled(2, "failed"), ask(3, "tasks/result", {"taskId": "k1"}), ok(3, ERROR)],
        [],
        on_task(4, 5, "declared:failed", 7),
    ),
    *(
        Case(
            f"{first} stays {first}, and is not {second}",
            [*G, TASK, made(1), *polled(2, first), *polled(3, second), *polled(4, first)],
            [bad(9, "mcp.task-terminal-immutable")],
            on_task(4, 5, status, 7),
        )
        for first, status in (
            ("completed", "fulfilled"),
            ("failed", "declared:failed"),
            ("cancelled", "declared:cancelled"),
        )
        for second in ("working", "input_required", "completed", "failed", "cancelled")
        if first != second
    ),
    Case(
        "at work again after the result is out",
        [*G, TASK, made(1), ask(2, "tasks/result", {"taskId": "k1"}), ok(2), *polled(3, "working")],
        [bad(9, "mcp.task-terminal-immutable")],
        on_task(4, 5, "fulfilled", 7),
    ),
    Case(
        "a task must begin as working",
        [*G, TASK, made(1, "completed")],
        [bad(5, "mcp.task-illegal-move")],
        [answer(1, 4, None)],
    ),
    Case(
        "a status that nobody knows",
        [*G, TASK, made(1), *polled(2, "paused")],
        [bad(7, "mcp.task-illegal-move")],
        on_task(4, 5),
    ),
    Case(
        "a task id that is in use",
        [*G, TASK, made(1), ask(2, "tools/call", {"name": "count", "task": {}}), made(2)],
        [bad(7, "mcp.task-illegal-move")],
        [*on_task(4, 5), answer(2, 6, None)],
    ),
    Case(
        "input is given by the answer to the task's question",
        [
            *G,
            TASK,
            made(1),
            *polled(2, "input_required"),
            related("e"),
            ok("e", {"action": "accept"}, "c"),
            *polled(3, "working"),
        ],
        [],
        [*on_task(4, 5), ("k1", "input", "client", "server", 7, "fulfilled", 9), answer("e", 8, 9, side="s")],
    ),
    Case(
        "input is not needed any more",
        [*G, TASK, made(1), *polled(2, "input_required"), *polled(3, "completed")],
        [],
        [*on_task(4, 5, "fulfilled", 9), ("k1", "input", "client", "server", 7, "declared:released", 9)],
    ),
    Case(
        "cancelled as asked",
        [*G, TASK, made(1), ask(2, "tasks/cancel", {"taskId": "k1"}), ok(2, task("cancelled"))],
        [],
        [*on_task(4, 5, "declared:cancelled", 7), ("k1", "cancel", "server", "client", 6, "fulfilled", 7)],
    ),
    Case(
        "a task that has ended is not cancelled: -32602",
        [*G, TASK, made(1), *polled(2, "completed"), ask(3, "tasks/cancel", {"taskId": "k1"}), err(3, -32602)],
        [],
        [*on_task(4, 5, "fulfilled", 7), ("k1", "cancel", "server", "client", 8, "declared:not-understood", 9)],
    ),
    Case(
        "a task that has ended is cancelled all the same",
        [
            *G,
            TASK,
            made(1),
            *polled(2, "completed"),
            ask(3, "tasks/cancel", {"taskId": "k1"}),
            ok(3, task("cancelled")),
        ],
        [bad(9, "mcp.task-terminal-immutable")],
        [*on_task(4, 5, "fulfilled", 7), ("k1", "cancel", "server", "client", 8, "declared:refused", 9)],
    ),
    Case(
        "a task is not cancelled by a notification",
        [*G, TASK, made(1), cancelled(1)],
        [bad(6, "mcp.cancel-no-title", "client", "no-title")],
        on_task(4, 5),
    ),
    Case(
        "a poll that nobody answered",
        [*G, TASK, made(1), ask(2, "tasks/get", {"taskId": "k1"})],
        [],
        [*on_task(4, 5), ("k1", "rpc", "server", "client", 6, "pending", None)],
    ),
    Case(
        "tasks/list tells of all",
        [*G, TASK, made(1), ask(2, "tasks/list"), ok(2, {"tasks": [task("completed"), task("working", "other")]})],
        [],
        on_task(4, 5, "fulfilled", 7),
    ),
    Case(
        "the server's request becomes the client's task",
        [
            *G,
            ask("m", "sampling/createMessage", {"messages": [], "maxTokens": 1, "task": {}}, "s"),
            made("m", side="c"),
            ask("g", "tasks/get", {"taskId": "k1"}, "s"),
            ok("g", task("completed"), "c"),
        ],
        [],
        [
            ("k1", "answer", "client", "server", 4, "fulfilled", 5),
            ("k1", "performance", "client", "server", 5, "fulfilled", 7),
        ],
    ),
    Case(
        "progress goes on while the task does",
        [
            *G,
            ask(1, "tools/call", {"name": "count", "task": {}, "_meta": {"progressToken": "t"}}),
            made(1),
            progress("t", 1),
            *polled(2, "completed"),
            progress("t", 2),
        ],
        [bad(9, "mcp.progress-after-end")],
        on_task(4, 5, "fulfilled", 8),
    ),
]

NEWEST = [
    Case(
        "2026 task done",
        [FIRST, made26(1), *polled(2, "completed", result={"content": []})],
        [],
        on_task(1, 2, "fulfilled", 4),
    ),
    Case("2026 a task may begin as completed", [FIRST, made26(1, "completed")], [], on_task(1, 2, "fulfilled", 2)),
    Case(
        "2026 a tool error completes a task",
        [FIRST, made26(1), *polled(2, "completed", result=ERROR)],
        [],
        on_task(1, 2, "declared:failed", 4),
    ),
    Case(
        "2026 a tool error does not fail it",
        [FIRST, made26(1), *polled(2, "failed", result=ERROR)],
        [bad(4, "mcp.iserror-status")],
        on_task(1, 2),
    ),
    Case(
        "2026 an error of JSON-RPC does",
        [FIRST, made26(1), *polled(2, "failed", error={"code": -32603, "message": "no"})],
        [],
        on_task(1, 2, "declared:failed", 4),
    ),
    Case(
        "2026 a notification tells the end, a poll something else",
        [FIRST, made26(1), tell("tasks", task("cancelled")), *polled(2, "completed", result={})],
        [bad(5, "mcp.task-terminal-immutable")],
        on_task(1, 2, "declared:cancelled", 3),
    ),
    Case(
        "2026 tasks/update brings the input",
        [
            FIRST,
            made26(1),
            *polled(2, "input_required", inputRequests={"q": {}}),
            ask(3, "tasks/update", {"taskId": "k1", "inputResponses": ANSWERS}),
            ok(3, {"resultType": "complete"}),
            *polled(4, "input_required", inputRequests={"q": {}}),
            *polled(5, "completed", result={}),
        ],
        [],
        [*on_task(1, 2, "fulfilled", 10), ("k1", "input", "client", "server", 4, "fulfilled", 5)],
    ),
    Case(
        "2026 another question is another input",
        [
            FIRST,
            made26(1),
            *polled(2, "input_required", inputRequests={"q": {}}),
            ask(3, "tasks/update", {"taskId": "k1", "inputResponses": ANSWERS}),
            ok(3),
            *polled(4, "input_required", inputRequests={"q": {}, "r": {}}),
        ],
        [],
        [
            *on_task(1, 2),
            ("k1", "input", "client", "server", 4, "fulfilled", 5),
            ("k1", "input", "client", "server", 8, "pending", None),
        ],
    ),
    Case(
        "2026 tasks/cancel is only heard",
        [
            FIRST,
            made26(1),
            ask(2, "tasks/cancel", {"taskId": "k1"}),
            ok(2, {"resultType": "complete"}),
            *polled(3, "completed", result={}),
        ],
        [],
        [*on_task(1, 2, "fulfilled", 6), ("k1", "cancel", "server", "client", 3, "fulfilled", 4)],
    ),
]


@pytest.mark.parametrize("case", [*TASKS, *NEWEST], ids=[case.name for case in [*TASKS, *NEWEST]])
def test_these_faults_and_obligations_and_no_others(case: Case) -> None:
    check(case)
