"""Sources that contradict themselves (rule R4 without a model): what adds up in any way, or need not, is no fault."""

from __future__ import annotations

import pytest

from dissensus.decide.dispute.faults import faults_in
from dissensus.decide.dispute.sources import Source

SOUND = [
    "Truck a: 6 pallets\nTruck b: 4 pallets\nTotal: 10 pallets", "Ordered: 12 pallets\nReceived: 10\nTotal: 10 pallets",
    "Full: 6 pallets\nof which broken: 2 pallets\nTotal: 6 pallets", "Page 1: 6\nPage 2: 3\nTotal pages: 2",
    "Truck a: 6 pallets\nReturned: 1 pallet\nTotal: 5 pallets", "In: 10 pallets\nOut: 4 pallets\nTotal: 6 pallets",
    "Carried over: 5 pallets\nTruck a: 6 pallets\nTruck b: 3 pallets\nTotal: 9 pallets",
    "Net: 100.00 EUR\nVAT 19%: 19.00 EUR\nTotal: 119.00 EUR", "Price: 2.50 EUR\nPrice: 3.00 EUR\nTotal: 16.00 EUR",
    "Weight: 100 kg\nTare: 20 kg\nTotal: 80 kg", "Gross: 100 kg\nNet: 80 kg\nTotal: 100 kg",
    "Length: 3 m\nWidth: 4 m\nTotal area: 12 m", "Temperature: 3 C\nHumidity: 4 C\nTotal: 1 C",
    "Day 1: 3 pallets\nDay 2: 5 pallets\nTotal so far this year: 20 pallets", "Min: 3 kg\nMax: 5 kg\nTotal: 20 kg",
    "5 + 5 = 11 is wrong", "5 + 5 = 10 (not 11)", "1/3 = 0.33", "3 pallets = 144 boxes", "2026-03-02 = Monday",
]  # fmt: skip
WRONG = [
    "Truck a: 6 pallets\nTruck b: 3 pallets\nTotal: 10 pallets", "Truck 1: 6\nTruck 2: 3\nTotal: 12",
    "Bolts: 40\nNuts: 7\nTotal: 50", "Truck a: 6 pallets\nTruck b: 3 pallets\nTotal pallets received: 10 pallets",
    "Truck a: 6 pallets\nTruck b: 3 pallets\nTotal for order 4711: 10 pallets", "3 x 4 = 13",
]  # fmt: skip
SOUND_TABLES = [
    "item,qty\na,6\nb,3\nTotal,9", "item,qty,price\na,6,2.00\nb,3,1.00\nTotal,9,15.00",
    "item,qty,discount\na,6,0\nb,3,0\nSubtotal,9,0\nTotal,9,0", "item,stock\na,6\nb,3\nTotal capacity,100",
    "item,qty\na,6\nb,3\nSubtotal,9\nc,1\nd,2\nSubtotal,3\nTotal,12", "item,avg\na,6\nb,3\nTotal,4.5",
    "item,qty,status\na,6,ok\nb,3,cancelled\nTotal,6,", "item,unit_price\na,6\nb,3\nTotal,40",
]  # fmt: skip
WRONG_TABLES = [
    "item,qty\na,6\nb,3\nTotal,10", "item,qty,status\na,6,ok\nb,3,ok\nTotal,6,",
    "item,qty\na,6\nb,3\nSubtotal,8\nTotal,9", "item,qty\na,6\nb,3\nSubtotal,9\nc,1\nd,2\nSubtotal,4\nTotal,12",
    "item,qty\na,6\nb,3\nGrand total,10",
]  # fmt: skip


def faults(text: str, media: str) -> int:
    return len(faults_in(Source(f"{text}\n".encode(), media)))


@pytest.mark.parametrize(
    ("text", "media"), [*((one, "") for one in SOUND), *((one, "text/csv") for one in SOUND_TABLES)]
)
def test_what_may_be_sound_has_no_fault(text: str, media: str) -> None:
    assert faults(text, media) == 0


@pytest.mark.parametrize(
    ("text", "media"), [*((one, "") for one in WRONG), *((one, "text/csv") for one in WRONG_TABLES)]
)
def test_what_cannot_be_is_one_fault(text: str, media: str) -> None:
    assert faults(text, media) == 1
