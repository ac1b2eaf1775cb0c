"""Stable names of effects, and the seeds that derive from them."""

from __future__ import annotations

import hashlib
from collections import Counter

from dissensus.errors import DuplicateKey


class Keys:
    """Gives each effect of a run its key: ``scope/kind/agent``, then ``/2``, ``/3`` … in the same scope."""

    __slots__ = ("_seen", "_times")

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._seen: set[str] = set()

    def give(self, scope: str, kind: str, who: str, given: str | None = None) -> str:
        """The key of the next effect. Raises :class:`~dissensus.errors.DuplicateKey` if it was used before."""
        if given is not None:
            key = f"{scope}/{given}" if scope else given
        else:
            key = "/".join(part for part in (scope, kind, who) if part)
            self._times[key] += 1
            if self._times[key] > 1:
                key = f"{key}/{self._times[key]}"
        if key in self._seen:
            raise DuplicateKey(key)
        self._seen.add(key)
        return key


def seed_of(run_seed: int, key: str) -> int:
    """The seed of the call under ``key``: the first 31 bits of SHA-256 of ``run_seed/key``."""
    digest = hashlib.sha256(f"{run_seed}/{key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
