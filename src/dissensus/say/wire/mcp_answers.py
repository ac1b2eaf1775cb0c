"""Answers of MCP: which request they belong to, and what they settle."""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.message import Message
from dissensus.say.verdicts import FAILED, FULFILLED, ILLEGAL, INFO, INPUT, NO_TITLE, OK, REFUSED, RELEASED, Obligation
from dissensus.say.wire import mcp_chains
from dissensus.say.wire.jsonrpc import (
    CLIENT,
    NOTIFICATION,
    SERVER,
    Call,
    Fault,
    declared_by_error,
    error_of,
    finder,
    id_text,
)
from dissensus.say.wire.mcp_desk import receiver
from dissensus.say.wire.mcp_session import ASKED, GREETED, NEW, OTHER, WAS_CANCELLED, Session
from dissensus.say.wire.mcp_versions import TASK_CANCELLED, Rules, rules_of, section, task_in

_UNREADABLE: Final = frozenset({-32700, -32600})
"""Errors about a request whose id could not be read."""


def response(s: Session, m: Message, rpc: dict[str, Any], side: str) -> None:
    """Pair an answer with its request, and close what it settles."""
    asker, ident = OTHER[side], rpc.get("id")
    if not s.calls.asked and hold(s, m):
        return
    if ident is None or s.is_marked(asker, ident):
        wrong = "result" in rpc or error_of(rpc)[0] not in _UNREADABLE
        if s.find(asker, ident) is None and wrong and (ident is not None or s.heard[asker] == NOTIFICATION):
            s.desk.say(m, Fault("rpc.notification-answered", ILLEGAL, "A notification wants no answer."))
            return
    call, fault = s.calls.answer(rpc, asker=asker)
    if call is None and s.old is not None and s.old.find(asker, ident) is not None:
        call, fault = s.old.answer(rpc, asker=asker)
    thread = f"rpc:{asker[0]}:{id_text(ident)}{s.at}"
    if call is None:
        if fault is not None:
            s.desk.say(m, fault, thread)
        elif s.calls.over(asker, ident) == WAS_CANCELLED and s.rules is not None:
            says = "The request had been cancelled; the answer was on its way."
            s.desk.say(m, Fault("mcp.answer-after-cancel", OK, says, INFO), thread)
        return
    stated = call.data.get("version")
    rules = rules_of(stated) if stated is not None else s.rules
    s.tokens.end(None if _answered(s, m, rpc, call, rules) else call.data.get("token"))


def _answered(s: Session, m: Message, rpc: dict[str, Any], call: Call, rules: Rules | None) -> bool:
    """Work in the answer to ``call``; returns whether what was asked for goes on, as a task."""
    result = section(rpc, "result")
    failed = "error" in rpc
    method = call.method
    if method == "initialize" and call.asker == CLIENT:
        _greeted(s, result, failed=failed)
    if method.startswith("tasks/"):
        _about_task(s, m, rpc, call, rules)
        return False
    if failed:
        s.desk.settle(call, m, declared_by_error(error_of(rpc)[0])[1])
        _release_input(s, m, call)
        _input_of_task(s, m, call, REFUSED)
        return False
    body = task_in(result)
    if body is not None:
        if call.data.get("void"):
            s.desk.threads += 1
        fault = s.tasks.create(m, call, body, rules)
        if fault is not None:
            s.desk.say(m, fault, call.data["thread"])
        _release_input(s, m, call)
        return fault is None
    asks = result.get("resultType") == "input_required" and "what" in call.data
    if asks and (rules is None or rules.mrtr):
        _asks_for_input(s, m, call, result)
        return False
    status = FAILED if result.get("isError") is True else FULFILLED
    if method == "elicitation/create":
        status = mcp_chains.status_of_answer(result)
    s.desk.settle(call, m, status)
    _release_input(s, m, call)
    _input_of_task(s, m, call, status)
    return False


def _greeted(s: Session, result: dict[str, Any], *, failed: bool) -> None:
    version = result.get("protocolVersion")
    if failed:
        s.phase = NEW
    elif s.phase == ASKED:
        s.phase = GREETED
    if type(version) is str:
        s.version = version


def _asks_for_input(s: Session, m: Message, call: Call, result: dict[str, Any]) -> None:
    """A request was answered by questions: the client has to repeat it with answers."""
    first = call.data.get("chain") or f"chain:{id_text(call.id)}{s.at}"
    if call.data.get("void"):  # what was discarded changes nothing, but its answer may renew the state
        old = s.chains.find(first, call.data["what"])
        if old is None:
            return
        s.chains.take(old)
        s.chains.wait(call, result, first, call.data["what"], old.ids).owed = old.owed
        return
    if call.owed is not None:
        call.owed.thread = first
        s.desk.settle(call, m, FULFILLED)
    chain = s.chains.wait(call, result, first, call.data["what"], call.data.get("ids", []))
    kept = _kept_input(s, call)
    if kept is not None:
        chain.owed = kept
    elif chain.keys:
        chain.owed = s.desk.book.open(m, INPUT, receiver(m), m.sender, thread=first)


def _kept_input(s: Session, call: Call) -> Obligation | None:
    """The input that was owed before and that a repeated request did not bring."""
    where = call.data.pop("input", None)
    return finder(s.desk.book)(where) if where is not None else None


def _release_input(s: Session, m: Message, call: Call) -> None:
    """The answer came without the input that was asked for."""
    if call.data.get("void") and "chain" in call.data:
        old = s.chains.find(call.data["chain"], call.data["what"])
        if old is not None:
            s.chains.take(old)
    kept = _kept_input(s, call)
    if kept is not None:
        s.desk.close(kept, m, RELEASED)


def _input_of_task(s: Session, m: Message, call: Call, status: str) -> None:
    """A request that a task made (2025) was answered: the task has its input."""
    if "related" in call.data and not call.data.get("void"):
        s.tasks.given(m, receiver(m), call.data["related"], status)


def _about_task(s: Session, m: Message, rpc: dict[str, Any], call: Call, rules: Rules | None) -> None:
    """An answer to one of the requests about tasks."""
    result, method = section(rpc, "result"), call.method
    name = call.data.get("task", "")
    if "error" in rpc:
        s.desk.settle(call, m, declared_by_error(error_of(rpc)[0])[1])
        return
    fault = None
    if method == "tasks/result":
        fault = s.tasks.result(m, name, result, rules)
    elif method == "tasks/list":
        tasks = result.get("tasks")
        for body in tasks if type(tasks) is list else ():
            if type(body) is dict and (wrong := s.tasks.observe(m, body, rules, opens=False)) is not None:
                s.desk.say(m, wrong, s.tasks.thread(body["taskId"]))
    elif method == "tasks/cancel":
        fault = _cancel_heard(s, m, call, result, rules)
    else:
        fault = s.tasks.observe(m, result, rules)
    if fault is not None:
        s.desk.say(m, fault, call.data["thread"])


def _cancel_heard(s: Session, m: Message, call: Call, result: dict[str, Any], rules: Rules | None) -> Fault | None:
    ended = s.tasks.ended(m.sender, call.data.get("task", ""))
    fault = s.tasks.observe(m, result, rules)
    done = result.get("status") in (None, TASK_CANCELLED) and fault is None
    if fault is None and ended and rules is not None and rules.cancel_is_done:
        says = "The task had ended: its cancellation has to be refused with the error -32602."
        fault, done = Fault("mcp.task-illegal-move", ILLEGAL, says), False
    s.desk.settle(call, m, FULFILLED if done else REFUSED)
    return fault


def hold(s: Session, m: Message) -> bool:
    """Keep an answer from before any request; when too many are kept, they are a capture of answers alone."""
    if s.held.keep(m, s.desk.book.seq):
        return True
    for seq, held in s.held.release():
        capture(s, held, seq)
    capture(s, m, s.desk.book.seq)
    return True


def orphans(s: Session) -> None:
    """The first request is here: answers from before it were asked for by nobody."""
    if s.calls.asked:
        return
    for seq, m in s.held.release():
        asker = SERVER if m.sender.startswith(CLIENT) else CLIENT
        name = id_text(m.wire.get("id"))
        if m.wire.get("id") is not None:
            fault = Fault("rpc.orphan-response", NO_TITLE, f"Nobody asked with the id {name}.")
            s.desk.say(m, fault, f"rpc:{asker[0]}:{name}{s.at}", seq=seq)


def capture(s: Session, m: Message, seq: int) -> None:
    """An answer whose request is not in the log: it may tell of a task."""
    now, s.desk.book.seq = s.desk.book.seq, seq
    body = task_in(section(m.wire, "result"))
    if body is not None:
        fault = s.tasks.observe(m, body, s.rules)
        if fault is not None:
            s.desk.say(m, fault, s.tasks.thread(body["taskId"]), seq=seq)
    s.desk.book.seq = now
