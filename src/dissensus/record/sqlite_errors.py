"""What SQLite's errors mean to somebody who wants to keep or read a record."""

from __future__ import annotations

import sqlite3

from dissensus.errors import DissensusError, RecordDamaged, RecordError, StorageError

_MEANINGS = (
    ("SQLITE_FULL", "the disk is full", "Free space, then resume the run."),
    ("SQLITE_READONLY", "the file or its folder may not be written", "Change the permissions or the folder."),
    ("SQLITE_CANTOPEN", "the file or its folder may not be written", "Change the permissions or the folder."),
    ("SQLITE_PERM", "the file or its folder may not be written", "Change the permissions or the folder."),
    ("SQLITE_BUSY", "another program holds it", "Wait until that has ended, then resume the run."),
    ("SQLITE_LOCKED", "another program holds it", "Wait until that has ended, then resume the run."),
    ("SQLITE_CONSTRAINT", "another program has added events to it", "Resume the run from the record."),
    ("SQLITE_IOERR", "the disk does not take the bytes", "Look at space, quota and health of the disk, then resume."),
)


def translated(error: Exception, path: str, seq: int, *, writing: bool = False) -> DissensusError:
    """Our error for one of SQLite's: what happened to ``path``, and what to do.

    ``seq`` is the event that was to be read (0 if none).
    """
    name = str(getattr(error, "sqlite_errorname", ""))
    if name == "SQLITE_NOTADB":
        return RecordError(
            f"{path} is no record, or its beginning is damaged.",
            next_step="Look at the name; if it is right, restore the file from a copy.",
        )
    if writing and not name.startswith(("SQLITE_CORRUPT", "SQLITE_FORMAT")):
        for start, why, what_to_do in _MEANINGS:
            if name.startswith(start):
                return StorageError(f"{path} cannot be written: {why}.", next_step=what_to_do)
        return StorageError(f"{path} cannot be written: {error}.", next_step="Open it again and resume the run.")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StorageError(f"{path} cannot be read: another program holds it.", next_step="Try again a little later.")
    if isinstance(error, sqlite3.ProgrammingError):
        return StorageError(f"{path} is closed.", next_step="Open it again.")
    if str(error).startswith("no such table"):
        return RecordError(
            f"{path} is no record: it lacks the tables of one.", next_step="Name a file that dissensus wrote."
        )
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_READONLY")):
        return RecordError(
            f"{path} cannot be opened where it lies ({error}).",
            next_step="Copy it into another folder and read it there.",
        )
    place = f"Event {seq} of {path}" if seq else path
    return RecordDamaged(f"{place} cannot be read: {error}.", seq=seq, next_step="Restore the record from a copy.")
