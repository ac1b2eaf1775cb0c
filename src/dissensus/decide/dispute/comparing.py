"""Which typed claims contradict each other. No rule here reads words, names, confidence or order.

Two claims contradict each other if subject and attribute are the same, the times overlap, the units are convertible by
the declared table, and the values differ by more than the larger tolerance. What cannot be compared is *incomparable*:
shown, and never taken as agreement.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import combinations
from typing import Literal

from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.units import Conversion, Units

Relation = Literal["AGREE", "CONTRADICT", "INCOMPARABLE", "OTHER_TIME", "UNRELATED"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two claims stand to each other.

    Args:
        relation: ``AGREE`` is equal within the tolerance; ``OTHER_TIME`` that the times do not overlap; ``UNRELATED``
            that they are about different things.
        why: a sentence for people.
        conversions: the declared conversions that it took. A contradiction rests on their evidence, too.
        model: the model by whose word it is so; "" if programs say so.
    """

    relation: Relation
    why: str
    conversions: tuple[Conversion, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A pair of claims, by their places in the list that was compared, the lower one first."""

    first: int
    second: int
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Graph:
    """What became of comparing each claim with each other one.

    Args:
        contradictions, incomparable: the pairs, in order.
        cases: connected components of the contradictions, each a case; places in the list, in order.
    """

    contradictions: tuple[Edge, ...]
    incomparable: tuple[Edge, ...]
    cases: tuple[tuple[int, ...], ...] = field(default=())


def compare_claims(one: Claim, other: Claim, units: Units | None = None) -> Comparison:
    """How two claims stand to each other; the relation is symmetric.

    Args:
        one: a claim.
        other: another one.
        units: the table of units; ``STANDARD`` alone if left out.
    """
    if one.subject is None or other.subject is None:
        return Comparison("INCOMPARABLE", "A claim in free words can only be compared by a model.")
    if _key(one) != _key(other):
        return Comparison("UNRELATED", "They are about different things.")
    if one.attribute is None or other.attribute is None or one.value is None or other.value is None:
        return Comparison("INCOMPARABLE", "A claim states no typed value.")
    if one.as_of is None or other.as_of is None:
        return Comparison("INCOMPARABLE", "It is unknown when a claim is said to hold.")
    if not one.as_of.overlaps(other.as_of):
        return Comparison("OTHER_TIME", f"They hold at different times: {one.as_of.written}, {other.as_of.written}.")
    if one.value.number is not None and other.value.number is not None:
        return _numbers(one, other, units or Units())
    if one.value.type != other.value.type and {one.value.type, other.value.type} != {"enum", "string"}:
        return Comparison("INCOMPARABLE", f"A {one.value.type} cannot be compared with a {other.value.type}.")
    if one.unit is not None or other.unit is not None:
        return Comparison("INCOMPARABLE", "Only numbers have units.")
    if _plain(one.value.value) == _plain(other.value.value):
        return Comparison("AGREE", "The values are equal.")
    return Comparison("CONTRADICT", f"The values differ: {one.value.written}, {other.value.written}.")


def _numbers(one: Claim, other: Claim, units: Units) -> Comparison:
    found = units.factor(other.unit, one.unit, one.subject)
    if found is None or one.value is None or other.value is None:
        return Comparison(
            "INCOMPARABLE", f"No declared table converts {other.unit or 'a plain number'} to {one.unit or 'one'}."
        )
    factor, way = found
    first, second = Fraction(one.value.number or 0), Fraction(other.value.number or 0) * factor
    tolerance = max(Fraction(one.tolerance or 0), Fraction(other.tolerance or 0) * factor)
    said = [f"{each.value.written} {each.unit or ''}".strip() for each in (one, other) if each.value is not None]
    if abs(first - second) <= tolerance:
        within = "equal" if first == second else "equal within the tolerance"
        return Comparison("AGREE", f"The values are {within}: {', '.join(said)}.", way)
    return Comparison("CONTRADICT", f"The values differ: {', '.join(said)}.", way)


def contradictions(
    claims: Sequence[Claim],
    units: Units | None = None,
    *,
    heard: Mapping[tuple[int, int], Comparison] | None = None,
    kin: Container[tuple[int, int]] = (),
) -> Graph:
    """Compare all claims about the same thing with each other, and those in free words with all.

    The graph depends on the claims alone: another order gives the same pairs under other numbers.

    Args:
        claims: the claims.
        units: the table of units; ``STANDARD`` alone if left out.
        heard: what a model says of pairs that only a model can compare; places, the lower one first.
        kin: pairs of which one is made of the other: if words are in it, there is nothing to compare.
    """
    units, heard = units or Units(), heard or {}
    alike: dict[tuple[str, str], list[int]] = {}
    free: list[int] = []
    for place, claim in enumerate(claims):
        if claim.subject is not None:
            alike.setdefault(_key(claim), []).append(place)
        elif claim.text.strip() or not claim.children:  # else it says nothing but what its parts say
            free.append(place)
    pairs = {(first, second) for group in alike.values() for first, second in combinations(group, 2)}
    typed = [place for group in alike.values() for place in group]
    pairs |= {
        pair
        for n, first in enumerate(free)
        for second in (*free[n + 1 :], *typed)
        if (pair := (min(first, second), max(first, second))) not in kin
    }
    edges = [
        Edge(*pair, heard[pair] if pair in heard else compare_claims(claims[pair[0]], claims[pair[1]], units))
        for pair in sorted(pairs)
    ]
    found = tuple(edge for edge in edges if edge.comparison.relation == "CONTRADICT")
    unknown = tuple(edge for edge in edges if edge.comparison.relation == "INCOMPARABLE")
    return Graph(found, unknown, components([(edge.first, edge.second) for edge in found]))


def components(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Connected components of a graph, each in order, the one with the lowest number first."""
    parent: dict[int, int] = {}

    def root(of: int) -> int:
        parent.setdefault(of, of)
        while parent[of] != of:
            parent[of] = parent[parent[of]]
            of = parent[of]
        return of

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    groups: dict[int, list[int]] = {}
    for each in sorted(parent):
        groups.setdefault(root(each), []).append(each)
    return tuple(tuple(group) for _, group in sorted(groups.items()))


def _key(claim: Claim) -> tuple[str, str]:
    return normal(claim.subject or "").strip(), normal(claim.attribute or "").strip()


def _plain(value: object) -> object:
    """A value as it is compared: texts after N."""
    if isinstance(value, str):
        return normal(value).strip()
    if isinstance(value, frozenset):
        return frozenset(normal(str(each)).strip() for each in value)
    return value if isinstance(value, date | bool) else str(value)
