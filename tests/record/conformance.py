"""What every store of events has to do, in code.

Whoever writes a store subclasses :class:`StoreConformance`, says how one is made and opened again, and has pytest run
it::

    class TestPostgres(StoreConformance):
        def new(self, folder: Path, **options: Any) -> Store:
            return PostgresStore.create(database_for(folder), **options)

        def again(self, store: Store) -> Store:
            return PostgresStore.open(store.path)

A store that forgets when it is closed gives itself back from ``again`` and sets ``keeps = False``.
"""

from __future__ import annotations

import itertools
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dissensus.errors import NotRecordable, RecordDamaged, StorageError
from dissensus.record.blobs import LONG
from dissensus.record.chain import GENESIS, link
from dissensus.record.event import OPERATOR, PUBLIC, Draft, Event
from dissensus.record.store import Head, Store
from dissensus.record.verify import verify

RUN = "0123456789abcdef"

# the same property is held against several stores: that is what a conformance suite is
shared = settings(max_examples=40, suppress_health_check=[HealthCheck.differing_executors])

texts = st.text(max_size=12) | st.sampled_from(["$blob", "$$blob", "sha256:" + "0" * 64, "é" * LONG, "x" * LONG])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
bodies = st.dictionaries(texts, values, max_size=4)
drafts = st.builds(
    Draft,
    kind=st.sampled_from(["ask", "outcome", "post", "note"]),
    body=bodies,
    key=texts,
    actor=texts,
    thread=texts,
    visibility=st.sampled_from([PUBLIC, OPERATOR]) | st.lists(texts, max_size=3).map(tuple),
)


def some(number: int, *, start: int = 0) -> list[Draft]:
    """Small drafts that differ from each other."""
    return [
        Draft(kind="note", key=f"note/{place}", body={"n": place, "text": "words " * (place % 7)})
        for place in range(start, start + number)
    ]


def ticking(first: float = 1_800_000_000.0) -> Any:
    """A clock that goes on by one second each time it is read."""
    return itertools.count(first).__next__


class StoreConformance(ABC):
    """Every test is given a folder of its own and makes its stores in it."""

    keeps = True
    """Whether what was committed is there when the record is opened again."""

    @abstractmethod
    def new(self, folder: Path, **options: Any) -> Store:
        """An empty store, open for writing. ``options``: ``run_id``, ``clock``."""

    @abstractmethod
    def again(self, store: Store) -> Store:
        """The record of a closed store, opened for writing once more."""

    # --- the empty record

    def test_a_new_record_is_empty(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            assert len(store) == 0
            assert store.head() == Head(0, GENESIS)
            assert list(store.read()) == []
            assert store.tail(5) == []
            assert verify(store).events == 0
            assert not verify(store).complete

    def test_the_run_has_an_id_of_its_own(self, tmp_path: Path) -> None:
        ids = set()
        for number in range(3):
            folder = tmp_path / str(number)
            folder.mkdir()
            with self.new(folder) as store:
                assert len(store.run_id) == 16
                int(store.run_id, 16)
                ids.add(store.run_id)
        assert len(ids) == 3

    # --- appending

    def test_events_get_their_place(self, tmp_path: Path) -> None:
        with self.new(tmp_path, run_id=RUN, clock=ticking(100.0)) as store:
            first = store.append(some(3))
            second = store.append(some(2, start=3))
            events = [*first, *second]
            assert [event.seq for event in events] == [1, 2, 3, 4, 5]
            assert [event.id for event in events] == [f"{RUN}:{seq}" for seq in range(1, 6)]
            assert [event.time for event in events] == [100.0] * 3 + [101.0] * 2
            assert [event.body["n"] for event in events] == [0, 1, 2, 3, 4]

    def test_what_append_returns_is_a_sequence(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            made = store.append(some(4))
            assert isinstance(made, Sequence)
            assert len(made) == 4
            assert made[-1] == list(made)[3] == store.tail(1)[0]
            assert list(made[1:3]) == list(store.read(2, 4))
            (event,) = store.append(some(1))
            assert isinstance(event, Event)
            assert event.seq == 5
            with pytest.raises(IndexError):
                made[4]
            assert list(store.append([])) == []

    def test_appended_events_can_be_read_before_the_commit(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            made = list(store.append(some(3)))
            assert list(store.read()) == made
            assert store.head().seq == len(store) == 3
            store.commit()
            made += store.append([Draft(kind="ask", body={"prompt": "p" * LONG}), *some(2)])
            assert list(store.read()) == made
            assert store.tail(4) == made[-4:]
            assert verify(store).events == 6

    def test_a_commit_in_the_middle_of_reading_loses_nothing(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            made = list(store.append(some(200)))
            seen = []
            for event in store.read():
                seen.append(event)
                if event.seq == 30:
                    store.commit()
                if event.seq == 40:
                    made += store.append(some(5))
            assert seen == made

    @given(
        batches=st.lists(
            st.tuples(st.lists(drafts, max_size=4), st.sampled_from(["", "commit", "durable"])), max_size=5
        )
    )
    @shared
    def test_what_is_read_is_what_was_appended(self, batches: list[tuple[list[Draft], str]]) -> None:
        with tempfile.TemporaryDirectory() as folder, self.new(Path(folder), clock=ticking()) as store:
            made: list[Event] = []
            for batch, then in batches:
                made += store.append(batch)
                if then:
                    store.commit(durable=then == "durable")
            assert list(store.read()) == made
            handed = [draft for batch, _ in batches for draft in batch]
            for draft, event in zip(handed, store.read(), strict=True):
                assert (event.kind, event.key, event.actor, event.thread) == (
                    draft.kind,
                    draft.key,
                    draft.actor,
                    draft.thread,
                )
                assert event.visibility == draft.visibility
                assert event.body == draft.body
            assert verify(store).events == len(made)

    def test_keys_of_a_body_keep_their_order(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            store.append([Draft(kind="decision", body={"votes": {"yes": 3, "no": 2, "abstain": 1}})])
            (event,) = store.read()
            assert list(event.body["votes"]) == ["yes", "no", "abstain"]

    def test_a_batch_is_taken_whole_or_not_at_all(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            store.append(some(2))
            before = store.head()
            with pytest.raises(NotRecordable):
                store.append([*some(3), Draft(kind="ask", body={"x": float("nan")}), *some(1)])
            assert store.head() == before
            assert len(list(store.read())) == 2
            store.append(some(1))
            store.commit()
            assert verify(store).events == 3

    def test_a_clock_may_run_backwards(self, tmp_path: Path) -> None:
        times = iter([50.0, 20.0, 20.0])
        with self.new(tmp_path, clock=lambda: next(times)) as store:
            for _ in range(3):
                store.append(some(1))
            assert [event.time for event in store.read()] == [50.0, 20.0, 20.0]

    # --- reading

    @given(start=st.integers(-3, 14), stop=st.none() | st.integers(-3, 14), committed=st.integers(0, 10))
    @shared
    def test_a_part_is_the_part_of_the_whole(self, start: int, stop: int | None, committed: int) -> None:
        with tempfile.TemporaryDirectory() as folder, self.new(Path(folder)) as store:
            store.append(some(committed))
            store.commit()
            store.append(some(10 - committed))
            want = [seq for seq in range(1, 11) if seq >= start and (stop is None or seq < stop)]
            assert [event.seq for event in store.read(start, stop)] == want
            assert [row[0] for row in store.rows(start, stop)] == want

    def test_the_tail(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            events = list(store.append(some(10)))
            for n in (0, 1, 9, 10, 11):
                assert store.tail(n) == (events[-n:] if n else [])
            assert store.tail(-1) == []

    def test_many_events_in_order(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            for start in range(0, 9000, 1000):
                store.append(some(1000, start=start))
            assert [event.body["n"] for event in store.read()] == list(range(9000))
            assert verify(store).events == 9000

    # --- the bytes

    def test_the_chain_is_the_documented_one(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            store.append(some(5))
            store.commit()
            last = GENESIS
            for seq, raw, stored_hash in store.rows():
                assert type(raw) is bytes
                assert raw.startswith(b'{"v":1,"seq":%d,"id":"' % seq)
                assert stored_hash == sha256(last + raw).digest() == link(last, raw)
                last = stored_hash
            assert store.head() == Head(5, last)

    def test_a_long_text_is_stored_once(self, tmp_path: Path) -> None:
        text = "a long prompt " * 100
        with self.new(tmp_path) as store:
            for number in range(4):
                store.append([Draft(kind="ask", body={"prompt": text, "n": number, "also": [text]})])
                store.commit()
            digest = sha256(text.encode()).digest()
            assert list(store.blobs()) == [(digest, text.encode())]
            assert store.blob(digest) == text.encode()
            assert store.has_blob(digest)
            assert all(len(raw) < LONG for _, raw, _ in store.rows())
            assert [event.body["prompt"] for event in store.read()] == [text] * 4
            assert verify(store).blobs == 1

    def test_a_text_that_nobody_stored(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            assert store.blob(b"\0" * 32) is None
            assert not store.has_blob(b"\0" * 32)

    def test_a_very_long_text(self, tmp_path: Path) -> None:
        text = "ten million bytes " * 600_000
        with self.new(tmp_path) as store:
            store.append([Draft(kind="ask", body={"prompt": text}), Draft(kind="ask", body={"prompt": text})])
            store.commit(durable=True)
            assert all(event.body["prompt"] == text for event in store.read())
            assert verify(store).blobs == 1

    # --- adopting what another store has sealed

    def test_adopting_gives_the_same_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        with self.new(tmp_path / "a") as one, self.new(tmp_path / "b", run_id=one.run_id) as other:
            one.append([*some(3), Draft(kind="ask", body={"prompt": "p" * LONG})])
            rows = list(one.rows())
            other.adopt(rows[:2], {})
            other.adopt(rows[2:], dict(one.blobs()))
            other.commit()
            assert list(other.rows()) == rows
            assert list(other.read()) == list(one.read())
            assert other.head() == one.head()
            assert verify(other).events == 4

    def test_only_what_follows_is_adopted(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        with self.new(tmp_path / "a") as one, self.new(tmp_path / "b") as other:
            one.append(some(3))
            first, second, third = one.rows()
            wrong = [
                [second],
                [first, third],
                [first, (2, second[1] + b" ", second[2])],
                [(first[0], first[1], second[2])],
            ]
            for rows in wrong:
                with pytest.raises(RecordDamaged):
                    other.adopt(rows, {})
            with pytest.raises(RecordDamaged):
                other.adopt([first], {b"\0" * 32: b"something else"})
            assert len(other) == 0

    # --- closing and opening again

    def test_closing_commits(self, tmp_path: Path) -> None:
        store = self.new(tmp_path, clock=ticking())
        events = list(store.append([*some(3), Draft(kind="ask", body={"prompt": "p" * LONG})]))
        head, run_id = store.head(), store.run_id
        store.close()
        store.close()
        if not self.keeps:
            return
        with self.again(store) as back:
            assert list(back.read()) == events
            assert back.head() == head
            assert back.run_id == run_id
            (event,) = back.append(some(1))
            assert (event.seq, event.id) == (5, f"{run_id}:5")
        with self.again(store) as back:
            assert verify(back).events == 5

    def test_a_closed_store_takes_nothing(self, tmp_path: Path) -> None:
        store = self.new(tmp_path)
        store.append(some(1))
        store.close()
        for write in (lambda: store.append(some(1)), lambda: store.adopt([], {}), store.commit):
            with pytest.raises(StorageError) as caught:
                write()
            assert caught.value.next_step

    def test_leaving_with_an_error_keeps_what_happened(self, tmp_path: Path) -> None:
        class Stop(Exception):
            pass

        def stop(store: Store) -> None:
            with store:
                store.append(some(3))
                raise Stop

        store = self.new(tmp_path)
        with pytest.raises(Stop):
            stop(store)
        if self.keeps:
            with self.again(store) as back:
                assert len(back) == 3

    def test_the_run_is_complete_when_its_last_event_says_so(self, tmp_path: Path) -> None:
        with self.new(tmp_path) as store:
            store.append(some(2))
            assert not verify(store).complete
            store.append([Draft(kind="ended")])
            assert verify(store).complete
            store.append([Draft(kind="resumed")])
            assert not verify(store).complete
