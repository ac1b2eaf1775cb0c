"""Looks at a running cell from outside, ten times a second, for what no limit of the kernel adds up.

The memory of all processes together, and what lies in the scratch folder. Who goes over is ended.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from pathlib import Path
from typing import Final, Literal

from dissensus.agents.cells.bubblewrap import HOME, SCRATCH
from dissensus.agents.cells.identity import members, status_of
from dissensus.agents.cells.limits import Limits

Over = Literal["", "memory", "disk", "files"]

_BLOCK: Final = 512
_MOST_WAITS, _WAIT_S = 50, 0.02
_MOST_ROUNDS: Final = 100_000
"""A round takes away one level of folders in folders."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Watch:
    """Called with the number of the program's process group; true when it has to be ended. ``over`` says for what.

    Args:
        limits: of the run.
        scratch: the scratch folder, if it lies in this file system; else it is looked for in the cell's own.
    """

    def __init__(self, limits: Limits, scratch: Path | None) -> None:
        self.over: Over = ""
        self._limits = limits
        self._scratch = scratch
        self._group = 0

    def settle(self) -> None:
        """Wait, a second at most, until the processes that were ended count no more: the next program needs room."""
        for _ in range(_MOST_WAITS if self._group else 0):
            if not members(self._group):
                return
            time.sleep(_WAIT_S)

    def __call__(self, group: int) -> bool:
        """Look once."""
        memory, used, files = self._look(group)
        limits = self._limits
        if memory > limits.memory_together_bytes:
            self.over = "memory"
        elif files > limits.files:
            self.over = "files"
        elif used > limits.disk_bytes:
            self.over = "disk"
        return bool(self.over)

    def sees(self, group: int) -> set[str]:
        """The guards for which a look shows something: nothing, where other processes are hidden from us."""
        memory, _, files = self._look(group)
        return {name for name, shown in (("memory-together", memory), ("files", files)) if shown}

    def _look(self, group: int) -> tuple[int, int, int]:
        """Bytes of memory and, where the kernel does not bound them, of files; and the number of files."""
        self._group = group
        pids = members(group)
        memory = sum(map(_memory_of, pids))
        if self._scratch is None:
            return memory, 0, _files_inside(pids)
        return memory, *used_in(self._scratch, self._limits.files)


def _memory_of(pid: int) -> int:
    """Bytes that a process holds in memory and that are no copy of a file."""
    fields = status_of(pid)
    return 1024 * sum(int(fields.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem"))


def _files_inside(pids: list[int]) -> int:
    """How many files a cell with a file system of its own has made, asked through one of its processes."""
    for pid in reversed(pids):
        try:
            told = os.statvfs(f"/proc/{pid}/root{HOME / SCRATCH}")
        except OSError:
            continue
        return told.f_files - told.f_ffree
    return 0


def used_in(folder: Path, most_files: int) -> tuple[int, int]:
    """Bytes and number of what lies in ``folder``; counting ends above ``most_files``.

    What is nested too deeply to be named counts as too many files.
    """
    used = files = 0
    waiting = [str(folder)]
    while waiting and files <= most_files:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    files += 1
                    told = entry.stat(follow_symlinks=False)
                    used += told.st_blocks * _BLOCK
                    if stat.S_ISDIR(told.st_mode):
                        waiting.append(entry.path)
                    if files > most_files:
                        break
        except FileNotFoundError:  # gone since
            continue
        except OSError:
            return used, most_files + 1
    return used, files


def empty(folder: Path) -> None:
    """Remove all that lies in ``folder``, however deep: a program may have made a path too long to be walked.

    No link is followed: what is removed is found from a folder that is held open.

    Raises:
        OSError: something cannot be removed, or somebody goes on filling the folder.
    """
    top = os.open(folder, _FOLDER)
    try:
        for _ in range(_MOST_ROUNDS):
            names = os.listdir(top)  # noqa: PTH208 - a folder that is held open has no path
            if not names:
                return
            for name in names:
                if _is_folder(name, top):
                    _lift(name, top)
                    os.rmdir(name, dir_fd=top)
                else:
                    os.unlink(name, dir_fd=top)
        raise OSError(errno.EBUSY, "the folder does not get empty", str(folder))
    finally:
        os.close(top)


def _lift(name: str, top: int) -> None:
    """Empty a folder: its folders move up beside it, so that no path ever grows."""
    _unlock(name, top)
    inner = os.open(name, _FOLDER, dir_fd=top)
    try:
        for below in os.listdir(inner):  # noqa: PTH208 - as above
            if _is_folder(below, inner):
                _unlock(below, inner)
                os.rename(below, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(below, dir_fd=inner)
    finally:
        os.close(inner)


def _is_folder(name: str, where: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=where, follow_symlinks=False).st_mode)


def _unlock(name: str, where: int) -> None:
    if os.geteuid():  # root needs no leave, and must not be led through a link
        os.chmod(name, 0o700, dir_fd=where)
