"""What happens to a record when the process dies, the disk is full, or nothing may be written."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance import some

from dissensus.errors import RecordDamaged, RecordError, StorageError
from dissensus.record.event import Draft
from dissensus.record.jsonl import export_jsonl, import_jsonl
from dissensus.record.lock import WriterLock
from dissensus.record.opening import open_record
from dissensus.record.sqlite_errors import translated
from dissensus.record.store import Store
from dissensus.record.verify import verify

HERE = Path(__file__).parent


def large(number: int) -> list[Draft]:
    """Drafts of about 3 kB each, no two alike."""
    return [Draft(kind="ask", body={"prompt": f"{place} " * 500, "n": list(range(500))}) for place in range(number)]


# --- kill -9


def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path: Path) -> None:
    path, told = tmp_path / "run.db", tmp_path / "told"
    luck = random.Random(7)  # noqa: S311 - no secret
    kills, promised = 30, 0
    for number in range(kills):
        child = subprocess.Popen(
            [sys.executable, str(HERE / "appender.py"), str(path), str(told), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(luck.random() * 0.15)
            assert child.poll() is None, child.communicate()[1].decode()
        finally:
            child.send_signal(signal.SIGKILL)
            child.communicate()
        if not path.exists():
            assert not told.exists() or not told.read_text()
            continue
        promised = int((told.read_text() or "0").split()[-1])
        reading_first = number % 2
        if reading_first:  # a reader finds the log of the dead writer, and must not mind
            assert verify(path).events >= promised
        with open_record(path, "a") as store:
            assert len(store) >= promised
            assert verify(store).events == len(store)
    assert promised > 100
    assert verify(path).events >= promised
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.db", "told"]


# --- a full disk


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A small disk of its own; skips the test where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("needs the right to mount a small disk")
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)  # noqa: S607
    if done.returncode:
        pytest.skip("this machine does not allow mounting a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=True)  # noqa: S607


def fill_until_refused(store: Store) -> tuple[int, StorageError]:
    """Append and commit until it fails. Returns how many events were acknowledged, and the error."""
    for number in range(1000):
        acknowledged = len(store)
        store.append(large(5))
        try:
            store.commit(durable=number % 3 == 0)
        except StorageError as error:
            return acknowledged, error
    raise AssertionError("the disk was never full")


def check_after_failure(path: Path, store: Store, acknowledged: int) -> None:
    """The store refuses more, shows what it holds, and has lost nothing that it acknowledged."""
    with pytest.raises(StorageError, match="last commit failed") as caught:
        store.append(some(1))
    assert caught.value.next_step
    assert len(store) == acknowledged + 5
    assert len(list(store.read())) == acknowledged + 5
    with open_record(path) as reader:
        assert len(reader) == acknowledged
        assert verify(reader).events == acknowledged


def test_a_full_disk(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=600k", "tmpfs") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 100_000)
        path = disk / "run.db"
        store = open_record(path, "x")
        acknowledged, error = fill_until_refused(store)
        assert acknowledged > 0
        assert "disk is full" in error.message
        assert error.next_step
        assert error.exit_code == 3
        check_after_failure(path, store, acknowledged)
        with pytest.raises(StorageError):
            store.commit()
        ballast.unlink()  # room again: the same store goes on
        store.commit(durable=True)
        store.append(some(1))
        store.commit()
        store.close()
        assert verify(path).events == acknowledged + 6


def test_a_disk_that_stays_full(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=600k", "tmpfs") as disk:
        path = disk / "run.db"
        store = open_record(path, "x")
        acknowledged, _ = fill_until_refused(store)
        with pytest.raises(StorageError):
            store.close()
        store.close()
        assert verify(path).events == acknowledged
        with open_record(path) as reader:
            assert len(reader.tail(3)) == 3
        for attempt in (
            lambda: open_record(disk / "other.db", "x"),
            lambda: export_jsonl(path, disk / "out.jsonl"),
        ):
            (disk / "rest").write_bytes(b"")
            with contextlib.suppress(OSError), (disk / "rest").open("ab", buffering=0) as rest:
                while True:
                    rest.write(b"x" * 4096)
            with pytest.raises(StorageError) as caught:
                attempt()
            assert caught.value.next_step
        (disk / "rest").unlink()
        export_jsonl(path, tmp_path / "out.jsonl")
        with pytest.raises(StorageError):
            import_jsonl(tmp_path / "out.jsonl", disk / "copy.db")
        assert sorted(file.name for file in disk.iterdir() if not file.name.startswith("run.db")) == []
        with pytest.raises(StorageError), open_record(path, "a") as again:
            fill_until_refused(again)
        assert verify(path).events == acknowledged


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """A quota, by way of the limit on the size of files of a process."""
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(HERE)!r})
from pathlib import Path
from test_record_disk import check_after_failure, fill_until_refused
from dissensus.record.opening import open_record
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
store = open_record(path, "x")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
acknowledged, error = fill_until_refused(store)
check_after_failure(path, store, acknowledged)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.commit(durable=True)
store.close()
print(acknowledged, error.message)
"""
    path = tmp_path / "run.db"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stdout
    assert verify(path).events == int(done.stdout.split()[0]) + 5


def test_a_record_at_its_limit_of_pages(tmp_path: Path) -> None:
    """What SQLite itself calls full, on any system."""
    path = tmp_path / "run.db"
    store = open_record(path, "x")
    store._db.execute("PRAGMA max_page_count = 60")  # type: ignore[attr-defined]
    acknowledged, error = fill_until_refused(store)
    assert acknowledged > 0
    assert "disk is full" in error.message
    check_after_failure(path, store, acknowledged)
    store._db.execute("PRAGMA max_page_count = 100000")  # type: ignore[attr-defined]
    store.commit()
    store.append(some(1))
    store.close()
    assert verify(path).events == acknowledged + 6


# --- nothing may be written


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder as a read-only disk: not even the superuser writes there."""
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)  # noqa: S607
        yield


def test_a_read_only_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    path = disk / "run.db"
    with open_record(path, "x") as store:
        store.append([*some(20), *large(2)])
        events = list(store.read())
    with read_only(disk):
        with open_record(path) as reader:
            assert list(reader.read()) == events
        assert verify(path).events == 22
        export_jsonl(path, tmp_path / "run.jsonl")
        for name, mode in (("run.db", "a"), ("new.db", "x"), ("sub/new.db", "x")):
            with pytest.raises(StorageError) as caught:
                open_record(disk / name, mode)
            assert "Read-only" in caught.value.message
            assert caught.value.next_step
        with pytest.raises(StorageError):
            export_jsonl(path, disk / "run.jsonl")
    assert [file.name for file in disk.iterdir()] == ["run.db"]


def test_a_read_only_disk_with_a_record_in_use(tmp_path: Path) -> None:
    """The log of a writer that has not closed, or was killed, is read too where that is possible."""
    disk = tmp_path / "disk"
    path = disk / "run.db"
    store = open_record(path, "x")
    store.append(some(5))
    store.commit()
    try:
        with read_only(disk), open_record(path) as reader:
            assert len(reader) == 5
            assert verify(reader).events == 5
    finally:
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        for name in ("run.db", "run.db-wal", "run.db-shm"):
            shutil.copy(disk / name, crashed / name)
        store.close()
    with read_only(crashed), open_record(crashed / "run.db") as reader:
        assert len(reader) == 5
    (crashed / "run.db-shm").unlink()
    with read_only(crashed):  # SQLite cannot work without a place for its index of the log
        with pytest.raises(RecordError, match=r"run\.db-wal") as caught:
            open_record(crashed / "run.db")
        assert "Copy both files" in caught.value.next_step
    assert verify(crashed / "run.db").events == 5
    assert verify(crashed / "run.db").events == 5


def test_a_record_in_wal_mode_on_a_read_only_disk(tmp_path: Path) -> None:
    """A record whose writer could not turn the mode back, because somebody was reading when it closed."""
    disk = tmp_path / "disk"
    path = disk / "run.db"
    store = open_record(path, "x")
    store.append(some(5))
    store.commit()
    reader = open_record(path)
    running = reader.read()
    next(running)
    cursor = reader._db.execute("SELECT * FROM events")  # type: ignore[attr-defined]
    cursor.fetchone()
    store.close()
    cursor.close()
    reader.close()
    for name in ("run.db-wal", "run.db-shm"):
        Path(disk / name).unlink(missing_ok=True)
    assert path.read_bytes()[18:20] == b"\2\2"  # still in WAL mode
    with read_only(disk):
        assert verify(path).events == 5


def test_a_half_done_change_of_mode_is_finished_by_the_next_reader(tmp_path: Path) -> None:
    """A process killed in the middle of a transaction without WAL leaves a journal that has to be played back."""
    path = tmp_path / "run.db"
    with open_record(path, "x") as store:
        store.append(some(5))
    code = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 1')\ndb.execute('PRAGMA cache_spill = 1')\ndb.execute('BEGIN')\n"
        "for n in range(100, 400):\n    db.execute('INSERT INTO events VALUES(?, zeroblob(900), zeroblob(32))', (n,))\n"
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=60).returncode == 9
    assert Path(f"{path}-journal").stat().st_size
    assert verify(path).events == 5
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may read everything")
    path = tmp_path / "run.db"
    open_record(path, "x").close()
    path.chmod(0)
    with pytest.raises(Exception, match="may not be read"):
        open_record(path)


# --- locks


def test_a_lock_is_let_go_once(tmp_path: Path) -> None:
    lock = WriterLock(str(tmp_path / "run.db"))
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    WriterLock(str(tmp_path / "run.db")).release()


def test_a_lock_file_that_was_just_taken_away_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "run.db")
    real = WriterLock._is_current
    seen: list[int] = []

    def once_not(self: WriterLock, fd: int) -> bool:
        if not seen:
            Path(f"{path}-lock").unlink()  # by the one who held it
        seen.append(fd)
        return real(self, fd)

    monkeypatch.setattr(WriterLock, "_is_current", once_not)
    lock = WriterLock(path)
    assert len(seen) == 2
    with pytest.raises(StorageError):
        WriterLock(path)
    lock.release()


def test_a_disk_without_locks_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(StorageError, match="without locks") as caught:
        WriterLock(str(tmp_path / "run.db"))
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("name", "writing", "kind", "words"),
    [
        ("SQLITE_FULL", True, StorageError, "disk is full"),
        ("SQLITE_IOERR_WRITE", True, StorageError, "does not take the bytes"),
        ("SQLITE_READONLY_DBMOVED", True, StorageError, "may not be written"),
        ("SQLITE_CORRUPT_VTAB", True, RecordDamaged, "cannot be read"),
        ("SQLITE_TOOBIG", True, StorageError, "cannot be written"),
        ("SQLITE_BUSY_RECOVERY", False, StorageError, "another program"),
        ("SQLITE_IOERR_SHORT_READ", False, RecordDamaged, "cannot be read"),
        ("SQLITE_CORRUPT", False, RecordDamaged, "Event 5 of run.db"),
        ("SQLITE_NOTADB", False, RecordError, "no record"),
        ("SQLITE_CANTOPEN", False, RecordError, "cannot be opened"),
    ],
)
def test_what_sqlite_says_becomes_a_sentence(name: str, kind: type[Exception], words: str, *, writing: bool) -> None:
    error = sqlite3.OperationalError("its own words")
    error.sqlite_errorname = name
    ours = translated(error, "run.db", 5, writing=writing)
    assert type(ours) is kind
    assert words in ours.message
    assert "run.db" in ours.message
    assert ours.next_step.endswith(".")


def test_a_record_without_its_tables_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    open_record(path, "x").close()
    for table, words in (("events", "tables of a record"), ("meta", "lacks the tables")):
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(f"DROP TABLE {table}")
            db.commit()
        for mode in ("r", "a"):
            with pytest.raises(RecordError, match=words):
                open_record(path, mode)


def test_another_program_in_the_middle_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissensus.record.sqlite._WAIT_S", 0.05)
    path = tmp_path / "run.db"
    open_record(path, "x").close()
    other = sqlite3.connect(path, isolation_level=None)
    try:
        with open_record(path, "a") as store:
            store.append(some(2))
            store.commit()
            other.execute("BEGIN IMMEDIATE")
            store.append(some(2))
            with pytest.raises(StorageError, match="another program holds it"):
                store.commit()
            other.execute("ROLLBACK")
            store.commit()
    finally:
        other.close()
    assert verify(path).events == 4
