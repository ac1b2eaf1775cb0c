"""A file of questions, one JSON object a line, and the names of the records that answer them."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dissensus.decide.wording import checked
from dissensus.errors import SpecError, StorageError, UsageError
from dissensus.script.questions import Question

MOST_BYTES = 100_000_000
_SLUG = re.compile(r"[^a-z0-9]+")


class Line(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One line of a file of questions.

    ``gold`` is the right answer where it is known: no agent is shown it. ``data`` is the caller's own.
    """

    question: str
    kind: str = "auto"
    options: tuple[str, ...] = ()
    unit: str = ""
    id: str | int = ""
    gold: str | int | float | bool | None = None
    data: dict[str, Any] = {}


def read_questions(path: str) -> list[Question]:
    """The questions in the file at ``path`` (``-``: standard input), each looked at before any is asked.

    Raises SpecError that names the line for anything that is wrong, and for a file without questions.
    """
    name = "standard input" if path == "-" else path
    raw = _bytes(path)
    if len(raw) > MOST_BYTES:
        raise SpecError(f"{name} is larger than {MOST_BYTES:,} bytes.", next_step="Split it into several files.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        bad = raw.count(b"\n", 0, problem.start) + 1
        raise SpecError("The file is not UTF-8.", path=name, line=bad, next_step="Save it as UTF-8.") from None
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for place, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        question = _question(line, name, place)
        if question.id and lines.setdefault(question.id, place) != place:
            raise SpecError(
                f"The id {question.id!r} stands in line {lines[question.id]} already.",
                path=name,
                line=place,
                next_step="Give each question its own id, or none.",
            )
        questions.append(question)
    if not questions:
        raise SpecError(
            "The file holds no question.", path=name, next_step='Write one a line, such as {"question": "Is 7 prime?"}.'
        )
    return questions


def _bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1) if sys.stdin is not None else b""  # it may be closed
    try:
        with Path(path).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise SpecError(
            f"The file of questions cannot be read: {why}.", path=path, next_step="Check the path."
        ) from None


def _question(text: str, name: str, number: int) -> Question:
    try:
        read = msgspec.json.decode(text, type=Line)
    except msgspec.ValidationError as problem:
        known = ", ".join(Line.__struct_fields__)
        raise SpecError(f"{problem}.", path=name, line=number, next_step=f"A line has the keys {known}.") from None
    except (msgspec.DecodeError, RecursionError) as problem:
        raise SpecError(
            f"The line is not JSON: {problem}.", path=name, line=number, next_step="Write one JSON object on each line."
        ) from None
    question = Question(
        text=read.question,
        kind=read.kind,
        options=read.options,
        unit=read.unit,
        id=str(read.id),
        gold=_gold(read.gold),
        data=read.data,
    )
    try:
        return checked(question)
    except UsageError as problem:
        raise SpecError(problem.message, path=name, line=number, next_step=problem.next_step) from None


def _gold(gold: str | float | None) -> str | None:
    if isinstance(gold, bool):
        return "yes" if gold else "no"
    return gold if gold is None or isinstance(gold, str) else str(gold)


def new_path(place: Path, text: str) -> Path:
    """A path for a new record in the folder ``place``, or ``place`` itself if it names a ``.db`` file.

    In a folder the name is the time and the first words of the question: ``2026-11-30-153012-is-7-prime.db``. A name
    that is taken gets ``-2``, ``-3`` …: no record is ever written over. Raises StorageError if there can be no folder.
    """
    folder = place.parent if place.suffix == ".db" else place
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StorageError(
            f"The folder {folder} for records cannot be made: {problem.strerror or problem}.",
            next_step="Name another with --record.",
        ) from None
    if place.suffix == ".db":
        return place
    stem = f"{time.strftime('%Y-%m-%d-%H%M%S')}-{slug(text)}"
    return next(path for path in _numbered(place, stem) if not path.exists())


def _numbered(folder: Path, stem: str) -> Iterator[Path]:
    yield folder / f"{stem}.db"
    number = 2
    while True:
        yield folder / f"{stem}-{number}.db"
        number += 1


def slug(text: str) -> str:
    """The first words of ``text`` as a part of a file name: at most 20 ASCII characters, never empty."""
    plain = unicodedata.normalize("NFKD", text[:200]).encode("ascii", "ignore").decode().lower()
    words = _SLUG.sub("-", plain).strip("-")
    if len(words) > 20:
        words = words[:21].rpartition("-")[0] or words[:20]
    return words or "question"
