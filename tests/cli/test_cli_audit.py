"""``dissensus audit`` through the real command: the text to the line, the document, exit codes, what can be wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.main import main
from dissensus.interop import spool

ROOT = Path(__file__).resolve().parents[2]
TEAM = ROOT / "examples" / "team.jsonl"
EXPECTED = """\
f1  fulfilled   researcher → planner    agreed at #2, delivered at #4
f2  OPEN        analyst owes planner    agreed at #5, nothing since (no deadline)
f3  refused     reviewer → planner
violation #8    f3: inform is not legal in state closed
violation #9    f2: informed by researcher, who is not the party that owes
1 open commitment, 2 violations, 0 unanswered requests, 9 messages, 3 threads
"""
SEED = """\
f1: chiuso
f2: impegnato  <- impegno non onorato
f3: chiuso
violazione: filo f3: 'informa' non e' lecita nello stato 'chiuso' (attese: nessuna)
violazione: filo f2: risponde ricercatore, ma la richiesta era per analista
"""
ITALIAN = {"planner": "pianificatore", "researcher": "ricercatore", "analyst": "analista", "reviewer": "revisore"}


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["audit", *arguments], input=stdin)


def write(folder: Path, *lines: dict[str, Any] | bytes, name: str = "log.jsonl") -> str:
    path = folder / name
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return str(path)


def said(act: str, sender: str, receiver: str, **more: Any) -> dict[str, Any]:
    return {"act": act, "sender": sender, "receivers": [receiver], "thread": "t", **more}


# --- what is printed


@pytest.mark.parametrize("protocol", [None, "fipa-request", "four-state"])
def test_the_example_to_the_line(protocol: str | None) -> None:
    done = run(str(TEAM), *(["--protocol", protocol] if protocol else []))
    assert done.stdout == EXPECTED
    assert done.stderr == ""
    assert done.exit_code == 1


def test_the_four_states_it_grew_from(tmp_path: Path) -> None:
    text = TEAM.read_text()
    for english, italian in ITALIAN.items():
        text = text.replace(f'"{english}"', f'"{italian}"')
    path = tmp_path / "seme.jsonl"
    path.write_text(text)
    done = run(str(path), "--style", "seed", "--lang", "it")
    assert done.stdout == SEED
    assert done.exit_code == 1


def test_the_same_in_english() -> None:
    lines = run(str(TEAM), "--style", "seed").stdout.splitlines()
    assert lines[1] == "f2: committed  <- commitment not kept"
    assert lines[3] == "violation: thread f3: 'inform' is not legal in state 'closed' (expected: none)"


def test_the_document_has_the_promised_keys() -> None:
    done = run(str(TEAM), "--json")
    told = json.loads(done.stdout)
    assert {"obligations", "messages", "counts"} <= told.keys()
    for owed in told["obligations"]:
        assert {
            "thread",
            "kind",
            "debtor",
            "creditor",
            "status",
            "opened_by",
            "closed_by",
            "deadline",
            "late_by_s",
        } <= (owed.keys())
    for finding in told["messages"]:
        assert {"id", "line", "thread", "verdict", "rule", "level", "party", "caused_by"} <= finding.keys()
    assert told["counts"] == {
        "messages": 9, "tagged": 9, "threads": 3, "requests": 3, "unanswered": 0, "pending": 1, "violations": 2,
        "warnings": 0,
    }  # fmt: skip
    assert [(f["id"], f["line"], f["verdict"], f["party"]) for f in told["messages"]] == [
        ("m8", 8, "illegal", "reviewer"), ("m9", 9, "no-title", "researcher"),
    ]  # fmt: skip


def test_a_long_document_is_the_same_document(monkeypatch: pytest.MonkeyPatch) -> None:
    short = json.loads(run(str(TEAM), "--json").stdout)
    monkeypatch.setattr(spool, "IN_MEMORY", 2)  # so that five obligations are long, and lie on disk
    assert json.loads(run(str(TEAM), "--json").stdout) == short


def test_standard_input_is_a_log() -> None:
    assert run("-", stdin=TEAM.read_bytes()).stdout == EXPECTED


def test_a_clean_log_ends_with_zero(tmp_path: Path) -> None:
    done = run(write(tmp_path, said("request", "a", "b"), said("inform", "b", "a")))
    assert done.exit_code == 0
    assert "fulfilled" in done.stdout


def test_many_threads_show_what_is_open(tmp_path: Path) -> None:
    lines = [said("request", "a", "b", thread=f"t{n}") for n in range(100)]
    lines += [said("inform", "b", "a", thread=f"t{n}") for n in range(100) if n != 7]
    done = run(write(tmp_path, *lines))
    assert done.stdout.splitlines()[0].startswith("t7  OPEN")
    assert "… 99 more threads in which nothing is open (--all shows them)" in done.stdout
    assert len(run(write(tmp_path, *lines), "--all").stdout.splitlines()) == 101


def test_consequences_are_folded_under_their_root(tmp_path: Path) -> None:
    path = write(tmp_path, said("agree", "b", "a"), said("inform", "b", "a"))
    done = run(path)
    assert "violation #1    t: agree is not legal in state open, and 1 more that only follow from it" in done.stdout
    assert "1 violation," in done.stdout
    assert "(follows from 1)" in run(path, "--all").stdout


def test_what_a_log_cannot_tell_is_said(tmp_path: Path) -> None:
    path = write(
        tmp_path, said("request", "a", "b"), {"sender": "b", "receivers": ["a"], "thread": "t", "content": "ok"}
    )
    done = run(path)
    assert done.exit_code == 0
    assert "unknown" in done.stdout
    assert "tagged 1 of 2" in done.stdout
    assert "1 of 2 messages carry no act" in done.stdout


def test_what_a_log_calls_its_entries_reaches_no_terminal_either(tmp_path: Path) -> None:
    call = {"type": "agent_tool_call", "name": "f", "args": {}}
    opinions = [{"type": "monitor", "kind": "send", "verdict": f"\x1b[2J\x07{number}"} for number in range(30)]
    done = run(write(tmp_path, call, *opinions))
    assert not {"\x1b", "\x07"} & set(done.stdout)
    assert "10 other kinds" in done.stdout
    sneaky = run(write(tmp_path, said("request", "a", "b", tag_source="\x07pattern", id="\x07")))
    assert "\x07" not in sneaky.stdout


def test_a_long_name_moves_only_its_own_row(tmp_path: Path) -> None:
    path = write(tmp_path, said("request", "a", "b" * 300, thread="t" * 200), said("request", "a", "b", thread="u"))
    long, short = run(path).stdout.splitlines()[:2]
    assert long.startswith("t" * 200 + " OPEN")
    assert "b" * 300 + " owes a asked at #1" in long
    assert len(short) < 200


def test_control_characters_in_a_log_reach_no_terminal(tmp_path: Path) -> None:
    done = run(write(tmp_path, said("request", "a\x1b[2J", "b", thread="t\n\x07")))
    assert not {"\x1b", "\x07"} & set(done.stdout)
    assert len(done.stdout.splitlines()) == 2
    path = write(tmp_path, said("request", "a", "b", thread="t\n\x07"), said("agree", "c\x07", "a", thread="t\n\x07"))
    seed = run(path, "--style", "seed", "--lang", "en").stdout
    assert "\x07" not in seed
    assert len(seed.splitlines()) == 2


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run(str(TEAM), "--plots", str(tmp_path / "pictures"))
    assert done.stdout == EXPECTED
    ET.parse(tmp_path / "pictures" / "audit_threads.svg")  # noqa: S314 - we have just written it
    data = json.loads((tmp_path / "pictures" / "audit_threads.json").read_text())
    assert [row["status"] for row in data["drawn"]] == [
        "fulfilled", "fulfilled", "fulfilled", "pending", "declared:refused",
    ]  # fmt: skip


def test_a_picture_of_a_part_of_a_long_log_shows_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = [
        said(act, *who, thread=f"t{n}")
        for n in range(500)
        for act, *who in (("request", "a", "b"), ("inform", "b", "a"))
    ]
    lines.append(said("inform", "b", "a", thread="nobody asked"))
    done = run(write(tmp_path, *lines), "--plots", str(tmp_path / "pictures"))
    assert done.exit_code == 1
    picture = (tmp_path / "pictures" / "audit_threads.svg").read_text()
    assert picture.count("<!-- nobody asked -->") == 1, "a fault without an obligation has a row too"
    assert "<!-- 2000 -->" not in picture


def test_the_title_of_a_picture_fits(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    thread = "a thread with a name that is long"
    path = write(
        tmp_path,
        said("request", "somebody with a long name", "another with a long name", thread=thread, at=0),
        said("agree", "another with a long name", "somebody with a long name", thread=thread, at=0, reply_by=1),
        said("request", "a", "b", thread="u", at=5),
    )
    run(path, "--plots", str(tmp_path / "pictures"))
    picture = (tmp_path / "pictures" / "audit_threads.svg").read_text()
    titles = re.findall(r"<!-- (.*(?:requests|promise|messages).*) -->", picture)
    assert " ".join(titles) == "2 requests, 1 unanswered; 0 violations and 1 broken promise in 3 messages"
    assert len(titles) > 1


# --- options


def test_deadlines_by_the_log_and_by_another_time(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        said("request", "a", "b", at="2026-03-02T10:00:00Z"),
        said("agree", "b", "a", at="2026-03-02T10:01:00Z", reply_by="2026-03-02T10:30:00Z"),
    )
    assert "OPEN" in run(path).stdout
    late = run(path, "--as-of", "2026-03-02T10:30:01Z")
    assert "VIOLATED" in late.stdout
    assert "due 2026-03-02T10:30:00Z" in late.stdout
    assert "violated" in json.dumps(json.loads(run(path, "--closed", "--json").stdout)["obligations"])


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (None, "agreed at #2, nothing since (due 2026-03-02T10:30:00Z)"),
        (said("inform", "b", "a", at="2026-03-02T11:30:00.5Z"), "agreed at #2, came at #3, 3600.5 s late"),
        (
            said("failure", "ams", "a", at="2026-03-02T10:30:00.25Z", about="b"),
            "agreed at #2, ended at #3 (reported by ams), 0.25 s late",
        ),
    ],
)
def test_a_broken_promise_is_counted_and_is_no_success(tmp_path: Path, last: dict[str, Any] | None, told: str) -> None:
    path = write(
        tmp_path,
        said("request", "a", "b", at="2026-03-02T10:00:00Z"),
        said("agree", "b", "a", at="2026-03-02T10:01:00Z", reply_by="2026-03-02T10:30:00Z"),
        *([last] if last else []),
    )
    done = run(path, "--as-of", "2026-03-02T12:00:00Z")
    assert done.exit_code == 1
    assert "1 broken promise, " in done.stdout
    assert told in done.stdout
    assert json.loads(run(path, "--as-of", "2026-03-02T12:00:00Z", "--json").stdout)["broken"] == 1
    assert json.loads(run(path, "--as-of", "2026-03-02T10:10:00Z", "--json").stdout)["broken"] == (last is not None)


def test_who_may_order_whom(tmp_path: Path) -> None:
    rights = tmp_path / "rights.yaml"
    rights.write_text("director: [intern]\n")
    path = write(tmp_path, said("request", "intern", "director"))
    done = run(path, "--authority", str(rights))
    assert "t: request to director, who owes intern no obedience" in done.stdout
    assert done.exit_code == 1


def test_a_protocol_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "pong.yaml"
    own.write_text(
        "protocol: pong\nroles: {a: one, b: one}\nstart: {state: start, role: a}\nfinal: [end]\nmoves:\n"
        "  - {in: start, act: query-if, from: a, to: b, next: asked, opens: answer}\n"
        "  - {in: asked, act: confirm, from: b, to: a, next: end, closes: answer}\n"
    )
    path = write(tmp_path, said("query-if", "x", "y"), said("inform", "y", "x"))
    assert "inform is not legal" in run(path, "--protocol", str(own)).stdout
    named = write(tmp_path, said("query-if", "x", "y", protocol="pong"), name="named.jsonl")
    assert run(named).exit_code == 2
    assert run(named, "--protocol", "fipa-request", "--protocol", str(own)).exit_code == 0


def test_the_formats_are_listed() -> None:
    done = run("--formats")
    assert done.exit_code == 0
    for name in ("own", "a2a", "mcp", "openai-chat", "who-and-when", "otel"):
        assert any(line.startswith(name) for line in done.stdout.splitlines()), name


# --- what can be wrong: one sentence, file and line, exit code 2, nothing on stdout

GOOD = said("request", "a", "b")


@pytest.mark.parametrize(
    ("lines", "line", "word"),
    [
        pytest.param([GOOD, b'{"act": "agree", "sender": "b", "receivers": ["a"], "thr'], 2, "breaks off", id="cut"),
        pytest.param([GOOD, json.dumps(said("agree", "b", "a")).encode("utf-16")], 2, "UTF-8", id="encoding"),
        pytest.param([GOOD, b'{"act": "agree", "sender": "b\xe9", "receivers": ["a"]}'], 2, "UTF-8", id="latin-1"),
        pytest.param([GOOD, said("agre", "b", "a")], 2, "Did you mean 'agree'?", id="unknown act"),
        pytest.param([GOOD, {**said("agree", "b", "a"), "thread": None}], 2, "thread", id="no thread"),
        pytest.param([GOOD, said("agree", "b", "a", protocol="fipa-query")], 2, "fipa-query", id="two protocols"),
        pytest.param(
            [GOOD, said("agree", "b", "a", thread="u", protocol="fipa-requst")], 2, "fipa-requ", id="no protocol"
        ),
        pytest.param([GOOD, b"[1, 2]"], 2, "no message", id="no object"),
        pytest.param([GOOD, {"sender": 7, "receivers": ["a"]}], 2, "sender", id="sender is a number"),
        pytest.param([GOOD, said("agree", "b", "a", at="yesterday")], 2, "at", id="no time"),
        pytest.param([GOOD, said("agree", "b", "a", reply_by=30)], 2, "reply_by", id="seconds after nothing"),
    ],
)
def test_bad_lines(tmp_path: Path, lines: list[Any], line: int, word: str) -> None:
    path = write(tmp_path, *lines)
    done = run(path)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert f"log.jsonl:{line}: " in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    lenient = run(path, "--lenient", "--json")
    assert lenient.exit_code == 0, lenient.output
    told = json.loads(lenient.stdout)
    assert told["skipped"]["count"] == 1
    assert told["skipped"]["lines"][0]["line"] == line
    assert told["counts"]["messages"] == 1


def test_what_was_open_when_a_line_was_lost_is_unknown(tmp_path: Path) -> None:
    told = json.loads(run(write(tmp_path, GOOD, b'{"act": "ag'), "--lenient", "--json").stdout)
    assert [owed["status"] for owed in told["obligations"]] == ["unknown"]


def test_a_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(GOOD).encode() + b'\n{"act": "agree", "sender": "b", "receivers": ["a"], "content": "')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n' + json.dumps(said("inform", "b", "a")).encode() + b"\n")
    done = run(str(path))
    assert done.exit_code == 2
    assert "log.jsonl:2: " in done.stderr
    lenient = json.loads(run(str(path), "--lenient", "--json").stdout)
    assert (lenient["counts"]["messages"], lenient["skipped"]["count"]) == (2, 1)


@pytest.mark.parametrize("content", [b"hello, world\n", b"\x00\x01\x02\xff" * 100, b'{"a": 1}\n', b"[]", b"{"])
def test_a_file_that_is_no_log_says_what_was_looked_for(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    done = run(str(path))
    assert done.exit_code == 2
    for words in ("no log of a known format", '"sender", "receivers" and "act"', "JSON-RPC", "--format"):
        assert words in done.stderr
    assert done.stdout == ""


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"")
    done = run(str(tmp_path / "log.jsonl"))
    assert done.exit_code == 2
    assert "empty" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing-here.jsonl"], "nothing-here.jsonl"),
        ([str(TEAM), "--format", "oon"], "own"),
        ([str(TEAM), "--protocol", "fipa-requst"], "fipa-request"),
        ([str(TEAM), "--as-of", "tomorrow"], "2026-"),
        ([str(TEAM), "--ttl", "soon"], "30s"),
        ([str(TEAM), "--lang", "it"], "--style seed"),
        ([str(ROOT / "examples")], "folder"),
    ],
)
def test_bad_options(arguments: list[str], word: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert word in done.stderr
    assert done.stdout == ""


def test_a_protocol_file_with_an_unknown_key(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("protocol: own\nroles: {a: one, b: one}\nstart: {state: s, role: a}\nfinal: [e]\nmovs: []\n")
    done = run(str(TEAM), "--protocol", str(own))
    assert done.exit_code == 2
    assert "own.yaml:5" in done.stderr
    assert "moves" in done.stderr


def test_the_real_program_in_a_pipe() -> None:
    command = [sys.executable, "-c", "from dissensus.cli.main import main; main()", "audit", str(TEAM)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.stdout.decode() == EXPECTED
    assert done.returncode == 1


def test_where_an_act_comes_from_is_in_the_document(tmp_path: Path) -> None:
    path = write(
        tmp_path, said("request", "a", "b"), {**said("inform", "b", "a"), "tag_source": "inferred"},
        {**said("agree", "b", "a"), "tag_source": "pattern"},
    )  # fmt: skip
    told = json.loads(run(path, "--json").stdout)
    [owed] = told["obligations"]
    assert (owed["status"], owed["tag_source"], owed["closed_tag_source"]) == ("answered", "field", "inferred")
    assert [finding["tag_source"] for finding in told["messages"]] == ["pattern"]
    wire = json.loads(run(str(ROOT / "examples" / "a2a-log.jsonl"), "--json").stdout)
    assert {owed["tag_source"] for owed in wire["obligations"]} == {"structure"}
    assert {finding["tag_source"] for finding in wire["messages"]} == {"structure"}


def test_where_the_profiles_differ_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, said("request", "a", "b"), said("inform", "b", "a"))
    assert "profiles #2     t: ok under fipa and jade, illegal under strict" in run(path, "--compare-profiles").stdout
    told = json.loads(run(path, "--compare-profiles", "--json").stdout)
    assert told["profiles"] == [
        {"id": "2", "line": 2, "seq": 2, "thread": "t", "verdicts": {"fipa": "ok", "jade": "ok", "strict": "illegal"}}
    ]
    assert "profiles" not in json.loads(run(path, "--json").stdout)


def test_an_authority_map_may_stand_under_its_name(tmp_path: Path) -> None:
    rights = tmp_path / "rights.yaml"
    rights.write_text("authority:\n  director: [intern]\n")
    path = write(tmp_path, said("request", "director", "intern"), said("request", "intern", "director", thread="u"))
    assert [f["verdict"] for f in json.loads(run(path, "--authority", str(rights), "--json").stdout)["messages"]] == [
        "void"
    ]
    rights.write_text("authority:\n  director: [7]\n")
    wrong = run(path, "--authority", str(rights))
    assert wrong.exit_code == 2
    assert "rights.yaml:2" in wrong.stderr


@pytest.mark.parametrize(
    ("option", "word"), [("followup", "KEY=VALUE"), ("followup=never", "input-only"), ("x=1", "retries")]
)
def test_bad_options_of_trackers(option: str, word: str) -> None:
    done = run(str(ROOT / "examples" / "a2a-log.jsonl"), "--wire", option)
    assert done.exit_code == 2
    assert word in done.stderr


def test_options_of_trackers_reach_them(tmp_path: Path) -> None:
    send = {"jsonrpc": "2.0", "method": "SendMessage"}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    task = {"task": {"id": "t1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    path = write(
        tmp_path,
        {**send, "id": 1, "params": {"message": message, "configuration": {"returnImmediately": True}}},
        {"jsonrpc": "2.0", "id": 1, "result": task},
        {**send, "id": 2, "params": {"message": {**message, "messageId": "n", "taskId": "t1"}}},
    )
    assert json.loads(run(path, "--json").stdout)["messages"] == []
    [finding] = json.loads(run(path, "--wire", "followup=input-only", "--json").stdout)["messages"]
    assert finding["rule"] == "a2a.followup-not-asked"
