"""What the documents of one side call things, and what they count: the ground on which two sides can be compared.

Everything here is a proposal that a person sees before anything is done with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePosixPath
from typing import Final

from dissensus.decide.dispute.amounts import amounts_in, words_of
from dissensus.decide.dispute.bearing import unit_of
from dissensus.decide.dispute.checkers import key_column
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.faults import number_in
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row
from dissensus.decide.dispute.topics import families, times_of
from dissensus.decide.dispute.words import UNITS
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.reader import Reader
from dissensus.decide.swarm.reader_json import Tree
from dissensus.decide.swarm.reader_names import FILLING, MEASURES, MEASURING, NOUNS, STOPS, form, terms
from dissensus.decide.swarm.reader_said import days_of
from dissensus.decide.swarm.reader_tables import Sheet
from dissensus.decide.swarm.reader_texts import Paper, label_words

FILE_NAME: Final = "file name"
NUMBERING: Final = frozenset(["no", "nr", "number", "id", "ref", "code", "key", "reference"])
"""Words that stand beside the noun of a name and change nothing: ``order no``."""
_LOOKED_AT: Final = 200
_IDENTIFIER: Final = r"[^\s,;:()\[\]\"'#|]*\d[^\s,;()\[\]\"'|]*"
_NAMED: Final = re.compile(
    rf"\b(?P<noun>{'|'.join(sorted(NOUNS - NUMBERING))})s?\b[\s:#.]*(?:(?:no|nr|number|id)\b[\s:#.]*)?"
    rf"(?P<id>{_IDENTIFIER})(?P<after>\s*[^\W\d_]*)",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(rf"(?<![^\s(\[|:#])(?=[^\W\d_]){_IDENTIFIER}")
_DAY: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_NAME_PARTS: Final = re.compile(r"[_\s.()]+")


@dataclass(slots=True)
class Called:
    """How things are called under one name: the values of a column or key, or what stands after a word.

    Args:
        name: the name: ``order``; :data:`FILE_NAME`; for identifiers that need no word, their form: ``po-0``.
        columns: of tables that have it, the column.
        written: each value after N, as it is written.
        where: for each value, the sources that hold it.
    """

    name: str
    columns: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    where: dict[str, set[str]] = field(default_factory=dict)

    def add(self, text: str, digest: str) -> None:
        """Take in a value."""
        value = " ".join(text.split()).strip().strip("#.:").strip()
        if value and len(value) <= 100 and value.isprintable():
            self.written.setdefault(normal(value), value)
            self.where.setdefault(normal(value), set()).add(digest)

    @property
    def telling(self) -> bool:
        """Whether its name says that it holds names of things."""
        return self.name == FILE_NAME or form(self.name) in self.forms or bool(words_of(self.name) & NOUNS)

    @property
    def shown(self) -> str:
        """The name, or, where things need none, one of them."""
        return f"like {min(self.written.values())}" if form(self.name) in self.forms else self.name

    @property
    def forms(self) -> set[str]:
        """The forms of its values."""
        return {form(value) for value in self.where}


@dataclass(slots=True)
class Counted:
    """Numbers under one name.

    Args:
        names: the name, as it is written, and how often.
        columns: of tables that have it, the column.
        units: what is counted, and how often that stands there.
        where: the sources that state it.
    """

    names: Counter[str] = field(default_factory=Counter)
    columns: dict[str, str] = field(default_factory=dict)
    units: Counter[str] = field(default_factory=Counter)
    where: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The name, as it is written most often."""
        return max(self.names, key=lambda name: (self.names[name], -len(name), name))

    @property
    def unit(self) -> str:
        """The unit that stands there; "" if none does, or several do."""
        most = max(self.units, key=lambda unit: (self.units[unit], unit), default="")
        return most if 3 * self.units[most] >= 2 * self.units.total() else ""


@dataclass(frozen=True, slots=True)
class Survey:
    """What one side holds.

    Args:
        called: how things are called, by name.
        counted: what is counted.
        days: the first and the last day that is named as the day of something; None if none is.
        keys: of tables, the column that tells bookings apart.
        times: of tables, the column that says when.
    """

    called: Mapping[str, Called]
    counted: tuple[Counted, ...]
    days: tuple[date, date] | None
    keys: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, str] = field(default_factory=dict)


def survey(opened: Opened) -> Survey:
    """Look at all sources of one side."""
    return _Surveyor(opened).look()


def core(name: str) -> str:
    """The name of a column, key or word without what changes nothing: ``Order No.`` is ``order``."""
    words = [word for word in _in_order(name) if word not in NUMBERING]
    return " ".join(words) or " ".join(_in_order(name)) or normal(name).strip()


def plain_name(name: str) -> str:
    """A name as the name of a property: ``Qty_received (boxes)`` is ``qty received boxes``."""
    return " ".join(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", normal(name).replace("_", " ")))


def _in_order(name: str) -> list[str]:
    return [next(iter(words_of(word)), word) for word in plain_name(name).split()]


class _Surveyor:
    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.reader = Reader(opened)
        self.called: dict[str, Called] = {}
        self.counted: dict[frozenset[str], Counted] = {}
        self.days: list[tuple[date, date]] = []
        self.keys: dict[str, str] = {}
        self.times: dict[str, str] = {}

    def look(self) -> Survey:
        for digest in self.opened.pinned:
            match self.reader.opened_as(digest):
                case Sheet() as sheet:
                    self._sheet(digest, sheet)
                case Tree() as tree:
                    self._tree(digest, tree)
                case Paper() as paper:
                    self._paper(digest, paper)
                case _:
                    continue
            for name in _names_in(self.opened.pinned[digest].name):
                self._call(FILE_NAME, name, digest)
        days = (min(day[0] for day in self.days), max(day[1] for day in self.days)) if self.days else None
        return Survey(self.called, tuple(self.counted.values()), days, self.keys, self.times)

    def _sheet(self, digest: str, sheet: Sheet) -> None:
        rows = sheet.rows
        if not rows:
            return
        key = key_column(Claim("", subject=""), rows[0])
        for column in sheet.columns:
            texts = [text for row in rows if (text := row.fields.get(column, "").strip())]
            if not texts:
                continue
            days = [day for row in rows if (day := days_of([Row({column: row.fields.get(column, "")})])) is not None]
            if days:
                self.days += [min(days), max(days)]
                self.times[digest] = column if digest not in self.times else ""
            elif _names_things(column):
                for text in texts:
                    self._call(core(column), text, digest, column)
            if not days and _counts(column) and _numbers(texts):
                units = [unit for row in rows[:_LOOKED_AT] if (unit := unit_of(row, column, MEASURES))]
                self._count(column, digest, units or _units(texts[:_LOOKED_AT]), column)
        if key is not None:
            self.keys[digest] = key
        self.times = {digest: column for digest, column in self.times.items() if column}

    def _tree(self, digest: str, tree: Tree) -> None:
        for leaf in tree.leaves:
            if not leaf.key:
                continue
            day = days_of([Row({leaf.key: leaf.text})]) if times_of(Row({leaf.key: leaf.text})) else None
            if day is not None:
                self.days.append(day)
                continue
            if _names_things(leaf.key):
                self._call(core(leaf.key), leaf.text, digest)
            if _counts(leaf.key) and _numbers([leaf.text]):
                name = _with_outer(leaf.path)
                self._count(name, digest, _units([leaf.text]) or _units_in(name))

    def _paper(self, digest: str, paper: Paper) -> None:
        for line in paper.lines:
            for match in _NAMED.finditer(line.text):
                if match["after"].strip().casefold() not in UNITS and not _DAY.fullmatch(match["id"]):
                    self._call(core(match["noun"]), match["id"], digest)
            for match in _TOKEN.finditer(line.text):
                token = match[0].rstrip(".:")
                if any(char.isalpha() for char in token) and len(token) > 2:
                    self._call(form(token), token, digest)
        for _, text, value in paper.fields:
            label = label_words(text)
            if _counts(label) and _numbers([value]):
                self._count(label, digest, _units([value]) or _units_in(label))
        day = paper.day()
        if day is not None:
            self.days.append((day, day))

    def _call(self, name: str, value: str, digest: str, column: str = "") -> None:
        called = self.called.setdefault(name, Called(name))
        called.add(value, digest)
        if column:
            called.columns.setdefault(digest, column)

    def _count(self, name: str, digest: str, units: Iterable[str], column: str = "") -> None:
        words = words_of(name)
        found = self.counted.setdefault(terms(words - FILLING or words), Counted())
        found.names[plain_name(name)] += 1
        found.units.update(units)
        found.where.add(digest)
        if column:
            found.columns.setdefault(digest, column)


def _with_outer(path: tuple[str | int, ...]) -> str:
    """The name of a number in a JSON document: ``received`` in an object ``pallets`` is ``pallets received``."""
    names = [part for part in path if isinstance(part, str)][-2:]
    return " ".join(names) if len(names) > 1 and words_of(names[0]) & MEASURES.names else names[-1]


def _names_in(file: str) -> Iterator[str]:
    """What a file's name may name: the name without its end, and its parts, if they hold a digit."""
    stem = PurePosixPath(file).stem
    parts = [part for whole in _NAME_PARTS.split(stem) for part in (whole, whole.rpartition("-")[2])]
    yield from (part for part in dict.fromkeys([stem, *parts]) if any(char.isdigit() for char in part))


def _names_things(name: str) -> bool:
    words = words_of(name)
    return not words & (MEASURING | MEASURES.names) and not (words and families(words) and not words & NOUNS)


def _counts(name: str) -> bool:
    words = words_of(name)
    return bool(words - STOPS) and not words <= NOUNS | NUMBERING | STOPS


def _numbers(texts: list[str]) -> bool:
    """Whether most of some texts hold one number each."""
    looked = texts[:_LOOKED_AT]
    return 2 * sum(number_in(text) is not None for text in looked) > len(looked)


def _units(texts: Iterable[str]) -> list[str]:
    units = [amount.unit for text in texts for amount in amounts_in(text).found]
    return [unit for unit in units if unit in MEASURES.names]


def _units_in(name: str) -> list[str]:
    return sorted(word for word in words_of(name) if word in MEASURES.names)[:1]
