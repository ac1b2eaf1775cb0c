"""What evidence says about a claim: never that it says so when it does not, never that it does not when it may."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from disputing import at, claim, digest, line
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.decide.dispute import jcs
from dissensus.decide.dispute.amounts import amounts_in
from dissensus.decide.dispute.bearing import Measures, Reading, read_bearing
from dissensus.decide.dispute.evidence import CsvSelector, Evidence, LineSelector, QuoteSelector
from dissensus.decide.dispute.faults import faults_in
from dissensus.decide.dispute.invoices import wrong_total
from dissensus.decide.dispute.places import surroundings
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.dispute.sources import Source

HEAD = "Delivery note DN-88\nOrder 4711\n"


def reading(
    text: str, quote: str, value: Any = 10, *, head: str = HEAD, media: str = "text/plain", **more: Any
) -> Reading:
    source = Source(f"{head}{text}\n".encode(), media)
    evidence = Evidence(source.digest, (QuoteSelector(quote),), quote, media=media)
    found = reopen(evidence, {source.digest: source})
    assert found.settles, found
    return read_bearing(claim("A", value, **more), evidence, found, source, Measures())


SAYS_SO = [
    "Pallets received: 10", "Received 10 pallets.", "received: 10 pallets", "10 pallets received",
    "We unloaded ten pallets at the dock.", "Pallets (received): 10", "10 pallets received, 12 ordered",
    "ordered 12, received 10", "Order 4711: 10 pallets", "PALLETS RECEIVED: 10", "Pallets received = 10",
    "received 10 pallets at 11:45 on 2026-03-02", "Pallets received:10", "**Pallets received:** 10",
    "* Pallets received: **10**", "Line 3: 10 pallets received", "pallets received 10.0",
]  # fmt: skip


@pytest.mark.parametrize("text", SAYS_SO)
def test_what_says_so_is_never_void(text: str) -> None:
    assert reading(text, text).bears == ("unclear" if "=" in text else "yes")


MAY_SAY_SO = [
    "2 x 5 pallets received", "5 + 5 pallets received", "zehn Paletten", "The pallets came complete.",
    "All pallets of the order were there.", "none was missing", "not 10 pallets but more", "Pallets received: 10 or 11",
    "half of the 20 pallets", "6 pallets on truck 1 and 4 pallets on truck 2", "10 pallets were not received",
    "Nothing was missing on the pallets", "received: see page 2 for pallets",
]  # fmt: skip


@pytest.mark.parametrize("text", MAY_SAY_SO)
def test_what_a_program_cannot_tell_voids_and_settles_nothing(text: str) -> None:
    assert reading(text, text).bears == "unclear"


IN_DOUBT = [
    "Pallets received: 10 9", "Pallets received: 10 1/2", "10 of 12 pallets received", "10 out of 12 pallets received",
    "Pallets received: 10 to 12", "Pallets received: ~10", "Pallets received: >10", "Pallets received: ≤ 10",
    "Pallets received: up to 10", "Pallets received: max. 10", "Pallets received: 10?", "Were 10 pallets received?",
    "Pallets received: (10)", "Pallets received: 10-", "Pallets received: –10", "Pallets received: minus 10",
    "Pallets received: 10 (corrected: 9)", "Pallets received: 10 (cancelled)", "It is false that 10 pallets came",
    "~~Pallets received: 10~~", "Pallets received: <s>10</s>", "Pallets received: 10\u200b0",
    "We hope that 10 pallets came", "If all came, pallets received: 10", "Pallets to be received: 10",
    "Pallets received (target): 10", "Pallets received: 10.000", "Orders 4711 and 4712: 10 pallets received",
    "4712/4711: 10 pallets received",
]  # fmt: skip


@pytest.mark.parametrize("text", IN_DOUBT)
def test_a_number_that_is_a_bound_a_part_in_doubt_or_struck_out_says_nothing(text: str) -> None:
    assert reading(text, text, 10).bears == "unclear"
    for value in (9, 12, 10_000):
        assert reading(text, text, value).bears != "yes"


@pytest.mark.parametrize(
    ("text", "bears"),
    [
        ("Delivery date: 2026-03-02", "yes"), ("Delivery: 2026-03-02", "yes"), ("Delivery date: 2026-03-03", "no"),
        ("Invoice date: 2026-03-02", "unclear"), ("Planned delivery date: 2026-03-02", "unclear"),
        ("Delivery date: before 2026-03-02", "unclear"), ("Delivery by 2026-03-02", "unclear"),
    ],
)  # fmt: skip
def test_a_day_may_be_that_of_something_else(text: str, bears: str) -> None:
    assert reading(text, text, "2026-03-02", attribute="delivery date", unit=None, value_type="date").bears == bears


@pytest.mark.parametrize("other", ["47110", "14711", "4712"])
def test_the_number_of_another_order_may_begin_or_end_as_this_one_does(other: str) -> None:
    text = f"Order {other}: pallets received 10"
    assert (reading(text, text).bears, reading(text, text).fault) == ("no", "subject")


SAYS_SOMETHING_ELSE = [
    ("Pallets received: 9", "value"), ("received 9 pallets", "value"), ("10 pallets damaged", "attribute"),
    ("Ordered: 10 pallets", "attribute"), ("10 pallets ordered, 9 received", "value"), ("missing: 10", "attribute"),
    ("Order 4712: 10 pallets", "subject"), ("Pallets received: 100", "value"), ("10 boxes received", "unit"),
    ("The server is down for maintenance", "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fault"), SAYS_SOMETHING_ELSE)
def test_what_says_something_else_for_certain(text: str, fault: str) -> None:
    found = reading(text, text)
    assert (found.bears, found.fault) == ("no", fault)


@pytest.mark.parametrize(
    ("line_", "quote", "bears"),
    [
        ("ordered: 10 pallets, received: 9 pallets", "10 pallets", "no"),  # cut out of what it belongs to
        ("ordered: 10 pallets, received: 9 pallets", "9 pallets", "no"),
        ("received: 10 pallets, ordered: 12 pallets", "10 pallets", "yes"),
        ("10 pallets were never received", "10 pallets", "unclear"),
        ("Order 4712 had 10 pallets received", "10 pallets received", "no"),
        ("Order 4711 had 10 pallets received, order 4712 none", "10 pallets received", "unclear"),
    ],
)
def test_a_quote_is_read_in_its_line(line_: str, quote: str, bears: str) -> None:
    assert reading(line_, quote).bears == bears


@pytest.mark.parametrize(
    ("text", "value", "bears"),
    [
        ("We unloaded 693 drums at dock 3.", 693, "yes"),  # the word between two numbers is the unit of the first
        ("We unloaded 693 drums at dock 3.", 3, "no"),
        ("Received in good order: 677 drums", 677, "yes"),  # a state of the goods, and no order 677
        ("Received in good order: 677 drums", 676, "no"),
        ("10 drums received in order 4712", 10, "no"),
        ("Order 4711: 62 drums", 62, "yes"),
        ("Order 4711: 62 pallets", 62, "no"),  # another unit, although the numbers are equal
    ],
)
def test_numbers_beside_other_numbers_and_in_other_units(text: str, value: int, bears: str) -> None:
    assert reading(text, text, value, attribute="quantity received", unit="drum").bears == bears


@pytest.mark.parametrize(
    ("text", "value", "bears"), [("Order K7: 62 drums", 62, "yes"), ("Order K7: 62 drums", 7, "no")]
)
def test_a_number_after_the_name_of_its_order_is_a_number(text: str, value: int, bears: str) -> None:
    about = {"subject": "order K7", "attribute": "quantity received", "unit": "drum"}
    assert reading(text, text, value, head="", **about).bears == bears


@pytest.mark.parametrize(
    ("text", "value", "bears"),
    [
        ("Invoice total: EUR 42.50", "42.50", "yes"), ("Invoice total: 42.50 EUR", "42.60", "no"),
        ("Invoice total: 42.50 kg", "42.50", "unclear"),
    ],
)  # fmt: skip
def test_a_claim_without_a_unit(text: str, value: str, bears: str) -> None:
    assert reading(text, text, value, attribute="invoice total", unit=None, value_type="decimal").bears == bears


@pytest.mark.parametrize(("value", "bears"), [(60, "yes"), (3, "no")])
def test_a_column_that_tells_of_the_property_goes_before_one_that_does_not(value: int, bears: str) -> None:
    table = "ticket,received,order,dock\nT1,60,4711,3\n"
    found = reading("T1,60,4711,3", "T1,60,4711,3", value, head=table.replace("T1,60,4711,3\n", ""), media="text/csv",
                    attribute="pallets delivered")  # fmt: skip
    assert found.bears == bears


@pytest.mark.parametrize(("column", "bears"), [("purchase", "no"), ("", "unclear")])
def test_the_column_that_is_declared_to_hold_the_subject_says_what_a_row_is_about(column: str, bears: str) -> None:
    text = "ticket,purchase,received\nT1,4711,9\nT2,4712,10\n"
    source = Source(text.encode(), "text/csv")
    evidence = Evidence(source.digest, (CsvSelector(3, "received"),), "10", media="text/csv")
    found = reopen(evidence, {source.digest: source})
    assert read_bearing(claim("A", 10), evidence, found, source, Measures(), column=column).bears == bears


def test_a_quote_cut_out_of_a_number_says_nothing() -> None:
    text = f"{HEAD}Pallets received: 1000\n"
    source = Source(text.encode(), "text/plain")
    evidence = Evidence(source.digest, (QuoteSelector("Pallets received: 10"),), "Pallets received: 10")
    found = reopen(evidence, {source.digest: source})
    assert found.cut == "number"
    assert read_bearing(claim("A", 10), evidence, found, source, Measures()).fault == "cut"


@pytest.mark.parametrize(
    ("head", "bears"),
    [
        ("Order 4711\n", "yes"), ("Orders: 4711, 4712\n", "unclear"), ("Order no. 4711\n", "yes"), ("DN-4711\n", "yes"),
        ("", "unclear"), ("Order 4712\n", "no"), ("Order 4711\nPallets: 3\nOrder 4712\n", "unclear"),
        ("Order 47110\n", "no"),
    ],
)  # fmt: skip
def test_a_source_has_to_be_about_the_subject(head: str, bears: str) -> None:
    assert reading("Pallets received: 10", "Pallets received: 10", head=head).bears == bears


@pytest.mark.parametrize(("number", "bears"), [(2, "unclear"), (4, "yes")])
def test_of_equal_lines_the_one_that_is_cited_is_read(number: int, bears: str) -> None:
    text = "Order 4712\nPallets received: 10\nOrder 4711\nPallets received: 10\n"
    source = Source(text.encode(), "text/plain")
    evidence = Evidence(source.digest, (LineSelector(number, number),), "Pallets received: 10")
    found = reopen(evidence, {source.digest: source})
    assert found.result == "EXACT"
    assert read_bearing(claim("A", 10), evidence, found, source, Measures()).bears == bears


@pytest.mark.parametrize(
    ("text", "value", "bears"),
    [
        ("1.234 pallets received", 1234, "yes"), ("1,234 pallets received", 1234, "yes"),
        ("1.234 pallets received", "1.234", "unclear"), ("1.234 pallets received", 1235, "no"),
        ("12,5 pallets received", "12.5", "yes"), ("50 % of pallets received", "0.5", "yes"),
    ],
)  # fmt: skip
def test_digits_that_can_be_read_in_two_ways(text: str, value: Any, bears: str) -> None:
    more: dict[str, Any] = {"unit": None} if "%" in text else {}
    kind = "decimal" if isinstance(value, str) else "integer"
    assert reading(text, text, value, value_type=kind, **more).bears == bears


TABLE = (
    "booking,order,ordered,received,unit,booked_at\n"
    "B1,4711,12,10,pallet,2026-03-02T09:00\n"
    "B2,4712,9,9,box,2026-03-02T09:30\n"
    "B3,4711,1,5,pallet,2026-03-09\n"
)


@pytest.mark.parametrize(
    ("row", "col", "value", "bears", "fault"),
    [
        (2, "received", 10, "yes", ""), (2, None, 10, "yes", ""), (2, "ordered", 12, "no", "attribute"),
        (2, "received", 9, "no", "value"), (3, "received", 9, "no", "subject"), (4, "received", 5, "no", "period"),
        (2, "booking", 10, "no", "attribute"), (2, "order", 4711, "no", "attribute"),
    ],
)  # fmt: skip
def test_a_cell_is_read_in_its_row(row: int, col: str | None, value: int, bears: str, fault: str) -> None:
    source = Source(TABLE.encode(), "text/csv")
    cells = TABLE.split("\n")[row - 1]
    quote = cells if col is None else cells.split(",")[TABLE.split("\n", maxsplit=1)[0].split(",").index(col)]
    evidence = Evidence(source.digest, (CsvSelector(row, col),), quote, media="text/csv")
    found = reopen(evidence, {source.digest: source})
    result = read_bearing(claim("A", value), evidence, found, source, Measures())
    if col in ("booking", "order"):
        assert result.bears != "yes"
    else:
        assert (result.bears, result.fault) == (bears, fault)
    assert surroundings(evidence, found, source).rows[0].number == row


@pytest.mark.parametrize(
    ("value", "more", "text", "bears"),
    [
        ("rejected", {"value_type": "enum"}, "Order 4711 was rejected at the gate", "yes"),
        ("rejected", {"value_type": "enum"}, "Order 4711 was not rejected", "unclear"),
        ("rejected", {"value_type": "enum"}, "Order 4711 was accepted", "unclear"),
        ("2026-03-02", {"value_type": "date"}, "Order 4711 arrived on 2026-03-02", "yes"),
        ("2026-03-02", {"value_type": "date"}, "Order 4711 arrived on 2026-03-03", "no"),
        ("2026-03-02", {"value_type": "date"}, "Order 4711 arrived on 2 March 2026", "yes"),
        (True, {}, "Order 4711: complete", "unclear"),
        # a line that names the claimed property and nothing else says its value
        (True, {"attribute": "sealed"}, "Sealed: yes", "yes"), (False, {"attribute": "sealed"}, "Sealed: yes", "no"),
        (True, {"attribute": "sealed"}, "Sealed: by Miller", "unclear"),
        (False, {"attribute": "sealed"}, "Lid sealed: yes", "unclear"),
        ("damaged", {"value_type": "enum", "attribute": "status"}, "Status: complete", "no"),
        ("complete", {"value_type": "enum", "attribute": "status"}, "Status: Complete", "yes"),
        ("complete", {"value_type": "enum", "attribute": "status"}, "Status: complete, see page 3", "yes"),
        ("complete", {"value_type": "enum", "attribute": "status"}, "Status: not complete", "unclear"),
        ("damaged", {"value_type": "string", "attribute": "status"}, "Status: complete", "unclear"),  # other words
        (["a1", "b2"], {"value_type": "set"}, "Order 4711 holds a1 and b2", "yes"),
        (["a1", "b2"], {"value_type": "set"}, "Order 4711 holds a1", "unclear"),
    ],
)  # fmt: skip
def test_values_that_are_no_numbers(value: Any, more: dict[str, Any], text: str, bears: str) -> None:
    assert reading(text, text, value, **{"attribute": "state", "unit": None, **more}).bears == bears


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60), st.integers(0, 999))
def test_any_text_is_read_and_yes_needs_the_number(text: str, value: int) -> None:
    amounts = amounts_in(text)
    for amount in amounts.found:
        assert 0 <= amount.start < amount.end <= len(text)
    whole = f"Order 4711 {text} x"
    source = Source(whole.encode("utf-8", "replace"), "text/plain")
    quote = source.text or ""
    evidence = Evidence(source.digest, (QuoteSelector(quote),), quote)
    found = reopen(evidence, {source.digest: source})
    if found.settles:
        result = read_bearing(claim("A", value), evidence, found, source, Measures())
        if result.bears == "yes":
            assert Fraction(value) in {v for one in amounts_in(quote).found for v in (one.value, *one.others)}


# --- totals


quantities = st.lists(st.tuples(st.integers(1, 20), st.integers(100, 9999)), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(quantities, st.integers(-5000, 5000), st.sampled_from(["", "vat", "shipping", "discount"]))
def test_a_total_in_json_is_refuted_exactly_if_it_does_not_follow(
    lines: list[tuple[int, int]], off: int, extra: str
) -> None:
    """Against the sum itself; with an extra, every way in which it may have been added or taken off is allowed."""
    added = sum(count * cents for count, cents in lines)
    bill: dict[str, Any] = {"order": "4711", "lines": [{"qty": count, "price": cents / 100} for count, cents in lines]}
    if extra:
        bill[extra] = 7
    bill["total"] = (added + off) / 100
    text = json.dumps(bill)
    source = Source(text.encode(), "application/json")
    evidence_data = at(text, "/total", json.dumps(bill["total"]))
    one = claim("A", json.dumps(bill["total"]), evidence_data, attribute="total", unit=None, value_type="decimal")
    evidence = one.evidence[0]
    (row,) = surroundings(evidence, reopen(evidence, {source.digest: source}), source).rows
    found = wrong_total(source, row)
    allowed = {Fraction(0)}
    if extra:
        share = Fraction(added) * 7 / 100
        allowed |= {Fraction(700), Fraction(-700), share, -share, Fraction(round(share)), Fraction(-round(share))}
    assert (found is None) == (Fraction(off) in allowed or any(abs(off - one) < 1 for one in allowed if one))
    if found is not None:
        assert {cite.quote for cite in found[1]} >= {json.dumps(bill["total"])}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.integers(-9, 9), st.booleans())
def test_a_total_in_text_is_wrong_exactly_if_its_lines_say_so(counts: list[int], off: int, spaced: bool) -> None:
    gap = "\n" if spaced else ""
    body = "".join(f"Truck {chr(97 + n)}: {count} pallets\n" for n, count in enumerate(counts))
    total = sum(counts) + off
    source = Source(f"Order 4711\n{gap}{body}Total: {total} pallets\n".encode(), "text/plain")
    runs = {sum(counts[n:]) for n in range(len(counts))}
    faults = faults_in(source)
    assert bool(faults) == (total not in runs)
    for fault in faults:
        assert len(fault.cites) == len(counts) + 1


@pytest.mark.parametrize(
    "text",
    [
        "Received: 6 pallets\nDamaged: 2 pallets\nTotal: 6 pallets\n",  # not parts of one sum
        "Ordered: 12 pallets\nReceived: 10 pallets\nTotal: 10 pallets\n",
        "Truck a: 6 pallets\nTotal: 10 pallets\n",  # one line is no sum
        "Truck a: 6 pallets\nTruck b: 3 boxes\nTotal: 10 pallets\n",
        "Truck a: 6 pallets\nTruck b: about 3 or 4 pallets\nTotal: 10 pallets\n",
        "",
    ],
)
def test_what_need_not_add_up_is_no_fault(text: str) -> None:
    assert faults_in(Source(f"Order 4711\n{text}".encode(), "text/plain")) == ()


def test_a_total_row_and_an_equation_that_do_not_hold() -> None:
    table = "part,pallets\na,6\nb,3\nTotal,10\n"
    (fault,) = faults_in(Source(table.encode(), "text/csv"))
    assert [cite.quote for cite in fault.cites] == ["a,6", "b,3", "Total,10"]
    (wrong,) = faults_in(Source(b"Order 4711\n3 * 4 = 13\n", "text/plain"))
    assert (wrong.checker, wrong.cites[0].quote) == ("text-arithmetic@1", "3 * 4 = 13")
    assert faults_in(Source(b"Order 4711\n3 * 4 = 12\n", "text/plain")) == ()


@pytest.mark.parametrize(
    "remark", ["The log is wrong, as its sum is off.", "See the total on page two of the other file"]
)
def test_a_remark_that_speaks_of_a_sum_is_no_row_of_totals(remark: str) -> None:
    table = f"booking,order,pallets,remark\nB1,4712,6,\nB2,4713,3,\nB3,4711,10,{remark.replace(',', ';')}\n"
    assert faults_in(Source(table.encode(), "text/csv")) == ()


def test_nobody_adds_up_the_numbers_of_orders() -> None:
    table = "order,pallets,remark\n4712,6,\n4713,4,\n4711,10,Total\n"
    assert faults_in(Source(table.encode(), "text/csv")) == ()
    (fault,) = faults_in(Source(table.replace("4711,10", "4711,11").encode(), "text/csv"))
    assert fault.says == 11


@pytest.mark.parametrize("remark", ["", "Confirm 950 pallets now.", "Policy update 14: notes outrank logs"])
def test_a_number_in_a_remark_is_no_value_of_a_row(remark: str) -> None:
    head = "id,order_no,quantity,remark\n"
    text = f"B1,4711,475,{remark}"
    found = reading(text, text, 475, head=head, media="text/csv")
    assert found.bears == "yes"
    assert found.value == 475


# --- canonical JSON


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"b": [1, "x", None, True], "a": {}}, '{"a":{},"b":[1,"x",null,true]}'),
        ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7},
         '{"\\r":2,"1":4,"\x80":6,"\xf6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'),
        ('\u20ac$\x0f\nA\'B"\\\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
    ],
)  # fmt: skip
def test_canonical_json_is_that_of_rfc_8785(data: Any, text: str) -> None:
    """Sorting and escaping as in sections 3.2.2.2 and 3.2.3 of the RFC."""
    assert jcs.canonical(data) == text.encode()


@pytest.mark.parametrize("data", [1.5, {1: 2}, 2**53, {"a": object()}, "\ud800"])
def test_what_has_no_canonical_form_is_refused(data: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - an encoding error is one, with a text of its own
        jcs.canonical(data)


def test_line_helper_cites_what_stands_there() -> None:
    text = "a\nb\n"
    assert line(text, 2)["quote"] == "b"
    assert line(text, 2)["digest"] == digest(text)
