"""A file of JSON lines that is appended to for as long as a program runs, and gone on with after it was killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import msgspec

from dissensus.errors import LogError, StorageError
from dissensus.record.lock import WriterLock
from dissensus.say.message import Message
from dissensus.say.readers.base import LONGEST_LINE, Options, Reader, Source
from dissensus.say.readers.registry import ENOUGH

_BLOCK: Final = 1 << 20


class LineFile:
    """Appends lines to ``path``. A file that is there already must be a log of ``reader``'s format.

    What a killed process left half-written at the end is cut off: a line that was not written whole never counted.

    Args:
        path: of the file.
        reader: reads what it holds.
        begins: how each line that we write begins.

    Raises:
        LogError: the file holds something else; it is left as it is.
        StorageError: it cannot be written, or another process writes it.

    Attributes:
        lines: how many lines it has.
    """

    def __init__(self, path: str | Path, reader: Reader, begins: bytes) -> None:
        self.path = str(path)
        self.lines = 0
        self._reader = reader
        self._begins = begins
        self._lock = WriterLock(self.path)
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> None:
        try:
            self._file: IO[bytes] = Path(self.path).open("a+b", buffering=0)  # noqa: SIM115 - open as long as we are
        except OSError as error:
            raise _cannot(self.path, error) from None
        try:
            self._size = self._mend()
        except BaseException:
            self._file.close()
            raise

    def _mend(self) -> int:
        """Make the file end with a whole line, and count its lines; returns its size."""
        end = self._file.seek(0, os.SEEK_END)
        if end == 0:
            return 0
        if not self._is_ours():
            raise LogError(
                "This file is no log of such messages, so nothing is appended to it.",
                path=self.path,
                next_step="Give the path of a new file, or of one that was written in this way.",
            )
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            self.lines += block.count(b"\n")
        self._file.seek(max(0, end - LONGEST_LINE))
        tail = (self._file.read() or b"").rpartition(b"\n")[2]
        if not tail:
            return end
        if not _is_json(tail):
            self._file.truncate(end - len(tail))
            return end - len(tail)
        self._file.write(b"\n")
        self.lines += 1
        return end + 1

    def _is_ours(self) -> bool:
        with _opened(self.path) as stream:
            first = stream.readline(LONGEST_LINE)
        if self._begins.startswith(first) or (  # it may have been cut off within
            first.startswith(self._begins) and (not first.endswith(b"\n") or _is_json(first))
        ):
            return True
        return self._reader.recognise(self._source()) >= ENOUGH

    def _source(self) -> Source:
        return Source(self.path, lambda: _opened(self.path))

    def messages(self) -> Iterator[Message]:
        """What it holds already.

        Raises:
            LogError: a line cannot be read.
        """
        for item in self._reader.read(self._source(), Options()):
            if isinstance(item, Message):
                yield item

    def write(self, line: bytes) -> None:
        """Append one line, whose end is added here, in one piece.

        Raises:
            StorageError: it cannot be written. The file then ends where it ended before.
        """
        rest = line + b"\n"
        try:
            while rest:  # a disk that is nearly full takes a part, and says so at the next
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):  # what is left is cut off when the file is opened again
                self._file.truncate(self._size)
            raise _cannot(self.path, error) from None
        self._size += len(line) + 1
        self.lines += 1

    def close(self) -> None:
        """Close the file and let others write it. May be called twice."""
        self._file.close()
        self._lock.release()


def _opened(path: str) -> IO[bytes]:
    return Path(path).open("rb")


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _cannot(path: str, error: OSError) -> StorageError:
    return StorageError(
        f"The record {path} cannot be written: {error.strerror or error}.",
        next_step="Check the path and the room on its disk.",
    )
