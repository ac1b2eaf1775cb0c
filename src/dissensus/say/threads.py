"""Which machine of which thread a message concerns: the first one of a thread, one to many, one after the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissensus.say import folding, sides, wording
from dissensus.say.delivery import release
from dissensus.say.machine import Conversation, Machine
from dissensus.say.message import Message
from dissensus.say.tables import Table
from dissensus.say.verdicts import DUPLICATE, HELD, ILLEGAL, LATE, NO_TITLE, OK, VIOLATION, VOID

if TYPE_CHECKING:
    from dissensus.say.monitor import Monitor

KEPT: Final = 16_384
"""How many closed threads are remembered whole, and astray ones; of older ones only that they are closed."""
WORST: Final = {OK: 0, DUPLICATE: 1, HELD: 2, LATE: 3, VOID: 4, NO_TITLE: 5, ILLEGAL: 6}
"""Verdicts by weight: a message to many has the worst that it has for one of them."""


def begin(monitor: Monitor, m: Message, thread: str) -> str:
    """The first message of a thread, or one of a thread that is closed or never began well."""
    conversation = monitor.closed.get(thread)
    if conversation is not None:
        return _after_the_end(monitor, conversation, m)
    if thread in monitor.long_closed:
        says = f"{thread}: {m.act} is not legal in state closed"
        return monitor.say(m, ILLEGAL, "state", VIOLATION, says, party=m.sender)
    table = monitor.table(m.protocol or monitor.default, m.line)
    conversation = monitor.astray.get(thread)
    if m.act in table.starters:
        return _start(monitor, _for(m, thread, table, conversation), m)
    if conversation is None or (m.protocol is not None and conversation.table is not table):
        conversation = Conversation(thread, table, m.receivers[0])
        conversation.add(Machine(m.sender, table.start))
        _go_astray(monitor, thread, conversation)
    return among_many(monitor, conversation, m)


def _for(m: Message, thread: str, table: Table, astray: Conversation | None) -> Conversation:
    """The conversation that ``m`` begins. What was discarded before it bound neither a protocol nor a party."""
    if astray is not None and astray.table is table and m.sender == astray.starter:
        return astray
    conversation = Conversation(thread, table, m.sender)
    if astray is not None:
        conversation.held = astray.held
    return conversation


def _start(monitor: Monitor, conversation: Conversation, m: Message) -> str:
    """Let ``m`` begin the thread, if it may; else the thread stays astray."""
    _join(conversation, m)
    verdict = among_many(monitor, conversation, m)
    thread, start = conversation.thread, conversation.table.start
    if all(machine.place is start for machine in conversation.machines()):
        _go_astray(monitor, thread, conversation)
        return verdict
    monitor.threads += 1
    conversation.table.used = True
    monitor.astray.pop(thread, None)
    monitor.running[thread] = conversation
    if conversation.held:
        release(monitor, conversation)
    if monitor.closing:
        monitor.close_if_ended(conversation)
    return verdict


def _go_astray(monitor: Monitor, thread: str, conversation: Conversation) -> None:
    monitor.astray[thread] = conversation
    if len(monitor.astray) > KEPT:
        gone = monitor.astray.pop(next(iter(monitor.astray)))
        monitor.let_go(gone)


def _after_the_end(monitor: Monitor, conversation: Conversation, m: Message) -> str:
    """A message to a closed thread: a further partner of a call, a duplicate, or illegal."""
    table = conversation.table
    anew = table.many and m.sender == conversation.starter and m.act in table.starters
    if anew and not any(conversation.of(receiver) for receiver in m.receivers):
        del monitor.closed[conversation.thread]
        monitor.running[conversation.thread] = conversation
    return among_many(monitor, conversation, m)


def _join(conversation: Conversation, m: Message) -> None:
    """A machine for each receiver who has none."""
    for receiver in m.receivers:
        if conversation.of(receiver) is None:
            conversation.add(Machine(receiver, conversation.table.start))
    if m.reply_to is not None:
        conversation.reply_to = m.reply_to


def among_many(monitor: Monitor, conversation: Conversation, m: Message) -> str:
    """Find the machines that ``m`` concerns, and judge it in each."""
    if m.about is not None and m.sender in monitor.platforms and (whose := conversation.of(m.about)) is not None:
        return monitor.judge(conversation, whose, m)
    if m.sender == conversation.starter:
        table = conversation.table
        if m.act in table.starters and table.many:
            _join(conversation, m)
        found = [machine for name in dict.fromkeys(m.receivers) if (machine := conversation.of(name)) is not None]
    else:
        mine = conversation.of(m.sender)
        found = [mine] if mine is not None else []
        if conversation.table.designated:
            verdict = sides.not_theirs_to_say(monitor, conversation, m)
            if verdict is not None:
                return verdict
        if conversation.table.has_sub and not (mine is not None and conversation.starter in m.receivers):
            verdict = sides.aside(monitor, conversation, m)
            if verdict is not None:
                return verdict
    if not found and conversation.strangers is not None:
        name = m.sender if m.sender != conversation.starter else m.receivers[0]
        stranger = conversation.strangers.get(name)
        if stranger is not None and (root := folding.follows(conversation, stranger, m)) is not None:
            says = wording.illegal(m, stranger.place, "state", conversation.thread)
            return monitor.say(
                m, ILLEGAL, "state", VIOLATION, says,
                party=m.sender, machine=stranger, conversation=conversation, caused_by=root,
            )  # fmt: skip
    if not found:
        found = _nearest(conversation, m)
    verdict = OK
    for machine in found:
        here = monitor.judge(conversation, machine, m)
        if WORST[here] > WORST[verdict]:
            verdict = here
    return verdict


def _nearest(conversation: Conversation, m: Message) -> list[Machine]:
    """The one machine to judge a stranger's message by: its receiver's, else the first where its act is legal."""
    machines = conversation.machines()
    for machine in machines:
        if machine.partner in m.receivers:
            return [machine]
    for machine in machines:
        if m.act in machine.place.steps:
            return [machine]
    return machines[:1]
