"""Follow A2A traffic on JSON-RPC, 0.3 and 1.0: whether each unit was legal, and who owes what.

The act of each unit follows from its type: a message that begins a task is a request, one to a task an inform;
``submitted`` acknowledges, ``working`` agrees, ``input-required`` asks back, ``completed`` informs, ``failed`` fails,
``rejected`` refuses. The life of a task is in :mod:`dissensus.say.wire.a2a_tasks`, the pairing of requests and answers
in :mod:`dissensus.say.wire.jsonrpc`, the two wires in :mod:`dissensus.say.wire.a2a_wire`.

A fault whose message is kept (it changes the state all the same) has the verdict ``ok`` and its level says how bad it
is; what is discarded has ``illegal`` or ``no-title``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dissensus.errors import UsageError
from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import ANSWER, CANCEL, DUPLICATE, ILLEGAL, INFO, OK, PENDING, RPC, VOID, WARNING, Finding
from dissensus.say.wire import a2a_wire as wire
from dissensus.say.wire.a2a_tasks import MANY_OWED, ONE_OWED, PLAIN, PROTOCOL, Task, Tasks, server_of
from dissensus.say.wire.a2a_wire import INTERRUPTED, V03, V10, Asked, Event
from dissensus.say.wire.jsonrpc import (
    CLIENT,
    MALFORMED,
    NOTIFICATION,
    REQUEST,
    STREAM_OVER,
    Call,
    Calls,
    Held,
    declared_by_error,
    error_of,
    finder,
    id_text,
    kind_of,
    units,
)
from dissensus.say.wire.memory import Memory

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "version": (V03, V10),
    "followup": ("any", "input-only"),
    "retries": ("new", "duplicate"),
    "stream_ends": ("terminal", "interrupted"),
    "order": ("total", "unordered"),
}
"""Options with their values, the default first (``version``: told from the wire)."""

_MESSAGE_CAME, _PAUSED = 3, 4
"""Notes of streams that are over: by a message, and at an interrupted state (option ``stream_ends``)."""
_OWED_AT_ONCE: Final = frozenset({wire.SEND, wire.STREAM, wire.CANCEL})
"""What opens an obligation when it is asked; anything else, only if it is never answered."""
_YES: Final = frozenset({True, "1", "true", "yes", "on"})


class A2ATracker(Tasks):
    """Follows one log of A2A.

    Args:
        book: where obligations are written.
        options: what the log does not say. ``version``: ``0.3`` or ``1.0``, where a unit has the form of both.
            ``complete``: the log holds everything that was said, so that a task that nobody made is a fault.
            ``followup``: ``input-only`` if a client may only write to a task that waits for it. ``retries``:
            ``duplicate`` if a message id that was used before is the same message again. ``stream_ends``:
            ``interrupted`` if a stream has to end where a task waits for the client. ``order``: ``unordered`` if
            events may come in another order than they happened. Others are passed over.

    Raises:
        UsageError: an option has a value that it cannot have.
    """

    def __init__(self, book: Book, options: Mapping[str, Any]) -> None:
        for name, values in CHOICES.items():
            if options.get(name) is not None and options[name] not in values:
                raise UsageError(
                    f"The option {name!r} of A2A cannot be {options[name]!r}.",
                    next_step=f"It is one of: {', '.join(values)}.",
                )
        super().__init__(book, unordered=options.get("order") == "unordered")
        self.version: str | None = options.get("version")
        self.complete = options.get("complete") in _YES
        self.input_only = options.get("followup") == "input-only"
        self.pauses = options.get("stream_ends") == "interrupted"
        self.sent = Memory() if options.get("retries") == "duplicate" else None
        self.held = Held()
        self.odd: dict[str, str] = {}
        """First answers in a foreign format, by request; those that follow are folded under them."""

    def see(self, m: Message) -> str | tuple[Finding, ...]:
        """Follow one unit, ``m.wire``, or a batch of them.

        Returns:
            ``verdicts.OK`` itself if there is nothing to say, else the findings. They may be about earlier messages
            too: answers before the first request are held back until it is known whether the log has requests.
        """
        for unit in units(m.wire):
            self._unit(m, unit)
        if not self.found:
            return OK
        found, self.found = tuple(self.found), []
        return found

    def finish(self) -> tuple[Finding, ...]:
        """The log has ended: open what is owed for requests that got no answer, and say what was held back."""
        self._release(as_capture=True)
        for call in self.calls.open_calls():
            if call.answers or call.noted("bad") is not None or wire.op_of(call.method) in _OWED_AT_ONCE:
                continue
            m = Message(id=call.message, sender=call.asker, line=call.line, at=call.at)
            before, self.book.seq = self.book.seq, call.seq
            thread = call.task or f"rpc:{id_text(call.id)}"
            debtor = call.to
            call.owed = self.book.open(m, RPC, debtor, call.asker, thread=thread, protocol=PROTOCOL, about=call.method)
            self.book.seq = before
        found, self.found = tuple(self.found), []
        return found

    def state(self) -> dict[str, Any]:
        """All that is remembered, as JSON data; open obligations lie in the book and are referred to."""
        return {
            "calls": self.calls.state(),
            "held": self.held.state(),
            "sent": None if self.sent is None else self.sent.state(),
            "odd": dict(self.odd),
            **self.tasks_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become the tracker that :meth:`state` was taken of; the book holds the obligations that were open then."""
        find = finder(self.book)
        self.calls = Calls.restore(state["calls"], find)
        self.held = Held.restore(state["held"])
        self.sent = None if state["sent"] is None else Memory.restore(state["sent"])
        self.odd = dict(state["odd"])
        self.over = Memory.restore(state["over"])
        self.risen = dict(state["risen"])
        self.threads = state["threads"]
        calls = self.calls.open_calls()
        for plain in state["live"]:
            fields: dict[str, Any] = {name: plain[name] for name in PLAIN}
            fields.update({name: find(plain[name]) for name in ONE_OWED})
            for name in MANY_OWED:
                fields[name] = tuple(owed for owed in map(find, plain[name]) if owed is not None)
            fields["calls"] = tuple(calls[at] for at in plain["calls"])
            self.live[plain["id"]] = Task(**fields)

    def _unit(self, m: Message, rpc: Any) -> None:
        event = wire.pushed(rpc)
        if event is not None:
            if self.held.messages and not self.calls.asked and self.held.keep(m, self.book.seq):
                return  # in the order of the log, after the answers that are held back
            self._pushed(m, event)
            return
        kind = kind_of(rpc)
        if kind == REQUEST:
            self._request(m, rpc)
        elif kind == NOTIFICATION:
            self.calls.notify()
        elif kind == MALFORMED:
            self.say(m, "rpc.malformed", VOID, "This is neither a request nor a response.", thread=m.thread)
        elif self.calls.asked or rpc.get("id") is None:
            self._response(m, rpc)
        elif not self.held.keep(m, self.book.seq):
            self._release(as_capture=True)
            self.capture = True
            self._response(m, rpc)
            self.capture = False

    def _release(self, *, as_capture: bool) -> None:
        """Take what was held back: as a capture of answers alone, or as answers that nobody asked for."""
        before, self.capture = self.book.seq, as_capture
        for seq, m in self.held.release():
            self.book.seq = seq
            for unit in units(m.wire):
                event = wire.pushed(unit)
                if event is not None:
                    self._pushed(m, event)
                elif type(unit) is dict:
                    self._response(m, unit)
        self.book.seq, self.capture = before, False

    def _request(self, m: Message, rpc: dict[str, Any]) -> None:
        what = wire.asked(rpc)
        stream = what.op in (wire.STREAM, wire.SUBSCRIBE)
        if self.held.messages:
            self.calls.asked = True
            self._release(as_capture=False)
        call, fault = self.calls.ask(m, rpc, asker=m.sender, stream=stream)
        call.seq = self.book.seq
        call.to, call.task = server_of(m), what.task
        thread = what.task or f"rpc:{id_text(call.id)}"
        if fault is not None:
            self.say(m, fault.rule, fault.verdict, fault.says, fault.level, thread=thread)
        if what.op in (wire.SEND, wire.STREAM):
            self._client_message(m, call, what, thread)
        elif what.task is not None and what.version is not None:
            if self._is_unknown(m, call, what.task):
                return
            if what.op == wire.CANCEL:
                server = server_of(m)
                call.owed = self.book.open(
                    m, CANCEL, server, m.sender, thread=thread, protocol=PROTOCOL, about=call.method
                )
                if not self.over[what.task]:
                    task = self.named(what.task)
                    task.cancels = (*task.cancels, call.owed)

    def _client_message(self, m: Message, call: Call, what: Asked, thread: str) -> None:
        if what.immediate:
            call.data["immediate"] = True
        if self.sent is not None and what.message is not None:
            if what.message in self.sent:
                call.data["bad"] = "a2a.retry"
                says = f"Message {what.message} was sent before."
                self.say(m, "a2a.retry", DUPLICATE, says, INFO, thread=thread)
                return
            self.sent.note(what.message, 1)
        task = None
        if what.task is None:
            self.threads += 1
        else:
            if self._is_refused(m, call, what, what.task):
                return
            task = self.named(what.task)
            self.close(task.input, m)
            self.close(task.authorization, m)
            if task.performance is not None:
                task.performance.suspended = False
        call.owed = self.book.open(
            m, ANSWER, server_of(m), m.sender, thread=thread, protocol=PROTOCOL, about=call.method
        )
        by = m.reply_by if m.reply_by is not None else wire.deadline_of(what.deadline, m.at)
        if by is not None:
            call.owed.deadline, call.owed.deadline_source = by, "message"
            call.data["by"] = by
            if task is not None:
                self.deadline(task, by)

    def _is_refused(self, m: Message, call: Call, what: Asked, task_id: str) -> bool:
        """Whether a message to a task has to be refused by the server; it is discarded then."""
        done = self.over[task_id]
        if done:
            state = wire.TERMINAL[done - 1]
            rule, says = "a2a.message-to-terminal", f"The task is {state}; it takes no message any more."
            root = self.risen.get(task_id)
            self.say(m, rule, ILLEGAL, says, thread=task_id, caused_by=root, state=state)
            call.data["bad"] = rule
            return True
        if self._is_unknown(m, call, task_id):
            return True
        task = self.live.get(task_id)
        if task is None or not task.seen:
            return False
        if what.context is not None and task.context is not None and what.context != task.context:
            rule, says = "a2a.context-mismatch", f"Task {task_id} belongs to {task.context}, not to {what.context}."
        elif self.input_only and task.state not in INTERRUPTED:
            rule, says = "a2a.followup-not-asked", f"The task is {task.state} and has not asked for anything."
        else:
            return False
        self.say(m, rule, ILLEGAL, says, thread=task_id, state=task.state or "")
        call.data["bad"] = rule
        return True

    def _is_unknown(self, m: Message, call: Call, task_id: str) -> bool:
        """Whether a request names a task that the server has never made, in a log that holds everything."""
        task = self.live.get(task_id)
        if not self.complete or (task is not None and task.seen) or self.over[task_id]:
            return False
        self.say(m, "a2a.unknown-task", ILLEGAL, f"There is no task {task_id}.", thread=task_id)
        call.data["bad"] = "a2a.unknown-task"
        return True

    def _pushed(self, m: Message, value: Any) -> None:
        for event in wire.events(value):
            self.event(m, None, self._read_as(event, None))

    def _response(self, m: Message, rpc: dict[str, Any]) -> None:
        asker = m.receivers[0] if m.receivers else CLIENT
        ident = rpc.get("id")
        events = wire.events(rpc["result"]) if "error" not in rpc and "result" in rpc else []
        call, fault = self.calls.answer(rpc, asker=asker)
        named = next((event.task for event in events if event.task is not None), None)
        if fault is not None:
            if self.capture and fault.rule == "rpc.orphan-response":
                fault = None
            else:
                thread = named if named is not None and self._is_known(named) else f"rpc:{id_text(ident)}"
                self.say(m, fault.rule, fault.verdict, fault.says, thread=thread)
                return
        if call is None and self.calls.over(asker, ident) == _MESSAGE_CAME:
            thread = named if named is not None and self._is_known(named) else f"rpc:{id_text(ident)}"
            says = "The stream has answered with a message; nothing can follow that."
            self.say(m, "a2a.message-stream-extra", ILLEGAL, says, thread=thread)
            return
        if not events:
            self._error(m, rpc, call, asker)
            return
        if call is None:
            if self.calls.over(asker, ident) == _PAUSED:
                says = "The stream had to end when the task began to wait for the client."
                self.say(m, "a2a.event-after-pause", OK, says, thread=named)
        else:
            self._looks(m, call, events[0])
        for event in events:
            self._result(m, call, self._read_as(event, call))

    def _error(self, m: Message, rpc: dict[str, Any], call: Call | None, asker: str) -> None:
        if call is None and rpc.get("id") is None:  # the server could not read an id; one request may be meant
            call = self.calls.the_only(asker)
            if call is not None:
                call.answers += 1
                self.calls.drop(call)
        if call is None:
            return
        code, _ = error_of(rpc)
        self.close(call.owed, m, declared_by_error(code)[1])
        if call.stream:
            self.calls.done(call)

    def _looks(self, m: Message, call: Call, event: Event) -> None:
        """What can be said of an answer by its form alone."""
        thread = event.task or self._thread(call)
        asked, told = wire.version_of(call.method), event.version
        if asked is not None and told is not None and asked != told:
            says = f"The request is A2A {asked}, the answer {told}."
            self.say(m, "a2a.mixed-wire", OK, says, WARNING, thread=thread, caused_by=self.odd.get(call.message))
            if call.stream:
                self.odd.setdefault(call.message, m.id)
        if (
            call.answers == 1
            and not self.unordered
            and (wire.op_of(call.method) == wire.STREAM or (wire.op_of(call.method) == wire.SUBSCRIBE and asked == V10))
            and event.kind in (wire.STATUS, wire.ARTIFACT)
        ):
            says = "A stream has to begin with a task or a message."
            self.say(m, "a2a.stream-first-event", OK, says, thread=thread)

    def _result(self, m: Message, call: Call | None, event: Event) -> None:
        bad = call.noted("bad") if call is not None else None
        if call is not None and bad in ("a2a.unknown-task", "a2a.context-mismatch") and call.noted("told") is None:
            self._accepted(m, call, event, bad)
        if event.kind == wire.MESSAGE:
            if call is not None:
                if wire.op_of(call.method) != wire.CANCEL:
                    self.close(call.owed, m)
                if call.stream:
                    self.calls.done(call, _MESSAGE_CAME)
            return
        if event.kind == wire.UNREADABLE:
            if call is not None and call.owed is not None and call.owed.status == PENDING:
                call.owed.untagged = m.id
            return
        kept = self.event(m, call, event)
        if call is None or not kept:
            return
        op = wire.op_of(call.method)
        if op == wire.CANCEL:
            self.cancel_replied(m, call, event)
        early = event.state in wire.ACTIVE and event.kind == wire.TASK
        if op == wire.SEND and wire.version_of(call.method) == V10 and early and call.noted("immediate") is None:
            says = f"The client waits for the end, and was answered while the task is {event.state}."
            self.say(m, "a2a.blocking-returned-early", OK, says, thread=event.task)
        if call.stream and (event.final or (self.pauses and event.state in INTERRUPTED)):
            self.calls.done(call, _PAUSED if self.pauses and event.state in INTERRUPTED else STREAM_OVER)

    def _accepted(self, m: Message, call: Call, event: Event, bad: str) -> None:
        """The server answers what it had to refuse."""
        if event.kind == wire.UNREADABLE or (bad == "a2a.unknown-task" and event.kind == wire.MESSAGE):
            return
        if bad == "a2a.unknown-task":
            if wire.op_of(call.method) not in (wire.SEND, wire.STREAM):
                return
            says = f"There is no task {call.task}; the server has to say so (-32001), not to make one."
        else:
            says = "The message names another context than its task's; the server has to refuse it."
        call.data["told"] = True
        self.say(m, bad, OK, says, thread=event.task or self._thread(call))

    def _read_as(self, event: Event, call: Call | None) -> Event:
        """The event with a version, if its form leaves that open: the request's, else the one that was given."""
        if event.version is not None or event.kind in (wire.MESSAGE, wire.UNREADABLE):
            return event
        return event._replace(version=(wire.version_of(call.method) if call is not None else None) or self.version)

    def _is_known(self, task_id: str) -> bool:
        task = self.live.get(task_id)
        return (task is not None and task.seen) or self.over[task_id] != 0

    def _thread(self, call: Call) -> str:
        return call.task or f"rpc:{id_text(call.id)}"
