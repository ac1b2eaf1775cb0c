"""What a reader of a file hands on: cells as they were written, numbered, and what happened on the way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dissensus.errors import SpecError
from dissensus.interop.rows import Absent
from dissensus.measure.table import Codes, Whole

NAN = frozenset({"NaN", "nan"})
EMPTY, ABSENT = "empty", "absent"
INVALID = "outside the options"
CONFLICT = "voted twice, differently"


class Coder(dict[Any, int]):
    """Text of a cell to its number. Texts are trimmed; a blank has a number below 0, by its reason.

    Empty cells and NaN are blank. The texts NA, None and null are answers like any other, unless declared blank.
    """

    def __init__(self, declared: Iterable[str] = ()) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.reasons: list[str] = []
        self._by_reason: dict[str, int] = {}
        self._declared = frozenset(declared)

    def __missing__(self, raw: Any) -> int:
        if not isinstance(raw, str):
            return self.value(raw)
        text = raw.strip()
        if not text:
            code = self.blank(EMPTY)
        elif text in NAN:
            code = self.blank("NaN")
        elif text in self._declared:
            code = self.blank(f"declared blank: {text}")
        elif text != raw:
            code = self[text]
        else:
            code = len(self.texts)
            self.texts.append(text)
        self[raw] = code
        return code

    def blank(self, reason: str) -> int:
        """The number of a blank for ``reason``."""
        code = self._by_reason.get(reason)
        if code is None:
            self.reasons.append(reason)
            code = self._by_reason[reason] = -len(self.reasons)
        return code

    def column(self, values: Sequence[Any]) -> list[int]:
        """The numbers of the cells of a column."""
        try:
            return list(map(self.__getitem__, values))
        except TypeError:  # a list or an object has no hash
            return [self[value] if isinstance(value, str) else self.value(value) for value in values]

    def value(self, value: Any) -> int:
        """The number of a JSON value. A list is a ballot, best first; an object holds an answer or why it does not."""
        if isinstance(value, str):
            return self[value]
        if value is None:
            return self.blank("null")
        if isinstance(value, Absent):
            return self.blank(ABSENT)
        if isinstance(value, bool):
            return self["true" if value else "false"]
        if isinstance(value, float):
            if math.isnan(value):
                return self.blank("NaN")
            return self[str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)]
        if isinstance(value, list | tuple):
            return self._ballot(value)
        if isinstance(value, Mapping):
            return self._object(value)
        return self[str(value)]

    def _ballot(self, ranked: list[Any] | tuple[Any, ...]) -> int:
        if not ranked:
            return self.blank("invalid ballot")
        if isinstance(ranked[0], list | tuple | Mapping):
            raise SpecError(
                f"A cell holds a list of lists or objects, which is neither answer nor ballot: {str(ranked)[:60]}…",
                next_step="Put one answer into each cell, or name the columns of the voters with --voters.",
            )
        return self.blank("invalid ballot") if ranked[0] in {"invalid", "[invalid]"} else self.value(ranked[0])

    def _object(self, value: Mapping[str, Any]) -> int:
        for name in ("answer", "value", "text", "raw"):
            if value.get(name) is not None:
                return self.value(value[name])
        status = value.get("status") or value.get("error") or "no answer"
        return self.blank(str(status))


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table as it was read.

    Args:
        cells: shape (Q, n): place in ``texts``, or a blank below 0.
        gold: shape (Q,): place in ``texts``; -1 where there is none.
        texts: what was written, trimmed.
        reasons: why cells are blank.
        voters, questions: names.
        options: shape (Q,): how many answers a question allows, 0 where not known; None: nowhere known.
        allowed: for each question the answers it allows, where they were listed.
        groups, strata, stratum_names, costs, factors: see :class:`~dissensus.measure.table.VoteTable`.
        format: what the file was read as.
        rows_read, dropped, duplicates, unmatched: rows of the file; those that held nothing; votes that stood in it
            twice; rows of a table of right answers, or questions, that found no partner.
        notes: sentences for the reader of the result.
        kind: what the answers are known to be; "" if nothing is known.
        question_column: name of the column that names the questions.
    """

    cells: Codes
    gold: Codes
    texts: list[str]
    reasons: list[str]
    voters: list[str]
    questions: list[str]
    options: Whole | None = None
    allowed: list[tuple[str, ...]] | None = None
    groups: Whole | None = None
    strata: Whole | None = None
    stratum_names: list[str] = field(default_factory=list)
    costs: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    format: str = ""
    rows_read: int = 0
    dropped: int = 0
    duplicates: int = 0
    unmatched: int = 0
    notes: tuple[str, ...] = ()
    kind: str = ""
    question_column: str = ""


class Numbered(dict[Any, int]):
    """Anything to its number, in order of first appearance."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


def numbered(values: Iterable[Any]) -> tuple[Whole, list[Any]]:
    """Numbers for ``values``, and the different values."""
    numbers = Numbered()
    found = np.fromiter(map(numbers.__getitem__, values), dtype=np.int64)
    return found, list(numbers)


def repeated(keys: Iterable[str]) -> Whole | None:
    """Group numbers of questions by ``keys``; None if none occurs twice."""
    groups, different = numbered(keys)
    return None if len(different) == len(groups) else groups


def some(names: Iterable[str], most: int = 5) -> str:
    """The first few of ``names`` for a sentence, shortened."""
    chosen: list[str] = []
    more = 0
    for name in names:
        if len(chosen) < most:
            chosen.append(name if len(name) <= 60 else f"{name[:57]}…")
        else:
            more += 1
    return ", ".join(chosen) + (f" and {more:,} more" if more else "")
