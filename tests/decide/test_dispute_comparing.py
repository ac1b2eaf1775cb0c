"""Which claims contradict each other, and which sources are one."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.comparing import compare_claims, components, contradictions
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.origins import origins
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.units import Conversion, Units

PACK = Conversion("pallet", Decimal(48), "box", cites=("order-line-3",))


def claim(value: Any, unit: str | None = None, **more: Any) -> Claim:
    data = {"subject": "order 1", "attribute": "received", "as_of": "2026-03-02", "value": value, "unit": unit, **more}
    return claim_from({key: each for key, each in data.items() if each is not None})


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        (claim(10), claim(9), "CONTRADICT"),
        (claim(10), claim("10.00", value_type="decimal"), "AGREE"),
        (claim(10, tolerance=1), claim(9), "AGREE"),
        (claim(10, tolerance="0.9"), claim(9, tolerance="0.99"), "CONTRADICT"),
        (claim(10, "kg"), claim(10_000, "g"), "AGREE"),
        (claim(10, "kg"), claim(10, "g"), "CONTRADICT"),
        (claim(1, "kg", tolerance="0.5"), claim(1400, "g"), "AGREE"),
        (claim("0.1", "kg", value_type="decimal"), claim(100, "grams"), "AGREE"),
        (claim(10, "pallets"), claim(480, "boxes"), "INCOMPARABLE"),  # no pack size is declared here
        (claim(10, "pallets"), claim(10, "pallet"), "AGREE"),
        (claim(10, "kg"), claim(10), "INCOMPARABLE"),
        (claim(1, "dozen"), claim(12), "AGREE"),
        (claim(10), claim(9, as_of="2026-03-03"), "OTHER_TIME"),
        (claim(10), claim(9, as_of="2026-03"), "CONTRADICT"),
        (claim(10), replace(claim(10), as_of=None), "INCOMPARABLE"),  # unknown is not now, and no agreement
        (claim(10), claim(9, subject="order 2"), "UNRELATED"),
        (claim(10), claim(9, subject="ORDER  1"), "CONTRADICT"),
        (claim(10), claim(9, attribute="sent"), "UNRELATED"),
        (claim(10), replace(claim(9), subject=None), "INCOMPARABLE"),
        (claim(10), claim("ten"), "INCOMPARABLE"),
        (claim(value=True), claim(value=False), "CONTRADICT"),
        (claim(value=True), claim(1), "INCOMPARABLE"),
        (claim("left"), claim("Left"), "AGREE"),
        (claim("left"), claim("right"), "CONTRADICT"),
        (claim("left", value_type="enum"), claim("left"), "AGREE"),
        (claim(["a", "b"]), claim(["b", "a"]), "AGREE"),
        (claim(["a", "b"]), claim(["a"]), "CONTRADICT"),
        (claim("2026-03-02", value_type="date"), claim("2026-03-03", value_type="date"), "CONTRADICT"),
    ],
)
def test_relations(one: Claim, other: Claim, relation: str) -> None:
    assert compare_claims(one, other).relation == relation
    assert compare_claims(other, one).relation == relation


def test_no_rounding() -> None:
    third = claim("0." + "3" * 60, value_type="decimal")
    other = claim("0." + "3" * 59 + "4", value_type="decimal")
    assert compare_claims(third, other).relation == "CONTRADICT"
    assert compare_claims(third, third).relation == "AGREE"


def test_a_declared_pack_size_is_cited() -> None:
    units = Units([PACK])
    found = compare_claims(claim(10, "pallets"), claim(480, "boxes"), units)
    assert (found.relation, found.conversions) == ("AGREE", (PACK,))
    found = compare_claims(claim(479, "boxes"), claim(10, "pallets"), units)
    assert (found.relation, found.conversions) == ("CONTRADICT", (PACK,))


def test_a_pack_size_of_another_subject_does_not_count() -> None:
    units = Units([replace(PACK, subject="order 2")])
    assert compare_claims(claim(10, "pallets"), claim(480, "boxes"), units).relation == "INCOMPARABLE"


def test_declarations_that_contradict_each_other_convert_nothing() -> None:
    units = Units([PACK, replace(PACK, factor=Decimal(50))])
    assert compare_claims(claim(10, "pallets"), claim(480, "boxes"), units).relation == "INCOMPARABLE"
    assert compare_claims(claim(10, "pallets"), claim(10, "pallets"), units).relation == "AGREE"


def test_words_names_and_confidence_are_not_read() -> None:
    one, other = claim(10), claim(9)
    loud = replace(other, text="CLEARLY nine, I am certain", by="zoe", cell="x", step="99", id="other")
    assert compare_claims(one, other) == compare_claims(one, loud)


VALUES = st.integers(0, 3)
CLAIMS = st.builds(
    lambda value, subject, day: claim(value, subject=subject, as_of=day),
    VALUES,
    st.sampled_from(["order 1", "order 2"]),
    st.sampled_from(["2026-03-02", "2026-03-03", "2026-03"]),
)


@given(st.lists(CLAIMS, max_size=7), st.randoms())
def test_the_graph_against_brute_force_and_in_any_order(claims: list[Claim], random: Any) -> None:
    pairs = {
        (a, b)
        for a in range(len(claims))
        for b in range(a + 1, len(claims))
        if compare_claims(claims[a], claims[b]).relation == "CONTRADICT"
    }
    graph = contradictions(claims)
    assert {(edge.first, edge.second) for edge in graph.contradictions} == pairs
    reach = {n: {n} for pair in pairs for n in pair}
    for _ in claims:
        for a, b in pairs:
            reach[a] = reach[b] = reach[a] | reach[b]
            for each in reach[a]:
                reach[each] = reach[a]
    assert {frozenset(case) for case in graph.cases} == {frozenset(group) for group in reach.values()}
    order = list(range(len(claims)))
    random.shuffle(order)
    other = contradictions([claims[n] for n in order])
    assert {frozenset(order[n] for n in case) for case in other.cases} == {frozenset(case) for case in graph.cases}


def test_components_are_in_order() -> None:
    assert components([(5, 6), (1, 2), (2, 4), (9, 6)]) == ((1, 2, 4), (5, 6, 9))


# --- origins

LOG = (
    "At nine the truck came to the northern gate and twelve people began to unload 48 boxes of it by hand in the rain."
)


def cite(text: str, sources: dict[str, Source | bytes], origin: str | None = None) -> Evidence:
    source = Source(text.encode())
    sources[source.digest] = source
    return Evidence(source.digest, (), text[:20], origin=origin)


def grouped(*texts: str) -> list[tuple[int, tuple[str, ...]]]:
    sources: dict[str, Source | bytes] = {}
    found = origins([cite(text, sources) for text in texts], sources)
    return sorted((each.citations, each.ways) for each in found)


def test_ten_citations_of_one_source_are_one_origin() -> None:
    sources: dict[str, Source | bytes] = {}
    (found,) = origins([cite(LOG, sources) for _ in range(10)], sources)
    assert str(found) == "10 citations, 1 origin"


def test_copies_are_found() -> None:
    assert grouped(LOG, LOG.replace(" ", "  ") + "\n") == [(2, ("equal text",))]
    assert grouped(LOG, LOG + " Signed.") == [(2, ("near-duplicate",))]
    assert len(grouped(LOG, LOG.replace("48", "47"))) == 2  # two forms that count differently are two witnesses
    assert len(grouped(LOG, "quite another text about quite another thing that nobody has copied from anywhere")) == 2
    assert len(grouped("short note", "short notes")) == 2


def test_declared_origins() -> None:
    sources: dict[str, Source | bytes] = {}
    note = cite("the note", sources)
    export = cite("the log", sources, origin=note.digest)
    again = cite("the other log", sources, origin="export of May")
    more = cite("yet another log", sources, origin="export of May")
    alone = cite("a ticket", sources)
    found = origins([note, export, again, more, alone], sources)
    assert sorted((each.citations, each.ways) for each in found) == [(1, ()), (2, ("declared",)), (2, ("declared",))]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.randoms())
def test_the_order_of_citations_does_not_matter(names: list[str], random: Any) -> None:
    sources: dict[str, Source | bytes] = {}
    items = [cite(name * 3, sources, origin=name if name == "c" else None) for name in names]
    shuffled = list(items)
    random.shuffle(shuffled)
    assert origins(items, sources) == origins(shuffled, sources)
