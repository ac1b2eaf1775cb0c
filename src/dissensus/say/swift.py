"""Ordinary moves, made at a glance: most of a long log is requests, promises and deliveries that are simply ok."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissensus.say.judge import about
from dissensus.say.machine import Conversation, Machine
from dissensus.say.message import Message

if TYPE_CHECKING:
    from dissensus.say.monitor import Monitor


def move_on(monitor: Monitor, m: Message, conversation: Conversation) -> bool:
    """Make an ordinary move of an ordinary thread at a glance; False leaves ``m`` to the long way, untouched.

    Whatever could make it anything but ok is left alone: :class:`~dissensus.say.judge.Judge` alone knows the rules, and
    tests hold the two to the same verdicts.
    """
    machine = conversation.only
    if machine is None or machine.shadow is not None or machine.suspended is not None:
        return False
    step = machine.place.swift.get(m.act)  # type: ignore[arg-type] # see() has looked: it is a text
    if step is None:
        return False
    if step.direction:
        sender, receiver, told = machine.partner, conversation.starter, machine.told_starter
    else:
        sender, receiver, told = conversation.starter, machine.partner, machine.told_partner
    receivers = m.receivers
    if m.sender != sender or receivers[0] != receiver or len(receivers) != 1 or sender == receiver:
        return False
    if (step.kinds and m.content_type is not None and m.content_type not in step.kinds) or (
        m.in_reply_to is not None and m.in_reply_to != told
    ):
        return False
    owed = machine.owed
    if (kind := step.close_kind) is not None:
        if len(owed) != 1:
            return False
        one = owed[0]
        if one.kind != kind or (one.deadline is not None and m.at is not None and m.at > one.deadline):
            return False
        owed.clear()
        monitor.book.met(one, m)
    if (opening := step.open_one) is not None:
        _owe(monitor, machine, m, opening, conversation)
    machine.place = place = step.target
    if m.reply_with is not None:
        if step.direction:
            machine.told_partner = m.reply_with
        else:
            machine.told_starter = m.reply_with
    machine.remember(m)
    if place.final:
        monitor.shut(conversation)
    return True


def set_out(monitor: Monitor, m: Message, thread: str) -> bool:
    """Begin an ordinary thread at a glance, as :func:`move_on` goes on with one."""
    if thread in monitor.closed or thread in monitor.long_closed or thread in monitor.astray:
        return False
    table = monitor.tables.get(m.protocol or monitor.default)
    if table is None or len(m.receivers) != 1 or m.receivers[0] == m.sender or m.reply_to is not None:
        return False
    step = table.start.swift.get(m.act)  # type: ignore[arg-type] # see() has looked: it is a text
    if step is None or step.kinds or step.direction or step.close_kind is not None or m.in_reply_to is not None:
        return False
    conversation = Conversation(thread, table, m.sender)
    conversation.only = machine = Machine(m.receivers[0], step.target)
    if step.open_one is not None:
        _owe(monitor, machine, m, step.open_one, conversation)
    machine.told_starter = m.reply_with
    machine.remember(m)
    monitor.threads += 1
    table.used = True
    monitor.running[thread] = conversation
    if step.target.final:
        monitor.shut(conversation)
    return True


def _owe(
    monitor: Monitor,
    machine: Machine,
    m: Message,
    opening: tuple[str, int, int, float | None],
    conversation: Conversation,
) -> None:
    kind, debtor, creditor, by = opening
    starter, partner, table = conversation.starter, machine.partner, conversation.table
    machine.owed.append(
        monitor.book.open(
            m,
            kind,
            partner if debtor else starter,
            partner if creditor else starter,
            sub=partner if table.many else "",
            by=by,
            protocol=table.name,
            about=about(m),
        )
    )
