"""What is asked of a model, with scripted ones in its place: what is counted, and that a run that was cut goes on."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from invoice_cases import item_of
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
