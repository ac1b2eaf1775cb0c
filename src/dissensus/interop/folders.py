"""A folder of documents: which files are read, and why the others are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dissensus.decide.dispute.case import Pinned
from dissensus.errors import SpecError, UsageError
from dissensus.interop.case_sources import MOST_BYTES, pinned_from
from dissensus.interop.evidence_files import MOST_BYTES as LARGEST
from dissensus.interop.evidence_files import media_of, open_source, read_bytes

READ: Final = (".csv", ".tsv", ".txt", ".md", ".json", ".pdf")
MOST_FILES: Final = 20_000
_HEAD: Final = 65_536


@dataclass(frozen=True, slots=True)
class Document:
    """A file that is read.

    Args:
        path: relative to its folder.
        digest: SHA-256 of its bytes.
        pinned: what is read from them.
    """

    path: Path
    digest: str
    pinned: Pinned


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies in a folder.

    Args:
        path: the folder.
        documents: what is read, in the order of paths.
        passed_over: what is not, with the reason.
    """

    path: Path
    documents: tuple[Document, ...]
    passed_over: tuple[tuple[Path, str], ...]


def read_folder(path: Path, on_file: Callable[[], None] | None = None) -> Folder:
    """Read the documents in a folder and in the folders in it. Links to folders are not followed.

    Args:
        path: the folder.
        on_file: called after each file.

    Raises:
        UsageError: it holds nothing that can be read.
        SpecError: it holds too much.
    """
    documents: list[Document] = []
    passed: list[tuple[Path, str]] = []
    size = 0
    for file in _files(path):
        if on_file is not None:
            on_file()
        relative = file.relative_to(path)
        why = _unread(relative, file)
        found = why or _document(relative, file)
        if isinstance(found, str):
            passed.append((relative, found))
            continue
        size += found[1]
        documents.append(found[0])
        if size > MOST_BYTES or len(documents) > MOST_FILES:
            raise SpecError(
                f"The documents in {path} are more than {MOST_BYTES // 1_000_000} MB or {MOST_FILES:,} files.",
                next_step="Divide the folder.",
            )
    if not documents:
        told = "; ".join(f"{name}: {why}" for name, why in passed[:3]) or "it is empty"
        raise UsageError(
            f"Nothing in {path} can be read ({told}).", next_step=f"Files that are read end in {', '.join(READ)}."
        )
    return Folder(path, tuple(documents), tuple(passed))


def number_of_files(path: Path) -> int:
    """How many files there are to look at."""
    return sum(1 for _ in _files(path))


def _files(path: Path) -> Iterator[Path]:
    """All files, hidden ones too, those in hidden folders not; in order."""
    for folder, folders, names in os.walk(path):
        hidden = sorted(name for name in folders if name.startswith("."))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder) / name for name in hidden)
        yield from (Path(folder) / name for name in sorted(names))


def _unread(relative: Path, file: Path) -> str:
    """Why a file is not even opened; "" if it is."""
    if relative.name.startswith("."):
        return "hidden"
    if relative.suffix.lower() not in READ:
        return f"not one of {', '.join(READ)}"
    if not relative.as_posix().isprintable() or any(sign in relative.as_posix() for sign in "*?[]{}"):
        return "its name holds a sign that patterns use, or that cannot be printed"
    if not file.is_file():
        return "no file"
    return ""


def _document(relative: Path, file: Path) -> tuple[Document, int] | str:
    """A file's document and size, or why it cannot be read."""
    try:
        data = read_bytes(file)
    except SpecError as error:
        return error.message.rstrip(".") if file.stat().st_size <= LARGEST else f"larger than {LARGEST // 1_000_000} MB"
    media = media_of(data[:_HEAD], file.name)
    pdf = relative.suffix.lower() == ".pdf"
    if media == "application/octet-stream" or (pdf != (media == "application/pdf")):
        return "no PDF" if pdf else "no text in UTF-8"
    source = open_source(data, media)
    if source.text is None or not source.text.strip():
        return "no text in it; it may be a scan" if pdf else "empty"
    return Document(relative, source.digest, pinned_from(source, {"name": relative.as_posix()}, media)), len(data)
