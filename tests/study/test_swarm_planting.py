"""Planted faults: each is what its name says, follows from the seed, and is one change and no other."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "decide"))
from disputing import case, cell, claim, digest, line, pin, settle

from dissensus.decide.dispute.account import account_of
from dissensus.decide.dispute.case import Case
from dissensus.decide.dispute.case_data import case_data, case_from
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.swarm.work import Wanted
from dissensus.record.memory import MemoryStore
from dissensus.run.disputing import dispute
from dissensus.study.swarm.batch import KINDS, Swarm
from dissensus.study.swarm.case_runs import CaseRun
from dissensus.study.swarm.outcomes import fate_of
from dissensus.study.swarm.planting import Planted, plant


def agreed(order: int, parts: tuple[int, ...], *, unit: str = "pallet") -> Case:
    """A note and a log that say the same of an order; the log in as many rows as there are parts."""
    total = sum(parts)
    note = f"Delivery note\nOrder {order}\nPallets received: {total}\nSigned: M. R.\n"
    rows = [f"B{n},{order},{part},2026-03-02T09:00" for n, part in enumerate(parts, 1)]
    log = "\n".join(["booking,order,pallets,booked_at", f"B0,{order + 1},{total},2026-03-02T08:00", *rows]) + "\n"
    about: dict[str, Any] = {"subject": f"order {order}", "unit": unit}
    cells = [cell(log, number, "pallets", str(part)) for number, part in enumerate(parts, 3)]
    claims = (
        claim("A", total, line(note, 3), cell="documents", **about),
        claim("B", total, *cells, cell="warehouse", **about),
    )
    pinned = (pin(note, kind="note", name="note.txt"), pin(log, "text/csv", kind="log", name="log.csv"))
    found = case(*claims, pinned=pinned)
    return case_from({**case_data(found), "id": str(order)})


OTHERS = [agreed(4801, (7, 5)), agreed(4802, (9,))]
BATCHES = st.tuples(st.integers(4000, 4700), st.lists(st.integers(1, 60), min_size=1, max_size=3).map(tuple))


def planted(of: Case, kind: str, seed: int) -> Planted:
    found = plant(of, kind, seed, OTHERS)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(batch=BATCHES, seed=st.integers(0, 2**32))
def test_a_planted_fault_is_caught_by_the_rules_or_goes_to_a_person(
    kind: str, batch: tuple[int, tuple[int, ...]], seed: int
) -> None:
    of = agreed(*batch)
    assert settle(of).state == "consistent"
    fault = planted(of, kind, seed)
    found = settle(fault.case)
    down = {one["claim"] for one in (*found.verdict["losers"], *found.verdict["returned"])}
    assert set(fault.claims) <= down or found.state == "disputed", found.verdict
    assert not (found.state == "settled" and set(fault.claims) & set(found.verdict["standing"]))
    assert set(fault.claims) == ({"A", "B"} if kind == "agreed-lie" else set(fault.claims) & {"A", "B"})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(batch=BATCHES, seed=st.integers(0, 2**32))
def test_it_follows_from_case_kind_and_seed_and_asks_nobody(
    kind: str, batch: tuple[int, tuple[int, ...]], seed: int
) -> None:
    of = agreed(*batch)
    one, other = planted(of, kind, seed), planted(of, kind, seed)
    assert case_data(one.case) == case_data(other.case)
    assert case_data(case_from(case_data(one.case))) == case_data(one.case), "a record can hold it"
    assert not one.case.asking.ask
    assert one.case.rounds == 0
    assert one.case.id != of.id
    unchanged = [claim for claim in of.claims if claim.id not in one.claims]
    assert [claim for claim in one.case.claims if claim.id not in one.claims] == unchanged


@settings(max_examples=40)
@given(batch=BATCHES, seed=st.integers(0, 2**32))
def test_one_digit_is_edited_in_value_quote_and_a_copy_of_the_source(
    batch: tuple[int, tuple[int, ...]], seed: int
) -> None:
    of = agreed(*batch)
    fault = planted(of, "edited-source", seed)
    (name,) = fault.claims
    new = set(fault.case.sources) - set(of.sources)
    assert len(new) == 1
    (copy,) = (fault.case.sources[one].text or "" for one in new)
    assert digest(copy) in new
    assert set(of.sources) - set(fault.case.sources) <= set(of.sources)
    original = next(
        p.text or "" for p in of.sources.values() if len(p.text or "") == len(copy) and _off(p.text, copy) == 1
    )
    assert original
    opened = Docket(fault.case)
    own = next(one for one in opened.claims if name in one.ids)
    assert all(item.reopened.result == "EXACT" for item in own.items), "the quote stands in the copy"
    before = next(claim for claim in of.claims if claim.id == name)
    after = next(claim for claim in fault.case.claims if claim.id == name)
    assert before.value is not None
    assert after.value is not None
    assert before.value.number != after.value.number


def _off(text: str | None, other: str) -> int:
    return sum(a != b for a, b in zip(text or "", other, strict=False))


@settings(max_examples=40)
@given(batch=BATCHES, seed=st.integers(0, 2**32))
def test_an_agreed_lie_still_agrees(batch: tuple[int, tuple[int, ...]], seed: int) -> None:
    fault = planted(agreed(*batch), "agreed-lie", seed)
    values = {Fraction(claim.value.number or 0) for claim in fault.case.claims if claim.value is not None}
    assert len(values) == 1, "or anybody would see it"
    assert values != {Fraction(sum(batch[1]))}
    assert fault.case.sources.keys() == agreed(*batch).sources.keys(), "the sources are as they were"


def test_what_cannot_be_planted_is_said() -> None:
    of = agreed(4700, (6, 4))
    assert plant(of, "other-item", 0, []) is None, "there is no other item"
    bare = case_from({**case_data(of), "claims": [{**one, "evidence": []} for one in case_data(of)["claims"]]})
    assert all(plant(bare, kind, 0, OTHERS) is None for kind in KINDS), "there is no evidence to be forged"
    words = case_from(
        {
            **case_data(of),
            "claims": [{**one, "value": "blue", "value_type": "string", "unit": ""} for one in case_data(of)["claims"]],
        }
    )
    assert plant(words, "forged-quote", 0, OTHERS) is None, "a word has no digit"
    assert plant(of, "unheard-of", 0, OTHERS) is None


def fate(of: Case, claims: tuple[str, ...]) -> str:
    store = MemoryStore()
    dispute(of, record=store)
    wanted = Wanted(attribute="pallets received", subject="order {item}", unit="pallet")
    swarm = Swarm(name="s", items=("4700",), wanted=(wanted,), parties=())
    return fate_of(swarm, "4700", CaseRun(case=of, work="", account=account_of(store.read())), claims)


def test_what_becomes_of_a_fault_is_told_by_its_case() -> None:
    of = agreed(4700, (6, 4))
    assert fate(of, ("A",)) == "passed"
    assert fate(planted(of, "forged-quote", 1).case, planted(of, "forged-quote", 1).claims) == "caught"
    assert fate(planted(of, "no-evidence", 1).case, planted(of, "no-evidence", 1).claims) == "caught"
    data = case_data(of)
    late = case_from({**data, "claims": [{**data["claims"][0], "as_of": "2026-03-05"}, data["claims"][1]]})
    assert fate(late, ("A",)) == "unchallenged", "nothing fell, and they speak of two times"
    note = {
        **data["claims"][0],
        "value": 11,
        "evidence": [{**data["claims"][0]["evidence"][0], "quote": "received: 11"}],
    }
    forged = case_from({**data, "claims": [note, data["claims"][1]], "asking": {"ask": False}})
    assert fate(forged, ("B",)) == "believed", "the case was settled for it"
