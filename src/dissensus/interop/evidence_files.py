"""Files as evidence: pin them under their SHA-256, find them by it, and look at what has become of them.

A pinned file is a copy named by its digest in one folder. Whoever alters it breaks the name, which reopening sees.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from dissensus.decide.dispute.evidence import CsvDialect, CsvSelector, Evidence, Live
from dissensus.decide.dispute.reopening import LiveCopy
from dissensus.decide.dispute.sources import Source
from dissensus.errors import SpecError, StorageError
from dissensus.interop.pdf_pages import pages_of

MOST_BYTES: Final = 100_000_000
"""Bytes of the largest file that is pinned or opened: it is read whole, and its text several times."""
PIECE: Final = 1 << 20
_HEAD: Final = 65_536
_HEX: Final = frozenset("0123456789abcdef")
_MAGIC: Final = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
)
_BY_NAME: Final = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".html": "text/html",
    ".htm": "text/html",
    ".md": "text/markdown",
    ".xml": "application/xml",
}


@dataclass(frozen=True, slots=True)
class Pinned:
    """A file whose bytes are kept.

    Args:
        digest: SHA-256, 64 hexadecimal digits.
        media: media type, told from the bytes and, for texts, from the name.
        size: bytes.
        path: where it was.
        stored: the copy.
        dialect: of a CSV file, how it is written; goes into its selectors.
    """

    digest: str
    media: str
    size: int
    path: Path
    stored: Path
    dialect: CsvDialect | None = None


def pin(path: Path, store: Path, *, most: int = MOST_BYTES) -> Pinned:
    """Copy a file into ``store`` under its digest. Pinning the same bytes again changes nothing.

    Raises:
        SpecError: it is no file, cannot be read, or is larger than ``most`` bytes. Nothing is kept of it.
        StorageError: the copy cannot be written.
    """
    data = read_bytes(path, most=most)
    stored = keep(data, store, str(path))
    media = media_of(data[:_HEAD], path.name)
    return Pinned(stored.name, media, len(data), path, stored, dialect_of(data) if _is_table(media) else None)


def keep(data: bytes, store: Path, name: str) -> Path:
    """Write ``data`` into ``store`` under its digest, if it is not there; where it lies. ``name`` is what it is called.

    Raises :class:`~dissensus.errors.StorageError`.
    """
    stored = store / sha256(data).hexdigest()
    try:
        store.mkdir(parents=True, exist_ok=True)
        if not stored.exists() or stored.read_bytes() != data:
            handle, new = tempfile.mkstemp(dir=store, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                Path(new).chmod(0o444)
                Path(new).replace(stored)
            except BaseException:
                Path(new).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StorageError(
            f"The copy of {name} cannot be written: {error.strerror or error}.",
            next_step="Make room, or name another folder with --store.",
        ) from None
    return stored


def read_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file.

    Raises:
        SpecError: it is no file, cannot be read, or is larger than ``most`` bytes.
    """
    try:
        if path.is_dir():
            raise SpecError("This is a folder.", path=str(path), next_step="Name the files in it.")
        if path.exists() and not path.is_file():
            raise SpecError("This is no file: it may be a pipe or a device.", path=str(path), next_step="Copy it.")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise SpecError(
            f"The file cannot be read: {error.strerror or error}.", path=str(path), next_step="Check the path."
        ) from None
    if len(data) > most:
        raise SpecError(
            f"The file is larger than {most // 1_000_000} MB, the most that evidence may be.",
            path=str(path),
            next_step="Take out the part that matters, and pin that.",
        )
    return data


def media_of(head: bytes, name: str = "") -> str:
    """Media type of a file by its first bytes and, of a text, its name; with ``charset`` where it is not UTF-8."""
    for magic, media in _MAGIC:
        if head.startswith(magic):
            return media
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text/plain; charset=utf-16"
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3 or len(head) < _HEAD:  # no character that the cut went through
            return "application/octet-stream"
    if b"\0" in head:
        return "application/octet-stream"
    return _BY_NAME.get(Path(name).suffix.lower(), "text/plain")


def dialect_of(data: bytes) -> CsvDialect:
    """How a CSV file is written, told from its first lines: the sign that divides all of them into as many cells."""
    from dissensus.decide.dispute.csv_cells import cells_of

    text = data[:_HEAD].decode("utf-8", "replace").removeprefix("\ufeff")
    best, found = (0, 0), CsvDialect()
    for sign in (",", ";", "\t", "|"):
        dialect = CsvDialect(delimiter=sign)
        widths = [len(row) for row in cells_of(text, dialect)[:50]]
        widths = widths[:-1] if len(data) > _HEAD else widths
        if widths and widths[0] > 1:
            same = sum(width == widths[0] for width in widths)
            if (same, widths[0]) > best:
                best, found = (same, widths[0]), dialect
    return found


def open_source(data: bytes, media: str = "") -> Source:
    """The source in ``data``; of a PDF, its pages are read when they are needed."""
    media = media or media_of(data[:_HEAD])
    return Source(data, media, partial(pages_of, data) if data[:1024].lstrip().startswith(b"%PDF-") else None)


@dataclass(slots=True)
class Folders:
    """Sources by digest, found in folders: files named by their digest first, then any file whose bytes hash to it.

    Args:
        folders: where to look, folders in them included, hidden ones not; also single files.
        most: larger files and unreadable ones are passed over and named in ``passed_over``.
    """

    folders: tuple[Path, ...]
    most: int = MOST_BYTES
    passed_over: list[Path] = field(default_factory=list)
    _open: dict[str, Source] = field(default_factory=dict)
    _dialects: dict[str, CsvDialect] = field(default_factory=dict)
    _known: dict[str, Path] | None = None
    _named: dict[str, Path] = field(default_factory=dict)

    def __call__(self, digest: str) -> Source | None:
        """The source under ``digest``; None if there is none. A file that only bears the name is given as it is."""
        if digest not in self._open:
            path = self._find(digest)
            if path is None:
                return None
            self._open[digest] = open_source(read_bytes(path, most=self.most), media_of(_head(path), path.name))
        return self._open[digest]

    def in_dialect(self, item: Evidence) -> Evidence:
        """The item, its csv selectors with the dialect of the file where they declare none, so that it is recorded."""
        plain = CsvDialect()
        if not any(isinstance(one, CsvSelector) and one.dialect == plain for one in item.selectors):
            return item
        source = self(item.digest)
        if source is None or source.paged:
            return item
        if item.digest not in self._dialects:
            self._dialects[item.digest] = dialect_of(source.data)
        selectors = tuple(
            replace(one, dialect=self._dialects[item.digest])
            if isinstance(one, CsvSelector) and one.dialect == plain
            else one
            for one in item.selectors
        )
        return replace(item, selectors=selectors)

    def add(self, source: Source) -> str:
        """Keep a source that lies in no folder; its digest."""
        self._open[source.digest] = source
        return source.digest

    def _find(self, digest: str) -> Path | None:
        named = [folder / digest for folder in self.folders if (folder / digest).is_file()]
        for path in named:
            if _digest_of(path) == digest:
                return path
        if self._known is None:
            self._known = {}
            for path in _files(self.folders):
                try:
                    if path.stat().st_size > self.most:
                        self.passed_over.append(path)
                        continue
                    self._known.setdefault(_digest_of(path), path)
                except OSError:
                    self.passed_over.append(path)
                    continue
                if len(path.name) == 64 and set(path.name) <= _HEX:
                    self._named.setdefault(path.name, path)
        return self._known.get(digest) or (named[0] if named else self._named.get(digest))


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """Looks at the file that an item was captured from. Addresses of the network are not checked.

    Args:
        base: what relative paths start from.
    """

    base: Path

    def __call__(self, evidence: Evidence) -> LiveCopy | Live:
        """The live copy, ``GONE`` or ``NOT_CHECKED``."""
        path = self._path(evidence.live_ref or "")
        if path is None:
            return "NOT_CHECKED"
        try:
            if not path.exists():
                return "GONE"
            if not path.is_file():
                return "NOT_CHECKED"
            return LiveCopy(_digest_of(path), lambda: open_source(read_bytes(path), media_of(_head(path), path.name)))
        except OSError:
            return "NOT_CHECKED"

    def _path(self, reference: str) -> Path | None:
        try:
            parts = urlsplit(reference)
        except ValueError:
            return None
        if parts.scheme == "file":
            return Path(unquote(parts.path))
        if "://" in reference or not reference or "\0" in reference:
            return None
        return self.base / reference


def pin_line(pinned: Pinned) -> str:
    """A pinned file as a line of JSON: the fields with which evidence begins, and its size."""
    data: dict[str, object] = {
        "digest": pinned.digest,
        "media": pinned.media,
        "live_ref": str(pinned.path),
        "size": pinned.size,
    }
    if pinned.dialect is not None and pinned.dialect != CsvDialect():
        data["dialect"] = {"delimiter": pinned.dialect.delimiter}
    return json.dumps(data, ensure_ascii=False)


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.is_file():
            yield folder
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
                yield path


def _digest_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _is_table(media: str) -> bool:
    return media in ("text/csv", "text/tab-separated-values")
