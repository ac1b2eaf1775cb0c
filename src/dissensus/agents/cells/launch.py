"""From a way and a program to the command that starts it."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dissensus.agents.cells import landlock, seccomp
from dissensus.agents.cells.bubblewrap import HOME, PROGRAM, SCRATCH, wrapped
from dissensus.agents.cells.cgroups import counting_group
from dissensus.agents.cells.folders import Place
from dissensus.agents.cells.identity import tasks_of
from dissensus.agents.cells.interpreter import DEVICES, code_paths, real_interpreter, uncovered
from dissensus.agents.cells.limits import Limits
from dissensus.agents.cells.ways import Way

_STARTER: Final = Path(__file__).with_name("starter.py")
_BARE: Final = ("-I", "-S", "-X", "utf8")
"""No variables, no folder of the user, no packages: the interpreter and its own library."""
_OVERHEAD: Final = 3
"""Processes of bubblewrap that a control group counts as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command for :func:`~dissensus.agents.processes.run_program`, and what shows that the cell was entered."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    token: str = ""


@contextmanager
def launched(
    way: Way,
    place: Place,
    argv: Sequence[str],
    *,
    file: Path | None,
    needed: Sequence[tuple[Path, Path]],
    env: Mapping[str, str],
    limits: Limits,
    token: str,
) -> Iterator[Launch]:
    """The command that runs a program in a cell.

    Args:
        way: how the cell is made.
        place: its folders.
        argv: the program's arguments, from its own name on.
        file: the program; None for Python itself, whose further arguments ``argv`` holds after its name.
        needed: further code that the program needs: where it is, and where it is sought.
        env: further variables.
        limits: of this run.
        token: what the starter writes to standard error when it has given up all that the cell does not get.

    Raises:
        OSError: the starter cannot be read.
    """
    extra = uncovered(needed, code_paths())
    most = limits.processes + (_OVERHEAD if way.bwrap else 0)
    with counting_group(most) if way.counting == "group" else _nothing() as group:
        orders = _orders(way, place, limits, token)
        orders["program"] = str(file or real_interpreter())
        orders["argv"] = [str(file or real_interpreter()), *(() if file else _BARE), *argv[1:]]
        orders["env"] = _environment(way, place) | dict(env)
        orders["landlock"] = _landlock(way, place, extra)
        if group and not way.bwrap:
            orders["cgroups"] = [str(group)]
        command = _starter(orders)
        if way.bwrap:
            command = [
                *wrapped(
                    way.bwrap,
                    own_user=way.own_user,
                    change_user=way.user == "fresh",
                    code=code_paths(),
                    extra=extra,
                    evidence=place.evidence,
                    program=place.program,
                    disk_bytes=limits.disk_bytes,
                ),
                *command,
            ]
        if group and way.bwrap:  # joined out here: inside, there is nothing to be joined
            outer = _empty_orders() | {"cgroups": [str(group)], "program": command[0], "argv": command}
            command = _starter(outer)
        yield Launch(argv=command, token=token)


@contextmanager
def _nothing() -> Iterator[None]:
    yield None


def _starter(orders: Mapping[str, Any]) -> list[str]:
    text = _STARTER.read_text(encoding="utf-8")
    return [str(real_interpreter()), *_BARE, "-c", text, marshal.dumps(dict(orders)).hex()]


def _empty_orders() -> dict[str, Any]:
    return {
        "cgroups": [],
        "landlock": None,
        "uid": None,
        "folder": "",
        "limits": [],
        "bare": False,
        "alone": False,
        "filter": "",
        "token": "",
        "env": {},
    }


def _orders(way: Way, place: Place, limits: Limits, token: str) -> dict[str, Any]:
    confined = way.level != "unconfined"
    counted = {"own": 0, "all": tasks_of(os.getuid()) if way.counting == "all" else 0}
    processes = limits.processes + counted[way.counting] if way.counting in counted else None
    machine = os.uname().machine
    orders = _empty_orders()
    orders |= {
        "uid": place.uid if way.user == "fresh" else None,
        "folder": "" if way.bwrap else str(place.evidence),
        "limits": limits.for_the_kernel(processes),
        "bare": way.user == "same" and os.geteuid() == 0 and confined,
        "alone": sys.platform == "linux",
        "token": token,
    }
    if confined and seccomp.known(machine):
        medium = way.level == "medium"
        filtered = seccomp.filter_for(machine, files=medium, signals=medium and not way.scopes)
        orders["filter"] = filtered.hex()
    return orders


def _landlock(way: Way, place: Place, extra: Sequence[tuple[Path, Path]]) -> dict[str, Any] | None:
    if way.level != "medium":
        return None
    paths = [*code_paths(), *(source for source, _ in extra), place.program]
    allowed = [(str(path), landlock.CODE, path.is_dir()) for path in paths]
    allowed += [(device, landlock.DEVICE, False) for device in DEVICES if Path(device).exists()]
    allowed += [(str(place.evidence), landlock.EVIDENCE, True), (str(place.scratch), landlock.SCRATCH, True)]
    return landlock.rules(way.abi, allowed, scopes=way.scopes)


def _environment(way: Way, place: Place) -> dict[str, str]:
    """All variables that a program finds; nothing of ours."""
    scratch = str(HOME / SCRATCH) if way.bwrap else str(place.scratch)
    return {
        "HOME": scratch,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "TMPDIR": scratch,
        "TZ": "UTC",
    }


def program_path(way: Way, place: Place, name: str) -> str:
    """Where a program of :attr:`Place.program` is, seen from inside."""
    return str((PROGRAM if way.bwrap else place.program) / name)
