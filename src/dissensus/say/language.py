"""Whether messages keep to a protocol, found by trying everything that they could mean.

It stands beside the monitor and shares nothing with it: the language of a protocol is what its moves allow, by
:class:`~dissensus.say.exploring.Machine`. Where a message could be several moves, all are followed. So what is outside
here is outside under every reading, and generated traces can be trusted to be wrong. It is made for short traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from dissensus.say.acts import ACTS, ASSERTIVE
from dissensus.say.exploring import Machine, Place, Way
from dissensus.say.message import Message
from dissensus.say.protocol import TOTAL, Move, Protocol
from dissensus.say.verdicts import PERFORMANCE

PLATFORM: Final = "ams"
"""Name of the platform in generated traces; the monitor knows it as one."""
TALKS: Final = {
    "request": "fipa-request",
    "query-if": "fipa-query",
    "query-ref": "fipa-query",
    "request-when": "fipa-request-when",
    "request-whenever": "fipa-request-when",
    "cfp": "fipa-contract-net",
    "propose": "fipa-propose",
    "subscribe": "fipa-subscribe",
}
"""Protocol of a broker's talk with a third party, by its first act. What only tells something begins no talk."""

Find = Callable[[str], Protocol]
Due = tuple[tuple[str, float], ...]
"""Deadlines of what is owed: kind and time, oldest first."""


@dataclass(frozen=True, slots=True)
class _Stand:
    """One reading of how a machine stands."""

    place: Place
    due: Due = ()


@dataclass(slots=True)
class _Party:
    """The machine of one partner, in all readings; ``was`` keeps earlier ones, for messages that may have crossed."""

    stands: frozenset[_Stand]
    was: list[frozenset[_Stand]] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    ended: bool = False


class Thread:
    """One conversation, message by message.

    Args:
        protocol: its protocol.
        find: gives the protocols by which a broker talks with third parties.
        machine: the protocol, prepared; it is prepared here if not given.
    """

    def __init__(self, protocol: Protocol, find: Find | None = None, *, machine: Machine | None = None) -> None:
        self.protocol = protocol
        self.machine = machine or Machine(protocol)
        self.kinds = frozenset[str]().union(*(move.kinds for move in protocol.moves))
        self.opening = frozenset(move.next for move in protocol.moves if move.sub)
        self.starter = ""
        self.parties: dict[str, _Party] = {}
        self.talks: dict[str, Thread] = {}
        self.to_forward = 0
        self._find = find
        self._ids: set[str] = set()

    def see(self, m: Message) -> str:
        """Why ``m`` is outside the language; "" if it is in it, and counts then."""
        if m.id in self._ids:
            return "duplicate"
        self._ids.add(m.id)
        if not m.receivers:
            return "receiver"
        if m.sender == PLATFORM and m.about is not None:
            return self._reported(m)
        if not self.starter or m.sender == self.starter:
            return self._from_starter(m)
        party = self.parties.get(m.sender)
        if party is not None and self.starter in m.receivers:
            return self._advance(m, [party], self.protocol.partner)
        return self._aside(m)

    def over(self) -> bool:
        """Whether every machine has come to a final state."""
        finals = self.machine.finals
        return bool(self.parties) and all(
            party.ended or any(stand.place.state in finals for stand in party.stands) for party in self.parties.values()
        )

    def _from_starter(self, m: Message) -> str:
        found: list[_Party] = []
        fresh: dict[str, _Party] = {}
        for name in m.receivers:
            party = self.parties.get(name)
            if party is None:
                partner = self.protocol.roles.get(self.protocol.partner)
                if self.parties and (partner is None or partner.count == "one"):
                    return "title"
                party = fresh[name] = _Party(frozenset({_Stand(self.machine.start)}))
            found.append(party)
        why = self._advance(m, found, self.protocol.starter)
        if not why:
            self.starter = self.starter or m.sender
            self.parties |= fresh
        return why

    def _advance(self, m: Message, parties: list[_Party], role: str) -> str:
        """Move all of ``parties``, or none."""
        after: list[frozenset[_Stand]] = []
        late = False
        forwarded = False
        for party in parties:
            if party.ended:
                return "closed"
            found = self._steps(party.stands, m, role)
            if not found and self.protocol.delivery != TOTAL:
                found = [step for earlier in party.was for step in self._steps(earlier, m, role)]
            if not found:
                return "state"
            if all(way.move.next == stand.place.state and not way.move.repeat for stand, way, _, _ in found) and any(
                _same(m, other) for other in party.said
            ):
                return "duplicate"
            late = late or all(step_late for _, _, _, step_late in found)
            forwarded = forwarded or any(way.move.forwards for _, way, _, _ in found)
            after.append(frozenset(stand for _, _, stand, _ in found))
        if forwarded:
            if not self.to_forward:
                return "forward"
            self.to_forward -= 1
        for party, stands in zip(parties, after, strict=True):
            party.was.append(party.stands)
            party.stands = stands
            party.said.append(m)
        self._end_if_talked_out()
        return "late" if late else ""

    def _steps(self, stands: Iterable[_Stand], m: Message, role: str) -> list[tuple[_Stand, Way, _Stand, bool]]:
        found = []
        other = self.protocol.partner if role == self.protocol.starter else self.protocol.starter
        for stand in stands:
            for way in self.machine.ways_from(stand.place.state):
                if way.sender != role or way.move.receiver != other or not fits(way.move, m, self.kinds):
                    continue
                place = self.machine.step(stand.place, way)
                if place is not None:
                    due, late = settle(stand.due, way.move, m)
                    found.append((stand, way, _Stand(place, due), late))
        return found

    def _reported(self, m: Message) -> str:
        """A platform's word that a party has failed: it ends that party's machine, whatever the state.

        Whom the platform tells is left open: what it says is true all the same.
        """
        party = self.parties.get(m.about or "")
        start, finals = self.machine.start.state, self.machine.finals
        if m.act != "failure":
            return "state"
        if party is None or party.ended or all(stand.place.state in finals | {start} for stand in party.stands):
            return "state"
        party.ended = True
        return ""

    def _aside(self, m: Message) -> str:
        """Between a broker and third parties, in the same thread."""
        brokers = [
            (name, party)
            for name, party in self.parties.items()
            if not party.ended and any(stand.place.state in self.opening for stand in party.stands)
        ]
        for name, _ in brokers:
            if m.sender == name and len(m.receivers) == 1:
                other = m.receivers[0]
                if other not in self.talks:
                    if m.act in ACTS and ASSERTIVE in ACTS[m.act].classes and m.act != "failure":
                        return ""
                    protocol = TALKS.get(m.act or "")
                    if protocol is None or self._find is None:
                        return "title"
                    self.talks[other] = Thread(self._find(protocol), self._find)
                return self.talks[other].see(m)
            if m.sender in self.talks and name in m.receivers:
                why = self.talks[m.sender].see(m)
                if why in {"", "late"}:
                    self.to_forward += 1
                return why
        return "title"

    def _end_if_talked_out(self) -> None:
        """A broker's thread is over when all its talks are, and their answers have been passed on."""
        if not self.talks or self.to_forward or not all(talk.over() for talk in self.talks.values()):
            return
        for party in self.parties.values():
            if any(stand.place.state in self.opening for stand in party.stands):
                party.ended = True


def first_outside(
    protocol: Protocol, messages: Iterable[Message], find: Find | None = None, *, machine: Machine | None = None
) -> int | None:
    """Place of the first message, from 0, that does not keep to ``protocol``; None if all do."""
    thread = Thread(protocol, find, machine=machine)
    return next((at for at, m in enumerate(messages) if thread.see(m)), None)


def fits(move: Move, m: Message, kinds: frozenset[str]) -> bool:
    """Whether ``m`` may be ``move``, by act, content type and content.

    A content type that the protocol does not know (``kinds``) tells nothing.
    """
    if move.act != m.act:
        return False
    kind = m.content_type if m.content_type in kinds else None
    if move.kinds and kind is not None and kind not in move.kinds:
        return False
    return move.when is None or move.when.holds(m.content)


def settle(due: Due, move: Move, m: Message) -> tuple[Due, bool]:
    """Deadlines after ``move`` was made by ``m``, and whether it came too late."""
    left = list(due)
    late = False
    for kind, every in (*((kind, False) for kind in move.closes), *((kind, True) for kind in move.declares)):
        for each in [each for each in left if each[0] == kind][: None if every else 1]:
            left.remove(each)
            late = late or (m.at is not None and m.at > each[1])
    for kind in (*move.releases, *move.detaches):
        for each in [each for each in left if each[0] == kind][:1]:
            left.remove(each)
    deadline = m.reply_by
    if deadline is None and move.by is not None and m.at is not None:
        deadline = m.at + move.by
    opened = [each.kind for each in move.opens if not move.quiet] + [PERFORMANCE for _ in move.detaches]
    # what has no deadline is kept as well, so that the oldest of its kind is the one that is closed
    left += [(kind, deadline if deadline is not None else float("inf")) for kind in opened]
    return tuple(left), late


def _same(one: Message, two: Message) -> bool:
    return (one.act, one.sender, one.receivers, one.in_reply_to, one.content) == (
        two.act,
        two.sender,
        two.receivers,
        two.in_reply_to,
        two.content,
    )
