"""Seeded draws: every choice of an item has a name, and depends on the seed, the item and that name alone.

``draw(field, m)`` is the first 8 hexadecimal digits of SHA-256("seed/case/field"), modulo m. So one choice can be added
or taken away without changing any other one, and the same seed gives the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws of one item.

    Args:
        seed: of the whole batch.
        case: the item.
    """

    seed: int
    case: str

    def draw(self, field: str, m: int) -> int:
        """A number from 0 to ``m`` - 1."""
        return int(sha256(f"{self.seed}/{self.case}/{field}".encode()).hexdigest()[:8], 16) % m

    def between(self, field: str, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included."""
        return low + self.draw(field, high - low + 1)

    def pick(self, field: str, options: Sequence[_T]) -> _T:
        """One of ``options``."""
        return options[self.draw(field, len(options))]

    def chance(self, field: str, percent: int) -> bool:
        """True in ``percent`` of 100 items."""
        return self.draw(field, 100) < percent

    def shuffled(self, field: str, items: Sequence[_T]) -> list[_T]:
        """The items in a drawn order (Fisher and Yates)."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.draw(f"{field}/{last}", last + 1)
            found[last], found[other] = found[other], found[last]
        return found
