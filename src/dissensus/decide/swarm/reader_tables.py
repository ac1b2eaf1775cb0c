"""The built-in reader of tables: the rows of an item, and the column that holds what is wanted, added up.

A table that the user declares is read as it is declared. Of another one, the column in which the item stands, alone in
its cell, is the subject, and the column whose name fits is the value. Two columns that both may be it are a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from dissensus.decide.dispute.amounts import words_of
from dissensus.decide.dispute.bearing import unit_of
from dissensus.decide.dispute.checkers import Table
from dissensus.decide.dispute.evidence import CsvSelector, Evidence
from dissensus.decide.dispute.faults import TOTAL_WORDS
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row, dialect_of, table_rows
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.topics import in_period, same_property
from dissensus.decide.swarm.citing import MOST_EVIDENCE
from dissensus.decide.swarm.reader_names import MEASURES, NAME, NONE, Asked, by_noun, fit, may_name, set_of
from dissensus.decide.swarm.reader_said import Said, Unread, amount_of, cite, days_of, unit_as_wanted

_UNDONE: Final = set_of(
    "cancelled canceled void voided reversed reversal storno storniert annulled deleted rejected refused returned"
    " correction corrected"
)
"""Words in a row by which it need not count."""
_LONGEST_REMARK: Final = 80


class Sheet:
    """A table that is read many times: its rows, and which of them hold a text in which column.

    Args:
        source: the table.
        declared: how it is to be read, if the user says so.
    """

    def __init__(self, source: Source, declared: Table | None = None) -> None:
        self.source = source
        self.declared = declared
        self.dialect = dialect_of(source)
        self.rows = list(table_rows(source))
        header = source.cells(self.dialect)[:1]
        self.header = [cell.text.strip() for cell in header[0]] if header else []
        self.columns = list(dict.fromkeys(name for row in self.rows for name in row.fields))
        widest = max((row.fields for row in self.rows), key=len, default={})
        self._called = {name: text for name, text in zip(widest, self.header, strict=False) if text}
        self._places: dict[str, dict[str, list[Row]]] = {}
        for row in self.rows:
            for name, text in row.fields.items():
                plain = normal(text).strip().lstrip("#").strip()
                self._places.setdefault(plain, {}).setdefault(name, []).append(row)

    def called(self, column: str) -> str:
        """What stands at the head of a column: of two that are called the same, the same."""
        return self._called.get(column, column)

    def several(self, name: str) -> Unread | None:
        """A doubt, if more than one column is called so."""
        return Unread(f"has several columns called {name!r}", NAME) if self.header.count(name) > 1 else None

    def holding(self, asked: Asked) -> dict[str, list[Row]]:
        """The columns in which the item stands alone in a cell, with those rows in their order."""
        found: dict[str, list[Row]] = {}
        for name in asked.ids:
            for column, rows in self._places.get(name, {}).items():
                found.setdefault(column, []).extend(rows)
        return {column: sorted(rows, key=lambda row: row.number) for column, rows in found.items()}

    def cell(self, row: Row, column: str) -> Evidence:
        """The cell of a row, as evidence."""
        number = list(row.fields).index(column) + 1
        named = self.header.count(column) == 1
        text = self.source.cells(self.dialect)[row.number - 1][number - 1].text
        return cite(self.source, CsvSelector(row.number, column if named else number, self.dialect), text)


def read_table(asked: Asked, sheet: Sheet) -> Said | Unread | None:
    """What a table says; None if it does not name the item."""
    holding = sheet.holding(asked)
    subject = _subject(asked, sheet, holding)
    if subject is None or isinstance(subject, Unread):
        return subject
    chosen = _value(asked, sheet, subject)
    if isinstance(chosen, Unread):
        return chosen
    value, how = chosen
    declared = _declares(asked, sheet)
    rows = _counted(asked, sheet, holding[subject], declared)
    if isinstance(rows, str):
        return Unread(rows, how)
    if len(rows) > MOST_EVIDENCE:
        return Unread(f"has {len(rows)} rows of it, and at most {MOST_EVIDENCE} can be cited", how)
    return _sum(asked, sheet, value, rows, how)


def _subject(asked: Asked, sheet: Sheet, holding: dict[str, list[Row]]) -> str | Unread | None:
    """The column of the item; None if the item is not in it."""
    declared = sheet.declared
    if declared is not None and declared.subject:
        return (sheet.several(declared.subject) or declared.subject) if declared.subject in holding else None
    called = [name for name in sheet.columns if by_noun(sheet.called(name), asked)]
    if called:
        found = [name for name in called if name in holding]
        if found and (doubt := sheet.several(sheet.called(found[0]))):
            return doubt
    else:
        may = {name: may_name(name, asked) for name in holding}
        found = [name for name, tells in may.items() if tells] or [n for n, tells in may.items() if tells is None]
    if len(found) > 1:
        return Unread(f"names it in several columns: {', '.join(map(repr, sorted(found)))}", NAME)
    return found[0] if found else None


def _declares(asked: Asked, sheet: Sheet) -> Table | None:
    """The declaration, if it is about what is wanted."""
    table = sheet.declared
    if table is None:
        return None
    words = words_of(asked.claim.attribute or "")
    if table.attribute:
        same = words_of(table.attribute) == words or fit(table.attribute, asked) == NAME
        return table if same else None
    return table if same_property(asked.claim, words_of(table.value)) != "no" else None


def _value(asked: Asked, sheet: Sheet, subject: str) -> tuple[str, int] | Unread:
    """The column of the value, and how well its name fits."""
    if (table := _declares(asked, sheet)) is not None:
        if table.value not in sheet.columns:
            return Unread(f"has no column {table.value!r}", NAME)
        return sheet.several(table.value) or (table.value, NAME)
    taken = {subject, *((sheet.declared.value,) if sheet.declared is not None else ())}
    fits = {name: fit(sheet.called(name), asked) for name in sheet.columns if name not in taken}
    best = min(fits.values(), default=NONE)
    found = [name for name, how in fits.items() if how == best]
    if best == NONE:
        return Unread(f"names it, and no column of it is called like {asked.claim.attribute!r}")
    if len(found) > 1:
        return Unread(f"has several columns that may be it: {', '.join(map(repr, found))}", best)
    return found[0], best


def _counted(asked: Asked, sheet: Sheet, rows: Sequence[Row], declared: Table | None) -> list[Row] | str:
    """The rows of the item that count, or why that cannot be told."""
    kept = list(rows)
    if declared is None:
        told = _of_property(asked, sheet, rows)
        if isinstance(told, str):
            return told
        kept = told
        for row in kept:
            if (word := undone(row)) is not None:
                return f"has a row of it, number {row.number}, that need not count: {word!r}"
    if asked.claim.as_of is not None:
        kept = [row for row in kept if in_period(asked.claim, _timed(row, declared)) != "no"]
        if not kept:
            return "has rows of it, and all of them are of another time"
    return kept


def _timed(row: Row, declared: Table | None) -> Row:
    """The row with no other time than that of the declared column, if one is declared."""
    if declared is None or not declared.time:
        return row
    return replace(row, fields={declared.time: row.fields.get(declared.time, "")})


def _of_property(asked: Asked, sheet: Sheet, rows: Sequence[Row]) -> list[Row] | str:
    """The rows that tell of what is wanted, where a column says of each what it tells of: ``ordered``, ``received``."""
    kept = list(rows)
    for column in sheet.columns:
        texts = [row.fields.get(column, "") for row in rows]
        told = [same_property(asked.claim, words_of(text)) if is_remark(text) else "silent" for text in texts]
        if "no" not in told:
            continue
        if "silent" in told:
            row = rows[told.index("no")]
            return f"has a row of it, number {row.number}, that may tell of something else: {texts[told.index('no')]!r}"
        kept = [row for row, tells in zip(rows, told, strict=True) if tells == "yes" and row in kept]
    return kept or "has rows of it, and all of them tell of something else"


def undone(row: Row) -> str | None:
    """A word in a row by which it need not count: ``cancelled``, ``total``."""
    for text in row.fields.values():
        if is_remark(text) and (found := words_of(text) & (_UNDONE | TOTAL_WORDS)):
            return min(found)
    return None


def is_remark(text: str) -> bool:
    """Whether a field holds a few words."""
    return len(text) <= _LONGEST_REMARK and any(char.isalpha() for char in text)


def _sum(asked: Asked, sheet: Sheet, value: str, rows: Sequence[Row], how: int) -> Said | Unread:
    declared = _declares(asked, sheet)
    declared_unit = declared.unit if declared is not None else ""
    parts: list[Fraction] = []
    units: set[str] = set()
    for row in rows:
        text = row.fields.get(value, "")
        amount = amount_of(text, asked)
        if isinstance(amount, str):
            return Unread(f"has a row of it, number {row.number}, whose {value!r} {amount}", how)
        parts.append(amount.value)
        units.add(unit_as_wanted(amount.unit or unit_of(row, value, MEASURES) or declared_unit, asked))
    if len(units) > 1:
        return Unread(f"counts it in several units: {', '.join(sorted(units))}", how)
    return Said(
        fit=how,
        value=sum(parts, Fraction(0)),
        unit=units.pop(),
        evidence=tuple(sheet.cell(row, value) for row in rows),
        name=value,
        days=days_of(rows, declared.time if declared is not None else ""),
        parts=tuple(parts),
        rows=tuple(rows),
        columns=tuple(sheet.columns),
    )
