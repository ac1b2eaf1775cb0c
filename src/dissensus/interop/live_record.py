"""The file that a monitor of a running system writes: a message a line, in the format that ``dissensus audit`` reads.

Each line also holds what the monitor said of its message, under ``verdict`` and ``findings``; readers pass them over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from dissensus.errors import LogError, StorageError
from dissensus.record.lock import WriterLock
from dissensus.say.message import Message
from dissensus.say.readers.base import LONGEST_LINE, Options, Source
from dissensus.say.readers.own import READER, line_of
from dissensus.say.readers.registry import ENOUGH

_BEGINS: Final = b'{"id":'


class LiveRecord:
    """Appends messages to ``path``. A file that is there already must be a log of ours; it is gone on with.

    What a killed process left half-written at the end is cut off: its message was judged and never recorded whole.

    Raises:
        LogError: the file holds something else; it is left as it is.
        StorageError: it cannot be written, or another monitor writes it.

    Attributes:
        path: of the file.
        lines: how many lines it has.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.lines = 0
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
        size = self._file.seek(0, os.SEEK_END)
        if size == 0:
            return 0
        if not _is_ours(self.path):
            raise LogError(
                "This file is no log of messages, so nothing is appended to it.",
                path=self.path,
                next_step="Give the path of a new file, or of one that a monitor wrote.",
            )
        self._file.seek(0)
        end = 0
        while block := self._file.read(1 << 20):
            self.lines += block.count(b"\n")
            end += len(block)
        self._file.seek(max(0, end - LONGEST_LINE))
        tail = (self._file.read() or b"").rpartition(b"\n")[2]
        if not tail:
            return end
        try:
            msgspec.json.decode(tail)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._file.truncate(end - len(tail))
            return end - len(tail)
        self._file.write(b"\n")
        self.lines += 1
        return end + 1

    def messages(self) -> Iterator[Message]:
        """What was recorded before.

        Raises:
            LogError: a line cannot be read.
        """
        source = Source(self.path, lambda: _opened(self.path))
        for item in READER.read(source, Options()):
            if isinstance(item, Message):
                yield item

    def append(self, m: Message, said: Mapping[str, Any]) -> None:
        """Write one line, in one piece.

        Raises:
            StorageError: it cannot be written. The file then ends where it ended before.
        """
        try:
            line = line_of(m, said) + b"\n"
        except UnicodeEncodeError:  # half a pair of surrogates: no file holds that
            line = line_of(_readable(m), {key: value for key, value in said.items() if key != "findings"}) + b"\n"
        try:
            rest = line
            while rest:  # a disk that is nearly full takes a part, and says so at the next
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._cut()
            raise _cannot(self.path, error) from None
        self._size += len(line)
        self.lines += 1

    def _cut(self) -> None:
        try:
            self._file.truncate(self._size)
        except OSError:
            return  # what is left of the line is cut off when the file is opened again

    def close(self) -> None:
        """Close the file and let others write it. May be called twice."""
        self._file.close()
        self._lock.release()


def _is_ours(path: str) -> bool:
    with Path(path).open("rb") as stream:
        begins = stream.read(len(_BEGINS))
        if _BEGINS.startswith(begins):  # it may have been cut off within
            return True
    return READER.recognise(Source(path, lambda: _opened(path))) >= ENOUGH


def _opened(path: str) -> IO[bytes]:
    return Path(path).open("rb")


def _readable(m: Message) -> Message:
    def clean(value: Any) -> Any:
        if type(value) is str:
            return value.encode("utf-8", "backslashreplace").decode()
        return tuple(map(clean, value)) if type(value) is tuple else value

    return msgspec.structs.replace(m, **{name: clean(getattr(m, name)) for name in m.__struct_fields__})


def _cannot(path: str, error: OSError) -> StorageError:
    return StorageError(
        f"The record {path} cannot be written: {error.strerror or error}.",
        next_step="Check the path and the room on its disk.",
    )
