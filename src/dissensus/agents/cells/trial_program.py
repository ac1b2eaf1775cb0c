"""Runs inside a cell that is tried: attempts what a cell has to refuse, and prints which attempts failed, as JSON.

It is handed to a bare interpreter as text. Its one argument is a JSON object with what to aim at. Printed is a mapping
from guard (:mod:`dissensus.agents.cells.guards`) to whether the attempt was refused or stopped at its limit.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # what types would load is more than all the rest
    from collections.abc import Callable
    from typing import Any


def main() -> None:
    """Try each attempt, and stay for a moment, to be looked at from outside."""
    import time

    aim = json.loads(sys.argv[1])
    print(json.dumps({name: _refused(attempt, aim) for name, attempt in ATTEMPTS.items()}))  # noqa: T201
    time.sleep(0.15)


def _refused(attempt: Callable[[dict[str, Any]], None], aim: dict[str, Any]) -> bool:
    try:
        attempt(aim)
    except (OSError, MemoryError, ImportError, AttributeError):  # the last two: this system has no such thing
        return True
    return False


def _read(aim: dict[str, Any]) -> None:
    for path in (aim["secret"], "/etc/passwd"):  # the second is where everybody gets to, wherever the first one is
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - as an agent's program would
                file.read(1)
        except OSError:
            continue
        return
    raise PermissionError


def _write(aim: dict[str, Any]) -> None:
    with open(aim["secret"] + ".new", "wb"):  # noqa: PTH123 - as an agent's program would
        pass


def _names(aim: dict[str, Any]) -> None:
    os.stat(aim["secret"])  # noqa: PTH116 - as an agent's program would


def _environment(aim: dict[str, Any]) -> None:
    with open("/proc/%d/environ" % aim["pid"], "rb") as file:  # noqa: PTH123, UP031
        file.read(1)


def _tcp(aim: dict[str, Any]) -> None:
    import socket

    with socket.socket() as tried:
        tried.settimeout(1)
        tried.connect(("127.0.0.1", aim["tcp"]))


def _udp(aim: dict[str, Any]) -> None:
    import socket

    with socket.socket(type=socket.SOCK_DGRAM) as tried:
        tried.sendto(b"x", ("127.0.0.1", aim["udp"]))


def _netlink(_aim: dict[str, Any]) -> None:
    import socket

    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


def _local(aim: dict[str, Any]) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as tried:
        tried.connect(aim["local"])


def _signals(aim: dict[str, Any]) -> None:
    if aim["pid"] in (1, os.getpid(), os.getppid()):
        raise ProcessLookupError  # numbers of a world of our own: the one aimed at is not here
    os.kill(aim["pid"], 0)


def _namespaces(_aim: dict[str, Any]) -> None:
    import ctypes

    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        raise PermissionError


def _leftovers(_aim: dict[str, Any]) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.write(writer, b"out")
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    if os.read(reader, 3) != b"out":
        raise PermissionError


def _processes(aim: dict[str, Any]) -> None:
    reader, writer = os.pipe()
    children = 0
    try:
        for _ in range(aim["processes"] + 4):
            if os.fork() == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            children += 1
    except OSError:
        if children == 0:
            raise SystemExit("there is no room for a single process")  # noqa: B904 - told to whoever tries
        raise
    finally:
        os.close(writer)  # all children end
        for _ in range(children):
            os.wait()


def _memory(aim: dict[str, Any]) -> None:
    import mmap

    mmap.mmap(-1, aim["memory"] + 1).close()


def _cpu(_aim: dict[str, Any]) -> None:
    import resource

    if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
        raise PermissionError


def _file_size(aim: dict[str, Any]) -> None:
    with open("tmp/long", "wb") as file:  # noqa: PTH123 - as an agent's program would
        file.truncate(aim["file"] + 1)


def _disk(aim: dict[str, Any]) -> None:
    block = b"x" * aim["file"]
    for name in range(aim["disk"] // aim["file"] + 2):
        with open("tmp/%d" % name, "wb") as file:  # noqa: PTH123, UP031 - as an agent's program would
            file.write(block)


ATTEMPTS = {
    "read": _read,
    "write": _write,
    "names": _names,
    "environment": _environment,
    "tcp": _tcp,
    "udp": _udp,
    "netlink": _netlink,
    "local-sockets": _local,
    "signals": _signals,
    "namespaces": _namespaces,
    "leftovers": _leftovers,
    "processes": _processes,
    "memory": _memory,
    "cpu": _cpu,
    "file-size": _file_size,
    "disk": _disk,
}

if __name__ == "__main__":
    main()
