"""Every attack at every level, as root and as an ordinary user, held to the table that the manual shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import cell_runner
import pytest

from dissensus.agents.cells.guards import GUARDS, LEVELS, NEEDED, Level
from dissensus.agents.cells.identity import fresh_uid
from dissensus.agents.cells.ladder import best_at
from dissensus.agents.cells.launch import _OVERHEAD

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
LIMITS = cell_runner.LIMITS
CANARY = "canary-4471"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cells above unconfined are there on Linux alone")


def as_user(uid: int | None, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run Python as another user, or as us; with our own packages."""
    paths = [str(SOURCE), str(HERE), str(Path(anyio.__file__).parents[1])]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(paths), "CELL_CANARY": CANARY}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    user: dict[str, Any] = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    return subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, check=False, timeout=200, **user)


@pytest.fixture(scope="module")
def ordinary() -> tuple[int, str]:
    """A user id that is not root's, and a Python that this user can run. Only root can become somebody else."""
    uid = fresh_uid()
    if os.geteuid() != 0 or uid is None:
        pytest.skip("only root can become another user")
    wanted = "import anyio, msgspec, dissensus.agents.cells"
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}", "/usr/bin/python3"):
        try:
            if as_user(uid, python, "-c", wanted).returncode == 0:
                return uid, python
        except OSError:  # not there, or not for this user
            continue
    pytest.skip("no Python of this version can be run by another user: this one lies in root's own folder")


def attacked(level: Level, uid: int | None, python: str, megabytes: int = 64) -> dict[str, Any]:
    done = as_user(uid, python, str(HERE / "cell_runner.py"), level, str(megabytes))
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def outcomes(found: dict[str, Any]) -> dict[str, bool]:
    """Guard to whether it held, by what the attacks did."""
    sockets = found["SOCKETS"]
    bomb = found.get("BOMB", ["", 1])
    return {
        "read": all(found["READ"]) and all(found["OTHER_SIDE"]),
        "write": all(found["WRITE"]) and all(found["EVIDENCE"]) and found["untouched"],
        "names": all(found["NAMES"]),
        "environment": found["ENVIRONMENT"],
        "tcp": sockets[0] and not found["reached"],
        "udp": sockets[1] and sockets[6] and not found["reached"],
        "netlink": sockets[2] and sockets[7] and sockets[8],
        "local-sockets": all(sockets[3:6]) and not found["reached"],
        "signals": all(found["SIGNALS"]) and found["victim lives"],
        "namespaces": all(found.get("NAMESPACES", [False])),
        "processes": found["COUNT"] <= LIMITS.processes + _OVERHEAD and bomb == ["wall", 0],
        "memory": 0 < found["MEMORY"] <= LIMITS.memory_bytes,
        "memory-together": found["MEMORY_TOGETHER"] == "memory",
        "cpu": found["CPU"][0] in {128 + 24, 128 + 9} and found["CPU"][1] == "",
        "wall": found["WALL"] == [None, True, '"begun"\n'],
        "file-size": found["FILE_SIZE"] <= LIMITS.file_bytes,
        "disk": all(_within(found[name], LIMITS.disk_bytes + (1 << 18)) for name in ("DISK", "DELETED")),
        "files": found["FILES"][0] == "files",
        "output": found["OUTPUT"] == [0, LIMITS.output_bytes, LIMITS.output_bytes, True],
        "leftovers": found["LEFTOVERS"] == 0,
    }


def _within(result: tuple[str, str], most: int) -> bool:
    ended_for, told = result
    return ended_for == "disk" or (bool(told) and int(told) <= most)


def hold_to_the_table(found: dict[str, Any], level: Level) -> None:
    assert found["level"] == level
    assert found["DESCRIPTORS"] == []
    assert found["INNER_PAIR"] == "inside"  # what leads nowhere goes on working
    assert found["OWN_CHILD"] is True
    held = outcomes(found)
    assert held.keys() == {one.name for one in GUARDS}
    enforced = set(found["record"]["enforced"])
    assert {name for name in enforced if not held[name]} == set(), found  # what is reported as enforced, is
    for one in GUARDS:
        match one.at(level):
            case "refused" | "bounded":
                assert held[one.name] or one.name not in enforced, (one, found)
            case "not stopped":  # nor does the table claim too little
                better = found["record"]["how"].endswith("as a user of its own")  # what other users may not do anyway
                assert better or not (held[one.name] or one.name in enforced), (one, found)
            case "partly":
                assert one.name not in enforced
    if level != "unconfined":
        assert enforced >= set(NEEDED)
    if level == "medium":
        assert found["DISK"][0] == "disk"  # seen from outside
        assert int(found["DELETED"][1]) > LIMITS.disk_bytes  # and this is what is not seen
    if level == "unconfined":
        assert found["LEFTOVERS"] == 1
        assert (found["DISK"][0], found["FILES"][0]) == ("disk", "files")


@pytest.mark.parametrize("level", LEVELS)
def test_attacks_by_whoever_runs_the_tests(level: Level) -> None:
    trial, why = best_at(level)
    if trial is None:
        pytest.skip(f"this machine does not reach {level}: {why}")
    hold_to_the_table(attacked(level, None, sys.executable, megabytes=1024), level)


def test_attacks_by_root_with_an_interpreter_that_all_can_read(ordinary: tuple[int, str]) -> None:
    _, python = ordinary
    if python == sys.executable:
        pytest.skip("it is the one of the other tests")
    found = attacked("medium", None, python)
    if found["level"] != "medium":
        pytest.skip(f"this machine does not reach medium: {found['record']['not_higher']}")
    assert found["record"]["how"].endswith("as a user of its own")
    hold_to_the_table(found, "medium")


@pytest.mark.parametrize("level", LEVELS)
def test_attacks_by_an_ordinary_user(level: Level, ordinary: tuple[int, str]) -> None:
    uid, python = ordinary
    found = attacked(level, uid, python)
    if found["level"] != level:
        pytest.skip(f"an ordinary user does not reach {level} here: {found['record']['not_higher']}")
    hold_to_the_table(found, level)
