"""The state of one conversation: a machine for each pair of parties, and what is remembered of their messages."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from dissensus.say.message import Message
from dissensus.say.tables import PARTNER, STARTER, Place, Step, Table
from dissensus.say.verdicts import Obligation

KEPT_CONTENT: Final = 64
"""Characters up to which content is kept to compare with; of longer content a digest of 128 bits is."""
MOST_LOGGED: Final = 16
"""Messages of one machine that a duplicate is looked for among."""
MOST_STRANGERS: Final = 64
"""Agents without a part in a thread whose further moves are folded under their first one."""

KINDS: Final = frozenset(
    {"done", "result", "true", "false", "no-match", "proxy", "done-proxy", "brokering", "recruiting"}
)
"""Content types that FIPA's protocols tell apart: they mean something in each, also where no move takes them."""

_encoder = msgspec.json.Encoder(order="sorted")


def content_key(content: Any) -> Any:
    """What stands for a message's content when two are compared."""
    if content is None or (type(content) is str and len(content) <= KEPT_CONTENT):
        return content
    try:
        raw = content.encode("utf-8", "surrogatepass") if type(content) is str else _encoder.encode(content)
    except (TypeError, ValueError, UnicodeEncodeError):
        raw = repr(content).encode("utf-8", "backslashreplace")
    return "\0" + blake2b(raw, digest_size=16).hexdigest()


class Applied:
    """A move that may turn out to have crossed another: what it was, and from where.

    ``origin`` is the place whose step it was, ``before`` the one to go back to; they part when moves are made again.
    """

    __slots__ = ("before", "message", "opened", "origin", "step", "suspended")

    def __init__(
        self, message: Message, step: Step, before: Place, suspended: Place | None, opened: tuple[Obligation, ...]
    ) -> None:
        self.message = message
        self.step = step
        self.before = self.origin = before
        self.suspended = suspended
        self.opened = opened


class Machine:
    """One pair of parties in one thread.

    Attributes:
        partner: who was spoken to; the starter is the conversation's.
        place: state that it is in; ``suspended`` is the one that a cancel interrupted.
        owed: obligations that are open.
        log: messages that counted, to tell duplicates and what an answer answers.
        told: last ``reply_with`` of starter and partner.
        shadow, root: state if the discarded messages had counted, and the first of them.
        run: last moves, where messages may have crossed.
        counts: how often each move with a bound was made; ``acts``: acts made, where a state verifies one.
    """

    __slots__ = (
        "acts", "counts", "log", "owed", "partner", "place", "root", "run", "shadow", "suspended", "told_partner",
        "told_starter",
    )  # fmt: skip

    def __init__(self, partner: str, place: Place) -> None:
        self.partner = partner
        self.place = place
        self.suspended: Place | None = None
        self.owed: list[Obligation] = []
        self.log: tuple[Message, ...] = ()
        self.told_starter: str | None = None
        self.told_partner: str | None = None
        self.shadow: Place | None = None
        self.root: str | None = None
        self.run: list[Applied] | None = None
        self.counts: dict[str, int] | None = None
        self.acts: set[str] | None = None

    def remember(self, m: Message) -> None:
        """Keep what tells a duplicate of ``m``: the message, with a digest in place of long content."""
        content = m.content
        if content is not None and (type(content) is not str or len(content) > KEPT_CONTENT):
            m = msgspec.structs.replace(m, content=content_key(content), wire=None)
        self.log = (*self.log, m) if len(self.log) < MOST_LOGGED else (*self.log[1 - MOST_LOGGED :], m)

    def repeats(self, m: Message) -> str | None:
        """Id of an earlier message that ``m`` says again; None if there is none."""
        for old in self.log:
            if (
                old.act == m.act
                and old.sender == m.sender
                and old.receivers == m.receivers
                and old.in_reply_to == m.in_reply_to
                and old.content_type == m.content_type
                and old.content == content_key(m.content)
            ):
                return old.id
        return None

    def go(self, step: Step) -> None:
        """To the state that ``step`` leads to; a cancel suspends, and its refusal resumes."""
        if step.resumes:
            self.place, self.suspended = self.suspended or self.place, None
            return
        self.suspended = self.place if step.suspends else None
        self.place = step.target

    def knows(self, tag: str) -> bool:
        """Whether an earlier message of the thread has ``tag`` as its id or ``reply_with``."""
        return any(tag in (old.id, old.reply_with) for old in self.log)

    def take(self, kind: str) -> Obligation | None:
        """Remove and return the open obligation of ``kind``; None if there is none."""
        for at, owed in enumerate(self.owed):
            if owed.kind == kind:
                return self.owed.pop(at)
        return None


class Conversation:
    """One thread.

    Attributes:
        starter: who began it; ``reply_to``: who is to get the answers besides.
        only: its machine, while there is one; ``subs``: one per partner, by name, where there are several.
        side: machines of third parties that the holder (a broker) speaks with in the same thread.
        unforwarded: answers of third parties that the holder has not passed on.
        held: messages that came before what they answer, where nothing orders delivery.
        strangers: what follows from the moves of those who have no part in it, by name.
    """

    __slots__ = (
        "held", "only", "reply_to", "side", "silent", "starter", "strangers", "subs", "table", "thread", "unforwarded",
    )  # fmt: skip

    def __init__(self, thread: str, table: Table, starter: str) -> None:
        self.thread = thread
        self.table = table
        self.starter = starter
        self.reply_to: str | None = None
        self.only: Machine | None = None
        self.subs: dict[str, Machine] | None = None
        self.side: dict[str, Conversation] | None = None
        self.unforwarded = 0
        self.silent = False
        self.held: list[Message] | None = None
        self.strangers: dict[str, Machine] | None = None

    def machines(self) -> list[Machine]:
        """All machines of the parties, in the order of their beginning."""
        if self.subs is not None:
            return list(self.subs.values())
        return [self.only] if self.only is not None else []

    def of(self, partner: str) -> Machine | None:
        """The machine of ``partner``."""
        if self.only is not None:
            return self.only if self.only.partner == partner else None
        return self.subs.get(partner) if self.subs is not None else None

    def stranger(self, name: str, place: Place) -> Machine | None:
        """Where the state is kept that ``name`` would be in, had it a part in this; None for too many of them."""
        strangers = self.strangers = self.strangers if self.strangers is not None else {}
        if name not in strangers and len(strangers) < MOST_STRANGERS:
            strangers[name] = Machine(name, place)
        return strangers.get(name)

    def add(self, machine: Machine) -> None:
        """A further partner."""
        if self.only is None and self.subs is None:
            self.only = machine
        else:
            if self.subs is None:
                self.subs = {self.only.partner: self.only} if self.only is not None else {}
                self.only = None
            self.subs[machine.partner] = machine

    def ended(self) -> bool:
        """Whether every machine is in a final state."""
        return all(machine.place.final for machine in self.machines())


def choose(steps: tuple[Step, ...], direction: int | None, m: Message, table: Table) -> Step | str:
    """The step of ``steps`` that ``m`` makes, or the name of the rule that stands against it.

    A content type that means nothing here (a MIME type, say) tells nothing and is passed over. An exact content
    type comes before a step that names none, and a message that names none takes the first that fits.
    """
    fitting = [step for step in steps if step.direction == direction]
    if not fitting:
        return "title"
    kind = m.content_type if m.content_type in table.kinds or m.content_type in KINDS else None
    ranked = [step for step in fitting if step.kinds and kind in step.kinds]
    ranked += [step for step in fitting if not step.kinds or kind is None]
    if not ranked:
        return "kind"
    for step in ranked:
        if step.guard is None or step.guard.holds(m.content):
            return step
    return "when"


def direction_of(conversation: Conversation, machine: Machine, m: Message) -> int | None:
    """Which party speaks; None if it is neither."""
    if m.sender == conversation.starter:
        return STARTER
    return PARTNER if m.sender == machine.partner else None


def addressed(conversation: Conversation, machine: Machine, m: Message, direction: int) -> bool:
    """Whether ``m`` goes to the other party."""
    if direction == STARTER:
        return machine.partner in m.receivers
    return conversation.starter in m.receivers or (
        conversation.reply_to is not None and conversation.reply_to in m.receivers
    )
