"""Which ids have been seen, in little memory.

A Python set of ten million texts takes more than a gigabyte. Up to :data:`EXACT` keys a set of the texts themselves is
kept; beyond that a digest of 64 bits of each, in arrays with open addressing: about 13 bytes for each key. Two of ten
million keys have the same digest with a probability of about 3 in a million (n²/2⁶⁵); then one message is taken for a
duplicate.
"""

from __future__ import annotations

import base64
from array import array
from hashlib import blake2b
from typing import Any, Final

EXACT: Final = 1_000_000
"""Keys up to which the texts are kept."""
_PARTS: Final = 64
_FULL: Final = 0.75


def digest(key: str) -> int:
    """64 bits that stand for ``key``; never 0."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") or 1


class Digests:
    """A map from 64-bit digests to small numbers, in arrays; 64 parts, so that growing one copies little at a time."""

    __slots__ = ("_keys", "_sizes", "_values", "count")

    def __init__(self, *, values: bool = False) -> None:
        self._keys = [array("Q", bytes(8 * 1024)) for _ in range(_PARTS)]
        self._values = [array("H", bytes(2 * 1024)) for _ in range(_PARTS)] if values else None
        self._sizes = [0] * _PARTS
        self.count = 0

    def put(self, key: int, value: int = 0) -> bool:
        """Add ``key``; False if it was there already (its value stays)."""
        part = key & (_PARTS - 1)
        keys = self._keys[part]
        size = len(keys)
        place = (key >> 6) % size
        while found := keys[place]:
            if found == key:
                return False
            place = place + 1 if place + 1 < size else 0
        keys[place] = key
        if self._values is not None:
            self._values[part][place] = value
        self.count += 1
        self._sizes[part] += 1
        if self._sizes[part] > _FULL * size:
            self._grow(part)
        return True

    def get(self, key: int) -> int | None:
        """Value of ``key``; None if it is not there."""
        part = key & (_PARTS - 1)
        keys = self._keys[part]
        size = len(keys)
        place = (key >> 6) % size
        while found := keys[place]:
            if found == key:
                return self._values[part][place] if self._values is not None else 0
            place = place + 1 if place + 1 < size else 0
        return None

    def _grow(self, part: int) -> None:
        old, values = self._keys[part], self._values[part] if self._values is not None else None
        size = int(len(old) * 1.4) | 1
        keys, moved = array("Q", bytes(8 * size)), array("H", bytes(2 * size)) if values is not None else None
        for at, key in enumerate(old):
            if key:
                place = (key >> 6) % size
                while keys[place]:
                    place = place + 1 if place + 1 < size else 0
                keys[place] = key
                if moved is not None and values is not None:
                    moved[place] = values[at]
        self._keys[part] = keys
        if self._values is not None and moved is not None:
            self._values[part] = moved

    def state(self) -> list[list[str]]:
        """Its content as JSON data."""
        return [
            [_packed(keys), _packed(self._values[part]) if self._values is not None else ""]
            for part, keys in enumerate(self._keys)
        ]

    @classmethod
    def restore(cls, state: list[list[str]], *, values: bool = False) -> Digests:
        """What :meth:`state` gave."""
        made = cls(values=values)
        for part, (keys, numbers) in enumerate(state):
            made._keys[part] = array("Q", base64.b85decode(keys))
            made._sizes[part] = sum(1 for key in made._keys[part] if key)
            if made._values is not None:
                made._values[part] = array("H", base64.b85decode(numbers))
        made.count = sum(made._sizes)
        return made


class Seen:
    """A set of texts that is exact while small and small while large."""

    __slots__ = ("_digests", "exact")

    def __init__(self) -> None:
        self.exact: set[str] | None = set()
        self._digests: Digests | None = None

    def add(self, key: str) -> bool:
        """Add ``key``; False if it had been seen."""
        exact = self.exact
        if exact is not None:
            if key in exact:
                return False
            exact.add(key)
            if len(exact) > EXACT:
                self._digests = Digests()
                for each in exact:
                    self._digests.put(digest(each))
                self.exact = None
            return True
        return self._digests is not None and self._digests.put(digest(key))

    def __contains__(self, key: str) -> bool:
        if self.exact is not None:
            return key in self.exact
        return self._digests is not None and self._digests.get(digest(key)) is not None

    def __len__(self) -> int:
        return len(self.exact) if self.exact is not None else self._digests.count if self._digests is not None else 0

    def state(self) -> Any:
        """Its content as JSON data."""
        if self.exact is not None:
            return {"exact": sorted(self.exact)}
        return {"digests": self._digests.state() if self._digests is not None else []}

    @classmethod
    def restore(cls, state: Any) -> Seen:
        """What :meth:`state` gave."""
        made = cls()
        if "exact" in state:
            made.exact = set(state["exact"])
        else:
            made.exact, made._digests = None, Digests.restore(state["digests"])
        return made


def _packed(numbers: array[int]) -> str:
    return base64.b85encode(numbers.tobytes()).decode()
