"""Messages that crossed on the way, or came before what they answer, where the order of the log is not the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissensus.say.machine import Applied, Conversation, Machine, addressed, choose, direction_of
from dissensus.say.message import Message
from dissensus.say.protocol import UNORDERED
from dissensus.say.tables import Step
from dissensus.say.verdicts import INFO, MOOT, OK, RELEASED

if TYPE_CHECKING:
    from dissensus.say.judge import Judge

MOST_RUN: Final = 8
"""Moves that a message may have crossed."""
MOST_HELD: Final = 32
"""Messages of one thread that are kept until what they answer comes."""


def cross(judge: Judge, conversation: Conversation, machine: Machine, m: Message, delivery: str) -> str | None:
    """If ``m`` was sent before its sender knew of the last moves, apply it there, and these after it.

    Under ``fifo`` only the other party's moves can have been crossed, under ``unordered`` one's own as well. A message
    that answers one of them shows that its sender had seen it.
    """
    run = machine.run or []
    direction = direction_of(conversation, machine, m)
    if direction is None or not addressed(conversation, machine, m, direction):
        return None
    if machine.place.final and (answered := _answer_to_moot(judge, conversation, machine, m)) is not None:
        return answered
    for at in range(len(run) - 1, -1, -1):
        passed = run[at]
        if delivery != UNORDERED and passed.message.sender == m.sender:
            return None
        if m.in_reply_to is not None and m.in_reply_to in (passed.message.id, passed.message.reply_with):
            return None
        step = choose(passed.before.steps.get(m.act or "", ()), direction, m, conversation.table)
        if isinstance(step, Step):
            if step.suspends and machine.place.final:
                return _moot(judge, conversation, machine, m, (step, at))
            return _reorder(judge, conversation, machine, m, (step, at))
    return None


def _moot(judge: Judge, conversation: Conversation, machine: Machine, m: Message, where: tuple[Step, int]) -> str:
    """A cancel that crossed the end of what it would cancel: it changes nothing, and its answer is owed no more."""
    step, at = where
    run = machine.run or []
    parties = (conversation.starter, machine.partner)
    sub = machine.partner if conversation.table.many else ""
    for kind, debtor, creditor, by in step.opens:
        owed = judge.book.open(
            m, kind, parties[debtor], parties[creditor], sub=sub, by=by, protocol=conversation.table.name
        )
        judge.book.close(owed, run[-1].message, RELEASED, reason=MOOT)
    ids = tuple(passed.message.id for passed in run[at:])
    moved = Applied(m, step, run[at].before, None, ())
    moved.before = machine.place
    machine.run = [*run, moved]
    machine.remember(m)
    if m.reply_with is not None:
        machine.told_starter = m.reply_with
    says = f"{conversation.thread}: crossed {', '.join(ids)} on the way, and there is nothing left to cancel"
    return judge.say(m, OK, "crossed", INFO, says, machine=machine, conversation=conversation, crossed=ids)


def _answer_to_moot(judge: Judge, conversation: Conversation, machine: Machine, m: Message) -> str | None:
    """An answer to a cancel that came too late to matter is no fault; None if ``m`` is none. It counts once."""
    for passed in machine.run or ():
        if not (passed.step.suspends and passed.before.final) or passed.message.sender == m.sender:
            continue
        if m.in_reply_to is not None and m.in_reply_to not in (passed.message.id, passed.message.reply_with):
            continue
        steps = passed.step.target.steps.get(m.act or "", ())
        if isinstance(choose(steps, direction_of(conversation, machine, m), m, conversation.table), Step):
            machine.run = [other for other in machine.run or () if other is not passed]
            machine.remember(m)
            says = f"{conversation.thread}: answers {passed.message.id}, which came too late to matter"
            ids = (passed.message.id,)
            return judge.say(m, OK, "crossed", INFO, says, machine=machine, conversation=conversation, crossed=ids)
    return None


def _reorder(judge: Judge, conversation: Conversation, machine: Machine, m: Message, where: tuple[Step, int]) -> str:
    """Go back, make this move, then the later ones again; what has become moot is released."""
    step, at = where
    run = machine.run or []
    moved, machine.run = run[at:], run[:at]
    machine.place, machine.suspended = moved[0].before, moved[0].suspended
    judge.apply(conversation, machine, m, step)
    for passed in moved:
        steps = machine.place.steps.get(passed.message.act or "", ())
        again = choose(steps, passed.step.direction, passed.message, conversation.table)
        if isinstance(again, Step):
            passed.before, passed.suspended = machine.place, machine.suspended
            judge.close_by(machine, passed.message, again)
            machine.go(again)
            machine.run = [*(machine.run or []), passed]
            continue
        for owed in passed.opened:
            if owed in machine.owed:
                machine.owed.remove(owed)
                judge.book.close(owed, m, RELEASED, reason=MOOT)
        if passed.step.suspends:
            passed.before, passed.suspended, passed.opened = machine.place, None, ()
            machine.run = [*(machine.run or []), passed]
    judge.closing = judge.closing or machine.place.final
    ids = tuple(passed.message.id for passed in moved)
    says = f"{conversation.thread}: crossed {', '.join(ids)} on the way"
    return judge.say(m, OK, "crossed", INFO, says, machine=machine, conversation=conversation, crossed=ids)


def hold(conversation: Conversation, m: Message) -> bool:
    """Keep ``m`` until what it answers comes; False if its act is never legal, or too many are kept."""
    known = any(m.act in place.steps for place in conversation.table.places.values())
    held = conversation.held = conversation.held if conversation.held is not None else []
    if not known or len(held) >= MOST_HELD or any(m is other for other in held):
        return False
    held.append(m)
    return True


def release(judge: Judge, conversation: Conversation) -> None:
    """Judge again what was held, until nothing more becomes legal."""
    while conversation.held and _release_one(judge, conversation):
        pass


def _release_one(judge: Judge, conversation: Conversation) -> bool:
    for m in list(conversation.held or ()):
        for machine in conversation.machines():
            steps = machine.place.steps.get(m.act or "", ())
            step = choose(steps, direction_of(conversation, machine, m), m, conversation.table)
            if isinstance(step, Step) and addressed(conversation, machine, m, step.direction):
                conversation.held = [other for other in conversation.held or () if other is not m]
                says = f"{conversation.thread}: came before what it answers"
                judge.say(m, OK, "crossed", INFO, says, machine=machine, conversation=conversation)
                judge.apply(conversation, machine, m, step)
                return True
    return False
