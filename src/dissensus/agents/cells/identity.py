"""Who a program in a cell runs as, and how its processes are counted.

A limit on processes counts those of a user, and the kernel never holds root to it. So a cell that root opens runs as a
user that nobody else is; where that cannot be (the interpreter lies in root's own folder, or a container knows no other
user), a control group counts; where that cannot be either, nothing counts, and the cell says so.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_FREE: Final = (1_879_048_192, 2_147_483_646)
"""User ids that no distribution gives to people, services or containers (systemd's table of UIDs and GIDs)."""
_TRAVERSABLE: Final = 0o001
_READABLE: Final = 0o004


def is_root() -> bool:
    """Whether this process is user 0, of the machine or of a container."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def fresh_uid() -> int | None:
    """A user id that nobody has; None if this container maps none that is free."""
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").split("\n")
    except OSError:
        return None
    ranges = [(int(first), int(first) + int(count) - 1) for first, _, count in (ln.split() for ln in lines if ln)]
    for first, last in sorted(ranges, reverse=True):
        low, high = max(first, _FREE[0]), min(last, _FREE[1])
        if high - low >= 1000:
            return low + secrets.randbelow(high - low + 1)
    for first, last in sorted(ranges, reverse=True):  # a container with few ids: its last ones
        if last - first >= 1000 and first < 60_000:
            for uid in range(last, last - 500, -1):
                if uid not in (65_534, 65_535) and not _is_used(uid):
                    return uid
    return None


def _is_used(uid: int) -> bool:
    import pwd

    with contextlib.suppress(KeyError):
        pwd.getpwuid(uid)
        return True
    return tasks_of(uid) > 0


def reachable(path: Path) -> bool:
    """Whether a user who owns nothing can read ``path``: by the modes of it and of all folders above it."""
    try:
        real = path.resolve(strict=True)
        return bool(real.stat().st_mode & _READABLE) and all(
            folder.stat().st_mode & _TRAVERSABLE for folder in real.parents
        )
    except OSError:
        return False


def tasks_of(uid: int) -> int:
    """How many processes and threads of a user there are now."""
    return sum(
        int(fields.get("Threads", "1")) for fields in _statuses() if fields.get("Uid", "").split()[:1] == [str(uid)]
    )


def _statuses() -> Iterator[dict[str, str]]:
    for entry in _numbers(Path("/proc")):
        fields = status_of(entry)
        if fields:
            yield fields


def _numbers(folder: Path) -> Iterable[int]:
    try:
        return [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()]
    except OSError:
        return ()


def status_of(pid: int) -> dict[str, str]:
    """The lines of ``/proc/PID/status``; nothing if it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def members(group: int) -> list[int]:
    """The processes whose process group is ``group``."""
    found = []
    for pid in _numbers(Path("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
            if int(after_name.split()[2]) == group:
                found.append(pid)
    return found
