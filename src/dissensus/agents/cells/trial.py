"""Whether a way really confines: a small program is run that way and tries to break out.

Version strings, flags and help texts are not believed. What is aimed at is real: a file that anybody may read, sockets
that listen, a process of ours with a secret in its environment.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dissensus.agents.cells.folders import Place, laid_out
from dissensus.agents.cells.guards import GUARDS, NEEDED, Level
from dissensus.agents.cells.identity import reachable
from dissensus.agents.cells.interpreter import real_interpreter
from dissensus.agents.cells.launch import launched
from dissensus.agents.cells.limits import MEGABYTE, Limits
from dissensus.agents.cells.watch import Watch
from dissensus.agents.cells.ways import Way
from dissensus.agents.processes import Ran, run_program
from dissensus.errors import CellError

_PROGRAM: Final = Path(__file__).with_name("trial_program.py")
_LIMITS: Final = Limits(
    wall_s=20.0,
    cpu_s=10,
    memory_bytes=256 * MEGABYTE,
    processes=8,
    file_bytes=MEGABYTE // 8,
    disk_bytes=MEGABYTE,
    output_bytes=MEGABYTE // 16,
)
_FROM_OUTSIDE: Final = ("wall", "output")
"""Held by whoever runs the program, whatever the cell is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of trying a way. ``problem`` is empty if the program ran to its end and reported."""

    way: Way
    refused: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def level(self) -> Level | None:
        """The level that this way reaches; None if it does not reach the one that it is for."""
        if self.problem:
            return None
        return self.way.level if self.way.level == "unconfined" or not self.leaks else None

    @property
    def leaks(self) -> tuple[str, ...]:
        """Needed guards that did not hold."""
        return tuple(name for name in NEEDED if name not in self.refused)

    @property
    def enforced(self) -> tuple[str, ...]:
        """The guards that hold, in the order of the table."""
        held = self.refused | set(_FROM_OUTSIDE)
        return tuple(one.name for one in GUARDS if one.name in held and one.at(self.way.level) != "partly")

    @property
    def not_enforced(self) -> tuple[str, ...]:
        """The others."""
        return tuple(one.name for one in GUARDS if one.name not in self.enforced)

    def why_not(self) -> str:
        """Why this way does not reach its level, in words."""
        how = self.way.described()
        return f"{how}: {self.problem}" if self.problem else f"{how}: it does not refuse {', '.join(self.leaks)}"


def tried(way: Way) -> Trial:
    """Run the trial. Raises nothing: what goes wrong is the trial's ``problem``."""
    if way.user == "fresh" and not way.bwrap and not reachable(real_interpreter()):
        return Trial(way=way, problem="no other user can read the interpreter, which lies in a folder of root's own")
    try:
        with _target() as aim, laid_out(way) as place:
            ran, token, seen = _run(way, place, aim)
    except (OSError, CellError) as error:
        return Trial(way=way, problem=str(error))
    if token not in ran.errors:
        return Trial(way=way, problem=last_line(ran.errors) or f"it ended with status {ran.status} before it began")
    try:
        told = json.loads(ran.output)
        refused = frozenset(name for name, held in told.items() if held)
    except (ValueError, AttributeError):
        return Trial(way=way, problem=last_line(ran.errors.partition(token)[2]) or "its program did not get to its end")
    return Trial(way=way, refused=refused | seen)


def _run(way: Way, place: Place, aim: dict[str, Any]) -> tuple[Ran, bytes, frozenset[str]]:
    token = secrets.token_hex(16)
    watch = Watch(_LIMITS, None if way.bwrap else place.scratch)
    seen: set[str] = set()

    def look(group: int) -> bool:
        seen.update(watch.sees(group))
        return False

    code = _PROGRAM.read_text(encoding="utf-8")
    with launched(
        way,
        place,
        ["python", "-c", code, json.dumps(aim)],
        file=None,
        needed=(),
        env={},
        limits=_LIMITS,
        token=token,
    ) as launch:
        ran = run_program(
            launch.argv, timeout_s=_LIMITS.wall_s, most_bytes=_LIMITS.output_bytes, env=launch.env, watch=look
        )
    return ran, token.encode("ascii"), frozenset(seen)


@contextlib.contextmanager
def _target() -> Iterator[dict[str, Any]]:
    """A secret that anybody may read, beside it sockets that listen, and a process with an environment."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dissensus-trial-")))
        folder.chmod(0o777)  # nothing but the cell may be what keeps the trial out
        secret = folder / "secret"
        secret.write_bytes(b"x")
        secret.chmod(0o644)
        ports = {}
        for name, kind in (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)):
            listening = stack.enter_context(socket.socket(type=kind))
            listening.bind(("127.0.0.1", 0))
            ports[name] = listening.getsockname()[1]
            if kind is socket.SOCK_STREAM:
                listening.listen()
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(str(folder / "local"))
        local.listen()
        (folder / "local").chmod(0o666)
        victim = stack.enter_context(_victim())
        yield {
            "secret": str(secret),
            "local": str(folder / "local"),
            "pid": victim,
            "processes": _LIMITS.processes,
            "memory": _LIMITS.memory_bytes,
            "file": _LIMITS.file_bytes,
            "disk": _LIMITS.disk_bytes,
            **ports,
        }


@contextlib.contextmanager
def _victim() -> Iterator[int]:
    """A process that waits until its input ends."""
    argv = [str(real_interpreter()), "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env={}) as process:  # noqa: S603 - our own interpreter
        try:
            yield process.pid
        finally:
            process.kill()


def last_line(text: bytes) -> str:
    """The last line of what a program wrote that says something."""
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
