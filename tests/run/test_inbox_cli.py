"""``dissensus inbox`` and ``answer`` as people and programs call them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from asking import Asked, ask, command, delivery, question_in
from click.testing import CliRunner, Result

from dissensus.cli import main as program
from dissensus.cli.inbox_look import known_as
from dissensus.record.opening import open_record
from dissensus.record.verify import verify
from dissensus.run import runs
from dissensus.run.inbox_letters import waiting
from dissensus.run.inbox_rules import standing_rules

HOUR = 3600.0


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that another file may have registered already, in a folder of their own."""
    monkeypatch.setitem(program.COMMANDS, "inbox", "dissensus.cli.inbox:inbox")
    monkeypatch.setitem(program.COMMANDS, "answer", "dissensus.cli.answer:answer")
    monkeypatch.chdir(tmp_path)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program.main, [str(argument) for argument in arguments])


def document(*arguments: str | Path, code: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture
def runs_folder(tmp_path: Path) -> Path:
    """``runs/`` with one question, whose sources are pinned beside it."""
    folder = tmp_path / "runs"
    folder.mkdir()
    ask(folder / "a.db", Asked(exhibits=delivery(folder), deadline_s=30 * HOUR))
    return folder


def test_what_is_open_is_listed_with_both_items_side_by_side(runs_folder: Path) -> None:
    result = run("inbox")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "due in 1 d 5 h" in lines[0]
    assert any("A north" in line and "│  B south" in line for line in lines)
    assert any("«pallets: 48»" in line and "«47»" in line for line in lines)
    assert "1 open question" in result.stderr
    assert run("inbox", runs_folder).stdout == run("inbox", "list", runs_folder).stdout
    (told,) = document("inbox", runs_folder)
    assert (told["state"], told["version"], told["overdue"], told["reason"]) == ("open", 1, False, None)
    assert told["shown_sha256"] == question_in(runs_folder / "a.db").shown
    assert [one["cited"][0]["result"] for one in told["exhibits"]] == ["EXACT", "EXACT"]
    assert [one["id"] for one in told["options"]] == ["A", "B", "both", "neither", "need-more"]


def test_one_question_is_shown_whole_and_as_a_page(runs_folder: Path) -> None:
    shown = question_in(runs_folder / "a.db").shown
    result = run("inbox", "show", "runs/a.db")
    assert "07:42,4711,received,«47»" in result.stdout
    assert f"dissensus answer runs/a.db:4 CHOICE --shown {shown[:16]}" in result.stdout
    result = run("inbox", "show", "runs/a.db", "--html", "case.html")
    assert result.stdout == "case.html\n"
    page = Path("case.html").read_text(encoding="utf-8")
    assert "<mark>pallets: 48</mark>" in page
    assert "<mark>47</mark>" in page
    assert shown in page
    assert run("inbox", "show", "runs/a.db", "--html", "none/case.html").exit_code == 2
    assert document("inbox", "show", "runs/a.db")["shown_sha256"] == shown


def test_an_answer_lets_the_run_go_on(runs_folder: Path) -> None:
    shown = question_in(runs_folder / "a.db").shown
    name = question_in(runs_folder / "a.db").id
    told = document("answer", name, "b", "--reason", "it is exact", "--as", "kim", "--shown", shown[:16])
    assert (told["accepted"], told["refused"], told["kept"], told["state"]) == (True, None, False, "answered")
    assert told["decision"]["answer"] == "B by kim"
    assert told["answer"]["authenticated_by"].startswith("stated:account=")
    assert told["answer"]["shown"]["how"] == "before"
    again = document("answer", name, "A", code=1)
    assert (again["accepted"], again["refused"]) == (False, "answered")
    assert "kim" in again["says"]
    listed = run("inbox", "--all").stdout
    assert "kim said B, accepted: it is exact" in listed
    assert "refused (answered)" in listed
    assert run("inbox").stdout == ""
    assert runs.replay(runs_folder / "a.db").identical
    assert verify(runs_folder / "a.db").complete


@pytest.mark.usefixtures("runs_folder")
def test_the_same_answer_again_is_the_same_and_finishes_what_was_not_finished() -> None:
    words = ("answer", "runs/a.db", "B", "--reason", "x")
    first = document(*words, "--no-resume")
    assert (first["accepted"], first["decision"]) == (True, None)
    assert "its run has not ended: dissensus resume" in run("inbox").stdout
    assert document("inbox")[0]["state"] == "answered"
    second = document(*words)
    assert second["answer"] == first["answer"]
    assert second["decision"]["answer"].startswith("B by ")
    assert run("inbox").stdout == ""


def test_without_having_been_shown_it_is_shown_now(runs_folder: Path) -> None:
    result = run("answer", "runs/a.db", "A", "--no-resume")
    assert result.exit_code == 0
    assert "«pallets: 48»" in result.stderr
    assert result.stdout.startswith("accepted: A by ")
    assert question_in(runs_folder / "a.db").answers[0].shown["how"] == "with the answer"


def test_a_source_that_changed_is_asked_again_and_can_be_answered_then(runs_folder: Path) -> None:
    (runs_folder / "note.txt").write_text("another note")
    told = document("answer", "runs/a.db", "A", code=1)
    assert (told["refused"], told["version"]) == ("changed", 2)
    assert "version 2" in run("inbox").stdout
    assert "CHANGED" in run("inbox").stdout
    assert document("answer", "runs/a.db", "A", "--version", "1", code=1)["refused"] == "version"
    assert document("answer", "runs/a.db", "A", "--version", "2")["accepted"] is True


@pytest.mark.usefixtures("runs_folder")
def test_both_need_their_scopes() -> None:
    assert run("answer", "runs/a.db", "both").exit_code == 2
    assert run("answer", "runs/a.db", "both", "--scope", "A").exit_code == 2
    told = document("answer", "runs/a.db", "both", "--scope", "A=until noon", "--scope", "B=after")
    assert told["answer"]["scopes"] == {"A": "until noon", "B": "after"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("answer", "runs/a.db", "C"), "is no choice"),
        (("answer", "runs/a.db", "A", "--rule"), "standing rule"),
        (("answer", "ffff", "A"), "no question"),
        (("answer", "runs/none.db", "A"), "no such record"),
        (("answer", "runs/a.db", "A", "--reason", "\ud800"), "UTF-8"),
        (("answer", "runs/a.db", "A", "--version", "0"), "--version"),
        (("inbox", "show", "zzz"), "names no question"),
        (("inbox", "none"), "no such record"),
        (("inbox", "rules", "runs", "--withdraw", "x"), "stands"),
        (("inbox", "attend", "runs", "--webhook", "x"), "address"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(runs_folder: Path, words: tuple[str, ...], says: str) -> None:
    before = verify(runs_folder / "a.db").head
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert says in result.stderr
    assert verify(runs_folder / "a.db").head == before
    assert waiting(runs_folder / "a.db") == []


def test_a_folder_is_needed(tmp_path: Path) -> None:
    assert not (tmp_path / "runs").exists()
    result = run("inbox")
    assert result.exit_code == 2
    assert "dissensus inbox DIR" in result.stderr


def test_an_answer_serves_all_that_ask_the_same_and_all_go_on(runs_folder: Path) -> None:
    sides = delivery(runs_folder)
    for name in ("b", "c"):
        ask(runs_folder / f"{name}.db", Asked(exhibits=sides, dedupe_key="k"))
    assert "the same is asked 1 more times" in run("inbox").stdout
    assert [len(one["like"]) for one in document("inbox")] == [0, 1]
    told = document("answer", "runs/b.db", "A")
    assert [(one["accepted"], one["decision"]["answer"][:4]) for one in told["copies"]] == [(True, "A by")]
    assert [one["record"] for one in document("inbox")] == ["runs/a.db"]


def test_rules_are_made_by_a_yes_of_their_own_listed_and_taken_back(runs_folder: Path) -> None:
    assert "no standing rules" in run("inbox", "rules").stderr
    result = run("answer", "runs/a.db", "B", "--rule", "--as", "kim")
    assert "made the standing rule note-beats-log v1" in result.stdout
    assert [one.name for one in standing_rules(runs_folder)] == ["note-beats-log v1"]
    assert "note-beats-log v1  stands" in run("inbox", "rules").stdout
    told = document("inbox", "rules", "--withdraw", "note-beats-log", "--reason", "we know better")
    assert [(one["version"], one["stands"], one["withdrawn"]) for one in told["rules"]] == [
        (1, False, False),
        (2, False, True),
    ]


def test_attend_notes_deadlines_and_tells_by_the_settings(runs_folder: Path, tmp_path: Path) -> None:
    ask(runs_folder / "late.db", Asked(deadline_s=1.0, question="Late?"), clock=lambda: 1.0)
    Path("dissensus.toml").write_text('[inbox.attend]\ncommand = "tee -a told.jsonl"\n')
    told = document("inbox", "attend")
    assert [(one["event"], one["what"]) for one in told["done"]] == [
        ("question-no-answer", ""), ("question-notified", "asked"), ("question-notified", "no-answer"),
        ("question-notified", "asked"),
    ]  # fmt: skip
    assert document("inbox", "attend")["done"] == []
    lines = (tmp_path / "told.jsonl").read_text().replace("}{", "}\n{").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["Late?", "Late?", question_in(runs_folder / "a.db").text]
    Path("dissensus.toml").write_text('[inbox.attend]\nwebhook = "http://127.0.0.1:9/"\n')
    ask(runs_folder / "new.db", Asked())
    assert run("inbox", "attend").exit_code == 1
    assert document("inbox", code=0)[0]["reason"] == "no-answer"


def test_an_answer_that_waits_is_said_to_wait_and_is_taken_in_later(runs_folder: Path) -> None:
    with open_record(runs_folder / "a.db", "a"):
        told = document("answer", "runs/a.db", "B", "--wait", "0", code=3)
    assert (told["kept"], told["accepted"], told["state"]) == (True, False, "open")
    document("inbox", "attend")
    assert document("inbox")[0]["state"] == "answered"


def test_a_damaged_record_is_named_and_the_others_are_listed(runs_folder: Path) -> None:
    ask(runs_folder / "b.db", Asked())
    data = (runs_folder / "b.db").read_bytes()
    at = data.rindex(b'"kind":"person"')
    (runs_folder / "b.db").write_bytes(data[: at - 40] + b"\xff" * 40 + data[at:])
    result = run("inbox")
    assert result.exit_code == 4
    assert "Order 4711" in result.stdout
    assert "b.db" in result.stderr


def test_a_record_that_was_changed_takes_no_answer_and_keeps_it(runs_folder: Path) -> None:
    path = runs_folder / "a.db"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"What came?", b"What cane?", 1))
    result = run("answer", path, "A")
    assert result.exit_code == 4, result.output
    assert [one.choice for _, one in waiting(path)] == ["A"]


def test_who_is_at_the_keyboard_is_the_account_and_a_name_is_only_stated() -> None:
    account, how = known_as(None)
    assert how == f"account:{account}"
    assert known_as(account) == (account, how)
    assert known_as("somebody else") == ("somebody else", f"stated:account={account}")
    assert os.environ.get("LOGNAME") != "nobody at all"


@pytest.mark.usefixtures("runs_folder")
def test_the_real_program() -> None:
    def real(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*words), capture_output=True, text=True, timeout=60, check=False)

    assert real("inbox", "--help").returncode == 0
    done = real("answer", "runs/a.db", "A", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["decision"]["status"] == "decided"
    assert real("answer", "runs/a.db", "A", "--as", "lee").returncode == 1
    assert real("replay", "runs/a.db").stdout.startswith("identical")
