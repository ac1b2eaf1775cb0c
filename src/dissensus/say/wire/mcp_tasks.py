"""Tasks of MCP: a request that is answered by a promise, whose status is asked for until it has ended.

One table (:data:`~dissensus.say.wire.mcp_versions.TASK_MOVES`) holds for all versions. A task is known by its id and
by who works on it, its owner; in 2025 that may be the client as well. What has ended is remembered in a few bytes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dissensus.say.message import Message
from dissensus.say.readers.times import seconds
from dissensus.say.verdicts import (
    CANCELLED,
    FAILED,
    FULFILLED,
    ILLEGAL,
    INPUT,
    PERFORMANCE,
    RELEASED,
    Obligation,
)
from dissensus.say.wire.jsonrpc import Call, Fault, reference
from dissensus.say.wire.mcp_chains import answers_in, status_of
from dissensus.say.wire.mcp_desk import Desk, receiver
from dissensus.say.wire.mcp_progress import Tokens
from dissensus.say.wire.mcp_versions import (
    COMPLETED,
    INPUT_REQUIRED,
    TASK_CANCELLED,
    TASK_FAILED,
    TASK_MOVES,
    TERMINAL,
    WORKING,
    Rules,
    section,
)
from dissensus.say.wire.memory import Memory

IMPLIED, IMPLIED_ERROR = 4, 5
"""Remembered of a task whose result came before its last status was seen; 1 to 3 stand for a terminal status."""
_CODES: Final = {status: code for code, status in enumerate(TERMINAL, 1)}
_ILLEGAL_MOVE: Final = "mcp.task-illegal-move"


class Task(msgspec.Struct, gc=False, kw_only=True):
    """A task that has not ended.

    Args:
        id, owner: its id, and who works on it; ``asker`` is who asked for it, and ``side`` his name space of ids.
        status: last status seen.
        request: id of the request that it came from, None if that is not in the log.
        created: when, in seconds since 1970-01-01 UTC, by the log's clock or else by the server's.
        token: key of its progress token.
        answered: keys of the questions that were answered.
        promise: the performance that its owner owes.
        input: what its asker owes while it waits for him.
    """

    id: str
    owner: str
    asker: str
    side: str = ""
    status: str
    request: Any = None
    created: float | None = None
    token: str | None = None
    answered: list[str] = msgspec.field(default_factory=list)
    promise: Obligation | None = None
    input: Obligation | None = None


class Tasks:
    """The tasks of one connection.

    Args:
        desk: of the tracker.
        tokens: progress tokens; that of a task ends with it.
        at: suffix of threads, where a log holds several connections.
    """

    __slots__ = ("_at", "_desk", "_live", "_over", "_tokens")

    def __init__(self, desk: Desk, tokens: Tokens, at: str = "") -> None:
        self._desk = desk
        self._tokens = tokens
        self._at = at
        self._live: dict[str, Task] = {}
        self._over = Memory()

    def thread(self, task: str) -> str:
        """Name of the thread of a task."""
        return task + self._at

    def create(self, m: Message, call: Call, body: dict[str, Any], rules: Rules | None) -> Fault | None:
        """``call`` was answered by the task ``body``: its answer is given, and its performance promised."""
        name, status = body["taskId"], body.get("status", WORKING)
        key = _key(m.sender, name)
        if rules is not None:
            if fault := _unknown(status):
                return fault
            if key in self._live or key in self._over:
                return Fault(_ILLEGAL_MOVE, ILLEGAL, f"Task {name} exists already; a task needs an id of its own.")
            if status not in rules.starts:
                return Fault(_ILLEGAL_MOVE, ILLEGAL, f"A task begins as {WORKING}, not as {status}.")
            if fault := _wrong_error(status, body, rules):
                return fault
        elif _unknown(status):
            status = WORKING
        if call.owed is not None:
            call.owed.thread = self.thread(name)
            self._desk.close(call.owed, m, FULFILLED)
        task = Task(id=name, owner=m.sender, asker=receiver(m), side=call.asker, status=WORKING, request=call.id)
        task.token = call.data.get("token")
        self._begin(m, task, body, asked_ttl=call.data.get("ttl"))
        self._arrive(m, key, task, status, body)
        return None

    def observe(self, m: Message, body: dict[str, Any], rules: Rules | None, *, opens: bool = True) -> Fault | None:
        """The sender of ``m`` told the status of a task of its own.

        Args:
            m: the message.
            body: the task.
            rules: None if the version is unknown: then nothing is a fault.
            opens: whether a task that was never seen before makes a promise.
        """
        name, status = body.get("taskId"), body.get("status")
        if type(name) is not str or status is None:
            return None
        key = _key(m.sender, name)
        if fault := _unknown(status):
            return fault if rules is not None else None
        if over := self._over[key]:
            return _after_end(name, over, status, rules)
        if rules is not None and (fault := _wrong_error(status, body, rules)):
            return fault
        task = self._live.get(key)
        if task is None:
            if not opens:
                return None
            task = Task(id=name, owner=m.sender, asker=receiver(m), status=WORKING)
            if status in TERMINAL:
                self._over.note(key, _CODES[status])
                return None
            self._desk.threads += 1
            self._begin(m, task, body)
        elif status != task.status and status not in TASK_MOVES[task.status]:  # the table allows all that is left
            return Fault(_ILLEGAL_MOVE, ILLEGAL, f"A task that is {task.status} cannot become {status}.")
        self._set_deadline(task, body)
        self._arrive(m, key, task, status, body)
        return None

    def result(self, m: Message, name: str, body: dict[str, Any], rules: Rules | None) -> Fault | None:
        """The owner handed out the result of a task (``tasks/result``, before 2026)."""
        key = _key(m.sender, name)
        wrong = body.get("isError") is True
        over = self._over[key]
        if over:
            if wrong and over == _CODES[COMPLETED] and rules is not None and rules.error_is_failure:
                says = f"The result of task {name} is an error, and its status was {COMPLETED}, not {TASK_FAILED}."
                return Fault("mcp.iserror-status", ILLEGAL, says)
            return None
        task = self._live.get(key)
        if task is not None:
            self._end(m, key, task, FAILED if wrong else FULFILLED, IMPLIED_ERROR if wrong else IMPLIED)
        return None

    def ended(self, owner: str, name: str) -> bool:
        """Whether a task is known to have ended."""
        return _key(owner, name) in self._over

    def of_request(self, side: str, ident: Any) -> Task | None:
        """The running task that a request was answered by."""
        for task in self._live.values():
            if task.side == side and type(task.request) is type(ident) and task.request == ident:
                return task
        return None

    def deliver(self, m: Message, owner: str, name: str, params: dict[str, Any]) -> None:
        """The asker answered a task's questions (``tasks/update``)."""
        task = self._live.get(_key(owner, name))
        if task is None:
            return
        answers = answers_in(params)
        task.answered.extend(key for key in answers if key not in task.answered)
        if answers:
            self.given(m, owner, name, status_of(answers))

    def given(self, m: Message, owner: str, name: str, status: str) -> None:
        """What a task waited for was given, or denied."""
        task = self._live.get(_key(owner, name))
        if task is None:
            return
        if task.input is not None:
            self._desk.close(task.input, m, status)
            task.input = None
        if task.promise is not None:
            task.promise.suspended = False

    def _begin(self, m: Message, task: Task, body: dict[str, Any], asked_ttl: Any = None) -> None:
        task.created = m.at if m.at is not None else seconds(body.get("createdAt"))
        task.promise = self._desk.book.open(m, PERFORMANCE, task.owner, task.asker, thread=self.thread(task.id))
        self._set_deadline(task, body, asked_ttl)

    def _set_deadline(self, task: Task, body: dict[str, Any], asked: Any = None) -> None:
        """How long a task is kept is a policy of its owner: past that nobody can expect it, and nobody is at fault."""
        ttl = body.get("ttlMs", body.get("ttl", asked))
        if type(ttl) in (int, float) and task.created is not None and task.promise is not None:
            task.promise.deadline = task.created + ttl / 1000
            task.promise.deadline_source = "policy"

    def _arrive(self, m: Message, key: str, task: Task, status: str, body: dict[str, Any]) -> None:
        if status == INPUT_REQUIRED:
            self._live[key] = task
            requests = section(body, "inputRequests")
            asks = not requests or any(one not in task.answered for one in requests)
            if asks and task.input is None and (status != task.status or requests):
                task.input = self._desk.book.open(m, INPUT, task.asker, task.owner, thread=self.thread(task.id))
                if task.promise is not None:
                    task.promise.suspended = True
            task.status = status
        elif status in TERMINAL:
            self._end(m, key, task, _ends(status, body), _CODES[status])
        else:
            self._live[key] = task
            task.status = status
            self._moved_on(m, task)

    def _moved_on(self, m: Message, task: Task) -> None:
        if task.promise is not None:
            task.promise.suspended = False
        if task.input is not None:
            self._desk.close(task.input, m, RELEASED)
            task.input = None

    def _end(self, m: Message, key: str, task: Task, status: str, code: int) -> None:
        self._moved_on(m, task)
        if task.promise is not None:
            self._desk.close(task.promise, m, status)
        self._tokens.end(task.token)
        self._live.pop(key, None)
        self._over.note(key, code)

    def state(self) -> dict[str, Any]:
        """All of it as JSON data."""
        fields = ("id", "owner", "asker", "side", "status", "request", "created", "token", "answered")
        return {
            "live": [
                {
                    **{name: getattr(task, name) for name in fields},
                    "promise": reference(task.promise),
                    "input": reference(task.input),
                }
                for task in self._live.values()
            ],
            "over": self._over.state(),
        }

    def restore(self, state: dict[str, Any], find: Callable[[Any], Obligation | None]) -> None:
        """Take up what :meth:`state` was taken of."""
        for fields in state["live"]:
            answered = list(fields["answered"])
            promise, asked = find(fields["promise"]), find(fields["input"])
            task = Task(**{**fields, "answered": answered, "promise": promise, "input": asked})
            self._live[_key(task.owner, task.id)] = task
        self._over = Memory.restore(state["over"])


def _key(owner: str, name: str) -> str:
    return f"{owner} {name}"


def _ends(status: str, body: dict[str, Any]) -> str:
    if status == COMPLETED:
        return FAILED if section(body, "result").get("isError") is True else FULFILLED
    return CANCELLED if status == TASK_CANCELLED else FAILED


def _unknown(status: Any) -> Fault | None:
    if type(status) is str and status in TASK_MOVES:
        return None
    near = difflib.get_close_matches(str(status).lower(), TASK_MOVES, n=1, cutoff=0.6)
    hint = f"; {near[0]!r} is like it" if near else ""
    return Fault(_ILLEGAL_MOVE, ILLEGAL, f"{str(status)[:60]!r} is no status of a task{hint}.")


def _after_end(name: str, over: int, status: str, rules: Rules | None) -> Fault | None:
    """The fault of telling another status of a task that has ended."""
    if rules is None:
        return None
    if over in (IMPLIED, IMPLIED_ERROR):
        if status not in TERMINAL:
            says = f"The result of task {name} is out, so it cannot be {status}."
            return Fault("mcp.task-terminal-immutable", ILLEGAL, says)
        if over == IMPLIED_ERROR and status == COMPLETED and rules.error_is_failure:
            says = f"The result of task {name} was an error, so its status is {TASK_FAILED}, not {COMPLETED}."
            return Fault("mcp.iserror-status", ILLEGAL, says)
        return None
    was = TERMINAL[over - 1]
    if status == was:
        return None
    return Fault("mcp.task-terminal-immutable", ILLEGAL, f"Task {name} is {was} and stays so; now it is {status}.")


def _wrong_error(status: str, body: dict[str, Any], rules: Rules) -> Fault | None:
    """The fault of a status that does not go with the result beside it."""
    if section(body, "result").get("isError") is not True:
        return None
    if not rules.error_is_failure and status == TASK_FAILED and "error" not in body:
        says = (
            f"A tool result with an error belongs to a task that is {COMPLETED}; {TASK_FAILED} is for JSON-RPC errors."
        )
        return Fault("mcp.iserror-status", ILLEGAL, says)
    if rules.error_is_failure and status == COMPLETED:
        return Fault("mcp.iserror-status", ILLEGAL, f"The result is an error, so the task is {TASK_FAILED}.")
    return None
