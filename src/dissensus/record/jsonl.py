"""Records as JSON lines: for exchange, for other programs, and to verify without SQLite.

A file has one header, then the long texts and the events, then one line that says where it ends::

    {"dissensus":"record","format":1,"run":"0123456789abcdef"}
    {"blob":"sha256:…","text":"…"}           before the first event that refers to it
    {"hash":"…","event":{"v":1,"seq":1,…}}   the canonical bytes stand after "event": as they are
    {"end":{"events":1,"hash":"…"}}

Any program that reads JSON can read it. To check it by hand: hash the 32 bytes before (SHA-256 of a fixed text for
event 1) and the bytes between ``"event":`` and the last brace.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from dissensus.errors import RecordError, SpecError, StorageError
from dissensus.record import canonical
from dissensus.record.blobs import digest_of, name_of
from dissensus.record.canonical import WRONG_HASH, Row, damaged
from dissensus.record.chain import GENESIS, link
from dissensus.record.opening import must_exist, open_record
from dissensus.record.store import END, ForReading, Head, Store
from dissensus.record.upcast import too_new
from dissensus.record.verify import Progress, Verified, checked_blob, verify

FORMAT = 1

_EVENT = re.compile(rb'\{"hash":"([0-9a-f]{64})","event":')
_BLOB = re.compile(rb'\{"blob":"(sha256:[0-9a-f]{64})","text":')
_BATCH_EVENTS = 1000
_BATCH_BYTES = 2**22

_json = msgspec.json.Encoder().encode


class JsonlStore(ForReading):
    """A ``.jsonl`` record, read from its beginning each time; memory grows only with the number of long texts.

    What the lines say is checked as they are read, so that a file that was cut off is noticed by every reader.
    """

    def __init__(self, path: str) -> None:
        """Raise as :func:`~dissensus.record.opening.open_record` does."""
        super().__init__()
        must_exist(path)
        self.path = path
        self.run_id = self._header()
        self._end: Head | None = None
        self._places: dict[bytes, int] = {}

    def head(self) -> Head:
        """The end, after one look at every line. The chain is followed, so that what is wrong first is told first."""
        if self._end is None:
            count, last = 0, GENESIS
            for seq, offset, line in self._lines():
                if found := _EVENT.match(line):
                    count, last = seq, link(last, line[found.end() : -2])
                    if last.hex().encode() != found[1]:
                        raise damaged(self.path, seq, WRONG_HASH)
                else:
                    self._places.setdefault(_digest(line), offset)
            self._end = Head(count, last)
        return self._end

    def rows(self, start: int = 1, stop: int | None = None) -> Iterator[Row]:
        """Events as they are stored."""
        end = END if stop is None else stop
        for seq, _, line in self._lines():
            if seq >= end:
                return
            if seq >= start and (found := _EVENT.match(line)):
                yield seq, line[found.end() : -2], bytes.fromhex(found[1].decode())

    def blob(self, digest: bytes) -> bytes | None:
        """A long text."""
        if not self.has_blob(digest):
            return None
        with Path(self.path).open("rb") as file:
            file.seek(self._places[digest])
            return _text(file.readline())

    def has_blob(self, digest: bytes) -> bool:
        """Whether a line holds it."""
        self.head()
        return digest in self._places

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        """All long texts; for a line that is not as it was written, the line itself, which no digest fits."""
        for _, _, line in self._lines():
            if not _EVENT.match(line):
                yield _digest(line), _text(line)

    def close(self) -> None:
        """Nothing is held open."""

    def _header(self) -> str:
        with self._open() as file:
            line = file.readline(4096)
        try:
            fields: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        except ValueError:
            fields = {}
        run = fields.get("run")
        if fields.get("dissensus") == "record" and fields.get("format") != FORMAT:
            raise too_new(self.path, fields.get("format"), FORMAT)
        if not isinstance(run, str) or line != _header(run):
            raise RecordError(
                f"{self.path} is no record in JSON lines, or its first line is damaged.",
                next_step="Look at the name; if it is right, restore the file from a copy.",
            )
        return run

    def _open(self) -> BinaryIO:
        try:
            return Path(self.path).open("rb")
        except OSError as error:
            raise SpecError(
                f"this file cannot be read ({os.strerror(error.errno or 0)}).", path=self.path, next_step="Look at it."
            ) from error

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Lines of events and long texts: the event's number (for a text that of the next event), offset, line."""
        count, last = 0, GENESIS.hex()
        with self._open() as file:
            offset = len(file.readline())
            for line in file:
                if not line.endswith(b"}\n"):
                    raise damaged(self.path, count + 1, "its line is cut off")
                if found := _EVENT.match(line):
                    count, last = count + 1, found[1].decode()
                    yield count, offset, line
                elif _BLOB.match(line):
                    yield count + 1, offset, line
                elif line == _end(count, last) and not file.read(1):
                    return
                elif line.startswith(b'{"end":'):
                    raise damaged(
                        self.path, count + 1, "it is missing, or the line that says where the record ends is wrong"
                    )
                else:
                    raise damaged(self.path, count + 1, "its line is not one of a record")
                offset += len(line)
        raise damaged(self.path, count + 1, "the file ends before the line that says where it ends")


def write_jsonl(store: Store, out: BinaryIO) -> Head:
    """Write a record as JSON lines and return its end. The chain is checked on the way.

    Raises :class:`~dissensus.errors.RecordDamaged`; what was written until then is then no record.
    """
    out.write(_header(store.run_id))
    seq, last = 0, GENESIS
    written: set[bytes] = set()
    for seq, raw, stored_hash in store.rows():
        last = link(last, raw)
        if last != stored_hash:
            raise damaged(store.path, seq, WRONG_HASH)
        canonical.check_place(seq, raw, store.path)
        for digest in canonical.references(seq, raw, store.path):
            if digest not in written:
                out.write(_blob_line(digest, checked_blob(store, seq, digest)))
                written.add(digest)
        out.write(b'{"hash":"%s","event":%s}\n' % (last.hex().encode(), raw))
    out.write(_end(seq, last.hex()))
    return Head(seq, last)


def export_jsonl(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> Head:
    """Write the record ``source`` to a new file ``target``; the file appears when it is whole.

    Raises:
        SpecError: there is no such record, or ``target`` exists.
        StorageError: it cannot be written.
        RecordDamaged: the record cannot be trusted; nothing is written.
    """
    path = Path(target)
    if path.exists():
        raise SpecError("this file exists already.", path=str(path), next_step="Choose another name.")
    draft = path.with_name(f"{path.name}-new")
    try:
        with open_record(source) as store, draft.open("wb") as out:
            head = write_jsonl(store, out)
            out.flush()
            os.fsync(out.fileno())
        draft.rename(path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({os.strerror(error.errno or 0)}).",
            next_step="Free space or choose another folder.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return head


def import_jsonl(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress | None = None
) -> Verified:
    """Verify the record ``source`` and write it, byte for byte, to a new SQLite record ``target``.

    Raises:
        SpecError: there is no such file, or ``target`` exists.
        RecordDamaged: the record cannot be trusted; nothing is written.
        StorageError: the target cannot be written; what there is of it is taken away.
    """
    with open_record(source) as store:
        found = verify(store, progress=progress)
        made = open_record(target, "x", run_id=store.run_id)
        try:
            with made:
                copy_events(store, made)
                made.commit(durable=True)
        except BaseException:
            Path(target).unlink(missing_ok=True)
            raise
    return found


def copy_events(source: Store, target: Store) -> None:
    """Append all events of ``source``, byte for byte, to ``target``, which is empty and has to be committed after it.

    Raises as ``target.adopt`` does, and :class:`~dissensus.errors.RecordDamaged` for a long text that is missing.
    """
    rows: list[Row] = []
    texts: dict[bytes, bytes] = {}
    size = 0
    for row in source.rows():
        rows.append(row)
        size += len(row[1])
        for digest in canonical.references(row[0], row[1], source.path):
            if digest not in texts and not target.has_blob(digest):
                texts[digest] = checked_blob(source, row[0], digest)
                size += len(texts[digest])
        if len(rows) >= _BATCH_EVENTS or size >= _BATCH_BYTES:
            target.adopt(rows, texts)
            rows, texts, size = [], {}, 0
    target.adopt(rows, texts)


def _header(run: str) -> bytes:
    return _json({"dissensus": "record", "format": FORMAT, "run": run}) + b"\n"


def _end(events: int, last: str) -> bytes:
    return _json({"end": {"events": events, "hash": last}}) + b"\n"


def _blob_line(digest: bytes, text: bytes) -> bytes:
    return b'{"blob":"%s","text":%s}\n' % (name_of(digest).encode(), _json(text.decode()))


def _digest(line: bytes) -> bytes:
    found = _BLOB.match(line)
    return (digest_of(found[1].decode()) if found else None) or b""


def _text(line: bytes) -> bytes:
    """The long text in a line, or, if the line is not byte for byte as it was written, the line itself."""
    found = _BLOB.match(line)
    try:
        text: str = msgspec.json.decode(line[found.end() if found else 0 : -2], type=str)
    except ValueError:
        return line
    return text.encode() if _blob_line(_digest(line), text.encode()) == line else line
