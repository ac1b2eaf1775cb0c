"""The labelled MCP logs, the schema's 128 examples, and the protocol files beside the tracker's own table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from mcp_traffic import Audited, source

from dissensus.errors import LogError
from dissensus.say.drawing import mermaid
from dissensus.say.message import Message
from dissensus.say.protocol_checks import ERROR, check
from dissensus.say.protocol_file import shipped_protocol
from dissensus.say.readers.base import Aside, Options
from dissensus.say.readers.mcp import READER
from dissensus.say.readers.registry import recognise
from dissensus.say.wire.mcp_objects import UNCLASSIFIED, Part, classify, kind_of_type, load_object
from dissensus.say.wire.mcp_versions import RULES, TASK_MOVES

NAMES = (
    "2025-clean", "2025-elicitation-unanswered", "2025-task-cancelled-then-completed", "2025-task-iserror-completed",
    "2026-mrtr-clean",
)  # fmt: skip
PROTOCOLS = ("mcp-2025-06-18", "mcp-2025-11-25", "mcp-2026-07-28")

# by hand from the folders' names: how many files lie in folders that end so (…ResultResponse before …Result)
BY_NAME = {
    "request": 13, "notification": 8, "response": 11, "result": 23, "error": 10, "params": 16, "schema": 7,
    "contents": 2, "content": 7, "capabilities": 18, "map": 2, "part": 11,
}  # fmt: skip


@pytest.fixture
def data(shared: Path) -> Path:
    return shared / "data" / "messages-and-protocols"


def test_no_labelled_log_is_left_out(data: Path) -> None:
    assert {path.stem for path in (data / "own" / "mcp").glob("*.jsonl")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_labels(data: Path, name: str) -> None:
    raw = (data / "own" / "mcp" / f"{name}.jsonl").read_bytes()
    expected = json.loads((data / "own" / "mcp" / f"{name}.expected.json").read_text("utf-8"))
    found = Audited(raw)
    assert recognise(source(raw)) is READER
    assert found.version == expected["version"]
    faults = ("line", "verdict", "rule", "party", "level")
    assert found.faults() == sorted(tuple(row[field] for field in faults) for row in expected["findings"])
    owed = ("thread", "kind", "debtor", "creditor", "opened", "status", "closed")
    assert found.owed() == sorted(tuple(row[field] for field in owed) for row in expected["obligations"])


def test_all_examples_of_the_schema_load(data: Path) -> None:
    files = sorted((data / "mcp_examples").glob("*/*.json"))
    assert len(files) == 128
    kinds: Counter[str] = Counter()
    for path in files:
        loaded = load_object(path.parent.name, json.loads(path.read_bytes()), path=str(path))
        kind = kind_of_type(path.parent.name)
        assert (loaded.kind if isinstance(loaded, Part) else kind) == kind
        assert isinstance(loaded, Message) == (kind in ("request", "notification", "response", "result", "error"))
        kinds[kind] += 1
    assert kinds == BY_NAME
    assert sum(BY_NAME.values()) == 128


def test_the_shape_says_the_same_as_the_name(data: Path) -> None:
    for path in sorted((data / "mcp_examples").glob("*/*.json")):
        kind, guess = classify(json.loads(path.read_bytes()))
        assert kind == kind_of_type(path.parent.name), path
        assert not guess or path.parent.name in guess.split(" or ") or guess == "Error", path


def test_a_file_of_one_object_is_read_and_never_dropped(data: Path) -> None:
    for path in sorted((data / "mcp_examples").glob("*/*.json")):
        asides: list[Aside] = []
        items = list(READER.read(source(path.read_bytes(), str(path)), Options(aside=asides.append)))
        assert len(items) + len(asides) == 1, path
        assert recognise(source(path.read_bytes(), str(path))).name, path


def test_an_unknown_object_is_named_so() -> None:
    assert classify({"strange": 1}) == (UNCLASSIFIED, "")
    assert load_object("", {"strange": 1}) == Part(UNCLASSIFIED, "", {"strange": 1})
    asides: list[Aside] = []
    assert list(READER.read(source('{"strange": 1}'), Options(aside=asides.append))) == []
    assert [aside.kind for aside in asides] == ["an object of MCP: unclassified"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CallToolRequest", {"params": {}}),
        ("PingResultResponse", {"id": 1}),
        ("ParseError", {"message": "x"}),
        ("Tool", [1]),
    ],
)
def test_an_object_that_lacks_what_its_type_needs_is_an_error(name: str, value: object) -> None:
    with pytest.raises(LogError, match=r"needs|has to be"):
        load_object(name, value, path="example.json")


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_protocol_files_pass_their_checks_and_can_be_drawn(name: str) -> None:
    protocol = shipped_protocol(name)
    assert [fault for fault in check(protocol) if fault.level == ERROR] == []
    assert "stateDiagram" in mermaid(protocol)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_tasks_move_alike_in_file_and_tracker(name: str) -> None:
    protocol, rules = shipped_protocol(name), RULES[name.removeprefix("mcp-")]
    edges = {(move.source, move.next) for move in protocol.moves}
    if rules.version == "2025-06-18":  # which has no tasks; who sends some is held to the later table
        assert not {state for edge in edges for state in edge} & TASK_MOVES.keys()
        return
    for status, following in TASK_MOVES.items():
        moves = {after for before, after in edges if before == status and after in TASK_MOVES and after != status}
        assert moves == following, status
        assert protocol.states[status].final == (not following)
    assert {after for before, after in edges if before == "asked" and after in TASK_MOVES} == rules.starts
