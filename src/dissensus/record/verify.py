"""Checks a record, from the bytes as they are stored.

For each event: the sequence has no gap, the bytes call themselves by that number, the hash follows from the bytes and
from the hash before, and each long text that it refers to is there and is what its digest says. Nothing is encoded
again. Each long text is hashed once. Memory does not grow with the number of events.

What a chain can show: that no event was changed, inserted, moved or removed from the middle. That events were cut off
at the end, or that somebody wrote the whole record anew, can only be seen by whoever kept the hash of its end. So the
record is tamper-evident, not tamper-proof.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from dissensus.errors import RecordDamaged
from dissensus.record import canonical
from dissensus.record.blobs import name_of
from dissensus.record.canonical import WRONG_HASH, damaged
from dissensus.record.chain import GENESIS
from dissensus.record.event import QUESTION_KINDS
from dissensus.record.opening import open_record
from dissensus.record.store import Store

Progress = Callable[[int, int], None]
_OFTEN = 4096
_MOST_BAD = 1000
_MOST_KNOWN = 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A record that holds.

    Args:
        path: where it lies ("" in memory).
        run_id: its run.
        events: number of events.
        head: hash of the last event, in hex; keep it elsewhere to be able to see later that nothing was cut off.
        blobs: number of long texts.
        complete: the run came to its end (its last event is of kind ``ended``).
    """

    path: str
    run_id: str
    events: int
    head: str
    blobs: int
    complete: bool


def verify(record: str | os.PathLike[str] | Store, *, progress: Progress | None = None) -> Verified:
    """Check a record, or what was committed of one that is being written.

    Args:
        record: a path, or an open store (which stays open).
        progress: called now and then with events checked and events in all.

    Raises:
        RecordDamaged: the first event that is wrong, as ``seq``.
        RecordTooNew: a later version wrote it.
        SpecError: there is no such file.
    """
    if isinstance(record, str | os.PathLike):
        with open_record(record) as store:
            return _verify(store, progress)
    return _verify(record, progress)


def _verify(store: Store, progress: Progress | None) -> Verified:
    # the texts before the events: of a run that goes on meanwhile, the later events may have texts not seen yet
    total = store.head().seq
    bad, blobs = _bad_blobs(store)
    seq, last, complete = 0, GENESIS, False
    known: set[bytes] = set()
    for row_seq, raw, stored_hash in store.rows():
        seq += 1
        if row_seq != seq:
            why = "it is missing" if row_seq > seq else f"an event numbered {row_seq} stands in its place"
            raise damaged(store.path, seq, why)
        if sha256(last + raw).digest() != stored_hash:
            raise damaged(store.path, seq, WRONG_HASH)
        place = canonical.check_place(seq, raw, store.path)
        complete = place.kind == "ended" or (complete and place.kind in QUESTION_KINDS)
        if seq == 1 and place.id != f"{store.run_id}:1":
            raise damaged(
                store.path, 1, f"its id is {place.id!r:.80}, but the record is that of run {store.run_id!r:.80}"
            )
        for digest in canonical.references(seq, raw, store.path):
            if seq > total:
                checked_blob(store, seq, digest)
            else:
                _check_blob(store, seq, digest, bad, known)
        last = stored_hash
        if progress is not None and seq % _OFTEN == 0:
            progress(seq, max(seq, total))
    if seq < total:
        raise damaged(store.path, seq + 1, "it is missing")
    if bad:
        raise RecordDamaged(
            f"{store.path or 'The record'} holds a long text that is not what its digest says "
            f"({name_of(min(bad))}); no event refers to it.",
            next_step="Restore the record from a copy.",
        )
    if progress is not None:
        progress(seq, seq)
    return Verified(path=store.path, run_id=store.run_id, events=seq, head=last.hex(), blobs=blobs, complete=complete)


def _bad_blobs(store: Store) -> tuple[set[bytes], int]:
    """Digests under which something else is stored, with the digests of what is; and the number of long texts."""
    bad: set[bytes] = set()
    count = 0
    for claimed, text in store.blobs():
        count += 1
        if (found := sha256(text).digest()) != claimed and len(bad) < _MOST_BAD:
            bad |= {claimed, found}
    return bad, count


def checked_blob(store: Store, seq: int, digest: bytes) -> bytes:
    """A long text to which event ``seq`` refers. Raises :class:`~dissensus.errors.RecordDamaged` if it is not there."""
    text = store.blob(digest)
    if text is None:
        raise damaged(store.path, seq, f"its long text {name_of(digest)} is missing")
    if sha256(text).digest() != digest:
        raise damaged(store.path, seq, f"its long text {name_of(digest)} is not what the digest says")
    return text


def _check_blob(store: Store, seq: int, digest: bytes, bad: set[bytes], known: set[bytes]) -> None:
    if digest in known:
        return
    if digest in bad:
        raise damaged(store.path, seq, f"its long text {name_of(digest)} is not what the digest says")
    if not store.has_blob(digest):
        raise damaged(store.path, seq, f"its long text {name_of(digest)} is missing")
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known.add(digest)
