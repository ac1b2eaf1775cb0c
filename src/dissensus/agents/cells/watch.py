"""Looks at a running cell from outside, ten times a second, for what no limit of the kernel adds up.

The memory of all processes together, and what lies in the scratch folder. Who goes over is ended.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final, Literal

from dissensus.agents.cells.bubblewrap import HOME, SCRATCH
from dissensus.agents.cells.identity import members, status_of
from dissensus.agents.cells.limits import Limits

Over = Literal["", "memory", "disk", "files"]

_BLOCK: Final = 512
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

    def __call__(self, group: int) -> bool:
        """Look once."""
        pids = members(group)
        if sum(map(_memory_of, pids)) > self._limits.memory_together_bytes:
            self.over = "memory"
        elif self._scratch is not None:
            used, files = used_in(self._scratch, self._limits.files)
            self.over = "files" if files > self._limits.files else "disk" if used > self._limits.disk_bytes else ""
        elif _files_inside(pids) > self._limits.files:
            self.over = "files"
        return bool(self.over)


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
    """
    top = os.open(folder, _FOLDER)
    try:
        while names := os.listdir(top):  # noqa: PTH208 - a folder that is held open has no path
            for name in names:
                if _is_folder(name, top):
                    _lift(name, top)
                    os.rmdir(name, dir_fd=top)
                else:
                    os.unlink(name, dir_fd=top)
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
