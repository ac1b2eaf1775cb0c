"""Every labelled log of the data folder, through the whole path: file, format told from it, audit, JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from logs import listen

from dissensus.interop.message_logs import AuditSettings, audit_file, open_source
from dissensus.say.message import Message
from dissensus.say.readers.base import Options
from dissensus.say.readers.registry import recognise
from dissensus.say.readers.times import seconds

DATA = "messages-and-protocols"
LABELS = (
    "a2a/v03-clean-input-required", "a2a/v03-clean-stream", "a2a/v03-message-to-terminal-accepted",
    "a2a/v03-resurrected", "a2a/v03-self-resume", "a2a/v03-stuck-working", "a2a/v03-unanswered-send",
    "a2a/v10-cancel-race", "a2a/v10-clean-input-required", "a2a/v10-clean-message-only", "a2a/v10-clean-stream",
    "a2a/v10-duplicate-terminal", "a2a/v10-empty-delivery", "a2a/v10-input-required-rejected",
    "a2a/v10-message-to-terminal-refused", "a2a/v10-orphan-response", "a2a/v10-resurrected",
    "a2a/v10-stream-only-capture", "a2a/v10-stuck-submitted", "a2a/v10-stuck-working", "a2a/v10-timed-deadlines",
    "a2a/v10-two-tasks-interleaved", "a2a/v10-unanswered-send", "mcp/2025-clean", "mcp/2025-elicitation-unanswered",
    "mcp/2025-task-cancelled-then-completed", "mcp/2025-task-iserror-completed", "mcp/2026-mrtr-clean",
)  # fmt: skip
RENAMED = {"opened": "opened_by", "closed": "closed_by"}


def document(path: Path, **settings: Any) -> dict[str, Any]:
    report = audit_file(path, AuditSettings(**settings))
    found: dict[str, Any] = json.loads(json.dumps(report.to_data()))
    return found


def test_no_label_is_left_out(shared: Path) -> None:
    folder = shared / "data" / DATA / "own"
    there = {
        str(path.relative_to(folder)).removesuffix(".expected.json") for path in folder.glob("[am][2c][ap]/*.json")
    }
    assert there == set(LABELS)


@pytest.mark.parametrize("name", LABELS)
def test_a_labelled_log_gets_its_findings_and_obligations_and_no_others(shared: Path, name: str) -> None:
    folder = shared / "data" / DATA / "own"
    expected = json.loads((folder / f"{name}.expected.json").read_text())
    as_of = expected.get("options", {}).get("as_of")
    told = document(folder / f"{name}.jsonl", as_of=seconds(as_of) if as_of else None)
    assert told["format"] == name.split("/", maxsplit=1)[0]
    assert told["counts"]["messages"] == expected["lines"]
    found = [
        {key: one[key] for key in label} for label, one in zip(expected["findings"], told["messages"], strict=True)
    ]
    assert found == expected["findings"]
    left = list(told["obligations"])
    for label in expected["obligations"]:
        wanted = {RENAMED.get(key, key): value for key, value in label.items()}
        fits = [owed for owed in left if all(owed[key] == value for key, value in wanted.items())]
        assert fits, label
        left.remove(fits[0])
    assert not left


def test_who_and_when(shared: Path) -> None:
    folder = shared / "data" / DATA / "who_and_when"
    expected = {
        "2": [6], "10": [22], "22": [14], "28": [10], "36": [70], "44": [18, 115, 118, 121], "46": [112],
        "50": [98, 101, 108, 111], "54": [6], "56": [6, 40],
    }  # fmt: skip
    requests = unanswered = superseded = 0
    for path in sorted(folder.glob("*.json")):
        told = document(path)
        assert told["format"] == "who-and-when"
        assert not told["messages"], "an answer by the wrong agent would stand here"
        requests += told["counts"]["requests"]
        unanswered += told["counts"]["unanswered"]
        open_ones = [owed for owed in told["obligations"] if owed["status"] == "pending"]
        places = [int(owed["opened_by"].removeprefix("h")) for owed in open_ones]
        assert places == expected.get(path.stem, []), path.stem
        for owed in open_ones:
            if owed["superseded_by"] is not None:
                superseded += 1
                assert int(owed["superseded_by"].removeprefix("h")) > int(owed["opened_by"].removeprefix("h"))
            else:
                assert owed is open_ones[-1], "only the last one of a log has no successor"
        assert not [owed for owed in told["obligations"] if owed["status"] == "fulfilled"], "nothing declared an answer"
    assert (requests, unanswered, superseded) == (256, 17, 15)


def test_tau_bench_is_the_clean_control(shared: Path) -> None:
    told = document(shared / "data" / DATA / "tau_bench" / "gpt-4o-airline.json")
    assert told["counts"] == {
        "messages": 5244, "tagged": 2308, "threads": 1154, "requests": 1154, "unanswered": 0, "pending": 0,
        "violations": 0, "warnings": 0,
    }  # fmt: skip
    assert told["messages"] == []
    statuses = [owed["status"] for owed in told["obligations"]]
    assert (len(statuses), statuses.count("declared:failed"), statuses.count("fulfilled")) == (1154, 73, 1081)


def test_llmcontract_has_five_calls_without_a_result(shared: Path) -> None:
    calls = 0
    without: list[tuple[str, str]] = []
    for path in sorted((shared / "data" / DATA / "llmcontract" / "v1").glob("*.jsonl")):
        told = document(path)
        calls += told["counts"]["requests"]
        without += [(path.stem[:2], owed["debtor"]) for owed in told["obligations"] if owed["status"] == "pending"]
    assert calls == 96
    assert [task for task, _ in without] == ["04", "05", "05", "05", "05"]
    assert {tool.lower().replace("_", "") for _, tool in without} == {"bookflight"}


def test_all_mcp_examples_load(shared: Path) -> None:
    paths = sorted((shared / "data" / DATA / "mcp_examples").rglob("*.json"))
    assert len(paths) == 128
    for path in paths:
        told = document(path, format="mcp")
        assert told["counts"]["messages"] + sum(told["asides"].values()) == 1, path.name
        assert told["skipped"]["count"] == 0


@pytest.mark.parametrize("name", LABELS)
def test_a_monitor_that_is_stopped_and_restored_at_every_line_says_the_same(shared: Path, name: str) -> None:
    path = shared / "data" / DATA / "own" / f"{name}.jsonl"
    source = open_source(path)
    messages = [m for m in recognise(source).read(source, Options()) if isinstance(m, Message)]
    whole = listen(*messages)
    for cut in range(1, len(messages)):
        first = listen(*messages[:cut], finish=False)
        second = listen(*messages[cut:], state=json.loads(json.dumps(first.monitor.state())))
        assert [*first.findings, *second.findings] == whole.findings
        assert [*first.obligations, *second.obligations] == whole.obligations
