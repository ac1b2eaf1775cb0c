"""Claims as data: exact values, times, selectors of others, and errors that name the place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.dispute.annotations import annotation_data, evidence_from_annotation
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import (
    CsvSelector,
    Evidence,
    JsonSelector,
    LineSelector,
    PageSelector,
    QuoteSelector,
    Selector,
    TextSelector,
    TokenSelector,
)
from dissensus.decide.dispute.parsing import Line, claim_data, claim_from, evidence_data, evidence_from, exact_json
from dissensus.decide.dispute.selector_data import selector_data, selector_from
from dissensus.decide.dispute.values import AsOf, as_of_from, value_of
from dissensus.errors import SpecError
from dissensus.specfile import parse_spec

DIGEST = "a1" * 32
ITEM = {"digest": DIGEST, "quote": "x", "selectors": [{"type": "text", "start": 0, "end": 1}]}


@pytest.mark.parametrize(
    ("json", "type_", "value"),
    [
        ("12", "integer", 12),
        ("12.50", "decimal", Decimal("12.50")),
        ("0.1000000000000000000000000001", "decimal", Decimal("0.1000000000000000000000000001")),
        ("true", "boolean", True),
        ('"left"', "string", "left"),
        ('["b", "a", "b"]', "set", frozenset("ab")),
        ('[1.50, 1.5, 20, 2E1, -0.0, 0, "1.50", "02"]', "set", frozenset(["1.5", "20", "0", "1.50", "02"])),
    ],
)
def test_values_without_a_type(json: str, type_: str, value: object) -> None:
    found = claim_from(exact_json(f'{{"value": {json}}}')).value
    assert found is not None
    assert (found.type, found.value) == (type_, value)


def test_no_digit_is_lost() -> None:
    found = claim_from(exact_json('{"value": 12.50, "tolerance": 0.10}'))
    assert found.value is not None
    assert found.value.written == "12.50"
    assert claim_data(found)["value"] == "12.50"
    assert found.tolerance == Decimal("0.1")


def test_a_fraction_from_yaml_is_what_was_written() -> None:
    spec = parse_spec("value: 0.1\n", "case.yaml", "case")
    found = claim_from(spec.data, spec).value
    assert found is not None
    assert found.value == Decimal("0.1")
    spec = parse_spec("id: a\nvalue: 0.12345678901234567\n", "case.yaml", "case")
    with pytest.raises(SpecError, match=r"case\.yaml:2: .*too many digits"):
        claim_from(spec.data, spec)


@pytest.mark.parametrize(
    ("data", "type_", "why"),
    [
        ("12,5", "decimal", "no number"),
        ("1e999999", "decimal", "digits"),
        ("12.5", "integer", "no whole number"),
        (True, "integer", "is no integer"),
        (1, "boolean", "is no boolean"),
        ("2026-02-30", "date", "calendar"),
        ("2.3.2026", "date", "no date"),
        (5, "enum", "is no enum"),
        ({"a": 1}, None, "neither"),
        ([["a"]], "set", "neither text nor number"),
        ("x", "money", "unknown type"),
    ],
)
def test_values_that_are_none(data: Any, type_: str | None, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        value_of(data, type_)


def test_a_date_is_a_day() -> None:
    assert value_of("2026-03-02", "date").value == date(2026, 3, 2)


def test_times() -> None:
    day = as_of_from("2026-03-02")
    assert day == AsOf(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC))
    noon = as_of_from("2026-03-02T13:00:00+01:00")
    assert noon is not None
    assert noon.instant
    assert day is not None
    assert day.overlaps(noon)
    midnight = as_of_from("2026-03-03T00:00:00Z")
    assert midnight is not None
    assert not day.overlaps(midnight)  # the end is exclusive
    assert not noon.overlaps(midnight)
    assert as_of_from(None) is None
    assert as_of_from("2026-12") == as_of_from({"from": "2026-12-01", "to": "2027-01-01"})
    assert as_of_from(2026) == as_of_from("2026-01-01/2027-01-01")
    later = as_of_from("2026-03-03/..")
    assert later is not None
    assert later.overlaps(midnight)
    assert not later.overlaps(day)


@pytest.mark.parametrize("data", ["soon", "2026-13", "2026-03-02/2026-03-01", "../..", {"since": "2026"}, {}, 1.5, []])
def test_times_that_are_none(data: Any) -> None:
    with pytest.raises(ValueError, match=r"is no time|ends before|no end|`from`"):
        as_of_from(data)


@st.composite
def periods(draw: st.DrawFn) -> AsOf:
    first, last = sorted((draw(st.integers(1, 5)), draw(st.integers(1, 5))))
    start, end = datetime(2026, 1, first, tzinfo=UTC), datetime(2026, 1, last, tzinfo=UTC)
    open_side = draw(st.sampled_from(["", "", "start", "end"]))
    return AsOf(None if open_side == "start" else start, None if open_side == "end" else end)


@given(periods(), periods())
def test_periods_overlap_if_some_moment_is_in_both(one: AsOf, other: AsOf) -> None:
    def holds(period: AsOf, moment: datetime) -> bool:
        if period.instant:
            return moment == period.start
        return (period.start is None or period.start <= moment) and (period.end is None or moment < period.end)

    moments = [datetime(2025, 12, 31, tzinfo=UTC) + timedelta(hours=6 * n) for n in range(4 * 8)]
    assert one.overlaps(other) == any(holds(one, moment) and holds(other, moment) for moment in moments)


@pytest.mark.parametrize(
    ("data", "selector", "quote"),
    [
        ({"type": "FragmentSelector", "value": "line=10,20"}, LineSelector(11, 20), None),  # RFC 5147 counts gaps
        ({"type": "FragmentSelector", "value": "char=3,7"}, TextSelector(3, 7), None),
        ({"type": "FragmentSelector", "value": "row=4"}, CsvSelector(4), None),
        ({"type": "FragmentSelector", "value": "cell=4,2"}, CsvSelector(4, 2), None),
        ({"type": "FragmentSelector", "value": "page=3"}, PageSelector(3), None),
        ({"type": "TextPositionSelector", "start": 1, "end": 2}, TextSelector(1, 2), None),
        ({"type": "TextQuoteSelector", "exact": "a", "prefix": "b"}, QuoteSelector("a", "b"), "a"),
        (
            {"type": "char_location", "start_char_index": 0, "end_char_index": 5, "cited_text": "hello"},
            TextSelector(0, 5),
            "hello",
        ),
        (
            {"type": "page_location", "start_page_number": 2, "end_page_number": 3, "document_index": 0},
            PageSelector(2),
            None,
        ),
        (
            {"type": "content_block_location", "start_block_index": 1, "end_block_index": 3},
            TokenSelector(1, 3),
            None,
        ),
        ({"type": "line", "first": 3}, LineSelector(3, 3), None),
        ({"type": "page", "page": 3, "quote": "q"}, PageSelector(3), "q"),
    ],
)
def test_selectors_of_others(data: dict[str, Any], selector: object, quote: str | None) -> None:
    assert selector_from(data) == (selector, quote)


@pytest.mark.parametrize(
    "data",
    [
        {"type": "text", "start": 0, "end": 3},
        {"type": "token", "start": 0, "end": 3, "pointer": "/a/0"},
        {"type": "quote", "exact": "x", "prefix": "y"},
        {"type": "line", "first": 1, "last": 2},
        {"type": "csv", "row": 2, "col": "qty", "dialect": {"delimiter": ";"}},
        {"type": "json", "pointer": "/a~1b"},
        {"type": "page", "page": 2, "last": 4},
    ],
)
def test_a_selector_comes_back(data: dict[str, Any]) -> None:
    selector, _ = selector_from(data)
    assert selector_from(selector_data(selector)) == (selector, data.get("exact"))


def with_selectors(selectors: str) -> str:
    return f'{{"evidence": [{{"digest": "{DIGEST}", "quote": "a", "selectors": [{selectors}]}}]}}'


@pytest.mark.parametrize(
    ("line", "where", "why"),
    [
        ("[]", "", "mapping"),
        ('{"vaule": 1}', "vaule", "no key of a claim"),
        ('{"kind": "XOR"}', "kind", "no kind"),
        ('{"subject": ["a"]}', "subject", "text"),
        ('{"value": "a", "tolerance": 1}', "tolerance", "number"),
        ('{"value": 1, "tolerance": -1}', "tolerance", "below zero"),
        ('{"evidence": {}}', "evidence", "list"),
        ('{"evidence": [{}]}', "evidence[0].digest", "no digest"),
        ('{"evidence": [{"digest": "abc"}]}', "evidence[0].digest", "no SHA-256"),
        (f'{{"evidence": [{{"digest": "{DIGEST}"}}]}}', "evidence[0]", "no quote"),
        (f'{{"evidence": [{{"digest": "{DIGEST}", "quote": 5}}]}}', "evidence[0].quote", "text"),
        (with_selectors('{"type": "word"}'), "evidence[0].selectors[0]", "unknown type"),
        (with_selectors('{"type": "json", "pointer": "a"}'), "evidence[0].selectors[0]", "RFC 6901"),
        (with_selectors('{"type": "quote", "exact": "b"}'), "evidence[0].selectors[0]", "not the evidence's quote"),
        (
            with_selectors('{"type": "line", "first": 1}, {"type": "line", "first": 2}'),
            "evidence[0].selectors[1]",
            "contradict",
        ),
    ],
)
def test_an_error_names_file_line_and_place(line: str, where: str, why: str) -> None:
    with pytest.raises(SpecError) as error:
        claim_from(exact_json(line), Line("claims.jsonl", 7))
    assert str(error.value).startswith(f"claims.jsonl:7: {where}")
    assert why in str(error.value)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', "{", '{"a": "\\ud800"}', "[" * 100_000])
def test_what_is_no_exact_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        exact_json(text)


def test_a_claim_comes_back() -> None:
    claim = claim_from(
        {
            "id": "a",
            "by": "ada",
            "step": "3",
            "subject": "order 4711",
            "attribute": "pallets",
            "value": "3.0",
            "value_type": "decimal",
            "unit": "pallet",
            "as_of": {"from": "2026-03-01", "to": None},
            "tolerance": "0.5",
            "kind": "and",
            "children": ["b", "c"],
            "text": "three came",
            "evidence": [{**ITEM, "digest": "sha256:" + DIGEST.upper(), "obtained": {"tool": "read", "exit": 0}}],
        }
    )
    assert claim.evidence[0].digest == DIGEST
    assert claim_from(claim_data(claim)) == claim
    assert evidence_from(evidence_data(claim.evidence[0])) == claim.evidence[0]
    assert claim_from(claim_data(Claim("x"))) == Claim("x")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(DIGEST),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "value",
                    "value_type",
                    "evidence",
                    "digest",
                    "quote",
                    "selectors",
                    "type",
                    "start",
                    "as_of",
                    "tolerance",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_data_from_anywhere_is_a_claim_or_an_error_with_a_next_step(data: Any) -> None:
    for read in (claim_from, evidence_from):
        wrong = None
        try:
            read(data, Line("f", 1))
        except SpecError as error:
            wrong = error
        assert wrong is None or (wrong.line == 1 and wrong.next_step)


@pytest.mark.parametrize(
    "selectors",
    [
        [TextSelector(0, 3)],
        [LineSelector(11, 20)],
        [CsvSelector(2), TokenSelector(0, 3, "/a")],
        [CsvSelector(2, 3)],
        [CsvSelector(2, "qty")],
        [JsonSelector("/a~1b")],
        [PageSelector(3)],
        [PageSelector(3, 5)],
    ],
)
def test_annotations_come_back(selectors: list[Selector]) -> None:
    item = Evidence(
        DIGEST, tuple(selectors), "the quote", "before ", media="text/csv", captured_at="2026-03-02", id="e"
    )
    data = annotation_data(item)
    assert data["target"]["selector"][-1] == {"type": "TextQuoteSelector", "exact": "the quote", "prefix": "before "}
    back = evidence_from_annotation(data)
    assert back == replace(item, selectors=(*selectors, QuoteSelector("the quote", "before ")))


def test_lines_of_an_annotation_are_gaps() -> None:
    data = annotation_data(Evidence(DIGEST, (LineSelector(11, 20),), "x"))
    assert data["target"]["selector"][0]["value"] == "line=10,20"


@pytest.mark.parametrize("data", [{}, [], {"target": "x"}, {"target": {"source": "http://x", "selector": None}}])
def test_what_is_no_annotation(data: Any) -> None:
    with pytest.raises(SpecError):
        evidence_from_annotation(data, Line("f", 3))
