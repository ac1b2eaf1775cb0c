"""From two folders to a tasks file: paths, items of each file, files with the same bytes, and the time of it all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.decide.swarm.pairing import Told
from dissensus.errors import SpecError
from dissensus.interop.folders import read_folder
from dissensus.interop.reconciling import ALWAYS, base_of, lines_of, plan_data, plan_of, tasks_data
from dissensus.interop.tasks_file import tasks_of
from dissensus.specfile import Spec

TABLES = ({"reader": "tables"}, {"reader": "tables"})


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    notes, log = tmp_path / "office" / "notes", tmp_path / "warehouse"
    notes.mkdir(parents=True)
    log.mkdir()
    (notes / "1.txt").write_text("Delivery note DN-1\nOrder 4711\nPallets received: 10\n")
    (notes / "2.txt").write_text("Delivery note DN-2\nOrder 4712\nPallets received: 4\n")
    (log / "log.csv").write_text("booking,order,pallets\nB1,4711,10\nB2,4712,4\n")
    return notes, log


def test_each_file_goes_with_its_items_and_paths_start_from_where_the_file_lies(two: tuple[Path, Path]) -> None:
    plan = plan_of(*two, Told())
    assert base_of(plan) == two[0].parent.parent
    data = tasks_data(plan, two[1], TABLES, {"seed": 3})
    assert data["seed"] == 3
    assert data["parties"]["notes"]["sources"] == [
        {"file": "../office/notes/1.txt", "items": ["4711"]}, {"file": "../office/notes/2.txt", "items": ["4712"]},
    ]  # fmt: skip
    (log,) = data["parties"]["warehouse"]["sources"]
    assert log["file"] == "log.csv"
    assert "items" not in log, "it tells of all"
    whole = tasks_of(Spec("", data), two[1], two[1] / "store")
    assert [dict(party.of) for party in whole.parties] == [
        {item: tuple(party.of[item]) for item in ("4711", "4712")} for party in whole.parties
    ]
    assert {len(digests) for party in whole.parties for digests in party.of.values()} == {1}


def test_files_with_the_same_bytes_are_one(two: tuple[Path, Path]) -> None:
    notes, _ = two
    (notes / "copy of 1.txt").write_bytes((notes / "1.txt").read_bytes())
    plan = plan_of(*two, Told())
    assert "  1 of them have the bytes of another one, and count once" in list(lines_of(plan))
    (sources, _) = (one["sources"] for one in tasks_data(plan, notes, TABLES, {})["parties"].values())
    assert [one["file"] for one in sources] == ["1.txt", "2.txt"]


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side / "docs").mkdir(parents=True)
        (tmp_path / side / "docs" / "n.txt").write_text(f"Order 4711\nReceived: 3 pallets\n{side}\n")
    plan = plan_of(tmp_path / "a" / "docs", tmp_path / "b" / "docs", Told())
    assert plan.names == ("A", "B")


def test_the_time_is_that_of_all_documents_or_any(two: tuple[Path, Path]) -> None:
    assert plan_of(*two, Told()).as_of == ALWAYS
    with (two[0] / "1.txt").open("a") as file:
        file.write("Date: 2026-03-02\n")
    assert plan_of(*two, Told()).as_of == "2026-03-02"
    (two[1] / "log.csv").write_text("booking,order,pallets,booked_at\nB1,4711,10,2026-03-04T09:00\n")
    assert plan_of(*two, Told()).as_of == "2026-03-02/2026-03-05"
    assert plan_of(*two, Told(as_of="2026-03")).as_of == "2026-03"


def test_what_is_named_and_not_there_is_told(two: tuple[Path, Path]) -> None:
    plan = plan_of(*two, Told(items=("4712", "4799")))
    assert plan_data(plan)["missing"] == ["4799"]
    assert "  on neither side: 4799" in list(lines_of(plan))


def test_a_folder_is_read_in_the_order_of_its_paths(two: tuple[Path, Path]) -> None:
    (two[0] / "a").mkdir()
    (two[0] / "a" / "z.txt").write_text("x")
    calls: list[int] = []
    found = read_folder(two[0], lambda: calls.append(1))
    assert [document.path.as_posix() for document in found.documents] == ["1.txt", "2.txt", "a/z.txt"]
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ("4711", "has to be a list"),
        ([], "has to be a list"),
        ([True], "has to be a list"),
        (["4799"], "no item '4799'"),
    ],
)
def test_a_source_lists_items_that_there_are(two: tuple[Path, Path], items: Any, why: str) -> None:
    data = tasks_data(plan_of(*two, Told()), two[0], TABLES, {})
    data["parties"]["notes"]["sources"][0]["items"] = items
    with pytest.raises(SpecError, match=why):
        tasks_of(Spec("", data), two[0], two[0] / "store")
