"""The tasks file: what is wrong is named with its line, files find their items, and no other file is read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
from small_swarms import TASKS, written

from dissensus.decide.swarm.work import Share
from dissensus.errors import SpecError, UsageError
from dissensus.interop.item_files import by_item, matching
from dissensus.interop.tasks_file import read_tasks
from dissensus.study.swarm.batch import KINDS, Swarm
from dissensus.study.swarm.running import run_swarm
from dissensus.study.swarm.shares import shares_of


def read(folder: Path, tasks: str = TASKS) -> Swarm:
    return read_tasks(written(folder, tasks=tasks), folder / "evidence")


def wrong(folder: Path, was: str, now: str) -> SpecError:
    assert was in TASKS
    with pytest.raises(SpecError) as raised:
        read(folder, TASKS.replace(was, now))
    return raised.value


def test_a_tasks_file_becomes_a_batch(tmp_path: Path) -> None:
    whole = read(tmp_path)
    assert whole.items == tuple(str(number) for number in range(4700, 4708))
    documents, warehouse = whole.parties
    assert (documents.agents, documents.by, warehouse.agents, warehouse.by) == (
        ("ada", "ben"), "agent", ("reader",), "tables",
    )  # fmt: skip
    (note,) = documents.of["4700"]
    assert (documents.sources[note].name, documents.sources[note].kind) == ("notes/4700-note.txt", "signed-note")
    assert "4704" not in documents.of
    (log,) = warehouse.sources
    assert all(warehouse.of[item] == (log,) for item in whole.items)
    table = warehouse.sources[log].table
    assert table is not None
    assert table.key == "booking"
    assert {path.name for path in (tmp_path / "evidence").iterdir()} == {*documents.sources, log}
    assert whole.wanted[0].about("4700") == {
        "subject": "order 4700", "attribute": "pallets received", "unit": "pallet", "as_of": "2026-03",
    }  # fmt: skip
    assert (whole.verifier, whole.spot_checks, whole.plants.share, whole.plants.kinds) == ("vera", 0.25, 0.5, KINDS)


@pytest.mark.parametrize(
    ("was", "now", "line", "says"),
    [
        ("swarm: march\n", "", 1, "no name"),
        ("swarm: march\n", "swarm: march\nspeed: 9\n", 2, "'speed' is no key of a tasks file"),
        ("column: order", "column: orders", 2, "no column 'orders'"),
        ("unit: pallet, as_of", "unit: {column: uom}, as_of", 5, "no column 'uom'"),
        ("unit: pallet, as_of", "unit: {columns: uom}, as_of", 5, "a text, or a column of the file"),
        ("unit: pallet, as_of", "unit: {column: 9}, as_of", 5, "a text, or a column of the file"),
        ("file: orders.csv", "file: order.csv", 2, "cannot be read"),
        ("{file: orders.csv, column: order}", "[a, a, {b: 1}]", 2, "has to be a text"),
        ("{file: orders.csv, column: order}", '{files: "nothing/*.txt"}', 2, "not one item"),
        ("attribute: pallets received", "atribute: pallets received", 5, "'atribute' is no key"),
        ("as_of: 2026-03,", "as_of: soon,", 5, "`as_of`"),
        ("names: [pallets]", "names: pallets", 5, "list of texts"),
        ("agents: [ada, ben]", "agents: [ada, zoe]", 8, "no agent 'zoe'"),
        ("agents: [ada, ben]", "agents: [ada, ben]\n    reader: tables", 7, "is not said once"),
        ("agents: [ada, ben]", "program: {tool: look}", 8, "no tool 'look'"),
        ("reader: tables", "reader: everything", 11, "no reader 'everything'"),
        ('files: "notes/{item}*"', 'files: "note/{item}*"', 9, "No file is named"),
        ('files: "notes/{item}*"', 'files: "/notes/{item}*"', 9, "starts from the folder"),
        ('files: "notes/{item}*"', "file: log.csv, files: log.csv", 9, "either `file` or `files`"),
        ("file: log.csv", "file: lag.csv", 13, "cannot be read"),
        ("table: {value: pallets,", "table: {", 13, "at least its `value` column"),
        ("verifier: vera", "verifier: zoe", 14, "no agent 'zoe'"),
        ("spot_checks: 0.25", "spot_checks: 25", 15, "from 0 to 1"),
        ("plants: {share: 0.5}", "plants: {share: 0.5, number: 3}", 16, "either a share or a number"),
        ("plants: {share: 0.5}", "plants: {number: 3, kinds: [lies]}", 16, "no fault that can be planted"),
        ("plants: {share: 0.5}", "budget: {cols: 3}", 16, "'cols' is no key of a budget"),
        ("plants: {share: 0.5}", "jobs: many", 16, "`jobs`"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, was: str, now: str, line: int, says: str) -> None:
    error = wrong(tmp_path, was, now)
    assert says in error.message
    assert (error.line or 0) == line
    assert error.next_step


def test_a_program_has_to_take_the_item(tmp_path: Path) -> None:
    tasks = TASKS.replace("agents: [ada, ben]", "program: {tool: look}")
    path = written(tmp_path, tasks=tasks)
    panel = tmp_path / "panel.yaml"
    text = panel.read_text()
    panel.write_text(text + "tools:\n  look: {command: [cat]}\n")
    with pytest.raises(SpecError, match="no parameter `item`"):
        read_tasks(path, tmp_path / "evidence")
    panel.write_text(text + 'tools:\n  look: {command: [cat, "{item}"]}\n')
    assert read_tasks(path, tmp_path / "evidence").parties[0].tool == "look"


def test_the_same_agent_reads_for_one_party_only(tmp_path: Path) -> None:
    error = wrong(tmp_path, "reader: tables", "agents: [ben]")
    assert "'ben' is named twice" in error.message


def test_items_may_be_a_list_or_names_of_files(tmp_path: Path) -> None:
    listed = read(tmp_path, TASKS.replace("{file: orders.csv, column: order}", "[4700, '4701', 4702]"))
    assert listed.items == ("4700", "4701", "4702")
    named = read(tmp_path, TASKS.replace("{file: orders.csv, column: order}", '{files: "notes/*.txt"}').replace(
        '"notes/{item}*"', '"notes/{item}.txt"'))  # fmt: skip
    assert named.items[0] == "4700-note"
    assert len(named.items) == 7


def test_conversions_cite_sources_of_the_file(tmp_path: Path) -> None:
    more = (
        "sources: {order: {file: terms.txt}}\n"
        'units: [{unit: pallet, factor: 48, of: box, evidence: [{source: order, quote: "48 boxes on a pallet"}]}]\n'
    )
    written(tmp_path)
    (tmp_path / "terms.txt").write_text("There are 48 boxes on a pallet.\n")
    whole = read(tmp_path, TASKS + more)
    (size,) = whole.pack_sizes
    assert size.evidence[0].digest in whole.shared


# --- files and items


def test_an_item_stands_alone_in_the_name_of_its_file(tmp_path: Path) -> None:
    for name in (
        "4711.txt",
        "47112.txt",
        "a4711b.txt",
        "4711-a.txt",
        "4711-vs-4712.txt",
        "x/4712/note.txt",
        ".4711.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(pattern: str, *items: str) -> dict[str, list[str]]:
        return {
            item: [path.relative_to(tmp_path).as_posix() for path in paths]
            for item, paths in by_item(tmp_path, pattern, items).items()
        }

    assert found("{item}*", "4711") == {"4711": ["4711-a.txt", "4711-vs-4712.txt", "4711.txt"]}
    assert found("*{item}*", "4711", "4712")["4712"] == ["4711-vs-4712.txt"]
    assert found("*{item}*", "4711", "4711-a") == {
        "4711": ["4711-vs-4712.txt", "4711.txt", "a4711b.txt"],
        "4711-a": ["4711-a.txt"],
    }, "a file tells of the longer of two names"
    assert found("**/{item}/*.txt", "4712") == {"4712": ["x/4712/note.txt"]}
    assert found("{item}.txt", "4711", "471", "11") == {"4711": ["4711.txt"]}
    assert found("{item}.tx?", "../4711", "x/4712") == {}


def test_an_item_leads_into_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "in"
    tasks = TASKS.replace("{file: orders.csv, column: order}", "['4700', '../../secret']").replace(
        'files: "notes/{item}*"', 'file: "notes/{item}.txt"'
    )
    written(folder)
    (folder / "notes" / "4700.txt").write_text("Pallets received: 5\n")
    whole = read_tasks(written(folder, tasks=tasks), folder / "evidence")
    assert not any("secret" in (pinned.text or "") for pinned in whole.parties[0].sources.values())
    assert "../../secret" not in whole.parties[0].of


NAMES = st.text(alphabet="ab12-_.", min_size=1, max_size=6).filter(lambda name: not name.startswith("."))


@given(items=st.lists(NAMES, min_size=1, max_size=4, unique=True), before=NAMES, after=NAMES)
def test_a_file_is_found_for_an_item_if_and_only_if_its_name_holds_it_alone(
    items: list[str], before: str, after: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("items")
    names = {f"{before}{item}{after}" for item in items}
    for name in names:
        (folder / name).touch()
    found = by_item(folder, "*{item}*", items)
    listed = [path.name for path in matching(folder, "*")]

    def alone(item: str, name: str) -> bool:
        def same(one: str, other: str) -> bool:
            return (one.isdigit() and other.isdigit()) or (one.isalpha() and other.isalpha())

        places = [at for at in range(len(name)) if name.startswith(item, at)]
        return any(
            not (at and same(name[at - 1], item[0]))
            and not (at + len(item) < len(name) and same(name[at + len(item)], item[-1]))
            for at in places
        )

    for name in listed:
        holding = [item for item in items if alone(item, name)]
        longest = [item for item in holding if not any(item in other and item != other for other in holding)]
        assert sorted(item for item, paths in found.items() if folder / name in paths) == sorted(longest)


UNITS = TASKS.replace("unit: pallet, as_of", "unit: {column: uom}, as_of")


def with_units(folder: Path, rows: str) -> Swarm:
    path = written(folder, tasks=UNITS)
    (folder / "orders.csv").write_text(f"order,supplier,uom\n{rows}")
    return read_tasks(path, folder / "evidence")


def test_the_unit_of_each_item_can_stand_in_the_file_that_names_the_items(tmp_path: Path) -> None:
    whole = with_units(tmp_path, "4700,acme,pallet\n4701,acme,box\n4702,acme,\n4703,acme\n4701,acme,box\n")
    (wanted,) = whole.wanted
    assert [wanted.about(item).get("unit") for item in whole.items] == ["pallet", "box", None, None]
    assert wanted.of("4701").unit == "box"
    assert not wanted.of("4701").units
    assert Share.from_data(json.loads(json.dumps(shares_of(whole)[0].to_data()))) == shares_of(whole)[0]


def test_two_units_of_one_item_or_none_of_any_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="gives 4700 two units: pallet and box"):
        with_units(tmp_path / "two", "4700,acme,pallet\n4700,acme,box\n")
    with pytest.raises(SpecError, match="The column 'uom' is empty"):
        with_units(tmp_path / "none", "4700,acme,\n")


def test_a_unit_that_has_changed_is_read_again_and_no_other_is(tmp_path: Path) -> None:
    rows = {str(4700 + number): "pallet" for number in range(8)}
    whole = with_units(tmp_path / "in", "".join(f"{item},acme,{unit}\n" for item, unit in rows.items()))
    run_swarm(whole, tmp_path / "out")
    rows["4701"] = "box"
    changed = with_units(tmp_path / "in", "".join(f"{item},acme,{unit}\n" for item, unit in rows.items()))
    with pytest.raises(UsageError, match="something else is wanted"):
        run_swarm(changed, tmp_path / "out")
    found = run_swarm(changed, tmp_path / "out", repin=True)
    units = {item: report.claims[0]["unit"] for (party, item), report in found.reports.items() if party == "documents"}
    assert units["4700"] == "pallet"
    assert units["4701"] == "box"
    asked = [event.key for reading in found.readings for event in reading.events if event.kind == "ask"]
    assert len(asked) == 7 + 1, "seven notes, and one of them again"
