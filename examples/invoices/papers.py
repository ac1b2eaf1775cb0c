"""A paper, and what is so in the delivery that it tells of."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from draws import Draws
from pdf_writer import pdf_of

GOODS = (
    ("pallet", "pallets"), ("box", "boxes"), ("crate", "crates"), ("carton", "cartons"), ("drum", "drums"),
    ("sack", "sacks"), ("roll", "rolls"),
)  # fmt: skip
SUPPLIERS = (
    "Nord Logistics", "Costa & Figli", "Müller Packaging GmbH", "Atelier Roux SARL", "Brightwater Foods Ltd",
    "Van Dijk Handel BV", "Ostrava Steel a.s.", "Quinta do Vale Lda", "Fjord Seafood AS", "Halden Paper",
)  # fmt: skip
ORDERS = ("{n}", "PO-{n}", "K{n}", "{n}-A")
ATTRIBUTES = ("{units} received", "quantity received", "goods received", "{units} delivered", "received quantity")


@dataclass(frozen=True, slots=True)
class Paper:
    """One file of an item.

    Args:
        label: what reports call it.
        file: its name.
        text: what stands in it; of a PDF, its lines.
        kind: what kind of source it is, for rules of precedence.
        table: how it is to be read, if the user declares that.
        delimiter: of a table.
        pages: lines of each page if it is to be a PDF; empty if it is a text file.
        later: what the file holds today, if it was edited after it had been captured; else empty.
    """

    label: str
    file: str
    text: str
    kind: str = ""
    table: dict[str, str] | None = None
    delimiter: str = ","
    pages: tuple[tuple[str, ...], ...] = ()
    later: bytes = b""

    @property
    def media(self) -> str:
        """Media type."""
        suffix = self.file.rpartition(".")[2]
        return {"csv": "text/csv", "json": "application/json", "pdf": "application/pdf"}.get(suffix, "text/plain")

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.split("\n")

    @property
    def data(self) -> bytes:
        """The bytes of the file as it was captured."""
        return pdf_of(self.pages) if self.pages else self.text.encode()

    @property
    def digest(self) -> str:
        """SHA-256 of these bytes."""
        return sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is so, and how things are called.

    Args:
        item: name of the item.
        number: from 1.
        order: how the order is written.
        base: the number in it; up to 9 above it belongs to no other item.
        form: how numbers of orders are written here.
        unit, units: what is counted, one and many.
        attribute: the property that is asked for.
        ordered, received, wrong: quantities; ``received`` is true, ``wrong`` is what may be reported instead.
        day: on which the goods came.
        supplier: whose goods.
    """

    item: str
    number: int
    order: str
    base: int
    form: str
    unit: str
    units: str
    attribute: str
    ordered: int
    received: int
    wrong: int
    day: str
    supplier: str

    @property
    def subject(self) -> str:
        """What a claim is about."""
        return f"order {self.order}"

    def other(self, step: int) -> str:
        """The number of another order, written in the same way."""
        return self.form.format(n=self.base + 4 + step)


def facts_of(draws: Draws, number: int, attribute: str = "", *, on_pallets: bool = False) -> Facts:
    """The facts of one item; ``attribute`` is that of the whole batch, "" has it drawn."""
    unit, units = GOODS[0] if on_pallets else draws.pick("goods", GOODS)
    form = draws.pick("order form", ORDERS)
    base = 4000 + 11 * number + draws.draw("order", 4)
    ordered = draws.between("ordered", 4, 60) if unit == "pallet" else draws.between("ordered", 20, 2400)
    short = draws.between("short", 1, 3)
    received = ordered - short if draws.chance("is short", 50) else ordered
    off = draws.between("off", 1, 3)
    wrong = received + off if draws.chance("above", 50) else max(received - off, 1)
    return Facts(
        item=draws.case, number=number, order=form.format(n=base), base=base, form=form, unit=unit, units=units,
        attribute=attribute or draws.pick("attribute", ATTRIBUTES).format(units=units),
        ordered=ordered, received=received, wrong=wrong if wrong != received else received + off,
        day=f"2026-{draws.between('month', 1, 9):02}-{draws.between('day', 10, 27)}",
        supplier=draws.pick("supplier", SUPPLIERS),
    )  # fmt: skip


def written(value: int, style: str) -> str:
    """A quantity in one of the forms that people write it in."""
    match style:
        case "comma":
            return f"{value:,}"
        case "apostrophe":
            return f"{value:,}".replace(",", "'")
        case "space":
            return f"{value:,}".replace(",", " ")
    return str(value)
