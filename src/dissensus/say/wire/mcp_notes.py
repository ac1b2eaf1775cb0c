"""Notifications of MCP: the end of the greeting, cancellations, progress, statuses of tasks."""

from __future__ import annotations

from typing import Any

from dissensus.say.message import Message
from dissensus.say.verdicts import ANSWER, CANCELLED, FULFILLED, ILLEGAL, NO_TITLE, PERFORMANCE
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, Call, Fault, id_text
from dissensus.say.wire.mcp_desk import receiver
from dissensus.say.wire.mcp_session import ASKED, GREETED, NEW, OTHER, READY, WAS_CANCELLED, Session
from dissensus.say.wire.mcp_versions import META_SUBSCRIPTION, section


def notification(s: Session, m: Message, rpc: dict[str, Any], side: str) -> None:
    """Work in a notification."""
    method, params = rpc["method"], section(rpc, "params")
    if rpc.get("id") is not None:
        s.mark(side, rpc["id"])
    s.calls.notify()
    if method == "notifications/initialized":
        if side == CLIENT and s.phase in (ASKED, GREETED):
            s.phase = READY
        elif side == CLIENT and s.phase == NEW and not s.desk.complete:
            s.phase, s.early = READY, []  # this log begins behind the greeting
    elif method == "notifications/cancelled":
        _cancelled(s, m, params, side)
    elif method == "notifications/progress":
        if s.rules is not None:
            fault = s.tokens.report(OTHER[side], params, complete=s.asked[OTHER[side]])
            if fault is not None:
                s.desk.say(m, fault)
    elif method in ("notifications/tasks/status", "notifications/tasks"):
        fault = s.tasks.observe(m, params, s.rules)
        if fault is not None:
            s.desk.say(m, fault, s.tasks.thread(params["taskId"]))
    elif method == "notifications/subscriptions/acknowledged" and side == SERVER:
        _subscribed(s, m, params)


def _subscribed(s: Session, m: Message, params: dict[str, Any]) -> None:
    """The server agreed to tell of changes, which it owes from now on."""
    call = s.find(CLIENT, section(params, "_meta").get(META_SUBSCRIPTION))
    if call is None or call.method != "subscriptions/listen" or call.owed is None or call.owed.kind != ANSWER:
        return
    about, thread = call.owed.about, call.data["thread"]
    s.desk.settle(call, m, FULFILLED)
    call.owed = s.desk.book.open(m, PERFORMANCE, m.sender, receiver(m), thread=thread, about=about)


def _cancelled(s: Session, m: Message, params: dict[str, Any], side: str) -> None:
    if "requestId" not in params:
        return
    ident, other, rules = params["requestId"], OTHER[side], s.rules
    own, foreign = s.find(side, ident), s.find(other, ident)
    thread = f"rpc:{side[0] if own is not None or foreign is None else other[0]}:{id_text(ident)}{s.at}"
    greeting = s.greeting and type(s.greeting[0]) is type(ident) and s.greeting[0] == ident
    if rules is not None and side == CLIENT and greeting and (own is None or own.method == "initialize"):
        s.desk.say(m, Fault("mcp.cancel-initialize", ILLEGAL, "initialize cannot be cancelled."), thread)
    elif own is not None:
        _give_up(s, m, own)
    elif foreign is not None and rules is not None and foreign.method in rules.server_cancels and side == SERVER:
        _give_up(s, m, foreign)
    elif rules is not None and (fault := _no_title(s, ident, side, foreign=foreign is not None)) is not None:
        s.desk.say(m, fault, thread)


def _no_title(s: Session, ident: Any, side: str, *, foreign: bool) -> Fault | None:
    """The fault of cancelling what one has not asked for. To cancel what is answered already is a race."""
    name = id_text(ident)
    if foreign:
        return Fault("mcp.cancel-no-title", NO_TITLE, f"Request {name} can be cancelled by the {OTHER[side]} only.")
    if s.calls.over(side, ident) or (s.old is not None and s.old.over(side, ident)):
        task = s.tasks.of_request(side, ident)
        if task is None:
            return None
        return Fault("mcp.cancel-no-title", NO_TITLE, f"Task {task.id} can be cancelled by tasks/cancel only.")
    if not s.asked[side]:
        return None
    return Fault("mcp.cancel-no-title", NO_TITLE, f"The {side} made no request {name}.")


def _give_up(s: Session, m: Message, call: Call) -> None:
    s.desk.settle(call, m, CANCELLED)
    s.tokens.end(call.data.get("token"), cancelled=True)
    s.end(call, WAS_CANCELLED)
