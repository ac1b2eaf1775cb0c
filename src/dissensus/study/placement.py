"""Where the corrupted agents sit: which seats are theirs, and who of them, and of the others, has which."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, TypeVar

from dissensus.errors import UsageError
from dissensus.script.keys import seed_of

PLACEMENTS: Final = ("dealt", "all", "rotated", "random", "fixed")
"""``dealt`` gives each question the next placement in turn, so that over the questions each is taken equally often;
``all`` takes every placement for each question; ``rotated`` turns the file's order by one seat each time; ``random``
draws; ``fixed`` keeps the file's order. An order such as HCHCC says which seats are corrupted ones."""

MOST: Final = 1000
"""Placements that are gone through one by one."""

_T = TypeVar("_T")


def is_order(how: str) -> bool:
    """Whether ``how`` is an order of seats such as HCHCC."""
    return bool(how) and set(how) <= {"H", "C"}


def orders(how: str, agents: Sequence[str], corrupted: Sequence[str], turn: int) -> Iterator[tuple[str, ...]]:
    """The agents by seat: one order, or one for every placement. ``turn`` counts questions and seeds.

    The order among the honest, and among the corrupted, is turned from lap to lap, so that no agent of a mixed panel
    has a seat of its own; except where the order is fixed.

    Raises UsageError for more placements than can be gone through.
    """
    size, many = len(agents), math.comb(len(agents), len(corrupted))
    if how == "fixed" or (is_order(how) and not corrupted):
        yield tuple(agents)
    elif how == "rotated":
        yield tuple(_turned(agents, turn))
    elif how == "all":
        if many > MOST:
            raise UsageError(
                f"{len(corrupted)} of {size} agents can sit in {many:,} ways.",
                next_step="Set placement to dealt or random.",
            )
        for place in range(many):
            yield _filled(_pattern(size, len(corrupted), place), agents, corrupted, turn)
    elif is_order(how):
        yield _filled(tuple(letter == "C" for letter in how), agents, corrupted, turn)
    else:
        place = seed_of(turn, f"placement/{len(corrupted)}") if how == "random" else turn
        yield _filled(_pattern(size, len(corrupted), place % many), agents, corrupted, place // many)


def _filled(pattern: Sequence[bool], agents: Sequence[str], corrupted: Sequence[str], lap: int) -> tuple[str, ...]:
    honest = iter(_turned([name for name in agents if name not in corrupted], lap))
    others = iter(_turned(corrupted, lap))
    return tuple(next(others) if here else next(honest) for here in pattern)


def _pattern(size: int, corrupted: int, place: int) -> tuple[bool, ...]:
    """Which seats are corrupted in placement number ``place``."""
    if math.comb(size, corrupted) <= MOST:
        seats: Sequence[int] = _dealt(size, corrupted)[place]
    else:  # drawn seat by seat
        seats = sorted(range(size), key=lambda seat: (seed_of(place, f"seat/{seat}"), seat))[:corrupted]
    return tuple(seat in seats for seat in range(size))


@lru_cache(maxsize=64)
def _dealt(size: int, corrupted: int) -> tuple[tuple[int, ...], ...]:
    """All placements, each followed by its rotations: any stretch of as many as there are seats is nearly balanced."""
    left = dict.fromkeys(combinations(range(size), corrupted))
    found: list[tuple[int, ...]] = []
    while left:
        one = next(iter(left))
        for by in range(size):
            turned = tuple(sorted((seat + by) % size for seat in one))
            if turned in left:
                del left[turned]
                found.append(turned)
    return tuple(found)


def _turned(listed: Sequence[_T], by: int) -> list[_T]:
    by %= max(len(listed), 1)
    return [*listed[by:], *listed[:by]]
