"""Orders and invoices. Whether amounts are stated, whether there is tax, and what fields are called is drawn."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from draws import Draws
from papers import Facts, Paper


@dataclass(frozen=True, slots=True)
class Bill:
    """An invoice.

    Args:
        paper: the file.
        total: JSON pointer of the total.
        stated: the total as it is written there.
        amounts: pointers of the amounts of its lines, with the text of each; empty if they are not stated.
        right: what its lines come to, with tax.
        currency: three letters.
    """

    paper: Paper
    total: str
    stated: str
    amounts: tuple[tuple[str, str], ...]
    right: Decimal
    currency: str


def order_of(facts: Facts, draws: Draws) -> tuple[Paper, str, int]:
    """The order as a table of one row, the name of the column that holds the pack size, and that size."""
    pack = draws.pick("pack", (12, 24, 40, 48, 60))
    column = draws.pick("pack column", ("pack_size", "boxes_per_pallet", "boxes per pallet"))
    header = ["order", "supplier", "article", "ordered", "unit", column, "price"]
    article = f"A-{draws.between('article', 100, 999)}"
    row = [facts.order, facts.supplier, article, str(facts.ordered), facts.unit, str(pack), str(price_of(draws))]
    sign = draws.pick("order delimiter", (",", ";"))
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator="\n").writerows([header, row])
    return Paper("order", "order.csv", out.getvalue(), "order", delimiter=sign), column, pack


def price_of(draws: Draws) -> Decimal:
    """Price of one unit."""
    return Decimal(draws.between("price", 150, 9_900)) / 100


def bill_of(facts: Facts, draws: Draws, *, wrong: bool = False) -> Bill:
    """The invoice of an order; with ``wrong``, its total does not follow from its lines."""
    lines = draws.between("bill lines", 2, 4)
    quantities = _parts_of(draws, facts.ordered, lines)
    prices = [Decimal(draws.between(f"price {n}", 150, 9_900)) / 100 for n in range(len(quantities))]
    amounts = [quantity * price for quantity, price in zip(quantities, prices, strict=True)]
    net = sum(amounts, Decimal(0))
    layout = draws.pick("bill layout", ("plain", "amounts", "tax"))
    vat = (net * 19 / 100).quantize(Decimal("0.01")) if layout == "tax" else Decimal(0)
    right = net + vat
    total = right + _slip(draws, right) if wrong else right
    names = draws.pick("bill names", (("qty", "price", "amount"), ("quantity", "unit_price", "line_total")))
    items: list[dict[str, Any]] = []
    for n, (quantity, price, amount) in enumerate(zip(quantities, prices, amounts, strict=True), 1):
        item: dict[str, Any] = {"position": n, names[0]: quantity, names[1]: float(price)}
        items.append(item if layout == "plain" else {**item, names[2]: float(amount)})
    key = draws.pick("bill total", ("total", "invoice_total", "total_due"))
    name = draws.pick("bill list", ("lines", "items"))
    currency = draws.pick("currency", ("EUR", "GBP", "CHF"))
    data: dict[str, Any] = {"invoice": f"R-{facts.base}", "order": facts.order, "currency": currency, name: items}
    if layout == "tax":
        data |= {"net": float(net), "vat": float(vat)}
    data[key] = float(total)
    text = json.dumps(data, indent=draws.pick("bill indent", (None, 1, 2))) + "\n"
    stated = () if layout == "plain" else tuple(
        (f"/{name}/{n}/{names[2]}", json.dumps(float(amount))) for n, amount in enumerate(amounts)
    )  # fmt: skip
    paper = Paper("invoice", "invoice.json", text, "invoice")
    return Bill(paper, f"/{key}", json.dumps(float(total)), stated if layout != "tax" else (), right, currency)


def _slip(draws: Draws, right: Decimal) -> Decimal:
    """How far off a wrong total is: no line, tax or discount explains it."""
    step = Decimal(draws.between("slip", 101, 997)) / 100
    return step if draws.chance("slip up", 50) or right <= 2 * step else -step


def _parts_of(draws: Draws, total: int, count: int) -> list[int]:
    count = min(count, total)
    cuts = sorted({draws.between(f"bill cut {n}", 1, total - 1) for n in range(count - 1)})
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, total], strict=True)]
