"""What every store of events does, and the half of it that all stores share.

A store is opened by :func:`dissensus.record.opening.open_record`. One thread uses it at a time; it may be handed from
one thread to another between two calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from dissensus.errors import RecordDamaged, StorageError
from dissensus.record import canonical
from dissensus.record.blobs import name_of
from dissensus.record.canonical import Row
from dissensus.record.event import Draft, Event

END = 2**63 - 1
"""Beyond every sequence number."""


class Head(NamedTuple):
    """The end of a record: the last sequence number (0 if there is none) and the hash there, 32 bytes."""

    seq: int
    hash: bytes


class Store(Protocol):
    """An append-only log of one run.

    Whoever writes another store makes it pass ``tests/record/conformance.py``, which says in code what is only
    summed up here.
    """

    @property
    def path(self) -> str:
        """Where it lies; "" for a store in memory."""
        ...

    @property
    def run_id(self) -> str:
        """16 random hex digits, the part of each event's id before the colon; "" if it is not known."""
        ...

    def append(self, drafts: Sequence[Draft]) -> Sequence[Event]:
        """Give each draft its place after the last event. All of them, or none if one is refused.

        The events can be read at once through this store; they are promised to nobody before :meth:`commit`. A store
        may commit of its own accord, between two calls, when much is waiting. Bodies must not be changed afterwards.

        Raises:
            NotRecordable: a draft is not JSON, or a field is wrong.
            StorageError: the store was opened for reading or is closed; the last commit failed, and none has
                succeeded since.
        """
        ...

    def commit(self, *, durable: bool = False) -> None:
        """Store all that was appended. When this returns it survives the death of the process.

        With ``durable`` it also survives a power cut, as does everything that was committed before it.

        Raises :class:`~dissensus.errors.StorageError` (disk full, read-only …). Then nothing that was committed before
        is lost, what was appended since is kept in memory, and ``commit`` may be called again.
        """
        ...

    def read(self, start: int = 1, stop: int | None = None) -> Iterator[Event]:
        """Events from ``start`` up to, without, ``stop``; in order. Memory is bounded.

        Without ``stop`` it ends where the record ends when the reader gets there.

        Raises:
            RecordDamaged: an event cannot be read. Hashes are not looked at: that is what ``verify`` is for.
            RecordTooNew: a later version of the program wrote it.
        """
        ...

    def tail(self, n: int) -> list[Event]:
        """The last ``n`` events, in order; all of them if there are fewer."""
        ...

    def head(self) -> Head:
        """The end of the record, with what was appended here and is not committed yet."""
        ...

    def __len__(self) -> int:
        """Number of events, which is the last one's sequence number."""
        ...

    def rows(self, start: int = 1, stop: int | None = None) -> Iterator[Row]:
        """The same events as :meth:`read`, as they are stored."""
        ...

    def blob(self, digest: bytes) -> bytes | None:
        """The long text with this SHA-256, in UTF-8; None if there is none."""
        ...

    def has_blob(self, digest: bytes) -> bool:
        """Whether :meth:`blob` would find something; the text itself is not read."""
        ...

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        """Every digest with its long text, each once. Memory is bounded by the longest."""
        ...

    def adopt(self, rows: Iterable[Row], blobs: Mapping[bytes, bytes]) -> None:
        """Append events that another store has sealed, byte for byte.

        Raises as ``append`` does, and :class:`~dissensus.errors.RecordDamaged` if they do not follow on the last event.
        """
        ...

    def close(self) -> None:
        """Commit what waits and let go of the file. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Texts:
    """The long texts that were read last, so that a prompt to which many events refer is read once."""

    __slots__ = ("_held", "_limit", "_store", "_texts")

    def __init__(self, store: Reading, limit: int = 2**24) -> None:
        self._store = store
        self._limit = limit
        self._held = 0
        self._texts: OrderedDict[bytes, str] = OrderedDict()

    def __call__(self, digest: bytes) -> str:
        """The text of ``digest``. Raises :class:`ValueError` if it is not there, or another, or no UTF-8."""
        if digest in self._texts:
            self._texts.move_to_end(digest)
            return self._texts[digest]
        data = self._store.blob(digest)
        if data is None:
            raise ValueError(f"its long text {name_of(digest)} is missing")
        if sha256(data).digest() != digest:
            raise ValueError(f"its long text {name_of(digest)} is not what the digest says")
        text = self._texts[digest] = data.decode()
        self._held += len(text)
        while self._held > self._limit:
            self._held -= len(self._texts.popitem(last=False)[1])
        return text


class Reading(ABC):
    """Events out of rows: what a store has for free once it has ``rows``, ``blob`` and ``head``."""

    path: str

    def __init__(self) -> None:
        self._texts = Texts(self)

    @abstractmethod
    def head(self) -> Head:
        """For the store to say."""

    @abstractmethod
    def rows(self, start: int = 1, stop: int | None = None) -> Iterator[Row]:
        """For the store to say."""

    @abstractmethod
    def blob(self, digest: bytes) -> bytes | None:
        """For the store to say."""

    def has_blob(self, digest: bytes) -> bool:
        """See :class:`Store`."""
        return self.blob(digest) is not None

    @abstractmethod
    def close(self) -> None:
        """For the store to say."""

    def read(self, start: int = 1, stop: int | None = None) -> Iterator[Event]:
        """See :class:`Store`."""
        for row in self.rows(start, stop):
            yield canonical.decode(row, self._texts, self.path)

    def tail(self, n: int) -> list[Event]:
        """See :class:`Store`."""
        return list(self.read(max(len(self) - n, 0) + 1)) if n > 0 else []

    def __len__(self) -> int:
        return self.head().seq

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except (StorageError, RecordDamaged):
            if error is None:  # what went wrong first is what the caller has to hear
                raise


class ForReading(Reading):
    """A store that was opened for reading: the writing half, refused."""

    def append(self, drafts: Sequence[Draft]) -> Sequence[Event]:  # noqa: ARG002
        """Refuse."""
        raise self._refused()

    def adopt(self, rows: Iterable[Row], blobs: Mapping[bytes, bytes]) -> None:  # noqa: ARG002
        """Refuse."""
        raise self._refused()

    def commit(self, *, durable: bool = False) -> None:  # noqa: ARG002
        """Refuse."""
        raise self._refused()

    def _refused(self) -> StorageError:
        return StorageError(
            f"{self.path} was opened for reading.", next_step="Open it with mode 'a' to write (a .db file only)."
        )
