"""What is asked of a model, with scripted ones in its place: what is counted, and that a run that was cut goes on."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from invoice_agents import arms_of
from invoice_cases import PARTIES, item_of
from invoice_counts import admission_counts, agent_counts, injection_counts, verifier_counts
from invoice_models import (
    ADMISSION,
    UNDECIDED,
    Kept,
    Verifying,
    admission_rows,
    injection_rows,
    measured,
    verifier_rows,
)

from dissensus.agents.panel import load_panel
from dissensus.run.casting import Cast
from dissensus.study.swarm.spending import Taken

SURE = '{"answer": {"outcome": "BOTH_CONSISTENT", "cites": [], "reason": "each is sound"}}'
VAGUE = '{"answer": {"outcome": "SOURCE_WRONG", "source": "e1", "cites": [], "reason": "it looks wrong"}}'
READS = '{"none": "I cannot read this"}'


def nothing() -> None:
    pass


def looked(tmp_path: Path, says: str, count: int = 6) -> list[dict[str, Any]]:
    panel = {"models": {"local": {"use": f"scripted:{says}"}}, "agents": [{"name": "vera", "model": "local"}]}
    (tmp_path / "panel.yaml").write_text(json.dumps(panel))

    async def go() -> list[dict[str, Any]]:
        async with Cast(load_panel(tmp_path / "panel.yaml")) as cast:
            verify = Verifying(cast, "vera")
            return await verifier_rows(7, count, verify, Kept(tmp_path / "kept.jsonl"), nothing)

    return anyio.run(go)


def test_a_verifier_that_finds_both_sound_settles_nothing(tmp_path: Path) -> None:
    rows = looked(tmp_path, SURE)
    counts = verifier_counts(rows)
    assert {row["kind"] for row in rows} == set(UNDECIDED)
    assert counts["single looks that say BOTH_CONSISTENT"]["share"] == 1
    assert counts["settled by the model"]["hits"] == 0
    assert counts["to a person"]["hits"] == sum(row["kind"] in (7, 11) for row in rows)
    assert counts["calls an item"] == 2, "in both orders"


def test_a_finding_without_a_line_is_undetermined(tmp_path: Path) -> None:
    counts = verifier_counts(looked(tmp_path, VAGUE))
    assert counts["single looks that say SOURCE_WRONG"]["share"] == 1
    assert counts["both looks name the same wrong source"]["hits"] == 0
    assert counts["undetermined together"]["share"] == 1


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = looked(tmp_path, SURE, 3)
    again = looked(tmp_path, VAGUE, 4)
    assert again[:3] == first, "from the file"
    assert again[3]["finding"] == "UNDETERMINED"


def test_a_model_that_minds_no_instruction_flips_nothing(tmp_path: Path) -> None:
    panel = {"models": {"local": {"use": f"scripted:{SURE}"}}, "agents": [{"name": "vera", "model": "local"}]}
    (tmp_path / "panel.yaml").write_text(json.dumps(panel))

    async def go() -> list[dict[str, Any]]:
        async with Cast(load_panel(tmp_path / "panel.yaml")) as cast:
            return await injection_rows(7, Verifying(cast, "vera"), Kept(tmp_path / "kept.jsonl"), nothing)

    counts = injection_counts(anyio.run(go))
    assert counts["instructions"] == 50
    names = ("finding differs from that without the instruction", "finding is what the instruction asks for")
    assert [counts[name]["hits"] for name in names] == [0, 0]


def test_a_verifier_that_reads_finds_the_source_that_says_it_is_wrong(tmp_path: Path) -> None:
    rules = []
    for label in (f"e{number}" for number in range(1, 7)):
        cites = [{"evidence": label, "quote": ADMISSION}]
        says = {"answer": {"outcome": "SOURCE_WRONG", "source": label, "cites": cites, "reason": "it says so"}}
        rules.append({"when": f"(?i){label} [(]source [^\n]*\n[^>]*{ADMISSION}", "say": json.dumps(says)})
    model = {"use": f"scripted:{SURE}", "rules": rules}
    panel = {"models": {"local": model}, "agents": [{"name": "vera", "model": "local"}]}
    (tmp_path / "panel.yaml").write_text(json.dumps(panel))

    async def go() -> list[dict[str, Any]]:
        async with Cast(load_panel(tmp_path / "panel.yaml")) as cast:
            return await admission_rows(7, Verifying(cast, "vera"), Kept(tmp_path / "kept.jsonl"), nothing)

    counts = admission_counts(anyio.run(go))
    assert counts["both looks name the source that says so"]["hits"] == counts["items"] == 10
    assert counts["both looks name the other one"]["hits"] == counts["to a person"]["hits"] == 0


def test_a_flip_is_counted_beside_the_same_item_without_the_instruction(tmp_path: Path) -> None:
    item = item_of(7, 1, (11,))
    kept = Kept(tmp_path / "kept.jsonl")
    kept.add(f"injections/7/{item.name}/base", {"finding": "SOURCE_WRONG", "against": ["A"], "ended": "settled",
                                                "rule": "R4", "wrong": True})  # fmt: skip
    panel = {"models": {"local": {"use": f"scripted:{SURE}"}}, "agents": [{"name": "vera", "model": "local"}]}
    (tmp_path / "panel.yaml").write_text(json.dumps(panel))

    async def go() -> list[dict[str, Any]]:
        async with Cast(load_panel(tmp_path / "panel.yaml")) as cast:
            return await injection_rows(7, Verifying(cast, "vera"), kept, nothing)

    rows = anyio.run(go)
    assert [row["flipped"] for row in rows] == [row["item"] == item.name for row in rows]
    assert sum(row["case changed"] for row in rows) == 10


def test_agents_that_read_nothing_report_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))

    async def go() -> dict[str, Any]:
        return await measured(f"scripted:{READS}", ["agents"], 7, 4, nothing)

    found = anyio.run(go)["agents"]
    assert found["counts"] == agent_counts(found["items"])
    assert found["counts"]["reports made"]["hits"] == 0
    assert found["counts"]["items that ended no report"]["hits"] == 4
    assert [row["claims"] for row in found["items"]] == [[]] * 4


def test_claims_of_agents_are_held_to_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    says = '{"claims": [{"attribute": "goods received", "value": 1000001, "evidence": []}]}'
    for attribute in ("goods received", "quantity received", "received quantity"):

        async def go(said: str = says.replace("goods received", attribute)) -> dict[str, Any]:
            return await measured(f"scripted:{said}", ["agents"], 7, 3, nothing)

        found = anyio.run(go)["agents"]
        if found["counts"]["claims that are true"]["of"]:
            assert found["counts"]["claims that are true"]["hits"] == 0
            assert found["counts"]["items that ended incomplete"]["hits"] == 3, "reports without evidence go back"
            return
    pytest.fail("no attribute was the wanted one")


def test_ways_to_make_one_answer_are_tried_on_what_agents_have_read() -> None:
    item = item_of(7, 1, (11,))
    a, b = (str(item.claim(side)["value"]) for side in "AB")
    truth = {value: item.true[side] for side, value in (("A", a), ("B", b))}

    def row(*values: str) -> dict[str, Any]:
        told = zip(PARTIES.values(), values, strict=False)
        claims = [
            {"party": party, "value": value, "unit": "", "true": truth.get(value, False), "cited": 1}
            for party, value in told
            if value
        ]
        return {"outcome": "disputed", "rule": "R7", "wrong": False, "claims": claims, "calls": 4, "tokens": 400}

    cost = {"A": Taken(calls=3, tokens_in=30, tokens_out=3), "B": Taken(calls=5, tokens_in=None, tokens_out=None)}
    pairs = [(item, row(a, b)), (item, row(a, a)), (item, row("", b)), (item, row("many", "")), (item, row("", ""))]
    arms = arms_of(pairs, 7, cost)
    assert all(len(ended) == len(pairs) for ended in arms.values())
    own = arms["rules of a dispute"]
    assert {(end.ended, end.wrong) for _, end in own} == {("disputed", False)}
    assert (own[0][1].calls, own[0][1].tokens) == (8 / 5 + 4, 33 / 5 + 400)
    documents, warehouse = (arms[f"the agent for {party} alone"] for party in PARTIES.values())
    ends = [(end.ended, end.wrong) for _, end in documents]
    assert ends == [("settled", not truth[a])] * 2 + [("nothing", False)] * 3
    assert [end.ended for _, end in warehouse] == ["settled", "settled", "settled", "nothing", "nothing"]
    assert documents[0][1].calls == 3 / 5
    fair = arms["majority of three, rho 0"]
    assert [end.ended for _, end in fair][:2] == ["settled", "consistent"]
    assert not fair[0][1].wrong, "the third voter knows"
    assert arms["mean"][0][1].wrong
    assert not {"most confident wins", "longest report wins", "merge by confidence"} & set(arms)
