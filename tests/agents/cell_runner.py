"""Runs every attack at one level, as whoever started it, and prints what came of each as JSON.

Started by the tests, as root and as an ordinary user: ``python cell_runner.py LEVEL MEGABYTES_TO_PRINT``. It aims at
real things of its own: files, sockets that listen, a process that waits. What it ends are processes that its own cells
left behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import cell_attacks as attacks

from dissensus.agents.cells import Cell, CellRun, Limits, open_cell
from dissensus.agents.cells.guards import Level

NOTE = b"pallets: 12\n"
DIGEST = hashlib.sha256(NOTE).hexdigest()
MEGABYTE = 1 << 20
LIMITS = Limits(
    wall_s=20,
    cpu_s=10,
    memory_bytes=192 * MEGABYTE,
    memory_together_bytes=512 * MEGABYTE,
    processes=20,
    file_bytes=MEGABYTE,
    disk_bytes=4 * MEGABYTE,
    files=500,
    output_bytes=MEGABYTE,
)


@dataclass
class Target:
    """What there is to attack, as the attacks are told, and how to see from outside what came of it."""

    aim: dict[str, Any]
    secret: Path
    victim: subprocess.Popen[bytes]
    datagrams: list[socket.socket]
    streams: list[socket.socket]

    def reached(self) -> bool:
        """Whether anything was sent to any of the sockets."""
        for one in [*self.datagrams, *self.streams]:
            one.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                if one in self.streams:
                    one.accept()[0].close()
                else:
                    one.recv(10)
                return True
        return False

    def untouched(self) -> bool:
        """Whether the file that is aimed at is as it was, and nothing is beside it."""
        with contextlib.suppress(OSError):
            told = self.secret.stat()
            same = self.secret.read_bytes() == b"secret" and told.st_mode & 0o777 == 0o666 and told.st_mtime > 1
            return same and sorted(one.name for one in self.secret.parent.iterdir()) == ["local", "packets", "secret"]
        return False


@contextlib.contextmanager
def target(other: Path) -> Iterator[Target]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dissensus-target-")))
        folder.chmod(0o777)
        secret = folder / "secret"
        secret.write_bytes(b"secret")
        secret.chmod(0o666)
        abstract = f"\0dissensus-{secrets.token_hex(8)}"
        addresses: list[tuple[int, int, Any]] = [
            (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            (socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "local")),
            (socket.AF_UNIX, socket.SOCK_STREAM, abstract),
            (socket.AF_UNIX, socket.SOCK_DGRAM, str(folder / "packets")),
        ]
        sockets = []
        for family, kind, address in addresses:
            one = stack.enter_context(socket.socket(family, kind))
            one.bind(address)
            if kind is socket.SOCK_STREAM:
                one.listen()
            sockets.append(one)
        for name in ("local", "packets"):
            (folder / name).chmod(0o666)
        canary = os.environ["CELL_CANARY"]
        argv = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        victim = stack.enter_context(subprocess.Popen(argv, stdin=subprocess.PIPE))
        stack.callback(victim.kill)
        aim = {
            "secret": str(secret),
            "other": str(other),
            "canary": canary,
            "pids": [os.getpid(), victim.pid],
            "victim": victim.pid,
            "tcp": sockets[0].getsockname()[1],
            "udp": sockets[1].getsockname()[1],
            "local": str(folder / "local"),
            "abstract": abstract,
            "datagrams": str(folder / "packets"),
            "memory": LIMITS.memory_bytes,
            "file": LIMITS.file_bytes,
            "disk": LIMITS.disk_bytes,
            "megabytes": int(sys.argv[2]),
        }
        kinds = {kind: [one for one in sockets if one.type == kind] for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)}
        yield Target(aim, secret, victim, kinds[socket.SOCK_DGRAM], kinds[socket.SOCK_STREAM])


def left_behind(mark: str) -> list[int]:
    """Processes with ``mark`` in their command line; those that are ending get a moment."""
    found: list[int] = []
    for _ in range(100):
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        if not found:
            break
        time.sleep(0.02)
    return found


async def all_attacks(level: Level) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with (
        open_cell({DIGEST: "delivery/note.txt"}, {DIGEST: NOTE}, highest=level, limits=LIMITS) as cell,
        open_cell({DIGEST: "log.txt"}, {DIGEST: NOTE}, highest=level, limits=LIMITS) as other,
    ):
        found["level"] = cell.level
        found["record"] = cell.on_record()
        with target(other._place.evidence / "log.txt") as there:
            await attack(cell, there, found)
    return found


async def attack(cell: Cell, there: Target, found: dict[str, Any]) -> None:
    async def run(text: str, **limits: Any) -> CellRun:
        from dataclasses import replace

        return await cell.run(
            attacks.PRELUDE + text, arguments=[json.dumps(there.aim)], limits=replace(LIMITS, **limits)
        )

    async def told(text: str, **limits: Any) -> Any:
        ran = await run(text, **limits)
        try:
            return json.loads(ran.stdout)
        except ValueError:
            return {"exit": ran.exit, "ended_for": ran.ended_for, "stderr": ran.stderr.decode()[-500:]}

    for name in ("READ", "OTHER_SIDE", "NAMES", "ENVIRONMENT", "DESCRIPTORS", "SOCKETS", "INNER_PAIR", "OWN_CHILD"):
        found[name] = await told(getattr(attacks, name))
    found["reached"] = there.reached()
    if cell.level != "unconfined":  # there, as root, it would do harm
        found["NAMESPACES"] = await told(attacks.NAMESPACES)
    found["SIGNALS"] = await told(attacks.SIGNALS)
    await anyio.sleep(0.05)
    found["victim lives"] = there.victim.poll() is None
    found["EVIDENCE"] = await told(attacks.EVIDENCE)
    found["WRITE"] = await told(attacks.WRITE)
    found["untouched"] = there.untouched()

    found["COUNT"] = await told(attacks.COUNT)
    if "processes" in cell.reached.enforced:  # else it would not be bounded, and this is not our machine alone
        bomb = await run(attacks.BOMB, wall_s=0.7)
        found["BOMB"] = [bomb.ended_for, len(left_behind(hashed(attacks.BOMB)))]
    found["MEMORY"] = await told(attacks.MEMORY)
    found["MEMORY_TOGETHER"] = (await run(attacks.MEMORY_TOGETHER, memory_together_bytes=128 * MEGABYTE)).ended_for
    cpu = await run(attacks.CPU, cpu_s=1, wall_s=60)
    found["CPU"] = [cpu.exit, cpu.ended_for]
    wall = await run(attacks.WALL, wall_s=0.4)
    found["WALL"] = [wall.exit, wall.timed_out, wall.stdout.decode()]
    found["FILE_SIZE"] = await told(attacks.FILE_SIZE)
    disk = await run(attacks.DISK)
    found["DISK"] = [disk.ended_for, disk.stdout.decode()]
    deleted = await run(attacks.DELETED)
    found["DELETED"] = [deleted.ended_for, deleted.stdout.decode()]
    files = await run(attacks.FILES)
    found["FILES"] = [files.ended_for, files.stdout.decode()]
    output = await run(attacks.OUTPUT)
    found["OUTPUT"] = [output.exit, len(output.stdout), len(output.stderr), output.truncated]
    await run(attacks.LEFTOVERS)
    behind = left_behind(hashed(attacks.LEFTOVERS))
    for pid in behind:  # at the level that does not stop it
        os.kill(pid, signal.SIGKILL)
    found["LEFTOVERS"] = len(behind)


def hashed(text: str) -> str:
    """The name under which a cell keeps a program."""
    return hashlib.sha256((attacks.PRELUDE + text).encode()).hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(all_attacks, cast("Level", sys.argv[1]))))
