"""The command ``study``: plan, run, report, and what each says where something is missing."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from dissensus.cli.study import study
from dissensus.errors import SpecError, UsageError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "study"))
from small_studies import TOY, written


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(written(tmp_path, TOY.replace("count: 4", "count: 2")))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(study, arguments)


def test_a_plan_asks_nobody_and_says_what_it_takes(file: str, tmp_path: Path) -> None:
    result = run("plan", file, "-o", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("12 runs: at most")
    assert not (tmp_path / "out").exists()
    data = json.loads(run("plan", file, "-o", str(tmp_path / "out"), "--json").output)
    assert data["left"]["runs"] == 12
    assert data["done"] == 0
    assert set(data["procedures"]) == {"honest agent alone", "attacked agent alone", "vote", "in turns"}


def test_a_study_is_run_in_parts_and_its_report_written(file: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    part = run("run", file, "-o", out, "--most", "5")
    assert part.exit_code == 3
    assert "7 runs are missing" in part.output
    late = run("run", file, "-o", out, "--minutes", "1e-9")
    assert "7 runs are missing" in late.output
    whole = run("run", file, "-o", out)
    assert whole.exit_code == 0, whole.output
    assert "5 runs are done and are not repeated" in whole.output
    assert "SCRIPTED" in whole.output
    written_files = {path.name for path in (tmp_path / "out").iterdir()}
    assert written_files == {"records", "report.md", "report.json", "cells.csv", "runs.csv"}
    with (tmp_path / "out" / "runs.csv").open(encoding="utf-8") as table:
        assert len(list(csv.DictReader(table))) == 12
    again = run("run", file, "-o", out)
    assert "Nothing is left to be run" in again.output
    report = json.loads(run("report", file, "-o", out, "--json").output)
    assert report["format"] == "dissensus study report"
    assert (report["done"], report["units"], report["scripted"]) == (12, 12, True)
    assert report["files"]


def test_pictures_are_drawn_with_their_data(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out, plots = tmp_path / "out", tmp_path / "plots"
    text = TOY.replace("count: 4", "count: 2").replace("k: 150", "k: [100, 150]")
    swept = str(written(tmp_path / "swept", text))
    result = run("run", swept, "-o", str(out), "--plots", str(plots))
    assert result.exit_code == 0, result.output
    names = {"outcomes", "by_corrupted", "by_texts", "by_cost", "by_k"}
    assert {path.name for path in plots.iterdir()} == {
        f"{n}.{end}" for n in names for end in ("svg", "png", "csv", "json")
    }
    for name in names:
        assert ET.parse(plots / f"{name}.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file
        assert (plots / f"{name}.png").stat().st_size > 5000
    with (plots / "by_k.csv").open(encoding="utf-8") as table:
        assert {row["k"] for row in csv.DictReader(table)} == {"100", "150"}


def test_a_report_of_nothing_is_refused(file: str, tmp_path: Path) -> None:
    result = run("report", file, "-o", str(tmp_path / "none"))
    assert isinstance(result.exception, UsageError)
    assert "No run of the study is done" in str(result.exception)


def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, TOY.replace("k: 150", "kk: 150"))
    result = run("run", str(path))
    assert isinstance(result.exception, SpecError)
    assert f"{path}:15" in str(result.exception)
