"""Opens the record that lies under a path. SQLite is imported only for records that need it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dissensus.errors import SpecError, UsageError
from dissensus.record.chain import Clock, new_run_id
from dissensus.record.store import Store


def open_record(
    path: str | os.PathLike[str],
    mode: str = "r",
    *,
    clock: Clock = time.time,
    run_id: str | None = None,
) -> Store:
    """Open the record of one run.

    Args:
        path: a ``.jsonl`` file (mode ``r`` only) or a SQLite file, whatever its name.
        mode: ``r`` reads, also while another process writes; ``x`` makes a new record (and its folder) to write to;
            ``a`` goes on with one that exists.
        clock: seconds since 1970-01-01 UTC, for the time of events.
        run_id: what the ids of a new record's events begin with; random if it is not given.

    Raises:
        SpecError: the file does not exist (``r``, ``a``) or does exist (``x``).
        StorageError: another process writes it, or it cannot be written.
        RecordDamaged, RecordTooNew, RecordError: it cannot be read, or is no record.
    """
    name = os.fspath(path)
    if mode not in {"r", "a", "x"}:
        raise UsageError(f"A record cannot be opened with mode {mode!r}.", next_step="Use 'r', 'a' or 'x'.")
    if name.endswith(".jsonl"):
        from dissensus.record.jsonl import JsonlStore

        if mode != "r":
            raise UsageError(
                f"{name} cannot be written to: JSON lines are for exchange.",
                next_step="Turn it into a record first: dissensus record import FILE.jsonl -o FILE.db",
            )
        if Path(name).exists():
            must_exist(name)
        return JsonlStore(name)
    if mode != "x":
        must_exist(name)
    if mode == "r":
        from dissensus.record.sqlite import SqliteReader

        return SqliteReader(name)
    from dissensus.record.sqlite_writer import SqliteWriter

    return SqliteWriter(name, clock, (run_id or new_run_id()) if mode == "x" else None)


def must_exist(path: str) -> None:
    """Raise :class:`~dissensus.errors.SpecError` unless ``path`` is a file that can be read."""
    if Path(path).is_dir():
        raise SpecError("this is a folder, not a record.", path=path, next_step="Name one of the files in it.")
    if not Path(path).exists():
        raise SpecError("there is no such record.", path=path, next_step="Look at the name and the folder.")
    if not os.access(path, os.R_OK):
        raise SpecError("this file may not be read.", path=path, next_step="Change its permissions.")
    if not Path(path).is_file():  # reading a pipe would wait for somebody to write into it
        raise SpecError("this is a pipe or a device, not a record.", path=path, next_step="Look at the name.")
