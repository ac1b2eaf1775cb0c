"""Items on the disk: the case file says what the case in memory says, PDF files can be read, a batch is a swarm."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from folders import write_item
from invoice_arms import end_of
from invoice_cases import NAMES, Item, Style, case_of, item_of
from kinds import PLAIN
from pdf_writer import pdf_of

from dissensus.decide.dispute.account import account_of
from dissensus.errors import SpecError
from dissensus.interop.case_file import read_case
from dissensus.interop.case_reopening import reopened_today
from dissensus.interop.pdf_pages import pages_of
from dissensus.interop.tasks_file import read_tasks
from dissensus.record.memory import MemoryStore
from dissensus.run.disputing import dispute
from dissensus.study.swarm.running import run_swarm

MAKE = Path(__file__).resolve().parents[2] / "examples" / "invoices" / "make.py"


@pytest.mark.parametrize("number", range(1, 17))
@pytest.mark.parametrize("pdf", [False, True])
def test_a_case_file_is_the_case_in_memory(tmp_path: Path, number: int, pdf: bool) -> None:
    if pdf:
        pytest.importorskip("pypdf")
    item = item_of(7, number, style=Style(pdf=pdf))
    write_item(tmp_path, item)
    read, made = read_case(tmp_path / "case.yaml").case, case_of(item)
    assert read.claims == made.claims
    assert read.sources == made.sources
    assert (read.live, read.pack_sizes, read.precedence) == (made.live, made.pack_sizes, made.precedence)
    assert read.reports == made.reports
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert (truth["kind"], truth["required"]["state"]) == (item.kind, item.required.state)


def test_what_was_edited_is_seen_when_the_case_is_reopened(tmp_path: Path) -> None:
    item = next(one for one in (item_of(7, number) for number in range(1, 33)) if one.kind == 9)
    (edited,) = [paper for paper in item.papers if paper.later]
    write_item(tmp_path, item)
    case = read_case(tmp_path / "case.yaml").case
    store = MemoryStore()
    dispute(replace(case, asking=replace(case.asking, ask=False)), record=store)
    account = account_of(list(store.read()))
    assert end_of(item, account).live == "CHANGED"
    before = {one["evidence"]: one["live"] for one in reopened_today(account)}
    (tmp_path / edited.file).write_bytes(edited.data)  # as it was when it was captured
    after = {one["evidence"]: one["live"] for one in reopened_today(account)}
    assert "CHANGED" in before.values()
    assert {after[name] for name, live in before.items() if live == "CHANGED"} == {"SAME"}


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *flags: str) -> Path:
    folder = tmp_path / "made"
    monkeypatch.setattr(sys, "argv", [str(MAKE), str(folder), *flags])
    runpy.run_path(str(MAKE), run_name="__main__")
    return folder


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("pdf", [False, True])
def test_a_batch_is_a_swarm_that_ends_as_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pdf: bool) -> None:
    if pdf:
        pytest.importorskip("pypdf")
    folder = made(tmp_path, monkeypatch, "--items", "32", *(["--pdf"] if pdf else []))
    swarm = read_tasks(folder / "batch" / "swarm.yaml", tmp_path / "pinned")
    result = run_swarm(replace(swarm, asking=replace(swarm.asking, ask=False)), tmp_path / "records")
    truth = {row["subject"].removeprefix("order "): row for row in map(json.loads, lines_of(folder / "truth.jsonl"))}
    assert {one.item for one in result.items} == set(truth)
    for one in result.items:
        row = truth[one.item]
        wanted = row["required"]["state"] if row["kind"] != 6 else "unchallenged"  # two times: nobody has agreed
        assert (one.outcome, one.rule) == (wanted, row["required"]["rule"] if wanted == "settled" else ""), row


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_command_gives_the_same_bytes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bytes_in(made(tmp_path / "1", monkeypatch, "--items", "20", "--seed", "3"))
    again = bytes_in(made(tmp_path / "2", monkeypatch, "--items", "20", "--seed", "3"))
    other = bytes_in(made(tmp_path / "3", monkeypatch, "--items", "20", "--seed", "4"))
    assert first == again
    assert first.keys() >= {"items/0001/case.yaml", "batch/swarm.yaml", "truth.jsonl"}
    assert first["truth.jsonl"] != other["truth.jsonl"]


def test_kinds_and_misreports_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path, monkeypatch, "--items", "6", "--kinds", "1,11", "--misreport", "forges")
    rows = [json.loads(line) for line in lines_of(folder / "truth.jsonl")]
    assert sorted(row["kind"] for row in rows) == [1, 1, 1, 11, 11, 11]
    assert all(not all(row["true"].values()) for row in rows)


@pytest.mark.parametrize("flags", [["--kinds", "17"], ["--kinds", "0,3"]])
def test_a_kind_that_there_is_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        made(tmp_path, monkeypatch, *flags)
    assert end.value.code == 2
    assert "there is no kind" in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit):
        made(tmp_path, monkeypatch)
    assert "is not empty" in capsys.readouterr().err
    assert bytes_in(tmp_path / "made") == {"mine.txt": b"mine"}


def test_an_altered_case_file_is_refused(tmp_path: Path) -> None:
    write_item(tmp_path, item_of(7, 1, (1,)))
    text = (tmp_path / "case.yaml").read_text()
    (tmp_path / "case.yaml").write_text(text.replace("warehouse.csv", "nowhere.csv"))
    with pytest.raises(SpecError):
        read_case(tmp_path / "case.yaml")


# --- PDF


def test_a_pdf_holds_its_lines_as_text() -> None:
    pytest.importorskip("pypdf")
    pages = [["Delivery note (copy) \\ 2", "Müller & Söhne – 1'200 pallets", "RECEIVED      12 drums"], ["Page two"]]
    found = [page.split("\n") for page in pages_of(pdf_of(pages))]
    assert found == pages


def test_every_line_of_every_note_can_be_quoted_from_its_pdf() -> None:
    pytest.importorskip("pypdf")
    for number in range(1, 41):
        item = item_of(11, number, style=Style(pdf=True))
        paper = item.paper("note")
        read = [line for page in pages_of(paper.data) for line in page.split("\n")]
        shown = [line for page in paper.pages for line in page if line]
        assert [line for line in read if line] == shown, item.name


@pytest.mark.parametrize("pages", [[["日本"]], [["line"] * 60]])
def test_what_a_page_cannot_hold_is_refused(pages: list[list[str]]) -> None:
    with pytest.raises(ValueError, match=r"codec|lines"):
        pdf_of(pages)


def test_kinds_of_items_are_the_same_in_both_layouts() -> None:
    items: list[Item] = [item_of(7, number) for number in range(1, 33)]
    assert [item.kind for item in items] == [item_of(7, number, style=PLAIN).kind for number in range(1, 33)]
    assert {item.kind for item in items} == set(NAMES)
