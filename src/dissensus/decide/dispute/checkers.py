"""Deterministic checkers of rule R3: each works out what a claim says from what it cites. Each has an id and a version.

A checker refutes, confirms, or says nothing. It refutes only what it can work out wholly; what it cannot read it
leaves to the rules that come after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import stem, words_of
from dissensus.decide.dispute.bearing import Measures, Reading, is_value, row_value, unit_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.faults import Cite, number_in, row_cite
from dissensus.decide.dispute.invoices import wrong_total
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.places import Row, is_table, table_rows
from dissensus.decide.dispute.row_doubts import plain_number, undone
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.subjects import in_row, subject_of
from dissensus.decide.dispute.topics import belongs, moment_in

Verdict = Literal["refuted", "holds"]

UNIT, SUM, TABLE, DUPLICATE, SCHEMA, TIME, TOTAL, RERUN = (
    "unit@1", "sum@1", "table@1", "duplicate-id@1", "schema@1", "timestamp@1", "total@1", "re-run@1",
)  # fmt: skip
CHECKERS: Final[Mapping[str, str]] = {
    UNIT: "the unit of what is cited is the claimed one, or convertible by a declared table",
    SUM: "a computed claim is what its parts add up to",
    TABLE: "a claim about a declared table is what its rows add up to, each key once",
    DUPLICATE: "no row of a table is counted twice under one id",
    SCHEMA: "a declared table has the columns and numbers that are declared",
    TIME: "nothing is counted that came after the claimed time",
    TOTAL: "a stated total is what its lines add up to",
    RERUN: "a tool that repeats itself gives the same output again",
}
"""Every checker, and what it holds a claim to."""
_KEYS: Final = frozenset(
    ["id", "booking", "ticket", "key", "ref", "entry", "record", "transaction", "receipt", "buchung"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """How a table is to be read, as the user declares it. Names are those of its columns.

    Args:
        value: what is added up.
        subject: what each row is about.
        key: what tells rows apart: a key that stands twice is one booking.
        time: when it happened.
        unit: what ``value`` counts; a unit, not a column.
        attribute: the property that the table tells of; "" is any.
    """

    value: str
    subject: str = ""
    key: str = ""
    time: str = ""
    unit: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """An item of evidence that was found, and what it says about its claim."""

    evidence: Evidence
    source: Source
    reading: Reading


@dataclass(frozen=True, slots=True)
class Checked:
    """What a checker found out about a claim.

    Args:
        checker: its id and version.
        verdict: what it says of the claim.
        why: a sentence for people.
        cites: the lines that it goes by.
        total: what a declared table adds up to, in the claim's unit; None where nothing was worked out.
    """

    checker: str
    verdict: Verdict
    why: str
    cites: tuple[Cite, ...] = field(default=())
    total: Fraction | None = None


def check_claim(
    claim: Claim, items: Sequence[Read], tables: Mapping[str, Table], measures: Measures
) -> tuple[Checked, ...]:
    """What the checkers find out about one claim from the items that it rests on; of copies, the first is cited."""
    found = [*_units(items), *_declared(claim, items, tables, measures)]
    found += _duplicates(claim, items, tables, measures)
    found += _totals(items)
    return tuple(found)


def check_parts(claim: Claim, parts: Sequence[Claim], measures: Measures) -> Checked | None:
    """Whether a claim of the kind CALC is the sum of its parts; None if that cannot be worked out."""
    if claim.kind != "CALC" or not parts or claim.value is None or claim.value.number is None:
        return None
    total = Fraction(0)
    for part in parts:
        number = part.value.number if part.value is not None else None
        converted = None if number is None else measures.into(Fraction(number), part.unit or "", claim)
        if converted is None:
            return None
        total += converted
    said = " + ".join(part.value.written for part in parts if part.value is not None)
    if is_value(claim, total):
        return Checked(SUM, "holds", f"Its parts add up to it: {said}.")
    return Checked(SUM, "refuted", f"Its parts add up to {plain_text(total)}, not {claim.value.written}: {said}.")


def _units(items: Sequence[Read]) -> Iterator[Checked]:
    wrong = [item for item in items if item.reading.fault == "unit"]
    if wrong and not any(item.reading.bears != "no" for item in items):
        cites = tuple(_cite(item) for item in wrong)
        yield Checked(UNIT, "refuted", wrong[0].reading.why, cites)


def _declared(
    claim: Claim, items: Sequence[Read], tables: Mapping[str, Table], measures: Measures
) -> Iterator[Checked]:
    """Work the claim out from every declared table that it cites."""
    for digest in dict.fromkeys(item.source.digest for item in items):
        table = tables.get(digest)
        source = next(item.source for item in items if item.source.digest == digest)
        if table is None or not is_table(source):
            continue
        if table.attribute and words_of(table.attribute) != words_of(claim.attribute or ""):
            continue
        yield from _by_table(claim, source, table, measures)


def _by_table(claim: Claim, source: Source, table: Table, measures: Measures) -> Iterator[Checked]:
    rows = list(table_rows(source))
    header = next(iter(rows), Row({})).fields
    lacking = [name for name in (table.value, table.subject, table.key, table.time) if name and name not in header]
    if rows and lacking:
        yield Checked(SCHEMA, "refuted", f"The table has no column {lacking[0]!r}.", (row_cite(source, rows[0]),))
        return
    if claim.value is None or claim.value.number is None:
        return
    mine = [row for row in rows if not table.subject or _is_subject(claim, row.fields[table.subject])]
    if table.subject:
        about = [in_row(claim, row, source, table.subject) for row in mine]
        if "silent" in about:
            return  # the claim is about less than the declared column tells
        mine = [row for row, told in zip(mine, about, strict=True) if told == "yes"]
    if any(undone(claim, row, table.value) for row in mine):
        return  # a row that was cancelled, say: whether it counts is not for a program to tell
    later = [row for row in mine if not _counts(claim, table, row)]
    after = {row.number for row in later}
    kept, twice = _once([row for row in mine if row.number not in after], table)
    values = [number_in(plain_number(row.fields[table.value])) for row in kept]
    if not kept:
        return
    units = {unit_of(row, table.value, measures) or table.unit for row in kept}
    unread = [row for row, value in zip(kept, values, strict=True) if value is None]
    if len(units) > 1 or any(any(map(str.isdecimal, row.fields[table.value])) for row in unread):
        return  # rows of several units; "1,200", which is read as one number or as another
    unit = units.pop()
    if bad := next(iter(unread), None):
        why = f"Row {bad.number} holds no number under {table.value!r}."
        yield Checked(SCHEMA, "refuted", why, (row_cite(source, bad),))
        return
    total = sum((value for value in values if value is not None), Fraction(0))
    converted = measures.into(total, unit, claim)
    if converted is None:
        return
    cites = tuple(row_cite(source, row) for row in kept)
    if is_value(claim, converted):
        yield Checked(TABLE, "holds", f"The rows add up to it: {plain_text(total)}.", cites)
        return
    many = "row says" if len(kept) == 1 else f"{len(kept)} rows add up to"
    counted = f" {unit}" if converted != total or stem(unit) != stem(claim.unit or unit) else ""
    said = f"The {many} {plain_text(total)}{counted}, not {claim.value.written}{f' {claim.unit}' if counted else ''}"
    extra = sum((number_in(plain_number(row.fields[table.value])) or Fraction(0) for row in twice), Fraction(0))
    if twice and is_value(claim, measures.into(total + extra, unit, claim) or Fraction(-1)):
        again = tuple(row_cite(source, row) for row in twice)
        why = f"{said}: {table.key} {twice[0].fields[table.key]} was counted twice."
        yield Checked(DUPLICATE, "refuted", why, (*cites, *again), converted)
        return
    extra = sum((number_in(plain_number(row.fields[table.value])) or Fraction(0) for row in later), Fraction(0))
    if later and is_value(claim, measures.into(total + extra, unit, claim) or Fraction(-1)):
        again = tuple(row_cite(source, row) for row in later)
        yield Checked(TIME, "refuted", f"{said}: what came later was counted.", (*cites, *again), converted)
        return
    yield Checked(TABLE, "refuted", f"{said}.", cites, converted)


def _is_subject(claim: Claim, text: str) -> bool:
    subject, written = subject_of(claim), normal(text).strip()
    return written in subject.ids or written == normal(claim.subject or "").strip()


def _counts(claim: Claim, table: Table, row: Row) -> bool:
    if not table.time or claim.as_of is None:
        return True
    moment = moment_in(row.fields[table.time])
    return moment is None or belongs(claim.as_of, moment)


def _once(rows: Sequence[Row], table: Table) -> tuple[list[Row], list[Row]]:
    """Each key once: the rows that count, and those that repeat one of them word for word, a declared time left out."""

    def said(row: Row) -> dict[str, str]:
        return {name: text for name, text in row.fields.items() if name != table.time}

    kept: list[Row] = []
    twice: list[Row] = []
    seen: dict[str, Row] = {}
    for row in rows:
        key = row.fields[table.key] if table.key else ""
        if key and key in seen and said(seen[key]) == said(row):
            twice.append(row)
            continue
        seen[key] = row
        kept.append(row)
    return kept, twice


def _duplicates(
    claim: Claim, items: Sequence[Read], tables: Mapping[str, Table], measures: Measures
) -> Iterator[Checked]:
    """Rows that a claim cites and adds up, among them one twice under the same id."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    sources: dict[str, Source] = {}
    for item in items:
        rows = [row for row in item.reading.rows if row.number]
        if rows and item.source.digest not in tables:
            sources[item.source.digest] = item.source
            by_source[item.source.digest] += [row for row in rows if row not in by_source[item.source.digest]]
    for digest, rows in by_source.items():
        key = key_column(claim, rows[0])
        if key is None or len(rows) < 2:
            continue
        kept, twice = _once(rows, Table(value="", key=key))
        if not twice:
            continue
        values = [row_value(claim, row, measures).value for row in kept]
        extra = [row_value(claim, row, measures).value for row in twice]
        if any(value is None for value in (*values, *extra)):
            continue
        total = sum((value for value in values if value is not None), Fraction(0))
        counted = total + sum((value for value in extra if value is not None), Fraction(0))
        if is_value(claim, counted) and not is_value(claim, total):
            why = f"{key} {twice[0].fields[key]} was counted twice; without that it is {plain_text(total)}."
            cites = tuple(row_cite(sources[digest], row) for row in (*kept, *twice))
            yield Checked(DUPLICATE, "refuted", why, cites)


def has_twice(claim: Claim, rows: Sequence[Row]) -> bool:
    """Whether a row stands among ``rows`` twice under one id."""
    key = key_column(claim, rows[0]) if rows else None
    return key is not None and bool(_once(rows, Table(value="", key=key))[1])


def key_column(claim: Claim, row: Row) -> str | None:
    """The column whose name says that it tells rows apart: ``booking``, ``ticket``."""
    subject = subject_of(claim).words
    return next((name for name in row.fields if words_of(name) & _KEYS and not words_of(name) & subject), None)


def _totals(items: Sequence[Read]) -> Iterator[Checked]:
    """A total in a JSON document that its own lines do not add up to."""
    for item in items:
        row = next((row for row in item.reading.rows if not row.number), None)
        if row is None or row.chosen is None or item.reading.bears != "yes":
            continue
        if (found := wrong_total(item.source, row)) is not None:
            why, cites = found
            yield Checked(TOTAL, "refuted", why, cites)


def _cite(item: Read) -> Cite:
    selector = item.evidence.selectors[0]
    return Cite(item.source.digest, selector, item.evidence.quote)
