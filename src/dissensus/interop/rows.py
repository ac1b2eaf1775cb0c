"""Rows of a file as columns, a block at a time, so that a million of them fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

BLOCK = 20_000


class Absent:
    """The value of a key that a line does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


def no_blocks() -> Iterator[tuple[int, Sequence[Sequence[Any]]]]:
    """What ``blocks`` is until the format is known."""
    return iter(())


@dataclass(slots=True)
class Rows:
    """A file with named columns.

    Args:
        path: of the file, for errors.
        format: what it is: ``CSV``, ``JSON lines`` …
        header: names of the columns.
        blocks: gives, from the beginning, the number of the first line of a block and its columns.
        voters: columns that the format itself says are voters.
        dropped: rows that held nothing, counted while ``blocks`` runs.
        notes: sentences for the reader of the result, complete when ``blocks`` has run.
        duplicates: votes left out because a voter has only one, counted while ``blocks`` runs.
    """

    path: str
    format: str
    header: list[str]
    blocks: Callable[[], Iterator[tuple[int, Sequence[Sequence[Any]]]]]
    voters: tuple[str, ...] = ()
    dropped: int = 0
    notes: list[str] = field(default_factory=list)
    duplicates: int = 0
