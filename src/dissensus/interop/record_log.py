"""The record of a run as a log of messages: opened by what it holds, verified, and read by the reader ``record``."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dissensus.record.event import Event
from dissensus.record.store import Store
from dissensus.record.verify import verify
from dissensus.say.readers.record import JSONL, SQLITE, EventSource


class Events(Iterable[Event]):
    """The events of the record at ``path``, read anew each time; before the first time every byte is checked.

    Raises :class:`~dissensus.errors.RecordDamaged` or another RecordError when it is gone through: nothing is to follow
    from a record that is not as it was written.
    """

    def __init__(self, path: Path, *, lines: bool) -> None:
        self._path = path
        self._lines = lines
        self._verified = False

    def __iter__(self) -> Iterator[Event]:
        with self._open() as store:
            if not self._verified:
                verify(store)
                self._verified = True
            yield from store.read()

    def ended(self) -> float | None:
        """Time of the last event; None if there is none."""
        with self._open() as store:
            return next((event.time for event in store.tail(1)), None)

    def _open(self) -> Store:
        if self._lines:
            from dissensus.record.jsonl import JsonlStore

            return JsonlStore(str(self._path))
        from dissensus.record.sqlite import SqliteReader

        return SqliteReader(str(self._path))


def record_source(path: Path) -> EventSource | None:
    """The record at ``path``, by its first bytes and not by its name; None if it is another kind of file."""
    with path.open("rb") as file:
        head = file.read(len(JSONL))
    if not head.startswith((SQLITE, JSONL)):
        return None
    events = Events(path, lines=not head.startswith(SQLITE))
    return EventSource(str(path), lambda: path.open("rb"), events, events.ended)


def record_from_bytes(name: str, raw: bytes) -> EventSource | None:
    """The record that came through a pipe; None if it is something else."""
    if not raw.startswith((SQLITE, JSONL)):
        return None
    events = _Piped(raw)
    return EventSource(name, lambda: io.BytesIO(raw), events, events.ended)


class _Piped(Iterable[Event]):
    """Events of a record that has no file, by way of one that lives as long as it is read."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def __iter__(self) -> Iterator[Event]:
        with self._file() as events:
            yield from events

    def ended(self) -> float | None:
        """Time of the last event."""
        with self._file() as events:
            return events.ended()

    @contextmanager
    def _file(self) -> Iterator[Events]:
        with tempfile.TemporaryDirectory(prefix="dissensus-") as folder:
            path = Path(folder) / "record"
            path.write_bytes(self._raw)
            yield Events(path, lines=not self._raw.startswith(SQLITE))
