"""P09 to P12: what a protocol makes people owe, and whether it lets them be rid of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dissensus.say.checks.fault import ERROR, WARNING, Fault, incidental
from dissensus.say.exploring import ANYONE, Exploration, Place, Slip, Way
from dissensus.say.protocol import Opening
from dissensus.say.verdicts import ANSWER, PERFORMANCE

_AWAITED: Final = frozenset({ANSWER, PERFORMANCE})


def check_settled(found: Exploration) -> Iterator[Fault]:
    """P09: an obligation that is still open where a conversation ends, and that may not lapse there."""
    machine = found.machine
    told: set[tuple[str, str]] = set()
    for place in found.places:
        if place.state not in machine.finals:
            continue
        lapsing = machine.protocol.states[place.state].may_lapse
        for owed in place.owed:
            if owed.kind in lapsing or (owed.kind, place.state) in told:
                continue
            told.add((owed.kind, place.state))
            path = found.path(place)
            opened = _opened_by(found, path, owed)
            message = (
                f"The {owed.kind} that {_name(owed.debtor)} owes {_name(owed.creditor)} is still open in"
                f" {place.state!r}. Close it, or list it under may_lapse there."
            )
            yield Fault("P09", ERROR, message, opened.move.line if opened else 0, found.trace(place))


def check_deadlines(found: Exploration) -> Iterator[Fault]:
    """P10: answers and performances that nobody need give by any time, and of which the file does not say so."""
    machine = found.machine
    told: set[int] = set()
    for place, way, _ in found.edges:
        move = way.move
        if way.index in told or move.by is not None or move.deadline or incidental(machine, way):
            continue
        kinds = [each.kind for each in move.opens if each.kind in _AWAITED and not move.quiet]
        kinds += [PERFORMANCE for _ in move.detaches]
        if not kinds:
            continue
        told.add(way.index)
        what = " and ".join(dict.fromkeys(kinds))
        message = (
            f"The {what} that {move.act} brings about has no deadline in the protocol; it may be waited for for ever"
            f" where a message carries no reply_by."
        )
        yield Fault("P10", WARNING, message, move.line, found.trace(place, way))


def check_open(found: Exploration) -> Iterator[Fault]:
    """P11: something is closed, detached, released or handed on that is not open on some path."""
    for place, way, slip in _slips(found):
        if slip.what == "nothing":
            verb = _VERBS.get(slip.effect, slip.effect)
            message = f"{way.move.act} in {place.state!r} {verb} the {slip.kind}, of which none is open on this path."
            yield Fault("P11", ERROR, message, way.move.line, found.trace(place, way))


def check_titles(found: Exploration) -> Iterator[Fault]:
    """P12: who ends or hands on an obligation has no title to.

    Only the debtor meets, cancels or delegates it; only the creditor releases or assigns it, or takes up an offer.
    """
    for place, way, slip in _slips(found):
        if slip.what == "title" and slip.owed is not None:
            entitled = slip.owed.debtor if slip.effect in _BY_DEBTOR else slip.owed.creditor
            part = "debtor" if slip.effect in _BY_DEBTOR else "creditor"
            verb = _VERBS.get(slip.effect, slip.effect)
            message = (
                f"By {way.move.act} in {place.state!r}, {way.sender!r} {verb} the {slip.kind}; "
                f"only its {part}, {entitled!r}, has the title to."
            )
            yield Fault("P12", ERROR, message, way.move.line, found.trace(place, way))
    yield from _cancelled_by_others(found)


def _cancelled_by_others(found: Exploration) -> Iterator[Fault]:
    """A cancel that ends a promise at once: that is for its debtor. Asking the debtor to cancel is for the creditor."""
    told: set[tuple[int, str]] = set()
    for place, way, _ in found.edges:
        if way.move.act != "cancel":
            continue
        for kind in way.move.declares:
            held = [each for each in place.owed if each.kind == kind]
            wrong = [each for each in held if each.debtor not in (way.sender, ANYONE)]
            if held and len(wrong) == len(held) and (way.index, kind) not in told:
                told.add((way.index, kind))
                message = (
                    f"By cancel in {place.state!r}, {way.sender!r} ends the {kind}; "
                    f"only its debtor, {wrong[0].debtor!r}, can. Others may ask for it, or release it."
                )
                yield Fault("P12", ERROR, message, way.move.line, found.trace(place, way))


_BY_DEBTOR: Final = frozenset({"closes", "declares", "delegates"})
_VERBS: Final = {"closes": "closes", "detaches": "takes up", "delegates": "delegates", "assigns": "assigns"}


def _slips(found: Exploration) -> Iterator[tuple[Place, Way, Slip]]:
    told: set[tuple[int, str, str, str, str]] = set()
    for place, way, _ in found.edges:
        for slip in found.machine.effects(place, way)[1]:
            key = (way.index, way.sender, slip.kind, slip.effect, slip.what)
            if key not in told:
                told.add(key)
                yield place, way, slip


def _opened_by(found: Exploration, path: tuple[Way, ...], owed: Opening) -> Way | None:
    """The last way on ``path`` that opened ``owed``."""
    place: Place | None = found.machine.start
    last: Way | None = None
    for way in path:
        if place is None:
            break
        after = found.machine.step(place, way)
        if after is not None and after.owed.count(owed) > place.owed.count(owed):
            last = way
        place = after
    return last


def _name(role: str) -> str:
    return repr(role) if role != ANYONE else "somebody named in a message"
