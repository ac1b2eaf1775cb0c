"""The sources of a share, each read once, and the rows of their tables that name an item."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.dispute.evidence import CsvDialect
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import dialect_of, is_table
from dissensus.decide.dispute.sources import DIVIDER, Source
from dissensus.decide.dispute.subjects import subject_of
from dissensus.decide.swarm.work import Wanted

MOST_REMARKS: Final = 5


@dataclass(frozen=True, slots=True)
class Named:
    """How an item is named in documents: in the words of one of these sets, all of which have to stand there."""

    names: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, item: str, wanted: tuple[Wanted, ...]) -> Named:
        """The names of ``item``: its own and those of the subjects of claims about it, and the identifiers in them."""
        told = list(dict.fromkeys([item, *(one.about(item).get("subject", item) for one in wanted)]))
        names = [frozenset([normal(name).strip()]) for name in told]
        names += [subject_of(Claim("", subject=name)).ids for name in told]
        return cls(tuple(dict.fromkeys(name for name in names if name and "" not in name)))


class Opened:
    """Sources by digest, as they were pinned, opened when they are first looked at."""

    def __init__(self, pinned: Mapping[str, Pinned]) -> None:
        self.pinned = pinned
        self._sources: dict[str, Source] = {}
        self._rows: dict[str, _Rows] = {}
        self._remarks: dict[str, list[int]] = {}

    def __contains__(self, digest: object) -> bool:
        return digest in self.pinned

    def __getitem__(self, digest: str) -> Source:
        if digest not in self._sources:
            self._sources[digest] = source_of(self.pinned[digest])
        return self._sources[digest]

    def is_table(self, digest: str) -> bool:
        """Whether it is a table with text in it."""
        source = self[digest]
        return is_table(source) and bool(source.text)

    def dialect(self, digest: str) -> CsvDialect:
        """How the table is written."""
        return dialect_of(self[digest])

    def row_texts(self, digest: str) -> list[str]:
        """The rows of the table as they are written, header first."""
        return self._table(digest).texts

    def rows_naming(self, digest: str, named: Named) -> list[int]:
        """The rows of the table that name an item, from 1; the header, row 1, is never among them."""
        table = self._table(digest)
        found = {row for name in named.names for row in reduce(set.__and__, map(table.rows_with, name))}
        return sorted(found - {1})

    def remarks(self, digest: str) -> list[int]:
        """The first rows that have one cell with something in it, as ``all counts in boxes``: it may be said of all."""
        if digest not in self._remarks:
            rows = self[digest].cells(self.dialect(digest))
            said = [sum(bool(cell.text.strip()) for cell in row) for row in rows]
            found = [number for number, cells in enumerate(said, 1) if cells == 1 and number > 1 and len(rows[0]) > 1]
            self._remarks[digest] = found[:MOST_REMARKS]
        return self._remarks[digest]

    def _table(self, digest: str) -> _Rows:
        if digest not in self._rows:
            source = self[digest]
            text = source.text or ""
            cells = source.cells(self.dialect(digest))
            self._rows[digest] = _Rows([text[row[0].start : row[-1].end] for row in cells])
        return self._rows[digest]


class _Rows:
    """The rows of a table, joined after N, so that a name is looked for in all of them at once."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        plain = [normal(text) for text in texts]
        self._joined = DIVIDER.join(plain)
        self._starts: list[int] = []
        at = 0
        for text in plain:
            self._starts.append(at)
            at += len(text) + 1

    def rows_with(self, name: str) -> set[int]:
        """The rows in which ``name`` stands by itself, from 1."""
        return {bisect_right(self._starts, at) for at in self._places(name)}

    def _places(self, name: str) -> Iterator[int]:
        text = self._joined
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if not text[max(at - 1, 0) : at].isalnum() and not text[end : end + 1].isalnum():
                yield at
            at = text.find(name, at + 1)
