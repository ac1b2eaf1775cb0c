"""Silence that stands for an act: under the profile ``jade``, no decision on a bid within its deadline rejects it."""

from __future__ import annotations

from dissensus.say.book import Book
from dissensus.say.machine import Machine
from dissensus.say.message import Message
from dissensus.say.verdicts import RELEASED


def too_late(book: Book, machine: Machine, m: Message) -> bool:
    """If ``m`` decides what silence has decided otherwise, make the move that silence stood for; whether it was made.

    That decision itself, said late, is only late; and a cancel is no decision.
    """
    stands_for, steps = machine.place.lapses_as, machine.place.steps
    if m.at is None or m.act == stands_for:
        return False
    decided = {kind for step in steps.get(stands_for or "", ()) for kind in step.closes}
    if not any(decided.intersection(step.closes) for step in steps.get(m.act or "", ())):
        return False
    if not lapse(book, machine, m.at):
        return False
    machine.place = steps[stands_for or ""][0].target
    return True


def lapse(book: Book, machine: Machine, at: float) -> bool:
    """Whether the wait in this state has timed out by ``at``; then what its silence gives up is released.

    What was owed and did not come stays open: it has expired.
    """
    act = machine.place.lapses_as
    if act is None or not any(owed.deadline is not None and at > owed.deadline for owed in machine.owed):
        return False
    released = {kind for step in machine.place.steps.get(act, ()) for kind in step.releases}
    for owed in [owed for owed in machine.owed if owed.kind in released]:
        machine.owed.remove(owed)
        book.end(owed, RELEASED, reason=f"silence stands for {act}")
    return True
