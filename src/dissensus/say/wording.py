"""Faults in a sentence."""

from __future__ import annotations

from typing import Final

from dissensus.say.machine import Conversation, Machine
from dissensus.say.message import Message
from dissensus.say.tables import PARTNER, Place
from dissensus.say.verdicts import Obligation

DONE: Final[dict[str, str]] = {
    "accept-proposal": "accepted",
    "agree": "agreed",
    "cancel": "cancelled",
    "cfp": "called",
    "confirm": "confirmed",
    "disconfirm": "disconfirmed",
    "failure": "failure reported",
    "inform": "informed",
    "propose": "proposed",
    "refuse": "refused",
    "reject-proposal": "rejected",
    "request": "requested",
    "subscribe": "subscribed",
}
"""What was done by an act; the others are ``"query-if said"``."""


def did(act: str) -> str:
    """What was done by ``act``: ``informed``, ``agreed``."""
    return DONE.get(act, f"{act} said")


def illegal(m: Message, place: Place, rule: str, thread: str) -> str:
    """An act that the state does not allow, or not so."""
    if rule == "kind":
        return f"{thread}: {m.act} of the type {m.content_type} is not legal in state {place.shown}"
    if rule == "when":
        return f"{thread}: the condition on {m.act} does not hold in state {place.shown}"
    if rule == "bound":
        return f"{thread}: {m.act} was said more often than the protocol allows"
    if rule == "verify":
        return f"{thread}: {m.act} would end the thread before what must be verified was"
    if rule == "forward":
        return f"{thread}: {m.act} passes on an answer that nobody gave"
    if rule == "correlation":
        said = f"answers {m.in_reply_to!r}" if m.in_reply_to else "names no question"
        return f"{thread}: {m.act} {said}, which is not what was asked"
    return f"{thread}: {m.act} is not legal in state {place.shown}"


def no_title(m: Message, conversation: Conversation, machine: Machine, owing: int | None, thread: str) -> str:
    """A legal act by somebody, or to somebody, who has no part in it. ``owing`` is whose move it would have been."""
    party = machine.partner if owing == PARTNER else conversation.starter
    if m.sender == party:
        return f"{thread}: {did(m.act or '')} to {', '.join(m.receivers)}, who has no part in it"
    part = "who is not the party that owes" if owing == PARTNER else "who did not begin this thread"
    return f"{thread}: {did(m.act or '')} by {m.sender}, {part}"


def no_authority(m: Message, receiver: str, thread: str) -> str:
    """An order to one who need not obey."""
    return f"{thread}: {m.act} to {receiver}, who owes {m.sender} no obedience"


def anothers_deed(m: Message, whose: str, thread: str) -> str:
    """A promise of what another is to do."""
    return f"{thread}: {did(m.act or '')} by {m.sender} to what only {whose} can do"


def not_asked(m: Message, thread: str) -> str:
    """An answer to whoever was designated, by one of whom nothing was asked."""
    return f"{thread}: {m.act} by {m.sender}, of whom nothing was asked: those who were answer themselves"


def duration(at: float, owed: Obligation) -> str:
    """How long after the deadline ``at`` is."""
    return f"{at - (owed.deadline or at):g} s"
