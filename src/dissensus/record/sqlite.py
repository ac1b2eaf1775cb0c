"""One SQLite file per run: the store that runs write.

::

    meta(name, value)          format, run, flushed (up to which event, at least, the disk has it)
    events(seq, body, hash)    canonical bytes and hash of each event; append-only by triggers
    blobs(digest, bytes)       long texts by their SHA-256; append-only by triggers

The writer holds a lock (:mod:`dissensus.record.lock`) and works in WAL mode, so that readers never wait for it. A
commit is one transaction: the operating system has the bytes when it returns (they survive ``kill -9``), and the disk
has them too if it was durable. A record whose writer has closed it is one plain file.

Readers open the file read-only and read in short pieces, so none of them keeps the writer's log from being folded in.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dissensus.errors import RecordDamaged, RecordError, StorageError
from dissensus.record.canonical import Row, damaged
from dissensus.record.chain import GENESIS
from dissensus.record.lock import WriterLock
from dissensus.record.opening import open_record
from dissensus.record.sqlite_errors import translated
from dissensus.record.store import END, ForReading, Head, Reading
from dissensus.record.upcast import too_new

__all__ = ["APPLICATION_ID", "FORMAT", "TABLES", "SqliteFile", "SqliteReader", "connect", "open_record"]

FORMAT = 1
"""Version of the tables."""
APPLICATION_ID = 0x44495353
"""Marks the file as a record, in SQLite's own header."""
TABLES = {
    "meta": "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "events": "CREATE TABLE events(seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL)",
    "blobs": "CREATE TABLE blobs(digest BLOB PRIMARY KEY, bytes BLOB NOT NULL)",
}

_WAIT_S = 10.0
_CHUNK_BYTES = 2**20


class SqliteFile(Reading):
    """What reader and writer of a SQLite file share."""

    _db: sqlite3.Connection

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    @property
    def run_id(self) -> str:
        """The run that is recorded."""
        return str(self._meta().get("run", ""))

    def head(self) -> Head:
        """The end of what was committed."""
        found = self._ask("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")
        return Head(found[0][0], _as_bytes(found[0][1])) if found else Head(0, GENESIS)

    def rows(self, start: int = 1, stop: int | None = None) -> Iterator[Row]:
        """Events as they are stored, read in pieces of about a mebibyte."""
        # from 1 means from the very beginning: a row that somebody put before it has to come to light
        seq, end, limit = start if start > 1 else -END, END if stop is None else stop, 64
        while seq < end:
            try:
                chunk = self._chunk(seq, end, limit)
            except RecordDamaged:
                if limit == 1:
                    raise
                limit = 1  # one by one, to give what can be read and to name what cannot
                continue
            if not chunk:
                return
            size = 1
            for row in chunk:
                if row[0] < seq:  # on a damaged page; to follow it could go on for ever
                    raise damaged(self.path, row[0], f"it stands where event {max(seq, 1)} belongs")
                seq = row[0] + 1
                if type(row[1]) is not bytes or type(row[2]) is not bytes:
                    raise damaged(self.path, row[0], "it is not stored as bytes")
                size += len(row[1])
                yield row
            limit = max(1, min(_CHUNK_BYTES * len(chunk) // size, 8 * limit, 2048))

    def _chunk(self, start: int, end: int, limit: int) -> list[Row]:
        return self._ask(
            "SELECT seq, body, hash FROM events WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?",
            (start, end, limit),
            seq=max(start, 1),
        )

    def blob(self, digest: bytes) -> bytes | None:
        """A long text."""
        found = self._ask("SELECT bytes FROM blobs WHERE digest = ?", (digest,))
        return _as_bytes(found[0][0]) if found else None

    def has_blob(self, digest: bytes) -> bool:
        """Whether there is such a long text."""
        # by way of the row itself: the index alone might point to another
        sql = "SELECT digest FROM blobs WHERE rowid = (SELECT rowid FROM blobs WHERE digest = ?)"
        return self._ask(sql, (digest,)) == [(digest,)]

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        """All long texts, one at a time."""
        last = -END
        while found := self._ask(
            "SELECT rowid, digest, bytes FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT 1", (last,)
        ):
            rowid, digest, data = found[0]
            if rowid <= last:
                raise RecordDamaged(
                    f"The long texts in {self.path} are out of order.", next_step="Restore the record from a copy."
                )
            last = rowid
            yield _as_bytes(digest), _as_bytes(data)

    def _ask(self, sql: str, values: Sequence[Any] = (), *, seq: int = 0) -> list[Any]:
        """All rows of a query. ``seq`` is named if they cannot be read."""
        try:
            return self._db.execute(sql, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where SQLite's own message is damaged
            raise translated(error, self.path, seq) from error

    def _meta(self) -> dict[str, Any]:
        return dict(self._ask("SELECT name, value FROM meta"))

    def _check_format(self) -> None:
        """Raise unless this is a record of a version that is known here."""
        if self._ask("PRAGMA application_id")[0][0] != APPLICATION_ID:
            what = "is a database, but not a record" if Path(self.path).stat().st_size else "is empty, so not a record"
            raise RecordError(f"{self.path} {what}.", next_step="Name a file that dissensus wrote.")
        form = self._meta().get("format")
        if form != FORMAT:
            raise too_new(self.path, form, FORMAT)
        # a table that is declared in another way gives other values for the same bytes
        found = dict(self._ask("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')"))
        if found != TABLES:
            raise RecordDamaged(
                f"{self.path} does not have the tables of a record.", next_step="Restore the record from a copy."
            )


class SqliteReader(ForReading, SqliteFile):
    """A record opened for reading; a writer may be at work on it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        try:
            self._db = self._connect()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise translated(error, path, 0) from error
        try:
            self._check_format()
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _connect(self) -> sqlite3.Connection:
        try:
            return connect(self.path, "mode=ro")
        except sqlite3.OperationalError as error:
            name = getattr(error, "sqlite_errorname", "")
            if not name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                raise
        real = os.path.realpath(self.path)
        for log in (Path(f"{real}-wal"), Path(f"{real}-journal")):
            if log.exists() and log.stat().st_size:
                return self._fold_in(log)
        # nothing but the file itself, on a disk where SQLite cannot put its lock file
        return connect(self.path, "mode=ro&immutable=1")

    def _fold_in(self, log: Path) -> sqlite3.Connection:
        """Have SQLite finish what a killed writer left half done, which takes a writer, and open again."""
        try:
            lock = WriterLock(self.path)
        except StorageError as error:
            raise RecordError(
                f"{self.path} has a log beside it ({log.name}) that cannot be read where it lies.",
                next_step="Copy both files into a folder that can be written, and read them there.",
            ) from error
        try:
            with contextlib.closing(connect(self.path, "mode=rw")):
                pass
        finally:
            lock.release()
        return connect(self.path, "mode=ro")


def connect(path: str, options: str) -> sqlite3.Connection:
    """A connection on which one page was read, so that what is wrong comes out here."""
    uri = f"{Path(path).absolute().as_uri()}?{options}"
    db = sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")  # a record may come from anywhere
        db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        db.close()
        raise
    return db


def _as_bytes(value: object) -> bytes:
    """What stands in a column; something that is no bytes becomes bytes that no digest fits."""
    return value if isinstance(value, bytes) else f"not bytes: {value!r:.40}".encode()
