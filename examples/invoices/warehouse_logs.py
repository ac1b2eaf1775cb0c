"""Logs of a warehouse: tables of bookings. Columns, their order and names, and the signs between them are drawn."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from draws import Draws
from papers import Facts, Paper


@dataclass(frozen=True, slots=True)
class Booking:
    """One row of a log."""

    key: str
    order: str
    quantity: int
    unit: str
    time: str
    note: str


@dataclass(frozen=True, slots=True)
class LogLayout:
    """How a log is written: its columns, by what is in them, and its signs."""

    columns: tuple[tuple[str, str], ...]
    delimiter: str = ","
    space: bool = False

    def name(self, role: str) -> str:
        """The header of the column that holds ``role``; "" if there is none."""
        return next((header for known, header in self.columns if known == role), "")


LAYOUTS = (
    (("key", "booking"), ("order", "order"), ("quantity", "{units}"), ("time", "booked_at")),
    (("key", "id"), ("time", "time"), ("order", "order_no"), ("quantity", "quantity"), ("unit", "unit")),
    (("time", "date"), ("key", "ticket"), ("quantity", "received"), ("unit", "unit"), ("order", "order"),
     ("dock", "dock")),
    (("order", "order"), ("dock", "gate"), ("quantity", "qty_received"), ("time", "booked"), ("key", "booking_id")),
    (("key", "entry"), ("order", "purchase order"), ("unit", "uom"), ("quantity", "qty"), ("time", "timestamp"),
     ("clerk", "clerk")),
    (("key", "booking"), ("note", "delivery note"), ("order", "order"), ("unit", "unit"), ("quantity", "quantity"),
     ("time", "booked_at")),
)  # fmt: skip
BATCH_LAYOUTS = LAYOUTS[1:3] + LAYOUTS[4:]
"""Those that name the unit in each row: in the log of a whole batch units differ."""


def log_layout(draws: Draws, units: str, *, batch: bool = False) -> LogLayout:
    """The layout of a log, drawn."""
    columns = draws.pick("log layout", BATCH_LAYOUTS if batch else LAYOUTS)
    named = tuple((role, header.format(units=units)) for role, header in columns)
    return LogLayout(named, draws.pick("log delimiter", (",", ",", ";", "\t")), draws.chance("log space", 40))


def log_of(
    layout: LogLayout, bookings: Sequence[Booking], draws: Draws, *, file: str = "warehouse.csv", table: str = ""
) -> Paper:
    """A log of bookings; row 2 is the first of them. ``table`` is the unit if the user declares how to read it."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=layout.delimiter, lineterminator="\n")
    writer.writerow([header for _, header in layout.columns])
    for one in bookings:
        texts = {
            "key": one.key, "order": one.order, "quantity": str(one.quantity), "unit": one.unit,
            "time": one.time.replace("T", " ") if layout.space else one.time,
            "dock": str(1 + draws.draw(f"dock {one.key}", 9)),
            "clerk": draws.pick(f"clerk {one.key}", ("R. A.", "S. B.", "T. C.")), "note": one.note,
        }  # fmt: skip
        writer.writerow([texts[role] for role, _ in layout.columns])
    declared = None
    if table:
        roles = {"value": "quantity", "subject": "order", "key": "key", "time": "time"}
        declared = {key: layout.name(role) for key, role in roles.items()} | {"unit": table}
    return Paper("log", file, out.getvalue(), "log", declared, layout.delimiter)


def bookings_of(
    facts: Facts, draws: Draws, total: int, *, decoy: int | None = None, unit: str = "", twice: bool = False,
    late: tuple[int, str] | None = None,
) -> tuple[list[Booking], list[int]]:  # fmt: skip
    """Rows of a log among which those of the order add up to ``total``, and the places of these (from 0).

    Args:
        facts: of the item.
        draws: of the item.
        total: what the rows of the order add up to.
        decoy: a quantity that stands in a row of another order.
        unit: of the rows, if it is not that of the item.
        twice: one row of the order stands there a second time.
        late: quantity and day of one more row of the order, which comes last.
    """
    others = [draws.between(f"other {n}", 2, 90) for n in range(draws.between("others", 1, 3))]
    if decoy is not None:
        others[draws.draw("decoy place", len(others))] = decoy
    rows = [(facts.order, part) for part in _parts(draws, total)]
    rows += [(facts.other(n), value) for n, value in enumerate(others)]
    note = f"DN-{facts.base * 3 + 1}"
    found = [
        Booking(
            f"B{facts.base * 10 + n}", order, value, unit or facts.unit,
            f"{facts.day}T{8 + n:02}:{draws.between(f'minute {n}', 10, 59)}", note,
        )
        for n, (order, value) in enumerate(draws.shuffled("rows", rows))
    ]  # fmt: skip
    if twice:
        again = draws.pick("row twice", [n for n, one in enumerate(found) if one.order == facts.order])
        found.insert(again + 1 if draws.chance("twice at once", 50) else len(found), found[again])
    if late is not None:
        quantity, day = late
        key = f"B{facts.base * 10 + len(found)}"
        found.append(Booking(key, facts.order, quantity, unit or facts.unit, f"{day}T09:30", note))
    return found, [n for n, one in enumerate(found) if one.order == facts.order]


def _parts(draws: Draws, total: int) -> list[int]:
    count = min(draws.between("parts", 1, 3), total)
    cuts = sorted({draws.between(f"cut {n}", 1, total - 1) for n in range(count - 1)}) if total > 1 else []
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, total], strict=True)]
