"""The NYU debates and the COVID sources: each number that the reference states of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from dissensus.decide.dispute.evidence import Evidence, QuoteSelector, TokenSelector
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.origins import origins
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.dispute.sources import Source
from dissensus.errors import LogError
from dissensus.interop.nyu_debates import Debate, debate_from

FOLDER = Path("data") / "disputes-and-debate"


@cache
def read_debates(folder: Path) -> tuple[Debate, ...]:
    files = sorted((folder / "nyu-debates" / "official").glob("*.json"))
    return tuple(debate_from(json.loads(path.read_text(encoding="utf-8")), path.stem) for path in files)


@pytest.fixture(scope="module")
def debates(shared: Path) -> tuple[Debate, ...]:
    return read_debates(shared / FOLDER)


def quotes(debates: tuple[Debate, ...]) -> Iterator[tuple[Debate, Evidence, TokenSelector]]:
    for debate in debates:
        for claim in debate.claims:
            for item in claim.evidence:
                (selector,) = item.selectors
                assert isinstance(selector, TokenSelector)
                yield debate, item, selector


def test_every_span_reopens_exactly_and_none_past_the_end(debates: tuple[Debate, ...]) -> None:
    results: Counter[str] = Counter()
    for debate, item, selector in quotes(debates):
        sources = {debate.source.digest: debate.source}
        results[reopen(item, sources).result] += 1
        length = len(debate.tokens)
        past_the_end = (
            TokenSelector(selector.start + length, selector.end + length),
            TokenSelector(selector.start, length + 1),
            TokenSelector(length, length + selector.end - selector.start),
        )
        for shifted in past_the_end:
            results[reopen(replace(item, selectors=(shifted,)), sources).result] += 1
    assert results == {"EXACT": 3059, "OUT_OF_RANGE": 3 * 3059}


def test_the_quotes_are_those_of_the_reference(debates: tuple[Debate, ...]) -> None:
    found = list(quotes(debates))
    digest = sha256("".join(item.quote + "\n" for _, item, _ in found).encode()).hexdigest()
    assert digest == "444333e2f65262a37618d147eebae3b1f59a753eaae3605ef37a398ca1dc0286"
    widths = [selector.end - selector.start for _, _, selector in found]
    assert (len(widths), sum(widths), max(widths), widths.count(1)) == (3059, 50_771, 123, 139)
    assert sum(len(item.quote) < 12 for _, item, _ in found) == 204
    war = [(item, selector) for debate, item, selector in found if debate.name == "the-cool-war-3"]
    assert len(war) == 35
    assert (war[0][1], war[0][0].quote) == (TokenSelector(732, 736), "Colonel James , U.S.A.")


def test_without_their_anchor_158_are_ambiguous(debates: tuple[Debate, ...]) -> None:
    results: Counter[str] = Counter()
    for debate, item, _ in quotes(debates):
        alone = replace(item, selectors=(TokenSelector(0, 1), QuoteSelector(item.quote)))
        result = reopen(alone, {debate.source.digest: debate.source}).result
        count = sum(
            list(debate.tokens[at : at + len(words)]) == words
            for words in [item.quote.split(" ")]
            for at in range(len(debate.tokens))
            if debate.tokens[at] == words[0]
        )
        if len(normal(item.quote)) >= 12 and count:
            assert result == ("EXACT" if item.quote == debate.tokens[0] else "MOVED" if count == 1 else "AMBIGUOUS")
        results["several"] += count > 1
    assert results["several"] == 158


def test_typed_quotes_are_no_evidence_and_are_verified_as_counted(debates: tuple[Debate, ...]) -> None:
    typed = [quote for debate in debates for quote in debate.typed]
    assert (len(typed), sum(quote.verified for quote in typed)) == (264, 118)


def test_one_article_id_two_texts(debates: tuple[Debate, ...]) -> None:
    ambition = [debate for debate in debates if debate.name.startswith("ambition-")]
    other = {len(debate.tokens): debate.source for debate in ambition}
    assert set(other) == {1595, 7038}
    results: Counter[str] = Counter()
    for debate, item, _ in quotes(tuple(ambition)):
        wrong = other[1595 + 7038 - len(debate.tokens)]
        assert reopen(item, {wrong.digest: wrong}).result == "SOURCE_MISSING"  # its digest tells the texts apart
        found = reopen(replace(item, digest=wrong.digest), {wrong.digest: wrong})
        results["OUT_OF_RANGE" if found.result == "OUT_OF_RANGE" else "other"] += 1
        results["EXACT"] += found.result in ("EXACT", "REPAIRED")
    assert results == {"OUT_OF_RANGE": 53, "other": 14, "EXACT": 0}


def test_what_guesses_at_persons_is_never_read(debates: tuple[Debate, ...]) -> None:
    """A file whose ``feedback`` and ``scratchpads`` hold anything gives what it gives without them."""
    document: dict[str, Any] = {
        "setup": {
            "question": "Who?",
            "answers": ["a", "b"],
            "sourceMaterial": {"CustomSourceMaterial": {"contents": ["He", "left", "."]}},
        },
        "rounds": [
            {"JudgeFeedback": {"distribution": [0.5, 0.5], "feedback": {"content": []}, "endDebate": False}},
            {
                "SequentialSpeeches": {
                    "speeches": {
                        "1": {"speaker": "Elmo", "content": [{"Quote": {"span": [0, 2]}}, {"Text": {"text": "so"}}]},
                        "0": {"speaker": "Lulu", "content": [{"Quote": {"span": [2, 9]}}]},
                    }
                }
            },
        ],
    }
    debate = debate_from(document, "d")
    assert debate_from(
        {**document, "feedback": {"Elmo": "the secret"}, "scratchpads": {"x": "secret"}}, "d"
    ).claims == (debate.claims)
    assert [claim.by for claim in debate.claims] == ["Lulu", "Elmo"]
    sources = {debate.source.digest: debate.source}
    assert [reopen(item, sources).result for claim in debate.claims for item in claim.evidence] == [
        "OUT_OF_RANGE",
        "EXACT",
    ]
    assert all("feedback" not in repr(each) for each in debates[:3])


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"setup": {}, "rounds": []},
        {"setup": {"sourceMaterial": {"X": {"contents": [1]}}}, "rounds": []},
        {
            "setup": {"sourceMaterial": {"X": {"contents": ["a"]}}},
            "rounds": [{"SequentialSpeeches": {"speeches": {"0": {"content": [{"Quote": {"span": [0]}}]}}}}],
        },
    ],
)
def test_what_is_no_debate(document: dict[str, Any]) -> None:
    with pytest.raises(LogError, match=r"^d\.json: "):
        debate_from(document, "d.json")


# --- COVID


def test_covid_sources(shared: Path) -> None:
    path = shared / FOLDER / "covid-claims" / "default_covid.even.json"
    claims = json.loads(path.read_text(encoding="utf-8"))
    sources: dict[str, Source | bytes] = {}
    items: list[Evidence] = []
    addresses = set()
    for claim in claims:
        for each in claim["supporting_sources"]:
            source = Source(each["content"].encode())
            sources[source.digest] = source
            start = each["content"][:60]
            items.append(Evidence(source.digest, (QuoteSelector(start),), start, live_ref=each["url"]))
            addresses.add(each["url"])
    found = origins(items, sources)
    assert (len(claims), len(items), len(addresses), len(found)) == (8, 241, 230, 232)
    assert sum(claim["veracity"] is True for claim in claims) == 4
    assert max(origin.citations for origin in found) == 5
    opened = [reopen(item, sources) for item in items]
    assert {each.result for each in opened} == {"EXACT"}  # also the pages that only tell of an error
    broken = "The message from Elsevier B.V. indicates a technical issue"
    assert sum((each.text or "").startswith(broken) for each in opened) == 13
