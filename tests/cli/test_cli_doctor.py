from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dissensus.agents import catalogue
from dissensus.agents.catalogue import entries, find, path_of
from dissensus.agents.cells import ladder
from dissensus.agents.cells.ladder import Reached
from dissensus.agents.cells.ways import Way
from dissensus.cli import doctor_checks
from dissensus.cli.doctor_checks import MISSING, OK, PROBLEM, Finding, examine
from dissensus.cli.main import main
from dissensus.errors import CellError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISSENSUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def named(check: str, found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.check == check]


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["doctor", *arguments])
    return done.exit_code, done.stdout


@pytest.mark.usefixtures("cache")
def test_a_sound_installation() -> None:
    code, out = run("--json")
    data = json.loads(out)
    assert (code, data["ok"]) == (0, True)
    checks = {one["check"] for one in data["checks"]}
    assert {
        "python",
        "packages",
        "processor",
        "sqlite",
        "cache",
        "model",
        "engine",
        "cells",
        "environment",
        "terminal",
    } <= checks
    assert "extra local" in checks
    assert not {"extra dev", "extra bench"} & checks
    assert {one["status"] for one in data["checks"]} <= {OK, MISSING}
    for one in data["checks"]:
        assert one["next_step"] or one["status"] == OK


@pytest.mark.usefixtures("cache")
def test_one_line_each() -> None:
    code, out = run()
    assert code == 0
    findings = examine()
    assert len([line for line in out.splitlines() if not line.startswith(" ")]) == len(findings)
    assert "dissensus model install smollm2-135m" in out


def test_something_broken_is_found_and_has_a_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("DISSENSUS_CACHE", str(tmp_path / "file" / "below"))
    code, out = run()
    assert code == 1
    assert "problem  cache" in out
    assert "DISSENSUS_CACHE" in out


def test_values_of_variables_are_never_shown(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "canary-3391"
    for name in ("DISSENSUS_MODEL", "SOME_API_KEY", "HTTPS_PROXY", "https_proxy", "PIP_INDEX_URL", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, f"http://user:{canary}@host")
    monkeypatch.setenv("UNRELATED", canary)
    for arguments in ((), ("--json",)):
        _, out = run(*arguments)
        assert canary not in out
        assert "SOME_API_KEY" in out
        assert "UNRELATED" not in out
    assert str(cache) in run()[1]


def test_models(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = find("smollm2-135m")
    path = path_of(entry)
    path.parent.mkdir(parents=True)
    assert path.is_relative_to(cache)
    assert {one.status for one in doctor_checks._models(deep=False)} == {MISSING}
    with path.open("wb") as file:
        file.truncate(entry.size)  # right size, wrong bytes, and no room taken
    quick = [one for one in doctor_checks._models(deep=False) if entry.name in one.detail]
    assert [one.status for one in quick] == [OK]
    assert "--deep" in quick[0].detail
    monkeypatch.setattr(catalogue, "entries", lambda: tuple(one for one in entries() if one.name == entry.name))
    deep = list(doctor_checks._models(deep=True))
    assert [one.status for one in deep] == [PROBLEM]
    assert deep[0].next_step == "Run: dissensus model install smollm2-135m"


@pytest.mark.parametrize(
    ("version", "told"), [((3, 51, 2), True), ((3, 40, 1), True), ((3, 51, 3), False), ((3, 52, 0), False)]
)
def test_the_sqlite_bug_is_told(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], *, told: bool) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    (finding,) = doctor_checks._sqlite()
    assert finding.status == OK
    assert ("one writer" in finding.detail) == told


def test_a_sqlite_that_cannot_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    (finding,) = doctor_checks._sqlite()
    assert finding.status == PROBLEM
    assert finding.next_step


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    (finding,) = doctor_checks._python()
    assert finding.status == PROBLEM


@pytest.mark.parametrize(
    ("requirement", "have", "fits"),
    [
        ("anyio>=4.6", "4.6", True),
        ("anyio>=4.6", "4.10.1", True),
        ("anyio>=4.6", "4.5.9", False),
        ("anyio>=4.6", "3.99rc1", False),
        ("engine==2026.10.1", "2026.10.1", True),
        ("engine==2026.10.1", "2026.10.2", False),
        ("coverage[toml]>=7.10", "7.11", True),
        ("anything", "0.1", True),
        ("anyio>=4.6", None, None),
    ],
)
def test_versions(monkeypatch: pytest.MonkeyPatch, requirement: str, have: str | None, fits: bool | None) -> None:
    def version(name: str) -> str:
        if have is None:
            raise metadata.PackageNotFoundError(name)
        return have

    monkeypatch.setattr(metadata, "version", version)
    text, found = doctor_checks._version(requirement)
    assert found is fits
    assert ("needed" in text) == (fits is False)
    assert ("not installed" in text) == (fits is None)


@pytest.mark.parametrize(
    ("requires", "versions", "expected"),
    [
        (["a>=1"], {"a": "2"}, {"packages": OK}),
        (["a>=1"], {}, {"packages": PROBLEM}),
        (["a>=3"], {"a": "2"}, {"packages": PROBLEM}),
        (["a", 'e==1; extra == "local"'], {"a": "2"}, {"packages": OK, "extra local": MISSING}),
        (["a", 'e==1; extra == "local"'], {"a": "2", "e": "2"}, {"packages": OK, "extra local": PROBLEM}),
        (["a", "e==1 ; extra == 'dev'"], {"a": "2"}, {"packages": OK}),
    ],
)
def test_packages(
    monkeypatch: pytest.MonkeyPatch, requires: list[str], versions: dict[str, str], expected: dict[str, str]
) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "distribution", lambda _name: SimpleNamespace(version="1", requires=requires))
    monkeypatch.setattr(metadata, "version", version)
    assert {one.check: one.status for one in doctor_checks._packages()} == expected


def test_not_installed_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    assert [one.status for one in doctor_checks._packages()] == [PROBLEM]


def found_cells(monkeypatch: pytest.MonkeyPatch, reached: Reached | CellError) -> Finding:
    def reach() -> Reached:
        if isinstance(reached, CellError):
            raise reached
        return reached

    monkeypatch.setattr(ladder, "reach", reach)
    (finding,) = doctor_checks._cells()
    return finding


def test_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    best = Reached(way=Way(level="strong", bwrap=Path("bwrap")), enforced=("read",), not_enforced=())
    assert found_cells(monkeypatch, best) == Finding("cells", OK, "strong: bubblewrap of the system")
    refused = "bubblewrap of the system: bwrap: setting up uid map: Permission denied"
    middle = Reached(
        way=Way(level="medium", abi=4),
        enforced=("read",),
        not_enforced=("names", "disk"),
        not_higher=(("strong", refused),),
    )
    finding = found_cells(monkeypatch, middle)
    assert finding.status == MISSING
    assert finding.detail.startswith("medium: Landlock, version 4")
    assert finding.detail.endswith(f"not enforced: names, disk; not strong, because {refused}")
    assert "dissensus[cells]" in finding.next_step
    none = replace(middle, way=Way(level="unconfined"), not_higher=(("strong", "a"), ("medium", "b")))
    finding = found_cells(monkeypatch, none)
    assert "may do all that you may do" in finding.detail
    assert "not strong, because a; not medium, because b" in finding.detail
    assert "Landlock" in finding.next_step
    broken = found_cells(monkeypatch, CellError("No program can be run.", next_step="Look."))
    assert broken == Finding("cells", PROBLEM, "No program can be run.", "Look.")


@pytest.mark.usefixtures("cache")
def test_a_deep_look_without_a_model() -> None:
    (finding,) = doctor_checks._engine(deep=True)
    assert finding.status == MISSING
    assert "model install" in finding.next_step


@pytest.mark.model
def test_a_deep_look_loads_a_model() -> None:
    if catalogue.state_of(find("smollm2-135m")) is not catalogue.State.INSTALLED:
        pytest.skip("the test model is not installed: run dissensus model install smollm2-135m")
    (finding,) = doctor_checks._engine(deep=True)
    assert finding == Finding("engine", OK, "loads smollm2-135m, answers and scores")


def test_a_terminal_that_cannot_show_what_records_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(encoding="ascii", isatty=lambda: False)
    monkeypatch.setattr(sys, "stdout", stream)
    (finding,) = doctor_checks._terminal()
    assert finding.status == PROBLEM
    assert "UTF" in finding.next_step
