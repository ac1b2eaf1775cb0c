"""One row a vote: question, voter, answer, and what else is known of it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dissensus.errors import SpecError
from dissensus.interop.columns import ANSWERED, Named, Roles
from dissensus.interop.factors import Traits
from dissensus.interop.rows import Rows
from dissensus.interop.sheet import ABSENT, CONFLICT, Coder, Numbered, Sheet, numbered, repeated
from dissensus.interop.wide import Options, as_text
from dissensus.measure.table import Codes, Whole
from dissensus.measure.wording import counted


class Facts:
    """What rows say of their question; rows of one question have to agree."""

    def __init__(self, what: str, path: str) -> None:
        self._what, self._path = what, path
        self._said: dict[int, tuple[Any, int]] = {}

    def take(self, questions: Sequence[int], values: Sequence[Any], line: int, names: Sequence[str]) -> None:
        """Remember what is said; empty values say nothing. Raises SpecError where two rows differ."""
        for place, (question, value) in enumerate(zip(questions, values, strict=True)):
            if value in {"", None}:
                continue
            said, where = self._said.setdefault(question, (value, line + place))
            if said != value:
                raise SpecError(
                    f"The {self._what} of question {names[question]!r} is {value!r} here and {said!r} in line {where}.",
                    path=self._path,
                    line=line + place,
                    next_step="Each question has one: correct the file, or make these two questions.",
                )

    def of(self, questions: int) -> list[Any]:
        """What was said of each question; None where nothing was."""
        return [self._said.get(question, (None, 0))[0] for question in range(questions)]

    def __bool__(self) -> bool:
        return bool(self._said)


def read_long(rows: Rows, roles: Roles, named: Named) -> Sheet:
    """Read all of ``rows``.

    A voter's second vote on a question is no second vote. If it says the same it is left out; if not, neither can be
    counted and the cell is blank. Where there are rounds, the last one of a voter counts (or the one that was asked
    for); where there are samples, each is a voter of its own.

    Raises:
        SpecError: rows of one question contradict each other, or a cell cannot be read; the message names the line.
    """
    reading = _Reading(rows, roles, named)
    for line, block in rows.blocks():
        reading.take(line, block)
    return reading.done()


class _Reading:
    """The votes so far, and what was said of their questions and voters."""

    def __init__(self, rows: Rows, roles: Roles, named: Named) -> None:
        self.rows, self.roles, self.named = rows, roles, named
        self.coder, self.ids, self.voters = Coder(named.blank), Numbered(), Numbered()
        self.names: list[str] = []
        self.question, self.voter, self.cell, self.turn = array("q"), array("q"), array("i"), array("d")
        path = rows.path
        self.gold, self.texts = Facts("right answer", path), Facts("text", path)
        self.strata, self.groups = Facts(named.strata or "part", path), Facts(named.group or "group", path)
        self.counts, self.lists = Facts("number of options", path), Facts("list of options", path)
        self.spent: dict[int, float] = {}
        self.unpaid: set[int] = set()
        self.traits = Traits(roles.factors)
        self.read = self.dropped = 0

    def take(self, line: int, block: Sequence[Sequence[Any]]) -> None:
        """Read one block."""
        roles, size = self.roles, len(block[0])
        keys = [self.ids[as_text(value)] for value in _column(block, roles.question)]
        who = [as_text(value) for value in _column(block, roles.voter)]
        self.names.extend(list(self.ids)[len(self.names) :])
        self._check_names(keys, who, line)
        self._take_facts(keys, line, block)
        cells = self.coder.column(_column(block, roles.answer))
        if roles.status is not None:
            cells = [
                code if (status := as_text(said)).lower() in ANSWERED else self.coder.blank(status)
                for code, said in zip(cells, block[roles.status], strict=True)
            ]
        self.traits.take(who, block, None if roles.sample is None else block[roles.sample])
        if roles.sample is not None:
            who = [f"{name}#{as_text(sample)}" for name, sample in zip(who, block[roles.sample], strict=True)]
        turns = [0.0] * size if roles.round is None else self._rounds(line, block[roles.round])
        self.read += size
        for place in range(size):
            if self._left_out(who[place], turns[place]):
                self.dropped += 1
                continue
            number = self.voters[who[place]]
            self.question.append(keys[place])
            self.voter.append(number)
            self.cell.append(cells[place])
            self.turn.append(turns[place])
            if roles.cost is not None:
                self._spend(number, block[roles.cost][place])

    def _left_out(self, voter: str, turn: float) -> bool:
        asked = self.named
        return bool(asked.voters and voter not in asked.voters) or bool(asked.round and turn != asked.round)

    def _check_names(self, keys: Sequence[int], who: Sequence[str], line: int) -> None:
        for place, (key, name) in enumerate(zip(keys, who, strict=True)):
            if not name or not self.names[key]:
                raise SpecError(
                    f"This vote has no {'question' if name else 'voter'}.",
                    path=self.rows.path,
                    line=line + place,
                    next_step="Every row names its question and its voter.",
                )

    def _take_facts(self, keys: Sequence[int], line: int, block: Sequence[Sequence[Any]]) -> None:
        roles, names = self.roles, self.names
        for facts, place in (
            (self.strata, roles.strata),
            (self.texts, roles.text),
            (self.groups, roles.group),
            (self.counts, roles.count),
        ):
            if place is not None:
                facts.take(keys, [as_text(value) for value in block[place]], line, names)
        if roles.list is not None:
            self.lists.take(keys, [_hashable(value) for value in block[roles.list]], line, names)
        if roles.gold is not None:
            codes = self.coder.column(block[roles.gold])
            self.gold.take(keys, [self.coder.texts[code] if code >= 0 else None for code in codes], line, names)

    def _rounds(self, line: int, column: Sequence[Any]) -> list[float]:
        found = []
        for place, value in enumerate(column):
            try:
                found.append(float(as_text(value) or 0))
            except ValueError:
                raise SpecError(
                    f"{value!r} is no round.", path=self.rows.path, line=line + place, next_step="Number the rounds."
                ) from None
        return found

    def _spend(self, voter: int, value: Any) -> None:
        try:
            self.spent[voter] = self.spent.get(voter, 0.0) + float(as_text(value))
        except ValueError:
            self.unpaid.add(voter)  # unknown is not 0

    def done(self) -> Sheet:
        """The sheet of all that was read."""
        rows, roles = self.rows, self.roles
        if not self.question:
            why = "No row has one of the voters, or the round, that were asked for."
            raise SpecError(
                why if self.read else "The file holds no vote.",
                path=rows.path,
                next_step="Look at the file, and at --voters.",
            )
        many, n = len(self.ids), len(self.voters)
        placed = self._placed(many, n)
        facts = Options(rows.path, self.named.options)
        facts.take(1, self.counts.of(many) if self.counts else None, self.lists.of(many) if self.lists else None)
        strata, parts = numbered(value or "" for value in self.strata.of(many)) if self.strata else (None, [])
        same = self.groups if roles.group is not None else self.texts
        keys = [-1 if text is None else self.coder[text] for text in self.gold.of(many)]
        return Sheet(
            cells=placed.cells,
            gold=np.array(keys, dtype=np.int32),
            texts=self.coder.texts,
            reasons=self.coder.reasons,
            voters=list(self.voters),
            questions=self.names,
            options=facts.counts(many),
            allowed=facts.allowed,
            groups=repeated(_keys(same.of(many))) if same else None,
            strata=strata,
            stratum_names=parts,
            costs={name: self.spent[v] for name, v in self.voters.items() if v in self.spent and v not in self.unpaid},
            factors=self.traits.levels(self.voters),
            question_column=rows.header[roles.question or 0].strip(),
            format=f"{rows.format}, one row a vote",
            rows_read=self.read + rows.dropped,
            dropped=rows.dropped + self.dropped,
            duplicates=placed.duplicates + rows.duplicates,
            notes=(*rows.notes, *self._notes(placed, n)),
        )

    def _placed(self, many: int, n: int) -> _Placed:
        place: Whole = np.frombuffer(self.question, dtype=np.int64) * n + np.frombuffer(self.voter, dtype=np.int64)
        codes = np.frombuffer(self.cell, dtype=np.int32)
        turns = np.frombuffer(self.turn, dtype=np.float64)
        cells: Codes = np.full(many * n, self.coder.blank(ABSENT), dtype=np.int32)
        order = np.lexsort((codes, turns, place))
        last = np.ones(len(order), dtype=bool)
        last[:-1] = place[order][1:] != place[order][:-1]
        cells[place[order][last]] = codes[order][last]
        if last.all():
            return _Placed(cells.reshape(many, n), 0, np.zeros(0, dtype=np.int64))
        final = np.full(many * n, -np.inf)
        final[place[order][last]] = turns[order][last]
        counted = turns == final[place]  # of a voter's rounds, the last
        lowest, highest = np.full(many * n, np.iinfo(np.int32).max), np.full(many * n, np.iinfo(np.int32).min)
        np.minimum.at(lowest, place[counted], codes[counted])
        np.maximum.at(highest, place[counted], codes[counted])
        conflicts: Whole = np.flatnonzero(lowest < highest)
        cells[conflicts] = self.coder.blank(CONFLICT)
        filled = int(np.count_nonzero(np.isfinite(final)))
        return _Placed(cells.reshape(many, n), int(counted.sum()) - filled, conflicts)

    def _notes(self, placed: _Placed, n: int) -> Iterator[str]:
        conflicts = placed.conflicts
        if placed.duplicates:
            said = "" if len(conflicts) else ", each saying the same"
            twice = counted(placed.duplicates, "vote stands", "votes stand")
            yield f"{twice} in the file twice{said}: one voter has one vote; one is counted."
        if len(conflicts):
            question, voter = self.names[int(conflicts[0]) // n], list(self.voters)[int(conflicts[0]) % n]
            yield (
                f"{counted(len(conflicts), 'time')} a voter answered one question differently; neither answer can be "
                f"counted, and the cell is blank (question {question}, voter {voter}, …)."
            )
        yield from self.traits.notes()
        if self.roles.sample is not None:
            yield "Each sample of a voter is counted as a voter of its own."
        if self.roles.round is not None and not self.named.round:
            yield "Where a voter answered in several rounds, the last one is counted."


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The table; how many votes were duplicates; and the places of cells that were filled differently."""

    cells: Codes
    duplicates: int
    conflicts: Whole


def _column(block: Sequence[Sequence[Any]], place: int | None) -> Sequence[Any]:
    return block[place] if place is not None else ()


def _hashable(value: Any) -> Any:
    return tuple(as_text(item) for item in value) if isinstance(value, list) else as_text(value)


def _keys(values: list[Any]) -> Iterator[str]:
    for place, value in enumerate(values):
        yield " ".join(str(value).split()) if value else f"question {place}"
