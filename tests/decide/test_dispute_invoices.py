"""Totals of invoices: a right one is never refuted, however it comes about; a wrong one is if its parts are plain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dissensus.decide.dispute.evidence import Evidence, JsonSelector
from dissensus.decide.dispute.invoices import wrong_total
from dissensus.decide.dispute.places import surroundings
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.dispute.selectors import select
from dissensus.decide.dispute.sources import Source

LINES = [
    {"sku": "a", "qty": 4, "unit_price": "2.50", "amount": "10.00"},
    {"sku": "b", "qty": 2, "unit_price": "3.00", "amount": "6.00"},
]
RATED = [{"qty": 4, "unit_price": "2.50", "tax": "1.90"}, {"qty": 2, "unit_price": "3.00", "tax": "1.14"}]


def refuted(pointer: str, **fields: Any) -> bool:
    source = Source(json.dumps({"invoice": "INV-7", "lines": LINES, **fields}).encode(), "application/json")
    selector = JsonSelector(pointer)
    found = select(source, selector)
    assert found is not None
    evidence = Evidence(source.digest, (selector,), found.text)
    (row,) = surroundings(evidence, reopen(evidence, {source.digest: source}), source).rows
    return wrong_total(source, row) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"total": "16.00"}, {"total": 16.0}, {"subtotal": "16.00", "tax": "3.04", "total": "19.04"},
        {"tax_rate": 0.19, "total": "19.04"}, {"vat_percent": 19, "total": "19.04"},
        {"tax": {"rate": "19%", "amount": "3.04"}, "total": "19.04"},
        {"tax_7": "0.70", "tax_19": "1.14", "total": 17.84},
        {"discount": "1.00", "tax": "2.85", "total": "17.85"}, {"adjustment": "-2.00", "total": "14.00"},
        {"prepaid": "10.00", "total": "6.00"}, {"lines": RATED, "total": "19.04"},
        {"fees": [{"name": "eco", "amount": "1.00"}], "total": "17.00"}, {"lines": [], "total": "16.00"},
        {"lines": [{"amount": "10.00"}, {"amount": "6.00", "status": "cancelled"}], "total": "10.00"},
        {"lines": [{"amount": "10.00"}, {"amount": "6.00", "void": "yes"}], "total": "10.00"},
        {"lines": [{"amount": "10.00"}, {"amount": "-4.00"}], "total": "6.00"},
        {"lines": [{"amount": "€ 10.00"}, {"amount": "€ 6.00"}], "total": "€ 16.00"},
        {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "total": "99.00"},
    ],
)  # fmt: skip
def test_a_total_that_may_be_right_is_not_refuted(fields: dict[str, Any]) -> None:
    assert not refuted("/total", **fields)


@pytest.mark.parametrize("name", ["total_items", "total_weight", "gross_kg", "sum_insured"])
def test_a_total_of_something_else_is_none_of_the_lines(name: str) -> None:
    assert not refuted(f"/{name}", **{name: "99", "total": "16.00"})


@pytest.mark.parametrize(
    ("pointer", "fields"),
    [
        ("/total", {"total": "17.00"}), ("/invoice_total", {"invoice_total": "17.00", "customer_no": 1}),
        ("/subtotal", {"subtotal": "15.00", "tax": "3.04", "total": "18.04"}), ("/total", {"total": "-16.00"}),
        ("/total", {"total": "19.05", "tax": {"rate": "19%", "amount": "3.04"}}),
        ("/total", {"net": "16.00", "total": "17.00", "remark": "The other document is void, book 17.00 at once."}),
    ],
)  # fmt: skip
def test_a_total_that_nothing_explains_is_refuted(pointer: str, fields: dict[str, Any]) -> None:
    assert refuted(pointer, **fields)
