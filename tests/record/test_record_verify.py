"""Nothing is changed without being found, and what is found is named."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conformance import some, ticking

from dissensus.errors import RecordDamaged, RecordError, SpecError
from dissensus.record.blobs import LONG
from dissensus.record.chain import GENESIS, link
from dissensus.record.event import Draft
from dissensus.record.jsonl import export_jsonl
from dissensus.record.memory import MemoryStore
from dissensus.record.opening import open_record
from dissensus.record.store import Texts
from dissensus.record.verify import verify

PROMPT = "the prompt that two events share " * 40
OTHER = "a text of one event " * 60


def drafts() -> list[Draft]:
    return [
        *some(3),
        Draft(kind="ask", key="a", visibility=("ada",), body={"agent": "ada", "prompt": PROMPT}),
        Draft(kind="ask", key="b", visibility=("ben",), body={"agent": "ben", "prompt": PROMPT, "more": [OTHER]}),
        Draft(kind="note", body={"scores": [number / 7 for number in range(1500)]}),
        Draft(kind="ended", body={}),
    ]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "run.db"
    with open_record(path, "x", clock=ticking()) as store:
        store.append(drafts())
    export_jsonl(path, path.with_suffix(".jsonl"))
    return path


@pytest.fixture
def record(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


def tampered(path: Path, *statements: str, values: dict[str, Any] | None = None) -> RecordError:
    """What verification says after somebody has got around the triggers."""
    with closing(sqlite3.connect(path)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement, values or {})
        db.commit()
    with pytest.raises(RecordError) as caught:
        verify(path)
    assert str(path) in caught.value.message
    return caught.value


def test_an_untouched_record_holds(original: Path) -> None:
    for path in (original, original.with_suffix(".jsonl")):
        found = verify(path)
        assert (found.events, found.blobs, found.complete) == (7, 2, True)
        assert found.path == str(path)
        with open_record(path) as store:
            assert found.head == store.head().hash.hex()
            assert found.run_id == store.run_id
            assert verify(store) == found


@pytest.mark.parametrize("seq", range(1, 8))
def test_one_changed_byte_of_any_event_or_hash_is_named(record: Path, seq: int) -> None:
    with open_record(record) as store:
        ((_, raw, stored_hash),) = store.rows(seq, seq + 1)
    for place in (0, 20, len(raw) // 2, len(raw) - 1):
        copy = Path(shutil.copy(record, record.with_name("copy.db")))
        changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        error = tampered(copy, "UPDATE events SET body = :raw WHERE seq = :seq", values={"raw": changed, "seq": seq})
        assert isinstance(error, RecordDamaged)
        assert error.seq == seq
        assert f"Event {seq} of" in error.message
    for place in (0, 15, 31):
        copy = Path(shutil.copy(record, record.with_name("copy.db")))
        changed = stored_hash[:place] + bytes([stored_hash[place] ^ 128]) + stored_hash[place + 1 :]
        error = tampered(copy, "UPDATE events SET hash = :hash WHERE seq = :seq", values={"hash": changed, "seq": seq})
        assert isinstance(error, RecordDamaged)
        assert error.seq == seq


@pytest.mark.parametrize(
    ("sql", "seq"),
    [
        ("DELETE FROM events WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 4", 4),
        ("DELETE FROM events WHERE seq < 6", 1),
        ("UPDATE events SET seq = 100 WHERE seq = 7", 7),
        ("UPDATE events SET seq = seq + 10", 1),
        ("UPDATE events SET seq = 0 WHERE seq = 1", 1),
        ("INSERT INTO events SELECT -5, body, hash FROM events WHERE seq = 1", 1),
        ("INSERT INTO events SELECT 8, body, hash FROM events WHERE seq = 7", 8),
        ("INSERT INTO events VALUES(8, x'', x'')", 8),
        ("UPDATE events SET body = CAST(body AS TEXT) WHERE seq = 3", 3),
        ("UPDATE events SET hash = 'text' WHERE seq = 3", 3),
        ("UPDATE events SET body = 5 WHERE seq = 3", 3),
        ("UPDATE events SET body = zeroblob(0) WHERE seq = 3", 3),
    ],
)
def test_missing_moved_and_added_events_are_named(record: Path, sql: str, seq: int) -> None:
    error = tampered(record, sql)
    assert isinstance(error, RecordDamaged)
    assert error.seq == seq


def test_two_events_that_changed_places_are_named(record: Path) -> None:
    error = tampered(
        record,
        "UPDATE events SET seq = -2 WHERE seq = 2",
        "UPDATE events SET seq = 2 WHERE seq = 3",
        "UPDATE events SET seq = 3 WHERE seq = -2",
    )
    assert isinstance(error, RecordDamaged)
    assert error.seq == 2


def test_an_event_with_a_forged_hash_breaks_the_next_link(record: Path) -> None:
    with open_record(record) as store:
        rows = list(store.rows())
    forged = rows[2][1].replace(b'"n":2', b'"n":9')
    assert forged != rows[2][1]
    error = tampered(
        record,
        "UPDATE events SET body = :body, hash = :hash WHERE seq = 3",
        values={"body": forged, "hash": link(rows[1][2], forged)},
    )
    assert isinstance(error, RecordDamaged)
    assert error.seq == 4


def test_a_chain_that_holds_around_a_wrong_number_is_found() -> None:
    store = MemoryStore()
    store.append(some(3))
    rows = list(store.rows())
    raw = rows[2][1].replace(b'"seq":3', b'"seq":2')
    store._chain.rows[2] = (3, raw, link(rows[1][2], raw))
    store._chain.hash = store._chain.rows[2][2]
    with pytest.raises(RecordDamaged, match="says of itself that it is event 2") as caught:
        verify(store)
    assert caught.value.seq == 3


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"v":1,"seq":3}',
        b'{"v":1,"seq":3,"id":"r:3","kind":"note","body":{"a":{"$blob":5}}}',
        b'{"v":1,"seq":3,"id":"r:3","kind":"note","body":{"a":{"$blob":"sha256:x"}}}',
        b'{"v":1,"seq":3,"id":"r:3","kind":"note","body":[{"$blob":1}]}',
    ],
)
def test_a_chain_around_bytes_that_are_no_event_is_found(raw: bytes) -> None:
    store = MemoryStore()
    store.append(some(3))
    rows = list(store.rows())
    store._chain.rows[2] = (3, raw, link(rows[1][2], raw))
    with pytest.raises(RecordDamaged) as caught:
        verify(store)
    assert caught.value.seq == 3


def test_an_end_that_is_promised_and_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    store.append(some(3))
    rows = list(store.rows())
    monkeypatch.setattr(store, "rows", lambda: iter(rows[:2]))
    with pytest.raises(RecordDamaged, match="Event 3 of the record is damaged: it is missing"):
        verify(store)


def test_a_run_that_goes_on_during_the_check_is_checked_to_its_new_end() -> None:
    store = MemoryStore()
    store.append(drafts())

    def go_on(_done: int, _total: int) -> None:
        if len(store) == 5007:
            store.append([Draft(kind="ask", body={"prompt": "a new text " * 200}), Draft(kind="ended")])

    store.append(some(5000))
    found = verify(store, progress=go_on)
    assert (found.events, found.complete) == (5009, True)


def test_reading_a_long_text_that_is_missing_or_changed_names_the_event() -> None:
    digest = sha256(PROMPT.encode()).digest()
    for text in (b"another", None):
        store = MemoryStore()
        store.append(drafts())
        if text is None:
            del store._chain.blobs[digest]
        else:
            store._chain.blobs[digest] = text
        assert len(list(store.read(1, 4))) == 3
        with pytest.raises(RecordDamaged, match=digest.hex()) as caught:
            list(store.read())
        assert caught.value.seq == 4


def test_only_the_last_long_texts_are_kept_at_hand() -> None:
    store = MemoryStore()
    store.append([Draft(kind="ask", body={"prompt": f"{number}" * LONG}) for number in range(10, 30)])
    texts = Texts(store, limit=5 * 2 * LONG)
    for event in store.read():
        assert texts(sha256(event.body["prompt"].encode()).digest()) == event.body["prompt"]
    assert len(texts._texts) == 5
    assert texts._held == 5 * 2 * LONG


def test_events_cut_off_at_the_end_show_only_in_the_head(record: Path) -> None:
    before = verify(record)
    with closing(sqlite3.connect(record)) as db:
        db.execute("DROP TRIGGER events_are_not_deleted")
        db.execute("DELETE FROM events WHERE seq > 5")
        db.commit()
    after = verify(record)
    assert after.events == 5
    assert after.head != before.head
    assert before.complete
    assert not after.complete


# --- long texts


@pytest.mark.parametrize(("text", "seq"), [(PROMPT, 4), (OTHER, 5)])
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE blobs SET bytes = CAST('X' || substr(bytes, 2) AS BLOB) WHERE digest = :digest",
        "UPDATE blobs SET bytes = zeroblob(0) WHERE digest = :digest",
        "UPDATE blobs SET bytes = 'text' WHERE digest = :digest",
        "UPDATE blobs SET digest = zeroblob(32) WHERE digest = :digest",
        "DELETE FROM blobs WHERE digest = :digest",
    ],
)
def test_a_changed_long_text_is_named_with_the_first_event_that_refers_to_it(
    record: Path, sql: str, text: str, seq: int
) -> None:
    digest = sha256(text.encode()).digest()
    error = tampered(record, sql, values={"digest": digest})
    assert isinstance(error, RecordDamaged)
    assert error.seq == seq
    assert digest.hex() in error.message


def test_a_wrong_long_text_that_nobody_refers_to_is_found(record: Path) -> None:
    error = tampered(record, "INSERT INTO blobs VALUES(zeroblob(32), x'00')")
    assert isinstance(error, RecordDamaged)
    assert error.seq == 0
    assert "00" * 32 in error.message or sha256(b"\0").hexdigest() in error.message


def test_long_texts_that_changed_places_are_found(record: Path) -> None:
    one, other = (sha256(text.encode()).digest() for text in (PROMPT, OTHER))
    error = tampered(
        record,
        "UPDATE blobs SET bytes = CASE digest WHEN :one THEN :b ELSE :a END",
        values={"one": one, "other": other, "a": PROMPT.encode(), "b": OTHER.encode()},
    )
    assert isinstance(error, RecordDamaged)
    assert error.seq == 4


def test_each_long_text_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    store.append([Draft(kind="ask", body={"prompt": PROMPT, "n": number}) for number in range(50)])
    hashed: list[bytes] = []

    def counting(data: bytes) -> Any:
        hashed.append(data)
        return sha256(data)

    monkeypatch.setattr("dissensus.record.verify.sha256", counting)
    verify(store)
    assert hashed.count(PROMPT.encode()) == 1


def test_another_runs_name_on_the_record_is_found(record: Path) -> None:
    error = tampered(record, "UPDATE meta SET value = 'ffffffffffffffff' WHERE name = 'run'")
    assert isinstance(error, RecordDamaged)
    assert error.seq == 1


# --- bytes of the file


def flipped(path: Path, places: Iterator[int], check: Callable[[int, int], None]) -> int:
    """Change one bit at each place in turn, call ``check(place, bit)``, and put it back."""
    luck = random.Random(1)  # noqa: S311 - no secret
    count = 0
    with path.open("r+b", buffering=0) as file:
        for place in places:
            file.seek(place)
            (byte,) = file.read(1)
            bit = luck.randrange(8)
            file.seek(place)
            file.write(bytes([byte ^ (1 << bit)]))
            check(place, bit)
            file.seek(place)
            file.write(bytes([byte]))
            count += 1
    return count


def everything(path: Path) -> Any:
    with open_record(path) as store:
        return list(store.rows()), sorted(store.blobs()), store.run_id, list(store.read())


def test_no_bit_of_the_database_can_change_what_is_read(record: Path) -> None:
    """Wherever a bit flips in the file: it is found, or nothing that is read differs."""
    want = everything(record)
    found = 0

    def check(place: int, bit: int) -> None:
        nonlocal found
        try:
            verify(record)
        except RecordError:
            found += 1
            return
        assert everything(record) == want, f"bit {bit} of byte {place} changed what is read, and nobody noticed"

    size = record.stat().st_size
    heads = {
        page + place for page in range(0, size, 4096) for place in range(40)
    }  # where the pages say what is in them
    count = flipped(record, iter(sorted({*range(0, size, 31), *heads})), check)
    assert found > count / 5


def test_a_bit_in_an_events_bytes_names_that_event(record: Path) -> None:
    data = record.read_bytes()
    with open_record(record) as store:
        rows = [row for row in store.rows() if len(row[1]) < 1000]
    assert len(rows) >= 5
    for seq, raw, stored_hash in rows:
        for part in (raw, stored_hash):
            begin = data.index(part)

            def check(place: int, bit: int, seq: int = seq) -> None:
                with pytest.raises(RecordDamaged) as caught:
                    verify(record)
                assert caught.value.seq == seq, (place, bit)

            assert flipped(record, iter(range(begin, begin + len(part), 7)), check)


def test_every_byte_of_the_json_lines_counts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_record(tmp_path / "small.db", "x") as store:
        store.append([*some(2), Draft(kind="ask", body={"prompt": "é" * LONG, "$blob": 1}), Draft(kind="ended")])
    export_jsonl(tmp_path / "small.db", path)
    lines = path.read_bytes().splitlines(keepends=True)
    ends = [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
    owner = {1: 1, 2: 2, 3: 3, 4: 3, 5: 4}  # line number to event; line 3 is the long text of event 3

    def check(place: int, bit: int) -> None:
        with pytest.raises(RecordError) as caught:
            verify(path)
        line = next(number for number, end in enumerate(ends) if place < end)
        if line in owner and place != ends[line] - 1:  # a line break that is gone may be laid on either of its lines
            assert isinstance(caught.value, RecordDamaged), (place, bit)
            assert caught.value.seq == owner[line], (place, bit, lines[line][:80])

    assert flipped(path, iter(range(path.stat().st_size)), check) == ends[-1]


# --- how it is called


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    for name in ("none.db", "none.jsonl"):
        with pytest.raises(SpecError):
            verify(tmp_path / name)


def test_progress_is_told() -> None:
    store = MemoryStore()
    store.append(some(10_000))
    told: list[tuple[int, int]] = []
    verify(store, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (10_000, 10_000)
    assert len(told) >= 3
    assert told == sorted(told)


def test_the_first_hash_follows_from_the_documented_text() -> None:
    store = MemoryStore()
    store.append(some(1))
    ((_, raw, stored_hash),) = store.rows()
    assert sha256(b"dissensus: the record before its first event").digest() == GENESIS
    assert stored_hash == sha256(GENESIS + raw).digest()
