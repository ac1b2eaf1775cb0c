"""P06 to P08: moves that cannot be told apart, parties that may both move, and roles that nobody tells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from dissensus.say.checks.fault import ERROR, WARNING, Fault, incidental
from dissensus.say.exploring import Exploration, Machine, Place, Way
from dissensus.say.guard_contents import fulfilling
from dissensus.say.protocol import TOTAL


def check_determined(found: Exploration) -> Iterator[Fault]:
    """P06: one message that is two moves: same state, act and direction, overlapping kinds and guards, two outcomes."""
    machine = found.machine
    told: set[tuple[int, int]] = set()
    for state in dict.fromkeys(place.state for place in found.places):
        place = found.first_in(state)
        if place is None or state in machine.finals:
            continue
        for one, two in combinations(machine.ways_from(state), 2):
            a, b = one.move, two.move
            same = a.act == b.act and one.sender == two.sender and a.receiver == b.receiver and one.index != two.index
            if not same or (one.index, two.index) in told or _outcome(one) == _outcome(two):
                continue
            if a.kinds and b.kinds and not a.kinds & b.kinds:
                continue
            witness = fulfilling(a.when, b.when)
            if witness is None:
                continue
            told.add((one.index, two.index))
            general = bool(a.kinds) != bool(b.kinds)
            given = f", for instance with the content {witness}" if witness else ""
            message = f"In {state!r} the same {a.act} of {one.sender!r} is two moves: to {a.next!r} and to {b.next!r}"
            if general:
                message += ". A message that names its content type decides; of one that names none the first is taken"
            trace = (*found.trace(place), f"either {one.says()}", f"or {two.says()}")
            yield Fault("P06", WARNING if general else ERROR, f"{message}{given}.", b.line, trace)


def _outcome(way: Way) -> object:
    move = way.move
    effects = (move.opens, move.closes, move.declares, move.detaches, move.releases, move.delegates, move.assigns)
    return move.next, effects


def check_races(found: Exploration) -> Iterator[Fault]:
    """P07: two roles may move in one state, so that their messages may cross on the way.

    No fault where both orders are legal and lead to the same place, where silence was an answer (``quiet``), or where
    an ``include:`` or a platform cuts in. A warning where one of the two calls off what the other may be about to
    deliver, and where the protocol says by ``delivery`` that messages may cross: the monitor then knows a crossing
    from a violation.
    """
    machine = found.machine
    races: dict[tuple[str, frozenset[str]], Fault] = {}
    quiet = {way.move.next for way in machine.ways if way.move.quiet}
    for place in found.places:
        if place.state in quiet or place.state in machine.finals:
            continue
        open_ways = [way for way, _ in found.leaving(place) if not incidental(machine, way)]
        for one, two in combinations(open_ways, 2):
            pair = (place.state, frozenset((one.sender, two.sender)))
            known = races.get(pair)
            if one.sender == two.sender or (known is not None and known.level == ERROR):
                continue
            settled = machine.protocol.delivery != TOTAL or _calls_off(one) or _calls_off(two)
            if (settled and known is not None) or _commute(machine, place, one, two):
                continue
            message = (
                f"In {place.state!r} both {one.sender!r} ({one.move.act}) and {two.sender!r} ({two.move.act}) may"
                f" speak, and what comes of it depends on who was first."
            )
            if not settled:
                message += " If messages may cross, say so: `delivery: fifo`."
            trace = (*found.trace(place), _order(machine, place, one, two), _order(machine, place, two, one))
            line = max(one.move.line, two.move.line)
            races[pair] = Fault("P07", WARNING if settled else ERROR, message, line, trace)
    yield from races.values()


def _calls_off(way: Way) -> bool:
    """Whether the move only ends what is owed, by the title of whoever makes it: a cancel, or a release."""
    move = way.move
    brings = move.opens or move.detaches or move.closes or move.delegates or move.assigns
    return move.act == "cancel" or (bool(move.releases) and not brings)


def _commute(machine: Machine, place: Place, one: Way, two: Way) -> bool:
    def after(first: Way, second: Way) -> Place | None:
        here = machine.step(place, first)
        again = (
            next((way for way in machine.ways_from(here.state) if _same_speech(way, second)), None) if here else None
        )
        return machine.step(here, again) if here is not None and again is not None else None

    there = after(one, two)
    return there is not None and there == after(two, one)


def _same_speech(one: Way, two: Way) -> bool:
    return (one.move.act, one.sender, one.move.receiver, one.move.kinds) == (
        two.move.act,
        two.sender,
        two.move.receiver,
        two.move.kinds,
    )


def _order(machine: Machine, place: Place, first: Way, second: Way) -> str:
    here = machine.step(place, first)
    then = "illegal"
    if here is not None:
        for way in machine.ways_from(here.state):
            if _same_speech(way, second) and machine.step(here, way) is not None:
                then = way.move.next
    return f"if first {first.says()}, then {second.move.act} {second.sender}>{second.move.receiver} -> {then}"


def check_knowledge(found: Exploration) -> Iterator[Fault]:
    """P08: after a choice that no message tells it, a role would have to act differently.

    Each role is followed as it sees the protocol: by the messages that it sends or gets. All states in which it may be
    after the same messages are gathered. If two of them lie on different branches of a choice among others, and the
    role may send something in the one that it may not in the other, it cannot know what to do.
    """
    machine = found.machine
    between = [way for way in machine.ways if not incidental(machine, way) and way.move.source not in machine.finals]
    roles = {way.sender for way in between} | {way.move.receiver for way in between}
    if len(roles) < 3:
        return  # two parties see every message
    hidden_from = {role: _Sight(between, role) for role in roles}
    for role in sorted(roles):
        yield from _ignorance(found, hidden_from[role], role)


class _Sight:
    """A protocol as one role sees it."""

    def __init__(self, between: list[Way], role: str) -> None:
        self.seen: dict[str, list[Way]] = {}
        self.unseen: dict[str, list[Way]] = {}
        for way in between:
            visible = role in (way.sender, way.move.receiver)
            (self.seen if visible else self.unseen).setdefault(way.move.source, []).append(way)
        self.role = role

    def behind(self, state: str) -> dict[str, tuple[Way, ...]]:
        """States that may have been reached from ``state`` without the role's seeing it, with a shortest way."""
        found: dict[str, tuple[Way, ...]] = {state: ()}
        for here in (queue := [state]):
            for way in self.unseen.get(here, ()):
                if way.move.next not in found:
                    found[way.move.next] = (*found[here], way)
                    queue.append(way.move.next)
        return found

    def will_send(self, state: str) -> frozenset[tuple[str, str, frozenset[str]]]:
        """What the role may say next from ``state`` on, before it sees anything more."""
        return frozenset(
            (way.move.act, way.move.receiver, way.move.kinds)
            for here in self.behind(state)
            for way in self.seen.get(here, ())
            if way.sender == self.role
        )


def _ignorance(found: Exploration, sight: _Sight, role: str) -> Iterator[Fault]:
    start = frozenset({found.machine.start.state})
    paths: dict[frozenset[str], dict[str, tuple[Way, ...]]] = {start: {next(iter(start)): ()}}
    told: set[tuple[str, str]] = set()
    for known in (queue := [start]):
        at: dict[str, tuple[Way, ...]] = {}
        for state in sorted(known):
            for behind, unseen in sight.behind(state).items():
                at.setdefault(behind, (*paths[known][state], *unseen))
        for one, two in combinations(sorted(at), 2):
            apart = two not in sight.behind(one) and one not in sight.behind(two)
            sends_one, sends_two = sight.will_send(one), sight.will_send(two)
            if not apart or sends_one == sends_two or (one, two) in told:
                continue
            told.add((one, two))
            yield _untold(role, (one, at[one], sends_one), (two, at[two], sends_two))
        onward: dict[tuple[object, ...], dict[str, tuple[Way, ...]]] = {}
        for state, path in at.items():
            for way in sight.seen.get(state, ()):
                move = way.move
                guard = move.when.text if move.when is not None else ""
                speech = (move.act, way.sender, move.receiver, move.kinds, guard)
                onward.setdefault(speech, {}).setdefault(move.next, (*path, way))
        for targets in onward.values():
            states = frozenset(targets)
            if states not in paths:
                paths[states] = targets
                queue.append(states)


_Branch = tuple[str, tuple[Way, ...], frozenset[tuple[str, str, frozenset[str]]]]


def _untold(role: str, one: _Branch, two: _Branch) -> Fault:
    def sends(branch: _Branch) -> str:
        acts = sorted({act for act, _, _ in branch[2]})
        return f"may send {', '.join(acts)}" if acts else "may send nothing"

    message = (
        f"{role!r} cannot tell the states {one[0]!r} and {two[0]!r} apart: in the one it {sends(one)}, in the other it"
        f" {sends(two)}, and no message tells it which was chosen."
    )
    shared = 0
    while shared < min(len(one[1]), len(two[1])) and one[1][shared] == two[1][shared]:
        shared += 1
    trace = [way.says() for way in one[1][:shared]]
    trace += [f"either {way.says()}" for way in one[1][shared:]]
    trace += [f"or {way.says()}" for way in two[1][shared:]]
    differing = (*one[1][shared:], *two[1][shared:])
    line = differing[0].move.line if differing else 0
    return Fault("P08", ERROR, message, line, tuple(trace))
