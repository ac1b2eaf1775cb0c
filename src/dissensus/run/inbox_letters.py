"""Answers that wait until their record can be written: a run that is at work holds it, and may for hours.

Each is a small file beside the record, whole or not there at all. It decides nothing: whoever gets the record's lock
next takes it in, judges it by what the record says then, and takes the file away once the verdict is on the disk. A
process that dies at any point in between leaves a file whose verdict is on the record already, or not yet.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from dissensus.errors import StorageError
from dissensus.run.inbox_answers import Given

MOST_BYTES: Final = 1_000_000
_STALE_S: Final = 60.0
_NAME: Final = re.compile(r"[0-9]{20}-[A-Za-z0-9._+-]{1,200}\.json")


def folder_of(record: str | Path) -> Path:
    """Where answers to the questions of ``record`` wait."""
    return Path(f"{record}-answers")


def drop(record: str | Path, given: Given) -> Path:
    """Leave an answer beside ``record``. The same one again changes nothing.

    Raises :class:`~dissensus.errors.StorageError` if it cannot be written.
    """
    folder = folder_of(record)
    safe = re.sub(r"[^A-Za-z0-9._+-]", "_", given.idempotency_key)[:150]
    try:
        for path, earlier in waiting(record):
            if earlier.idempotency_key == given.idempotency_key:
                return path
        path = folder / f"{int(given.at * 1e6):020d}-{safe}.json"
        for _ in range(_TRIES):
            with contextlib.suppress(FileNotFoundError):  # the last answer in it was taken away just now
                _write(path, msgspec.json.encode(given))
                return path
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"The answer cannot be kept beside {record}: {why}.", next_step=_NEXT) from None
    raise StorageError(f"The answer cannot be kept beside {record}: its folder vanishes.", next_step=_NEXT)


_TRIES: Final = 20
_NEXT: Final = "Make room, or change the folder's permissions, and answer again."


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _flush(path.parent)


def waiting(record: str | Path) -> list[tuple[Path, Given]]:
    """The answers that wait, the earliest first. A file that is none is put aside as ``….unreadable``."""
    found = []
    folder = folder_of(record)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not _NAME.fullmatch(path.name):
            continue
        try:
            with path.open("rb") as file:  # one that is too long is cut, and so is no JSON
                found.append((path, msgspec.json.decode(file.read(MOST_BYTES), type=Given)))
        except FileNotFoundError:  # taken in by another process a moment ago
            continue
        except (msgspec.DecodeError, ValueError):
            with contextlib.suppress(OSError):
                path.rename(path.with_suffix(".unreadable"))
    return found


def take_away(path: Path) -> None:
    """Remove an answer whose verdict is on the record, and the folder with the last one."""
    with contextlib.suppress(OSError):
        path.unlink()
    with contextlib.suppress(OSError):  # others wait in it
        path.parent.rmdir()


def tidy(record: str | Path) -> None:
    """Remove what a process left that died while it wrote: a file without its name, a folder with nothing in it."""
    folder = folder_of(record)
    for path in folder.glob(".new-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_S:
                path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _flush(folder: Path) -> None:
    """Have the disk keep the file's name too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
