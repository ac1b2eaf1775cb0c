"""What follows from an earlier fault: the state a thread would be in, had the discarded messages counted."""

from __future__ import annotations

from dissensus.say.machine import Conversation, Machine, addressed, choose, direction_of
from dissensus.say.message import Message
from dissensus.say.tables import PARTNER, STARTER, Place, Step, Table


def fold(conversation: Conversation, machine: Machine, m: Message) -> str | None:
    """Id of the earlier fault without which ``m`` would have been legal; and go on as if ``m`` had counted."""
    whose = _whose(conversation, machine, m)
    if whose is not None and (root := follows(conversation, whose, m)) is not None:
        return root
    begin(conversation, machine, m)
    return None


def follows(conversation: Conversation, machine: Machine, m: Message) -> str | None:
    """Id of the earlier fault that ``m`` follows from, and go on there; None if it follows from none."""
    if machine.shadow is None:
        return None
    steps = machine.shadow.steps.get(m.act or "", ())
    step = choose(steps, direction_of(conversation, machine, m), m, conversation.table)
    if not isinstance(step, Step) or not addressed(conversation, machine, m, step.direction):
        return None
    root = machine.root
    machine.shadow = None if step.resumes else step.target  # resumed: both are where the thread really is
    if machine.shadow is None:
        machine.root = None
    return root


def begin(conversation: Conversation, machine: Machine, m: Message) -> None:
    """Remember where ``m`` would have led, had it counted; it becomes the root of what follows from it."""
    whose = _whose(conversation, machine, m)
    if whose is None:
        return
    machine = whose
    act = m.act or ""
    base = machine.shadow or machine.place
    steps = base.steps.get(act) or machine.place.steps.get(act)
    if steps:
        target: Place | None = steps[0].target
    else:
        target = _only_target(conversation.table, act, direction_of(conversation, machine, m))
    if target is not None and target.name in conversation.table.places:
        machine.shadow, machine.root = target, m.id


def follow(machine: Machine, act: str) -> None:
    """A legal move was made: the shadow makes it as well, or ends."""
    if machine.shadow is None:
        return
    further = machine.shadow.steps.get(act)
    machine.shadow = further[0].target if further and not further[0].resumes else None
    if machine.shadow is machine.place or machine.shadow is None:
        machine.shadow = machine.root = None


def _whose(conversation: Conversation, machine: Machine, m: Message) -> Machine | None:
    """Whose state ``m`` would have changed: among many, a stranger's own, and not that of a party beside it."""
    if not conversation.table.many or machine.partner == m.sender or machine.partner in m.receivers:
        return machine
    name = m.sender if m.sender != conversation.starter else m.receivers[0]
    return conversation.stranger(name, machine.place)


def _only_target(table: Table, act: str, direction: int | None) -> Place | None:
    """Where the only move of this act leads, by this party, or by whichever party has it."""
    if direction is not None:
        return table.where_to.get((act, direction))
    return table.where_to.get((act, PARTNER)) or table.where_to.get((act, STARTER))
