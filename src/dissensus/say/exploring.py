"""Every way that a protocol can go: a search, breadth first, over states and what is owed in them.

One machine (one pair of parties) is followed. Where it stands is a :class:`Place`: the state, the state that a cancel
suspended, what is owed, how often bounded moves were made. Because the search is breadth first, the path to a place is
a shortest one: that is what static checks show as a counter-example, and what generated traces follow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from dissensus.errors import SpecError
from dissensus.say.guard_contents import fulfilling
from dissensus.say.protocol import RESUME, Move, Opening, Protocol
from dissensus.say.verdicts import PERFORMANCE

MOST_PLACES: Final = 20_000
"""Places after which a protocol is too large to be searched."""
COUNTED: Final = 16
"""Bounds of loops (``max``) up to this are followed exactly; a larger one is taken for none."""
_ALIKE: Final = 2
"""So many obligations of one kind between the same two are told apart; more are taken for as many."""
ANYONE: Final = ""
"""Debtor or creditor of an obligation that was delegated or assigned: whom a message named."""


@dataclass(frozen=True, slots=True)
class Way:
    """A move as made by one of the roles that may make it; ``index`` is the move's place in the protocol."""

    move: Move
    sender: str
    index: int

    def says(self, state: str = "") -> str:
        """It as one line of a trace: ``called: refuse participant>initiator -> end.refused``."""
        move = self.move
        kinds = f"[{','.join(sorted(move.kinds))}]" if move.kinds else ""
        guard = f" when {move.when.text}" if move.when is not None else ""
        star = "*" if move.to_all else ""
        to = f"{state} (resumed)" if move.next == RESUME and state else move.next
        return f"{move.source}: {move.act}{kinds} {self.sender}>{move.receiver}{star}{guard} -> {to}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one machine stands.

    Args:
        state: its state.
        suspended: the state that a cancel left; "" if none did.
        owed: open obligations, sorted.
        made: how often each bounded move was made: ``(index of the move, times)``.
        said: which of the acts that some state demands (``verify``) were said.
    """

    state: str
    suspended: str = ""
    owed: tuple[Opening, ...] = ()
    made: tuple[tuple[int, int], ...] = ()
    said: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Slip:
    """What is wrong with a way in a place: it ends ``kind``, which is not open (``"nothing"``) or not its to end."""

    what: str
    kind: str
    effect: str
    owed: Opening | None = None


def ways(protocol: Protocol) -> tuple[Way, ...]:
    """Every move, once for each role that may make it."""
    return tuple(Way(move, sender, index) for index, move in enumerate(protocol.moves) for sender in move.senders)


class Machine:
    """A protocol, prepared for stepping."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.ways = ways(protocol)
        self.start = Place(protocol.start)
        self.returning = frozenset(move.source for move in protocol.moves if move.next == RESUME)
        """States from which what was suspended is taken up again."""
        self.finals = frozenset(name for name, state in protocol.states.items() if state.final)
        self._from: dict[str, list[Way]] = {}
        for way in self.ways:
            self._from.setdefault(way.move.source, []).append(way)
        self._verify = {name: state.verify for name, state in protocol.states.items() if state.verify}
        self._demanded = frozenset(self._verify.values())
        self.impossible = frozenset(
            index
            for index, move in enumerate(protocol.moves)
            if move.when is not None and fulfilling(move.when) is None
        )
        """Moves whose condition no content fulfils."""

    def ways_from(self, state: str) -> list[Way]:
        """Ways that the state has, whether or not its counters let them pass."""
        return self._from.get(state, [])

    def is_platform(self, role: str) -> bool:
        """Whether ``role`` reports for others."""
        found = self.protocol.roles.get(role)
        return found is not None and found.platform

    def step(self, place: Place, way: Way) -> Place | None:
        """The place after ``way``; None if the protocol does not allow it in ``place``."""
        move = way.move
        if move.source != place.state or place.state in self.finals or way.index in self.impossible:
            return None
        made = place.made
        if move.most is not None and move.most <= COUNTED:
            times = dict(made).get(way.index, 0)
            if times >= move.most:
                return None
            made = tuple(sorted({**dict(made), way.index: times + 1}.items()))
        after, suspended = move.next, place.suspended
        if after == RESUME:
            after, suspended = place.suspended or move.source, ""
        elif after in self.returning and move.source != after:
            suspended = move.source
        elif after in self.finals:
            suspended = ""
        said = place.said | ({move.act} & self._demanded)
        demanded = self._verify.get(place.state)
        if demanded is not None and after in self.finals and demanded not in said:
            return None
        owed, _ = self.effects(place, way)
        return Place(after, suspended, owed, made, said)

    def effects(self, place: Place, way: Way) -> tuple[tuple[Opening, ...], tuple[Slip, ...]]:
        """What is owed after ``way``, and what is wrong with its effects in ``place``."""
        move, owed, slips = way.move, list(place.owed), list[Slip]()

        def take(kind: str, effect: str, *, by_debtor: bool, leniently: bool = False) -> Opening | None:
            open_ones = [each for each in owed if each.kind == kind]
            if not open_ones:
                if not leniently:
                    slips.append(Slip("nothing", kind, effect))
                return None
            entitled = [
                each for each in open_ones if (each.debtor if by_debtor else each.creditor) in (way.sender, ANYONE)
            ]
            found = (entitled or open_ones)[0]
            if not entitled and not leniently:
                slips.append(Slip("title", kind, effect, found))
            owed.remove(found)
            return found

        for kind in move.closes:
            take(kind, "closes", by_debtor=True)
        for kind in move.declares:
            while take(kind, "declares", by_debtor=True, leniently=True):
                pass
        for kind in move.releases:
            take(kind, "releases", by_debtor=False)
        offers = [take(kind, "detaches", by_debtor=False) for kind in move.detaches]
        passed = [take(kind, "delegates", by_debtor=True) for kind in move.delegates]
        ceded = [take(kind, "assigns", by_debtor=False) for kind in move.assigns]
        opened = [Opening(PERFORMANCE, each.debtor, each.creditor) for each in offers if each]
        opened += [Opening(each.kind, ANYONE, each.creditor) for each in passed if each]
        opened += [Opening(each.kind, each.debtor, ANYONE) for each in ceded if each]
        for each in (*opened, *(() if move.quiet else move.opens)):
            if owed.count(each) < _ALIKE:
                owed.append(each)
        return tuple(sorted(owed, key=_order)), tuple(slips)


def _order(owed: Opening) -> tuple[str, str, str]:
    return owed.kind, owed.debtor, owed.creditor


@dataclass(frozen=True, slots=True)
class Exploration:
    """All places that can be reached.

    Args:
        machine: the protocol, prepared.
        places: in the order of the search: near ones first.
        came: how each was first reached: from which place, by which way; the first place is not in it.
        edges: everything that can happen: place, way, place.
    """

    machine: Machine
    places: tuple[Place, ...]
    came: dict[Place, tuple[Place, Way]] = field(repr=False)
    edges: tuple[tuple[Place, Way, Place], ...] = field(repr=False)

    def path(self, place: Place) -> tuple[Way, ...]:
        """A shortest way there."""
        found: list[Way] = []
        while place in self.came:
            place, way = self.came[place]
            found.append(way)
        return tuple(reversed(found))

    def trace(self, place: Place, *more: Way) -> tuple[str, ...]:
        """A shortest way there, and what follows, in words."""
        return tell(self.machine, (*self.path(place), *more))

    def first_in(self, state: str) -> Place | None:
        """The place in ``state`` that is nearest to the start; None if it cannot be reached."""
        return next((place for place in self.places if place.state == state), None)

    def can_end(self) -> frozenset[Place]:
        """Places from which a final state can be reached."""
        return self.before([place for place in self.places if place.state in self.machine.finals])

    def before(self, goals: Iterable[Place]) -> frozenset[Place]:
        """Places from which one of ``goals`` can be reached, and those themselves."""
        came_from: dict[Place, list[Place]] = {}
        for source, _, target in self.edges:
            came_from.setdefault(target, []).append(source)
        found = set(goals)
        waiting = deque(found)
        while waiting:
            for source in came_from.get(waiting.popleft(), ()):
                if source not in found:
                    found.add(source)
                    waiting.append(source)
        return frozenset(found)

    def leaving(self, place: Place) -> Iterator[tuple[Way, Place]]:
        """What can happen in ``place``, and where it leads."""
        for way in self.machine.ways_from(place.state):
            target = self.machine.step(place, way)
            if target is not None:
                yield way, target


def tell(machine: Machine, path: tuple[Way, ...]) -> tuple[str, ...]:
    """A path in words, one line a move."""
    lines: list[str] = []
    place = machine.start
    for way in path:
        after = machine.step(place, way)
        lines.append(way.says(after.state if after is not None else ""))
        place = after if after is not None else place
    return tuple(lines)


def explore(protocol: Protocol) -> Exploration:
    """Search ``protocol``.

    Raises:
        SpecError: it has more than :data:`MOST_PLACES` places.
    """
    machine = Machine(protocol)
    places = [machine.start]
    known = {machine.start}
    came: dict[Place, tuple[Place, Way]] = {}
    edges: list[tuple[Place, Way, Place]] = []
    for place in places:  # grows while it is walked: a queue
        for way in machine.ways_from(place.state):
            target = machine.step(place, way)
            if target is None:
                continue
            edges.append((place, way, target))
            if target not in known:
                known.add(target)
                came[target] = (place, way)
                places.append(target)
        if len(places) > MOST_PLACES:
            raise SpecError(
                f"The protocol {protocol.name} can stand in more than {MOST_PLACES} places, too many to be checked.",
                path=protocol.path,
                next_step="Open fewer obligations side by side, or lower the bounds of its loops.",
            )
    return Exploration(machine, tuple(places), came, tuple(edges))
