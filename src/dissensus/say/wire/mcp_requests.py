"""Requests of MCP: what they make their receiver owe, and which may not be made."""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.message import Message
from dissensus.say.verdicts import ANSWER, CANCEL, ILLEGAL
from dissensus.say.wire import mcp_chains
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, Call, Fault, id_text
from dissensus.say.wire.mcp_answers import orphans
from dissensus.say.wire.mcp_desk import receiver
from dissensus.say.wire.mcp_session import ASKED, MOST_EARLY, NEW, READY, Session
from dissensus.say.wire.mcp_versions import META_TASK, Rules, rules_of, section, version_in

POLLS: Final = frozenset({"tasks/get", "tasks/list", "tasks/result", "tasks/update"})
"""Requests about a task. They open no obligation; one that was never answered is listed at the end."""
_LONGEST_ABOUT: Final = 80


def request(s: Session, m: Message, rpc: dict[str, Any], side: str) -> None:
    """Register a request, and open what it makes its receiver owe, unless it is discarded."""
    method, params, ident = rpc["method"], section(rpc, "params"), rpc["id"]
    orphans(s)
    s.asked[side] = True
    stated = version_in(rpc)
    if stated is not None and s.phase == NEW:
        s.version = stated
    if method == "initialize" and side == CLIENT:
        _greet(s, params, ident)
    rules = rules_of(stated) if stated is not None else s.rules
    call, fault = s.calls.ask(m, rpc, asker=side)
    thread = f"rpc:{side[0]}:{id_text(ident)}{s.at}"
    call.seq = s.desk.book.seq
    if stated is not None:
        call.data["version"] = stated
    chain = None
    if side == CLIENT and method in mcp_chains.METHODS and (rules is None or rules.mrtr):
        call.data["what"] = what = mcp_chains.target(method, params)
        chain = s.chains.match(what, params)
    if method.startswith("tasks/") and type(params.get("taskId")) is str:
        call.data["task"] = params["taskId"]
        thread = s.tasks.thread(params["taskId"])
    if chain is not None:
        thread = chain.thread
        call.data["chain"], call.data["ids"] = thread, list(chain.ids)
    call.data["thread"] = thread
    token = s.tokens.begin(side, section(params, "_meta").get("progressToken"))
    if token is not None:
        call.data["token"] = token
    if chain is not None and rules is not None:
        fault = mcp_chains.same_id(chain, ident) or fault or mcp_chains.not_echoed(chain, params)
    fault = fault or _out_of_turn(s, m, method, side, rules)
    if fault is not None:
        call.data["void"] = True
        s.desk.say(m, fault, thread)
        return
    _oblige(s, m, call, params, chain)


def _out_of_turn(s: Session, m: Message, method: str, side: str, rules: Rules | None) -> Fault | None:
    """The fault of a request that nobody may make, or not yet."""
    if rules is None:
        if s.phase == NEW and side == CLIENT and method != "ping" and len(s.early) < MOST_EARLY:
            s.early.append((s.desk.book.seq, m))
        return None
    if side == SERVER and not rules.server_requests:
        says = f"{rules.version}: a server asks by an answer that requires input, not by requests ({method})."
        return Fault("mcp.server-request", ILLEGAL, says)
    if not rules.lifecycle or s.phase == READY or method in ("initialize", "ping"):
        return None
    if s.phase != NEW or s.desk.complete:
        return Fault("mcp.before-initialized", ILLEGAL, f"{method} comes before notifications/initialized.")
    if side == CLIENT and len(s.early) < MOST_EARLY:
        s.early.append((s.desk.book.seq, m))
    return None


def _oblige(s: Session, m: Message, call: Call, params: dict[str, Any], chain: mcp_chains.Chain | None) -> None:
    """Open what a legal request makes its receiver owe."""
    method, thread = call.method, call.data["thread"]
    debtor, creditor = receiver(m), m.sender
    if method in POLLS:
        call.data["poll"] = [m.sender, debtor, m.where]
        if method == "tasks/update":
            s.tasks.deliver(m, debtor, str(params.get("taskId")), params)
        return
    if method == "tasks/cancel":
        call.owed = s.desk.book.open(m, CANCEL, debtor, creditor, thread=thread, about=_about(method, params))
        return
    if chain is not None:
        s.chains.take(chain)
        answers = mcp_chains.answers_in(params)
        if chain.owed is not None and answers:
            s.desk.close(chain.owed, m, mcp_chains.status_of(answers))
        elif chain.owed is not None:
            call.data["input"] = [chain.owed.opened_by, chain.owed.kind, chain.owed.thread]
    else:
        s.desk.threads += 1
    call.owed = s.desk.book.open(m, ANSWER, debtor, creditor, thread=thread, about=_about(method, params))
    ttl = section(params, "task").get("ttl")
    if type(ttl) in (int, float):
        call.data["ttl"] = ttl
    related = section(section(params, "_meta"), META_TASK).get("taskId")
    if type(related) is str:
        call.data["related"] = related


def _greet(s: Session, params: dict[str, Any], ident: Any) -> None:
    waiting = {call.message: call for call in s.calls.open_calls() if call.asker == CLIENT}
    # answered before any greeting, or greeted before this log began: that was another connection
    if s.greeting or s.phase == READY or any(m.id not in waiting for _, m in s.early):
        s.begin_again()
    s.phase = ASKED
    s.greeting = [ident]
    version = params.get("protocolVersion")
    s.version = version if type(version) is str else None
    early, s.early = s.early, []
    if s.rules is None or not s.rules.lifecycle:
        return
    for seq, m in early:  # only now is it known that they came before the greeting
        call = waiting.get(m.id)
        if call is None:  # it was answered: a connection from before this log's beginning
            continue
        if call.owed is not None:
            s.desk.book.withdraw(call.owed)
            call.owed = None
        call.data["void"] = True
        call.data.pop("poll", None)
        fault = Fault("mcp.before-initialized", ILLEGAL, f"{call.method} comes before initialize.")
        s.desk.say(m, fault, call.data["thread"], seq=seq)


def _about(method: str, params: dict[str, Any]) -> str:
    return mcp_chains.target(method, params)[:_LONGEST_ABOUT]
