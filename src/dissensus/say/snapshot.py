"""A monitor's knowledge as JSON data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dissensus.errors import UsageError
from dissensus.say.machine import Applied, Conversation, Machine
from dissensus.say.message import Message
from dissensus.say.seen import Seen
from dissensus.say.tables import Place, Table
from dissensus.say.verdicts import Obligation

if TYPE_CHECKING:
    from dissensus.say.monitor import Monitor

VERSION: Final = 1
_NUMBERS: Final = ("messages", "untagged", "threads", "backwards", "violations", "warnings")
_BOOK: Final = ("requests", "unanswered", "seq")


def taken(monitor: Monitor) -> dict[str, Any]:
    """The knowledge of ``monitor``."""
    book = monitor.book
    places = {key: at for at, key in enumerate(book.owed)}
    return {
        "version": VERSION,
        **{name: getattr(monitor, name) for name in _NUMBERS},
        "now": monitor.now if monitor.now != float("-inf") else None,
        "backwards_at": list(monitor.backwards_at),
        "book": {name: getattr(book, name) for name in _BOOK} | {"counts": dict(book.counts)},
        "owed": [msgspec.to_builtins(owed) for owed in book.owed.values()],
        "ids": monitor.ids.state(),
        "running": [_conversation(each, places) for each in monitor.running.values()],
        "astray": [_conversation(each, places) for each in monitor.astray.values()],
        "closed": [_conversation(each, places) for each in monitor.closed.values()],
        "long_closed": monitor.long_closed.state(),
        "used": sorted(name for name, table in monitor.tables.items() if table.used),
        "brokers": dict(monitor.brokers),
        "trackers": {name: tracker.state() for name, tracker in monitor.trackers.items()},
    }


def put_back(monitor: Monitor, state: Mapping[str, Any]) -> None:
    """Give ``monitor`` the knowledge of ``state``."""
    if state.get("version") != VERSION:
        raise UsageError(
            f"This state of a monitor is of version {state.get('version')!r}, and this program knows {VERSION}.",
            next_step="Feed the log again from its beginning.",
        )
    for name in _NUMBERS:
        setattr(monitor, name, state[name])
    monitor.now = state["now"] if state["now"] is not None else float("-inf")
    monitor.backwards_at = list(state["backwards_at"])
    book = monitor.book
    for name in _BOOK:
        setattr(book, name, state["book"][name])
    book.counts = dict(state["book"]["counts"])
    owed = [msgspec.convert(each, Obligation) for each in state["owed"]]
    book.owed = {id(each): each for each in owed}
    monitor.ids = Seen.restore(state["ids"])
    for name in ("running", "astray", "closed"):
        threads: dict[str, Conversation] = getattr(monitor, name)
        threads.clear()
        for each in state[name]:
            conversation = _conversation_back(monitor, each, owed)
            threads[conversation.thread] = conversation
    monitor.long_closed = Seen.restore(state["long_closed"])
    for name in state["used"]:
        monitor.table(name).used = True
    monitor.brokers = dict(state.get("brokers", {}))
    for name, each in state["trackers"].items():
        monitor.tracker(name).restore(each)


def _conversation(conversation: Conversation, places: Mapping[int, int]) -> dict[str, Any]:
    side = conversation.side
    return {
        "thread": conversation.thread,
        "protocol": conversation.table.name,
        "starter": conversation.starter,
        "reply_to": conversation.reply_to,
        "several": conversation.subs is not None,
        "machines": [_machine(machine, places) for machine in conversation.machines()],
        "side": {name: _conversation(talk, places) for name, talk in side.items()} if side is not None else None,
        "unforwarded": conversation.unforwarded,
        "silent": conversation.silent,
        "held": [_message(m) for m in conversation.held] if conversation.held is not None else None,
        "strangers": [_machine(each, places) for each in (conversation.strangers or {}).values()],
    }


def _conversation_back(monitor: Monitor, state: Mapping[str, Any], owed: list[Obligation]) -> Conversation:
    table = monitor.table(state["protocol"])
    conversation = Conversation(state["thread"], table, state["starter"])
    conversation.reply_to = state["reply_to"]
    machines = [_machine_back(each, table, owed) for each in state["machines"]]
    if state["several"]:
        conversation.subs = {machine.partner: machine for machine in machines}
    elif machines:
        conversation.only = machines[0]
    if state["side"] is not None:
        conversation.side = {name: _conversation_back(monitor, each, owed) for name, each in state["side"].items()}
    conversation.unforwarded, conversation.silent = state["unforwarded"], state["silent"]
    if state["held"] is not None:
        conversation.held = [msgspec.convert(each, Message) for each in state["held"]]
    strangers = [_machine_back(each, table, owed) for each in state.get("strangers", ())]
    if strangers:
        conversation.strangers = {machine.partner: machine for machine in strangers}
    return conversation


def _machine(machine: Machine, places: Mapping[int, int]) -> dict[str, Any]:
    return {
        "partner": machine.partner,
        "place": machine.place.name,
        "suspended": machine.suspended.name if machine.suspended is not None else None,
        "owed": [places[id(owed)] for owed in machine.owed if id(owed) in places],
        "log": [_message(m) for m in machine.log],
        "told": [machine.told_starter, machine.told_partner],
        "shadow": machine.shadow.name if machine.shadow is not None else None,
        "root": machine.root,
        "run": [_applied(each, places) for each in machine.run] if machine.run is not None else None,
        "counts": machine.counts,
        "acts": sorted(machine.acts) if machine.acts is not None else None,
    }


def _machine_back(state: Mapping[str, Any], table: Table, owed: list[Obligation]) -> Machine:
    machine = Machine(state["partner"], _place(table, state["place"]))
    machine.suspended = _place(table, state["suspended"]) if state["suspended"] is not None else None
    machine.owed = [owed[at] for at in state["owed"]]
    machine.log = tuple(msgspec.convert(each, Message) for each in state["log"])
    machine.told_starter, machine.told_partner = state["told"]
    machine.shadow = _place(table, state["shadow"]) if state["shadow"] is not None else None
    machine.root = state["root"]
    if state["run"] is not None:
        machine.run = [_applied_back(each, table, owed) for each in state["run"]]
    machine.counts = dict(state["counts"]) if state["counts"] is not None else None
    machine.acts = set(state["acts"]) if state["acts"] is not None else None
    return machine


def _applied(applied: Applied, places: Mapping[int, int]) -> dict[str, Any]:
    steps = applied.origin.steps[applied.step.act]
    return {
        "message": _message(applied.message),
        "origin": applied.origin.name,
        "act": applied.step.act,
        "step": steps.index(applied.step),
        "before": applied.before.name,
        "suspended": applied.suspended.name if applied.suspended is not None else None,
        "opened": [places[id(owed)] for owed in applied.opened if id(owed) in places],
    }


def _applied_back(state: Mapping[str, Any], table: Table, owed: list[Obligation]) -> Applied:
    origin = _place(table, state["origin"])
    applied = Applied(
        msgspec.convert(state["message"], Message),
        origin.steps[state["act"]][state["step"]],
        origin,
        _place(table, state["suspended"]) if state["suspended"] is not None else None,
        tuple(owed[at] for at in state["opened"]),
    )
    applied.before = _place(table, state["before"])
    return applied


def _message(m: Message) -> Any:
    return msgspec.to_builtins(m)


def _place(table: Table, name: str) -> Place:
    try:
        return table.places[name]
    except KeyError:
        raise UsageError(
            f"The state names {name!r}, which {table.name} does not have.",
            next_step="Use the protocol file that it was taken with.",
        ) from None
