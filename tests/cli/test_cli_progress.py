"""What is shown on a terminal while agents are waited for; a pipe gets nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dissensus.cli.progress import MOST_ROWS, Progress
from dissensus.record.event import Event

pty = pytest.importorskip("pty", reason="there are no terminals of this kind here")

COMMAND = (sys.executable, "-c", "from dissensus.cli.main import main; main()")
PANEL = """\
models:
  one: {use: "scripted:x", rules: [
    {when: "To offer", say: '{"price": 1, "estimate": 20, "confidence": 0.6}'}, {when: "", say: done, delay_s: 0.6}]}
  two: {use: 'scripted:{"refuse": "busy"}'}
agents: [{name: ada, model: one}, {name: ben, model: two}]
"""


def on_a_terminal(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit status, and what came to a terminal on stderr."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side has ended
                part = b""
            if not part:
                break
            said += part
    os.close(ours)
    return process.returncode, said.decode()


def test_a_contract_shows_who_holds_the_task_now(tmp_path: Path) -> None:
    (tmp_path / "panel.yaml").write_text(PANEL)
    code, said = on_a_terminal(tmp_path, "contract", "Paint the fence.", "--panel", "panel.yaml", "--record", "a.db")
    assert code == 0
    assert "Paint the fence." in said
    assert "refuses: busy" in said
    assert "holds the task" in said, "though it came at once after the bid"
    code, said = on_a_terminal(tmp_path, "fork", "a.db", "--at", "6", "--replace", '{"refuse": "no"}')
    assert code in {0, 1}
    assert "Paint the fence." in said, "the record says what is asked"


def test_a_pipe_gets_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "panel.yaml").write_text(PANEL)
    command = [*COMMAND, "contract", "Paint.", "--panel", "panel.yaml", "--record", "a.db"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_many_agents_are_counted() -> None:
    progress = Progress("?", [f"a{number}" for number in range(MOST_ROWS + 1)])
    progress._live = object()
    body = {"agent": "a0", "answer": "yes", "outcome": "reply"}
    progress.on_event(
        Event(
            seq=1, id="1", time=0.0, kind="ballot", key="b", actor="a0", thread="main", visibility="public", body=body
        )
    )  # fmt: skip
    assert progress._rows["a0"] == "yes"
    assert progress._table().row_count == 3
