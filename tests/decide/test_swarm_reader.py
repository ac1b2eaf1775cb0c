"""The built-in reader: what it claims stands there, is the sum that a brute force finds, and survives the rules."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from disputing import digest, settle
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.decide.dispute.case import Asking, Case, Pinned
from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.docket import Docket, source_of
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.dispute.rules import r0, r1, r2, r3
from dissensus.decide.swarm.citing import MOST_EVIDENCE
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.reader import Found, Reader, read_item
from dissensus.decide.swarm.work import Wanted
from dissensus.errors import SpecError

PALLETS = Wanted(attribute="pallets received", subject="order {item}", unit="pallet")
DAY = "2026-03-02"
HEAD = f"Delivery note DN-88\nOrder 4711\nDate: {DAY}\n"
LOG = (
    "booking,order,pallets,booked_at\n"
    "B1,4711,6,2026-03-02T09:00\n"
    "B2,4711,3,2026-03-02T10:00\n"
    "B3,4712,9,2026-03-02T10:30\n"
)  # fmt: skip


def sources(*texts: str | Pinned) -> dict[str, Pinned]:
    found: dict[str, Pinned] = {}
    for number, text in enumerate(texts):
        one = text if isinstance(text, Pinned) else as_pinned(text, f"file-{number}")
        name = digest(one.text) if one.text is not None else sha256(base64.b64decode(one.base64 or "")).hexdigest()
        found[name] = one
    return found


def as_pinned(text: str, name: str = "", **more: Any) -> Pinned:
    """A document whose media type is told from how it begins."""
    first = text.partition("\n")[0]
    table = re.search(r"[,;]\S", first) is not None and not first.startswith(("{", "["))
    media = "application/json" if first.startswith(("{", "[")) else "text/csv" if table else "text/plain"
    return Pinned(text=text, media=media, name=name, **more)


def pdf(*pages: str, name: str = "note.pdf") -> Pinned:
    return Pinned(base64=base64.b64encode("\f".join(pages).encode()).decode(), pages=pages, name=name)


def read(*texts: str | Pinned, item: str = "4711", wanted: Wanted = PALLETS) -> Found:
    return read_item(item, (wanted,), sources(*texts))


def held(found: Found, of: Mapping[str, Pinned], value: Fraction | int | str) -> Mapping[str, Any]:
    """The one claim: it says ``value``, its evidence reopens EXACT, and rules R0 to R3 leave it standing on that."""
    assert found.why == ""
    (data,) = found.claims
    claim = claim_from(data, name="A")
    number = claim.value.number if claim.value is not None else None
    assert number is not None
    assert Fraction(number) == Fraction(value)
    opened = {name: source_of(pinned) for name, pinned in of.items()}
    assert claim.evidence
    assert {reopen(item, opened).result for item in claim.evidence} == {"EXACT"}
    docket = Docket(Case(id="c", claims=(claim,), sources=of, asking=Asking(ask=False)))
    for rule in (r0, r1, r2, r3):
        list(rule(docket))
    (weighed,) = docket.claims
    assert (weighed.stand, weighed.why) == ("standing", "")
    assert weighed.supported(), "its evidence says what it says"
    return data


def none(found: Found, why: str) -> None:
    """Nothing is claimed, and the reason is said."""
    assert found.claims == ()
    assert why in found.why
    assert found.why.startswith("pallets received: ")
    assert found.why.endswith(".")


# --- labels in texts

LABELLED = [
    "Pallets received: 10", "Pallets received ....... 10 pallets", "Pallets received\t10", "Pallets received    10",
    "| Pallets received | 10 |", "**Pallets received:** 10", "- Pallets received: 10 pallets", "PALLETS RECEIVED: 10",
    "Number of pallets received: 10", "Total pallets received: 10", "10 pallets received", "Received 10 pallets.",
    "Pallets: 10", "Pallets delivered: 10", "Received: 10 pallets", "Total: 10 pallets", "Order 4711: 10 pallets",
    "Pallets received: ten", "Pallets received: 10.0", "Received by: M. R.\nPallets received: 10",
    "Ordered: 12 pallets\nPallets received: 10", "Received: 2026-03-02\nPallets: 10", "Pallets received:10",
    "Pallets received: 10 (ordered 12)", "We unloaded 10 pallets at dock 3.", "received: 10 pallets (gate 2)",
    "Ordered 12, received 10", "10 pallets received, 12 ordered", "Ordered 12 pallets, 10 pallets received",
    "Pallets received: 10\nMissing: 2 pallets\nDamaged: 1 pallet", "Carrier: Nord    Pallets received: 10    Dock: 3",
]  # fmt: skip


@pytest.mark.parametrize("text", LABELLED)
@pytest.mark.parametrize("paged", [False, True])
def test_a_number_beside_its_label_is_read(text: str, paged: bool) -> None:
    page = HEAD + text + "\n"
    of = sources(pdf("Cover sheet\n", page) if paged else page)
    data = held(read_item("4711", (PALLETS,), of), of, 10)
    assert data["unit"] == "pallet"
    assert data["as_of"] == DAY
    assert data["subject"] == "order 4711"


DOUBTS = [
    ("Pallets received: about 10", "more than can be read"), ("Pallets received: 10 or 11", "several numbers"),
    ("Pallets received: 10\nPallets received: 9", "more than once"), ("Pallets received: none", "no number"),
    ("Pallets received: not 10", "more than can be read"), ("Not all pallets received: 10", "no line that is called"),
    ("Received: 1,200 kg", "two ways"), ("Received: 1.200 kg", "two ways"), ("Pallets received:", "nothing"),
    ("Pallets received: 10 complete", "more than a number"), ("Pallets received: see page 2", "no number"),
    ("Pallets: 12\nonly 9 were received", "does not tell"), ("Pallets: 12\nMissing: 2", "does not tell"),
    ("Ordered: 12 pallets", "no line that is called"), ("We unloaded 9 pallets at 3 docks.", "several numbers"),
    ("Pallets received: 10 of 12", "several numbers"), ("The pallets came.", "no line that is called"),
    ("Received: 10\nDelivered: 9", "more than once"), ("Pallets received: 2 x 5", "several numbers"),
    ("Pallets received: 10 (2 broken)", "several numbers"), ("Pallets received: 10 (of 12)", "several numbers"),
    ("Pallets received: ⅓", "no decimal"), ("Pallets received = 10", "cannot be read"),
    ("Ordered 12, received about 9", "no line that is called"), ("Received 9, delivered 8", "more than once"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), DOUBTS)
def test_of_a_doubt_comes_no_claim_and_a_reason(text: str, why: str) -> None:
    none(read(f"{HEAD}{text}\n"), why)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Order 4710\nPallets received: 5\nOrder 4711\nPallets received: 5\nOrder 4712\nPallets received: 6\n", 5),
        ("Order no. 4711\nPallets received: 7\n\nOrder no. 4712\nPallets received: 6\n", 7),
        ("Order 4712: 9 pallets\nOrder 4711: 8 pallets\n", 8),
        ("Bestellung 4711\nPallets received: 7\n", 7),
        ("PO 4711\nPallets received: 7\n", 7),
    ],
)
def test_of_several_things_in_one_document_its_own_line_is_read(text: str, value: int) -> None:
    of = sources(text)
    held(read_item("4711", (PALLETS,), of), of, value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Pallets received: 10\n", "names it"),
        ("Order 4712\nPallets received: 10\n", "names it"),
        ("Orders: 4711, 4712\nPallets received: 10\n", "names several things"),
        ("Order 4711 and 4712\nPallets received: 10\n", "names several things"),
        ("Pallets received: 10\nOrder 4712\nOrder 4711\n", "names several things"),
        ("Weight: 4711 kg\nPallets received: 10\n", "names it"),
        ("Order 4712, instead of 4711\nPallets received: 3\n", "names it"),
        ("Order 47110\nPallets received: 10\n", "names it"),
    ],
)
def test_a_document_has_to_name_the_item_as_what_it_is(text: str, why: str) -> None:
    none(read(text), why)


@pytest.mark.parametrize(
    ("text", "value"),
    [("PO-4712\nPallets received: 3\nPO-4711\nPallets received: 5\n", 5), ("For PO-4711\nPallets received: 5\n", 5)],
)
def test_a_name_with_letters_needs_no_word_before_it(text: str, value: int) -> None:
    wanted = Wanted(attribute="pallets received", unit="pallet")
    of = sources(text)
    assert held(read_item("PO-4711", (wanted,), of), of, value)["subject"] == "PO-4711"
    assert read_item("PO-4713", (wanted,), of).claims == ()


def test_the_unit_is_the_one_that_stands_there() -> None:
    for text, unit in (
        ("Received: 480 boxes", "box"), ("Boxes received: 480", "box"), ("Received: 480 kg", "kg"),
        ("Received: 480", "pallet"), ("Received (pallets): 480", "pallet"),
    ):  # fmt: skip
        of = sources(f"{HEAD}{text}\n")
        wanted = Wanted(attribute="received", subject="order {item}", unit="pallet", names=("boxes received",))
        assert held(read_item("4711", (wanted,), of), of, 480)["unit"] == unit, text


@pytest.mark.parametrize("written", ["1,200", "1.200", "1'200", "1 200", "1200"])
def test_what_is_counted_in_whole_numbers_is_read_as_one(written: str) -> None:
    of = sources(f"{HEAD}Pallets received: {written}\n")
    held(read_item("4711", (PALLETS,), of), of, 1200)


@pytest.mark.parametrize("attribute", ["pallets damaged", "pallets missing", "pallets returned"])
def test_a_plain_number_of_pallets_is_no_part_of_them(attribute: str) -> None:
    wanted = Wanted(attribute=attribute, subject="order {item}", unit="pallet")
    for text in (f"{HEAD}Pallets: 10\n", f"{HEAD}Order 4711: 10 pallets\n", "order,pallets\n4711,10\n"):
        assert read_item("4711", (wanted,), sources(text)).claims == ()


def test_another_name_can_be_declared_and_goes_first() -> None:
    text = f"{HEAD}Colli: 10\nPallets received: 2\n"
    none(read(f"{HEAD}Colli: 10\n"), "no line that is called")
    of = sources(text)
    named = Wanted(attribute="colli", subject="order {item}", names=("Packages", "colli"))
    held(read_item("4711", (named,), of), of, 10)


def test_the_day_is_that_of_the_document_unless_it_is_asked_for() -> None:
    def day(text: str, wanted: Wanted = PALLETS) -> Any:
        found = read(f"Order 4711\n{text}\nPallets received: 10\n", wanted=wanted)
        return found.claims[0].get("as_of") if found.claims else found.why

    assert day("Delivery date: 2 March 2026") == DAY
    assert day("Order date: 2026-02-01\nReceived on: 2026-03-02") == DAY
    assert day("Due: 2026-03-01") is None
    assert day("Received on: 2026-03-02\nBooked on: 2026-03-04") is None, "which of them is not told"
    assert day("Booked on: 2026-03-04\nDate: 2026-03-02") == DAY
    asked = Wanted(attribute="pallets received", subject="order {item}", as_of="2026-03-01/2026-03-08")
    assert day("Date: 2026-03-02", asked) == "2026-03-01/2026-03-08"
    assert "another time" in day("Date: 2026-03-09", asked)
    with pytest.raises(SpecError):
        read(HEAD, wanted=Wanted(attribute="pallets", as_of="yesterday"))


# --- several documents


def note(number: str, value: int, *more: str, day: str = DAY) -> str:
    return "\n".join((f"Delivery note {number}", "Order 4711", f"Date: {day}", f"Pallets received: {value}", *more, ""))


def test_a_split_delivery_is_added_up() -> None:
    of = sources(note("DN-1", 6), note("DN-2", 4, day="2026-03-04"))
    data = held(read_item("4711", (PALLETS,), of), of, 10)
    assert len(data["evidence"]) == 2
    assert data["as_of"] == "2026-03-02/2026-03-05", "from the first day to the end of the last one"
    log = LOG.replace("B2,4711,3", "B2,4711,4")
    other = claim_from({**read(log).claims[0], "as_of": data["as_of"]}, name="B")
    whole = {**of, **sources(log)}
    both = Case(id="c", claims=(claim_from(data, name="A"), other), sources=whole, asking=Asking(ask=False))
    assert settle(both).state == "consistent", "test 16 of the three-way match"


@pytest.mark.parametrize(
    "copy",
    [
        note("DN-1", 6).replace("\n", "\r\n"), note("DN-1", 6) + "\n\n", note("DN-1", 6, "Signed: M. R."),
        note("DN-1", 6).replace("note", "Note"),
    ],
)  # fmt: skip
def test_a_copy_and_a_number_that_is_there_already_count_once(copy: str) -> None:
    of = sources(note("DN-1", 6), copy, note("DN-2", 4))
    held(read_item("4711", (PALLETS,), of), of, 10)
    of = sources(note("DN-1", 6), copy)
    held(read_item("4711", (PALLETS,), of), of, 6)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (note("DN-1", 6), note("DN-1", 4), "with the number dn-1 differ"),
        (note("", 6), note("DN-2", 4), "whether they are parts"),
        ("Order 4711\nPallets received: 5\n", "Order 4711\nSigned\nPallets received: 5\n", "whether they are parts"),
        (note("DN-1", 6), note("DN-2", 4, "This note replaces the earlier one"), "may stand in its place"),
        (note("DN-1", 6), note("DN-2", 4, "See also note DN-1"), "may stand in its place"),
        (note("DN-1", 6), note("DN-2", 4).replace("Delivery note DN", "Goods receipt GR"), "several kinds differ"),
        (note("DN-1", 6), note("DN-2", 4).replace("Pallets received", "Boxes received"), "in several units"),
        (note("DN-1", 6), note("DN-2", 4).replace("Pallets received: 4", "The rest came"), "beside others of its kind"),
        (note("DN-1", 6), note("DN-2", 4).replace("received: 4", "came, 4 of them"), "beside others of its kind"),
        (note("DN-1", 6), note("DN-2", 4).replace("Pallets received: 4", "Received = 4"), "beside others of its kind"),
        (note("DN-1", 6), note("DN-2", 4).replace(": 4", ": about 4"), "more than can be read"),
        (note("DN-1", 6), LOG, "differ, and nothing tells"),
    ],
)
def test_what_need_be_no_part_is_not_added_up(first: str, second: str, why: str) -> None:
    wanted = Wanted(attribute="pallets received", subject="order {item}", names=("boxes received", "pallets"))
    none(read(first, second, wanted=wanted), why)


def test_sources_that_say_the_same_are_one_claim() -> None:
    wanted = Wanted(attribute="pallets received", subject="order {item}", unit="pallet", names=("pallets",))
    of = sources(note("DN-1", 9), LOG)
    assert len(held(read_item("4711", (wanted,), of), of, 9)["evidence"]) == 2
    of = sources(note("DN-1", 9), note("DN-1", 9).replace("Delivery note DN-1", "Goods receipt GR-5"))
    assert len(held(read_item("4711", (PALLETS,), of), of, 9)["evidence"]) == 1


def test_a_part_that_says_it_in_other_words_is_a_part() -> None:
    of = sources(note("DN-1", 6), note("DN-2", 4).replace("Pallets received: 4", "Order 4711: 4 pallets"))
    held(read_item("4711", (PALLETS,), of), of, 10)


def test_a_better_name_goes_before_one_that_fits_in_part() -> None:
    order = "order,pallets,price\n4711,12,100\n"
    of = sources(order, note("DN-1", 10))
    held(read_item("4711", (PALLETS,), of), of, 10)


# --- tables


def test_the_rows_of_the_item_are_added_up_and_cited_cell_by_cell() -> None:
    of = sources(LOG)
    data = held(read_item("4711", (PALLETS,), of), of, 9)
    assert [one["selectors"] for one in data["evidence"]] == [
        [{"type": "csv", "row": 2, "col": "pallets"}], [{"type": "csv", "row": 3, "col": "pallets"}],
    ]  # fmt: skip
    assert data["as_of"] == DAY
    none(read(LOG, item="4713"), "no document that was read names it (file-0)")


@pytest.mark.parametrize(
    ("table", "value", "unit"),
    [
        ("order,type,pallets\n4711,ordered,12\n4711,received,10\n", 10, "pallet"),
        ("order,pallets ordered,pallets received\n4711,12,10\n", 10, "pallet"),
        ("order,received,unit\n4711,10,box\n4711,5,box\n", 15, "box"),
        ("Order No;Qty received (boxes)\n#4711;10\n", 10, "box"),
        ("order,,received\n4711,x,10\n", 10, "pallet"),
        ('order,"pallets, received"\n4711,"10"\n', 10, "pallet"),
        ("order,received\n4711,12\n4711,-2\n", 10, "pallet"),
        ("order,received\n4711,10 pallets\n", 10, "pallet"),
        ("order,received\n4711,2.5\n4711,0.25\n", "2.75", "pallet"),
    ],
)
def test_the_column_is_the_one_whose_name_fits(table: str, value: int | str, unit: str) -> None:
    of = sources(table)
    assert held(read_item("4711", (PALLETS,), of), of, value)["unit"] == unit


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("order,qty\n4711,12\n", "no column of it is called like"),
        ("order,received,delivered\n4711,12,10\n", "several columns that may be it"),
        ("order,received,received\n4711,12,10\n", "several columns that may be it"),
        ("order,order,received\n4711,4712,10\n4712,4711,7\n", "several columns called 'order'"),
        ("order,received\n4711,12\n4711,\n", "number 3, whose 'received' holds nothing"),
        ("order,received\n4711,12\n4711,about 3\n", "more than can be read"),
        ("order,received\n4711,6\n4711,4\n4711 ,10 total\n", "need not count: 'total'"),
        ("order,received,status\n4711,6,ok\n4711,4,cancelled\n", "need not count: 'cancelled'"),
        ("order,type,pallets\n4711,ordered,12\n4711,?,10\n", "may tell of something else"),
        ("order,received,unit\n4711,6,box\n4711,4,pallet\n", "several units"),
        ("order,type,pallets\n4711,ordered,12\n", "something else"),
        ("shipment,order no,order id,received\n1,4711,4711,12\n", "several columns"),
    ],
)
def test_a_table_that_leaves_a_doubt_says_nothing(table: str, why: str) -> None:
    none(read(table), why)


def test_a_number_that_happens_to_be_there_names_nothing() -> None:
    wanted = Wanted(attribute="pallets received", unit="pallet")
    table = "order,weight,pallets received\n4712,4711,3\n"
    assert read_item("4711", (wanted,), sources(table)).claims == ()
    assert read_item("3", (wanted,), sources(table)).claims == ()


def test_a_row_twice_is_cited_twice_so_that_a_checker_finds_it() -> None:
    log = LOG.replace("B2,4711,3,2026-03-02T10:00\n", "B2,4711,4,2026-03-02T10:00\n" * 2)
    of = sources(log)
    (data,) = read_item("4711", (PALLETS,), of).claims
    assert (data["value"], len(data["evidence"])) == (14, 3)
    found = settle(Case(id="c", claims=(claim_from(data, name="A"),), sources=of, asking=Asking(ask=False)))
    assert "duplicate-id@1" in found.verdict["losers"][0]["reason"]


def test_a_declared_table_is_read_as_declared() -> None:
    text = "nr,what,n,m,when\n1,4711,6,60,2026-03-02\n2,4711,3,30,2026-03-09\n"
    table = Table(value="n", subject="what", key="nr", time="when", unit="box")
    of = sources(as_pinned(text, table=table))
    data = held(read_item("4711", (PALLETS,), of), of, 9)
    assert (data["unit"], data["as_of"]) == ("box", "2026-03-02/2026-03-10")
    early = Wanted(attribute="pallets received", subject="order {item}", as_of=DAY)
    assert held(read_item("4711", (early,), of), of, 6)["as_of"] == DAY
    other = sources(as_pinned(text, table=Table(value="n", subject="what", attribute="pallets ordered")))
    none(read_item("4711", (PALLETS,), other), "no column of it is called like")
    lacking = sources(as_pinned(text, table=Table(value="none", subject="what")))
    none(read_item("4711", (PALLETS,), lacking), "no column 'none'")


def test_tables_of_one_kind_add_up_and_a_booking_in_two_of_them_counts_once() -> None:
    header = "booking,order,pallets received\n"
    march, april = header + "B1,4711,6\nB2,4712,1\n", header + "B3,4711,4\nB4,4712,2\n"
    quarter = header + "B1,4711,6\nB2,4712,1\nB3,4711,4\nB5,4711,1\n"
    for tables, value in (
        ((march, april), 10),
        ((march, april, quarter), 11),
        ((march, march.replace("\n", "\r\n")), 6),
    ):
        of = sources(*tables)
        held(read_item("4711", (PALLETS,), of), of, value)
    none(read(march, quarter.replace("B1,4711,6", "B1,4711,7")), "in several tables with other words")
    none(read(march, quarter.replace("B5", "")), "without 'booking'")
    plain = "order,pallets received\n"
    none(read(plain + "4711,6\n", plain + "4711,4\n4712,3\n"), "tells their rows apart")
    none(read(march, "order,at,pallets received\n4711,x,4\n"), "tables of several kinds differ")


def test_more_rows_than_can_be_cited_are_not_cut_off() -> None:
    rows = "".join(f"B{n},4711,1\n" for n in range(MOST_EVIDENCE + 1))
    none(read("booking,order,received\n" + rows), f"{MOST_EVIDENCE + 1} rows")


# --- JSON


@pytest.mark.parametrize(
    ("document", "value", "pointers"),
    [
        ({"order": "4711", "pallets": {"received": 10, "ordered": 12}, "date": DAY}, 10, ["/pallets/received"]),
        ([{"order": 4711, "pallets": 6}, {"order": 4711, "pallets": 4}, {"order": 4712, "pallets": 1}], 10,
         ["/0/pallets", "/1/pallets"]),
        ({"4711": {"pallets_received": 6}, "4712": {"pallets_received": 3}}, 6, ["/4711/pallets_received"]),
        ({"order": 4711, "pallets received": "10 pallets", "lines": [{"sku": "a/b"}]}, 10, ["/pallets received"]),
        ({"order": 4711, "received": 10, "lines": [{"received": 6}, {"received": 4}]}, 10, ["/received"]),
        ({"orders": [{"order": 4712, "received": 1}, {"order": 4711, "notes": [{"received": 2.5}]}]}, "2.5",
         ["/orders/1/notes/0/received"]),
    ],
)  # fmt: skip
def test_json_is_read_under_keys_that_fit(document: Any, value: int | str, pointers: Sequence[str]) -> None:
    of = sources(json.dumps(document))
    data = held(read_item("4711", (PALLETS,), of), of, value)
    assert [one["selectors"][0]["pointer"] for one in data["evidence"]] == list(pointers)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"order": 4712, "received": 10}, "names it"),
        ({"order": 4711, "qty": 10}, "no key of it is called like"),
        ({"order": 4711, "received": 10, "lines": [{"received": 6}, {"received": 5}]}, "in several places that differ"),
        ({"order": 4711, "received": "about 10"}, "more than can be read"),
        ({"order": 4711, "received": 10, "status": "cancelled"}, "need not count"),
        ({"order": 4711, "type": "ordered", "pallets": 10}, "need not count"),
        (
            {"order": 4711, "lines": [{"received": 1, "unit": "box"}, {"received": 2, "unit": "pallet"}]},
            "several units",
        ),
        ({"weight": 4711, "received": 10}, "names it"),
    ],
)
def test_json_that_leaves_a_doubt_says_nothing(document: Any, why: str) -> None:
    none(read(json.dumps(document)), why)


def test_a_key_that_stands_twice_cannot_be_cited() -> None:
    none(read('{"order": 4711, "received": 1, "received": 2}'), "cannot be cited (AMBIGUOUS)")


def test_of_json_only_what_is_of_the_time_counts() -> None:
    lines = [{"received": 6, "date": DAY}, {"received": 4, "date": "2026-03-09"}]
    of = sources(json.dumps({"order": 4711, "lines": lines}))
    early = Wanted(attribute="pallets received", subject="order {item}", as_of=DAY)
    held(read_item("4711", (early,), of), of, 6)
    assert held(read_item("4711", (PALLETS,), of), of, 10)["as_of"] == "2026-03-02/2026-03-10"
    later = Wanted(attribute="pallets received", subject="order {item}", as_of="2027")
    none(read_item("4711", (later,), of), "tells of another time")


def test_two_json_notes_are_parts() -> None:
    one, other = ({"note": f"DN-{n}", "order": "4711", "received": n} for n in (1, 2))
    of = sources(json.dumps(one), json.dumps(other))
    held(read_item("4711", (PALLETS,), of), of, 3)


# --- held to a brute force, and to known truth

_NAMES = st.sampled_from(["order", "Order no", "order_id", "ORDER"])
_VALUES = st.one_of(st.integers(0, 500).map(str), st.decimals(0, 500, places=2).map(str))


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[list[str]]]:
    """A table of bookings as text, the name of its value column, and its rows."""
    value = draw(st.sampled_from(["pallets", "pallets received", "Received", "pallets_delivered", "qty received"]))
    columns = [
        "booking",
        draw(_NAMES),
        value,
        *draw(st.lists(st.sampled_from(["supplier", "booked_at", "price"]), unique=True)),
    ]
    order = draw(st.permutations(range(len(columns))))
    rows = []
    for number in range(draw(st.integers(1, 12))):
        row = [f"B{number}", draw(st.sampled_from(["4711", "4712", "4713"])), draw(_VALUES)]
        more = {"supplier": "Nord, Ltd", "booked_at": f"2026-03-{number + 1:02}T09:00", "price": draw(_VALUES)}
        rows.append([*row, *(more[name] for name in columns[3:])])
    text = io.StringIO()
    line = csv.writer(
        text, delimiter=draw(st.sampled_from([",", ";", "\t"])), lineterminator=draw(st.sampled_from(["\n", "\r\n"]))
    )
    for cells in (columns, *rows):
        line.writerow([cells[place] for place in order])
    return draw(st.sampled_from(["", "\ufeff"])) + text.getvalue(), value, rows


@settings(max_examples=60)
@given(tables())
def test_a_table_gives_what_a_brute_force_adds_up(made: tuple[str, str, list[list[str]]]) -> None:
    text, _value, rows = made
    of = sources(Pinned(text=text, media="text/csv", name="log.csv"))
    reader = Reader(Opened(of))
    for item in ("4711", "4712", "4713", "4714"):
        mine = [Fraction(row[2]) for row in rows if row[1] == item]
        found = reader.read(item, (PALLETS,), tuple(of))
        if not mine:
            assert found.claims == ()
            continue
        data = held(found, of, sum(mine, Fraction(0)))
        assert len(data["evidence"]) == len(mine)


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[str | Pinned], dict[str, int]]:
    """Notes of three orders, split and copied, as texts and pages, and how much came of each."""
    papers: list[str | Pinned] = []
    truth: dict[str, int] = {}
    number = 10
    label = draw(
        st.sampled_from(["Pallets received: {v}", "Pallets received ..... {v} pallets", "{v} pallets received"])
    )
    for item in ("4711", "4712", "4713"):
        parts = draw(st.lists(st.integers(0, 40), max_size=3))
        truth |= {item: sum(parts)} if parts else {}
        for part in parts:
            number += 1
            lines = [f"Delivery note DN-{number}", f"Order {item}", f"Supplier: Nord {draw(st.integers(1, 9))}"]
            lines += [f"Ordered: {draw(st.integers(1, 99))} pallets", label.format(v=part), "Signed: M. R.", ""]
            text = "\n".join(lines)
            papers.append(pdf(text) if draw(st.booleans()) else text)
            if draw(st.booleans()):
                papers.append(text.replace("\n", "\r\n"))  # the same note, saved once more
    return draw(st.permutations(papers)), truth


@settings(max_examples=60)
@given(deliveries())
def test_notes_give_what_came_each_part_once(made: tuple[list[str | Pinned], dict[str, int]]) -> None:
    papers, truth = made
    of = sources(*papers)
    reader = Reader(Opened(of))
    for item in ("4711", "4712", "4713", "4714"):
        found = reader.read(item, (PALLETS,), tuple(of))
        if item in truth:
            held(found, of, truth[item])
        else:
            assert found.claims == ()


SAYINGS = (
    "Pallets received: {v}", "Received {v} pallets.", "received: {v} pallets (ordered {o})", "Pallets: {v}",
    "ordered {o}, received {v}", "{v} pallets received, {o} ordered", "We unloaded {v} pallets at dock {d}.",
    "Order {n}: {v} pallets", "Goods in: {v} pallets on 2026-03-02 at 09:{d}", "Total pallets: {v}",
    "Pallets delivered: {v}", "Pallets received {v}", "received ......... {v}",
)  # fmt: skip
TRAPS = (
    "Signed: M. R.", "Damaged: 1 pallet", "Ordered: {o} pallets", "Missing: {m}", "Truck HH-AB {n}", "Weight: {w} kg",
    "Order {next}\nOrdered: 3 pallets", "Pallets ordered: {o}", "Pallet places: 33", "Pallets on loan: 4",
    "Announced for dock {d}: {o} pallets", "Boxes: {w}", "Pallets to return: 2", "Invoice 4: {w} EUR",
    "Not received: {m} pallets", "Pallets refused: 1", "Dock {d}", "Received with thanks", "Date: 2026-03-02",
)  # fmt: skip


def test_it_says_what_came_or_nothing_whatever_else_stands_there() -> None:
    rng = Random(5)  # noqa: S311 - a seeded sample
    read_at_all = 0
    for _ in range(500):
        n, v, d = rng.randint(1000, 9999), rng.randint(2, 40), rng.randint(10, 59)
        o = v + rng.randint(1, 5)
        fields = {"n": n, "v": v, "o": o, "d": d, "m": o - v, "w": v * 480, "next": n + 1}
        lines = [rng.choice(SAYINGS), *rng.sample(TRAPS, rng.randint(0, 5))]
        rng.shuffle(lines)
        text = "\n".join(
            [rng.choice(["Order {n}", "Purchase order no. {n}", "Delivery note DN-7\nOrder: {n}"]), *lines]
        )
        of = sources(Pinned(text=text.format(**fields) + "\n", media="text/plain"))
        found = read_item(str(n), (PALLETS,), of)
        if found.claims:
            read_at_all += 1
            held(found, of, v)
    assert read_at_all > 150, "and it reads a good part of it"


_PIECES = st.sampled_from(
    [
        "Order 4711", "4711", "Pallets received: ", "received", "pallets", ": ", "10", "1,5", "-", "|", "\t", "   ",
        "....", "\n", "\r\n", "\f", ",", ";", '"', "about", "not", "order,pallets\n", "4711,6\n", "{", "}",
        '"order": 4711', "[", "]", "**", "= ", "DN-1", "note ", "2026-03-02",
        "Date: ", "total", "½", "٣", "\ufeff", "#4711", "kg",
    ]
)  # fmt: skip


@settings(max_examples=400)
@given(
    st.lists(st.one_of(_PIECES, st.text(max_size=6)), max_size=25).map("".join),
    st.sampled_from(["text/plain", "text/csv", "application/json", "text/markdown"]),
    st.sampled_from(["order {item}", "{item}", "the {item}"]),
    st.sampled_from(["4711", "alpha", "PO-1", "1"]),
)
def test_anything_is_read_and_whatever_is_claimed_stands_there(text: str, media: str, subject: str, item: str) -> None:
    of = sources(Pinned(text=text, media=media, name="x"))
    found = read_item(item, (Wanted(attribute="pallets received", subject=subject, unit="pallet"),), of)
    assert bool(found.claims) != bool(found.why)
    if found.claims:
        held(found, of, Fraction(str(found.claims[0]["value"])))


def test_what_is_no_text_and_what_is_not_there_says_nothing() -> None:
    binary = Pinned(base64=base64.b64encode(b"\0\xff4711").decode(), name="x.bin")
    none(read(binary), "no document that was read names it (x.bin)")
    none(read_item("4711", (PALLETS,), {}, ["0" * 64]), "names it (nothing)")
    none(read(pdf("", name="scan.pdf")), "(scan.pdf)")
    none(read(*(f"Order 471{n}\n" for n in range(2, 7))), "names it (file-0, file-1, file-2 and 2 more)")


def test_each_thing_that_is_wanted_is_claimed_or_said_why_not() -> None:
    wanted = (PALLETS, Wanted(attribute="boxes damaged", subject="order {item}"))
    found = read_item("4711", wanted, sources(HEAD + "Pallets received: 10\n"))
    assert [one["attribute"] for one in found.claims] == ["pallets received"]
    assert found.why.startswith("boxes damaged: file-0 names it, and has no line")
