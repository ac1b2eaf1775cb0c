"""A control group that counts the processes of one run, for a root whom limits of a user do not bind."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
_TRIES: Final = 50
_YOUNG_S: Final = 60.0


@contextlib.contextmanager
def counting_group(most: int) -> Iterator[Path | None]:
    """A new group of at most ``most`` processes and threads: the file into which one writes "0" to join it.

    None if no group can be made here. The group is removed at the end; by then its processes have to be gone.
    """
    group = None
    for parent in _parents():
        _remove_orphans(parent)
        group = parent / f"dissensus-{secrets.token_hex(8)}"
        try:
            group.mkdir()
        except OSError:
            group = None
            continue
        try:
            (group / "pids.max").write_text(str(most), encoding="ascii")
            break
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            group = None
    try:
        yield group / "cgroup.procs" if group else None
    finally:
        if group:
            _remove(group)


def _parents() -> Iterator[Path]:
    """Groups in which a group that counts may be made, the likeliest first."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = path.lstrip("/")
        if "pids" in controllers.split(","):
            yield _ROOT / controllers / own
            yield _ROOT / "pids" / own
        elif not controllers:  # version 2: a group that holds processes hands no controllers down, so beside our own
            for parent in (_ROOT / own).parent if own else _ROOT, _ROOT / own:
                with contextlib.suppress(OSError):
                    if "pids" in (parent / "cgroup.subtree_control").read_text(encoding="ascii").split():
                        yield parent


def _remove_orphans(parent: Path) -> None:
    """Groups that could not be removed when their run ended, or whose opener was killed: empty ones that are old."""
    for group in parent.glob("dissensus-*"):
        with contextlib.suppress(OSError):  # the kernel removes no group that holds a process
            if time.time() - group.stat().st_mtime > _YOUNG_S:
                group.rmdir()


def _remove(group: Path) -> None:
    """Processes that were just killed leave their group when they are reaped: a moment later."""
    for _ in range(_TRIES):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
        else:
            return
