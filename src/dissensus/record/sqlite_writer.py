"""The one writer of a SQLite record.

A commit is one transaction in WAL mode. When it returns, the operating system has the bytes (they survive
``kill -9``); if it was durable, the disk has them too. A commit that fails leaves the file as it was and keeps in
memory what it was to store: it can be tried again, and nothing more is taken until it has succeeded.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain as chained
from pathlib import Path

from dissensus.errors import SpecError, StorageError
from dissensus.record import canonical
from dissensus.record.canonical import WRONG_HASH, Row, damaged
from dissensus.record.chain import GENESIS, Chain, Clock, link
from dissensus.record.event import Draft, Event
from dissensus.record.lock import WriterLock
from dissensus.record.sqlite import APPLICATION_ID, FORMAT, TABLES, SqliteFile, connect
from dissensus.record.sqlite_errors import translated
from dissensus.record.store import Head

_MANY_EVENTS = 4096
_MANY_BYTES = 2**23
"""With so much waiting, the writer commits of its own accord."""

_ROWS_AT_ONCE = 50
_ONE_ROW = "INSERT INTO events VALUES(?, ?, ?)"
_MANY_ROWS = ", ".join([_ONE_ROW, *["(?, ?, ?)"] * (_ROWS_AT_ONCE - 1)])
"""An eighth less work for SQLite than one row at a time."""

# UPDATE and DELETE are refused. SQLite runs no DELETE trigger for REPLACE, and a trigger on every INSERT would cost a
# tenth of the speed of writing; a replaced event is found by its hash, like any other that was changed.
_TRIGGERS = """
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'a record is append-only'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'a record is append-only'); END;
CREATE TRIGGER blobs_are_not_changed BEFORE UPDATE ON blobs
    BEGIN SELECT RAISE(ABORT, 'a record is append-only'); END;
CREATE TRIGGER blobs_are_not_deleted BEFORE DELETE ON blobs
    BEGIN SELECT RAISE(ABORT, 'a record is append-only'); END;
CREATE TRIGGER blobs_are_not_replaced BEFORE INSERT ON blobs
    WHEN EXISTS(SELECT 1 FROM blobs WHERE digest = NEW.digest)
    BEGIN SELECT RAISE(IGNORE); END;
"""


class SqliteWriter(SqliteFile):
    """The one writer of a record. See :class:`~dissensus.record.store.Store` for what each method promises."""

    def __init__(self, path: str, clock: Clock, new: str | None = None) -> None:
        """Open ``path``, or make it if ``new`` gives the id of its run."""
        super().__init__(path)
        self._chain = Chain("")
        self._failed = False
        self._closed = False
        self._flushed = False
        self._synchronous = ""
        self._known: set[bytes] = set()
        if new is not None:
            if Path(path).exists():
                raise SpecError("this file exists already.", path=path, next_step="Choose another name.")
            try:
                Path(path).resolve().parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(
                    f"The folder of {path} cannot be made ({os.strerror(error.errno or 0)}).",
                    next_step="Keep the record in another folder.",
                ) from error
        self._lock = WriterLock(path)
        try:
            if new is not None:
                _make(path, new)
            self._db = connect(path, "mode=rw")
        except BaseException as error:
            self._lock.release()
            if isinstance(error, sqlite3.Error | UnicodeDecodeError):
                raise translated(error, path, 0, writing=True) from error
            raise
        try:
            self._check_format()
            self._flush_on_commit(durable=False)
            self._write("PRAGMA journal_mode = WAL")
            self._chain = Chain(self.run_id, *self._checked_head(), clock=clock)
            self._write("BEGIN IMMEDIATE", "ROLLBACK")  # a file that may not be written is found out now
        except BaseException:
            self._db.close()
            self._lock.release()
            raise

    @property
    def run_id(self) -> str:
        """The run that is recorded."""
        return self._chain.run_id or super().run_id

    def head(self) -> Head:
        """The end, with what waits to be committed."""
        return Head(self._chain.seq, self._chain.hash)

    def append(self, drafts: Sequence[Draft]) -> Sequence[Event]:
        """See :class:`~dissensus.record.store.Store`."""
        self._make_room()
        return self._chain.append(drafts)

    def adopt(self, rows: Iterable[Row], blobs: Mapping[bytes, bytes]) -> None:
        """See :class:`~dissensus.record.store.Store`."""
        self._make_room()
        self._chain.adopt(rows, blobs)

    def commit(self, *, durable: bool = False) -> None:
        """See :class:`~dissensus.record.store.Store`."""
        if self._closed:
            raise self._refused("is closed", "Open it again.")
        if not self._chain.rows and (self._flushed or not durable):
            return
        try:
            self._store(durable=durable)
        except sqlite3.Error as error:
            self._failed = True
            with contextlib.suppress(sqlite3.Error):
                self._db.rollback()
            raise translated(error, self.path, 0, writing=True) from error
        self._failed = False
        self._flushed = durable
        self._known.update(self._chain.blobs)
        if len(self._known) > 2**14:
            self._known.clear()
        self._chain.stored()

    def _store(self, *, durable: bool) -> None:
        self._flush_on_commit(durable=durable)
        db, chain = self._db, self._chain
        db.execute("BEGIN IMMEDIATE")
        if chain.blobs:
            new = [item for item in chain.blobs.items() if item[0] not in self._known]
            db.executemany("INSERT OR IGNORE INTO blobs VALUES(?, ?)", new)
        if rows := chain.rows:
            whole = len(rows) - len(rows) % _ROWS_AT_ONCE
            for first in range(0, whole, _ROWS_AT_ONCE):
                db.execute(_MANY_ROWS, [*chained.from_iterable(rows[first : first + _ROWS_AT_ONCE])])
            db.executemany(_ONE_ROW, rows[whole:])
        else:  # all is stored but not flushed: only a transaction that writes makes SQLite flush its log
            db.execute("INSERT OR REPLACE INTO meta VALUES('flushed', ?)", (chain.seq,))
        db.execute("COMMIT")

    def _flush_on_commit(self, *, durable: bool) -> None:
        wanted = "FULL" if durable else "NORMAL"
        if wanted != self._synchronous:
            self._db.execute(f"PRAGMA synchronous = {wanted}")
            self._synchronous = wanted

    def close(self) -> None:
        """Commit, fold the log into the file, let go."""
        if self._closed:
            return
        try:
            self.commit()
            # fold the log in and leave one plain file; not while somebody reads, and then it does no harm to leave it
            with contextlib.suppress(sqlite3.Error):
                self._flush_on_commit(durable=False)
                self._db.execute("PRAGMA busy_timeout = 0")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._db.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            self._closed = True
            self._db.close()
            self._lock.release()

    def _chunk(self, start: int, end: int, limit: int) -> list[Row]:
        return super()._chunk(start, end, limit) or self._chain.waiting(start, end)[:limit]

    def blob(self, digest: bytes) -> bytes | None:
        """A long text, committed or not."""
        waiting = self._chain.blobs.get(digest)
        return super().blob(digest) if waiting is None else waiting

    def has_blob(self, digest: bytes) -> bool:
        """Whether there is such a long text, committed or not."""
        return digest in self._chain.blobs or super().has_blob(digest)

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        """All long texts, committed or not."""
        yield from super().blobs()
        yield from [item for item in self._chain.blobs.items() if not super(SqliteWriter, self).has_blob(item[0])]

    def _make_room(self) -> None:
        if self._closed:
            raise self._refused("is closed", "Open it again.")
        if self._failed:
            raise self._refused(
                "takes no more events, because the last commit failed", "Free space, then commit again or resume later."
            )
        if len(self._chain.rows) >= _MANY_EVENTS or self._chain.waiting_bytes >= _MANY_BYTES:
            self.commit()

    def _refused(self, why: str, what_to_do: str) -> StorageError:
        return StorageError(f"{self.path} {why}.", next_step=what_to_do)

    def _write(self, *statements: str) -> None:
        try:
            for statement in statements:
                self._db.execute(statement).fetchall()
        except sqlite3.Error as error:
            raise translated(error, self.path, 0, writing=True) from error

    def _checked_head(self) -> Head:
        """The head, once the last event is known to follow on the one before it."""
        head = super().head()
        before = GENESIS
        for seq, raw, stored_hash in self.rows(max(head.seq - 1, 1)):
            if seq == head.seq:
                canonical.check_place(seq, raw, self.path)
                if link(before, raw) != stored_hash:
                    raise damaged(self.path, seq, WRONG_HASH)
            before = stored_hash
        return head


def _make(path: str, run_id: str) -> None:
    """Put an empty record at ``path``, whole or not at all, whenever the process dies."""
    draft = f"{Path(path).absolute()}-new"
    _unlink(draft)
    try:
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")  # one flush of the whole file, below, is enough
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(";\n".join(["BEGIN", *TABLES.values(), _TRIGGERS]))
            db.execute("INSERT INTO meta VALUES('format', ?), ('run', ?)", (FORMAT, run_id))
            db.execute("COMMIT")
        with Path(draft).open("rb") as file:
            os.fsync(file.fileno())
        Path(draft).rename(path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be made ({os.strerror(error.errno or 0)}).", next_step="Choose another folder."
        ) from error
    finally:
        _unlink(draft)


def _unlink(path: str) -> None:
    """Take away a half-made database with all that SQLite put beside it."""
    for name in (path, f"{path}-wal", f"{path}-shm", f"{path}-journal"):
        with contextlib.suppress(OSError):
            Path(name).unlink()
