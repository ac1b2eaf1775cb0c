"""The command ``round-robin drift``: what it prints, its JSON, its pictures, and reports laid beside it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.drift import drift
from dissensus.cli.round_robin import round_robin
from dissensus.errors import DissensusError
from dissensus.measure.drift_prediction import Drift, predict

POINTS = [
    {"corrupted": 3, "agents": 5, "procedure": "vote", "accuracy": 0.02, "low": 0.0, "high": 0.08, "n": 60},
    {
        "corrupted": 3, "agents": 5, "procedure": "round-robin", "trajectories": 5, "accuracy": 0.7, "low": 0.58,
        "high": 0.8, "n": 60, "scripted": True,
    },
    {"corrupted": 2, "agents": 3, "procedure": "debate", "accuracy": 0.3, "low": 0.2, "high": 0.4, "n": 60},
]  # fmt: skip
STEPS = [
    {"text": text, "turn": turn, "corrupted": turn % 2 == 1, "before": x, "after": x + (-0.4 if turn % 2 else 0.9)}
    for text in range(6)
    for turn, x in enumerate((0.0, 0.9, 0.5, 1.4))
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(drift, arguments)


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"points": POINTS, "steps": STEPS}), encoding="utf-8")
    return str(path)


def test_it_is_a_part_of_round_robin() -> None:
    done = CliRunner().invoke(round_robin, ["drift", "--corrupted", "3", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["orders"]["3"]["share_wrong"] == 0.1


def test_assumptions_stand_before_the_figures() -> None:
    done = run()
    assert done.exit_code == 0
    for name in ("A1", "A2", "A3", "A4", "A5"):
        assert f"\n{name}  " in done.stdout
    head, figures = done.stdout.split("corrupted agents from which on", 1)
    assert "assumed, not measured" in head
    assert "None of this is calibrated on a language model" in head.replace("\n", " ")
    rows = [" ".join(line.split()) for line in figures.splitlines()]  # widths are no promise
    assert "walk (dH 1, dC 0.5, s 1, x0 0) 3 of 5 4 of 5 4 of 5 .667 corrupted" in rows
    assert "3 .161 .624 .723" in rows
    assert "3 .400 / 0 .400 / 0 0 / 0 1 / 1" in rows
    assert "with 4 or 5 corrupted, voting over more texts makes it worse" in figures
    assert "3 corrupted: 1 of 10 orders end wrong (10.0 %); the worst is HHCCC with 0.8" in figures


def test_json_is_the_same_object() -> None:
    data = json.loads(run("--turns", "5", "--corrupted", "2,3", "--json").stdout)
    assert data == json.loads(
        json.dumps(
            predict(Drift(turns=5), [2, 3]).to_data()
            | {"steps_from": "assumed", "measured": [], "measured_steps": None, "pictures": []}
        )
    )


def test_orders_are_listed_where_a_number_was_asked_for() -> None:
    done = run("--corrupted", "3", "--form", "additive")
    assert "HHCCC 0.8, HCHCC 0.666667, CHHCC 0.6, HCCHC 0.533333, CHCHC 0.466667" in done.stdout
    assert "walk" not in done.stdout


def test_walks_drawn_at_random_stand_beside_the_formula() -> None:
    done = run("--form", "walk", "--corrupted", "3", "--simulate", "20000")
    assert "the walk drawn at random" in done.stdout
    [one] = json.loads(run("--form", "walk", "--corrupted", "3", "--simulate", "20000", "--json").stdout)["simulated"]
    assert abs(one["share"] - one["formula"]) <= 4 * one["error"]


def test_what_was_measured_stands_beside_what_is_predicted(report: str) -> None:
    done = run("--measured", report)
    assert done.exit_code == 0
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "3 vote .020 [0, .080] 60 .161* 0 0" in rows
    assert "3 round-robin x 5 (scripted) .700 [.580, .800] 60 .723 1* 1*" in rows
    assert "scripted agents are toys" in done.stdout
    assert "12 honest turns in 6 texts: x moves by +0.900" in done.stdout
    assert "1 of the measured points are not of 5 agents" in done.stderr
    data = json.loads(run("--measured", report, "--json").stdout)
    assert data["measured"][0]["predicted"]["multiplicative"] == 0
    assert data["measured"][2]["predicted"] == {}
    assert data["measured_steps"]["honest"]["step"]["value"] == pytest.approx(0.9)


def test_steps_can_be_taken_from_the_report(report: str) -> None:
    done = run("--measured", report, "--fit", "--form", "walk")
    assert "steps as they were measured" in done.stdout
    assert "walk (dH 0.9, dC 0.4" in done.stdout
    assert json.loads(run("--measured", report, "--fit", "--json").stdout)["steps_from"] == "measured"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--corrupted", "x"], "whole numbers between commas, not 'x'"),
        (["--corrupted", ","], "whole numbers between commas"),
        (["--corrupted", "6"], "6 cannot be corrupted"),
        (["--agents", "0"], "0 agents"),
        (["--noise", "-1"], "noise cannot be -1"),
        (["--contract", "1"], "gH = 1"),
        (["--agents", "60"], "too many"),
        (["--agents", "20", "--trajectories", "500", "--corrupted", "10"], "too many"),
        (["--fit"], "no measured steps"),
        (["--simulate", "-5"], "-5 runs"),
    ],
)
def test_bad_input_is_a_sentence(arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, DissensusError)
    assert done.exception.exit_code == 2
    assert says in str(done.exception)
    assert done.stdout == ""


def test_a_report_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"points": [{"corrupted": 1}]}', encoding="utf-8")
    done = run("--measured", str(path))
    assert isinstance(done.exception, DissensusError)
    assert str(path) in str(done.exception)


# --- pictures


def test_pictures_and_the_numbers_behind_them(tmp_path: Path, report: str) -> None:
    folder = tmp_path / "pictures"
    done = run("--measured", report, "--plots", str(folder))
    assert done.exit_code == 0
    for name in ("drift", "drift_orders"):
        for kind in ("svg", "png", "csv", "json"):
            assert f"wrote {folder / name}.{kind}" in done.stdout
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file
    with (folder / "drift.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = predict(Drift())
    assert [float(row["text"]) for row in rows] == [row.text for form in found.forms for row in form.rows]
    data = json.loads((folder / "drift.json").read_text(encoding="utf-8"))
    assert len(data["measured"]) == 2
    assert set(data["assumptions"]) == {"A1", "A2", "A3", "A4", "A5"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--form", "walk", "--trajectories", "1"],
        ["--agents", "1"],
        ["--agents", "12", "--corrupted", "6,7"],
        ["--corrupted", "5"],
        ["--agents", "3", "--corrupted", "3", "--form", "additive"],
    ],
    ids=["one form, one text", "one agent", "many orders", "all corrupted", "one order"],
)
def test_every_prediction_can_be_drawn(tmp_path: Path, arguments: list[str]) -> None:
    done = run(*arguments, "--plots", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "drift.png").stat().st_size > 0


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path, report: str) -> None:
    for folder in ("a", "b"):
        assert run("--measured", report, "--plots", str(tmp_path / folder)).exit_code == 0
    first, second = (sorted((tmp_path / folder).iterdir()) for folder in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
