"""What a user can get wrong, through the real program: one clear sentence, the right exit code, nothing lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import dissensus
from dissensus.record.sqlite import open_record

PROGRAM = [sys.executable, "-c", "from dissensus.cli.main import main; main()"]
ASK = ["decide", "Is 2027 a prime number?", "--options", "yes,no", "--agents", "3", "--model", "scripted:Answer: yes"]


def run(*arguments: str | bytes, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=60,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def says_one_thing(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """The exit code, no traceback, few lines, and the words that help (`verify` says them on stdout: its result)."""
    said = done.stderr + done.stdout
    assert done.returncode == code, said
    assert "Traceback" not in said
    assert done.stdout == "" or "verify" in done.args
    assert len(said.strip().splitlines()) <= 6, said
    for word in words:
        assert word in said, said


PANEL = """\
models:
  one: {use: "scripted:Answer: yes"}
agents:
  - {name: ada, model: one}
  - {name: ben, model: one}
"""


@pytest.mark.parametrize(
    ("panel", "words"),
    [
        pytest.param(PANEL.replace("name: ben", "nmae: ben"), ["panel.yaml:5", "nmae", "name"], id="unknown key"),
        pytest.param(PANEL.replace("ben, model: one", "ben, model: two"), ["panel.yaml:5", "two"], id="no such model"),
        pytest.param(
            PANEL.replace('yes"}', 'yes", api_key: "sk-canary-0123456789abcdef"}'),
            ["panel.yaml:2", "api_key_env"],
            id="a key in the file",
        ),
        pytest.param(PANEL.replace("ben", "ada"), ["panel.yaml:5", "ada"], id="two of a name"),
        pytest.param("agents: [", ["panel.yaml"], id="no YAML"),
        pytest.param("", ["panel.yaml"], id="empty"),
        pytest.param(
            PANEL.replace("scripted:Answer: yes", "llama:no-such-model-at-all"),
            ["no-such-model-at-all", "qwen2.5-coder-0.5b"],
            id="missing model",
        ),
    ],
)
def test_panel_files(tmp_path: Path, panel: str, words: list[str]) -> None:
    (tmp_path / "panel.yaml").write_text(panel)
    done = run("decide", "Is it?", "--panel", "panel.yaml", cwd=tmp_path)
    says_one_thing(done, 2, *words)
    assert "canary" not in done.stderr


def test_a_panel_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "panel.yaml").write_bytes(PANEL.encode().replace(b"ada", b"ad\xe9"))
    says_one_thing(run("decide", "Is it?", "--panel", "panel.yaml", cwd=tmp_path), 2, "panel.yaml", "UTF-8")


def test_a_question_that_is_not_utf8(tmp_path: Path) -> None:
    done = run("decide", b"caf\xe9?", "--model", "scripted:x", cwd=tmp_path)
    says_one_thing(done, 2, "UTF-8")
    (tmp_path / "questions.jsonl").write_bytes(b'{"question": "caf\xe9?"}\n')
    done = run("decide", "--file", "questions.jsonl", "--model", "scripted:x", cwd=tmp_path)
    says_one_thing(done, 2, "questions.jsonl", "UTF-8")


def test_a_question_of_ten_megabytes(tmp_path: Path) -> None:
    with (tmp_path / "questions.jsonl").open("w") as file:
        file.write('{"question": "' + "x" * 10_000_000 + '?"}\n')
    done = run("decide", "--file", "questions.jsonl", "--model", "scripted:Answer: yes", cwd=tmp_path)
    says_one_thing(done, 2, "questions.jsonl:1", "10,000,001 characters")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('{"question": "a?"', "JSON"),
        ('{"qestion": "a?"}', "question"),
        ('{"question": ""}', "empty"),
        ("[1]", "object"),
    ],
)
def test_lines_of_a_question_file(tmp_path: Path, line: str, word: str) -> None:
    (tmp_path / "questions.jsonl").write_text('{"question": "fine?"}\n' + line + "\n")
    done = run("decide", "--file", "questions.jsonl", "--model", "scripted:x", cwd=tmp_path)
    says_one_thing(done, 2, "questions.jsonl:2", word)
    assert not (tmp_path / "runs").exists()  # refused before anything was asked


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    dissensus.vote("Is it?", panel=dissensus.default_panel("scripted:Answer: yes", 3), record=path)
    return path


@pytest.mark.parametrize("command", [["record", "verify"], ["record", "show"], ["replay"], ["resume"]])
def test_a_record_from_a_newer_version(record: Path, tmp_path: Path, command: list[str]) -> None:
    from dissensus.record.chain import GENESIS, link
    from dissensus.record.upcast import SCHEMA

    newer = tmp_path / "newer.db"
    db = sqlite3.connect(record)
    db.execute("VACUUM INTO ?", (str(newer),))
    db.close()
    db = sqlite3.connect(newer)
    for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    version = f'"v":{SCHEMA}'.encode()
    with db:
        rows = db.execute("SELECT seq, body FROM events").fetchall()
        assert all(version in body for _, body in rows)
        last = GENESIS
        for seq, body in rows:  # with hashes that hold, as the newer version would have written them
            newer_body = body.replace(version, b'"v":999')
            last = link(last, newer_body)
            db.execute("UPDATE events SET body = ?, hash = ? WHERE seq = ?", (newer_body, last, seq))
    db.close()
    done = run(*command, str(newer), cwd=tmp_path)
    says_one_thing(done, 4, "version 999", "Update")


@pytest.mark.parametrize("command", [["record", "verify"], ["replay"], ["resume"]])
@pytest.mark.parametrize("left", [10, 1000, 5000])
def test_a_truncated_database(record: Path, tmp_path: Path, command: list[str], left: int) -> None:
    path = tmp_path / "cut.db"
    path.write_bytes(record.read_bytes()[:left])
    done = run(*command, str(path), cwd=tmp_path)
    says_one_thing(done, 4, "cut.db")
    assert path.read_bytes() == record.read_bytes()[:left]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["/bin/umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path, tmp_path: Path) -> None:
    question = "Is it? " + "".join(f"{number} " for number in range(26_000))
    (tmp_path / "questions.jsonl").write_text(f'{{"question": "{question}"}}\n')
    done = run(
        "decide", "--file", "questions.jsonl", "--model", "scripted:Answer: yes", "--record", str(small_disk),
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "full" in done.stderr


def test_a_read_only_disk(small_disk: Path, tmp_path: Path) -> None:
    path = small_disk / "run.db"
    dissensus.vote("Is it?", panel=dissensus.default_panel("scripted:Answer: yes", 3), record=path)
    subprocess.run(["/bin/mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = run(*ASK, "--record", str(small_disk), cwd=tmp_path)
    says_one_thing(done, 3, str(small_disk))
    assert run("record", "verify", str(path), cwd=tmp_path).returncode == 0
    assert run("replay", str(path), cwd=tmp_path).returncode == 0


class Echo(BaseHTTPRequestHandler):
    """Refuses every request, and says back all that it was sent, the key included."""

    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Answer 401 with the headers of the request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(str(self.headers["Authorization"]))
        body = f'{{"error": {{"message": "who is {self.headers["Authorization"]}?"}}}}'.encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name in the standard library
        """Say nothing."""


def test_keys_never_reach_records_output_or_logs(tmp_path: Path) -> None:
    """A server that echoes the key in its error; every file and every word that is left is searched."""
    canary = "sk-canary-5f3a9c1d7e8b"
    Echo.keys.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        (tmp_path / "panel.yaml").write_text(
            f"models:\n  far: {{use: 'openai:m', url: 'http://127.0.0.1:{server.server_port}/v1', "
            "api_key_env: CANARY_KEY}\nagents:\n  - {name: ada, model: far}\n  - {name: ben, model: far}\n"
        )
        done = run(
            "decide", "Is it?", "--panel", "panel.yaml", "--json", cwd=tmp_path,
            env={"CANARY_KEY": canary, "PYTHONASYNCIODEBUG": "1"},
        )  # fmt: skip
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert Echo.keys
    assert all(canary in key for key in Echo.keys)  # the server did get it
    assert done.returncode == 3, done.stderr
    assert '"status": "failed"' in done.stdout
    assert canary not in done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)
    assert not [path for path in files if canary.encode() in path.read_bytes()]
    with open_record(next(path for path in files if path.suffix == ".db")) as record:
        assert canary not in repr(list(record.read()))  # long texts resolved
