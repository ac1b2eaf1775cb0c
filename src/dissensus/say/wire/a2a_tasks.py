"""The life of A2A tasks: which moves are legal, and what each makes somebody owe.

A task is active, interrupted or terminal. From a state that is not terminal everything is legal; nothing follows a
terminal one. ``protocols/a2a-task-0.3.yaml`` and ``a2a-task-1.0.yaml`` show the same as protocol files.

What the server's states do:

- the first one but ``submitted`` closes the answer that is owed; if the task goes on, a performance opens;
- ``input-required`` and ``auth-required`` suspend the performance, and the client owes input or authorization;
- a terminal one ends the performance: fulfilled, or declared as failed, refused or cancelled.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import (
    ANSWERED,
    CANCELLED,
    DUPLICATE,
    FAILED,
    FULFILLED,
    ILLEGAL,
    INFO,
    MOOT,
    OK,
    PENDING,
    PERFORMANCE,
    REFUSED,
    RELEASED,
    WARNING,
    Obligation,
)
from dissensus.say.wire.a2a_wire import (
    ARTIFACT,
    CANCEL,
    CANCELED,
    COMPLETED,
    GET,
    INPUT_REQUIRED,
    LIST,
    REJECTED,
    SEND,
    STREAM,
    SUBMITTED,
    SUBSCRIBE,
    TASK_FAILED,
    TERMINAL,
    WORKING,
    Event,
    near_miss,
    op_of,
)
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, Call, Calls, reference
from dissensus.say.wire.memory import Memory
from dissensus.say.wire.saying import Saying

PROTOCOL: Final = "a2a"
STATUS_OF: Final = {TASK_FAILED: FAILED, REJECTED: REFUSED, CANCELED: CANCELLED}
"""Status of what a state closes; all others fulfil it."""


class Task(msgspec.Struct, gc=False, kw_only=True):
    """A task that is not over.

    Args:
        id: of the task; it is the thread.
        seen: whether the server has spoken of it; before that a client has only named it.
        context, state: what the server said last; None before.
        deadline: in seconds since 1970-01-01 UTC, from a message of the client.
        delivered: whether an artifact has come.
        performance, input, authorization: obligations; None or closed ones if there is none open.
        answers: answers that were acknowledged (``submitted``) and are still owed.
        cancels: asked for, no reply yet; ``accepted``: replied to while the task goes on.
        calls: streams that tell of this task.
    """

    id: str
    seen: bool = False
    context: str | None = None
    state: str | None = None
    deadline: float | None = None
    delivered: bool = False
    performance: Obligation | None = None
    input: Obligation | None = None
    authorization: Obligation | None = None
    answers: tuple[Obligation, ...] = ()
    cancels: tuple[Obligation, ...] = ()
    accepted: tuple[Obligation, ...] = ()
    calls: tuple[Call, ...] = ()


ONE_OWED: Final = ("performance", "input", "authorization")
MANY_OWED: Final = ("answers", "cancels", "accepted")
PLAIN: Final = ("id", "seen", "context", "state", "deadline", "delivered")


class Tasks(Saying):
    """All tasks of a log, and the faults found in their lives.

    Args:
        book: where obligations are written.
        unordered: events may come in another order than they happened.

    Attributes:
        live: tasks that are not over, by id.
        over: final states of the others: 1 + the place in ``TERMINAL``.
        capture: the log holds answers alone, so that nobody knows what the client said.
        threads: how many conversations there were.
    """

    def __init__(self, book: Book, *, unordered: bool = False) -> None:
        super().__init__(book)
        self.unordered = unordered
        self.calls = Calls(unique=False)
        self.live: dict[str, Task] = {}
        self.over = Memory()
        self.risen: dict[str, str] = {}
        """Tasks that went on after their end, and the message that did it: what follows from it is folded under it."""
        self.capture = False
        self.threads = 0

    def named(self, task_id: str, *, counted: bool = False) -> Task:
        """The live task of this id, a new one if there is none; ``counted``: its thread has been counted before."""
        task = self.live.get(task_id)
        if task is None:
            task = self.live[task_id] = Task(id=task_id)
            self.threads += not counted
        return task

    def event(self, m: Message, call: Call | None, event: Event) -> bool:
        """What a state or an artifact does; whether it was applied, not discarded.

        Args:
            m: the message that brings it.
            call: the request that it answers, if it answers one.
            event: of a task.
        """
        task_id = event.task or ""
        if event.kind != ARTIFACT and event.state is None:
            self._unknown_state(m, event)
            return False
        done = self.over[task_id]
        if done:
            return self._after_end(m, call, event, TERMINAL[done - 1])
        own = _is_own(call, task_id)
        task = self.live.get(task_id)
        if task is None:
            begun = own and call is not None and call.task is None  # its request has begun the thread
            task = self.named(task_id, counted=begun)
        task.seen = True
        if event.context is not None:
            if task.context is None:
                task.context = event.context
            elif task.context != event.context and not self.has_said(m, "a2a.context-mismatch", task_id):
                says = f"Task {task_id} belongs to context {task.context}, not to {event.context}."
                self.say(m, "a2a.context-mismatch", OK, says, thread=task_id, state=task.state or "")
        if call is not None:
            self._bind(call, task, own=own)
        if event.artifacts:
            task.delivered = True
        if event.state is not None:
            self._move(m, call, task, event, own=own)
        return True

    def _bind(self, call: Call, task: Task, *, own: bool) -> None:
        """The call is about this task from here on."""
        if own and call.task is None:
            call.task = task.id
            if call.owed is not None and call.owed.status == PENDING:
                call.owed.thread = task.id
            self.deadline(task, call.noted("by"))
        if call.stream and not any(one is call for one in task.calls):
            task.calls = (*task.calls, call)

    def deadline(self, task: Task, by: float | None) -> None:
        """A deadline in a client's message binds what is owed for the task."""
        if by is None:
            return
        task.deadline = by
        owed = task.performance
        if owed is not None and owed.status == PENDING:
            owed.deadline, owed.deadline_source = by, "message"

    def _move(self, m: Message, call: Call | None, task: Task, event: Event, *, own: bool) -> None:
        """The task is in another state, or in the same again; ``own``: ``call`` sent a message about it."""
        state = event.state or ""
        before, task.state = task.state, state
        answer = call.owed if own and call is not None else None
        if state == SUBMITTED:
            if before not in (None, SUBMITTED) and self.unordered:
                task.state = before
                says = f"The task is {before} already; this was sent before that, or against the custom."
                self.say(m, "a2a.late-event", OK, says, INFO, thread=task.id, party="", state=before or "")
            elif before not in (None, SUBMITTED):
                says = f"The task goes back from {before} to {SUBMITTED}."
                self.say(m, "a2a.back-to-submitted", OK, says, WARNING, thread=task.id, state=before or "")
            if answer is not None and answer.status == PENDING and not answer.acknowledged:
                answer.acknowledged = m.line
                task.answers = (*task.answers, answer)
            return
        status = STATUS_OF.get(state, FULFILLED)
        for owed in (answer, *task.answers):
            self.close(owed, m, status)
        task.answers = ()
        if own and call is not None:
            call.owed = None
        if state in TERMINAL:
            self._end(m, task, event, state, before)
            return
        if task.performance is None:
            task.performance = self._open(m, PERFORMANCE, task, debtor=m.sender, creditor=_client(m))
            if task.deadline is not None:
                task.performance.deadline, task.performance.deadline_source = task.deadline, "message"
        if state == WORKING:
            self._resume(m, call if own else None, task, before)
        elif not (state == before and _op(call) in (GET, LIST, SUBSCRIBE)):  # asking again opens nothing
            task.performance.suspended = True
            kind = "input" if state == INPUT_REQUIRED else "authorization"
            owed = getattr(task, kind)
            if owed is None or owed.status != PENDING:
                setattr(task, kind, self._open(m, kind, task, debtor=_client(m), creditor=m.sender))

    def _resume(self, m: Message, call: Call | None, task: Task, before: str | None) -> None:
        """The server works on: what it wanted is not wanted any more, or was given elsewhere."""
        if task.performance is not None:
            task.performance.suspended = False
        self.close(task.authorization, m)
        if task.input is None or task.input.status != PENDING:
            return
        if self.capture:  # the client's message may well have come; it was not captured
            self.close(task.input, m, ANSWERED)
            return
        self.close(task.input, m, RELEASED)
        if before == INPUT_REQUIRED and not self.unordered and (call is None or call.noted("bad") is None):
            says = "The server asked for input and went on without any."
            self.say(m, "a2a.self-resume", OK, says, WARNING, thread=task.id, state=before)

    def _end(self, m: Message, task: Task, event: Event, state: str, before: str | None) -> None:
        self.close(task.input, m, RELEASED)
        self.close(task.authorization, m, RELEASED)
        self.close(task.performance, m, STATUS_OF.get(state, FULFILLED))
        for owed in task.accepted:
            self._end_cancel(owed, m, state)
        if state == CANCELED:
            for owed in task.cancels:
                self.close(owed, m)
        if state == COMPLETED and not (task.delivered or event.says or event.listed):
            says = "The task is completed, and neither an artifact nor a message says with what."
            self.say(m, "a2a.empty-delivery", OK, says, WARNING, thread=task.id, state=before or "")
        self.over.note(task.id, 1 + TERMINAL.index(state))
        del self.live[task.id]
        for call in task.calls:
            if call.answers:
                self.calls.done(call)

    def _after_end(self, m: Message, call: Call | None, event: Event, end: str) -> bool:
        task_id = event.task or ""
        if event.kind == ARTIFACT or event.state != end:
            self._risen(m, event, end)
            return False
        # asking what became of a task is always right; what a stream or a push brings a second time is a duplicate
        if call is None or (call.stream and call.answers > 1 and not _is_open(call)):
            says = f"The server has said before that the task is {end}."
            self.say(m, "a2a.duplicate-terminal", DUPLICATE, says, INFO, thread=task_id, state=end)
            return False
        if _op(call) == CANCEL:
            self._end_cancel(call.owed, m, end)
        elif _is_own(call, task_id):
            if call.owed is not None and call.owed.status == PENDING and call.task is None:
                call.owed.thread = task_id
            self.close(call.owed, m, STATUS_OF.get(end, FULFILLED))
        if call.stream:
            self.calls.done(call)
        return True

    def _end_cancel(self, owed: Obligation | None, m: Message, state: str) -> None:
        """The reply to a cancel is a finished task: cancelled, or something else, which made the cancel pointless."""
        if state == CANCELED:
            self.close(owed, m)
        else:
            self.close(owed, m, RELEASED, reason=MOOT)

    def cancel_replied(self, m: Message, call: Call, event: Event) -> None:
        """The reply to a cancel is a task: that ends the cancel, unless the task still goes on."""
        owed = call.owed
        if owed is None or event.task is None or event.state is None:
            return
        task = self.live.get(event.task)
        if task is None:
            self._end_cancel(owed, m, event.state)
        elif owed.status == PENDING:
            task.cancels = tuple(one for one in task.cancels if one is not owed)
            task.accepted = (*task.accepted, owed)

    def _unknown_state(self, m: Message, event: Event) -> None:
        near = near_miss(event.raw, event.version)
        says = f"{event.raw!r} is no state of a task." if event.raw is not None else "The state is missing."
        if near is not None and near != event.raw:
            says = f"{says} Probably {near!r} is meant."
        task = self.live.get(event.task or "")
        state = (task.state or "") if task is not None else ""
        self.say(m, "a2a.unknown-state", ILLEGAL, says, thread=event.task, state=state)

    def _risen(self, m: Message, event: Event, end: str) -> None:
        task_id = event.task or ""
        root = self.risen.get(task_id)
        if self.unordered and event.state not in TERMINAL:
            says = f"The task is {end}; this was sent before that, or against the rule."
            self.say(m, "a2a.late-event", OK, says, INFO, thread=task_id, party="", state=end)
            return
        if event.kind == ARTIFACT:
            says = f"The task is {end}, so no artifact can follow."
            rule = "a2a.event-after-terminal"
        else:
            says = f"The task is {end} and cannot become {event.state}."
            rule = "a2a.terminal-immutable"
        self.say(m, rule, ILLEGAL, says, thread=task_id, caused_by=root, state=end)
        self.risen.setdefault(task_id, m.id)

    def _open(self, m: Message, kind: str, task: Task, *, debtor: str, creditor: str) -> Obligation:
        return self.book.open(m, kind, debtor, creditor, thread=task.id, protocol=PROTOCOL)

    def tasks_state(self) -> dict[str, Any]:
        """Live and finished tasks as JSON data."""
        order = {id(call): at for at, call in enumerate(self.calls.open_calls())}
        live = []
        for task in self.live.values():
            plain: dict[str, Any] = {name: getattr(task, name) for name in PLAIN}
            for name in ONE_OWED:
                owed = getattr(task, name)
                plain[name] = reference(owed) if owed is not None and owed.status == PENDING else None
            for name in MANY_OWED:
                plain[name] = [reference(owed) for owed in getattr(task, name) if owed.status == PENDING]
            plain["calls"] = [order[id(call)] for call in task.calls if id(call) in order]
            live.append(plain)
        return {"live": live, "over": self.over.state(), "risen": dict(self.risen), "threads": self.threads}


def _op(call: Call | None) -> str:
    return "" if call is None else op_of(call.method)


def _is_own(call: Call | None, task_id: str) -> bool:
    """Whether ``call`` sent a message about this task, or one that this task was made from."""
    if call is None or op_of(call.method) not in (SEND, STREAM):
        return False
    return call.task in (None, task_id) or call.answers == 1


def _is_open(call: Call) -> bool:
    return call.owed is not None and call.owed.status == PENDING


def _client(m: Message) -> str:
    return m.receivers[0] if m.receivers else CLIENT


def server_of(m: Message) -> str:
    """To whom a client's message goes."""
    return m.receivers[0] if m.receivers else SERVER
