"""The documents of a self-check: a folder of texts, tables, JSON and PDF files; what of it is shown and what not."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.sources import Source
from dissensus.decide.self_check_documents import Library
from dissensus.decide.self_check_settings import MOST_DOCUMENTS, Document, LeftOut
from dissensus.errors import SpecError, UsageError
from dissensus.interop.evidence_files import media_of, open_source, read_bytes
from dissensus.script.questions import Question

MOST_BYTES: Final = 20_000_000
"""Bytes of the largest document: the record holds all of it, so that its quotes can be reopened."""
MOST_TOGETHER: Final = 200_000_000
MOST_FILES: Final = 10_000
DOCUMENTS: Final = "documents"
FOLDER: Final = "docs"
_HEAD: Final = 65_536


@dataclass(frozen=True)
class Folder:
    """Documents that questions are answered from.

    Args:
        sources: name and bytes of each, in the order of the names.
        left_out: files that are no documents, and why.
    """

    sources: tuple[tuple[str, Source], ...]
    left_out: tuple[LeftOut, ...] = ()

    @cached_property
    def library(self) -> Library:
        """Their texts, to choose from."""
        return Library([source.text or "" for _, source in self.sources], [source.media for _, source in self.sources])

    def shown_for(self, question: str, most: int) -> tuple[tuple[Document, ...], tuple[LeftOut, ...]]:
        """What an agent is shown with a question: at most so many characters. And what it is not."""
        spans = self.library.choose(question, most)
        shown: list[Document] = []
        left_out = list(self.left_out)
        for (name, source), some in zip(self.sources, spans, strict=True):
            if some and len(shown) < MOST_DOCUMENTS:
                shown.append(Document(digest=source.digest, name=name, pinned=_pinned(source, name), shown=some))
            else:
                why = "it shares too little with the question for the room there is"
                left_out.append(LeftOut(name=name, why=why))
        if not shown:
            raise UsageError(
                f"No document fits into {most:,} characters."
                if self.sources
                else "There is no document to answer from.",
                next_step="Raise --most-chars." if self.sources else "Put texts into the folder of --docs.",
            )
        return tuple(shown), tuple(left_out)


class Documents:
    """The documents of one question after another: those of a folder, or of the question's own line.

    Args:
        folder: what ``--docs`` names; None if each question brings its own.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._read: dict[Path, Folder] = {}

    def of(self, question: Question) -> Folder:
        """The documents of a question: ``data.documents`` of its line, ``data.docs`` in the folder, or all of it.

        Raises SpecError for what cannot be read.
        """
        if DOCUMENTS in question.data:
            return _inline(question.data[DOCUMENTS], question)
        if self.folder is None:
            raise UsageError(
                "There is no document to answer from.", next_step="Name a folder with --docs, or give `data.documents`."
            )
        part = question.data.get(FOLDER, "")
        if not isinstance(part, str):
            raise SpecError("`data.docs` is no text.", next_step="Name a folder in that of --docs, or a file in it.")
        path = self.folder / part if part else self.folder
        if path not in self._read:
            self._read[path] = read_folder(path)
        return self._read[path]


def read_folder(path: Path) -> Folder:
    """All documents in a folder, folders in it included and hidden files not; or the one file.

    Raises SpecError if it cannot be read, or holds too much; MissingExtra for a PDF that nothing here can read.
    """
    if not path.exists():
        raise SpecError(
            "The documents are not there.", path=str(path), next_step="Name a folder, or a file, with --docs."
        )
    sources: list[tuple[str, Source]] = []
    left_out: list[LeftOut] = []
    known: dict[str, str] = {}
    total = 0
    for number, file in enumerate(_files(path)):
        name = file.name if file == path else file.relative_to(path).as_posix()
        if number >= MOST_FILES:
            raise SpecError(f"The folder holds more than {MOST_FILES:,} files.", path=str(path), next_step=_SMALLER)
        source, why = _source(file)
        if source is None or source.digest in known:
            left_out.append(LeftOut(name=name, why=why if source is None else f"a copy of {known[source.digest]}"))
            continue
        total += len(source.data)
        if total > MOST_TOGETHER:
            what = f"The documents are larger than {MOST_TOGETHER // 1_000_000} MB together."
            raise SpecError(what, path=str(path), next_step=_SMALLER)
        known[source.digest] = name
        sources.append((name, source))
    return Folder(tuple(sources), tuple(left_out))


_SMALLER: Final = "Name a smaller folder."


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    try:
        for file in sorted(path.rglob("*")):
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
                yield file
    except OSError as problem:
        why = problem.strerror or problem
        raise SpecError(f"The folder cannot be read: {why}.", path=str(path), next_step="Check it.") from None


def _source(file: Path) -> tuple[Source | None, str]:
    """A file as a source, or why it is no document."""
    try:
        data = read_bytes(file, most=MOST_BYTES)
    except SpecError as problem:
        return None, problem.message.removeprefix(f"{file}: ").rstrip(".").lower()
    source = open_source(data, media_of(data[:_HEAD], file.name))
    if source.paged and not any(page.strip() for page in source.pages):
        return None, "its pages hold no text: it may be a scan"
    if source.text is None:
        return None, f"no text ({source.media})"
    return (source, "") if source.text.strip() else (None, "empty")


def _inline(given: Any, question: Question) -> Folder:
    """Documents that stand in the question's own line: texts, or objects with ``text`` and ``name``."""
    where = f"`data.documents` of {question.id or question.text[:60]!r}"
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise SpecError(f"{where} is no list of texts.", next_step='Write it as ["…", {"name": "…", "text": "…"}].')
    sources: list[tuple[str, Source]] = []
    left_out: list[LeftOut] = []
    for number, one in enumerate(given, 1):
        text = one.get("text") if isinstance(one, Mapping) else one
        name = str((one.get("name") if isinstance(one, Mapping) else "") or f"document-{number}")
        if not isinstance(text, str):
            raise SpecError(f"Number {number} in {where} holds no text.", next_step="Give it a `text`.")
        source = Source(text.encode(), "text/plain")
        if not text.strip():
            left_out.append(LeftOut(name=name, why="empty"))
        elif copy := next((other for other, known in sources if known.digest == source.digest), ""):
            left_out.append(LeftOut(name=name, why=f"a copy of {copy}"))
        else:
            sources.append((name, source))
    return Folder(tuple(sources), tuple(left_out))


def _pinned(source: Source, name: str) -> Pinned:
    try:
        text = None if source.paged else source.data.decode()
    except UnicodeDecodeError:
        text = None
    return Pinned(
        text=text,
        base64=None if text is not None else base64.b64encode(source.data).decode(),
        pages=tuple(source.pages) if source.paged else None,
        media=source.media,
        name=name,
    )
