"""The records of a swarm by name: a word for what stands in one, and a number from the second on: ``4711~2.db``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dissensus.errors import RecordError, StorageError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.run import runs

_ODD: Final = re.compile(r"[^\w.+-]+", re.ASCII)
_MOST: Final = 60


def word(text: str) -> str:
    """``text`` as a part of a file's name. A text that has to be changed for that keeps a digest of what it was."""
    plain = _ODD.sub("-", text).strip("-.")
    if plain == text and len(plain) <= _MOST:
        return plain
    return f"{plain[:_MOST]}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}".lstrip("-")


def numbered(place: Path) -> list[Path]:
    """The records in a folder, those of one name in the order of their numbers."""
    return sorted(place.glob("*.db"), key=_parts)


def of_name(place: Path, name: str) -> Iterator[Path]:
    """The records of one name that are there, the first one first."""
    number = 1
    while (path := _path(place, name, number)).exists():
        yield path
        number += 1


def free(place: Path, name: str) -> Path:
    """The next record of this name, in a folder that is made if need be. Raises StorageError if it cannot be made."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StorageError(
            f"The folder {place} for records cannot be made: {problem.strerror or problem}.",
            next_step="Name another with -o.",
        ) from None
    return _path(place, name, 1 + sum(1 for _ in of_name(place, name)))


def events_in(path: Path) -> list[Event]:
    """The events of a record; none if a process died before it could make one of the file.

    Raises :class:`~dissensus.errors.RecordError` for a record that is damaged or too new.
    """
    try:
        with open_record(path) as store:
            return runs.events_of(store)
    except RecordError as problem:
        if type(problem) is not RecordError:
            raise
        return []


def _path(place: Path, name: str, number: int) -> Path:
    return place / (f"{name}.db" if number == 1 else f"{name}~{number}.db")


def _parts(path: Path) -> tuple[str, int]:
    name, _, number = path.stem.partition("~")
    return name, int(number) if number.isdecimal() else 1
