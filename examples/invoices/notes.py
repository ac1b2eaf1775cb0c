"""Delivery notes. Heads, sentences, tails and forms of numbers are drawn, so that no reader can lean on one layout."""

from __future__ import annotations

from collections.abc import Sequence

from draws import Draws
from papers import Facts, Paper, written

HEADS = (
    ("Delivery note {dn}", "Order {o}", "Supplier: {s}"),
    ("DELIVERY NOTE", "Number: {dn}", "Order no. {o}", "Date: {d}"),
    ("{s}", "Purchase order {o}", "Note {dn} of {d}"),
    ("Lieferschein / delivery note {dn}", "Order: {o}", "From: {s}", "Arrival: {d}"),
    ("GOODS RECEIVED NOTE", "{s}", "Your order {o}, our note {dn}"),
    ("Carrier copy", "Ref. {dn}", "For order {o}", "Shipped by {s}"),
)
SAYINGS = (
    "{U} received: {v}", "Received {v} {u}.", "Ordered {n}, received {v}", "{v} {u} received, {n} ordered",
    "We unloaded {v} {u} at dock {k}.", "Delivered: {v} {u}", "received: {v} {u} (ordered {n})",
    "Goods in: {v} {u} on {d} at 09:15", "Qty received {v}", "Accepted in good order: {v} {u}",
    "{U}: {v}", "Order {o}: {v} {u}", "{U} (received): {v}", "RECEIVED      {v} {u}", "Counted at the ramp: {v} {u}",
    "{v} {u} delivered and signed for", "Qty: {v} {u}", "Received for order {o}: {v} {u}",
    "Unloaded: {v} {u} (dock {k})",
)  # fmt: skip
TAILS = (
    "Signed: M. R.", "Truck HH-AB {k}", "Weight: {w} kg", "Driver waited 20 minutes", "Signed at the gate: T. K.",
    "Printed {d} 11:40", "Temperature on arrival 4 C", "Page 1 of 1", "Seal {w} intact", "Terms: 30 days",
)  # fmt: skip


def words_for(facts: Facts, draws: Draws, value: int, label: str = "note") -> dict[str, object]:
    """What the templates of notes ask for."""
    style = draws.pick("note style", ("plain", "plain", "plain", "comma", "apostrophe"))
    return {
        "dn": f"DN-{facts.base * 3 + (1 if label == 'note' else 2)}", "o": facts.order, "s": facts.supplier,
        "d": facts.day,
        "u": facts.units if value != 1 else facts.unit, "U": facts.units.capitalize(),
        "v": written(value, style), "n": written(facts.ordered, style), "k": draws.between("dock", 1, 9),
        "w": facts.received * draws.between("weight", 11, 480),
    }  # fmt: skip


def note_of(
    facts: Facts, draws: Draws, value: int, *, said: Sequence[str] = (), label: str = "note",
    file: str = "delivery_note", extra: Sequence[str] = (), pdf: bool = False,
) -> tuple[Paper, int]:  # fmt: skip
    """A delivery note that says ``value``, and the line (from 1) that says it.

    Args:
        facts: of the item.
        draws: of the item.
        value: what it says was received.
        said: lines in place of one of the usual sentences; the last of them says it.
        label: how reports call it.
        file: its name, without the end.
        extra: more lines, after it.
        pdf: whether it is a PDF.
    """
    words = words_for(facts, draws, value, label)
    head = [line.format(**words) for line in draws.pick(f"{label} head", HEADS)]
    body = [line.format(**words) for line in said or (draws.pick(f"{label} saying", SAYINGS),)]
    tail = [line.format(**words) for line in draws.shuffled(f"{label} tail", TAILS)[: draws.between("tails", 1, 4)]]
    gap = [""] if draws.chance(f"{label} gap", 50) else []
    lines = [*head, *gap, *body, *extra, *tail]
    at = len(head) + len(gap) + len(body)
    pages: tuple[tuple[str, ...], ...] = ()
    if pdf:
        cut = len(head) if draws.chance(f"{label} two pages", 30) else len(lines)
        pages = tuple(page for page in (tuple(lines[:cut]), tuple(lines[cut:])) if page)
    return Paper(label, f"{file}.{'pdf' if pdf else 'txt'}", "\n".join(lines) + "\n", "note", pages=pages), at
