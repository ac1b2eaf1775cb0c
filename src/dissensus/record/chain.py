"""The hash chain, and the part of a store that all writers share: giving events their place."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from typing import overload

from dissensus.errors import NotRecordable
from dissensus.record import canonical
from dissensus.record.canonical import Row, damaged
from dissensus.record.event import Draft, Event

GENESIS = sha256(b"dissensus: the record before its first event").digest()
"""Stands for the hash before event 1."""

Clock = Callable[[], float]


def link(previous: bytes, raw: bytes) -> bytes:
    """The hash of an event: SHA-256 of the hash before it and of its canonical bytes."""
    return sha256(previous + raw).digest()


def new_run_id() -> str:
    """16 random hex digits."""
    return secrets.token_hex(8)


class Appended(Sequence[Event]):
    """The events that one call of ``append`` made; each is built when it is looked at.

    Most callers look at few of them, and building a million events takes longer than storing them.
    """

    __slots__ = ("_drafts", "_first", "_run_id", "_time")

    def __init__(self, drafts: Sequence[Draft], first: int, run_id: str, now: float) -> None:
        self._drafts = drafts
        self._first = first
        self._run_id = run_id
        self._time = now

    def __len__(self) -> int:
        return len(self._drafts)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        places = range(len(self._drafts))[index]
        return self._event(places) if isinstance(places, int) else [self._event(place) for place in places]

    def __iter__(self) -> Iterator[Event]:
        return map(self._event, range(len(self._drafts)))

    def _event(self, place: int) -> Event:
        draft = self._drafts[place]
        seq = self._first + place
        return Event(
            seq=seq,
            id=f"{self._run_id}:{seq}",
            time=self._time,
            key=draft.key,
            kind=draft.kind,
            actor=draft.actor,
            thread=draft.thread,
            visibility=draft.visibility,
            body=draft.body,
        )


class Chain:
    """The end of a record that is being written, and what was added since it was last stored.

    ``rows`` and ``blobs`` wait to be stored; whoever has stored them calls :meth:`stored`.
    """

    __slots__ = ("_clock", "blobs", "hash", "rows", "run_id", "seq", "waiting_bytes")

    def __init__(self, run_id: str, seq: int = 0, last: bytes = GENESIS, clock: Clock = time.time) -> None:
        self.run_id = run_id
        self.seq = seq
        self.hash = last
        self.rows: list[Row] = []
        self.blobs: dict[bytes, bytes] = {}
        self.waiting_bytes = 0
        self._clock = clock

    def append(self, drafts: Iterable[Draft]) -> Appended:
        """Give each draft its place. All of them get one, or, if one is refused, none.

        Raises :class:`~dissensus.errors.NotRecordable`.
        """
        drafts = tuple(drafts)
        now = float(self._clock())
        if not isfinite(now):
            raise NotRecordable(f"The clock says {now}.", next_step="Hand over a clock that gives finite seconds.")
        first, seq, last, size = self.seq + 1, self.seq, self.hash, 0
        prefix = f"{self.run_id}:"
        rows: list[Row] = []
        blobs: dict[bytes, bytes] = {}
        encode = canonical.encode
        for draft in drafts:
            seq += 1
            raw = encode(draft, seq, f"{prefix}{seq}", now, blobs)
            last = sha256(last + raw).digest()
            rows.append((seq, raw, last))
            size += len(raw)
        self._take(rows, blobs, size)
        return Appended(drafts, first, self.run_id, now)

    def adopt(self, rows: Iterable[Row], blobs: Mapping[bytes, bytes]) -> None:
        """Add events that another store has sealed, with the long texts that they need.

        Raises :class:`~dissensus.errors.RecordDamaged` if they do not follow on the last one; then none is added.
        """
        new = list(rows)
        seq, last, size = self.seq, self.hash, 0
        for row_seq, raw, stored_hash in new:
            seq += 1
            last = link(last, raw)
            if row_seq != seq or stored_hash != last:
                raise damaged("what was handed over", row_seq, f"it does not follow on event {seq - 1}")
            size += len(raw)
        for digest, text in blobs.items():
            if sha256(text).digest() != digest:
                raise damaged("what was handed over", seq, "a long text is not what its digest says")
        self._take(new, blobs, size)

    def _take(self, rows: list[Row], blobs: Mapping[bytes, bytes], size: int) -> None:
        if rows:
            self.seq, _, self.hash = rows[-1]
            self.rows += rows
        if blobs:
            self.blobs.update(blobs)
            size += sum(map(len, blobs.values()))
        self.waiting_bytes += size

    def waiting(self, start: int, stop: int) -> list[Row]:
        """Rows from ``start`` up to, without, ``stop`` that are not stored yet."""
        if not self.rows or stop <= (first := self.rows[0][0]):
            return []
        return self.rows[max(start - first, 0) : max(stop - first, 0)]

    def stored(self) -> None:
        """Forget what waited: it is stored."""
        self.rows = []
        self.blobs = {}
        self.waiting_bytes = 0
