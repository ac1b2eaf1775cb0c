"""P01 to P03: acts and roles that a protocol names."""

from __future__ import annotations

from collections.abc import Iterator

from dissensus.say.acts import ACTS, KQML, KQML_UNMAPPED, nearest
from dissensus.say.checks.fault import ERROR, Fault
from dissensus.say.exploring import Exploration
from dissensus.say.protocol import Move


def check_acts(found: Exploration) -> Iterator[Fault]:
    """P01: acts that are none of the 22, no KQML performative, and not declared by the protocol."""
    protocol = found.machine.protocol
    for move in protocol.moves:
        if move.act in ACTS or move.act in KQML or move.act in KQML_UNMAPPED or move.act in protocol.acts:
            continue
        near = nearest(move.act)
        hint = f" Is {near!r} meant?" if near else " Declare it under acts: if it is the protocol's own."
        place = found.first_in(move.source)
        trace = found.trace(place) if place is not None else ()
        says = f"{move.source}: {move.act} {'|'.join(move.senders)}>{move.receiver} -> {move.next}"
        yield Fault("P01", ERROR, f"{move.act!r} is no communicative act.{hint}", move.line, (*trace, says))


def check_roles(found: Exploration) -> Iterator[Fault]:
    """P02: roles that moves name and nobody declared."""
    protocol = found.machine.protocol
    seen: set[str] = set()
    for move in protocol.moves:
        for role in _named(move):
            if role in protocol.roles or role in seen:
                continue
            seen.add(role)
            place = found.first_in(move.source)
            trace = found.trace(place) if place is not None else ()
            says = f"{move.source}: {move.act} {'|'.join(move.senders)}>{move.receiver} -> {move.next}"
            known = ", ".join(protocol.roles)
            message = f"The role {role!r} is not declared; declared are {known or 'none'}."
            yield Fault("P02", ERROR, message, move.line, (*trace, says))
    if protocol.starter not in protocol.roles and protocol.starter not in seen:
        yield Fault("P02", ERROR, f"The role {protocol.starter!r}, which begins a thread, is not declared.")


def check_used(found: Exploration) -> Iterator[Fault]:
    """P03: roles that are declared, and that no move binds. A platform needs no move of its own."""
    protocol = found.machine.protocol
    bound = {role for move in protocol.moves for role in (*move.senders, move.receiver)}
    for role in protocol.roles.values():
        if role.name not in bound and not role.platform:
            owes = any(role.name in (each.debtor, each.creditor) for move in protocol.moves for each in move.opens)
            more = "; nobody could hold what is said to be owed" if owes else ""
            message = f"The role {role.name!r} is declared, and no move is made by it or goes to it{more}."
            yield Fault("P03", ERROR, message)


def _named(move: Move) -> Iterator[str]:
    yield from move.senders
    yield move.receiver
    for each in move.opens:
        yield each.debtor
        yield each.creditor
