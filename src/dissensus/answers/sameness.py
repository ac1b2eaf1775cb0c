"""Which answers count as the same one.

The relation is an equivalence: reflexive, symmetric, closed, and independent of the order of ballots. Two answers are
the same if their canonical forms are equal. A tolerance between numbers is closed by joining neighbours, so it can
chain; a class that grows too wide is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dissensus.answers import units
from dissensus.answers.quantity import Quantity
from dissensus.answers.reading import Read, read_answer
from dissensus.answers.units import Unit
from dissensus.errors import UsageError


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far apart two numbers may be that count as the same.

    They are neighbours if they differ by at most ``absolute`` (in the declared unit, or for numbers without one) or by
    ``relative`` times the larger of the two. ``widest`` is the largest difference allowed in one class, in multiples
    of what neighbours may differ by.
    """

    relative: Fraction = Fraction(0)
    absolute: Fraction = Fraction(0)
    widest: Fraction = Fraction(2)

    def __post_init__(self) -> None:
        if not 0 <= self.relative < 1 or self.absolute < 0 or self.widest < 1:
            raise UsageError(
                "A tolerance is relative (0 up to, not including, 1) or absolute (0 or more), and its width 1 or more.",
                next_step="Give it as a share, such as 0.01 for one percent.",
            )


EXACT = Tolerance()
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Partition:
    """Answers in classes.

    Args:
        classes: places of the answers of each class, ascending; classes by their first place.
        diameters: for each class the largest difference in it, in multiples of what neighbours may differ by; 0
            where all are equal.
    """

    classes: list[list[int]]
    diameters: list[Fraction]


def same(kind: str, a: str, b: str, *, options: Sequence[str] = (), unit: str = "") -> bool:
    """Whether two answers are the same; texts that are none of this kind are the same only if they are equal."""
    if a == b:
        return True
    return _key(read_answer(kind, a, options=options, unit=unit), a) == _key(
        read_answer(kind, b, options=options, unit=unit), b
    )


def classes(
    kind: str,
    answers: Sequence[str | None],
    *,
    options: Sequence[str] = (),
    unit: str = "",
    tolerance: Tolerance = EXACT,
) -> list[list[int]]:
    """The classes of :func:`partition`."""
    return partition(kind, answers, options=options, unit=unit, tolerance=tolerance).classes


def partition(
    kind: str,
    answers: Sequence[str | None],
    *,
    options: Sequence[str] = (),
    unit: str = "",
    tolerance: Tolerance = EXACT,
) -> Partition:
    """Divide ``answers`` into classes of the same answer. None is a blank and in no class.

    Raises :class:`~dissensus.errors.UsageError` where neighbours chain into a class wider than the tolerance allows.
    """
    by_key: dict[_Key, list[int]] = {}
    values: dict[_Key, Quantity] = {}
    for place, answer in enumerate(answers):
        if answer is None:
            continue
        item = read_answer(kind, answer, options=options, unit=unit)
        key = _key(item, answer)
        by_key.setdefault(key, []).append(place)
        if isinstance(item.value, Quantity):
            values[key] = item.value
    has_unit = bool(unit.strip())
    chains = _chains(values, tolerance, has_unit=has_unit)
    chained = {key for chain in chains for key in chain}
    found = [(places, Fraction(0)) for key, places in by_key.items() if key not in chained]
    for chain in chains:
        places = sorted(place for key in chain for place in by_key[key])
        found.append((places, _width(chain, values, tolerance, has_unit=has_unit)))
    found.sort(key=lambda pair: pair[0][0])
    return Partition([places for places, _ in found], [width for _, width in found])


def _key(item: Read, answer: str) -> _Key:
    return ("answer", item.canonical) if item.canonical is not None else ("raw", answer)


def _size(quantity: Quantity) -> Fraction:
    return quantity.number * (quantity.unit.factor if quantity.unit else 1)


def _chains(values: dict[_Key, Quantity], tolerance: Tolerance, *, has_unit: bool) -> list[list[_Key]]:
    """Keys of numbers linked by neighbours. On a line that is the closure: a < b < c with a near c has b near both."""
    if tolerance == EXACT:
        return []
    by_dimension: dict[units.Dimensions, list[_Key]] = {}
    for key, quantity in values.items():
        by_dimension.setdefault(quantity.unit.dimensions if quantity.unit else (), []).append(key)
    chains: list[list[_Key]] = []
    for keys in by_dimension.values():
        keys.sort(key=lambda key: _size(values[key]))
        chains.append(keys[:1])
        for before, key in pairwise(keys):
            one, other = values[before], values[key]
            if _size(other) - _size(one) <= _allowed(one, other, tolerance, has_unit=has_unit):
                chains[-1].append(key)
            else:
                chains.append([key])
    for chain in chains:
        width = _width(chain, values, tolerance, has_unit=has_unit)
        if width > tolerance.widest:
            raise UsageError(
                f"Answers chain from {chain[0][1]} to {chain[-1][1]}: {float(width):.3g} times the tolerance.",
                next_step="Use a smaller tolerance, or none.",
            )
    return chains


def _allowed(one: Quantity, other: Quantity, tolerance: Tolerance, *, has_unit: bool) -> Fraction:
    """What two numbers of a kind may differ by, in its base unit. An absolute tolerance needs a declared unit."""
    scale = (one.unit.factor if one.unit else Fraction(1)) if has_unit or one.unit is None else Fraction(0)
    return max(tolerance.absolute * scale, tolerance.relative * max(abs(_size(one)), abs(_size(other))))


def _width(chain: list[_Key], values: dict[_Key, Quantity], tolerance: Tolerance, *, has_unit: bool) -> Fraction:
    if len(chain) < 2:
        return Fraction(0)
    low, high = values[chain[0]], values[chain[-1]]
    return (_size(high) - _size(low)) / _allowed(low, high, tolerance, has_unit=has_unit)


@dataclass(frozen=True, slots=True)
class Group:
    """The ballots of a panel, made comparable.

    Args:
        answers: the canonical answer of each ballot as it is counted; None for a blank.
        joined: places of the ballots that were counted in a unit that they did not state.
        unit: that unit; "" if none was given to any.
        note: a plain sentence for the record; "" if nothing was changed and nothing is in doubt.
    """

    answers: tuple[str | None, ...]
    joined: tuple[int, ...] = ()
    unit: str = ""
    note: str = ""


def group(kind: str, reads: Sequence[Read], unit: str = "") -> Group:
    """Let ballots without a unit join the only unit that the others state.

    With a declared unit, :func:`~dissensus.answers.reading.read` has settled that already. Without one: cents and
    pence are counted in the only currency that they can be part of, pounds as sterling beside £; an amount joins the
    only rate of the same unit ($18 beside $18 per hour); then bare numbers join the unit that is left, if it is one.
    Where several of one kind are left, such as h and min, a bare number joins if in one of them it says what another
    ballot says. Otherwise bare numbers stay by themselves and the note says so. ``kind`` is any; only numbers change.
    """
    answers = [item.canonical if item.status == "answer" else None for item in reads]
    if unit.strip() or kind not in {"number", "auto"}:
        return Group(tuple(answers))
    counted = {
        place: item.value for place, item in enumerate(reads) if isinstance(item.value, Quantity) and answers[place]
    }
    joined: dict[int, Quantity] = {}
    for step in (_into_currency, _into_rate):
        for place, quantity in step(counted).items():
            counted[place] = joined[place] = quantity
    stated = {unit.name: unit for quantity in counted.values() for unit in quantity.units}
    bare = [place for place, quantity in counted.items() if quantity.bare]
    if len(stated) == 1:
        (only,) = stated.values()
        joined |= {place: Quantity(counted[place].number, only) for place in bare}
    elif len({unit.dimensions for unit in stated.values()}) == 1:
        joined |= _into_equal(counted, bare, list(stated.values()))
    for place, quantity in joined.items():
        answers[place] = quantity.canonical()
    names = sorted({quantity.unit.name for quantity in joined.values() if quantity.unit})
    note = ""
    if joined:
        note = f"{_ballots(len(joined))} without this unit counted as {' and '.join(names)}."
    elif bare and len(stated) > 1:
        others = " and ".join(sorted(stated))
        note = f"{_ballots(len(bare))} without a unit stand by themselves: the others state {others}."
    return Group(tuple(answers), tuple(sorted(joined)), ", ".join(names), note)


def _ballots(number: int) -> str:
    return "1 ballot" if number == 1 else f"{number} ballots"


def _into_currency(counted: dict[int, Quantity]) -> dict[int, Quantity]:
    """Cents in the only currency stated that has cents, pence and pounds in sterling."""
    stated = {quantity.unit.name: quantity.unit for quantity in counted.values() if quantity.unit}
    changed: dict[int, Quantity] = {}
    for name, currencies in (*units.SUBUNITS.items(), ("lb", ("GBP",))):
        targets: list[Unit] = [stated[currency] for currency in currencies if currency in stated]
        if name not in stated or len(targets) != 1:
            continue
        for place, quantity in counted.items():
            if quantity.unit == stated[name] and (converted := quantity.in_unit(targets[0])):
                changed[place] = converted
    return changed


def _into_equal(counted: dict[int, Quantity], bare: list[int], stated: list[Unit]) -> dict[int, Quantity]:
    """Bare numbers in the one unit, of several of a kind, in which another ballot says the same: 300 beside 5 h."""
    said = {quantity.canonical() for quantity in counted.values() if quantity.unit}
    changed: dict[int, Quantity] = {}
    for place in bare:
        taken = [Quantity(counted[place].number, unit) for unit in stated]
        possible = {quantity.canonical(): quantity for quantity in taken}
        equal = said & possible.keys()
        if len(equal) == 1:
            changed[place] = possible[equal.pop()]
    return changed


def _into_rate(counted: dict[int, Quantity]) -> dict[int, Quantity]:
    """Amounts as the only rate stated, where that is a rate of their unit and nothing else is stated."""
    stated = {quantity.unit for quantity in counted.values() if quantity.unit}
    rates = [unit for unit in stated if unit.top is not None]
    if len(rates) != 1 or stated != {rates[0], rates[0].top}:
        return {}
    return {place: Quantity(item.number, rates[0]) for place, item in counted.items() if item.unit == rates[0].top}


def matches_gold(kind: str, answer: str, gold: str, *, options: Sequence[str] = (), unit: str = "") -> bool:
    """Whether ``answer`` is the right one: as :func:`same`, but a unit that only one of the two states is forgiven.

    It is symmetric and not transitive ($8, 8, 8 h): for scoring against one right answer, never for grouping.
    """
    if same(kind, answer, gold, options=options, unit=unit):
        return True
    pair = [read_answer(kind, text, options=options, unit=unit) for text in (answer, gold)]
    left, right = group(kind, pair, unit).answers
    return left is not None and left == right
