"""replay, resume and fork on the command line, with their exit codes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import dissensus
from dissensus.cli.main import main
from dissensus.record.sqlite import open_record

QUESTION = "A shop sells pens at 3 for 2 euros. What do 12 pens cost?"


def run(*arguments: str | Path | int) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    dissensus.vote(QUESTION, kind="number", panel=dissensus.default_panel("scripted:Answer: 8 euros", 3), record=path)
    return path


def outcome_of(record: Path, key: str) -> int:
    with open_record(record) as store:
        return next(event.seq for event in store.read() if event.kind == "outcome" and event.key == key)


def test_replay_says_identical(record: Path) -> None:
    result = run("replay", record)
    assert result.exit_code == 0
    assert result.stdout.startswith("identical")
    document = json.loads(run("replay", record, "--json").stdout)
    assert document["identical"] is True
    assert document["decision"]["answer"] == "8 EUR"


def test_replay_of_a_folder_takes_every_record(record: Path) -> None:
    second = record.with_name("second.db")
    dissensus.vote(QUESTION, panel=dissensus.default_panel("scripted:Answer: 9", 3), record=second)
    documents = json.loads(run("replay", record.parent, "--json").stdout)
    assert [document["decision"]["answer"] for document in documents] == ["8 EUR", "9"]


def test_a_record_that_cannot_be_replayed_does_not_keep_others_from_it(record: Path) -> None:
    cut, none = record.with_name("a-cut.db"), record.with_name("b-none.db")
    with open_record(record) as store, open_record(cut, "x", run_id=store.run_id) as left:
        left.adopt(list(store.rows(1, 8)), dict(store.blobs()))
    with open_record(none, "x"):
        pass
    result = run("replay", record.parent, "--json")
    assert result.exit_code == 3
    told = json.loads(result.stdout)
    assert [("error" in one, one["identical"]) for one in told] == [(True, False), (True, False), (False, True)]
    assert f"dissensus resume {cut}" in result.stderr
    assert f"{none}: The record holds no event" in result.stderr
    assert run("resume", none).exit_code == 3


def test_replay_says_when_a_decision_no_longer_follows(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.run import runs
    from dissensus.script.decisions import Decision

    original = runs._play

    async def other(*arguments: object) -> Decision:
        from dataclasses import replace

        return replace(await original(*arguments), answer="7")  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "_play", other)
    result = run("replay", record)
    assert result.exit_code == 1
    assert "DIFFERENT" in result.stdout
    assert "8 EUR" in result.stdout


def test_fork_changes_a_reply_and_leaves_the_record_alone(record: Path) -> None:
    before = record.read_bytes()
    at = outcome_of(record, "ben/ask/ben")
    result = run("fork", record, "--at", at, "--replace", "Answer: 9 euros", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["votes"] == {"8 EUR": 2.0, "9 EUR": 1.0}
    assert document["record"].endswith(f"run-fork-{at}.db")
    assert record.read_bytes() == before
    again = json.loads(run("fork", record, "--at", at, "--replace", "Answer: 9 euros", "--json").stdout)
    assert again["record"].endswith(f"run-fork-{at}-2.db")


def test_fork_at_an_event_that_is_no_reply_says_which_are(record: Path) -> None:
    result = run("fork", record, "--at", 1, "--replace", "x")
    assert result.exit_code == 2
    assert str(outcome_of(record, "ada/ask/ada")) in result.stderr


@pytest.mark.parametrize("command", ["replay", "resume", "fork"])
@pytest.mark.parametrize("form", ["db", "jsonl"])
def test_nothing_follows_from_a_record_that_was_changed(record: Path, command: str, form: str) -> None:
    """Every 8 became a 9: reply, ballot and decision agree with each other, and only the hashes tell."""
    at = outcome_of(record, "ben/ask/ben")
    if form == "db":
        db = sqlite3.connect(record)
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        with db:
            for seq, body in db.execute("SELECT seq, body FROM events").fetchall():
                changed = body.replace(b"8 euros", b"9 euros").replace(b"8 EUR", b"9 EUR")
                db.execute("UPDATE events SET body = ? WHERE seq = ?", (changed, seq))
        db.close()
    else:
        lines = record.with_suffix(".jsonl")
        assert run("record", "export", record, "-o", lines).exit_code == 0
        changed = lines.read_bytes().replace(b"8 euros", b"9 euros").replace(b"8 EUR", b"9 EUR")
        lines.write_bytes(changed)
        record = lines
    result = run(command, record, *(("--at", at, "--replace", "Answer: 7") if command == "fork" else ()))
    assert result.exit_code == 4, result.output
    assert "is damaged" in result.stderr
    assert list(record.parent.glob("*fork*")) == []


def test_a_replacement_that_no_record_can_hold_makes_no_record(record: Path) -> None:
    result = run("fork", record, "--at", outcome_of(record, "ben/ask/ben"), "--replace", "\udcff")
    assert (result.exit_code, "not valid UTF-8" in result.stderr) == (2, True)
    assert list(record.parent.glob("*fork*")) == []


@pytest.mark.parametrize("command", ["resume", "fork"])
def test_what_is_interrupted_says_how_to_go_on(record: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_what: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"dissensus.run.casting.{command}_from", interrupted)
    more = ("--at", 9, "--replace", "Answer: 9") if command == "fork" else ()
    result = run(command, record, *more)
    assert result.exit_code == 130
    left = record if command == "resume" else record.with_name("run-fork-9.db")
    assert f"dissensus resume {left}" in result.stderr


def test_resume_finishes_a_cut_record(record: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.db"
    with open_record(record) as store, open_record(cut, "x", run_id=store.run_id) as left:
        left.adopt(list(store.rows(1, 8)), dict(store.blobs()))
    result = run("replay", cut)
    assert result.exit_code == 3
    assert "dissensus resume" in result.stderr
    result = run("resume", cut, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["votes"] == {"8 EUR": 3.0}
    assert run("record", "verify", cut).exit_code == 0


def test_resume_of_a_finished_run_shows_its_decision(record: Path) -> None:
    before = record.read_bytes()
    assert json.loads(run("resume", record, "--json").stdout)["answer"] == "8 EUR"
    assert record.read_bytes() == before


@pytest.mark.parametrize("command", [["replay"], ["resume"], ["fork", "--at", "3", "--replace", "x"]])
@pytest.mark.parametrize("what", ["missing", "text", "empty"])
def test_what_is_no_record_is_one_sentence(tmp_path: Path, command: list[str], what: str) -> None:
    path = tmp_path / "x.db"
    if what != "missing":
        path.write_bytes(b"this is not a database" * 100 if what == "text" else b"")
    result = run(command[0], path, *command[1:])
    assert result.exit_code == (2 if what == "missing" else 4), result.output
    assert "Traceback" not in result.output
    assert str(path) in result.stderr
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ([] if what == "missing" else ["x.db"])
