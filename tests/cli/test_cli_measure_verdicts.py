"""``measure`` beyond the audit: rules when to answer alone, other ways to count, factors, and their pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dissensus.cli.measure import measure

RULES = {"plurality", "stacker", "Dawid-Skene", "capped by model"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five voters, 300 questions: two copies of one, and others that err more."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("votes") / "answers.csv"
    rows = ["id,gold,n_options,ada,ben,eva,max,zoe"]
    for number in range(300):
        hard = rng.random() < 0.3
        cells = []
        for skill in (0.85, 0.85, 0.7, 0.6, 0.8):
            right = rng.random() < (skill - 0.4 if hard else skill + 0.1)
            cells.append("A" if right else rng.choice(["B", "C", "D"]))
        cells[1] = cells[0]
        rows.append(f"{number},A,4," + ",".join(cells))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def voters(answers: Path) -> Path:
    path = answers.parent / "voters.csv"
    path.write_text("voter,model,cost\nada,m,3\nben,m,3\neva,n,1\nmax,o,1\nzoe,o,2\n", encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(measure, [*map(str, arguments), "--bootstrap", "200", "--permutations", "99"])


def data(*arguments: object) -> dict[str, Any]:
    found = run(*arguments, "--json")
    assert found.exception is None, found.output
    parsed: dict[str, Any] = json.loads(found.stdout)
    return parsed


def test_by_default_probabilities_and_rules(answers: Path) -> None:
    found = data(answers)
    assert [level["k"] for level in found["calibration"]["by_count"]][-1] == 5
    assert {way["name"] for way in found["calibration"]["ways"]} >= {"share", "isotonic", "who"}
    assert [rule["target"] for rule in found["selection"]["rules"]] == [0.01, 0.05, 0.1]
    assert found["aggregators"] is found["choice"] is found["factors"] is None
    lines = run(answers).stdout.splitlines()
    assert any(line.startswith("P(right) if so many of 5 agree") for line in lines)
    assert sum(line.startswith("wrong in at most") for line in lines) == 3


def test_an_error_rate_of_ones_own(answers: Path) -> None:
    rules = data(answers, "--max-error", "0.2", "--max-error", "0.3")["selection"]["rules"]
    assert [rule["target"] for rule in rules] == [0.2, 0.3]
    for rule in rules:
        assert rule["t"] is None or rule["at_most"] <= rule["target"]
        assert rule["coverage"] + rule["handed_on"] == pytest.approx(1)
    assert run(answers, "--max-error", "1.5").exit_code == 2


def test_other_ways_and_factors(answers: Path, voters: Path) -> None:
    found = data(answers, "--aggregators", "--factors", voters)
    assert {rule["rule"] for rule in found["aggregators"]["rules"]} >= RULES
    model = found["factors"]["factors"][0]
    assert model["name"] == "model"
    assert model["within"]["pairs"] == 2
    assert model["levels"][0]["phi"] == pytest.approx(1.0)  # a copy
    assert found["factors"]["cost"] == 10.0
    assert found["cost_per_effective_vote"] == pytest.approx(found["factors"]["cost_per_effective_vote"])
    assert [panel["by"] for panel in found["choice"]["panels"]] == ["accuracy", "accuracy per cost"]
    text = run(answers, "--aggregators", "--factors", voters).stdout
    for part in ("ways to count the same votes", "model: errors correlate", "chosen by accuracy per cost", "says"):
        assert part in text


def test_ranked_rules_where_ballots_are_ranked(shared: Path) -> None:
    path = shared / "data/voting/rankedvotingsc/votes.dedup.jsonl"
    rules = {rule["rule"]: rule["accuracy"] for rule in data(path, "--aggregators")["aggregators"]["rules"]}
    expected = {"first choice": 0.83333, "instant run-off": 0.83333, "Borda": 0.83251, "reciprocal rank": 0.83003}
    assert {name: rules[f"ranked: {name}"] for name in expected} == pytest.approx(expected, abs=6e-6)


def test_without_a_key_it_says_less(answers: Path, tmp_path: Path) -> None:
    rows = list(csv.reader(answers.read_text(encoding="utf-8").splitlines()))
    path = tmp_path / "unknown.csv"
    path.write_text("\n".join(",".join([row[0], *row[2:]]) for row in rows) + "\n", encoding="utf-8")
    found = data(path, "--aggregators")
    assert found["calibration"]["ways"] == found["selection"]["rules"] == found["aggregators"]["rules"] == []
    assert "P(right)" not in run(path).stdout


def test_pictures_and_the_numbers_behind_them(answers: Path, voters: Path, tmp_path: Path) -> None:
    found = data(answers, "--aggregators", "--factors", voters, "--plots", tmp_path)
    names = {Path(path).stem for path in found["pictures"]}
    assert names >= {
        "curve",
        "reliability",
        "risk_coverage",
        "error_correlation",
        "stated_probability",
        "ways_to_count",
    }
    for name in names:
        assert (tmp_path / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        json.loads((tmp_path / f"{name}.json").read_bytes())
    with (tmp_path / "ways_to_count.csv").open(encoding="utf-8", newline="") as file:
        drawn = {row["rule"]: float(row["accuracy"]) for row in csv.DictReader(file)}
    assert drawn == {rule["rule"]: rule["accuracy"] for rule in found["aggregators"]["rules"]}
    with (tmp_path / "stated_probability.csv").open(encoding="utf-8", newline="") as file:
        bars = [row for row in csv.DictReader(file) if row["way"] == "share"]
    share = next(way for way in found["calibration"]["ways"] if way["name"] == "share")
    assert [float(bar["right"]) for bar in bars] == [bar["right"] for bar in share["bins"]]
    kept = json.loads((tmp_path / "risk_coverage.json").read_bytes())
    assert kept["selection"] == found["selection"]
