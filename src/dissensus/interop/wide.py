"""One row a question, one column a voter."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from dissensus.errors import SpecError
from dissensus.interop.columns import Named, Roles
from dissensus.interop.rows import Absent, Rows
from dissensus.interop.sheet import Coder, Sheet, numbered, repeated, some
from dissensus.measure.table import Codes, Whole

CLOSED, MANY = 50, 20
"""With at most so many different right answers on at least so many questions, a column foreign to them is no voter."""


def read_wide(rows: Rows, roles: Roles, named: Named) -> Sheet:
    """Read all of ``rows``.

    Raises:
        SpecError: a cell that has to be a number or a list is none; the message names the line.
    """
    coder = Coder(named.blank)
    columns = {name: array("i") for name in roles.voters}
    gold, ids, texts, strata, groups = array("i"), [], [], [], []  # type: ignore[var-annotated]
    facts = Options(rows.path, named.options)
    read = 0
    for line, block in rows.blocks():
        size = len(block[0])
        read += size
        for name, place in roles.voters.items():
            columns[name].extend(coder.column(block[place]))
        if roles.gold is not None:
            gold.extend(coder.column(block[roles.gold]))
        if roles.question is not None:
            ids.extend(map(as_text, block[roles.question]))
        facts.take(
            line, None if roles.count is None else block[roles.count], None if roles.list is None else block[roles.list]
        )
        for role, kept in ((roles.text, texts), (roles.strata, strata), (roles.group, groups)):
            if role is not None:
                kept.extend(map(as_text, block[role]))
    if not read:
        raise SpecError("The file holds no question.", path=rows.path, next_step="Look at the file.")
    cells: Codes = np.column_stack([np.frombuffer(column, dtype=np.int32) for column in columns.values()])
    keys = np.frombuffer(gold, dtype=np.int32).copy() if gold else np.full(read, -1, dtype=np.int32)
    keys[keys < 0] = -1
    voters, left_out, texts_said = list(columns), list(roles.left_out), coder.texts
    if not named.voters and not rows.voters:
        voting = _voting(cells, keys)
        left_out += [name for name, kept in zip(voters, voting, strict=True) if not kept]
        cells, voters = cells[:, voting], [name for name, kept in zip(voters, voting, strict=True) if kept]
        if not all(voting):
            cells, keys, texts_said = _used(cells, keys, coder.texts)
    notes = list(rows.notes)
    if left_out:
        names = some([name or "(no name)" for name in left_out], 12)
        notes.append(f"Columns not read as voters: {names}. Name the voters with --voters if one is.")
    if roles.question is None:
        notes.append("No column names the questions: they are numbered by row.")
    same_question = groups if roles.group is not None else _same_question(ids, texts)
    part, parts = numbered(strata) if strata else (None, [])
    return Sheet(
        cells=cells,
        gold=keys,
        texts=texts_said,
        reasons=coder.reasons,
        voters=voters,
        questions=ids or [str(place) for place in range(1, read + 1)],
        options=facts.counts(read),
        allowed=facts.allowed,
        groups=repeated(same_question) if same_question else None,
        strata=part,
        stratum_names=parts,
        question_column="" if roles.question is None else rows.header[roles.question].strip(),
        format=f"{rows.format}, one row a question",
        rows_read=read + rows.dropped,
        dropped=rows.dropped,
        duplicates=rows.duplicates,
        notes=tuple(notes),
    )


def _same_question(ids: list[str], texts: list[str]) -> list[str]:
    """What makes two rows one question asked again: the same text where there are texts, else the same name."""
    if texts:
        return [" ".join(text.split()) or f"row {place}" for place, text in enumerate(texts)]
    return ids


def _voting(cells: Codes, gold: Codes) -> list[bool]:
    """Which columns hold answers: on many questions with few right answers, those that share any with the others.

    A column shares if it ever holds a right answer, or an answer of a column that does.
    """
    every = [True] * cells.shape[1]
    known = np.unique(gold[gold >= 0])
    if len(gold) < MANY or not 0 < len(known) <= CLOSED:
        return every
    said = [np.unique(cells[:, place]) for place in range(cells.shape[1])]
    right = [bool(np.isin(answers, known).any()) for answers in said]
    common = np.unique(np.concatenate([known, *(answers for answers, ever in zip(said, right, strict=True) if ever)]))
    voting = [not (answers >= 0).any() or bool(np.isin(answers[answers >= 0], common).any()) for answers in said]
    return voting if any(voting) else every


def _used(cells: Codes, gold: Codes, texts: list[str]) -> tuple[Codes, Codes, list[str]]:
    """The same without the texts that no cell has any more."""
    kept = np.unique(np.concatenate([cells[cells >= 0], gold[gold >= 0]]))
    number = np.full(len(texts) + 1, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    cells = np.where(cells >= 0, number[np.maximum(cells, 0)], cells)
    return cells, np.where(gold >= 0, number[np.maximum(gold, 0)], gold), [texts[code] for code in kept]


def as_text(value: Any) -> str:
    """A cell that is a name: JSON numbers as they are written, nothing for null."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, Absent):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Options:
    """What the file says of the answers that each question allows."""

    def __init__(self, path: str, everywhere: Sequence[str]) -> None:
        self._path = path
        self._everywhere = tuple(everywhere)
        self._counts: list[int] = []
        self.allowed: list[tuple[str, ...]] | None = None

    def take(self, line: int, counts: Sequence[Any] | None, lists: Sequence[Any] | None) -> None:
        """Read a block. Raises SpecError for what is no number or list."""
        if self._everywhere:
            return
        if lists is not None:
            found = [self._list(value, line + place) for place, value in enumerate(lists)]
            self.allowed = (self.allowed or []) + found
            if counts is None:
                self._counts.extend(map(len, found))
        if counts is not None:
            self._counts.extend(self._count(value, line + place) for place, value in enumerate(counts))

    def counts(self, questions: int) -> Whole | None:
        """Shape (Q,); None if the file says nothing."""
        if self._everywhere:
            self.allowed = [self._everywhere] * questions
            return np.full(questions, len(self._everywhere), dtype=np.int64)
        return np.array(self._counts, dtype=np.int64) if self._counts else None

    def _count(self, value: Any, line: int) -> int:
        text = as_text(value)
        if not text:
            return 0
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if number != int(number) or number < 1:
            raise SpecError(
                f"{text!r} is no number of options.",
                path=self._path,
                line=line,
                next_step="Write a whole number, or nothing.",
            )
        return int(number)

    def _list(self, value: Any, line: int) -> tuple[str, ...]:
        if isinstance(value, str):
            text = value.strip()
            if text.startswith("["):
                try:
                    value = json.loads(text)
                except ValueError:
                    value = text  # no list: refused below
            else:
                value = [part.strip() for part in text.split("|")] if text else []
        if value is None or isinstance(value, Absent):
            return ()
        if not isinstance(value, list | tuple):
            raise SpecError(
                "The options are no list.", path=self._path, line=line, next_step='Write ["A", "B"] or A|B, or nothing.'
            )
        return tuple(as_text(item) for item in value)
