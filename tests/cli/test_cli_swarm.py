"""``dissensus swarm``: the table, the document, the plan, the files, the exit codes, and what goes wrong."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
from small_swarms import TASKS, done_twice, written

from dissensus.cli.main import main
from dissensus.cli.swarm import swarm
from dissensus.errors import DissensusError, SpecError, UsageError

KEYS = [
    "case", "status", "rule", "cites", "losers", "question", "answer", "verifier_input_sha256", "cell", "budget",
]  # fmt: skip
"""What the document of a case holds, by the issue."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> Result:
    return CliRunner().invoke(swarm, ["tasks.yaml", *args], catch_exceptions=True)


def fails(*args: str) -> DissensusError:
    found = run(*args)
    assert isinstance(found.exception, DissensusError), found.output
    return found.exception


def test_it_ends_with_a_table_and_with_what_needs_somebody(folder: Path) -> None:
    found = run()
    assert found.exit_code == 3
    lines = found.stdout.splitlines()
    assert lines[0] == "march: 8 items"
    counts = {line.split()[0]: int(line.split()[1]) for line in lines[1:4]}
    assert counts == {"consistent": 4, "unchallenged": 2, "waiting": 2}
    text = found.stdout
    assert re.search(r"documents/ada +4 of 4 items", text)
    assert "cell: no program of others was run" in text
    assert (
        "Spot checks: 1 item drawn among those in which nothing contradicts, 1 looked at; the verifier is vera" in text
    )
    assert re.search(r"all +2 of 2 caught  \[0\.34, 1\.00\]", text)
    assert "money unknown" in text
    assert "dissensus inbox show tasks.swarm/cases/4702.db" in text
    assert "dissensus why tasks.swarm/cases/4704.db" in text
    assert "(documents: 11 pallet; warehouse: 7 pallet)" in text
    assert text.rstrip().endswith("Then: dissensus swarm tasks.yaml")
    assert (folder / "tasks.swarm" / "evidence").is_dir()
    assert "at most" in found.stderr, "what it will take is said first"


def test_the_document_has_a_case_for_each_item_and_a_summary(folder: Path) -> None:
    found = run("-o", "out", "--json")
    assert found.exit_code == 3
    data = json.loads(found.stdout)
    assert [one["item"] for one in data["items"]] == [str(4700 + number) for number in range(8)]
    for one in data["items"]:
        assert [key for key in one if key in KEYS] == KEYS
    by_item = {one["item"]: one for one in data["items"]}
    assert by_item["4704"]["status"] == "unchallenged", "never told as agreed"
    assert by_item["4704"]["silent"] == {"documents": "it has no source of this item"}
    assert (by_item["4702"]["status"], by_item["4702"]["rule"]) == ("waiting", "R7")
    assert by_item["4702"]["cites"][0]["reopened"] == "EXACT"
    summary = data["summary"]
    assert summary["outcomes"]["consistent"] == 4
    assert summary["plants"]["all"]["caught"] == 2
    assert summary["cost"]["money"] is None
    assert summary["cost"]["silent"]["money"] == summary["cost"]["calls"]
    assert {one["agent"]: one["reported"] for one in summary["readers"]} == {"ada": 4, "ben": 3, "reader": 7}
    assert (folder / "out" / "cases" / "4702.db").exists()
    again = json.loads(run("-o", "out", "--json").stdout)
    again["summary"]["seconds"] = summary["seconds"]
    assert again == data


def test_a_plan_asks_nobody_and_leaves_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    found = run("--plan")
    assert found.exit_code == 0
    assert "documents/ada: 4 items (4700 … 4703) from 4 files" in found.stdout
    assert "documents has no source of 1 item" in found.stdout
    data = json.loads(run("--plan", "--json").stdout)
    assert [share["calls"] for share in data["shares"]] == [8, 6, 0]
    assert data["items"] == 8
    assert sorted(folder.iterdir()) == before


def test_a_table_and_a_page_are_written(folder: Path) -> None:
    found = run("--csv", "x.csv", "--html", "x.html")
    assert found.exit_code == 3
    rows = list(csv.DictReader(io.StringIO((folder / "x.csv").read_text())))
    assert [row["outcome"] for row in rows if row["item"] in ("4700", "4702")] == ["consistent", "waiting"]
    assert rows[2]["documents"] == "11 pallet"
    page = (folder / "x.html").read_text()
    parser = Links()
    parser.feed(page)
    assert parser.links == {f"#case-{4700 + number}" for number in range(8)}
    assert parser.ids == {link[1:] for link in parser.links}
    assert not parser.outside
    assert "<script" not in page


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - its signature
        data: dict[str, Any] = dict(attrs)
        if "href" in data:
            self.links.add(data["href"])
        if "id" in data:
            self.ids.add(data["id"])
        self.outside += [str(data[key]) for key in ("src",) if key in data]


def test_text_of_others_steers_nothing(folder: Path) -> None:
    evil = '=HYPERLINK("http://x")'
    orders = folder / "orders.csv"
    orders.write_text(
        orders.read_text() + f'"{evil.replace(chr(34), chr(34) * 2)}",acme\n<script>alert(1)</script>,acme\n'
    )
    run("--csv", "x.csv", "--html", "x.html")
    rows = list(csv.DictReader(io.StringIO((folder / "x.csv").read_text())))
    assert rows[8]["item"] == f"'{evil}", "no spreadsheet takes it for a formula"
    assert "<script" not in (folder / "x.html").read_text()


@pytest.mark.parametrize(
    ("was", "now", "code"),
    [
        ("verifier: vera", "person: {ask: false}\nverifier: vera", 1),
        ("items: {file: orders.csv, column: order}", "items: [4700, 4701]", 0),
        ("items: {file: orders.csv, column: order}", "items: [4700, 4704]", 1),
        ("plants: {share: 0.5}", "budget: {calls: 3}", 3),
    ],
)
def test_the_exit_code_says_how_it_ended(folder: Path, was: str, now: str, code: int) -> None:
    (folder / "tasks.yaml").write_text(TASKS.replace(was, now))
    found = run()
    assert found.exit_code == code, found.output
    if code == 3:
        assert "Limits of the budget that were hit: calls" in found.stdout
        assert "raise the budget" in found.stdout or "3 calls" in found.stdout


def test_what_has_changed_is_refused_and_repinned(folder: Path) -> None:
    run()
    note = folder / "notes" / "4700-note.txt"
    note.write_text(note.read_text().replace("received: 5", "received: 6"))
    error = fails()
    assert isinstance(error, UsageError)
    assert "notes/4700-note.txt has other bytes" in error.message
    assert "--repin" in error.next_step
    found = run("--repin", "--json")
    data = json.loads(found.stdout)
    assert data["items"][0]["status"] == "waiting"
    assert data["items"][1]["status"] == "consistent"


def test_bad_files_are_told_with_their_line(folder: Path) -> None:
    (folder / "tasks.yaml").write_text(TASKS + "colour: red\n")
    error = fails()
    assert isinstance(error, SpecError)
    assert error.line == 17
    assert not (folder / "tasks.swarm").exists(), "nothing was begun"
    (folder / "tasks.yaml").write_text(TASKS)
    missing = CliRunner().invoke(swarm, ["nothing.yaml"]).exception
    assert isinstance(missing, SpecError)
    assert "The tasks file cannot be read" in missing.message


def test_interrupted_it_says_how_to_go_on_and_goes_on(tmp_path: Path) -> None:
    written(tmp_path, delay=0.2)
    command = [sys.executable, "-m", "dissensus", "swarm", "tasks.yaml"]
    begun = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("tasks.swarm/reports/*.db")) and time.monotonic() < until:
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    out, err = begun.communicate(timeout=60)
    assert begun.returncode == 130, err
    assert out == ""
    assert "go on with: dissensus swarm tasks.yaml" in err
    (tmp_path / "panel.yaml").write_text((tmp_path / "panel.yaml").read_text().replace("delay_s: 0.2", "delay_s: 0"))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3
    assert "march: 8 items" in done.stdout
    assert not done_twice(tmp_path / "tasks.swarm")


def test_it_is_a_command() -> None:
    found = CliRunner().invoke(main, ["swarm", "--help"])
    assert found.exit_code == 0
    assert "--require-cell" in found.output
    found = CliRunner().invoke(main, ["--help"])
    assert "swarm" in found.output
