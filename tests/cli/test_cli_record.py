from __future__ import annotations

import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.main import main
from dissensus.cli.record import record as group
from dissensus.record.event import PUBLIC, Draft
from dissensus.record.jsonl import export_jsonl
from dissensus.record.opening import open_record
from dissensus.record.verify import verify

PROMPT = "What do 12 pens cost? " * 100


def run(*arguments: object) -> Result:
    """The whole command, with its sentences and exit codes."""
    return CliRunner().invoke(main, ["record", *map(str, arguments)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "run.db"
    with open_record(file, "x", clock=lambda: 1_800_000_000.25) as store:
        store.append(
            [
                Draft(kind="run", body={"procedure": "vote"}),
                Draft(kind="ask", key="ask/ada", visibility=("ada",), body={"agent": "ada", "prompt": PROMPT}),
                Draft(
                    kind="outcome", key="ask/ada", actor="ada", visibility=("ada",),
                    body={"outcome": {"kind": "reply", "text": "8 euros,\n\x1b[31mred\x9b \u202e"}},
                ),
                Draft(kind="outcome", key="ask/ben", actor="ben", body={"outcome": {"kind": "timeout", "after_s": 3}}),
                Draft(kind="post", actor="ada", visibility=PUBLIC, body={"sender": "ada", "text": "8 € it is"}),
                Draft(kind="ended"),
            ]
        )  # fmt: skip
    return file


def damage(path: Path, seq: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER events_are_not_changed")
        db.execute("UPDATE events SET body = CAST(replace(body, 'main', 'mein') AS BLOB) WHERE seq = ?", (seq,))
        db.commit()


# --- verify


def test_verify_says_what_holds(path: Path) -> None:
    done = run("verify", path)
    assert done.exit_code == 0
    assert done.stdout == f"ok       {path}  6 events, complete, head {verify(path).head}\n"
    assert done.stderr == ""


def test_verify_names_the_damaged_event(path: Path) -> None:
    damage(path, 3)
    done = run("verify", path)
    assert done.exit_code == 4
    assert done.stdout.startswith("DAMAGED  ")
    assert f"Event 3 of {path}" in done.stdout
    assert done.stdout.count("\n") == 1
    data = json.loads(run("verify", path, "--json").stdout)
    assert (data["ok"], data["event"], data["error"]) == (False, 3, "record-damaged")


def test_verify_goes_through_a_folder(path: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    export_jsonl(path, tmp_path / "more" / "run.jsonl")
    shutil.copy(path, tmp_path / "zzz.db")
    damage(tmp_path / "zzz.db", 1)
    (tmp_path / "notes.txt").write_text("no record")
    done = run("verify", tmp_path)
    assert done.exit_code == 4
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ok", "ok", "DAMAGED"]
    assert done.stderr == "3 records, 1 damaged\n"
    data = json.loads(run("verify", tmp_path, "--json").stdout)
    assert [one["ok"] for one in data] == [True, True, False]
    assert {one["head"] for one in data if one["ok"]} == {verify(path).head}


def test_verify_takes_several_paths(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "copy.db")
    done = run("verify", path, tmp_path / "copy.db")
    assert done.exit_code == 0
    assert done.stderr == "2 records, none damaged\n"


def test_verify_against_a_head_that_was_noted(path: Path) -> None:
    head = verify(path).head
    assert run("verify", path, "--head", head).exit_code == 0
    assert run("verify", path, "--head", head.upper()).exit_code == 0
    with open_record(path, "a") as store:
        store.append([Draft(kind="resumed"), Draft(kind="ended")])
    done = run("verify", path, "--head", head)
    assert done.exit_code == 4
    assert "hash of event 6, and 2 events follow" in done.stdout
    done = run("verify", path, "--head", "0" * 64)
    assert done.exit_code == 4
    assert "cut off" in done.stdout
    for wrong in ("abc", "g" * 64):
        assert run("verify", path, "--head", wrong).exit_code == 2
    assert run("verify", path, path, "--head", head).exit_code == 2


@pytest.mark.parametrize("command", ["verify", "show", "export"])
def test_paths_that_are_no_records(tmp_path: Path, command: str) -> None:
    done = run(command, tmp_path / "none.db")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'none.db'}: there is no such record.\n")
    done = run(command, tmp_path)
    assert done.exit_code == 2
    (tmp_path / "notes.db").write_text("my notes " * 1000)
    done = run(command, tmp_path / "notes.db")
    assert done.exit_code == 4
    assert "no record" in done.output


def test_verify_without_a_path() -> None:
    assert run("verify").exit_code == 2
    assert run().exit_code == 2 or "Usage" in run().output


def test_errors_leave_the_group_as_exceptions(tmp_path: Path) -> None:
    done = CliRunner().invoke(group, ["show", str(tmp_path / "none.db")])
    assert getattr(done.exception, "exit_code", None) == 2


# --- show


def test_show_prints_a_line_for_each_event(path: Path) -> None:
    done = run("show", path)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4", "5", "6"]
    assert lines[0].split()[1:] == ["2027-01-15", "08:00:00", "run", "engine", '{"procedure":"vote"}']
    assert lines[1].endswith("…")
    assert len(lines[1]) < 300
    assert lines[2].endswith(r"ask/ada  reply: 8 euros,\n\u001b[31mred\u009b \u202e")
    assert lines[3].endswith("ask/ben  timeout:")
    assert lines[4].endswith("8 € it is")
    assert lines[5].endswith("ended      engine")


def test_show_chooses(path: Path) -> None:
    def shown(*options: object) -> list[int]:
        data = json.loads(run("show", path, "--json", *options).stdout)
        lines = run("show", path, *options).stdout.splitlines()
        assert [int(line.split()[0]) for line in lines] == [event["seq"] for event in data]
        return [event["seq"] for event in data]

    assert shown() == [1, 2, 3, 4, 5, 6]
    assert shown("--last", 2) == [5, 6]
    assert shown("--last", 100) == [1, 2, 3, 4, 5, 6]
    assert shown("--kind", "outcome") == [3, 4]
    assert shown("--kind", "outcome", "--kind", "post") == [3, 4, 5]
    assert shown("--kind", "outcome", "--last", 1) == [4]
    assert shown("--kind", "nothing") == []
    for options in (("--last", 0), ("--at", 0), ("--last", "x")):
        assert run("show", path, *options).exit_code == 2


def test_show_prints_one_event_in_full(path: Path) -> None:
    done = run("show", path, "--at", 3)
    assert done.exit_code == 0
    head, _, body = done.stdout.partition("{")
    assert re.findall(r"^(\w[\w ]*?)  +(.*)$", head, re.MULTILINE) == [
        ("event", "3"),
        ("id", f"{verify(path).run_id}:3"),
        ("time", "2027-01-15 08:00:00 UTC"),
        ("kind", "outcome"),
        ("key", "ask/ada"),
        ("actor", "ada"),
        ("thread", "main"),
        ("visible to", "ada"),
    ]
    assert json.loads("{" + body) == {"outcome": {"kind": "reply", "text": "8 euros,\n\x1b[31mred\x9b \u202e"}}
    assert "\x1b" not in done.stdout
    assert "\x9b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert PROMPT in run("show", path, "--at", 2).stdout
    data = json.loads(run("show", path, "--at", 2, "--json").stdout)
    assert data["body"] == {"agent": "ada", "prompt": PROMPT}
    assert data["visibility"] == ["ada"]


def test_show_of_an_event_that_is_not_there(path: Path) -> None:
    done = run("show", path, "--at", 99)
    assert done.exit_code == 2
    assert "has no event 99" in done.stderr
    assert "number 6" in done.stderr


def test_show_of_a_damaged_event(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER events_are_not_changed")
        db.execute("UPDATE events SET body = x'7b' WHERE seq = 4")
        db.commit()
    done = run("show", path)
    assert done.exit_code == 4
    assert len(done.stdout.splitlines()) == 3
    assert f"Event 4 of {path}" in done.stderr


def on_a_terminal(*arguments: object, before: str = "") -> str:
    """What the command prints on a terminal of 80 columns; ``before`` is run first."""
    code = f"import dissensus.cli.record\n{before}\nfrom dissensus.cli.main import main\nmain()"
    near, far = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    child = subprocess.Popen(
        [sys.executable, "-c", code, "record", *map(str, arguments)],
        stdout=far, stderr=far, stdin=far, env=environment,
    )  # fmt: skip
    os.close(far)
    said = b""
    try:
        while part := _read(near):
            said += part
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.wait()
        os.close(near)
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end has gone
        return b""


def test_on_a_terminal_there_are_colours_and_no_line_is_too_long(path: Path) -> None:
    said = on_a_terminal("show", path)
    assert "\x1b[" in said
    assert "\x1b[31mred" not in said
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines()
    assert len(plain) == 6
    assert all(len(line) <= 80 for line in plain)
    one = on_a_terminal("show", path, "--at", 3)
    assert "\x1b[31mred" not in one
    assert "8 euros" in one
    assert "complete" in on_a_terminal("verify", path)


def test_a_long_check_shows_how_far_it_is(path: Path) -> None:
    with open_record(path, "a") as store:
        store.append([Draft(kind="note", body={"n": number}) for number in range(9000)])
    assert "verifying" not in on_a_terminal("verify", path)
    assert "verifying" in on_a_terminal("verify", path, before="dissensus.cli.record._PATIENCE_S = -1")


# --- export and import


def test_there_and_back(path: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "out.jsonl", tmp_path / "back.db"
    head = verify(path).head
    done = run("export", path, "--jsonl", "-o", out)
    assert done.exit_code == 0
    assert done.stdout == f"{out}  6 events, head {head}\n"
    assert run("verify", out).stdout == f"ok       {out}  6 events, complete, head {head}\n"
    done = run("import", out, "-o", back)
    assert done.exit_code == 0
    assert done.stdout == f"{back}  6 events, head {head}\n"
    assert verify(back).head == head
    assert run("show", back, "--json").stdout == run("show", out, "--json").stdout == run("show", path, "--json").stdout


def test_export_to_standard_output(path: Path, tmp_path: Path) -> None:
    export_jsonl(path, tmp_path / "out.jsonl")
    done = run("export", path, "--jsonl")
    assert done.exit_code == 0
    assert done.stdout_bytes == (tmp_path / "out.jsonl").read_bytes()
    assert run("export", path, "--json").exit_code == 2


def test_export_and_import_as_data(path: Path, tmp_path: Path) -> None:
    def data(*arguments: object) -> Any:
        return json.loads(run(*arguments, "--json").stdout)

    want = {"events": 6, "head": verify(path).head}
    assert data("export", path, "-o", tmp_path / "out.jsonl") == {"record": str(tmp_path / "out.jsonl"), **want}
    assert data("import", tmp_path / "out.jsonl", "-o", tmp_path / "x.db") == {"record": str(tmp_path / "x.db"), **want}


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    export_jsonl(path, out)
    for arguments in (("export", path, "-o", out), ("import", out, "-o", path)):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "exists" in done.stderr
    assert run("import", out, "-o", tmp_path / "other.jsonl").exit_code == 2


def test_a_damaged_file_is_not_imported(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    export_jsonl(path, out)
    out.write_bytes(out.read_bytes().replace(b"8 euros", b"9 euros"))
    done = run("import", out, "-o", tmp_path / "x.db")
    assert done.exit_code == 4
    assert "Event 3 of" in done.stderr
    assert not (tmp_path / "x.db").exists()


def test_help_names_every_option() -> None:
    for command in ("verify", "show", "export", "import"):
        done = run(command, "--help")
        assert done.exit_code == 0
        assert "--json" in done.stdout
