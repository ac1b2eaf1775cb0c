"""The folders of a cell in this file system: made, given to a new user, removed, also those of openers that died."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dissensus.agents.cells.bubblewrap import SCRATCH
from dissensus.agents.cells.identity import fresh_uid
from dissensus.agents.cells.watch import empty
from dissensus.agents.cells.ways import Way
from dissensus.errors import CellError

_PREFIX: Final = "dissensus-cell-"
_YOUNG_S: Final = 60.0
"""A folder is locked by its opener as soon as it is made; before it is this old, nobody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folders of a cell, and the user whose they are. ``uid`` is None if it is our own."""

    base: Path
    uid: int | None = None

    @property
    def evidence(self) -> Path:
        """What the manifest lists; programs run here."""
        return self.base / "evidence"

    @property
    def program(self) -> Path:
        """Programs that were handed over as text."""
        return self.base / "program"

    @property
    def scratch(self) -> Path:
        """Where programs write; at strong it is only the place where something else is mounted."""
        return self.evidence / SCRATCH


@contextlib.contextmanager
def laid_out(way: Way) -> Iterator[Place]:
    """Empty folders for a cell, removed afterwards; the new user's where there is one.

    Raises:
        CellError: a user of its own is wanted, and there is none to be had.
        OSError: the disk is full, or no temporary folder can be written.
    """
    _remove_orphans()
    base = Path(tempfile.mkdtemp(prefix=_PREFIX))
    place = Place(base=base)
    with _locked(base):
        try:
            for folder in (place.evidence, place.program, place.scratch):
                folder.mkdir()
                folder.chmod(0o755)  # whatever the umask is
            yield for_a_new_user(place) if way.user == "fresh" else place
        finally:
            with contextlib.suppress(FileNotFoundError):
                empty(place.scratch)
            shutil.rmtree(base)


def for_a_new_user(place: Place) -> Place:
    """The same folders, for a user whom nobody was before; what earlier programs left running is another's.

    Raises:
        CellError: this container has no user to spare.
        OSError: a folder is gone.
    """
    uid = fresh_uid()
    if uid is None:
        raise CellError("This container has no user to spare.", next_step="Run as an ordinary user.")
    os.chown(place.base, 0, uid)
    place.base.chmod(0o710)  # its group alone gets through
    os.chown(place.scratch, uid, uid)
    return replace(place, uid=uid)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A lock that ends with this process, however that ends."""
    held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _remove_orphans() -> None:
    """Remove folders whose opener was killed: they are ours, not young, and nobody holds their lock."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            told = folder.lstat()
            if told.st_uid != os.geteuid() or time.time() - told.st_mtime < _YOUNG_S:
                continue
            held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place = Place(base=folder)
                if place.scratch.is_dir():
                    empty(place.scratch)
                shutil.rmtree(folder)
            finally:
                os.close(held)
