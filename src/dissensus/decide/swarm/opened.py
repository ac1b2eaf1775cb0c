"""The sources of a share, each read once, and the rows of their tables that name an item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.dispute.evidence import CsvDialect
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import dialect_of, is_table
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.subjects import subject_of
from dissensus.decide.swarm.work import Wanted


@dataclass(frozen=True, slots=True)
class Named:
    """How an item is named in documents: in these words, or by all identifiers (``4711``) of one of these sets."""

    phrases: tuple[str, ...]
    ids: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, item: str, wanted: tuple[Wanted, ...]) -> Named:
        """The names of ``item``: its own, and those of the subjects that claims about it have."""
        names = list(dict.fromkeys([item, *(one.about(item).get("subject", item) for one in wanted)]))
        found = [subject_of(Claim("", subject=name)).ids for name in names]
        return cls(tuple(normal(name).strip() for name in names), tuple(ids for ids in found if ids))

    def stands_in(self, text: str) -> bool:
        """Whether ``text``, which is after N, names it."""
        return any(_stands(phrase, text) for phrase in self.phrases if phrase) or any(
            all(_stands(one, text) for one in ids) for ids in self.ids
        )


def _stands(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None


class Opened:
    """Sources by digest, as they were pinned, opened when they are first looked at."""

    def __init__(self, pinned: Mapping[str, Pinned]) -> None:
        self.pinned = pinned
        self._sources: dict[str, Source] = {}
        self._rows: dict[str, list[str]] = {}

    def __contains__(self, digest: object) -> bool:
        return digest in self.pinned

    def __getitem__(self, digest: str) -> Source:
        if digest not in self._sources:
            self._sources[digest] = source_of(self.pinned[digest])
        return self._sources[digest]

    def is_table(self, digest: str) -> bool:
        """Whether it is a table with text in it."""
        source = self[digest]
        return is_table(source) and source.text is not None

    def dialect(self, digest: str) -> CsvDialect:
        """How the table is written."""
        return dialect_of(self[digest])

    def row_texts(self, digest: str) -> list[str]:
        """The rows of the table as they are written, header first."""
        source = self[digest]
        text = source.text or ""
        return [text[row[0].start : row[-1].end] for row in source.cells(self.dialect(digest))]

    def rows_naming(self, digest: str, named: Named) -> list[int]:
        """The rows of the table that name an item, from 1; the header, row 1, is never among them."""
        if digest not in self._rows:
            self._rows[digest] = [normal(text) for text in self.row_texts(digest)]
        return [number for number, text in enumerate(self._rows[digest], 1) if number > 1 and named.stands_in(text)]
