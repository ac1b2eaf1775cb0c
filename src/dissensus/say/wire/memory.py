"""What is over, remembered in a few bytes each: a map from names to small numbers.

Ids of answered requests and final states of tasks must be known for as long as a log lasts, since an answer that comes
twice is a fault and so is a task that rises again. This takes 9 bytes a slot, with a third to two thirds of the slots
in use; a dictionary takes ten times as much. Names are kept as 64-bit BLAKE2b digests: among 10 million names the chance
that any two are confused is below 3 in a million.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import Any, Final

_FIRST: Final = 64


class Memory:
    """Names and the small number (1 to 255) noted for each; a name that was never noted has 0."""

    __slots__ = ("_count", "_keys", "_values")

    def __init__(self) -> None:
        self._count = 0
        self._keys = array("Q", bytes(8 * _FIRST))
        self._values = bytearray(_FIRST)

    def note(self, name: str, value: int) -> None:
        """Note ``value`` for ``name``, in place of what was noted before."""
        if 3 * self._count >= 2 * len(self._values):
            self._grow()
        self._put(_digest(name), value)

    def __getitem__(self, name: str) -> int:
        key = _digest(name)
        return self._values[self._slot(key)]

    def __contains__(self, name: str) -> bool:
        return self[name] != 0

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """Size of the table."""
        return 9 * len(self._values)

    def state(self) -> dict[str, Any]:
        """All of it as JSON data."""
        pairs = [(key, value) for key, value in zip(self._keys, self._values, strict=True) if value]
        keys = b"".join(key.to_bytes(8, "big") for key, _ in pairs)
        return {"keys": b64encode(keys).decode(), "values": b64encode(bytes(value for _, value in pairs)).decode()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Memory:
        """The memory that :meth:`state` was taken of."""
        memory = cls()
        keys, values = b64decode(state["keys"]), b64decode(state["values"])
        for at, value in enumerate(values):
            if 3 * memory._count >= 2 * len(memory._values):
                memory._grow()
            memory._put(int.from_bytes(keys[8 * at : 8 * at + 8], "big"), value)
        return memory

    def _slot(self, key: int) -> int:
        """Where ``key`` is, or the free slot where it belongs."""
        keys, values = self._keys, self._values
        mask = len(values) - 1
        at = key & mask
        while values[at] and keys[at] != key:
            at = (at + 1) & mask
        return at

    def _put(self, key: int, value: int) -> None:
        at = self._slot(key)
        self._count += not self._values[at]
        self._keys[at] = key
        self._values[at] = value

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._count = 0
        self._keys = array("Q", bytes(16 * len(values)))
        self._values = bytearray(2 * len(values))
        for key, value in zip(keys, values, strict=True):
            if value:
                self._put(key, value)


def _digest(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
