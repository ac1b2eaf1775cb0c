"""Conversations made from a protocol: such as keep to it, and such as break it in one place.

:func:`positive_traces` goes a shortest way through every move and on to an end. :func:`negative_traces`
(:mod:`dissensus.say.mutations`) changes one thing in each of them. Nothing is drawn at random: the same protocol gives
the same traces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.say.exploring import Exploration, Machine, Place, Way, explore
from dissensus.say.guard_contents import fulfilling
from dissensus.say.language import PLATFORM, TALKS, Find, Thread, first_outside
from dissensus.say.message import Message
from dissensus.say.protocol import ONE, Protocol

BEGIN: Final = 1_767_225_600.0
"""One second before the first message: 2026-01-01T00:00:00Z. One passes between two, and one trace follows another."""
PATIENCE: Final = 3600.0
"""Seconds until ``reply_by``."""
TARGET: Final = "target"


@dataclass(frozen=True, slots=True)
class Said:
    """One message before it is written down: what makes it, less what follows from those before it.

    Args:
        sender, receivers: names.
        act, kind, content, about: of the message.
        deadline: whether it carries ``reply_by``.
        answers: who it answers: the name whose last message ``in_reply_to`` points at; "" if nobody's.
        asks: whether it carries ``reply_with``.
        delay: seconds that pass before it, beyond the one.
        again: it has the id of the message before it.
    """

    sender: str
    receivers: tuple[str, ...]
    act: str
    kind: str | None = None
    content: Any = None
    about: str | None = None
    deadline: bool = False
    answers: str = ""
    asks: bool = True
    delay: float = 0.0
    again: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """A conversation.

    Args:
        name: its thread.
        shows: the move that it is for, in words.
        messages: what is said.
        ends: whether it comes to a final state; some moves can only be followed by others for ever.
        fault: what was changed: ``drop``, ``swap``, ``wrong-sender`` …; "" if nothing.
        at: place of the message that has to be flagged, from 0; None in a conversation that keeps to the protocol.
    """

    name: str
    shows: str
    messages: tuple[Message, ...]
    ends: bool = True
    fault: str = ""
    at: int | None = None


def positive_traces(protocol: Protocol, find: Find | None = None) -> Iterator[Trace]:
    """A shortest conversation through every move, ending in a final state where there is a way.

    Where a role has many holders, such with two and with three of them follow.

    Args:
        protocol: what to keep to.
        find: gives the protocols by which a broker talks with third parties; the shipped ones if not given.

    Raises:
        SpecError: the protocol is too large to be searched.
    """
    find, machine, begin = finder(protocol, find), Machine(protocol), BEGIN
    for number, (shows, said) in enumerate(plans(protocol, find), 1):
        name = f"{protocol.name}/{number}"
        messages = written(said, name, protocol, begin)
        thread = Thread(protocol, find, machine=machine)
        if not any(thread.see(m) for m in messages):
            yield Trace(name, shows, messages, thread.over())
            begin = messages[-1].at or begin


def finder(protocol: Protocol, find: Find | None) -> Find:
    """``find``, or the shipped protocols under the profile of ``protocol``."""
    if find is not None:
        return find

    def shipped(name: str) -> Protocol:
        from dissensus.say.protocol_file import shipped_protocol

        return shipped_protocol(name, protocol.profile)

    return shipped


def plans(protocol: Protocol, find: Find | None = None) -> Iterator[tuple[str, tuple[Said, ...]]]:
    """What is said in each positive trace, and what the trace shows."""
    paths = _paths(protocol)
    for shows, path in paths:
        yield shows, _arranged(protocol, [path], finder(protocol, find))
    partner = protocol.roles.get(protocol.partner)
    if partner is None or partner.count == ONE:
        return
    alike: dict[tuple[int, ...], list[tuple[Way, ...]]] = {}
    for _, path in paths:
        alike.setdefault(tuple(way.index for way in path if way.move.to_all), []).append(path)
    for shows, path in paths:
        group = alike[tuple(way.index for way in path if way.move.to_all)]
        at = group.index(path)
        yield f"{shows}, twice", _arranged(protocol, [path, path], finder(protocol, find))
        if len(group) > 1:
            others = [path, group[(at + 1) % len(group)], group[(at + 2) % len(group)]]
            yield f"{shows}, among three", _arranged(protocol, others, finder(protocol, find))


def _paths(protocol: Protocol) -> list[tuple[str, tuple[Way, ...]]]:
    """For each move between the two parties of a machine, or by a platform, a shortest path that makes it and ends."""
    found = explore(protocol)
    nearest: dict[tuple[int, str], tuple[Place, Place]] = {}
    for place, way, after in found.edges:
        nearest.setdefault((way.index, way.sender), (place, after))
    paths: dict[tuple[Way, ...], str] = {}
    for way in found.machine.ways:
        if (way.index, way.sender) not in nearest or not _between_two(found.machine, way):
            continue
        place, after = nearest[way.index, way.sender]
        before = found.path(place)
        if any(not _between_two(found.machine, each) for each in before):
            continue
        rest = () if way.move.forwards and not found.machine.is_platform(way.sender) else _to_the_end(found, after)
        paths.setdefault((*before, way, *rest), way.says(after.state))
    return [(shows, path) for path, shows in paths.items()]


def _between_two(machine: Machine, way: Way) -> bool:
    protocol = machine.protocol
    pair = {protocol.starter, protocol.partner}
    return way.move.receiver in pair and (way.sender in pair or machine.is_platform(way.sender))


def _to_the_end(found: Exploration, start: Place) -> tuple[Way, ...]:
    """A shortest way on to a final state; nothing where there is none."""
    waiting: deque[tuple[Place, tuple[Way, ...]]] = deque([(start, ())])
    seen = {start}
    while waiting:
        place, path = waiting.popleft()
        if place.state in found.machine.finals:
            return path
        for way, after in found.leaving(place):
            if after not in seen and _between_two(found.machine, way):
                seen.add(after)
                waiting.append((after, (*path, way)))
    return ()


def _arranged(protocol: Protocol, paths: Sequence[tuple[Way, ...]], find: Find) -> tuple[Said, ...]:
    """The paths of one machine each, woven into one conversation; what goes to all is said once."""
    machine = Machine(protocol)
    one = len(paths) == 1
    names = [
        protocol.partner if one and _single(protocol) else f"{protocol.partner}-{at + 1}" for at in range(len(paths))
    ]
    asks = one or not any(way.move.to_all for path in paths for way in path[1:])
    said: list[Said] = []
    at = [0] * len(paths)
    while any(place < len(path) for place, path in zip(at, paths, strict=True)):
        for number, path in enumerate(paths):
            # a part of each in turn: as far as what goes to all, or to what the other side has to say
            if at[number] < len(path) and not (path[at[number]].move.to_all and not one):
                said += _aside(path, at[number], names[number], find)
                said.append(_said(machine, path[at[number]], (names[number],), len(said), asks=asks))
                at[number] += 1
        ready = [number for number, path in enumerate(paths) if at[number] < len(path) and path[at[number]].move.to_all]
        if (
            not one
            and ready
            and all(number in ready or at[number] >= len(paths[number]) for number in range(len(paths)))
        ):
            way = paths[ready[0]][at[ready[0]]]
            said.append(_said(machine, way, tuple(names[number] for number in ready), len(said), asks=asks))
            for number in ready:
                at[number] += 1
    return tuple(said)


def _single(protocol: Protocol) -> bool:
    partner = protocol.roles.get(protocol.partner)
    return partner is None or partner.count == ONE


def _said(machine: Machine, way: Way, partners: tuple[str, ...], number: int, *, asks: bool) -> Said:
    protocol, move = machine.protocol, way.move
    kind, content = _payload(machine, way, number)
    opens = bool(move.opens and not move.quiet) or bool(move.detaches)
    deadline = opens and move.deadline != "none" and move.by is None
    if machine.is_platform(way.sender):
        return Said(PLATFORM, (protocol.starter,), move.act, kind, content, about=partners[0], asks=False)
    about = f"{TARGET}-1" if move.delegates or move.assigns else None
    if way.sender == protocol.starter:
        answers = partners[0] if len(partners) == 1 else ""
        return Said(protocol.starter, partners, move.act, kind, content, about, deadline, answers)
    return Said(partners[0], (protocol.starter,), move.act, kind, content, about, deadline, protocol.starter, asks=asks)


def _payload(machine: Machine, way: Way, number: int) -> tuple[str | None, Any]:
    """A content type and a content by which a message is this move, and no other of the same act and direction."""
    move = way.move
    others = [
        other.move
        for other in machine.ways_from(move.source)
        if other.index != way.index and other.move.act == move.act and other.sender == way.sender
    ]
    kind = min(move.kinds) if move.kinds else None
    if kind is None and (taken := frozenset[str]().union(*(other.kinds for other in others))):
        known = frozenset[str]().union(*(each.kinds for each in machine.protocol.moves))
        kind = min(known - taken, default=None)
    rivals = tuple(
        other.when for other in others if other.when is not None and (not other.kinds or kind in other.kinds)
    )
    if move.when is None and not rivals:
        return kind, f"part {number}"
    content = fulfilling(move.when, against=rivals)
    if content is None:
        content = fulfilling(move.when)
    return kind, {**content, "part": number} if isinstance(content, dict) else content


def _aside(path: tuple[Way, ...], at: int, broker: str, find: Find) -> list[Said]:
    """What passes between a broker and third parties before ``path[at]``: all of it, once it may speak with them.

    Each answer that it will pass on is asked for and given. Where the thread goes on after the last of them, one more
    is asked for and not given: that keeps the thread open.
    """
    if at == 0 or path[at - 1].move.sub is None or any(way.move.sub for way in path[: at - 1]):
        return []
    said: list[Said] = []
    talk = find(TALKS["request"])
    first = {move.next for move in talk.moves if move.source == talk.start}
    known = {move.act for move in talk.moves if move.source in first and move.senders[0] == talk.partner}
    for number, way in enumerate([way for way in path if way.move.forwards], 1):
        target = f"{TARGET}-{number}"
        act = way.move.act if way.move.act in known else "refuse"
        said.append(Said(broker, (target,), "request", content=f"part {number}", deadline=True))
        said.append(Said(target, (broker,), act, content=f"of part {number}", answers=broker))
    if not path[-1].move.forwards:
        said.append(Said(broker, (f"{TARGET}-open",), "request", content="what nobody waits for", deadline=True))
    return said


def written(said: Sequence[Said], thread: str, protocol: Protocol, begin: float = BEGIN) -> tuple[Message, ...]:
    """The messages of ``said``: with ids, times after ``begin``, deadlines and correlation."""
    messages: list[Message] = []
    now = begin
    for number, each in enumerate(said, 1):
        now += 1.0 + each.delay
        asked = next((m for m in reversed(messages) if m.sender == each.answers and each.sender in m.receivers), None)
        messages.append(
            Message(
                id=messages[-1].id if each.again and messages else f"{thread}:{number}",
                sender=each.sender,
                receivers=each.receivers,
                act=each.act,
                thread=thread,
                protocol=protocol.name if number == 1 else None,
                reply_with=f"{thread}:q{number}" if each.asks else None,
                in_reply_to=asked.reply_with if asked is not None else None,
                reply_by=now + PATIENCE if each.deadline else None,
                content=each.content,
                content_type=each.kind,
                about=each.about,
                at=now,
            )
        )
    return tuple(messages)


def negative_traces(protocol: Protocol, find: Find | None = None) -> Iterator[Trace]:
    """Conversations with one fault each; see :mod:`dissensus.say.mutations`.

    Args:
        protocol: what to break.
        find: as for :func:`positive_traces`.
    """
    from dissensus.say.mutations import mutations

    seen: set[str] = set()
    find, machine, begin = finder(protocol, find), Machine(protocol), BEGIN
    number = 0
    for shows, said in plans(protocol, find):
        if first_outside(protocol, written(said, "t", protocol), find, machine=machine) is not None:
            continue
        for fault, changed in mutations(protocol, said):
            if (told := repr(changed)) in seen:
                continue
            seen.add(told)
            name = f"{protocol.name}/{fault}/{number + 1}"
            messages = written(changed, name, protocol, begin)
            at = first_outside(protocol, messages, find, machine=machine)
            if at is not None:
                number += 1
                yield Trace(name, shows, messages, ends=False, fault=fault, at=at)
                begin = messages[-1].at or begin
