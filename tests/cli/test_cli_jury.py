"""The commands ``jury`` and ``measure plan``, and the pictures of the first."""

from __future__ import annotations

import builtins
import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from dissensus.cli import main as command_line
from dissensus.cli.pictures.jury_curve import draw
from dissensus.cli.pictures.terminal import PLAIN, dots
from dissensus.cli.plan import plan
from dissensus.errors import MissingExtra, StorageError
from dissensus.measure.jury_curve import jury_curve


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command_line.COMMANDS, "jury", "dissensus.cli.jury:jury")
    monkeypatch.setitem(command_line.HELP, "jury", "What more voters would bring.")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command_line.main, ["jury", *arguments])


def test_the_table_of_the_trap_model() -> None:
    done = run("--n", "3,5,9,21,99", "--p", "0.7", "--trap", "0.2")
    assert done.exit_code == 0
    assert "    9         .9012   .7980    1.59       .4405        .4540           .0005" in done.stdout
    assert "limit        1.0000   .8000    1.71" in done.stdout
    assert "on 20 % of the questions all give the same wrong answer" in done.stdout
    assert "assumed, not measured" in done.stdout
    assert done.stderr == ""


def test_json_is_the_same_object() -> None:
    done = run("--n", "3,9", "--p", "0.7", "--rho", "0.2", "--model", "gaussian", "--json")
    data = json.loads(done.stdout)
    assert data == jury_curve([3, 9], 0.7, rho=0.2, model="gaussian").to_data() | {"pictures": []}
    assert [point["n"] for point in data["curve"]] == [3, 9]


def test_options_by_number_and_by_share() -> None:
    assert ".4816" in run("--n", "3", "--p", "0.4", "--options", "11").stdout
    assert ".4933" in run("--n", "11", "--options", "0.4,0.35,0.25").stdout
    both = run("--n", "3", "--p", "0.7", "--options", "4", "--trap", "0.2").stdout
    assert "sole leader" in both
    assert ".7729" in both


def test_warnings_are_talk() -> None:
    done = run("--n", "3,4", "--p", "0.7")
    assert done.exit_code == 0
    assert "warning" not in done.stdout
    assert "warning: An even panel can tie" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--p", "1.2"], "p cannot be 1.2"),
        (["--p", "nan"], "p cannot be nan"),
        ([], "accuracy is missing"),
        (["--p", "0.7", "--n", "0"], "voters cannot be 0"),
        (["--p", "0.7", "--n", "3,x"], "whole numbers between commas, not '3,x'"),
        (["--p", "0.7", "--n", ","], "No panel size"),
        (["--p", "0.7", "--n", "2.5"], "whole numbers between commas"),
        (["--p", "0.7", "--rho", "1.3"], "rho cannot be 1.3"),
        (["--p", "0.9", "--trap", "0.2"], "no voter can be right on 0.9"),
        (["--p", "0.7", "--trap", "0.1", "--rho", "0.2"], "both given"),
        (["--options", "0.4,0.4"], "sum to 0.8, not to 1"),
        (["--options", "a,b"], "shares between commas, not 'a,b'"),
        (["--p", "0.7", "--options", "0"], "at least two options, not 0"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


# --- characters


def test_dots_stand_in_order_on_one_scale() -> None:
    lines = dots(["3", "99"], [0.75, 1.0], [0.7, 0.8], limit=0.8, names=("a", "b"), width=31, marks=PLAIN)
    assert lines[0] == "   0.70" + "1.00".rjust(27)
    assert lines[1] == " 3 *....o....|...................."
    assert lines[2] == "99 ..........*...................o"
    assert lines[3] == "   o a   * b   | limit"


def test_dots_of_equal_shares_fit_any_width() -> None:
    for width in (1, 20, 200):
        lines = dots(["1"], [1.0], None, limit=None, names=("a", ""), width=width)
        assert lines[1].count("○") == 1
        assert len(lines[1]) == 2 + max(20, width)


def test_a_terminal_without_unicode_gets_plain_marks() -> None:
    done = CliRunner(charset="ascii").invoke(command_line.main, ["jury", "--p", "0.7"])
    assert done.exit_code == 0
    assert "o independent   | limit" in done.stdout


# --- pictures


def test_pictures_and_the_numbers_behind_them(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pictures"
    done = run("--n", "3,9,99", "--p", "0.7", "--trap", "0.2", "--plots", str(folder))
    assert done.exit_code == 0
    for kind in ("svg", "png", "csv", "json"):
        assert f"wrote {folder / 'jury_curve'}.{kind}" in done.stdout
    assert (folder / "jury_curve.png").read_bytes().startswith(b"\x89PNG")
    root = ET.parse(folder / "jury_curve.svg").getroot()  # noqa: S314 - our own file
    assert root.tag.endswith("svg")
    with (folder / "jury_curve.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    curve = jury_curve([3, 9, 99], 0.7, trap_share=0.2)
    assert [float(row["correlated"]) for row in rows] == [point.correlated for point in curve.points]
    assert json.loads((folder / "jury_curve.json").read_text(encoding="utf-8")) == curve.to_data()


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    curve = jury_curve([3, 9], 0.7, rho=0.3)
    first, second = draw(curve, tmp_path / "a"), draw(curve, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize(
    "settings",
    [
        {"sizes": [9], "p": 0.7},
        {"sizes": [1, 1_000_000], "p": 1.0},
        {"sizes": list(range(1, 200, 2)), "p": 0.4, "rho": 0.3},
        {"sizes": [3, 5], "p": 0.0, "options": 3},
        {"sizes": [3, 5], "p": 0.7, "options": 3, "trap_share": 0.3},
    ],
    ids=["one size", "flat", "many sizes", "never right", "options and traps"],
)
def test_every_curve_can_be_drawn(tmp_path: Path, settings: dict[str, Any]) -> None:
    assert all(path.stat().st_size > 0 for path in draw(jury_curve(**settings), tmp_path))


def test_drawing_leaves_no_settings_behind(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw(jury_curve([3, 9], 0.7), tmp_path)
    assert dict(mpl.rcParams) == before


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be written to"):
        draw(jury_curve([3], 0.7), tmp_path / "file" / "folder")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"dissensus\[plots\]"):
        draw(jury_curve([3], 0.7), tmp_path)


# --- plan


def test_plan_in_words_and_in_json() -> None:
    arguments = ["--difference", "0.02", "--accuracy", "0.8"]
    done = CliRunner().invoke(plan, arguments)
    assert done.exit_code == 0
    assert done.stdout.startswith("3,026 questions, answered by both sides, tell 0.82 from 0.8")
    assert "correlate by 0.5" in done.stdout
    data = json.loads(CliRunner().invoke(plan, [*arguments, "--json", "--correlation", "0.7"]).stdout)
    assert data["questions"] == 1820
    assert "assumption" in data
