"""What a text is about: each part of a subject has to be named, and what names another thing of its kind is told."""

from __future__ import annotations

import json

import pytest
from disputing import brief, case, cell, claim, pin, settle

from dissensus.decide.dispute.bearing import Measures, read_bearing
from dissensus.decide.dispute.case import Asking
from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.evidence import CsvSelector, Evidence, JsonSelector, LineSelector, Selector
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.dispute.selectors import select
from dissensus.decide.dispute.sources import Source

STOCK = "booking,po,sku,item,qty\nB1,PO-4711,SKU-12,bolt,40\nB2,PO-4711,SKU-13,nut,7\nB3,PO-4712,SKU-12,bolt,9\n"
PACKED = "Delivery note DN-5\nOrder PO-4711\nSKU-12 Hex bolts: 40\nSKU-13 Nuts: 7\n"
BILL = (
    '{"order": "PO-4711", "lines": [{"sku": "SKU-12", "item": "bolt", "qty": 40},'
    ' {"sku": "SKU-13", "item": "nut", "qty": 7}]}'
)
WHOLE = [
    "PO-4711/SKU-12", "PO-4711 SKU-12", "SKU-12 of PO-4711", "PO-4711:SKU-12", "PO-4711#SKU-12", "PO-4711|SKU-12",
    "order PO-4711 item SKU-12",
]  # fmt: skip


def bears(subject: str, value: int, text: str, selector: Selector, media: str) -> str:
    source = Source(text.encode(), media)
    found = select(source, selector)
    assert found is not None
    evidence = Evidence(source.digest, (selector,), found.text, media=media)
    one = claim("A", value, subject=subject, attribute="quantity received", unit=None)
    return read_bearing(one, evidence, reopen(evidence, {source.digest: source}), source, Measures()).bears


@pytest.mark.parametrize("subject", [*WHOLE, "PO-4711 bolts", "bolts of order PO-4711", "PO-4711/bolt"])
def test_each_part_of_a_subject_has_to_be_named_and_none_may_be_another_one(subject: str) -> None:
    for row, value, told in ((2, 40, "yes"), (3, 7, "no"), (4, 9, "no")):
        assert bears(subject, value, STOCK, CsvSelector(row, "qty"), "text/csv") == told
    for number, value, told in ((0, 40, "yes"), (1, 7, "no")):
        assert bears(subject, value, BILL, JsonSelector(f"/lines/{number}/qty"), "application/json") == told
    assert bears(subject, 41, STOCK, CsvSelector(2, "qty"), "text/csv") == "no", "the value is another one"
    if subject in WHOLE:
        assert [bears(subject, value, PACKED, LineSelector(n, n), "") for value, n in ((40, 3), (7, 4))] == [
            "yes",
            "no",
        ]


@pytest.mark.parametrize("subject", ["PO-4711", "order PO-4711", "order_4711", "order/4711", "order-4711", "#4711"])
def test_another_thing_of_its_kind_is_told_by_its_form(subject: str) -> None:
    own = "PO-4711" if "PO" in subject else "4711"
    for name, told in ((own, "yes"), (own.replace("1", "2"), "unclear" if subject == "#4711" else "no")):
        note = f"Delivery note DN-5\nOrder {name}\nQuantity received: 40\n"
        assert bears(subject, 40, note, LineSelector(3, 3), "") == told
    # a name of another form says nothing, as a number alone does
    assert (
        bears(subject, 40, "Delivery note DN-4712, 4712\nQuantity received: 40\n", LineSelector(2, 2), "") == "unclear"
    )


def test_what_a_line_lists_apart_is_not_taken_for_the_subject() -> None:
    listed = "Order 4711\nBolts: 40\nNuts: 7\n"
    assert bears("order 4711 bolts", 40, listed, LineSelector(2, 2), "") == "yes"
    assert bears("order 4711 bolts", 7, listed, LineSelector(3, 3), "") == "unclear"
    assert bears("order 4711 bolts", 7, "Order 4711\nBolts, see below\nReceived: 7\n", LineSelector(3, 3), "") == "yes"
    assert bears("Auftrag 4711", 7, "Auftrag 4711\nErhalten: 7\n", LineSelector(2, 2), "") == "yes"


@pytest.mark.parametrize(
    ("subject", "value", "rule"), [("PO-4711", 47, ""), ("PO-4711 bolts", 40, ""), ("PO-4711", 40, "R3")]
)
def test_a_declared_table_adds_up_what_is_about_all_of_the_subject(subject: str, value: int, rule: str) -> None:
    table = Table(value="qty", subject="po", key="booking")
    one = claim("A", value, cell(STOCK, 2, "qty", "40"), subject=subject, attribute="quantity received", unit=None)
    found = settle(case(one, pinned=(pin(STOCK, "text/csv", table=table),), asking=Asking(ask=False)))
    assert brief(found) == ("settled" if rule else "consistent", rule)


def test_a_booking_that_is_exported_twice_counts_once_whenever_it_was() -> None:
    log = "booking,po,qty,at\nB1,PO-4711,40,2026-03-02T09:00\nB1,PO-4711,40,2026-03-02T10:00\n"
    table = Table(value="qty", subject="po", key="booking", time="at")
    about = {"subject": "PO-4711", "attribute": "quantity received", "unit": None}
    claims = [
        claim(str(value), value, cell(log, 2, "qty", "40"), cell(log, 3, "qty", "40"), **about) for value in (40, 80)
    ]
    found = settle(case(*claims, pinned=(pin(log, "text/csv", table=table),), asking=Asking(ask=False)))
    assert brief(found) == ("settled", "R3")
    assert found.verdict["standing"] == ["40"]


@pytest.mark.parametrize("name", ["4711-2", "4711;4712", "4711 and 4712", "4711/4712"])
def test_a_field_that_names_a_part_of_it_or_two_of_them_does_not_say_which(name: str) -> None:
    assert bears("order 4711", 40, f"booking,order,qty\nB1,{name},40\n", CsvSelector(2, "qty"), "text/csv") == "unclear"


def test_an_object_may_stand_under_the_number_of_what_it_is_about() -> None:
    stock = '{"4711": {"qty": 40}, "4712": {"qty": 7}}'
    for where, value, told in (("/4711/qty", 40, "yes"), ("/4712/qty", 7, "no")):
        assert bears("order 4711", value, stock, JsonSelector(where), "application/json") == told


# --- what stands beside a number


@pytest.mark.parametrize(
    ("column", "text", "told"),
    [
        ("status", "received", "yes"), ("status", "ok", "yes"), ("remark", "no damage", "yes"), ("void", "no", "yes"),
        ("valid", "yes", "yes"), ("item", "return envelopes", "yes"), ("remark", "all of it came on time", "yes"),
        ("status", "cancelled", "unclear"), ("status", "planned", "unclear"), ("type", "return", "unclear"),
        ("remark", "not received", "unclear"), ("void", "yes", "unclear"), ("valid", "no", "unclear"),
        ("storno", "1", "unclear"),
    ],
)  # fmt: skip
def test_a_row_that_was_undone_counts_for_nothing(column: str, text: str, told: str) -> None:
    about = "order 4711 return envelopes" if column == "item" else "order 4711"
    log = f"booking,order,qty,{column}\nB1,4711,40,{text}\n"
    assert bears(about, 40, log, CsvSelector(2, "qty"), "text/csv") == told
    assert bears(about, 40, log, CsvSelector(2), "text/csv") == told
    document = json.dumps({"order": "4711", "qty": 40, column: text})
    assert bears(about, 40, document, JsonSelector("/qty"), "application/json") == told


@pytest.mark.parametrize(
    ("pointer", "value", "told"),
    [
        ("/received/qty", 40, "yes"), ("/ordered/qty", 50, "no"), ("/lines/received", 40, "yes"),
        ("/weight", 40, "unclear"), ("/qty_per_truck", 40, "unclear"), ("/count", 40, "yes"),
        ("/exact", 40, "unclear"), ("/total", 40, "yes"),
    ],
)  # fmt: skip
def test_a_field_says_by_its_name_and_by_what_it_lies_in_what_it_counts(pointer: str, value: int, told: str) -> None:
    document = (
        '{"order": "4711", "received": {"qty": 40}, "ordered": {"qty": 50}, "lines": {"ordered": 50, "received": 40},'
        ' "weight": 40, "qty_per_truck": 40, "count": 4.0e1, "exact": 40, "total": 40}'
    )
    assert bears("order 4711", value, document, JsonSelector(pointer), "application/json") == told


@pytest.mark.parametrize(
    ("log", "quote", "value", "unit"),
    [
        ("order,qty,unit\n4711,7000,g\n4712,7,kg\n", "7000", 7000, "g"),  # the column of units goes before the table's
        ("order,qty,unit\n4711,7,kg\n4712,7,kg\n", "7", 7, "kg"),
        ('order,boxes\n4711,"1,200"\n4712,7\n', "1,200", 1200, "box"),  # 1.2 boxes are none
    ],
)
def test_a_declared_table_refutes_no_unit_or_number_of_its_own_rows(
    log: str, quote: str, value: int, unit: str
) -> None:
    column = "boxes" if unit == "box" else "qty"
    one = claim("A", value, cell(log, 2, column, quote), subject="order 4711", attribute="quantity", unit=unit)
    table = Table(value=column, subject="order", unit="box" if unit == "box" else "kg")
    pinned = (pin(log, "text/csv", table=table),)
    assert settle(case(one, pinned=pinned, asking=Asking(ask=False))).verdict["losers"] == []


def test_a_declared_table_without_any_number_in_a_row_still_refutes() -> None:
    log = "order,qty\n4711,none\n4711,7\n"
    one = claim("A", 7, cell(log, 3, "qty", "7"), subject="order 4711", attribute="quantity", unit=None)
    pinned = (pin(log, "text/csv", table=Table(value="qty", subject="order")),)
    (loser,) = settle(case(one, pinned=pinned, asking=Asking(ask=False))).verdict["losers"]
    assert "holds no number under 'qty'" in loser["reason"]


def test_a_declared_table_with_a_row_that_was_undone_refutes_nothing() -> None:
    log = "booking,order,qty,status\nB1,4711,40,booked\nB2,4711,7,cancelled\n"
    for value in (40, 47):
        one = claim("A", value, cell(log, 2, "qty", "40"), subject="order 4711", attribute="quantity", unit=None)
        pinned = (pin(log, "text/csv", table=Table(value="qty", subject="order", key="booking")),)
        assert settle(case(one, pinned=pinned, asking=Asking(ask=False))).verdict["losers"] == []
