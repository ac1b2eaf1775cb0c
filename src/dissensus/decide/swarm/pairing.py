"""Two sides that were surveyed: what do both call by the same names, and what do both count?

What is not clear is not guessed: :class:`Unclear` lists what there is. Names, counts and the rules below decide, and
nothing else.

*Items.* Values that stand on both sides, under names of which at least one is telling (``order``, ``invoice no``), or
that are no plain numbers. Of the pairs of names with more than half as many such values as the best, those whose names
fit best count; if these are different things (orders, and notes), it is unclear.

*Properties.* Names that mean the same (:func:`~dissensus.decide.swarm.reader_names.fit`), the best fits first, each
name once, stated for at least half of the items that both sides have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dissensus.decide.dispute.amounts import stem, words_of
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.swarm.reader_names import NONE, NOUNS, TOTAL, Asked, fit
from dissensus.decide.swarm.survey import FILE_NAME, Called, Counted, Survey, core, plain_name
from dissensus.decide.swarm.work import ITEM, Wanted

_SAME_SHARE = 0.9


class Unclear(ValueError):
    """It is not clear what is what.

    Args:
        message: what is not clear, a sentence.
        flag: the flag that says it.
        candidates: what there is, by side.
    """

    def __init__(self, message: str, flag: str, candidates: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message)
        self.flag = flag
        self.candidates = candidates


@dataclass(frozen=True, slots=True)
class Key:
    """How items are called on both sides.

    Args:
        names: of each side, the names under which they stand.
        items: each after N, as it is written, in order.
        where: of each side, the sources of each item.
        only: of each side, the items that the other one lacks.
        noun: what an item is: ``order``; "" if nothing tells.
    """

    names: tuple[tuple[str, ...], tuple[str, ...]]
    items: Mapping[str, str]
    where: tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    noun: str = ""

    @property
    def both(self) -> list[str]:
        """The items that both sides have."""
        return [item for item in self.items if all(item in where for where in self.where)]


@dataclass(frozen=True, slots=True)
class Compared:
    """A property that both sides state.

    Args:
        wanted: as a reader is asked for it.
        sides: what it is on each side; None if it was not found there.
    """

    wanted: Wanted
    sides: tuple[Counted | None, Counted | None]


@dataclass(frozen=True, slots=True)
class Told:
    """What the user says instead of what is found.

    Args:
        key: name of the items on each side; "" if nothing is said.
        attributes: names of properties on each side.
        unit: the unit of all of them.
        items: the items; all that are found, if none are named.
        as_of: the time at which everything is said to hold.
    """

    key: tuple[str, str] = ("", "")
    attributes: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    items: tuple[str, ...] = ()
    as_of: str = field(default="")


# --- items


def key_of(sides: tuple[Survey, Survey], told: Told) -> Key:
    """How the items are called. Raises :class:`Unclear`."""
    names = [_candidates(side, name) for side, name in zip(sides, told.key, strict=True)]
    for label, side, name, found in zip("AB", sides, told.key, names, strict=True):
        if name and not found:
            raise Unclear(f"Nothing in {label} is called {name!r}.", "--key NAME", {label: _called(side)})
    pairs = [
        _Pair(one, other, common, _rank(one, other))
        for one in names[0]
        for other in names[1]
        if (common := frozenset(one.where.keys() & other.where.keys())) and (all(told.key) or _rank(one, other) >= 0)
    ]
    if not pairs:
        raise Unclear(
            "No name stands on both sides, so nothing says which documents are about the same thing.",
            "--key NAME",
            {label: _called(side) for label, side in zip("AB", sides, strict=True)},
        )
    most = max(len(pair.common) for pair in pairs)
    many = [pair for pair in pairs if 2 * len(pair.common) > most]
    best = max(many, key=lambda pair: (pair.rank, len(pair.common), pair.one.name, pair.other.name))
    rivals = [pair for pair in many if pair.rank == best.rank and not _same(pair.common, best.common)]
    if rivals and not all(told.key):
        listed = [f"{pair.one.shown} = {pair.other.shown} ({len(pair.common)})" for pair in (best, *rivals)]
        raise Unclear("Several names stand on both sides.", "--key NAME[=OTHER]", {"A = B": listed})
    alike = [pair for pair in pairs if _same(pair.common, best.common)]
    chosen = (
        _chosen([pair.one for pair in alike], best.common),
        _chosen([pair.other for pair in alike], best.common),
    )
    return _key(chosen, best.common, told)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A name of each side, the values that stand under both, and how far the names fit."""

    one: Called
    other: Called
    common: frozenset[str]
    rank: int


def _candidates(side: Survey, name: str) -> list[Called]:
    if not name:
        return list(side.called.values())
    wanted = core(name)
    return [one for one in side.called.values() if one.name == wanted or wanted in map(core, one.columns.values())]


def _rank(one: Called, other: Called) -> int:
    """How far two names say that they hold names of the same things; below 0, nothing says so."""
    telling = one.telling + other.telling
    if not telling and not all(_lettered(side) for side in (one, other)):
        return -1
    agree = one.name == other.name and FILE_NAME not in (one.name, other.name)
    return telling + agree


def _lettered(one: Called) -> bool:
    """Whether its values are names rather than numbers."""
    return all(any(char.isalpha() for char in value) for value in one.where)


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME_SHARE * min(len(one), len(other))


def _chosen(called: Sequence[Called], common: frozenset[str]) -> list[Called]:
    """The names of one side under which the items stand; names of files only if there is no other."""
    found = list({one.name: one for one in called}.values())
    inside = [one for one in found if one.name != FILE_NAME and 2 * len(one.where.keys() & common) >= len(one.where)]
    return inside or [one for one in found if one.name != FILE_NAME] or found


def _key(chosen: tuple[list[Called], list[Called]], common: frozenset[str], told: Told) -> Key:
    shapes = {_shape(value) for value in common}
    asked = frozenset(normal(item).strip() for item in told.items)
    where: list[dict[str, frozenset[str]]] = []
    written: dict[str, str] = {}
    for side in chosen:
        mine: dict[str, set[str]] = {}
        for called in side:
            for value, digests in called.where.items():
                if value in asked or (not asked and _shape(value) in shapes):
                    mine.setdefault(value, set()).update(digests)
                    if called.columns or value not in written:  # a table writes a name as it is used
                        written[value] = called.written[value]
        where.append({value: frozenset(digests) for value, digests in mine.items()})
    only = tuple(tuple(sorted(where[n].keys() - where[1 - n].keys(), key=_natural)) for n in (0, 1))
    order = sorted(where[0].keys() | where[1].keys(), key=_natural)
    names = [tuple(sorted(one.name for one in side)) for side in chosen]
    return Key(
        names=(names[0], names[1]),
        items={value: written[value] for value in order},
        where=(where[0], where[1]),
        only=(only[0], only[1]),
        noun=_noun(names, order),
    )


def _shape(value: str) -> str:
    return re.sub(r"\d", "0", value)


def _noun(names: Sequence[tuple[str, ...]], items: Sequence[str]) -> str:
    """One word for what an item is, the same on both sides if there is one."""
    words = [[word for name in some for word in reversed(name.split()) if word in NOUNS] for some in names]
    agreed = [word for word in words[0] if word in words[1]]
    found = next(iter(agreed or words[0] or words[1]), "")
    return "" if found and any(found in item for item in items[:1]) else found


def _natural(value: str) -> tuple[int, str]:
    return (len(value), value)


def _called(side: Survey) -> list[str]:
    found = sorted(side.called.values(), key=lambda one: -len(one.where))
    return [f"{one.shown} ({len(one.where)}: {', '.join(list(one.written.values())[:3])} …)" for one in found[:12]]


# --- properties


def compared(sides: tuple[Survey, Survey], key: Key, told: Told) -> list[Compared]:
    """The properties that both sides state. Raises :class:`Unclear`."""
    if told.attributes:
        return [_told(sides, key, names, told) for names in told.attributes]
    mine, theirs = (_countable(side, key, n) for n, side in enumerate(sides))
    ranked: dict[tuple[int, bool], list[tuple[Counted, Counted]]] = {}
    for one in mine:
        for other in theirs:
            how = _fits(one, other, key)
            if how < TOTAL:
                apart = not words_of(one.name) & words_of(other.name)  # only the unit is the same
                ranked.setdefault((how, apart), []).append((one, other))
    taken: list[tuple[Counted, Counted]] = []
    for _, pairs in sorted(ranked.items()):
        free = [pair for pair in pairs if not any(pair[0] is a or pair[1] is b for a, b in taken)]
        clear = [
            (a, b)
            for a, b in free
            if sum(a is one for one, _ in free) == 1 and sum(b is other for _, other in free) == 1
        ]
        if free and not clear and not taken:
            listed = [f"{a.name} = {b.name}" for a, b in free]
            raise Unclear("Several properties may be the same.", '--attribute "NAME=OTHER"', {"A = B": listed})
        taken += clear
    if not taken:
        raise Unclear(
            "No property is stated on both sides under names that mean the same.",
            '--attribute "NAME=OTHER"',
            {label: _counted(side) for label, side in zip("AB", sides, strict=True)},
        )
    return [_compared(a, b, key, told) for a, b in taken]


def _countable(side: Survey, key: Key, n: int) -> list[Counted]:
    """What is stated for at least half of the items that both sides have."""
    both = key.both
    return [
        one for one in side.counted if 2 * sum(bool(key.where[n][item] & one.where) for item in both) >= len(both) > 0
    ]


def _fits(one: Counted, other: Counted, key: Key) -> int:
    return min(_fit(one, other.name, key), _fit(other, one.name, key))


def _fit(one: Counted, name: str, key: Key) -> int:
    return fit(name, _asked(Wanted(attribute=one.name, subject=_subject(key), unit=one.unit)))


def _asked(wanted: Wanted) -> Asked:
    return Asked.of("0", wanted)


def _subject(key: Key) -> str:
    return f"{key.noun} {ITEM}".strip()


def _compared(one: Counted, other: Counted, key: Key, told: Told) -> Compared:
    name = max((one.name, other.name), key=lambda name: (len(words_of(name)), name == one.name))
    less = other.name if name == one.name else one.name
    wanted = Wanted(
        attribute=name, subject=_subject(key), unit=told.unit or _unit(one, other), as_of=told.as_of,
        names=() if fit(less, _asked(Wanted(attribute=name, subject=_subject(key)))) < NONE else (less,),
    )  # fmt: skip
    return Compared(wanted, (one, other))


def _unit(one: Counted | None, other: Counted | None) -> str:
    units = [side.unit for side in (one, other) if side is not None and side.unit]
    return stem(units[0]) if units else ""


def _told(sides: tuple[Survey, Survey], key: Key, names: tuple[str, str], told: Told) -> Compared:
    """The property that the user names, where it is found."""
    found = tuple(_named(side, name, key) for side, name in zip(sides, names, strict=True))
    attribute = plain_name(names[0]) or names[0]
    others = (names[1],) if names[1] != names[0] else ()
    unit = told.unit or _unit(*found)
    wanted = Wanted(attribute=attribute, subject=_subject(key), unit=unit, as_of=told.as_of, names=others)
    return Compared(wanted, (found[0], found[1]))


def _named(side: Survey, name: str, key: Key) -> Counted | None:
    """What a side counts under a name that the user gives, or under names that mean the same; None if nothing."""
    asked = _asked(Wanted(attribute=name, subject=_subject(key)))
    fits = sorted(
        ((fit(one.name, asked), n, one) for n, one in enumerate(side.counted) if fit(one.name, asked) < NONE),
        key=lambda found: found[:2],
    )
    if not fits:
        return None
    whole = Counted()
    for how, _, one in fits:
        if how == fits[0][0]:
            whole.names.update(one.names)
            whole.columns |= one.columns
            whole.units.update(one.units)
        whole.where |= one.where
    return whole


def lacking(found: Sequence[Compared]) -> Iterator[tuple[str, str]]:
    """Properties that were named and are not there: the side, and the name."""
    for one in found:
        for label, side in zip("AB", one.sides, strict=True):
            if side is None:
                yield label, one.wanted.names[0] if label == "B" and one.wanted.names else one.wanted.attribute


def _counted(side: Survey) -> list[str]:
    found = sorted(side.counted, key=lambda one: -sum(one.names.values()))
    return [f"{one.name}{f' ({one.unit})' if one.unit else ''}" for one in found[:12]]
