"""Each rule of A2A on both wires, beside a log that is almost the same and has no fault.

A case is a log in the short form of ``a2a_lines``, what is found in it, and all that anybody owes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from a2a_lines import log, owed, told, track

BOTH = ("0.3", "1.0")


class Case(NamedTuple):
    name: str
    log: str
    found: tuple[str, ...]
    owed: tuple[str, ...]
    wires: tuple[str, ...] = BOTH
    options: dict[str, Any] = {}  # noqa: RUF012 - never written to
    as_of: str | None = None


def case(name: str, text: str, found: str, due: str, *wires: str, as_of: str | None = None, **options: Any) -> Case:
    def rows(value: str) -> tuple[str, ...]:
        return tuple(row.strip() for row in value.split("|") if row.strip())

    return Case(name, text, rows(found), tuple(sorted(rows(due))), wires or BOTH, options, as_of)


DONE = "> stream 1 | < task 1 t1 c1 working | < status 1 t1 c1 completed +says"
"""A task that is over after three lines."""
KEPT = "t1 answer server 1-2 fulfilled | t1 performance server 2-3 fulfilled"
ASKS = "> stream 1 | < task 1 t1 c1 input-required"
"""A task that waits for the client after two lines."""

CASES = [
    # what each state makes somebody owe
    case("a message in answer", "> send 1 | < message 1 c1", "", "rpc:1 answer server 1-2 fulfilled"),
    case("a message in a stream", "> stream 1 | < message 1 c1", "", "rpc:1 answer server 1-2 fulfilled"),
    case("no answer", "> send 1", "", "rpc:1 answer server 1- pending"),
    case("submitted only acknowledges", "> stream 1 | < task 1 t1 submitted", "", "t1 answer server 1- pending ack=2"),
    case(
        "acknowledged twice: the first counts",
        "> stream 1 | < task 1 t1 submitted | < status 1 t1 submitted",
        "",
        "t1 answer server 1- pending ack=2",
    ),
    case(
        "working agrees",
        "> stream 1 | < task 1 t1 submitted | < status 1 t1 working",
        "",
        "t1 answer server 1-3 fulfilled | t1 performance server 3- pending",
    ),
    case("working, then completed", DONE, "", KEPT),
    case(
        "submitted, then completed",
        "> stream 1 | < task 1 t1 submitted | < status 1 t1 completed +says",
        "",
        "t1 answer server 1-3 fulfilled",
    ),
    case(
        "submitted, then failed",
        "> stream 1 | < task 1 t1 submitted | < status 1 t1 failed",
        "",
        "t1 answer server 1-3 declared:failed",
    ),
    case("failed at once", "> send 1 | < task 1 t1 failed", "", "t1 answer server 1-2 declared:failed"),
    case("rejected at once", "> send 1 | < task 1 t1 rejected", "", "t1 answer server 1-2 declared:refused"),
    case("canceled by the server", "> send 1 | < task 1 t1 canceled", "", "t1 answer server 1-2 declared:cancelled"),
    case(
        "working, then rejected",
        "> stream 1 | < task 1 t1 working | < status 1 t1 rejected",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 declared:refused",
    ),
    case(
        "working, then failed",
        "> stream 1 | < task 1 t1 working | < status 1 t1 failed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 declared:failed",
    ),
    case(
        "the same state again is no fault",
        "> stream 1 | < task 1 t1 working | < status 1 t1 working | < status 1 t1 working",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
    ),
    case(
        "an artifact closes nothing",
        "> stream 1 | < task 1 t1 working | < artifact 1 t1",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
    ),
    # errors
    case("internal error: failed", "> send 1 | < error 1 -32603", "", "rpc:1 answer server 1-2 declared:failed"),
    *(
        case(f"error {code}", f"> send 1 | < error 1 {code}", "", "rpc:1 answer server 1-2 declared:not-understood")
        for code in (-32700, -32600, -32601, -32602, -32005)
    ),
    *(
        case(f"error {code}", f"> stream 1 | < error 1 {code}", "", "rpc:1 answer server 1-2 declared:refused")
        for code in (-32001, -32003, -32004, -32006, -32000, 401)
    ),
    case(
        "an error to whom the server could not read",
        "> send 1 | < error null -32700",
        "",
        "rpc:1 answer server 1-2 declared:not-understood",
    ),
    case(
        "an error to nobody in particular",
        "> send 1 | > send 2 | < error null -32700",
        "",
        "rpc:1 answer server 1- pending | rpc:2 answer server 2- pending",
    ),
    case(
        "an error to a message to a task",
        f"{ASKS} | > send 2 t1 | < error 2 -32602",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 input client 2-3 fulfilled"
        " | t1 answer server 3-4 declared:not-understood",
    ),
    case("a result that says nothing", "> send 1 | < junk 1", "", "rpc:1 answer server 1- unknown"),
    # input and authorization
    case(
        "asked back, and the client has not said more",
        ASKS,
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended | t1 input client 2- pending",
    ),
    case(
        "the client has said more: the server owes again",
        f"{ASKS} | > stream 2 t1 c1",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 input client 2-3 fulfilled"
        " | t1 answer server 3- pending",
    ),
    case(
        "working, asked back, answered, done",
        "> stream 1 | < task 1 t1 working | < status 1 t1 input-required | > stream 2 t1 | < task 2 t1 working"
        " | < status 2 t1 completed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-6 fulfilled | t1 input client 3-4 fulfilled"
        " | t1 answer server 4-5 fulfilled",
    ),
    case(
        "asked back twice",
        f"{ASKS} | > stream 2 t1 | < task 2 t1 input-required | > stream 3 t1 | < task 3 t1 completed +art",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-6 fulfilled | t1 input client 2-3 fulfilled"
        " | t1 answer server 3-4 fulfilled | t1 input client 4-5 fulfilled | t1 answer server 5-6 fulfilled",
    ),
    case(
        "asked back, then completed without input: given up, no fault",
        f"{ASKS} | < status 1 t1 completed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 fulfilled | t1 input client 2-3 declared:released",
    ),
    case(
        "asked back, then failed",
        f"{ASKS} | < status 1 t1 failed",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 declared:failed"
        " | t1 input client 2-3 declared:released",
    ),
    case(
        "asked again while the input is still owed: one input",
        f"{ASKS} | < status 1 t1 input-required",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended | t1 input client 2- pending",
    ),
    case(
        "asking for the state of a task that waits opens nothing",
        f"{ASKS} | > get 2 t1 | < bare 2 t1 c1 input-required",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended | t1 input client 2- pending",
    ),
    case(
        "authorization is owed by the client",
        "> stream 1 | < task 1 t1 auth-required",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended"
        " | t1 authorization client 2- pending",
    ),
    case(
        "authorized elsewhere: working is legal without a message",
        "> stream 1 | < task 1 t1 auth-required | < status 1 t1 working",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 authorization client 2-3 fulfilled",
    ),
    case(
        "authorized by a message",
        "> stream 1 | < task 1 t1 auth-required | > stream 2 t1 | < task 2 t1 completed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 authorization client 2-3 fulfilled"
        " | t1 answer server 3-4 fulfilled",
    ),
    case(
        "never authorized",
        "> stream 1 | < task 1 t1 auth-required | < status 1 t1 rejected",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 declared:refused"
        " | t1 authorization client 2-3 declared:released",
    ),
    # messages to tasks
    case(
        "a message while the server works",
        "> stream 1 | < task 1 t1 working | > send 2 t1 now | < task 2 t1 working",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 answer server 3-4 fulfilled",
    ),
    case(
        "events of the first stream do not answer the second message",
        "> stream 1 | < task 1 t1 working | > stream 2 t1 | < status 1 t1 working | < artifact 1 t1",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 answer server 3- pending",
    ),
    case(
        "the end comes on both streams: the second time it answers",
        "> stream 1 | < task 1 t1 working | > stream 2 t1 | < status 1 t1 completed +says | < task 2 t1 completed",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 answer server 3-5 fulfilled",
    ),
    case(
        "a message in answer to a message to a task",
        "> stream 1 | < task 1 t1 working | > send 2 t1 | < message 2 c1",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 answer server 3-4 fulfilled",
    ),
    # the rule a2a.terminal-immutable
    case(
        "a finished task works again",
        f"{DONE} | < status 1 t1 c1 working",
        "4 illegal a2a.terminal-immutable server t1 violation",
        KEPT,
    ),
    *(
        case(
            f"a finished task is {state}",
            f"{DONE} | < status 1 t1 c1 {state}",
            "4 illegal a2a.terminal-immutable server t1 violation",
            KEPT,
        )
        for state in ("submitted", "input-required", "auth-required", "failed", "canceled", "rejected")
    ),
    case(
        "a failed task is completed",
        "> send 1 | < task 1 t1 failed | > get 2 t1 | < bare 2 t1 completed +art",
        "4 illegal a2a.terminal-immutable server t1 violation",
        "t1 answer server 1-2 declared:failed",
    ),
    case(
        "by a poll",
        f"{DONE} | > get 2 t1 | < bare 2 t1 c1 working",
        "5 illegal a2a.terminal-immutable server t1 violation",
        KEPT,
    ),
    case(
        "by a list",
        f"{DONE} | > list 2 | < tasks 2 t1=working",
        "5 illegal a2a.terminal-immutable server t1 violation",
        KEPT,
    ),
    case(
        "by a push",
        f"{DONE} | push status t1 working",
        "4 illegal a2a.terminal-immutable server t1 violation",
        KEPT,
    ),
    case(
        "by the answer to a later message, which stays owed",
        "> stream 1 | < task 1 t1 working | > send 2 t1 now | < status 1 t1 completed +says | < task 2 t1 working",
        "5 illegal a2a.terminal-immutable server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 answer server 3- pending",
    ),
    case("asked what became of it", f"{DONE} | > get 2 t1 | < bare 2 t1 c1 completed", "", KEPT),
    case("listed when it is over", f"{DONE} | > list 2 | < tasks 2 t1=completed", "", KEPT),
    # the rule a2a.event-after-terminal
    case(
        "an artifact of a finished task",
        f"{DONE} | < artifact 1 t1 c1",
        "4 illegal a2a.event-after-terminal server t1 violation",
        KEPT,
    ),
    case("an artifact before the end", "> stream 1 | < task 1 t1 working | < artifact 1 t1 | < status 1 t1 completed",
         "", "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled"),
    # the rule a2a.duplicate-terminal
    case(
        "the end twice in a stream",
        f"{DONE} | < status 1 t1 c1 completed +says",
        "4 duplicate a2a.duplicate-terminal server t1 info",
        KEPT,
    ),
    case(
        "the end in the stream and as a push",
        f"{DONE} | push task t1 completed",
        "4 duplicate a2a.duplicate-terminal server t1 info",
        KEPT,
    ),
    case("the end as a push alone", "> stream 1 | < task 1 t1 working | push status t1 completed +says", "", KEPT),
    case(
        "the end in two streams",
        "> stream 1 | < task 1 t1 working | > subscribe 2 t1 | < task 2 t1 working | < status 2 t1 completed +says"
        " | < status 1 t1 completed +says",
        "6 duplicate a2a.duplicate-terminal server t1 info",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-5 fulfilled",
    ),
    # the rule a2a.message-to-terminal
    case(
        "a message to a finished task, refused",
        f"{DONE} | > send 2 t1 c1 | < error 2 -32004",
        "4 illegal a2a.message-to-terminal client t1 violation",
        KEPT,
    ),
    case(
        "a message to a finished task, in a stream, unanswered",
        f"{DONE} | > stream 2 t1",
        "4 illegal a2a.message-to-terminal client t1 violation",
        KEPT,
    ),
    case(
        "a message to a finished task, and a new task is made for it",
        f"{DONE} | > stream 2 t1 | < task 2 t2 working",
        "4 illegal a2a.message-to-terminal client t1 violation",
        f"{KEPT} | t2 performance server 5- pending",
    ),
    case("a new message after the end", f"{DONE} | > send 2 c1 | < message 2 c1", "",
         f"{KEPT} | rpc:2 answer server 4-5 fulfilled"),
    # the rule a2a.unknown-task
    case(
        "a message to a task that nobody made, refused",
        "> send 1 t9 | < error 1 -32001",
        "1 illegal a2a.unknown-task client t9 violation",
        "",
        complete=True,
    ),
    case(
        "a message to a task that nobody made, and a task is made",
        "> stream 1 t9 | < task 1 t9 working",
        "1 illegal a2a.unknown-task client t9 violation | 2 ok a2a.unknown-task server t9 violation",
        "t9 performance server 2- pending",
        complete=True,
    ),
    case(
        "the log may have begun late",
        "> stream 1 t9 | < task 1 t9 working",
        "",
        "t9 answer server 1-2 fulfilled | t9 performance server 2- pending",
    ),
    case(
        "complete, and the task is known",
        "> stream 1 | < task 1 t1 working | > stream 2 t1 | < task 2 t1 completed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 answer server 3-4 fulfilled",
        complete=True,
    ),
    case(
        "cancelling a task that nobody made",
        "> cancel 1 t9 | < error 1 -32001",
        "1 illegal a2a.unknown-task client t9 violation",
        "",
        complete=True,
    ),
    # the rule a2a.context-mismatch
    case(
        "a message in another context, refused",
        f"{ASKS} | > send 2 t1 c2 | < error 2 -32602",
        "3 illegal a2a.context-mismatch client t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended | t1 input client 2- pending",
    ),
    case(
        "a message in another context, accepted",
        "> stream 1 | < task 1 t1 c1 working | > send 2 t1 c2 | < task 2 t1 c1 completed +art",
        "3 illegal a2a.context-mismatch client t1 violation | 4 ok a2a.context-mismatch server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled",
    ),
    case(
        "the server changes the context",
        "> stream 1 | < task 1 t1 c1 working | < status 1 t1 c2 completed +says",
        "3 ok a2a.context-mismatch server t1 violation",
        KEPT,
    ),
    case(
        "the context is left out",
        f"{ASKS} | > send 2 t1 | < task 2 t1 completed +art",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 input client 2-3 fulfilled"
        " | t1 answer server 3-4 fulfilled",
    ),
    # the rule a2a.unknown-state
    *(
        case(
            f"the state {raw}",
            f"> stream 1 | < task 1 t1 working | < status 1 t1 !{raw}",
            "3 illegal a2a.unknown-state server t1 violation",
            "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
        )
        for raw in ("TASK_STATE_UNSPECIFIED", "unknown", "done", "TASK_STATE_CANCELLED", "Completed", "in_progress")
    ),
    case("the other wire's state", "> stream 1 | < task 1 t1 !TASK_STATE_WORKING",
         "2 illegal a2a.unknown-state server t1 violation", "rpc:1 answer server 1- pending", "0.3"),
    case("the other wire's state", "> stream 1 | < task 1 t1 !working",
         "2 illegal a2a.unknown-state server t1 violation", "rpc:1 answer server 1- pending", "1.0"),
    case("no state", "> stream 1 | < task 1 t1", "2 illegal a2a.unknown-state server t1 violation",
         "rpc:1 answer server 1- pending"),
    # the rule a2a.stream-first-event
    case(
        "a stream begins with a status",
        "> stream 1 | < status 1 t1 working | < status 1 t1 completed +says",
        "2 ok a2a.stream-first-event server t1 violation",
        KEPT,
    ),
    case(
        "a stream begins with an artifact",
        "> stream 1 | < artifact 1 t1 | < status 1 t1 completed",
        "2 ok a2a.stream-first-event server t1 violation",
        "t1 answer server 1-3 fulfilled",
    ),
    case(
        "a subscription of 1.0 begins with a status",
        "> stream 1 | < task 1 t1 working | > subscribe 2 t1 | < status 2 t1 working",
        "4 ok a2a.stream-first-event server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
        "1.0",
    ),
    case(
        "a subscription of 0.3 goes on where the stream broke off",
        "> stream 1 | < task 1 t1 working | > subscribe 2 t1 | < status 2 t1 working | < status 2 t1 completed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-5 fulfilled",
        "0.3",
    ),
    case(
        "a subscription begins with the task",
        "> stream 1 | < task 1 t1 working | > subscribe 2 t1 | < task 2 t1 working | < status 2 t1 completed +says",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-5 fulfilled",
    ),
    # the rule a2a.message-stream-extra
    case(
        "a second message in a stream",
        "> stream 1 | < message 1 c1 | < message 1 c1",
        "3 illegal a2a.message-stream-extra server rpc:1 violation",
        "rpc:1 answer server 1-2 fulfilled",
    ),
    case(
        "an event after a message in its stream",
        "> stream 1 | < message 1 c1 | < status 1 t1 working",
        "3 illegal a2a.message-stream-extra server rpc:1 violation",
        "rpc:1 answer server 1-2 fulfilled",
    ),
    # the rule a2a.blocking-returned-early
    *(
        case(
            f"answered while {state}",
            f"> send 1 | < task 1 t1 {state}",
            "2 ok a2a.blocking-returned-early server t1 violation",
            due,
            "1.0",
        )
        for state, due in (
            ("submitted", "t1 answer server 1- pending ack=2"),
            ("working", "t1 answer server 1-2 fulfilled | t1 performance server 2- pending"),
        )
    ),
    case("0.3 has no such rule", "> send 1 | < task 1 t1 working", "",
         "t1 answer server 1-2 fulfilled | t1 performance server 2- pending", "0.3"),
    case("the client does not wait", "> send 1 now | < task 1 t1 working", "",
         "t1 answer server 1-2 fulfilled | t1 performance server 2- pending"),
    case("a stream may begin with a task at work", "> stream 1 | < task 1 t1 working", "",
         "t1 answer server 1-2 fulfilled | t1 performance server 2- pending"),
    case("an interrupted task may be the answer", "> send 1 | < task 1 t1 input-required", "",
         "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended | t1 input client 2- pending"),
    # the rule a2a.self-resume
    case(
        "the server goes on without the input that it asked for",
        f"{ASKS} | < status 1 t1 working",
        "3 ok a2a.self-resume server t1 warning",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 input client 2-3 declared:released",
    ),
    case(
        "the server goes on with it",
        f"{ASKS} | > stream 2 t1 | < task 2 t1 working",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 input client 2-3 fulfilled"
        " | t1 answer server 3-4 fulfilled",
    ),
    # the rule a2a.back-to-submitted
    case(
        "back to submitted",
        "> stream 1 | < task 1 t1 working | < status 1 t1 submitted",
        "3 ok a2a.back-to-submitted server t1 warning",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
    ),
    # the rule a2a.empty-delivery
    case("completed with nothing", "> send 1 | < task 1 t1 completed", "2 ok a2a.empty-delivery server t1 warning",
         "t1 answer server 1-2 fulfilled"),
    case("completed with nothing but the client's words", "> send 1 | < task 1 t1 completed +asked",
         "2 ok a2a.empty-delivery server t1 warning", "t1 answer server 1-2 fulfilled"),
    case("completed with an artifact", "> send 1 | < task 1 t1 completed +art", "", "t1 answer server 1-2 fulfilled"),
    case("completed with a message", "> send 1 | < task 1 t1 completed +says", "", "t1 answer server 1-2 fulfilled"),
    case("completed with a message in the history", "> send 1 | < task 1 t1 completed +told", "",
         "t1 answer server 1-2 fulfilled"),
    case("failed with nothing", "> send 1 | < task 1 t1 failed", "", "t1 answer server 1-2 declared:failed"),
    case(
        "lists leave artifacts out",
        "> stream 1 | < task 1 t1 working | > list 2 | < tasks 2 t1=completed",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled",
    ),
    # the rule a2a.mixed-wire
    case("answered on the other wire", "> stream 1 | 1.0: < task 1 t1 working",
         "2 ok a2a.mixed-wire server t1 warning",
         "t1 answer server 1-2 fulfilled | t1 performance server 2- pending", "0.3"),
    case("answered on the other wire", "> stream 1 | 0.3: < task 1 t1 working",
         "2 ok a2a.mixed-wire server t1 warning",
         "t1 answer server 1-2 fulfilled | t1 performance server 2- pending", "1.0"),
    case("a message on the other wire", "> send 1 | 0.3: < message 1 c1", "2 ok a2a.mixed-wire server rpc:1 warning",
         "rpc:1 answer server 1-2 fulfilled", "1.0"),
    case("a poll on the other wire", f"{DONE} | > get 2 t1 | 0.3: < bare 2 t1 c1 completed",
         "5 ok a2a.mixed-wire server t1 warning", KEPT, "1.0"),
    case("two clients on two wires", f"{DONE} | 0.3: > send 2 | 0.3: < task 2 t2 completed +art", "",
         f"{KEPT} | t2 answer server 4-5 fulfilled"),
    # rpc rules
    case(
        "an answer to nobody",
        "> send 1 | < message 99 c1 | < message 1 c1",
        "2 no-title rpc.orphan-response server rpc:99 violation",
        "rpc:1 answer server 1-3 fulfilled",
    ),
    case(
        "an error to nobody",
        "> send 1 | < error 99 -32603 | < message 1 c1",
        "2 no-title rpc.orphan-response server rpc:99 violation",
        "rpc:1 answer server 1-3 fulfilled",
    ),
    case(
        "a task to nobody makes none",
        "> send 1 | < task 99 t9 working | < message 1 c1",
        "2 no-title rpc.orphan-response server rpc:99 violation",
        "rpc:1 answer server 1-3 fulfilled",
    ),
    case(
        "the answer to nobody comes first",
        "< message 99 c1 | > send 1 | < message 1 c1",
        "1 no-title rpc.orphan-response server rpc:99 violation",
        "rpc:1 answer server 2-3 fulfilled",
    ),
    case("answers alone were captured", "< message 99 c1 | < error 98 -32603", "", ""),
    case(
        "the id in the other type is another id",
        "> send 1 | < message one c1 | < message 1 c1",
        "2 no-title rpc.orphan-response server rpc:one violation",
        "rpc:1 answer server 1-3 fulfilled",
    ),
    case(
        "answered twice",
        "> send 1 | < message 1 c1 | < message 1 c1",
        "3 illegal rpc.answered-twice server rpc:1 violation",
        "rpc:1 answer server 1-2 fulfilled",
    ),
    case(
        "a task twice",
        "> send 1 | < task 1 t1 completed +art | < task 1 t1 completed +art",
        "3 illegal rpc.answered-twice server t1 violation",
        "t1 answer server 1-2 fulfilled",
    ),
    case(
        "a stream answers many times",
        "> stream 1 | < task 1 t1 working | < artifact 1 t1 | < artifact 1 t1",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
    ),
    case("an id serves again when its request is over", "> send 1 | < message 1 c1 | > send 1 | < message 1 c1", "",
         "rpc:1 answer server 1-2 fulfilled | rpc:1 answer server 3-4 fulfilled"),
    case(
        "an id serves twice at the same time",
        "> send 1 | > send 1 | < message 1 c1 | < message 1 c1",
        "2 ok rpc.id-reused client rpc:1 warning",
        "rpc:1 answer server 1-3 fulfilled | rpc:1 answer server 2-4 fulfilled",
    ),
    # polls and what else is asked
    case("a poll", f"{DONE} | > get 2 t1 | < bare 2 t1 completed", "", KEPT),
    case("a poll that is not answered", f"{DONE} | > get 2 t1", "", f"{KEPT} | t1 rpc server 4- pending"),
    case("a list that is not answered", "> list 1", "", "rpc:1 rpc server 1- pending"),
    case("a poll that is refused", "> get 1 t9 | < error 1 -32001", "", ""),
    case("a subscription that is not answered", f"{DONE} | > subscribe 2 t1", "", f"{KEPT} | t1 rpc server 4- pending"),
    case("a card", "> card 1 | < junk 1", "", ""),
    case("a card that does not come", "> card 1", "", "rpc:1 rpc server 1- pending"),
    case(
        "a poll takes up the task",
        "> send 1 now | < task 1 t1 submitted | > get 2 t1 | < bare 2 t1 working | > get 3 t1"
        " | < bare 3 t1 completed +art",
        "",
        "t1 answer server 1-4 fulfilled | t1 performance server 4-6 fulfilled",
    ),
    case(
        "a poll finds it done",
        "> send 1 now | < task 1 t1 submitted | > get 2 t1 | < bare 2 t1 completed +art",
        "",
        "t1 answer server 1-4 fulfilled",
    ),
    case(
        "a list takes up two",
        "> send 1 now | < task 1 t1 submitted | > send 2 now | < task 2 t2 submitted | > list 3"
        " | < tasks 3 t1=working t2=failed",
        "",
        "t1 answer server 1-6 fulfilled | t1 performance server 6- pending | t2 answer server 3-6 declared:failed",
    ),
    # cancel
    case(
        "cancelled",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < bare 2 t1 canceled",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 declared:cancelled"
        " | t1 cancel server 3-4 fulfilled",
    ),
    case(
        "cancelled while the client owes input",
        f"{ASKS} | > cancel 2 t1 | < bare 2 t1 canceled",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 declared:cancelled"
        " | t1 input client 2-4 declared:released | t1 cancel server 3-4 fulfilled",
    ),
    case(
        "cancelled before it was taken up",
        "> stream 1 | < task 1 t1 submitted | > cancel 2 t1 | < bare 2 t1 canceled",
        "",
        "t1 answer server 1-4 declared:cancelled | t1 cancel server 3-4 fulfilled",
    ),
    case(
        "the stream says it first",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < status 1 t1 canceled | < bare 2 t1 canceled",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 declared:cancelled"
        " | t1 cancel server 3-4 fulfilled",
    ),
    case(
        "the reply to the cancel is not the end yet",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < bare 2 t1 working | < status 1 t1 canceled",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-5 declared:cancelled"
        " | t1 cancel server 3-5 fulfilled",
    ),
    case(
        "a cancel without reply",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 cancel server 3- pending",
    ),
    case(
        "a cancel that is refused: the task goes on",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < error 2 -32002",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending | t1 cancel server 3-4 declared:refused",
    ),
    case(
        "a cancel and the end cross",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < status 1 t1 completed +says | < error 2 -32002",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 cancel server 3-5 declared:refused",
    ),
    case(
        "the reply to the cancel is the finished task",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < bare 2 t1 completed +art",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled"
        " | t1 cancel server 3-4 declared:released moot",
    ),
    case(
        "a cancel of a finished task",
        f"{DONE} | > cancel 2 t1 | < error 2 -32002",
        "",
        f"{KEPT} | t1 cancel server 4-5 declared:refused",
    ),
    case(
        "a cancelled task that is completed after all",
        "> stream 1 | < task 1 t1 working | > cancel 2 t1 | < bare 2 t1 canceled | < status 1 t1 completed +says",
        "5 illegal a2a.terminal-immutable server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 declared:cancelled"
        " | t1 cancel server 3-4 fulfilled",
    ),
    # deadlines
    case(
        "kept in time",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 working | 10:05 < status 1 t1 completed +says",
        "",
        KEPT,
    ),
    case(
        "kept too late",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 working | 10:06 < status 1 t1 completed +says",
        "3 late deadline server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 violated late=60",
    ),
    case(
        "a message too late: the answer has expired, nobody promised",
        "10:00 > send 1 by=10:05 | 10:07 < message 1 c1",
        "2 late deadline server rpc:1 warning",
        "rpc:1 answer server 1-2 expired late=120",
    ),
    case(
        "taken up too late, and not delivered",
        "10:00 > stream 1 by=10:05 | 10:06 < task 1 t1 working",
        "2 late deadline server t1 warning",
        "t1 answer server 1-2 expired late=60 | t1 performance server 2- violated",
        as_of="2026-03-02T10:06:00Z",
    ),
    case(
        "promised and not delivered",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 working",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- violated",
        as_of="2026-03-02T10:05:01Z",
    ),
    case(
        "at the deadline itself it has not passed",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 working",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
        as_of="2026-03-02T10:05:00Z",
    ),
    case(
        "never promised",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 submitted",
        "",
        "t1 answer server 1- expired ack=2",
        as_of="2026-03-02T11:00:00Z",
    ),
    case(
        "who waits for the client is not late",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 input-required",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending suspended | t1 input client 2- pending",
        as_of="2026-03-02T11:00:00Z",
    ),
    case(
        "failed too late",
        "10:00 > stream 1 by=10:05 | 10:01 < task 1 t1 working | 10:06 < status 1 t1 failed",
        "3 late deadline server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 violated late=60",
    ),
    case(
        "a later message sets the deadline",
        "10:00 > stream 1 | 10:01 < task 1 t1 input-required | 10:02 > stream 2 t1 by=10:05"
        " | 10:03 < task 2 t1 working | 10:06 < status 2 t1 completed +says",
        "5 late deadline server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-5 violated late=60 | t1 input client 2-3 fulfilled"
        " | t1 answer server 3-4 fulfilled",
    ),
    case(
        "two promises kept too late, told in one list",
        "10:00 > stream 1 by=10:05 | 10:00 > stream 2 by=10:05 | 10:01 < task 1 t1 working | 10:01 < task 2 t2 working"
        " | 10:06 > list 3 | 10:07 < tasks 3 t1=completed t2=completed",
        "6 late deadline server t1 violation | 6 late deadline server t2 violation",
        "t1 answer server 1-3 fulfilled | t1 performance server 3-6 violated late=120 | t2 answer server 2-4 fulfilled"
        " | t2 performance server 4-6 violated late=120",
    ),
    # several tasks
    case(
        "two streams interleaved",
        "> stream 1 | > stream 2 | < task 2 t2 submitted | < task 1 t1 working | < status 2 t2 working"
        " | < status 1 t1 completed +says | < status 2 t2 failed",
        "",
        "t1 answer server 1-4 fulfilled | t1 performance server 4-6 fulfilled | t2 answer server 2-5 fulfilled"
        " | t2 performance server 5-7 declared:failed",
    ),
    case(
        "a fault in one does not touch the other",
        "> stream 1 | > stream 2 | < task 1 t1 completed +says | < task 2 t2 working | < status 1 t1 working"
        " | < status 2 t2 completed +says",
        "5 illegal a2a.terminal-immutable server t1 violation",
        "t1 answer server 1-3 fulfilled | t2 answer server 2-4 fulfilled | t2 performance server 4-6 fulfilled",
    ),
    # captures of answers alone
    case(
        "a stream that was captured without its request",
        "< status 1 t1 working | < artifact 1 t1 | < status 1 t1 completed",
        "",
        "t1 performance server 1-3 fulfilled",
    ),
    case(
        "rules of tasks hold in a capture",
        "< status 1 t1 working | < status 1 t1 completed +says | < status 1 t1 failed",
        "3 illegal a2a.terminal-immutable server t1 violation",
        "t1 performance server 1-2 fulfilled",
    ),
    case(
        "in a capture nobody knows what the client said",
        "< status 1 t1 input-required | < status 1 t1 working",
        "",
        "t1 performance server 1- pending | t1 input client 1-2 answered",
    ),
    # choices that the specification leaves open
    case(
        "only who is asked may write",
        "> stream 1 | < task 1 t1 working | > send 2 t1 | < error 2 -32602",
        "3 illegal a2a.followup-not-asked client t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2- pending",
        followup="input-only",
    ),
    case(
        "who is asked may write",
        f"{ASKS} | > send 2 t1 | < task 2 t1 completed +art",
        "",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled | t1 input client 2-3 fulfilled"
        " | t1 answer server 3-4 fulfilled",
        followup="input-only",
    ),
    case(
        "the same message again is a duplicate",
        "> stream 1 mid=x | > stream 2 mid=x | < task 1 t1 completed +art | < task 2 t1 completed +art",
        "2 duplicate a2a.retry client rpc:2 info",
        "t1 answer server 1-3 fulfilled",
        retries="duplicate",
    ),
    case(
        "the same message again is a new one",
        "> stream 1 mid=x | > stream 2 mid=x | < task 1 t1 completed +art | < task 2 t2 completed +art",
        "",
        "t1 answer server 1-3 fulfilled | t2 answer server 2-4 fulfilled",
    ),
    case(
        "a stream that has to end where the task waits",
        f"{ASKS} | < status 1 t1 completed +says",
        "3 ok a2a.event-after-pause server t1 violation",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-3 fulfilled | t1 input client 2-3 declared:released",
        stream_ends="interrupted",
    ),
    case(
        "events out of order",
        f"{DONE} | < artifact 1 t1 | < status 1 t1 working | < status 1 t1 failed",
        "4 ok a2a.late-event  t1 info | 5 ok a2a.late-event  t1 info"
        " | 6 illegal a2a.terminal-immutable server t1 violation",
        KEPT,
        order="unordered",
    ),
    case(
        "events before what they follow",
        "> stream 1 | < status 1 t1 working | < task 1 t1 submitted | < status 1 t1 completed +says",
        "3 ok a2a.late-event  t1 info",
        "t1 answer server 1-2 fulfilled | t1 performance server 2-4 fulfilled",
        order="unordered",
    ),
]  # fmt: skip

RUNS = [pytest.param(one, wire, id=f"{one.name} ({wire})") for one in CASES for wire in one.wires]


@pytest.mark.parametrize(("one", "wire"), RUNS)
def test_case(one: Case, wire: str) -> None:
    found, closed, _ = track(log(one.log, wire), one.options, as_of=one.as_of)
    assert told(found) == list(one.found)
    assert owed(closed) == list(one.owed)


@pytest.mark.parametrize(("one", "wire"), RUNS)
def test_splitting_the_log_changes_nothing(one: Case, wire: str) -> None:
    raw = log(one.log, wire)
    for split in range(1, raw.count(b"\n") + 2):
        found, closed, _ = track(raw, one.options, as_of=one.as_of, split=split)
        assert told(found) == list(one.found), split
        assert owed(closed) == list(one.owed), split


def test_the_near_miss_is_named() -> None:
    found, _, _ = track(log("> stream 1 | < task 1 t1 !TASK_STATE_CANCELLED", "1.0"))
    assert "Probably 'TASK_STATE_CANCELED' is meant." in found[0].says
    found, _, _ = track(log("> stream 1 | < task 1 t1 !COMPLETED", "0.3"))
    assert "Probably 'completed' is meant." in found[0].says


def test_what_follows_from_a_resurrection_is_folded_under_it() -> None:
    text = f"{DONE} | < status 1 t1 working | < artifact 1 t1 | > send 2 t1 | < status 1 t1 failed"
    found, _, _ = track(log(text, "1.0"))
    assert [(one.line, one.caused_by) for one in found] == [(4, None), (5, "4"), (6, "4"), (7, "4")]


def test_a_stream_on_the_other_wire_is_one_fault() -> None:
    found, _, _ = track(log("> stream 1 | 0.3: < task 1 t1 working | 0.3: < status 1 t1 completed +says", "1.0"))
    assert [(one.line, one.rule, one.caused_by) for one in found] == [
        (2, "a2a.mixed-wire", None),
        (3, "a2a.mixed-wire", "2"),
    ]
