"""One agent that quotes what is true, one that errs, misquotes, forges or cuts: the true report never falls.

The truth is known, since the documents are made from it. A wrong settlement is one in which the true report falls, or
in which the wrong one is left standing. There must be none; what cannot be told has to go to a person.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from disputing import case, cell, claim, line, settle

from dissensus.decide.dispute.case import Asking

HEADS = (
    "Delivery note DN-{n}\nOrder {n}\n", "Order no. {n}\nSupplier: Nord {d}\n", "Purchase order {n}\n",
    "GOODS RECEIPT\nOrder: {n}\nDate: 2026-03-02\n",
)  # fmt: skip
SAYINGS = (
    "Pallets received: {v}", "Received {v} pallets.", "received: {v} pallets (ordered {o})",
    "ordered {o}, received {v}", "{v} pallets received, {o} ordered", "We unloaded {v} pallets at dock {d}.",
    "Pallets: {v}", "Order {n}: {v} pallets",
    "Goods in: {v} pallets on 2026-03-02 at 09:{d}", "Total pallets: {v}", "Pallets delivered: {v}",
)  # fmt: skip
TAILS = (
    "Signed: M. R.\n", "Damaged: 1 pallet\n", "Ordered: {o} pallets\n", "Missing: {m}\n", "Truck HH-AB {n}\n", "",
    "Weight: {w} kg\n",
)  # fmt: skip
WAYS = ("line", "cells", "row", "forge", "beyond", "cut")


def documents(rng: Random) -> tuple[int, int, str, int, str, list[tuple[Any, ...]]]:
    """Order, truth, a note with the line that says it, and a log of bookings with its rows."""
    n, v, d = rng.randint(1000, 9999), rng.randint(2, 40), rng.randint(10, 59)
    o = v + rng.randint(0, 5)
    fields = {"n": n, "v": v, "o": o, "d": d, "m": o - v, "w": v * 480}
    head = rng.choice(HEADS).format(**fields)
    tail = "".join(one.format(**fields) for one in rng.sample(TAILS, 3))
    note = f"{head}{rng.choice(SAYINGS).format(**fields)}\n{tail}"
    part = rng.randint(1, v - 1)
    rows = [
        ("B1", n, part, "2026-03-02T09:00"), ("B2", n, v - part, "2026-03-02T10:00"),
        ("B3", n + 1, rng.randint(1, 30), "2026-03-02T11:00"), ("B4", n, rng.randint(1, 9), "2026-03-05T08:00"),
    ]  # fmt: skip
    log = "booking,order,pallets,booked_at\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    return n, v, note, head.count("\n") + 1, log, rows


def misquoted(way: str, rng: Random, papers: tuple[str, int, str], wrong: int) -> list[dict[str, Any]]:
    """Evidence of the agent that is wrong."""
    note, said, log = papers
    lines, table = note.rstrip("\n").split("\n"), log.split("\n")
    picked = rng.sample([2, 3, 4, 5], rng.randint(1, 3))
    match way:
        case "line":
            return [line(note, rng.randrange(len(lines)) + 1)]
        case "cells":
            column = rng.choice([1, 2])
            return [
                cell(log, r, ("booking", "order", "pallets")[column], table[r - 1].split(",")[column]) for r in picked
            ]
        case "row":
            return [line(log, r, media="text/csv") for r in picked]
        case "forge":
            return [line(note, said, f"Pallets received: {wrong}")]
        case "beyond":
            return [line(note, 50, f"Pallets received: {wrong}")]
    text = rng.choice([one for one in lines if one])
    start = rng.randrange(len(text))
    end = rng.randint(start + 1, len(text))
    at = note.index(text) + start
    return [{**line(note, 1, text[start:end]), "selectors": [{"type": "text", "start": at, "end": at + end - start}]}]


@pytest.mark.parametrize("seed", range(5))
def test_no_true_report_ever_falls(seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - a seeded sample
    ends: Counter[str] = Counter()
    for number in range(200):
        n, v, note, said, log, rows = documents(rng)
        about = {"subject": f"order {n}"}
        own = [line(note, said)] if number % 2 else [cell(log, r, "pallets", str(rows[r - 2][2])) for r in (2, 3)]
        near = [v + 1, v - 1, rows[2][2], rows[0][2], rows[1][2], v + rows[3][2], v * 480, n]
        wrong = rng.choice([one for one in near if one != v])
        way = WAYS[number % len(WAYS)]
        cited = misquoted(way, rng, (note, said, log), wrong)
        both = claim("true", v, *own, **about), claim("wrong", wrong, *cited, **about)
        of = case(*both, sources={note: "text/plain", log: "text/csv"}, asking=Asking(ask=False))
        found = settle(of)
        fell = [one["claim"] for one in found.verdict["losers"]]
        assert "true" not in fell, (way, v, wrong, note, log, found.verdict["why"])
        if found.state == "settled":
            assert found.verdict["standing"] == ["true"], (way, v, wrong, note, log)
        else:
            assert (found.state, found.rule) == ("disputed", "R7")
        ends[found.state] += 1
    assert ends["settled"] > 150, "and most of it is settled"
