"""The labelled A2A logs get exactly their findings and obligations: none is missing, none is added."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from a2a_lines import source, track

from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.a2a import READER
from dissensus.say.readers.base import Options
from dissensus.say.readers.times import seconds
from dissensus.say.verdicts import Finding, Obligation

NAMES = (
    "v03-clean-input-required", "v03-clean-stream", "v03-message-to-terminal-accepted", "v03-resurrected",
    "v03-self-resume", "v03-stuck-working", "v03-unanswered-send", "v10-cancel-race", "v10-clean-input-required",
    "v10-clean-message-only", "v10-clean-stream", "v10-duplicate-terminal", "v10-empty-delivery",
    "v10-input-required-rejected", "v10-message-to-terminal-refused", "v10-orphan-response", "v10-resurrected",
    "v10-stream-only-capture", "v10-stuck-submitted", "v10-stuck-working", "v10-timed-deadlines",
    "v10-two-tasks-interleaved", "v10-unanswered-send",
)  # fmt: skip


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / "data" / "messages-and-protocols" / "own" / "a2a"


def test_no_labelled_log_is_left_out(folder: Path) -> None:
    assert {path.stem for path in folder.glob("*.jsonl")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_labels(folder: Path, name: str) -> None:
    raw = (folder / f"{name}.jsonl").read_bytes()
    expected = json.loads((folder / f"{name}.expected.json").read_text("utf-8"))
    found, closed, _ = track(raw, as_of=expected["options"].get("as_of"))
    assert _findings(found) == sorted(map(json.dumps, map(_sorted, expected["findings"])))
    assert sorted(map(_row, closed)) == sorted(map(_label, expected["obligations"]))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_by_the_monitor(folder: Path, name: str) -> None:
    raw = (folder / f"{name}.jsonl").read_bytes()
    expected = json.loads((folder / f"{name}.expected.json").read_text("utf-8"))
    found: list[Finding] = []
    closed: list[Obligation] = []
    monitor = Monitor(on_finding=found.append, on_closed=closed.append)
    for m in READER.read(source(raw), Options()):
        assert isinstance(m, Message)
        monitor.see(m)
    monitor.finish(seconds(expected["options"].get("as_of")))
    assert _findings(found) == sorted(map(json.dumps, map(_sorted, expected["findings"])))
    assert sorted(map(_row, closed)) == sorted(map(_label, expected["obligations"]))


@pytest.mark.parametrize("name", NAMES)
def test_recognised(folder: Path, name: str) -> None:
    assert READER.recognise(source((folder / f"{name}.jsonl").read_bytes())) > 0.9


def _sorted(label: dict[str, object]) -> dict[str, object]:
    return {key: label[key] for key in ("line", "verdict", "rule", "party", "thread", "level")}


def _findings(found: list[Finding]) -> list[str]:
    return sorted(json.dumps({key: getattr(one, key) for key in _sorted(dict.fromkeys(_KEYS))}) for one in found)


_KEYS = ("line", "verdict", "rule", "party", "thread", "level")


def _row(one: Obligation) -> str:
    closed = one.closed_line or None
    head = (one.thread, one.kind, one.debtor, one.creditor, one.opened_line, one.status, closed)
    return repr((*head, one.deadline, one.late_by_s, one.acknowledged, one.suspended))


def _label(label: dict[str, object]) -> str:
    head = tuple(label[key] for key in ("thread", "kind", "debtor", "creditor", "opened", "status", "closed"))
    late = label.get("late_by_s")
    more = (seconds(label.get("deadline")), None if late is None else float(str(late)))
    return repr((*head, *more, label.get("acknowledged", 0), label.get("suspended", False)))
