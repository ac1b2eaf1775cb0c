"""What the SQLite store does beyond what every store does: one writer, many readers, append-only, one plain file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conformance import some

from dissensus.errors import (
    RecordDamaged,
    RecordError,
    RecordTooNew,
    SpecError,
    StorageError,
    UsageError,
)
from dissensus.record import sqlite_writer
from dissensus.record.blobs import LONG
from dissensus.record.event import Draft
from dissensus.record.opening import open_record
from dissensus.record.store import Store
from dissensus.record.verify import verify


def made(path: Path, events: int = 3) -> Path:
    """A closed record."""
    with open_record(path, "x") as store:
        store.append([*some(events), Draft(kind="ask", body={"prompt": "p" * LONG})])
    return path


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- opening


@pytest.mark.parametrize("mode", ["r", "a"])
def test_a_record_that_is_not_there(tmp_path: Path, mode: str) -> None:
    with pytest.raises(SpecError) as caught:
        open_record(tmp_path / "none.db", mode)
    assert caught.value.exit_code == 2
    assert "none.db" in caught.value.message
    assert files(tmp_path) == []


@pytest.mark.parametrize("mode", ["r", "a"])
def test_a_folder_is_no_record(tmp_path: Path, mode: str) -> None:
    with pytest.raises(SpecError, match="folder"):
        open_record(tmp_path, mode)


@pytest.mark.parametrize("name", ["pipe.db", "pipe.jsonl"])
def test_a_pipe_is_no_record_and_nobody_waits_for_it(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(SpecError, match="pipe"):
        open_record(tmp_path / name)


def test_a_new_record_replaces_nothing(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with pytest.raises(SpecError, match="exists"):
        open_record(path, "x")
    assert verify(path).events == 4


def test_a_new_record_makes_its_folder(tmp_path: Path) -> None:
    assert verify(made(tmp_path / "a" / "b" / "run.db")).events == 4


def test_modes_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        open_record(tmp_path / "run.db", "w")
    for mode in ("a", "x"):
        with pytest.raises(UsageError, match="exchange"):
            open_record(tmp_path / "run.jsonl", mode)
    assert files(tmp_path) == []


def test_names_of_any_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a b.db", "50%.db", "what?.db", "x#y.db", "ünïcode.db", "no-ending", "file:x.db"):
        assert verify(made(Path(name))).events == 4, name


def test_a_closed_record_is_one_plain_file(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    assert files(tmp_path) == ["run.db"]
    verify(path)
    with open_record(path) as store:
        store.tail(2)
    assert files(tmp_path) == ["run.db"]
    with open_record(path, "a") as store:
        store.append(some(1))
        store.commit()
        assert "run.db-wal" in files(tmp_path)
    assert files(tmp_path) == ["run.db"]


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    before = path.read_bytes()
    with open_record(path) as store:
        for write in (lambda: store.append(some(1)), store.commit, lambda: store.adopt([], {})):
            with pytest.raises(StorageError, match="for reading"):
                write()
        assert list(store.read())
    assert path.read_bytes() == before


def test_a_closed_reader(tmp_path: Path) -> None:
    store = open_record(made(tmp_path / "run.db"))
    store.close()
    store.close()
    with pytest.raises(StorageError, match="closed"):
        store.head()


# --- append-only


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET body = x'00' WHERE seq = 1",
        "UPDATE events SET seq = 9 WHERE seq = 1",
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events",
        "UPDATE blobs SET bytes = x'00'",
        "DELETE FROM blobs",
    ],
)
def test_update_and_delete_are_refused(tmp_path: Path, sql: str) -> None:
    path = made(tmp_path / "run.db")
    with closing(sqlite3.connect(path)) as db, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(sql)
    assert verify(path).events == 4


def test_a_long_text_cannot_be_replaced(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("REPLACE INTO blobs SELECT digest, x'00' FROM blobs")
        db.commit()
    assert verify(path).blobs == 1


def test_a_replaced_event_is_found(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "REPLACE INTO events SELECT seq, CAST(replace(body, 'n', 'm') AS BLOB), hash FROM events WHERE seq = 2"
        )
        db.commit()
    with pytest.raises(RecordDamaged) as caught:
        verify(path)
    assert caught.value.seq == 2


def test_the_table_is_the_documented_one(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT seq, typeof(body), typeof(hash), length(hash) FROM events ORDER BY seq").fetchall()
        assert rows == [(seq, "blob", "blob", 32) for seq in range(1, 5)]
        assert (
            db.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'events'").fetchall() == []
        )
        assert dict(db.execute("SELECT name, value FROM meta"))["format"] == 1


# --- one writer


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with open_record(path, "a") as store:
        with pytest.raises(StorageError, match=str(os.getpid())) as caught:
            open_record(path, "a")
        assert caught.value.exit_code == 3
        store.append(some(1))
        store.commit()
    with open_record(path, "a") as store:
        assert len(store) == 5


def test_a_second_writer_is_refused_in_another_process_and_by_another_name(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    (tmp_path / "link.db").symlink_to(path)
    code = (
        "import sys\nfrom dissensus.record.opening import open_record\nfrom dissensus.errors import StorageError\n"
        "try:\n    open_record(sys.argv[1], 'a').close()\nexcept StorageError:\n    print('refused')"
    )

    def other(name: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=True, timeout=60
        ).stdout

    with open_record(path, "a"):
        assert other("run.db") == other("link.db") == "refused\n"
    assert other("link.db") == ""


class Rush:
    """Several threads that open one record for writing at the same moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inside = self.most = self.won = 0
        self._guard = threading.Lock()
        self._start = threading.Barrier(4)

    def run(self) -> None:
        threads = [threading.Thread(target=self._attempt) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    def _attempt(self) -> None:
        self._start.wait(10)
        try:
            store = open_record(self.path, "a")
        except StorageError:
            return
        with self._guard:
            self.inside += 1
            self.won += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.002)
        with self._guard:
            self.inside -= 1
        store.close()


def test_only_one_of_many_gets_the_lock(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    for _ in range(20):
        rush = Rush(path)
        rush.run()
        assert rush.most == 1
        assert rush.won
    assert files(tmp_path) == ["run.db"]


def test_what_a_dead_writer_left_does_not_lock(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    Path(f"{path}-lock").write_text("999999\n")
    Path(f"{path}-new").write_bytes(b"half a record")
    with open_record(path, "a") as store:
        store.append(some(1))
    assert verify(path).events == 5


def test_a_writer_from_outside_is_noticed(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    store = open_record(path, "a")
    store.append(some(1))
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO events VALUES(5, x'00', x'00')")
        db.commit()
    with pytest.raises(StorageError, match="another program has added"):
        store.commit()
    with pytest.raises(StorageError):
        store.close()


# --- readers beside a writer


def test_readers_see_what_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with open_record(path, "x") as store, open_record(path) as one, open_record(path) as other:
        for number in range(1, 30):
            store.append([*some(3), Draft(kind="ask", body={"prompt": f"{number}" * LONG})])
            assert len(one) == (number - 1) * 4
            store.commit(durable=number % 5 == 0)
            assert one.head() == other.head() == store.head()
            assert one.tail(5) == store.tail(5)
            assert verify(path) == verify(one) == verify(store)


def test_a_reader_that_stands_still_does_not_stop_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with open_record(path, "x") as store, open_record(path) as reader:
        store.append(some(3000))
        store.commit()
        slow = reader.read()
        assert next(slow).seq == 1
        for start in range(3000, 30_000, 3000):
            store.append(some(3000, start=start))
            store.commit()
        log = Path(f"{path}-wal").stat().st_size
        assert log < 5e6  # the log was folded in meanwhile
        assert [event.seq for event in slow] == list(range(2, 30_001))


def test_readers_outlive_the_writer_and_see_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = open_record(path, "x")
    store.append(some(3))
    store.commit()
    reader = open_record(path)
    assert len(reader) == 3
    store.append(some(2))
    store.close()
    assert len(reader) == 5
    with open_record(path, "a") as store:
        store.append(some(1))
        store.commit()
        assert len(reader) == 6
    assert reader.tail(6)[0].seq == 1
    reader.close()
    with open_record(path, "a") as store:
        assert verify(store).events == 6
    assert files(tmp_path) == ["run.db"]


def test_a_writer_starts_while_readers_are_busy(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db", 2000)
    code = (
        "import sys\nfrom dissensus.record.verify import verify\nprint('go', flush=True)\n"
        "for _ in range(60):\n    assert verify(sys.argv[1]).events >= 2001\n"
    )
    readers = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "go\n"
        for _ in range(10):
            with open_record(path, "a") as store:
                store.append(some(5))
                store.commit()
        for reader in readers:
            assert reader.wait(60) == 0
    finally:
        for reader in readers:
            reader.kill()
            reader.communicate()
    assert verify(path).events == 2051


# --- files that are no record, or no longer


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are my notes\n" * 100)
    for mode in ("r", "a"):
        with pytest.raises(RecordError, match=r"no record, or its beginning is damaged") as caught:
            open_record(path, mode)
        assert caught.value.exit_code == 4
    assert path.read_text().startswith("these are my notes")


def test_a_database_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE events(seq INTEGER PRIMARY KEY, body BLOB, hash BLOB)")
    for mode in ("r", "a"):
        with pytest.raises(RecordError, match="not a record"):
            open_record(path, mode)


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.touch()
    for mode in ("r", "a"):
        with pytest.raises(RecordError, match="empty"):
            open_record(path, mode)


def test_a_record_of_a_later_format(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = 2 WHERE name = 'format'")
        db.commit()
    for mode in ("r", "a"):
        with pytest.raises(RecordTooNew, match="version 2"):
            open_record(path, mode)
    with pytest.raises(RecordTooNew):
        verify(path)
    assert files(tmp_path) == ["run.db"]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off(tmp_path: Path, share: float) -> None:
    path = made(tmp_path / "run.db", 2000)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(RecordError) as caught:
        verify(path)
    assert caught.value.exit_code == 4
    assert caught.value.next_step
    assert str(path) in caught.value.message
    with pytest.raises(RecordError), open_record(path) as store:
        list(store.read())


def test_going_on_with_a_damaged_end_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER events_are_not_changed")
        db.execute("UPDATE events SET hash = zeroblob(32) WHERE seq = 4")
        db.commit()
    with pytest.raises(RecordDamaged) as caught:
        open_record(path, "a")
    assert caught.value.seq == 4
    assert files(tmp_path) == ["run.db"]


# --- committing


def test_much_that_waits_is_committed_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_writer, "_MANY_EVENTS", 10)
    path = tmp_path / "run.db"
    with open_record(path, "x") as store, open_record(path) as reader:
        store.append(some(12))
        assert len(reader) == 0
        store.append(some(1))
        assert len(reader) == 12
        assert len(store) == 13
    monkeypatch.setattr(sqlite_writer, "_MANY_BYTES", 5000)
    with open_record(path, "a") as store, open_record(path) as reader:
        store.append([Draft(kind="ask", body={"prompt": "x" * 6000})])
        assert len(reader) == 13
        store.append(some(1))
        assert len(reader) == 14


class Watched:
    """A connection that notes how far each transaction was flushed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.flushed: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        if sql == "COMMIT":
            self.flushed.append(self._db.execute("PRAGMA synchronous").fetchone()[0] >= 2)
        return self._db.execute(sql, *values)


def watched(store: Store) -> Watched:
    inside: Any = store
    inside._db = Watched(inside._db)
    found: Watched = inside._db
    return found


def test_a_durable_commit_is_flushed_and_others_are_not(tmp_path: Path) -> None:
    with open_record(tmp_path / "run.db", "x") as store:
        db = watched(store)
        store.append(some(1))
        store.commit()
        store.append(some(1))
        store.commit(durable=True)
        assert db.flushed == [False, True]
        store.commit(durable=True)
        store.commit()
        assert db.flushed == [False, True]  # nothing was left to do
        store.append(some(1))
        store.commit()
        store.commit(durable=True)
        assert db.flushed == [False, True, False, True]  # what was committed before is flushed too


def test_what_another_process_committed_is_flushed_too(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    with open_record(path, "a") as store:
        db = watched(store)
        store.commit(durable=True)
        assert db.flushed == [True]
