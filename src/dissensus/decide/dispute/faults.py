"""What is wrong inside one source, found without a model: totals that do not add up, equations that do not hold.

A fault names its lines. What cannot be read without doubt is passed over, so that silence means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dissensus.answers.rationals import plain_text
from dissensus.decide.dispute.amounts import Amount, amounts_in, doubtful, stem, words_of
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.evidence import CsvSelector, LineSelector, PageSelector, Selector
from dissensus.decide.dispute.places import Row, dialect_of, is_table, table_rows
from dissensus.decide.dispute.row_doubts import undoes
from dissensus.decide.dispute.sources import Source
from dissensus.decide.dispute.topics import families
from dissensus.decide.verifiers.arithmetic import verify_arithmetic

TOTAL_WORDS: Final = frozenset(["total", "sum", "summe", "gesamt", "totale", "altogether", "overall"])
TEXT_TOTAL, TEXT_ARITHMETIC, TABLE_TOTAL = "text-total@1", "text-arithmetic@1", "table-total@1"
_TOTAL: Final = re.compile("|".join(TOTAL_WORDS), re.IGNORECASE)
_NAMES: Final = frozenset(["order", "no", "nr", "id", "key", "ref", "booking", "ticket", "line", "pos", "entry"])
"""Words of columns that name things: nobody adds them up."""
_PARTIAL: Final = frozenset(["subtotal", "zwischensumme", "subtotale"])
"""Words of a total that a later one holds again."""
_NO_SUMS: Final = words_of(
    "price prices rate cost percent pct average avg mean median min max minimum maximum length width height depth area"
    " temperature humidity speed age page score gross net tare brutto netto preis discount year capacity limit"
)
"""Words of what nobody adds up, or not like this."""
_BESIDE: Final = words_of(
    "for of all in the this order delivery note invoice shipment number quantity qty amount count grand unit piece"
    " altogether overall line position items goods"
)
"""Words that a total may have besides those of its parts; with others it may be a total of something else."""
_MOST_SIGNS: Final = 8
"""Most parts of which each way to add them up and take them off is tried."""
_LABEL: Final = 4
"""Most words of a cell that labels a row of totals; a remark that speaks of a sum is longer."""
_NUMBERED: Final = re.compile(r"^\s*[^\W\d_]+(?: [^\W\d_]+)? #?\d{1,3}(?=\s*:)")
"""The label of a line such as ``Truck 2: 12``: its number counts nothing."""
_MOST_LINES: Final = 1000
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Cite:
    """A place in a source, and what stands there."""

    digest: str
    selector: Selector
    quote: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A source that contradicts itself.

    Args:
        digest: the source.
        checker: which checker found it, and its version.
        why: a sentence for people.
        cites: the places that contradict each other.
        unit: what they count; "" if no unit stands there.
        says: the value that does not hold, where one of the places states one.
    """

    digest: str
    checker: str
    why: str
    cites: tuple[Cite, ...]
    unit: str = ""
    says: Fraction | None = None

    def concerns(self, claim: Claim, places: frozenset[tuple[str, str]]) -> bool:
        """Whether a claim rests on what is wrong: it cites one of the lines, or counts the same thing.

        ``places`` are digest and line of what the claim cites.
        """
        if any((cite.digest, cite.quote) in places for cite in self.cites):
            return True
        number = claim.value is not None and claim.value.number is not None
        return number and bool(self.unit) and stem(claim.unit or "") == self.unit


def faults_in(source: Source) -> tuple[Fault, ...]:
    """What is wrong inside a source, in its order."""
    if source.is_json:
        return ()
    if is_table(source):
        return tuple(_table_totals(source)) if _TOTAL.search(source.text or "") else ()
    return tuple(_text_faults(source))


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    selector: Selector


def _lines(source: Source) -> list[_Line]:
    if source.paged:
        pages = enumerate(source.pages, 1)
        return [_Line(text, PageSelector(n)) for n, page in pages for text in (*page.splitlines(), "")]
    whole = source.text or ""
    return [_Line(whole[start:end], LineSelector(n, n)) for n, (start, end) in enumerate(source.lines, 1)]


def _amount(text: str) -> Amount | None:
    """The one amount that a line states beyond doubt."""
    if len(text) > _LONGEST or not any(char.isdigit() for char in text):
        return None
    read = amounts_in(_NUMBERED.sub("", text))
    alone = len(read.found) == 1 and not read.negated and not read.open and not read.found[0].others
    return read.found[0] if alone else None


def _is_total(text: str) -> bool:
    return _TOTAL.search(text) is not None and bool(words_of(text) & TOTAL_WORDS)


def _text_faults(source: Source) -> Iterator[Fault]:
    lines = _lines(source)
    for number, line in enumerate(lines):
        if _is_total(line.text):
            yield from _text_total(source, lines, number)
        if "=" in line.text and not doubtful(line.text) and (wrong := verify_arithmetic(line.text, finished=True)):
            cite = Cite(source.digest, line.selector, line.text)
            yield Fault(source.digest, TEXT_ARITHMETIC, f"{wrong.written} does not hold: {wrong.why}.", (cite,))


def _text_total(source: Source, lines: list[_Line], at: int) -> Iterator[Fault]:
    """Whether the lines just above a total add up to it; any run of them that does is enough.

    Parts with labels of one kind (``Truck a``, ``Truck b``) are added; others may also be taken off, or be parts of
    parts.
    """
    total = lines[at]
    stated = _amount(total.text)
    if stated is None or words_of(total.text) & _NO_SUMS:
        return
    above: list[tuple[_Line, Amount]] = []
    kinds = {families(words_of(total.text))}
    running, sums = Fraction(0), set()
    for line in reversed(lines[max(at - _MOST_LINES, 0) : at]):
        amount = _amount(line.text)
        if amount is None or _is_total(line.text) or amount.unit != stated.unit:
            break
        above.append((line, amount))
        kinds.add(families(words_of(line.text)))
        running += amount.value
        sums.add(running)
    if len(above) < 2 or stated.value in sums or len(kinds - {frozenset()}) > 1:
        return
    labels = [words_of(line.text) for line, _ in above]
    own = words_of(total.text) - TOTAL_WORDS - _PARTIAL - _BESIDE - {stated.unit}
    own -= frozenset(word for word in own if families(frozenset([word])))
    if own - frozenset().union(*labels) or any(label & _NO_SUMS for label in labels):
        return
    if not _of_one_kind(labels) and stated.value in _signed([amount.value for _, amount in above]):
        return
    above.reverse()
    said = " + ".join(plain_text(amount.value) for _, amount in above)
    cites = tuple(Cite(source.digest, line.selector, line.text) for line in (*(line for line, _ in above), total))
    why = f"Its lines add up to {plain_text(running)} ({said}), and it states {plain_text(stated.value)}."
    yield Fault(source.digest, TEXT_TOTAL, why, cites, stated.unit, stated.value)


def _of_one_kind(labels: list[frozenset[str]]) -> bool:
    """Whether labels differ by a letter at most."""
    return len({frozenset(word for word in label if len(word) > 1) for label in labels}) == 1


def _signed(parts: list[Fraction]) -> set[Fraction]:
    """What parts come to if each is added, taken off or left out; of many parts, all but one are added."""
    if len(parts) > _MOST_SIGNS:
        added = sum(parts, Fraction(0))
        return {added - times * part for part in parts for times in (1, 2)}
    found = {Fraction(0)}
    for part in parts:
        found = {value for one in found for value in (one, one + part, one - part)}
    return found


def _table_totals(source: Source) -> Iterator[Fault]:
    above: list[Row] = []
    partial: list[Row] = []
    for row in table_rows(source):
        words = [words_of(text) for text in row.fields.values() if len(words_of(text)) <= _LABEL]
        if any(one & _PARTIAL for one in words):
            yield from _table_total(source, above[len(partial) :], row)
            partial = list(above)
            continue
        label = next((one for one in words if one & TOTAL_WORDS), None)
        if label is None:
            above.append(row)
            continue
        if not label - TOTAL_WORDS - _BESIDE:
            yield from _table_total(source, above, row)
        above, partial = [], []


def _table_total(source: Source, above: list[Row], row: Row) -> Iterator[Fault]:
    """The columns of a row of totals that the rows above do not add up to."""
    undone = any(undoes(words_of(name), text) for each in above for name, text in each.fields.items())
    for name, text in row.fields.items():
        if undone or words_of(name) & (_NAMES | _NO_SUMS):
            continue
        stated = number_in(text)
        numbers = [number_in(each.fields.get(name, "")) for each in above] if stated is not None else []
        if stated is None or len(numbers) < 2 or any(number is None for number in numbers):
            continue
        added = sum((number for number in numbers if number is not None), Fraction(0))
        if added != stated:
            why = f"The column {name!r} adds up to {plain_text(added)}, and its total is {plain_text(stated)}."
            cites = tuple(row_cite(source, each) for each in (*above, row))
            unit = next(iter(sorted(words_of(name))), "")
            yield Fault(source.digest, TABLE_TOTAL, why, cites, unit, stated)


def row_cite(source: Source, row: Row) -> Cite:
    """A whole row of a table."""
    dialect = dialect_of(source)
    cells = source.cells(dialect)[row.number - 1]
    text = (source.text or "")[cells[0].start : cells[-1].end]
    return Cite(source.digest, CsvSelector(row.number, None, dialect), text)


def number_in(text: str) -> Fraction | None:
    """The one number that a field holds, if it can be read without doubt."""
    read = amounts_in(text)
    if len(read.found) != 1 or read.negated or read.open or read.found[0].others:
        return None
    return read.found[0].value
