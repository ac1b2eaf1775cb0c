"""``dissensus reconcile``: two folders with known truth, what it takes them to be, and what is wrong with folders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from two_folders import OTHER_UNIT, SHORT, SPLIT, TWICE, UNBOOKED, UNDELIVERED, make, truth

from dissensus.cli.main import main
from dissensus.cli.reconcile import reconcile
from dissensus.cli.swarm import swarm
from dissensus.errors import DissensusError, SpecError, UsageError
from dissensus.interop import evidence_files, folders
from dissensus.interop.tasks_file import read_tasks

AGAINST = ("notes", "warehouse")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def orders(base: Path) -> Path:
    make(base)
    return base


def small(base: Path, note: str = "Order 4711\nPallets received: 10\n", log: str = "order,pallets\n4711,10\n") -> None:
    for name, file, text in (("notes", "n.txt", note), ("warehouse", "log.csv", log)):
        (base / name).mkdir(exist_ok=True)
        (base / name / file).write_text(text)


def run(*args: str) -> Result:
    return CliRunner().invoke(reconcile, [*args], catch_exceptions=True)


def fails(*args: str) -> DissensusError:
    found = run(*args)
    assert isinstance(found.exception, DissensusError), (found.output, found.exception)
    return found.exception


def document(*args: str) -> Any:
    return json.loads(run(*AGAINST, "--no-ask", "--json", *args).stdout)


# --- known truth


def test_forty_orders_end_as_they_have_to(orders: Path) -> None:
    found = run(*AGAINST, "--no-ask", "--json", "-o", "out", "--csv", "items.csv")
    assert found.exit_code == 1, found.output
    done = json.loads(found.stdout)
    assert {one["item"]: one["outcome"] for one in done["items"]} == truth()
    by_item = {one["item"]: one for one in done["items"]}
    assert by_item[TWICE]["rule"] == "R3"
    assert [one["claim"].partition("/")[0] for one in by_item[TWICE]["losers"]] == ["warehouse"]
    assert "duplicate-id@1" in by_item[TWICE]["losers"][0]["reason"]
    assert {cite["reopened"] for one in done["items"] for cite in one["cites"]} == {"EXACT"}
    assert [one["only"] for one in done["taken"]["sides"]] == [[UNBOOKED], [UNDELIVERED]]
    table = (orders / "items.csv").read_text().splitlines()
    assert len(table) == 1 + len(truth())
    assert next(line for line in table if line.startswith(SHORT)).split(",")[1] == "disputed"


def test_it_says_what_it_takes_to_be_what_before_it_starts(orders: Path) -> None:
    found = run(*AGAINST, "--no-ask", "--write", "tasks.yaml")
    assert found.exit_code == 0
    assert found.stdout == ""
    for line in (
        "A: notes, 8 pdf, 34 txt",
        "B: warehouse, 1 csv",
        "items: 39 on both sides, called order in A and column order in B",
        f"only in A: order {UNBOOKED}",
        f"only in B: order {UNDELIVERED}",
        'compared: pallets received, in pallet: "pallets received" in 40 documents in A, column pallets in B',
        "as of: 2026-03-01/2026-03-29",
    ):
        assert line in found.stderr, found.stderr
    assert sorted(path.name for path in orders.iterdir()) == ["notes", "tasks.yaml", "warehouse"], "nothing was run"


def test_the_tasks_file_that_it_writes_does_the_same(orders: Path) -> None:
    (orders / "some.txt").write_text(f"{SHORT}\n{TWICE}\n{SPLIT}\n4701\n4702\n4703")
    args = ("--items", "some.txt", "--seed", "4", "--plants", "2")
    assert run(*AGAINST, "--no-ask", "--write", "tasks.yaml", *args).exit_code == 0
    data = yaml.safe_load((orders / "tasks.yaml").read_text())
    split = [one for one in data["parties"]["notes"]["sources"] if one["items"] == [SPLIT]]
    assert len(split) == 2
    (log,) = data["parties"]["warehouse"]["sources"]
    assert log["table"] == {
        "value": "pallets", "subject": "order", "key": "booking", "time": "booked_at", "unit": "pallet",
    }  # fmt: skip
    direct = document(*args, "-o", "direct")
    told = CliRunner().invoke(swarm, ["tasks.yaml", "--json", "-o", "written"])
    written = json.loads(told.stdout)
    for key in ("items", "plants"):
        assert [_without_places(one) for one in written[key]] == [_without_places(one) for one in direct[key]], key
    assert direct["plants"], "and faults were planted in both"


def _without_places(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key not in ("record", "budget")}


def test_the_same_command_goes_on_and_files_that_have_changed_are_told(base: Path) -> None:
    small(base)
    args = (*AGAINST, "--no-ask", "-o", "out")
    assert run(*args).exit_code == 0
    records = {path: path.stat().st_mtime_ns for path in (base / "out").rglob("*.db")}
    assert records
    assert run(*args).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (base / "out").rglob("*.db")} == records, "nothing was done again"
    (base / "warehouse" / "log.csv").write_text("order,pallets\n4711,9\n")
    assert "has other bytes" in fails(*args).message
    done = run(*args, "--repin")
    assert done.exit_code == 1
    assert "disputed" in done.stdout


def test_a_question_waits_for_a_person(base: Path) -> None:
    small(base, log="order,pallets\n4711,9\n")
    found = run(*AGAINST)
    assert found.exit_code == 3
    assert "dissensus inbox" in found.stdout
    assert "Then: dissensus reconcile notes warehouse" in found.stdout


# --- who reads


def test_agents_read_in_place_of_the_built_in_reader(base: Path) -> None:
    small(base)
    answer = (
        '{"claims": [{"attribute": "pallets received", "value": 10, "evidence": [{"source": "%s", "quote": "%s"}]}]}'
    )
    (base / "panel.yaml").write_text(
        yaml.safe_dump(
            {
                "models": {"one": {"use": f"scripted:{answer % ('notes/n.txt', 'Pallets received: 10')}"}},
                "agents": [{"name": "ada", "model": "one"}, {"name": "ben", "model": "one"}],
            }
        )
    )
    done = run(*AGAINST, "--panel", "panel.yaml", "--agents-a", "ada", "--no-ask", "--json", "-o", "out")
    assert done.exit_code == 0, done.output
    (item,) = json.loads(done.stdout)["items"]
    assert item["outcome"] == "consistent"
    read = {(one["party"], one["agent"]) for one in json.loads(done.stdout)["summary"]["readers"]}
    assert read == {("notes", "ada"), ("warehouse", "reader")}
    assert "no agent 'eve'" in fails(*AGAINST, "--panel", "panel.yaml", "--agents-a", "eve").message
    assert "which agents of the panel" in fails(*AGAINST, "--panel", "panel.yaml").message
    assert "both say who reads" in fails(*AGAINST, "--panel", "panel.yaml", "--model", "scripted:x").message
    assert "which agents read" in fails(*AGAINST, "--agents-a", "2").message
    assert "number of agents" in fails(*AGAINST, "--model", "scripted:x", "--agents-a", "ada").message
    assert "No agent reads" in fails(
        *AGAINST, "--model", "scripted:x", "--agents-a", "0", "--agents-b", "0"
    ).message  # fmt: skip


def test_agents_on_one_model_are_written_with_their_panel(base: Path) -> None:
    small(base)
    model = 'scripted:{"none": "nothing can be told"}'
    args = (*AGAINST, "--model", model, "--agents-a", "2", "--agents-b", "0", "--verifier", model)
    assert run(*args, "--write", "tasks.yaml").exit_code == 0
    tasks = read_tasks(base / "tasks.yaml", base / "store")
    assert [(party.by, party.agents) for party in tasks.parties] == [("agent", ("ada", "ben")), ("tables", ("reader",))]
    assert tasks.verifier == "verifier"
    assert tasks.panel is not None
    assert {seat.agent: seat.temperature for seat in tasks.panel.seats} == {"ada": 0, "ben": 0, "verifier": 0}
    done = run(*args, "--no-ask", "--json", "-o", "out")
    (item,) = json.loads(done.stdout)["items"]
    assert (done.exit_code, item["outcome"]) == (1, "unchallenged")
    assert "nothing can be told" in item["silent"]["notes"]


# --- what the user says


def test_what_is_not_clear_stops_it_with_the_flag_that_says_it(base: Path) -> None:
    small(base, log="order,qty\n4711,10\n")
    error = fails(*AGAINST)
    assert isinstance(error, UsageError)
    assert error.exit_code == 2
    assert "A: pallets received (pallet)" in error.message
    assert "B: qty" in error.message
    assert '--attribute "NAME=OTHER"' in error.next_step
    done = document("--attribute", "pallets received=qty")
    assert [one["outcome"] for one in done["items"]] == ["consistent"]
    assert done["taken"]["wanted"][0]["names"] == ["qty"]
    assert not (base / "notes-warehouse.swarm" / "cases" / "none").exists()
    assert "Nothing in B is called 'kegs'" in fails(*AGAINST, "--attribute", "pallets received=kegs").message


def test_items_unit_and_time_can_be_said(orders: Path) -> None:
    (orders / "some.txt").write_text(f"4701\n\n4702\n{OTHER_UNIT}\n9999\n4701\n")
    found = run(*AGAINST, "--no-ask", "--json", "--items", "some.txt", "-o", "out")
    done = json.loads(found.stdout)
    assert [one["item"] for one in done["items"]] == ["4701", "4702", OTHER_UNIT]
    assert done["taken"]["missing"] == ["9999"]
    assert "on neither side: 9999" in found.stderr
    (orders / "two.txt").write_text("4701\n4704\n")
    early = document("--as-of", "2026-03-01/2026-03-03", "--key", "order", "--items", "two.txt", "-o", "early")
    outcomes = {one["item"]: one["outcome"] for one in early["items"]}
    assert outcomes["4701"] == "consistent"
    assert outcomes["4704"] == "no report", "it came later"
    (orders / "none.txt").write_text("\n")
    assert "names no item" in fails(*AGAINST, "--items", "none.txt").message
    (orders / "bad.txt").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in fails(*AGAINST, "--items", "bad.txt").message
    assert "--as-of is no time" in fails(*AGAINST, "--as-of", "soon").message
    assert "holds no name" in fails(*AGAINST, "--key", "=x").message
    assert "--plants is no number" in fails(*AGAINST, "--plants", "many").message


# --- bad input


def test_folders_that_are_none(base: Path) -> None:
    small(base)
    assert "nowhere is not there" in fails("notes", "nowhere").message
    assert "n.txt is no folder" in fails("notes", "notes/n.txt").message
    assert "are the same" in fails("notes", "notes/../notes").message
    (base / "link").symlink_to(base / "notes")
    assert "are the same" in fails("notes", "link").message
    (base / "notes" / "inner").mkdir()
    assert "lies in the other" in fails("notes", "notes/inner").message
    (base / "empty").mkdir()
    assert "it is empty" in fails("notes", "empty").message
    (base / "pictures").mkdir()
    (base / "pictures" / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    error = fails("notes", "pictures")
    assert "photo.jpg: not one of" in error.message
    assert ".csv" in error.next_step


def test_what_cannot_be_read_is_told_and_passed_over(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(base)
    notes = base / "notes"
    (notes / ".draft.txt").write_text("Order 4711\nPallets received: 99\n")
    (notes / ".git").mkdir()
    (notes / ".git" / "x.txt").write_text("Order 4711\nPallets received: 99\n")
    (notes / "scan.txt").write_bytes(b"\0\1Order 4711")
    (notes / "latin.txt").write_bytes("Größe".encode("latin-1"))
    (notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (notes / "no.pdf").write_text("Order 4711")
    (notes / "blank.md").write_text(" \n")
    (notes / "odd[1].txt").write_text("Order 4711\n")
    os.mkfifo(notes / "pipe.txt")
    with (notes / "huge.csv").open("wb") as file:
        file.truncate(200_000_000)
    found = run(*AGAINST, "--no-ask", "--json", "-o", "out")
    done = json.loads(found.stdout)
    told = done["taken"]["sides"][0]["passed_over"]
    assert told.keys() == {
        ".draft.txt", ".git", "scan.txt", "latin.txt", "broken.pdf", "no.pdf", "blank.md", "odd[1].txt", "pipe.txt",
        "huge.csv",
    }  # fmt: skip
    assert told["huge.csv"] == "larger than 100 MB"
    assert told["scan.txt"] == told["latin.txt"] == "no text in UTF-8"
    assert told[".git"] == told[".draft.txt"] == "hidden"
    assert "passed over: .draft.txt (hidden)" in found.stderr
    assert "5 more" in found.stderr
    assert [one["outcome"] for one in done["items"]] == ["consistent"]
    monkeypatch.setattr(folders, "MOST_BYTES", 20)
    assert isinstance(fails(*AGAINST), SpecError)


def test_documents_that_are_named_by_their_files_alone_are_refused(base: Path) -> None:
    small(base, note="Pallets received: 10\n")
    (base / "notes" / "n.txt").rename(base / "notes" / "order-4711.txt")
    assert "do not say which item" in fails(*AGAINST).message
    done = run(*AGAINST, "--model", 'scripted:{"none": "x"}', "--write", "tasks.yaml")
    assert done.exit_code == 0, "an agent may still make something of them"


def test_a_file_that_cannot_be_written_is_told(base: Path) -> None:
    small(base)
    assert "which is read" in fails(*AGAINST, "-o", "notes/out").message
    assert "cannot be written" in fails(*AGAINST, "--write", "nowhere/tasks.yaml").message


def test_a_folder_of_another_user_is_told(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(base)

    def refuse(path: Path, *, most: int = 0) -> bytes:
        raise SpecError(f"The file cannot be read: Permission denied ({most}).", path=str(path))

    monkeypatch.setattr(folders, "read_bytes", refuse)
    assert "Permission denied" in fails(*AGAINST).message
    assert evidence_files.MOST_BYTES == 100_000_000


def test_the_command_is_among_the_others() -> None:
    found = CliRunner().invoke(main, ["--help"])
    assert "reconcile" in found.output
