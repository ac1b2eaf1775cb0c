from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dissensus.agents import catalogue, download
from dissensus.agents.catalogue import Entry, path_of
from dissensus.agents.download import Progress
from dissensus.cli import model as cli_model
from dissensus.cli.main import main

BYTES = b"GGUF" * 1000
ENTRY = Entry(
    name="tiny",
    title="Tiny 1B",
    use="tests of the command",
    license="Apache-2.0",
    provenance="made here",
    size=len(BYTES),
    sha256=hashlib.sha256(BYTES).hexdigest(),
)


@pytest.fixture(autouse=True)
def _own_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISSENSUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(catalogue, "entries", lambda: (ENTRY,))


def put() -> Path:
    path = path_of(ENTRY)
    path.parent.mkdir(parents=True)
    path.write_bytes(BYTES)
    return path


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["model", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_list_says_what_each_is() -> None:
    code, out, _ = run("list")
    assert code == 0
    for part in ("tiny", "absent", "Apache-2.0", "Tiny 1B", "tests of the command", "made here", ENTRY.sha256):
        assert part.lower() in out.lower()


def test_list_as_json() -> None:
    code, out, _ = run("list", "--json")
    assert code == 0
    (data,) = json.loads(out)
    assert data["state"] == "absent"
    assert data["path"] is None
    assert (data["name"], data["size"], data["sha256"]) == (ENTRY.name, ENTRY.size, ENTRY.sha256)
    path = put()
    (data,) = json.loads(run("list", "--json")[1])
    assert (data["state"], data["path"]) == ("installed", str(path))


def test_path_of_a_model_that_is_there_and_of_one_that_is_not() -> None:
    code, out, err = run("path", "tiny")
    assert (code, out) == (2, "")
    assert "dissensus model install tiny" in err
    path = put()
    assert run("path", "tiny") == (0, f"{path}\n", "")
    assert json.loads(run("path", "tiny", "--json")[1])["path"] == str(path)


@pytest.mark.parametrize("command", ["path", "install"])
def test_an_unknown_name(command: str) -> None:
    code, out, err = run(command, "gpt-99")
    assert (code, out) == (2, "")
    assert "gpt-99" in err
    assert "tiny" in err


def test_a_path_is_no_name() -> None:
    assert run("path", "./some.gguf")[0] == 2


def test_install_prints_the_path_and_talks_on_stderr() -> None:
    path = put()
    code, out, err = run("install", "tiny")
    assert (code, out) == (0, f"{path}\n")
    assert "already installed" in err
    data = json.loads(run("install", "tiny", "--json")[1])
    assert (data["state"], data["path"]) == ("installed", str(path))


def test_an_installation_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    # no index to ask, no hub, nothing in the cache
    monkeypatch.setattr(download, "index_urls", lambda: ())
    code, out, err = run("install", "tiny")
    assert (code, out) == (3, "")
    assert err.count("\n") <= 4
    assert "error:" in err


def test_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    lines = cli_model._Lines("tiny")
    for done in range(0, 4001, 100):
        lines(Progress(done, 4000, "part 1" if done < 2000 else "part 2"))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2, "one line for each thing that is being done, not one for each block"
    assert said[0].startswith("tiny: 0 of 0 MB, part 1")


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with cli_model._progress("tiny") as watch:
        watch(Progress(2_000_000, 4_000_000, "part 1 of 2"))
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "tiny: part 1 of 2" in plain
    assert "2.0/4.0 MB" in plain
