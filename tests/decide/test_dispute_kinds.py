"""Every kind of the three-way match by hand: small files, two reports, and the outcome that is required."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from disputing import at, brief, case, cell, claim, digest, line, pin, settle

from dissensus.decide.dispute.case import Asking, Case, PackSize
from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.dispute.parsing import evidence_from
from dissensus.decide.dispute.precedence import Precedence, Prefer
from dissensus.script.outcomes import PersonAnswer

NOTE = "Delivery note DN-88\nOrder 4711\nSupplier: Nord\nPallets received: 10\nSigned: M. R.\n"
LOG = (
    "booking,order,pallets,booked_at\n"
    "B1,4711,6,2026-03-02T09:00\n"
    "B2,4711,3,2026-03-02T10:00\n"
    "B3,4712,9,2026-03-02T10:30\n"
)  # fmt: skip
ORDER = "Order 4711\nOrdered: 10 pallets\nA pallet holds 48 boxes\n"
NO_ASK = Asking(ask=False)
BOTH = {NOTE: "text/plain", LOG: "text/csv"}


def on_note(value: int = 10, number: int = 4, quote: str | None = None, name: str = "A", **more: Any) -> Claim:
    return claim(name, value, line(NOTE, number, quote), **more)


def rows(log: str, *numbers: int) -> list[dict[str, Any]]:
    found = log.split("\n")
    return [cell(log, n, "pallets", found[n - 1].split(",")[2]) for n in numbers]


def closed(*claims: Claim, **more: Any) -> Case:
    return case(*claims, asking=NO_ASK, **{"sources": BOTH, **more})


def reasons(of: Case) -> dict[str, str]:
    return {one["claim"]: one["reason"] for one in settle(of).verdict["losers"]}


def test_1_clean() -> None:
    log = LOG.replace("B2,4711,3", "B2,4711,4")
    found = settle(closed(on_note(), claim("B", 10, *rows(log, 2, 3)), sources={NOTE: "text/plain", log: "text/csv"}))
    assert brief(found) == ("consistent", "")
    assert found.answer is None, "agreement verifies nothing"
    assert found.verdict["losers"] == []


def test_2_short_in_both() -> None:
    note = NOTE.replace("10", "9")
    found = settle(
        closed(claim("A", 9, line(note, 4)), claim("B", 9, *rows(LOG, 2, 3)), sources={note: "", LOG: "text/csv"})
    )
    assert brief(found) == ("consistent", "")


def test_3_forged_quote() -> None:
    forged = claim("B", 8, line(LOG, 3, "B2,4711,8,2026-03-02T10:00"))
    found = settle(closed(on_note(), forged))
    assert brief(found) == ("settled", "R1")
    assert found.verdict["standing"] == ["A"]
    assert [(one["claim"], one["reopened"]) for one in found.verdict["cites"]] == [("A", "EXACT"), ("B", "NOT_FOUND")]


def test_4_no_evidence() -> None:
    found = settle(closed(on_note(), claim("B", 9)))
    assert brief(found) == ("incomplete", "R0")
    assert [one["claim"] for one in found.verdict["returned"]] == ["B"]
    assert found.verdict["losers"] == [], "who is returned has not lost"
    assert found.answer is None, "and nobody has won"


def test_5_units_with_a_cited_pack_size() -> None:
    log = LOG.replace("pallets", "boxes").replace("4711,6", "4711,240").replace("4711,3", "4711,240")
    boxes = [cell(log, n, "boxes", "240") for n in (2, 3)]
    other = claim("B", 480, *boxes, attribute="pallets received", unit="box")
    size = PackSize(unit="pallet", factor=Decimal(48), of="box", evidence=(evidence_from(line(ORDER, 3)),))
    sources = {NOTE: "text/plain", log: "text/csv", ORDER: "text/plain"}
    with_size = closed(on_note(), other, sources=sources, pack_sizes=(size,))
    assert brief(settle(with_size)) == ("consistent", "")
    assert brief(settle(closed(on_note(), other, sources=sources)))[0] == "incomplete", "no pack size, no comparison"
    wrong = PackSize(unit="pallet", factor=Decimal(40), of="box", evidence=size.evidence)
    assert brief(settle(closed(on_note(), other, sources=sources, pack_sizes=(wrong,))))[0] == "incomplete"


def test_6_two_periods() -> None:
    later = LOG + "B4,4711,1,2026-03-05T08:00\n"
    other = claim("B", 1, *rows(later, 5), as_of="2026-03-05")
    assert brief(settle(closed(on_note(), other, sources={NOTE: "", later: "text/csv"}))) == ("consistent", "")


def test_7_copied_error_is_one_origin_against_one() -> None:
    copy = "Export of DN-88\nOrder 4711\nPallets received: 10\n"
    ticket = "Ticket 5\nOrder 4711\nPallets received: 9\n"
    copied = line(copy, 3, origin=digest(NOTE))
    mine = claim("A", 10, line(NOTE, 4), copied)
    found = settle(closed(mine, claim("B", 9, line(ticket, 3)), sources=dict.fromkeys((NOTE, copy, ticket), "")))
    assert brief(found) == ("disputed", "R7")
    applied = [
        one.why for one in applications(closed(mine, sources=dict.fromkeys((NOTE, copy), ""))) if one.rule == "R5"
    ]
    assert applied == ["2 citations, 1 origin."]


def applications(of: Case) -> list[Any]:
    from dissensus.decide.dispute import rules

    docket = Docket(of)
    return [one for step in (rules.r0, rules.r1, rules.r2, rules.r3, rules.r4, rules.r5) for one in step(docket)]


DOUBLED = LOG.replace("B2,4711,3,2026-03-02T10:00\n", "B2,4711,4,2026-03-02T10:00\n" * 2)


@pytest.mark.parametrize("declared", [False, True])
def test_8_a_row_twice(declared: bool) -> None:
    table = (
        Table(value="pallets", subject="order", key="booking", time="booked_at", unit="pallet") if declared else None
    )
    pinned = (pin(NOTE), pin(DOUBLED, "text/csv", table=table))
    other = claim("B", 14, *rows(DOUBLED, 2, 3, 4))
    found = settle(case(on_note(), other, pinned=pinned, asking=NO_ASK))
    assert brief(found) == ("settled", "R3")
    (loser,) = found.verdict["losers"]
    assert "duplicate-id@1" in loser["reason"]
    assert "B2,4711,4,2026-03-02T10:00" in [one["quote"] for one in found.verdict["cites"]]


def test_9_edited_later() -> None:
    forged = claim("B", 8, line(LOG, 3, "B2,4711,8,2026-03-02T10:00"))
    mine = claim("A", 10, line(NOTE, 4, live_ref="note.txt"))
    of = closed(mine, forged, live={"note.txt": digest("other bytes")})
    found = settle(of)
    assert brief(found) == ("settled", "R1"), "the snapshot decides"
    assert "CHANGED" in {item.reopened.live for one in Docket(of).claims for item in one.items}


def invoice(total: str) -> str:
    lines = [{"sku": "a", "qty": 2, "price": 30.00}, {"sku": "b", "qty": 1, "price": 50.50}]
    text = json.dumps({"order": "4711", "currency": "EUR", "lines": lines, "total": 0})
    return text.replace('"total": 0', f'"total": {total}')


@pytest.mark.parametrize(("total", "rule"), [("120.50", "R3"), ("110.50", "R2")])
def test_10_invoice_total_wrong(total: str, rule: str) -> None:
    bill = invoice(total)
    slip = "Payment slip\nOrder 4711\nInvoice total: 110.50\n"
    more = {"attribute": "invoice total", "unit": None, "value_type": "decimal"}
    stated = claim("A", "120.50", at(bill, "/total", total), **more)
    other = claim("B", "110.50", line(slip, 3), **more)
    found = settle(closed(stated, other, sources={bill: "application/json", slip: ""}))
    assert brief(found) == ("settled", rule)
    assert found.verdict["standing"] == ["B"]


@pytest.mark.parametrize("name", ["amount", "line_total"])
def test_10_amounts_of_lines_say_together_what_the_invoice_comes_to(name: str) -> None:
    """They stand beside a field that is named like the claim and states something else: alone each would be void."""
    lines = [{"qty": 2, "price": 30, name: 60}, {"qty": 1, "price": 50, name: 50}]
    bill = json.dumps({"order": "4711", "lines": lines, "invoice_total": 120})
    more = {"attribute": "invoice total", "unit": None}
    amounts = [at(bill, f"/lines/{n}/{name}", text) for n, text in enumerate(("60", "50"))]
    of = closed(claim("A", 120, at(bill, "/invoice_total", "120"), **more), claim("B", 110, *amounts, **more),
                sources={bill: "application/json"})  # fmt: skip
    found = settle(of)
    assert brief(found) == ("settled", "R3")
    assert found.verdict["standing"] == ["B"]
    of = closed(claim("A", 120, at(bill, "/invoice_total", "120"), **more), claim("B", 60, amounts[0], **more),
                sources={bill: "application/json"})  # fmt: skip
    assert settle(of).verdict["standing"] == [], "one of them is the amount of a line, and no total"


def test_10_tax_explains_a_total() -> None:
    lines = [{"qty": 2, "price": 50}]
    bill = json.dumps({"order": "4711", "lines": lines, "vat": 19, "total": 119})
    more = {"attribute": "invoice total", "unit": None}
    slip = "Order 4711\nInvoice total: 100\n"
    of = closed(claim("A", 119, at(bill, "/total", "119"), **more), claim("B", 100, line(slip, 2), **more),
                sources={bill: "application/json", slip: ""})  # fmt: skip
    assert brief(settle(of)) == ("disputed", "R7"), "the total follows from its lines and its tax"


def test_11_two_honest_sources_go_to_a_person() -> None:
    of = closed(on_note(), claim("B", 9, *rows(LOG, 2, 3)))
    assert brief(settle(of)) == ("disputed", "R7")
    asked: list[Any] = []

    def person(_key: str, effect: Any) -> PersonAnswer:
        asked.append(effect)
        return PersonAnswer(answer="B", reason="the note was signed blind", who="ben")

    found = settle(case(on_note(), claim("B", 9, *rows(LOG, 2, 3)), sources=BOTH), person)
    (question,) = asked
    letters = {side["claims"][0]: side["letter"] for side in settle(of).verdict["positions"]}
    kept = next(name for name, letter in letters.items() if letter == "B")
    assert [one.id for one in question.options] == ["A", "B", "both", "neither", "need-more"]
    assert [(one.id, [item.result for item in one.cited]) for one in question.exhibits] == [
        ("A", ["EXACT"] if kept == "B" else ["EXACT"] * 2), ("B", ["EXACT"] * 2 if kept == "B" else ["EXACT"]),
    ]  # fmt: skip
    assert brief(found) == ("settled", "person")
    assert found.verdict["standing"] == [kept]
    assert [one["claim"] for one in found.verdict["losers"]] == [name for name in ("A", "B") if name != kept]


def test_12_precedence() -> None:
    rules = Precedence(id="receiving", version="1", rules=(Prefer(id="note-first", prefer="note", over="log"),))
    pinned = (pin(NOTE, kind="note"), pin(LOG, "text/csv", kind="log"))
    found = settle(case(on_note(), claim("B", 9, *rows(LOG, 2, 3)), pinned=pinned, precedence=rules, asking=NO_ASK))
    assert brief(found) == ("settled", "R6")
    assert "receiving/note-first v1" in found.verdict["losers"][0]["reason"]
    other = Precedence(id="x", version="2", rules=(Prefer(id="n", prefer="note", over="ticket"),))
    found = settle(case(on_note(), claim("B", 9, *rows(LOG, 2, 3)), pinned=pinned, precedence=other, asking=NO_ASK))
    assert brief(found) == ("disputed", "R7"), "a rule about other kinds of sources says nothing"


def test_13_irrelevant_quote() -> None:
    found = settle(closed(on_note(), claim("B", 9, *rows(LOG, 4))))
    assert brief(found) == ("settled", "R2")
    assert reasons(closed(on_note(), claim("B", 9, *rows(LOG, 4))))["B"] == "R2: It is about another subject."


def test_14_selector_beyond_the_file() -> None:
    found = settle(closed(on_note(), claim("B", 9, line(LOG, 99, "B9,4711,9,2026-03-02T11:00"))))
    assert brief(found) == ("settled", "R1")
    assert "OUT_OF_RANGE" in [one["reopened"] for one in found.verdict["cites"]]


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        ("Truck a: 6 pallets", "Truck b: 3 pallets", "Total: 10 pallets"), ("Truck 1: 6", "Truck 2: 3", "Total: 10"),
        ("Part load 1: 6 pallets", "Part load 2: 3 pallets", "Total: 10 pallets"),
    ],
)  # fmt: skip
def test_15_a_note_that_contradicts_its_own_total(first: str, second: str, total: str) -> None:
    note = f"Delivery note DN-88\nOrder 4711\n{first}\n{second}\n{total}\n"
    of = closed(claim("A", 10, line(note, 5)), claim("B", 9, *rows(LOG, 2, 3)), sources={note: "", LOG: "text/csv"})
    found = settle(of)
    assert brief(found) == ("settled", "R4")
    quotes = [one["quote"] for one in found.verdict["cites"] if one["claim"] == "A"]
    assert sorted(quotes) == sorted([first, second, total]), "both sides of the contradiction"
    right = closed(claim("A", 10, line(note.replace("3", "4"), 5)), claim("B", 9, *rows(LOG, 2, 3)),
                   sources={note.replace("3", "4"): "", LOG: "text/csv"})  # fmt: skip
    assert brief(settle(right)) == ("disputed", "R7"), "a total that holds is no fault"


def test_16_split_delivery() -> None:
    first = "Delivery note DN-1\nOrder 4711\nPallets received: 6\n"
    second = "Delivery note DN-2\nOrder 4711\nPallets received: 4\n"
    log = LOG.replace("4711,3", "4711,4")
    together = claim("A", 10, line(first, 3), line(second, 3))
    sources = {first: "", second: "", log: "text/csv"}
    assert brief(settle(closed(together, claim("B", 10, *rows(log, 2, 3)), sources=sources))) == ("consistent", "")
    part = {"attribute": "pallets received by note"}
    parts = [
        claim("A1", 6, line(first, 3), **part, as_of="2026-03-01"),
        claim("A2", 4, line(second, 3), **part, as_of="2026-03-02"),
        claim("A", 10, kind="CALC", children=["A1", "A2"]),
    ]
    found = settle(closed(*parts, claim("B", 10, *rows(log, 2, 3)), sources=sources))
    assert brief(found) == ("consistent", "")
    assert found.verdict["losers"] == []
    parts[2] = claim("A", 11, kind="CALC", children=["A1", "A2"])
    found = settle(closed(*parts, claim("B", 10, *rows(log, 2, 3)), sources=sources))
    assert brief(found) == ("settled", "R3"), "6 and 4 are not 11"
    assert set(found.verdict["standing"]) == {"A1", "A2", "B"}


def test_rows_that_add_up_to_it_are_not_void_because_a_note_says_it_too() -> None:
    """So a claim whose note turns out to be wrong in itself still rests on its rows."""
    note = "Delivery note DN-88\nOrder 4711\nTruck a: 6 pallets\nTruck b: 4 pallets\nTotal: 9 pallets\n"
    other = "Gate sheet\nOrder 4711\nPallets received: 8\n"
    mine = claim("A", 9, line(note, 5), *rows(LOG, 2, 3))
    found = settle(closed(mine, claim("B", 8, line(other, 3)), sources={note: "", LOG: "text/csv", other: ""}))
    assert brief(found) == ("disputed", "R7"), "the note falls, the log and the gate sheet differ"
    assert sorted(found.verdict["standing"]) == ["A", "B"]
    alone = settle(closed(claim("A", 9, line(note, 5)), claim("B", 8, line(other, 3)), sources={note: "", other: ""}))
    assert alone.verdict["standing"] == ["B"]


# --- what no number of reports changes


def test_an_incomplete_opponent_never_makes_the_other_win() -> None:
    forged = claim("C", 8, line(LOG, 3, "B2,4711,8,2026-03-02T10:00"))
    found = settle(closed(on_note(), forged, claim("B", 9)))
    assert brief(found) == ("incomplete", "R0")
    assert [one["claim"] for one in found.verdict["losers"]] == ["C"]


@pytest.mark.parametrize("rule", ["R1", "R2", "R3", "R4"])
def test_a_claim_that_also_rests_on_what_cannot_be_opened_goes_back(rule: str) -> None:
    """Whatever voids the item that was opened, nobody has looked at the other one."""
    wrong_sum = "Delivery note\nOrder 4711\nTruck a: 5 pallets\nTruck b: 3 pallets\nTotal: 9 pallets\n"
    twice = "booking,order,pallets\nB1,4711,6\nB2,4711,3\nB2,4711,3\n"
    items = {
        "R1": [line(NOTE, 4, "Pallets received: 9")], "R2": [line(NOTE, 4)],
        "R3": [cell(twice, n, "pallets", text) for n, text in ((2, "6"), (3, "3"), (4, "3"))],
        "R4": [line(wrong_sum, 5)],
    }[rule]  # fmt: skip
    sources = {**BOTH, wrong_sum: "", twice: "text/csv"}
    value = 12 if rule == "R3" else 9
    found = settle(closed(on_note(), claim("B", value, *items), sources=sources))
    assert brief(found) == ("settled", rule)
    kept_nowhere = line("Order 4711\nPallets received: 9, as we count them\n", 2)
    found = settle(closed(on_note(), claim("B", value, *items, kept_nowhere), sources=sources))
    assert brief(found) == ("incomplete", "R0")
    assert (found.verdict["losers"], found.verdict["returned"][0]["claim"]) == ([], "B")


def test_no_value_is_put_in_the_place_of_what_falls() -> None:
    forged = [
        claim(name, value, line(LOG, 3, f"B2,4711,{value},2026-03-02T10:00")) for name, value in (("A", 7), ("B", 8))
    ]
    found = settle(closed(*forged))
    assert brief(found) == ("settled", "R1")
    assert (found.verdict["standing"], found.answer) == ([], None)
    assert "None of the claims stands" in found.verdict["why"]


def test_what_is_left_has_to_be_supported_by_its_own_evidence() -> None:
    silent = "Delivery note\nPallets received: 10\n"  # it does not say of which order
    forged = claim("B", 8, line(LOG, 3, "B2,4711,8,2026-03-02T10:00"))
    found = settle(closed(claim("A", 10, line(silent, 2)), forged, sources={silent: "", LOG: "text/csv"}))
    assert brief(found) == ("disputed", "R7"), "that B is refuted does not make A right"
    assert [side["letter"] for side in found.verdict["positions"]] == ["A"]


def test_a_settlement_without_a_line_is_none() -> None:
    for of in (
        closed(on_note(), claim("B", 9, *rows(LOG, 4))),
        closed(on_note(), claim("B", 9, line(LOG, 99, "x" * 20))),
    ):
        assert settle(of).verdict["cites"]


@pytest.mark.parametrize("choice", ["both", "neither", "need-more"])
def test_what_else_a_person_may_say(choice: str) -> None:
    of = case(on_note(), claim("B", 9, *rows(LOG, 2, 3)), sources=BOTH)
    found = settle(of, lambda _key, _effect: PersonAnswer(answer=choice, who="ben"))
    assert brief(found) == ("incomplete" if choice == "need-more" else "settled", "person")
    assert len(found.verdict["standing"]) == {"both": 2, "neither": 0, "need-more": 0}[choice]
    assert len(found.verdict["losers"]) == {"both": 0, "neither": 2, "need-more": 0}[choice]


def test_an_answer_that_names_no_option_is_asked_again() -> None:
    given = iter(["C", "perhaps A", "a"])
    of = case(on_note(), claim("B", 9, *rows(LOG, 2, 3)), sources=BOTH)
    keys: list[str] = []

    def person(key: str, _effect: Any) -> PersonAnswer:
        keys.append(key)
        return PersonAnswer(answer=next(given))

    assert brief(settle(of, person)) == ("settled", "person")
    assert keys == ["person/1", "person/2", "person/3"]


# --- what a report rests on still tells something where the report has fallen


LOG_OF_TEN = LOG.replace("B2,4711,3", "B2,4711,4")
BY_LOG = Precedence(id="receiving", version="1", rules=(Prefer(id="log-first", prefer="log", over="note"),))


def differing(one: Claim, other: Claim, log: str = LOG, precedence: Precedence | None = None) -> tuple[str, str, str]:
    pinned = (pin(NOTE, kind="note"), pin(log, "text/csv", kind="log"))
    found = settle(case(one, other, pinned=pinned, asking=NO_ASK, precedence=precedence))
    return found.state, found.rule, str(found.verdict["why"])


def in_log(value: int, log: str = LOG) -> Claim:
    return claim("B", value, *rows(log, 2, 3))


def test_a_log_that_was_added_up_wrongly_is_no_less_than_the_note() -> None:
    state, rule, why = differing(on_note(), in_log(8))
    assert (state, rule) == ("disputed", "R7")
    assert why == "Only A is left, and what B rests on says something else: It says 6 + 3."
    assert differing(on_note(), in_log(8, LOG_OF_TEN), LOG_OF_TEN)[:2] == ("settled", "R2"), "both tell ten"


def test_a_line_that_was_read_wrongly_is_no_less_than_the_log() -> None:
    state, rule, why = differing(on_note(12, quote="Pallets received: 10"), in_log(9))
    assert (state, rule) == ("disputed", "R7")
    assert "Only B is left" in why
    assert differing(on_note(12, quote="Pallets received: 10"), in_log(10, LOG_OF_TEN), LOG_OF_TEN)[0] == "settled"


def test_copies_and_what_is_cited_twice_tell_it_once() -> None:
    read = line(NOTE, 4, "Pallets received: 10")
    copy = NOTE + "\n"
    again = {
        "digest": digest(NOTE),
        "quote": "Pallets received: 10",
        "selectors": [{"type": "quote", "exact": "Pallets received: 10"}],
    }
    log = LOG.replace("B2,4711,3", "B2,4711,14")  # twice the ten of the note
    for more in ([], [again], [line(copy, 4, "Pallets received: 10")]):
        pinned = (pin(NOTE, kind="note"), pin(copy, kind="note"), pin(log, "text/csv", kind="log"))
        found = settle(case(claim("A", 12, read, *more), in_log(20, log), pinned=pinned, asking=NO_ASK))
        assert brief(found) == ("disputed", "R7"), more


def test_a_source_that_the_user_puts_below_does_not_keep_what_is_left_from_settling() -> None:
    assert differing(on_note(12, quote="Pallets received: 10"), in_log(9), precedence=BY_LOG)[0] == "settled"
    assert differing(on_note(), in_log(8), precedence=BY_LOG)[:2] == ("disputed", "R7"), "the log is the better one"


def test_what_does_not_stand_there_or_is_of_something_else_tells_nothing() -> None:
    assert differing(on_note(12, quote="Pallets received: 12"), in_log(9))[:2] == ("settled", "R1")
    assert differing(on_note(12, number=1), in_log(9))[0] == "settled", "DN-88 is no number of pallets"
