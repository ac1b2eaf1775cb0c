"""Numbers within a question: units that some leave out, and how far equal ones may differ.

What is the same is decided by :mod:`dissensus.answers` from all that was written for one question. That takes a
millisecond, so the rows in which it can only come out in one way are settled together: one unit and bare numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dissensus.answers import EXACT, Read, Tolerance, group, matches_gold, partition, read_answer
from dissensus.answers.quantity import Quantity, number_text
from dissensus.errors import UsageError
from dissensus.interop.sheet import Numbered, Sheet
from dissensus.interop.sniffing import PLAIN_NUMBER
from dissensus.measure.table import Codes, Flags

_CURRENCY = {"$": "USD", "€": "EUR", "£": "GBP"}
_AMOUNT = re.compile(r"([$€£]?)((?:0|[1-9][0-9]{0,14}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4})(?:\.[0-9]{1,14})?)")
_NO_NUMBER = -1
_BARE = 0


class Numbers:
    """The numbers of one table.

    Args:
        sheet: what was written.
        kind: ``number`` or ``auto``.
        unit: declared; bare numbers take it.
        tolerance: how far equal numbers may differ.
        forms: canonical form to its code; new ones are added.
        blank: from a reason to the code of such a blank.
    """

    def __init__(
        self, sheet: Sheet, *, kind: str, unit: str, tolerance: Tolerance, forms: Numbered, blank: Callable[[str], int]
    ) -> None:
        self._sheet, self._kind, self._unit, self._tolerance = sheet, kind, unit, tolerance
        self._forms, self._blank = forms, blank
        self._units = Numbered({"": _BARE})
        self._unit_of: list[int] = []  # by code of the form
        self._as_stated: list[bool] = []
        self._read = lru_cache(maxsize=20_000)(lambda text: read_answer(kind, text, unit=unit))
        self.joined = 0
        self.unitless = 0

    def code(self, text: str) -> int:
        """Code of the canonical form of ``text``, or of the blank that it is."""
        if self._kind == "number" and not self._unit:
            if plain := PLAIN_NUMBER.fullmatch(text):
                return self._known(plain_number(plain), _BARE, as_stated=True)
            if (amount := _AMOUNT.fullmatch(text)) and (plain := PLAIN_NUMBER.fullmatch(amount[2].replace(",", ""))):
                name = _CURRENCY.get(amount[1], "")
                form = plain_number(plain)
                return self._known(f"{form} {name}" if name else form, self._units[name], as_stated=True)
        read = self._read(text)
        if read.canonical is None:
            return self._blank(unread(read))
        value = read.value
        if not isinstance(value, Quantity):
            return self._known(read.canonical, _NO_NUMBER, as_stated=False)
        number = read.canonical.partition(" ")[0]
        same = not value.noun and number == number_text(value.number)
        return self._known(read.canonical, self._units[value.unit.name if value.unit else ""], as_stated=same)

    def _known(self, form: str, unit: int, *, as_stated: bool) -> int:
        code = self._forms[form]
        if code == len(self._unit_of):
            self._unit_of.append(unit)
            self._as_stated.append(as_stated)
        elif not as_stated or self._unit_of[code] != unit:
            self._as_stated[code] = False  # written in two ways, whichever came first
        return code

    def settle(self, cells: Codes, gold: Codes) -> tuple[Codes, Codes]:
        """Make codes equal within each question where the numbers are the same there."""
        rows = np.column_stack([cells, gold])
        if not self._unit_of:
            return cells, gold
        stated = np.array(self._as_stated)
        mixed, one_unit = self._mixed(rows, np.array(self._unit_of))
        quick = mixed & one_unit & (stated[np.maximum(rows, 0)] | (rows < 0)).all(axis=1)
        careful = mixed & ~quick
        if self._tolerance != EXACT:
            careful, quick = several(rows), np.zeros(len(rows), dtype=bool)
        self._without_units(rows, quick)
        for q in map(int, np.flatnonzero(careful)):
            self._question(rows, q)
        return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy()

    @staticmethod
    def _mixed(rows: Codes, unit_of: Codes) -> tuple[Flags, Flags]:
        """Rows with a unit that not all numbers have, and rows with only one unit."""
        units = np.where(rows >= 0, unit_of[np.maximum(rows, 0)], _NO_NUMBER)
        highest = units.max(axis=1)
        lowest = np.where(units > _BARE, units, np.iinfo(np.int64).max).min(axis=1)
        one: Flags = lowest == highest
        mixed: Flags = (highest > _BARE) & ((units == _BARE).any(axis=1) | ~one)
        return mixed, one

    def _without_units(self, rows: Codes, quick: Flags) -> None:
        """One unit and bare numbers: the number alone decides, because bare numbers take the unit."""
        if not quick.any():
            return
        texts = list(self._forms)
        change = np.arange(len(texts), dtype=np.int32)
        for code in np.unique(rows[quick]):
            if code >= 0 and self._unit_of[code] > _BARE:
                change[code] = self._forms[texts[code].partition(" ")[0]]
                self.joined += 1
        rows[quick] = np.where(rows[quick] >= 0, change[np.maximum(rows[quick], 0)], rows[quick])

    def _question(self, rows: Codes, q: int) -> None:
        """Settle one question from all that was written for it.

        With a right answer, answers that differ from it only in a unit that one of the two leaves out join its class.
        """
        sheet, kind, unit = self._sheet, self._kind, self._unit
        raws = [int(raw) if code >= 0 else -1 for raw, code in zip(sheet.cells[q], rows[q, :-1], strict=True)]
        raws.append(int(sheet.gold[q]) if rows[q, -1] >= 0 else -1)
        key = sheet.texts[raws[-1]] if raws[-1] >= 0 else None
        texts = sorted({sheet.texts[raw] for raw in raws if raw >= 0})
        reads = [self._read(text) for text in texts]
        named = [
            answer or str(read.canonical) for answer, read in zip(group(kind, reads, unit).answers, reads, strict=True)
        ]
        try:
            found = partition(kind, named, unit=unit, tolerance=self._tolerance)
        except UsageError as problem:
            raise UsageError(f"Question {sheet.questions[q]}: {problem.message}", next_step=problem.next_step) from None
        settled: dict[str, str] = {}
        for places in found.classes:
            stands = min(named[place] for place in places)
            if key is not None and any(matches_gold(kind, texts[place], key, unit=unit) for place in places):
                stands = named[texts.index(key)]
                self.unitless += len({named[place] for place in places} - {stands})
            settled |= {texts[place]: stands for place in places}
        self.joined += sum(settled[text] != read.canonical for text, read in zip(texts, reads, strict=True))
        rows[q] = [
            self._forms[settled[sheet.texts[raw]]] if raw >= 0 else code
            for raw, code in zip(raws, rows[q].tolist(), strict=True)
        ]


def unread(read: Read) -> str:
    """Why a text is a blank."""
    return "abstained" if read.status == "abstained" else f"unreadable: {read.problem.partition(':')[0]}"


def plain_number(match: re.Match[str]) -> str:
    """The canonical form of a plain decimal: the form of :func:`dissensus.answers.read_answer`, faster."""
    sign, whole, places = match[1], match[2], (match[3] or "").rstrip("0")
    text = f"{whole}.{places}" if places else whole
    return f"{sign}{text}" if text != "0" else "0"


def several(rows: Codes) -> Flags:
    """Rows in which answers differ."""
    highest = rows.max(axis=1)
    found: Flags = ((rows >= 0) & (rows != highest[:, None])).any(axis=1)
    return found
