"""Which level is reached: by real trials where this machine can, by the rules of the decision elsewhere."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from dissensus.agents.cells import cell as cell_module
from dissensus.agents.cells import ladder, landlock, open_cell, seccomp, trial, ways
from dissensus.agents.cells.guards import GUARDS, LEVELS, NEEDED, Level
from dissensus.agents.cells.ladder import chosen, full, reach, required
from dissensus.agents.cells.trial import Trial, tried
from dissensus.agents.cells.ways import Way
from dissensus.errors import CellError, UsageError

linux = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap and Landlock are there on Linux alone")
ALL = frozenset(one.name for one in GUARDS)


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing found before counts, and nothing found here is kept."""
    for cached in (ladder.best_at, ladder.reach):
        cached.cache_clear()
    yield
    for cached in (ladder.best_at, ladder.reach):
        cached.cache_clear()


def program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


# --- the decision


def held(level: Level = "strong", names: frozenset[str] = ALL, problem: str = "") -> Trial:
    return Trial(way=Way(level=level, abi=3), refused=names, problem=problem)


@pytest.mark.parametrize("lost", NEEDED)
def test_one_leak_is_enough(lost: str) -> None:
    leaky = held(names=ALL - {lost})
    assert leaky.level is None
    assert lost in leaky.why_not()
    best, why = chosen([leaky])
    assert best is None
    assert lost in why


def test_a_trial_that_did_not_get_to_its_end_is_no_success() -> None:
    assert held(problem="bwrap: No permissions").level is None
    assert held("unconfined", frozenset(), problem="no such file").level is None
    assert held("unconfined", frozenset()).level == "unconfined"


def test_the_way_that_holds_most_is_taken_and_no_more_are_tried() -> None:
    asked = []

    def trials() -> Iterator[Trial]:
        for one in (held(names=ALL - {"processes"}), held(names=ALL - {"tcp"}), held(), held(names=ALL - {"disk"})):
            asked.append(one)
            yield one

    best, _ = chosen(trials())
    assert best is not None
    assert "processes" in best.enforced
    assert len(asked) == 3
    first, _ = chosen([held(names=ALL - {"processes"}), held(names=ALL - {"processes", "cpu"})])
    assert first is not None
    assert first.not_enforced == ("processes",)


def test_enforced_and_not_enforced_are_all_there_is() -> None:
    for one in (held(), held("medium", frozenset(NEEDED)), held("unconfined", frozenset())):
        assert sorted((*one.enforced, *one.not_enforced)) == sorted(ALL)
    assert {"wall", "output"} <= set(held("unconfined", frozenset()).enforced)
    partly = {one.name for one in GUARDS if one.unconfined == "partly"}
    assert not partly & set(held("unconfined").enforced)
    assert full("strong") == ALL
    assert full("medium") == ALL - {"names", "disk"}


def reached_at(level: Level, *above: Level) -> ladder.Reached:
    return ladder.Reached(
        way=Way(level=level), enforced=(), not_enforced=(), not_higher=tuple((a, "why") for a in above)
    )


def test_what_is_required() -> None:
    for place, level in enumerate(LEVELS):
        found = reached_at(level, *LEVELS[:place])
        for other_place, wanted in enumerate(LEVELS):
            if other_place >= place:
                assert required(found, wanted) is found
            else:
                with pytest.raises(CellError, match=f"A {wanted} cell is required.*{level}: why") as raised:
                    required(found, wanted)
                assert raised.value.next_step
                assert raised.value.exit_code == 3
        assert required(found, None) is found
    with pytest.raises(CellError, match="no more was asked for"):
        required(reached_at("unconfined"), "strong")
    with pytest.raises(UsageError, match="no level 'great'"):
        required(reached_at("strong"), "great")


# --- machines that lack something


@pytest.mark.usefixtures("fresh")
def test_without_bubblewrap_the_next_level_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "programs", list)
    found = reach()
    assert found.level != "strong"
    assert "no bubblewrap" in dict(found.not_higher)["strong"]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("platform", "abi", "machine_known", "says"),
    [("darwin", 7, True, "darwin"), ("linux", 0, True, "no Landlock"), ("linux", 7, False, "no filter")],
)
def test_without_anything_it_is_unconfined_and_says_why(
    monkeypatch: pytest.MonkeyPatch, platform: str, abi: int, machine_known: bool, says: str
) -> None:
    monkeypatch.setattr(ways, "programs", list)
    monkeypatch.setattr(landlock, "abi", lambda: abi)
    monkeypatch.setattr(seccomp, "known", lambda _machine: machine_known)
    monkeypatch.setattr(sys, "platform", platform)
    assert says in ways.lacking("medium")
    monkeypatch.undo()
    monkeypatch.setattr(ways, "programs", list)
    monkeypatch.setattr(ladder, "lacking", lambda level: "" if level == "unconfined" else f"no {level} here")
    found = reach()
    assert found.level == "unconfined"
    assert dict(found.not_higher) == {"strong": "no strong here", "medium": "no medium here"}
    assert set(found.not_enforced) >= set(NEEDED)


@pytest.mark.usefixtures("fresh")
def test_a_required_level_fails_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "lacking", lambda level: "" if level == "unconfined" else "not here")
    monkeypatch.setattr(cell_module, "laid_out", lambda _way: pytest.fail("work was begun"))

    async def open_it(options: dict[str, Any]) -> None:
        async with open_cell({}, **options):
            pytest.fail("it was opened")

    for level in ("strong", "medium"):
        with pytest.raises(CellError, match="not here"):
            anyio.run(open_it, {"require": level})
    for option in ("require", "highest"):
        with pytest.raises(UsageError):
            anyio.run(open_it, {option: "best"})


# --- helpers that lie, that are forbidden, that hang


@linux
def test_a_bubblewrap_that_is_forbidden(tmp_path: Path) -> None:
    refusing = program(
        tmp_path / "bwrap", "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    found = tried(Way(level="strong", bwrap=refusing, own_user=True, counting="own"))
    assert found.level is None
    assert "setting up uid map: Permission denied" in found.why_not()


@linux
def test_a_bubblewrap_that_says_yes_and_does_nothing(tmp_path: Path) -> None:
    script = '#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap 0.11.0" && exit 0\n'
    script += 'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    lying = program(tmp_path / "bwrap", script)
    found = tried(Way(level="strong", bwrap=lying, own_user=True, counting="none"))
    assert found.level is None
    assert {"read", "write", "signals"} <= set(found.leaks)


@linux
def test_a_bubblewrap_that_is_gone_or_fails_silently(tmp_path: Path) -> None:
    assert "No such file" in tried(Way(level="strong", bwrap=tmp_path / "none", own_user=True)).why_not()
    silent = program(tmp_path / "bwrap", "#!/bin/sh\nexit 7\n")
    assert "status 7" in tried(Way(level="strong", bwrap=silent, own_user=True)).why_not()


@linux
def test_a_bubblewrap_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_LIMITS", replace(trial._LIMITS, wall_s=0.2))
    hanging = program(tmp_path / "bwrap", "#!/bin/sh\nexec sleep 60\n")
    assert tried(Way(level="strong", bwrap=hanging, own_user=True)).level is None


# --- older kernels, as far as a newer one can stand in for them


@linux
@pytest.mark.parametrize("version", range(1, 9))
def test_medium_holds_with_every_version_of_landlock(version: int) -> None:
    if version > landlock.abi():
        pytest.skip(f"this kernel has Landlock {landlock.abi()}")
    scopes = version >= landlock.SCOPES_FROM
    for way in (Way(level="medium", abi=version, scopes=scopes), Way(level="medium", abi=version, scopes=False)):
        found = tried(way)
        assert found.level == "medium", found.why_not()


@linux
def test_a_version_that_promises_more_than_it_has_is_not_reached() -> None:
    if not landlock.abi():
        pytest.skip("this kernel has no Landlock")
    made_up = Way(level="medium", abi=4, scopes=False)
    real = landlock.rules

    def with_an_unknown_kind(*arguments: Any, **options: Any) -> dict[str, Any]:
        told = real(*arguments, **options)
        return told | {"attributes": [told["attributes"][0] | 1 << 40, *told["attributes"][1:]]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landlock, "rules", with_an_unknown_kind)
        found = tried(made_up)
    assert found.level is None
    assert "landlock_create_ruleset" in found.problem


@linux
def test_every_way_of_this_machine_says_what_it_is() -> None:
    for level in LEVELS:
        for way in ways.ways(level):
            assert way.level == level
            assert way.described()
        assert ways.lacking(level) or list(ways.ways(level))
