"""``dissensus decide --continue``: a file of questions that was interrupted goes on, and nobody is asked twice."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.main import main
from dissensus.errors import DissensusError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.run import casting, runs
from dissensus.script.decisions import Decision

PANEL = """
models:
  quick: {use: "scripted:Answer: 8 euros"}
  slow: {use: "scripted:Answer: 8 euros", delay_s: 0}
agents:
  - {name: ada, model: quick}
  - {name: ben, model: slow}
  - {name: cleo, model: quick}
"""
QUESTIONS = [{"id": f"q{number}", "question": f"What do {number} pens cost?"} for number in range(1, 7)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text(PANEL)
    write(tmp_path, *QUESTIONS)
    return tmp_path


def write(here: Path, *lines: dict[str, Any]) -> None:
    (here / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def ask(*more: str, panel: str = "panel.yaml") -> Result:
    return CliRunner().invoke(main, ["decide", "--file", "q.jsonl", "--panel", panel, "--json", *more])


def go_on(*more: str, panel: str = "panel.yaml") -> tuple[list[dict[str, Any]], str]:
    result = ask("--continue", *more, panel=panel)
    assert result.exit_code in (0, 3), result.output
    return json.loads(result.stdout), result.stderr


def records(here: Path) -> list[Path]:
    return sorted((here / "runs").glob("*.db"))


def events_in(path: Path) -> list[Event]:
    with open_record(path) as store:
        return runs.events_of(store)


def ended(path: Path) -> bool:
    return events_in(path)[-1:] != [] and events_in(path)[-1].kind == "ended"


# --- interruptions


def cut_in_the_middle(here: Path, how: signal.Signals) -> str:
    """Interrupt the command while one question after the second has some of its replies; what it said on stderr."""
    (here / "panel.yaml").write_text(PANEL.replace("delay_s: 0", "delay_s: 1"))
    code = "from dissensus.cli.main import main; main()"
    command = [sys.executable, "-c", code, "decide", "--file", "q.jsonl", "--panel", "panel.yaml", "--json"]
    until = time.monotonic() + 60
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as cut:
        while not half_asked(here):
            assert time.monotonic() < until
            assert cut.poll() is None
            time.sleep(0.02)
        cut.send_signal(how)
        _, said = cut.communicate(timeout=60)
    (here / "panel.yaml").write_text(PANEL)  # how fast a model is changes no answer: it is the same panel
    return said


def half_asked(here: Path) -> bool:
    paths = records(here)
    if not 3 <= len(paths) < 6:
        return False
    try:
        kinds = Counter(event.kind for event in events_in(paths[-1]))
    except DissensusError:  # it is being made just now
        return False
    return kinds["outcome"] == 2 and not kinds["ended"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_after_an_interruption_nothing_is_asked_twice(here: Path, how: signal.Signals) -> None:
    said = cut_in_the_middle(here, how)
    done = {path: path.read_bytes() for path in records(here) if ended(path)}
    (begun,) = [path for path in records(here) if path not in done]
    before = events_in(begun)
    assert 2 <= len(done) < 5
    if how is signal.SIGINT:
        command = "dissensus decide --file q.jsonl --panel panel.yaml --json --continue"
        assert f"Not asked: {5 - len(done)} of 6 questions" in said
        assert f"Go on with: {command}\n" in said

    documents, told = go_on()
    assert told == f"{len(done)} of 6 questions are decided in runs/; 1 begun and not finished, to go on with.\n"
    assert [one["id"] for one in documents] == [one["id"] for one in QUESTIONS]
    assert [one["answer"] for one in documents] == ["8 EUR"] * 6
    assert len(records(here)) == 6
    assert {Path(one["record"]) for one in documents} == {path.relative_to(here) for path in records(here)}
    assert all(path.read_bytes() == was for path, was in done.items())
    for path in records(here):
        events = events_in(path)
        assert Counter(event.key for event in events if event.kind == "outcome").most_common(1)[0][1] == 1
        assert sum(event.kind == "outcome" for event in events) == 3
        assert sum(event.kind == "resumed" for event in events) == (path == begun)
        assert runs.finished(events) is not None
    assert events_in(begun)[: len(before)] == before
    assert all(CliRunner().invoke(main, ["replay", str(path)]).exit_code == 0 for path in records(here))

    assert go_on() == (documents, "6 of 6 questions are decided in runs/.\n")
    assert len(records(here)) == 6


def test_the_command_that_is_named_goes_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = casting.run_procedure

    async def interrupted(**what: Any) -> Decision:
        if what["settings"]["question"]["id"] == "q3":
            raise KeyboardInterrupt
        return await honest(**what)

    monkeypatch.setattr("dissensus.run.casting.run_procedure", interrupted)
    flags = [
        "--check",
        "test '{answer}' != 9",
        "--check",
        "true",
        "--weights",
        "ada=2",
        "--seed",
        "-3",
        "--record",
        "a b",
    ]
    cut = ask(*flags)
    assert cut.exit_code == 130
    monkeypatch.undo()
    monkeypatch.chdir(here)
    (line,) = [line for line in cut.stderr.splitlines() if line.startswith("Go on with: ")]
    program, *words = shlex.split(line.removeprefix("Go on with: "))
    assert (program, words.count("--continue"), words.count("--check")) == ("dissensus", 1, 2)
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "2 of 6 questions are decided in a b/." in result.stderr
    assert len(json.loads(result.stdout)) == 6
    assert len(list((here / "a b").glob("*.db"))) == 7  # one was stopped before its first event


def test_without_the_flag_all_are_asked(here: Path) -> None:
    assert ask().stderr == ""
    assert ask().stderr == ""
    assert len(records(here)) == 12


def test_one_question_and_one_record(here: Path) -> None:
    words = ["decide", "What?", "--model", "scripted:Answer: 8", "--record", "one.db", "--continue"]
    first, second = CliRunner().invoke(main, words), CliRunner().invoke(main, words)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert second.stdout == first.stdout
    assert second.stderr == "1 of 1 question is decided in one.db.\n"
    other = CliRunner().invoke(main, [*words, "--seed", "1"])
    assert other.exit_code == 2
    assert (here / "one.db").is_file()


# --- what is the same question


def changed(old: str, new: str) -> str:
    Path("other.yaml").write_text(PANEL.replace(old, new))
    return "other.yaml"


@pytest.mark.parametrize(
    "flags",
    [
        ["--rule", "majority"],
        ["--seed", "1"],
        ["--levers", "shuffle"],
        ["--weights", "ada=2"],
        ["--temperature", "0.3"],
        ["--max-tokens", "7"],
        ["--deadline", "9"],
        ["--check", "true"],
        ["--stop", "when-decided"],
    ],
)
@pytest.mark.usefixtures("here")
def test_under_other_settings_all_are_asked(flags: list[str]) -> None:
    write(Path(), *QUESTIONS[:2])
    ask()
    assert "0 of 2 questions are decided" in go_on(*flags)[1]
    assert "2 of 2 questions are decided" in go_on(*flags)[1]
    assert "2 of 2 questions are decided" in go_on()[1]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('quick: {use: "scripted:Answer: 8 euros"}', 'quick: {use: "scripted:Answer: 9 euros"}', False),
        ('quick: {use: "scripted:Answer: 8 euros"}', 'quick: {use: "scripted:Answer: 8 euros", seed: 1}', False),
        ("name: cleo", "name: dora", False),
        ("name: ada, model: quick", "name: ada, model: quick, temperature: 0.1", False),
        ("agents:", "budget: {calls: 99}\nagents:", True),
        ("delay_s: 0", "delay_s: 0.001", True),
        ("quick", "renamed", True),
    ],
)
@pytest.mark.usefixtures("here")
def test_another_panel_is_asked_anew(old: str, new: str, same: bool) -> None:
    write(Path(), *QUESTIONS[:2])
    ask()
    assert f"{2 * same} of 2 questions are decided" in go_on(panel=changed(old, new))[1]


@pytest.mark.parametrize(
    ("more", "same"),
    [
        ({"gold": 8}, True),
        ({"data": {"a": 1}}, True),
        ({"unit": "euro"}, False),
        ({"id": "other"}, False),
        ({"kind": "text"}, False),
        ({"question": "What do 9 pens cost?"}, False),
        ({"options": ["8 euros", "9 euros"]}, False),
    ],
)
def test_another_question_is_asked_anew(here: Path, more: dict[str, Any], same: bool) -> None:
    write(here, QUESTIONS[0])
    ask()
    write(here, QUESTIONS[0] | more)
    (document,), told = go_on()
    assert f"{int(same)} of 1 question is decided" in told
    if "gold" in more:
        assert document["gold"] == {"answer": "8", "equal": True}


def test_each_of_two_equal_lines_has_its_own_record(here: Path) -> None:
    line = {"question": "What does it cost?"}
    write(here, line)
    ask()
    write(here, line, QUESTIONS[0], line)
    first, told = go_on()
    assert told.startswith("1 of 3")
    assert len({one["record"] for one in first}) == 3
    second, told = go_on()
    assert told.startswith("3 of 3")
    assert second == first
    write(here, QUESTIONS[0], line)
    assert [one["record"] for one in go_on()[0]] == [first[1]["record"], first[2]["record"]]  # the latest


def test_a_fork_says_what_nobody_said(here: Path) -> None:
    write(here, QUESTIONS[0])
    (document,), _ = go_on()
    at = next(event.seq for event in events_in(records(here)[0]) if event.kind == "outcome")
    fork = ["fork", document["record"], "--at", str(at), "--replace", "Answer: 9 euros"]
    assert CliRunner().invoke(main, fork).exit_code == 0
    assert len(records(here)) == 2
    assert go_on()[0] == [document]


# --- records that are of no use


def test_a_damaged_record_is_named_and_not_used(here: Path) -> None:
    write(here, *QUESTIONS[:3])
    first, _ = go_on()
    spoil(first[1]["record"])
    (here / "runs" / "foreign.db").write_text("no record at all")
    second, told = go_on()
    notes = told.splitlines()
    assert notes[-1] == "2 of 3 questions are decided in runs/."
    assert sorted(name in told for name in ("foreign.db", first[1]["record"])) == [True, True]
    assert len(notes) == 3
    assert all(note.startswith("note: a record is not used. ") for note in notes[:-1])
    assert [one["answer"] for one in second] == ["8 EUR"] * 3
    assert [one["record"] for one in second][::2] == [one["record"] for one in first][::2]
    assert second[1]["record"] != first[1]["record"]


def spoil(record: str) -> None:
    """Let an agent have said something else."""
    with contextlib.closing(sqlite3.connect(record)) as base:
        base.execute("drop trigger events_are_not_changed")
        base.execute(
            "update events set body = cast(replace(cast(body as text), '8 euros', '9 euros') as blob)"
            " where seq = (select min(seq) from events where instr(cast(body as text), '8 euros') and seq > 1)"
        )
        base.commit()


def test_what_other_code_began_is_asked_anew(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, QUESTIONS[0])

    async def interrupted(*_what: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dissensus.run.engine.Engine.run", interrupted)
        patch.setattr(runs, "source_digest", lambda: "0" * 64)
        assert ask().exit_code == 130
    (begun,) = records(here)
    (document,), told = go_on()
    assert "0 of 1 question is decided in runs/; 1 begun and not finished" in told
    assert f"note: {begun.relative_to(here)} cannot be gone on with; its question is asked anew." in told
    assert document["answer"] == "8 EUR"
    assert [ended(begun), ended(here / document["record"])] == [False, True]


def test_lost_calls_leave_a_question_open_and_a_dead_agent_does_not(here: Path) -> None:
    write(here, *QUESTIONS[:3])
    changed('"scripted:Answer: 8 euros"}', '"scripted:Answer: 8 euros", dies_after: 0}')
    first, _ = go_on(panel="other.yaml")  # one of three is alive
    assert [one["failures"] for one in first] == [{"transport": 2}] * 3
    assert go_on(panel="other.yaml")[0] == first
    text = Path("other.yaml").read_text().replace("delay_s: 0", "delay_s: 0, dies_after: 1")
    Path("other.yaml").write_text(text)
    documents, told = go_on("--seed", "2", panel="other.yaml")
    assert [one["status"] for one in documents] == ["decided", "failed", "failed"]
    alive, told = go_on("--seed", "2")
    assert told.startswith("1 of 3")
    assert [one["status"] for one in alive] == ["decided"] * 3
    assert alive[0] == documents[0]


def test_a_question_without_budget_is_open_under_another_budget(here: Path) -> None:
    write(here, *QUESTIONS[:2])
    first, _ = go_on("--budget-calls", "0")
    assert [one["status"] for one in first] == ["open_budget"] * 2
    assert go_on("--budget-calls", "0") == (first, "2 of 2 questions are decided in runs/.\n")
    more, told = go_on("--budget-calls", "9")
    assert told.startswith("0 of 2")
    assert [one["status"] for one in more] == ["decided"] * 2
    assert go_on()[0] == more
