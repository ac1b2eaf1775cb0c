"""What a person is shown of a claim: what truly stands in the source, where, and what stands around it."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.decide.dispute.exhibits import CONTEXT, cited_of, exhibit_of, reopened_again
from dissensus.decide.dispute.parsing import claim_from, evidence_from
from dissensus.decide.dispute.reopening import LiveCopy
from dissensus.decide.dispute.sources import Source
from dissensus.script.persons import Cited, fingerprint

TEXT = "".join(f"line {number}: some words\n" for number in range(1, 31))
TABLE = "time;order;pallets\n" + "".join(f"07:{n:02};{4700 + n};{n}\n" for n in range(20)) + '08:00;4799;"4;7"\n'
JSON = json.dumps({"order": "4711", "lines": [{"sku": "a/b", "qty": 48}, {"sku": "x" * 900, "qty": 2}]})
DIALECT = {"delimiter": ";"}


def shown(text: str, quote: str, *selectors: dict[str, Any], media: str = "", source: Source | None = None) -> Cited:
    source = source or Source(text.encode(), media)
    evidence = evidence_from({"digest": source.digest, "quote": quote, "selectors": list(selectors), "media": media})
    return cited_of(evidence, {source.digest: source})


@pytest.mark.parametrize(
    ("text", "quote", "selector", "where", "around"),
    [
        (TEXT, "line 9: some words", {"type": "line", "first": 9}, "line 9",
         ("line 6: some words\nline 7: some words\nline 8: some words\n",
          "\nline 10: some words\nline 11: some words\nline 12: some words")),
        (TEXT, "line 1", {"type": "text", "start": 0, "end": 6}, "line 1",
         ("",
          ": some words\nline 2: some words\nline 3: some words\nline 4: some words")),
        (TABLE, "4703", {"type": "csv", "row": 5, "col": "order", "dialect": DIALECT}, "row 5, column order",
         ("time;order;pallets\n…\n07:00;4700;0\n07:01;4701;1\n07:02;4702;2\n07:03;",
          ";3\n07:04;4704;4\n07:05;4705;5\n07:06;4706;6")),
        (TABLE, "4701", {"type": "csv", "row": 3, "col": 2, "dialect": DIALECT}, "row 3, column order",
         ("time;order;pallets\n07:00;4700;0\n07:01;",
          ";1\n07:02;4702;2\n07:03;4703;3\n07:04;4704;4")),
        (JSON, "48", {"type": "json", "pointer": "/lines/0/qty"}, "/lines/0/qty",
         ('sku: "a/b"\nqty: ',
          "\n")),
        ("one two three four", "two three", {"type": "token", "start": 1, "end": 3}, "tokens 1 to 2",
         ("one ",
          " four")),
        ("first\x0csecond page holds 47\x0c", "47", {"type": "page", "page": 2}, "page 2",
         ("second page holds ",
          "")),
        (TEXT, "line 17: some words", {"type": "quote", "exact": "line 17: some words"}, "line 17",
         ("line 14: some words\nline 15: some words\nline 16: some words\n",
          "\nline 18: some words\nline 19: some words\nline 20: some words")),
    ],
)  # fmt: skip
def test_where_it_stands_and_what_stands_around(
    text: str, quote: str, selector: dict[str, Any], where: str, around: tuple[str, str]
) -> None:
    before, after = around
    cited = shown(text, quote, selector)
    assert (cited.result, cited.text) == ("EXACT", quote)
    assert (cited.where, cited.before, cited.after) == (where, before, after)


def test_a_quoted_cell_is_shown_as_it_is_written() -> None:
    cited = shown(TABLE, "4;7", {"type": "csv", "row": 22, "col": "pallets", "dialect": DIALECT})
    assert (cited.result, cited.text) == ("EXACT", '"4;7"')
    assert cited.before.startswith("time;order;pallets\n…\n")


def test_what_is_long_is_cut_and_says_so() -> None:
    cited = shown(
        "a" * 5000 + "needle in it" + "b" * 5000, "needle in it", {"type": "text", "start": 5000, "end": 5012}
    )
    assert cited.before == "…" + "a" * CONTEXT
    assert cited.after == "b" * CONTEXT + "…"
    long = shown(JSON, "2", {"type": "json", "pointer": "/lines/1/qty"})
    assert len(long.before) < CONTEXT


def test_what_was_moved_is_shown_where_it_is_and_what_is_not_there_where_it_was_said_to_be() -> None:
    moved = shown(TEXT, "line 9: some words", {"type": "line", "first": 3})
    assert (moved.result, moved.where) == ("MOVED", "line 9")
    nowhere = shown(TEXT, "not in it at all", {"type": "line", "first": 3})
    assert (nowhere.result, nowhere.text, nowhere.where) == ("NOT_FOUND", None, "line 3")
    beyond = shown(TEXT, "x", {"type": "csv", "row": 999, "col": 2})
    assert (beyond.result, beyond.where) == ("OUT_OF_RANGE", "row 999, column 2")
    assert beyond.hint


def test_a_claim_is_shown_with_all_that_it_says_and_no_confidence() -> None:
    digest = sha256(TEXT.encode()).hexdigest()
    claim = claim_from(
        {"id": "c1", "by": "north", "step": "s2", "subject": "order 4711", "attribute": "pallets", "value": "48.0",
         "value_type": "decimal", "unit": "pallet", "as_of": "2027-03-01", "tolerance": "0.5", "text": "Clearly 48.",
         "evidence": [{"digest": digest, "quote": "line 2: some words", "selectors": [{"type": "line", "first": 2}]}]}
    )  # fmt: skip
    side = exhibit_of(claim, {digest: TEXT.encode()}, name="A", title="North")
    assert (side.id, side.title, side.text) == ("A", "North", "Clearly 48.")
    assert dict(side.facts) == {
        "subject": "order 4711", "attribute": "pallets", "value": "48.0 pallet", "as of": "2027-03-01",
        "tolerance": "0.5", "reported by": "north", "in step": "s2",
    }  # fmt: skip
    assert side.cited[0].result == "EXACT"


def test_reopened_again_it_is_the_same_unless_something_changed() -> None:
    source = Source(TEXT.encode())
    item = {"digest": source.digest, "quote": "line 2: some words", "selectors": [{"type": "line", "first": 2}]}
    claim = claim_from({"id": "c", "subject": "s", "evidence": [{**item, "live_ref": "f.txt"}]})
    sources = {source.digest: source}
    side = exhibit_of(claim, sources)
    assert reopened_again(side, sources) == side
    for gone in (
        reopened_again(side, {}),
        reopened_again(side, {source.digest: TEXT.replace("2", "3").encode()}),
        reopened_again(side, sources, lambda _: LiveCopy("0" * 64)),
        reopened_again(side, sources, lambda _: "GONE"),
    ):
        assert fingerprint(gone.cited[0]) != fingerprint(side.cited[0])
    same = reopened_again(side, sources, lambda _: LiveCopy(source.digest))
    assert same.cited[0].live == "SAME"
    assert fingerprint(same.cited[0]) == fingerprint(side.cited[0])
    odd = replace(side, cited=(Cited(item={"digest": "no digest"}, result="EXACT"),))
    assert reopened_again(odd, sources) == odd


@given(st.text(max_size=400), st.integers(0, 400), st.integers(0, 60))
def test_any_passage_of_any_text_is_shown_as_it_stands(text: str, start: int, length: int) -> None:
    end = min(start + length, len(text))
    if not start < end or "\ud800" <= max(text, default="") <= "\udfff":
        return
    cited = shown(text, text[start:end], {"type": "text", "start": start, "end": end})
    assert cited.text == text[start:end]
    assert text[:start].endswith(cited.before.removeprefix("…"))
    assert text[end:].startswith(cited.after.removesuffix("…"))
