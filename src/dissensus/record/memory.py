"""A store in memory: for tests, rehearsals, and runs whose record nobody keeps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dissensus.errors import StorageError
from dissensus.record.canonical import Row
from dissensus.record.chain import Chain, Clock, new_run_id
from dissensus.record.event import Draft, Event
from dissensus.record.store import END, Head, Reading


class MemoryStore(Reading):
    """Holds the same bytes as a file would. Every commit succeeds and survives nothing."""

    path = ""

    def __init__(self, *, run_id: str | None = None, clock: Clock = time.time) -> None:
        super().__init__()
        self._chain = Chain(run_id or new_run_id(), clock=clock)
        self._open = True

    @property
    def run_id(self) -> str:
        """The run that is recorded."""
        return self._chain.run_id

    def append(self, drafts: Sequence[Draft]) -> Sequence[Event]:
        """See :class:`~dissensus.record.store.Store`."""
        self._check_open()
        return self._chain.append(drafts)

    def adopt(self, rows: Iterable[Row], blobs: Mapping[bytes, bytes]) -> None:
        """See :class:`~dissensus.record.store.Store`."""
        self._check_open()
        self._chain.adopt(rows, blobs)

    def commit(self, *, durable: bool = False) -> None:  # noqa: ARG002 - nothing here is more durable
        """Nothing to do."""
        self._check_open()

    def head(self) -> Head:
        """The end of the record."""
        return Head(self._chain.seq, self._chain.hash)

    def rows(self, start: int = 1, stop: int | None = None) -> Iterator[Row]:
        """Events as they would be stored."""
        end = END if stop is None else stop
        seq = max(start, 1)
        while seq < min(end, self._chain.seq + 1):
            yield self._chain.rows[seq - 1]
            seq += 1

    def blob(self, digest: bytes) -> bytes | None:
        """A long text."""
        return self._chain.blobs.get(digest)

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        """All long texts."""
        return iter(list(self._chain.blobs.items()))

    def close(self) -> None:
        """Take no more events; what is there can still be read."""
        self._open = False

    def _check_open(self) -> None:
        if not self._open:
            raise StorageError("The record in memory is closed.", next_step="Make a new store.")
