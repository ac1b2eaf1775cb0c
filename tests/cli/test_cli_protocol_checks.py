"""``dissensus protocol check``, ``draw`` and ``traces``."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner, Result

from dissensus.cli import main as command_line
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.protocol_file import find_protocol
from dissensus.say.traces import negative_traces, positive_traces

FAULTY = """\
protocol: faulty
roles: {a: one, b: one}
start: {state: start, role: a}
final: [end]
moves:
  - {in: start, act: request, from: a, to: b, next: asked, opens: answer}
  - {in: asked, act: refuse, from: b, to: a, next: end}
profiles:
  strict:
    remove: [{in: asked, act: refuse}]
    add: [{in: asked, act: refuse, from: b, to: a, next: end, declares: answer}]
"""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command_line.COMMANDS, "protocol", "dissensus.cli.protocol:protocol")
    monkeypatch.setitem(command_line.HELP, "protocol", "Show, check and draw protocols.")


@pytest.fixture
def faulty(tmp_path: Path) -> str:
    path = tmp_path / "faulty.yaml"
    path.write_text(FAULTY, encoding="utf-8")
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command_line.main, ["protocol", *arguments])


def test_a_clean_protocol_passes() -> None:
    done = run("check", "fipa-request")
    assert done.exit_code == 0
    assert done.stdout == "fipa-request (fipa, jade, strict): ok\n0 errors, 0 warnings, 1 protocol\n"


def test_a_fault_is_told_with_its_place_and_a_path(faulty: str) -> None:
    done = run("check", faulty)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "faulty (fipa, strict): 1 error"
    assert lines[1].startswith(f"  {faulty}:6: P09 error: The answer that 'b' owes 'a' is still open in 'end'.")
    assert lines[1].endswith("(fipa only)")
    assert lines[2:4] == ["      start: request a>b -> asked", "      asked: refuse b>a -> end"]
    assert lines[-1] == "1 error, 1 warning, 1 protocol"


def test_a_profile_alone_may_be_clean_and_warnings_alone_are_no_failure(faulty: str) -> None:
    done = run("check", faulty, "--profile", "strict")
    assert done.exit_code == 0
    assert "P10 warning" in done.stdout


def test_check_as_json(faulty: str) -> None:
    done = run("check", faulty, "four-state", "--json")
    assert done.exit_code == 1
    data = json.loads(done.stdout)
    assert data["counts"] == {"errors": 1, "warnings": 1}
    first, second = data["protocols"]
    assert (first["name"], first["profiles"]) == ("faulty", ["fipa", "strict"])
    assert [(fault["code"], fault["level"], fault["line"], fault["profiles"]) for fault in first["faults"]] == [
        ("P09", "error", 6, ["fipa"]),
        ("P10", "warning", 6, ["fipa", "strict"]),
    ]
    assert second == {"name": "four-state", "path": "four-state.yaml", "profiles": ["fipa"], "faults": []}


def test_all_shipped_protocols_are_clean() -> None:
    done = run("check", "--all", "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data["counts"]["errors"] == 0
    assert {"fipa-request", "fipa-brokering", "four-state"} <= {each["name"] for each in data["protocols"]}


@pytest.mark.parametrize("command", ["check", "draw", "traces"])
def test_what_cannot_be_read_is_a_matter_of_usage(command: str, tmp_path: Path) -> None:
    done = run(command, str(tmp_path / "none.yaml"))
    assert done.exit_code == 2
    assert "cannot be read" in done.stderr
    (tmp_path / "bad.yaml").write_text("protocol: [", encoding="utf-8")
    assert run(command, str(tmp_path / "bad.yaml")).exit_code == 2
    assert run(command, "fipa-reqest").exit_code == 2


def test_check_needs_a_name() -> None:
    done = run("check")
    assert done.exit_code == 2
    assert "--all" in done.stderr


def test_draw_prints_mermaid() -> None:
    done = run("draw", "fipa-contract-net", "--profile", "jade")
    assert done.exit_code == 0
    assert done.stdout.startswith('---\ntitle: "fipa-contract-net (jade)"\n---\nstateDiagram-v2\n')
    assert "failure participant → initiator<br/>− answer" in done.stdout


def test_draw_as_json() -> None:
    data = json.loads(run("draw", "four-state", "--json").stdout)
    text = run("draw", "four-state").stdout
    assert data == {"protocol": "four-state", "profile": "fipa", "mermaid": text, "svg": None}


def test_draw_writes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("graphlay", reason="the extra draw is not installed")
    path = tmp_path / "net.svg"
    done = run("draw", "fipa-contract-net", "--svg", str(path))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"wrote {path}\n")
    assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own picture
    both = run("draw", "fipa-contract-net", "--svg", str(path), "--mermaid", "--everything")
    assert "cancel initiator" in both.stdout
    nowhere = run("draw", "fipa-contract-net", "--svg", str(tmp_path / "no" / "net.svg"))
    assert nowhere.exit_code == 3
    assert "cannot be written" in nowhere.stderr


def test_traces_are_printed_for_people() -> None:
    done = run("traces", "four-state")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:3] == [
        "four-state/1: start: request initiator>participant -> requested",
        "    initiator > participant: request",
        "    participant > initiator: refuse",
    ]
    wrong = run("traces", "four-state", "--negative").stdout
    assert wrong.startswith("four-state/drop/1: drop, in start: request initiator>participant -> requested\n  ! ")
    assert wrong.count("\n  ! ") == sum(1 for _ in negative_traces(find_protocol("four-state")))


@pytest.mark.parametrize("name", ["fipa-contract-net", "fipa-subscribe"])
def test_traces_as_lines_are_messages_that_keep_to_the_protocol(name: str) -> None:
    done = run("traces", name, "--json")
    messages = read(done.stdout)
    assert len(messages) == sum(len(each.messages) for each in positive_traces(find_protocol(name)))
    monitor = Monitor()
    assert {monitor.see(m) for m in messages} == {"ok"}


def test_negative_traces_as_lines_leave_out_what_no_log_can_hold() -> None:
    done = run("traces", "fipa-request", "--negative", "--profile", "strict", "--json")
    traces = list(negative_traces(find_protocol("fipa-request", "strict")))
    unknown = sum(each.fault == "unknown-act" for each in traces)
    assert {m.thread for m in read(done.stdout)} == {each.name for each in traces if each.fault != "unknown-act"}
    assert f"left out {unknown} traces" in done.stderr
    assert "--profile strict" in done.stderr


def read(lines: str) -> list[Message]:
    """Messages of our own log: times are written as people read them."""
    found = []
    for line in lines.splitlines():
        data = json.loads(line)
        for key in ("at", "reply_by"):
            if key in data:
                data[key] = datetime.fromisoformat(data[key]).timestamp()
        found.append(msgspec.convert(data, Message))
    return found
