"""A protocol as data: who may say what to whom in which state, and what it makes them owe.

A protocol is one YAML file (:mod:`dissensus.say.protocol_file` reads it, ``docs/protocol-files.md`` describes it). A
conversation follows it with one small state machine per pair of parties: a call to five bidders is five machines in one
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.say.verdicts import (
    ANSWER,
    AUTHORIZATION,
    CANCEL,
    DECISION,
    INPUT,
    OFFER,
    PERFORMANCE,
    RPC,
)

ONE, MANY, ANY = "one", "many", "any"
"""How many agents hold a role in one thread. ``any``: a platform role, that may be there or not."""

TOTAL, FIFO, UNORDERED = "total", "fifo", "unordered"
"""What the order of the log says. ``total``: it is the truth. ``fifo``: order is kept for each pair of sender and
receiver only, so two messages may have crossed. ``unordered``: nothing."""

FIPA, JADE, STRICT = "fipa", "jade", "strict"

OWED_BY_SENDER: Final = frozenset({OFFER, PERFORMANCE})
"""Obligations that the sender of the opening message owes; the others are owed by its receiver."""
OWED_BY_RECEIVER: Final = frozenset({ANSWER, DECISION, INPUT, AUTHORIZATION, CANCEL, RPC})


@dataclass(frozen=True, slots=True)
class Role:
    """A part in a protocol. A ``platform`` role may report the failure of another party in any open state."""

    name: str
    count: str = ONE
    platform: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """An obligation that a move brings about. Roles are names of roles in the protocol."""

    kind: str
    debtor: str
    creditor: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on a message's content, compiled from ``when:``; ``text`` is as written."""

    text: str
    holds: Callable[[Any], bool] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One legal move: in ``source``, one of ``senders`` says ``act`` to ``receiver``, and the machine goes to ``next``.

    Args:
        source: state in which it is legal. A YAML move for several states is several moves.
        act: one of the 22, or one that the protocol declares.
        kinds: content types that it must have; empty means any.
        senders: roles that may make it; normally one.
        receiver: role that it goes to.
        to_all: addressed to every holder of the role (``participant*``): one machine each.
        next: state afterwards. ``"@resume"`` returns to the state that a cancel suspended.
        opens: obligations brought about.
        closes: kinds of obligation that it meets.
        declares: kinds that it ends by saying so: refused, failed, cancelled, not understood, by its act.
        detaches: kinds of offer that become due: the offer closes, and a performance of the same debtor opens.
        releases: kinds that the creditor gives up.
        by: deadline of what it opens, in seconds after it, where the message carries no ``reply_by``; None: no deadline
            of the protocol's own.
        late: ``"accept"``, or ``"reject"``: a message after the deadline is discarded.
        when: condition on the content.
        repeat: whether an identical message in the same state is a move again, and no duplicate.
        quiet: silence is an answer: nothing is owed although something was asked.
        most: how often it may be made in one thread (a loop's bound); None means any number.
        sub: protocols that the sender may begin with third parties from ``next`` on; ``"any"``.
        delegates, assigns: kinds that pass to another debtor or creditor, whom ``about`` names.
        deadline: where a deadline of what it opens comes from: ``"message"`` (its own ``reply_by``), ``"protocol"``
            (``by``), ``"none"``: the file says that there is none; ``""``: the file says nothing.
        forwards: it passes on what a third party answered: ``"any"`` number of answers, or ``"once"`` for each third
            party; ``""``: it does not.
        origin: ``cancel`` or ``not-understood`` where an ``include:`` brought it in.
        line: line in the file.
    """

    source: str
    act: str
    senders: tuple[str, ...]
    receiver: str
    next: str
    kinds: frozenset[str] = frozenset()
    to_all: bool = False
    opens: tuple[Opening, ...] = ()
    closes: tuple[str, ...] = ()
    declares: tuple[str, ...] = ()
    detaches: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    by: float | None = None
    late: str = "accept"
    when: Guard | None = None
    repeat: bool = False
    quiet: bool = False
    most: int | None = None
    sub: str | None = None
    delegates: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()
    deadline: str = ""
    forwards: str = ""
    origin: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A state and what the file says of it.

    Args:
        name: ``called``; names of final states often begin with ``end.``.
        final: whether the machine is closed in it.
        label: how reports call it, where not by its name; final states are called ``closed``.
        may_lapse: kinds of obligation that may be left open when the conversation just ends here.
        verify: an act that must have occurred before a final state is entered from here.
        after: what it means, for people.
        lapses_as: the act that silence past the deadline stands for, by whoever should have spoken.
        line: line in the file.
    """

    name: str
    final: bool = False
    label: str = ""
    may_lapse: tuple[str, ...] = ()
    verify: str | None = None
    after: str = ""
    lapses_as: str | None = None
    line: int = 0

    @property
    def shown(self) -> str:
        """Name for reports."""
        return self.label or ("closed" if self.final else self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A protocol under one profile, ready to run. ``include:`` and ``profiles:`` are already worked in.

    Args:
        name: ``fipa-contract-net``.
        version: of the file.
        title, source: for people; the specification that it follows.
        profile: ``fipa``, ``jade`` or ``strict``.
        roles: by name.
        start: state in which a thread begins; ``starter``: the role that begins it.
        states: by name.
        moves: all moves.
        delivery: ``total``, ``fifo`` or ``unordered``, unless a run says otherwise.
        must_correlate: an answer must carry ``in_reply_to`` if its question carried ``reply_with``.
        acts: acts of the protocol's own, beyond the 22.
        profiles: names of the profiles that the file knows.
        hidden: kinds of obligation that nobody needs to read about when they were met.
        path: the file.
    """

    name: str
    roles: Mapping[str, Role]
    start: str
    starter: str
    states: Mapping[str, State]
    moves: tuple[Move, ...]
    version: int | str = 1
    title: str = ""
    source: str = ""
    profile: str = FIPA
    delivery: str = TOTAL
    must_correlate: bool = False
    acts: frozenset[str] = frozenset()
    profiles: tuple[str, ...] = (FIPA,)
    hidden: tuple[str, ...] = ()
    path: str = ""

    @property
    def partner(self) -> str:
        """The role that the starter first speaks to."""
        for move in self.moves:
            if move.source == self.start and self.starter in move.senders:
                return move.receiver
        return self.starter

    def moves_from(self, state: str) -> tuple[Move, ...]:
        """The moves that are legal in ``state``."""
        return tuple(move for move in self.moves if move.source == state)


RESUME: Final = "@resume"
"""The next state of a move that goes back to what a cancel suspended."""
