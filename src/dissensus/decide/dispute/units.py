"""Units, by a declared table. What the table does not say is not convertible.

``STANDARD`` holds what is so by definition. What is so in one case only (a pallet holds 48 boxes) is declared there,
with the evidence that says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from dissensus.decide.dispute.normalise import normal


@dataclass(frozen=True, slots=True)
class Conversion:
    """One ``unit`` is ``factor`` ``of``.

    Args:
        unit, of: names of units.
        factor: above zero.
        cites: ids of the evidence that says so; empty is "by definition".
        subject: holds for this subject only; None is any.
    """

    unit: str
    factor: Decimal
    of: str
    cites: tuple[str, ...] = ()
    subject: str | None = None


def _table(text: str) -> tuple[Conversion, ...]:
    parts = (line.split() for line in text.strip().splitlines())
    return tuple(Conversion(unit, Decimal(factor), of) for unit, factor, of in parts)


STANDARD: Final = _table(
    """
    kg 1000 g
    mg 0.001 g
    t 1000 kg
    tonne 1000 kg
    gram 1 g
    kilogram 1 kg
    lb 0.45359237 kg
    oz 28.349523125 g
    cm 0.01 m
    mm 0.001 m
    km 1000 m
    metre 1 m
    meter 1 m
    inch 0.0254 m
    ft 0.3048 m
    ml 0.001 l
    cl 0.01 l
    litre 1 l
    liter 1 l
    min 60 s
    minute 60 s
    second 1 s
    h 3600 s
    hour 3600 s
    day 86400 s
    week 7 day
    % 0.01 1
    percent 1 %
    dozen 12 1
    """
)
STANDARD_ID: Final = "units-1"
"""Name and version of the table, for what cites it."""


class Units:
    """Which units are convertible, and by what factor. Names are compared after N; a plural s or es does not matter.

    Args:
        conversions: what is declared beyond ``STANDARD``.
    """

    def __init__(self, conversions: Iterable[Conversion] = ()) -> None:
        self._edges: dict[str, list[tuple[str, Fraction, Conversion]]] = {}
        for each in (*STANDARD, *conversions):
            if each.factor <= 0:
                raise ValueError(f"a factor has to be above zero: {each.unit} = {each.factor} {each.of}")
            one, other, factor = _name(each.unit), _name(each.of), Fraction(each.factor)
            self._edges.setdefault(one, []).append((other, factor, each))
            self._edges.setdefault(other, []).append((one, 1 / factor, each))

    def factor(
        self, unit: str | None, to: str | None, subject: str | None = None
    ) -> tuple[Fraction, tuple[Conversion, ...]] | None:
        """What one ``unit`` is in ``to``, and the declared conversions that say so.

        None if nothing says so, or if declarations that bear on it contradict each other. A unit that is None is a
        plain number, which dozens and percents convert to.
        """
        start, goal = _name(unit or "1"), _name(to or "1")
        found: dict[str, tuple[Fraction, tuple[Conversion, ...]]] = {start: (Fraction(1), ())}
        waiting = [start]
        for here in waiting:
            factor, way = found[here]
            for there, step, each in self._edges.get(here, ()):
                if each.subject is not None and not _same(each.subject, subject):
                    continue
                if there not in found:
                    found[there] = (factor * step, way if each in STANDARD else (*way, each))
                    waiting.append(there)
                elif found[there][0] != factor * step and start != goal:
                    return None  # two declarations contradict each other
        return found.get(goal)


def _name(unit: str) -> str:
    name = normal(unit).strip()
    if len(name) > 3 and name.endswith(("xes", "ches", "shes", "sses")):
        return name[:-2]
    return name[:-1] if len(name) > 2 and name.endswith("s") and not name.endswith("ss") else name


def _same(one: str, other: str | None) -> bool:
    return other is not None and normal(one).strip() == normal(other).strip()
