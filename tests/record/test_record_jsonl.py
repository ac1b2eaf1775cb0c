from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conformance import drafts, some, ticking
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.errors import RecordDamaged, RecordError, RecordTooNew, SpecError, StorageError
from dissensus.record import jsonl, sqlite, sqlite_writer
from dissensus.record.blobs import LONG
from dissensus.record.event import Draft
from dissensus.record.jsonl import JsonlStore, copy_events, export_jsonl, import_jsonl, write_jsonl
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.verify import verify

PROMPT = "a prompt to which several events refer " * 50


def filled() -> MemoryStore:
    store = MemoryStore(clock=ticking())
    store.append([*some(3), *(Draft(kind="ask", body={"prompt": PROMPT, "n": n}) for n in range(3))])
    store.append([Draft(kind="note", body={"$blob": "é" * LONG, "text": 'two\nlines \u2028 and a quote "'})])
    store.append([Draft(kind="ended")])
    return store


def lines_of(store: Any) -> list[bytes]:
    out = io.BytesIO()
    write_jsonl(store, out)
    return out.getvalue().splitlines(keepends=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    file.write_bytes(b"".join(lines_of(filled())))
    return file


def test_anybody_can_check_it_by_hand(path: Path) -> None:
    """The recipe of the module's docstring, without a line of ours."""
    last = sha256(b"dissensus: the record before its first event").digest()
    texts, seqs = {}, []
    for line in path.read_bytes().split(b"\n")[1:-2]:
        entry = json.loads(line)
        if "blob" in entry:
            texts[entry["blob"]] = entry["text"]
            assert entry["blob"] == "sha256:" + sha256(entry["text"].encode()).hexdigest()
            continue
        raw = line[line.index(b'"event":') + 8 : -1]
        last = sha256(last + raw).digest()
        assert entry["hash"] == last.hex()
        seqs.append(entry["event"]["seq"])
        if entry["event"]["kind"] == "ask":
            assert texts[entry["event"]["body"]["prompt"]["$blob"]] == PROMPT
    end = json.loads(path.read_bytes().split(b"\n")[-2])["end"]
    assert end == {"events": len(seqs), "hash": last.hex()}
    assert seqs == list(range(1, 9))
    assert verify(path).head == last.hex()


def test_a_long_text_stands_once_before_its_first_event(path: Path) -> None:
    kinds = [next(iter(json.loads(line))) for line in path.read_bytes().splitlines()]
    assert kinds == ["dissensus", *["hash"] * 3, "blob", *["hash"] * 3, "blob", "hash", "hash", "end"]


def test_it_reads_like_the_record(path: Path) -> None:
    store = filled()
    with open_record(path) as lines:
        assert isinstance(lines, JsonlStore)
        assert [event.body for event in lines.read()] == [event.body for event in store.read()]
        assert lines.tail(2) == list(lines.read(7))
        assert list(lines.read(2, 4)) == list(lines.read())[1:3]
        assert list(lines.rows(3, 4)) == list(lines.rows())[2:3]
        assert len(lines) == 8
        assert sorted(lines.blobs()) == sorted(store.blobs())
        assert lines.blob(b"\0" * 32) is None
        for write in (lambda: lines.append(some(1)), lines.commit, lambda: lines.adopt([], {})):
            with pytest.raises(StorageError, match="for reading"):
                write()


@given(batches=st.lists(st.lists(drafts, max_size=4), max_size=4))
@settings(max_examples=40)
def test_there_and_back_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, batches: list[list[Draft]]) -> None:
    folder = tmp_path_factory.mktemp("jsonl")
    with open_record(folder / "run.db", "x") as store:
        for batch in batches:
            store.append(batch)
        rows, run_id, events = list(store.rows()), store.run_id, list(store.read())
    head = export_jsonl(folder / "run.db", folder / "run.jsonl")
    found = import_jsonl(folder / "run.jsonl", folder / "back.db")
    with open_record(folder / "run.jsonl") as lines, open_record(folder / "back.db") as back:
        assert list(lines.rows()) == list(back.rows()) == rows
        assert list(lines.read()) == list(back.read()) == events
        assert lines.run_id == back.run_id == run_id
        assert lines.head() == back.head() == head
        assert verify(lines).head == verify(back).head == found.head == head.hash.hex()
        assert lines_of(back) == (folder / "run.jsonl").read_bytes().splitlines(keepends=True)


def test_verifying_needs_no_sqlite(path: Path) -> None:
    code = (
        "import sys\nsys.modules['sqlite3'] = sys.modules['_sqlite3'] = None\n"
        "from dissensus.record.verify import verify\nprint(verify(sys.argv[1]).events)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "8\n"


# --- damage


def broken(tmp_path: Path, lines: list[bytes]) -> RecordError:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(b"".join(lines))
    with pytest.raises(RecordError) as caught:
        verify(file)
    assert str(file) in caught.value.message
    assert caught.value.exit_code == 4
    with pytest.raises(RecordError):
        import_jsonl(file, tmp_path / "broken.db")
    assert not (tmp_path / "broken.db").exists()
    return caught.value


@pytest.mark.parametrize(
    ("change", "seq"),
    [
        (lambda lines: lines[:-1], 9),
        (lambda lines: lines[:-2], 8),
        (lambda lines: lines[:3], 3),
        (lambda lines: [*lines[:5], lines[5][:40]], 4),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], 9),
        (lambda lines: [*lines, lines[-1]], 9),
        (lambda lines: [*lines, b"\n"], 9),
        (lambda lines: [*lines[:-2], lines[-1]], 8),
        (lambda lines: [*lines[:2], *lines[3:]], 2),
        (lambda lines: [*lines[:2], lines[2], *lines[2:]], 3),
        (lambda lines: [*lines[:4], *lines[5:]], 4),
        (lambda lines: [*lines[:2], b'{"other":1}\n', *lines[2:]], 2),
        (lambda lines: [line.replace(b"several", b"many") for line in lines], 4),
        (lambda lines: [line.replace(b'"n":1', b'"n":7') for line in lines], 2),
        (lambda lines: [line.replace(b'"n":1', b'"n": 1') for line in lines], 2),
        (lambda lines: [line.replace(b'"events":8', b'"events":9') for line in lines], 9),
    ],
)
def test_damage_is_named(path: Path, tmp_path: Path, change: Any, seq: int) -> None:
    error = broken(tmp_path, change(path.read_bytes().splitlines(keepends=True)))
    assert isinstance(error, RecordDamaged)
    assert error.seq == seq, error.message


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"[1]\n", b'{"question":"What?"}\n', b"\xff\xfe\n", b"{" * 100_000, b'{"dissensus":"record"'],
)
def test_other_files_are_no_records(tmp_path: Path, content: bytes) -> None:
    error = broken(tmp_path, [content])
    assert not isinstance(error, RecordDamaged)


def test_line_ends_of_another_system_are_damage(path: Path, tmp_path: Path) -> None:
    broken(tmp_path, [path.read_bytes().replace(b"\n", b"\r\n")])


def test_a_later_format_is_told_from_damage(path: Path, tmp_path: Path) -> None:
    assert isinstance(broken(tmp_path, [path.read_bytes().replace(b'"format":1', b'"format":2')]), RecordTooNew)


def test_a_damaged_record_is_not_exported() -> None:
    store = filled()
    seq, raw, stored_hash = store._chain.rows[2]
    store._chain.rows[2] = (seq, raw.replace(b'"n":2', b'"n":3'), stored_hash)
    with pytest.raises(RecordDamaged) as caught:
        write_jsonl(store, io.BytesIO())
    assert caught.value.seq == 3
    store = filled()
    digest = sha256(PROMPT.encode()).digest()
    for text in (b"another", None):
        if text is None:
            del store._chain.blobs[digest]
        else:
            store._chain.blobs[digest] = text
        with pytest.raises(RecordDamaged, match=digest.hex()) as caught:
            write_jsonl(store, io.BytesIO())
        assert caught.value.seq == 4
        with pytest.raises(RecordDamaged):
            copy_events(store, MemoryStore(run_id=store.run_id))


# --- files


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    record = tmp_path / "run.db"
    import_jsonl(path, record)
    before = path.read_bytes(), record.read_bytes()
    with pytest.raises(SpecError, match="exists"):
        export_jsonl(record, path)
    with pytest.raises(SpecError, match="exists"):
        import_jsonl(path, record)
    assert (path.read_bytes(), record.read_bytes()) == before


def test_a_failed_export_leaves_nothing(path: Path, tmp_path: Path) -> None:
    broken_file = tmp_path / "broken.jsonl"
    broken_file.write_bytes(path.read_bytes().replace(b'"n":2', b'"n":3'))
    with pytest.raises(RecordDamaged):
        export_jsonl(broken_file, tmp_path / "out.jsonl")
    with pytest.raises(SpecError):
        export_jsonl(tmp_path / "none.db", tmp_path / "out.jsonl")
    with pytest.raises(StorageError):
        export_jsonl(path, tmp_path / "none" / "out.jsonl")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken.jsonl", "run.jsonl"]


def test_an_import_that_fails_half_way_leaves_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_source: Any, target: Any) -> None:
        target.append(some(3))
        raise StorageError("the disk is gone")

    monkeypatch.setattr(jsonl, "copy_events", fail)
    with pytest.raises(StorageError, match="gone"):
        import_jsonl(path, tmp_path / "back.db")
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_file_that_goes_away(path: Path) -> None:
    store = open_record(path)
    path.unlink()
    with pytest.raises(SpecError, match="cannot be read"):
        store.head()


def test_memory_does_not_grow_with_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_CHUNK_BYTES", 2**15)  # smaller pieces, so that a small record has many
    monkeypatch.setattr(jsonl, "_BATCH_EVENTS", 100)
    monkeypatch.setattr(sqlite_writer, "_MANY_EVENTS", 200)

    def peak(events: int) -> int:
        folder = tmp_path / str(events)
        with open_record(folder / "run.db", "x") as store:
            for start in range(0, events, 500):
                store.append(some(500, start=start))
        tracemalloc.start()
        try:
            export_jsonl(folder / "run.db", folder / "run.jsonl")
            import_jsonl(folder / "run.jsonl", folder / "back.db")
            with open_record(folder / "back.db") as back:
                assert sum(1 for _ in back.read()) == events
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(500)
    assert peak(8000) < 1.5 * peak(2000)
