"""P04, P05 and P13 to P15: what of a protocol can be reached, and whether it comes to an end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from dissensus.say.checks.fault import ERROR, WARNING, Fault, incidental
from dissensus.say.exploring import Exploration, Way
from dissensus.say.protocol import RESUME


def check_reachable(found: Exploration) -> Iterator[Fault]:
    """P04: states that no conversation comes to."""
    protocol = found.machine.protocol
    reached = {place.state for place in found.places}
    named = dict.fromkeys(protocol.states)
    for move in protocol.moves:
        named.setdefault(move.source)
        if move.next != RESUME:
            named.setdefault(move.next)
    for state in named:
        if state in reached:
            continue
        line = next((move.line for move in protocol.moves if state in (move.source, move.next)), 0)
        leading = [move for move in protocol.moves if move.next == state]
        why = "no move leads to it" if not leading else "what leads to it can never be said"
        if leading and all(move.source not in reached for move in leading):
            why = f"only {leading[0].source!r} leads to it, which cannot be reached either"
        yield Fault("P04", ERROR, f"The state {state!r} cannot be reached: {why}.", line)


def check_ends(found: Exploration) -> Iterator[Fault]:
    """P05: dead ends, and traps that go on for ever: no final state can be reached from there.

    Of a dead end only itself is told, not all that leads to it; of a trap the state in which it is entered.
    """
    machine = found.machine
    ending = found.can_end()
    lost = [place for place in found.places if place not in ending]
    dead = [place for place in lost if next(found.leaving(place), None) is None]
    towards = found.before(dead)
    entries = [
        place for place in lost if place not in towards and (place not in found.came or found.came[place][0] in ending)
    ]
    seen: set[str] = set()
    for place in sorted([*dead, *entries], key=found.places.index):
        if place.state in seen:
            continue
        seen.add(place.state)
        ways = machine.ways_from(place.state)
        line = ways[0].move.line if ways else _line_into(found, place.state)
        declared = machine.protocol.states.get(place.state)
        if place in entries and place not in dead:
            why = "a trap: the conversation goes on for ever"
        elif not ways:
            why = "a dead end: nothing can be said in it"
        elif declared is not None and declared.verify and declared.verify not in place.said:
            why = f"a dead end: {declared.verify!r} has to be said before the end, and cannot be any more"
        else:
            why = "a dead end: what might be said in it has been said as often as it may be"
        message = f"From the state {place.state!r} no final state can be reached; it is {why}."
        yield Fault("P05", ERROR, message, line, found.trace(place))


def check_final(found: Exploration) -> Iterator[Fault]:
    """P13: moves out of final states."""
    for way in found.machine.ways:
        if way.move.source in found.machine.finals and way.sender == way.move.senders[0]:
            place = found.first_in(way.move.source)
            trace = (*found.trace(place), way.says()) if place is not None else ()
            message = f"The state {way.move.source!r} is final, and yet {way.move.act} may be said in it."
            yield Fault("P13", ERROR, message, way.move.line, trace)


def check_dead(found: Exploration) -> Iterator[Fault]:
    """P14: moves of reachable states that can never be made."""
    machine = found.machine
    made = {(way.index, way.sender) for _, way, _ in found.edges}
    for way in machine.ways:
        place = found.first_in(way.move.source)
        if place is None or place.state in machine.finals:
            continue  # P04 and P13 say so
        if way.sender == way.move.receiver and len(way.move.senders) == 1 and _alone(found, way.sender):
            message = f"{way.move.act} goes from {way.sender!r} to {way.sender!r} itself, whom one agent holds."
            yield Fault("P14", ERROR, message, way.move.line, found.trace(place, way))
            continue
        if (way.index, way.sender) not in made:
            if way.index in machine.impossible:
                why = "no content fulfils its condition"
            elif way.move.most == 0:
                why = "it may be made 0 times"
            else:
                why = f"{machine.protocol.states[place.state].verify!r} has never been said before it"
            message = f"{way.move.act} in {place.state!r} can never be said: {why}."
            yield Fault("P14", ERROR, message, way.move.line, found.trace(place))
    yield from _shadowed(found)


def _shadowed(found: Exploration) -> Iterator[Fault]:
    """Moves that an earlier one repeats: the same to the letter, so that the later is never the one that was made."""
    seen: dict[object, Way] = {}
    for way in found.machine.ways:
        move = way.move
        guard = move.when.text if move.when is not None else None
        effects = (move.opens, move.closes, move.declares, move.detaches, move.releases, move.delegates, move.assigns)
        key = (move.source, move.act, way.sender, move.receiver, move.kinds, guard, move.next, effects)
        first = seen.setdefault(key, way)
        place = found.first_in(move.source)
        if first is not way and place is not None:
            message = f"{move.act} in {move.source!r} stands twice: line {first.move.line} says the same."
            yield Fault("P14", ERROR, message, move.line, found.trace(place, way))


def check_loops(found: Exploration) -> Iterator[Fault]:
    """P15: loops without a bound, which may go on for ever. Cancelling again and again is not counted."""
    machine = found.machine
    reached = {place.state for place in found.places}
    onward: dict[str, list[Way]] = {}
    for way in machine.ways:
        move = way.move
        if move.source in reached and move.most is None and move.next != RESUME and not incidental(machine, way):
            onward.setdefault(move.source, []).append(way)
    told: set[str] = set()
    for state in dict.fromkeys(place.state for place in found.places):
        if state in told:
            continue
        loop = _loop(onward, state)
        place = found.first_in(state)
        if loop is None or place is None:
            continue
        told.update(way.move.source for way in loop)
        if len(loop) == 1:
            what = f"{loop[0].move.act} in {state!r}"
        else:
            what = f"the loop {' -> '.join([*(way.move.source for way in loop), state])}"
        message = f"There is no bound (max) on {what}."
        yield Fault("P15", WARNING, message, loop[0].move.line, found.trace(place, *loop))


def _loop(onward: dict[str, list[Way]], state: str) -> tuple[Way, ...] | None:
    """A shortest loop through ``state``."""
    waiting: deque[tuple[str, tuple[Way, ...]]] = deque([(state, ())])
    seen: set[str] = set()
    while waiting:
        here, path = waiting.popleft()
        for way in onward.get(here, ()):
            if way.move.next == state:
                return (*path, way)
            if way.move.next not in seen:
                seen.add(way.move.next)
                waiting.append((way.move.next, (*path, way)))
    return None


def _alone(found: Exploration, role: str) -> bool:
    declared = found.machine.protocol.roles.get(role)
    return declared is not None and declared.count == "one"


def _line_into(found: Exploration, state: str) -> int:
    return next((move.line for move in found.machine.protocol.moves if move.next == state), 0)
