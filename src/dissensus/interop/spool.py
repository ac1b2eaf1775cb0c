"""A list that goes to disk when it grows long."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Any, Final, Generic, TypeVar

import msgspec

from dissensus.errors import StorageError

IN_MEMORY: Final = 50_000
"""Items up to which nothing is written."""

T = TypeVar("T", bound=msgspec.Struct)


class Spool(Generic[T]):
    """Items in order of arrival; beyond :data:`IN_MEMORY` they lie in an unnamed temporary file.

    Args:
        kind: the struct that the items are.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._some: list[T] = []
        self._file: IO[bytes] | None = None
        self._encode = msgspec.json.Encoder().encode
        self._count = 0

    def add(self, item: T) -> None:
        """Append ``item``.

        Raises:
            StorageError: the temporary file cannot be written.
        """
        self._count += 1
        self._some.append(item)
        if len(self._some) >= IN_MEMORY:
            self._flush()

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the spool
            self._file.write(b"".join(self._encode(item) + b"\n" for item in self._some))
        except OSError as error:
            raise StorageError(
                f"The temporary file of the audit cannot be written: {error.strerror or error}.",
                next_step="Set TMPDIR to a folder with more room.",
            ) from None
        self._some.clear()

    def __iter__(self) -> Iterator[T]:
        if self._file is not None:
            decode: Any = msgspec.json.Decoder(self._kind).decode
            self._file.seek(0)
            for line in self._file:
                yield decode(line)
            self._file.seek(0, 2)
        yield from tuple(self._some)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return self._count
