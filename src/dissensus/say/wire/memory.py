"""What is over, remembered in a few bytes each: a map from names to small numbers.

Ids of answered requests and final states of tasks must be known for as long as a log lasts, since an answer that comes
twice is a fault and so is a task that rises again. Up to :data:`EXACT` names a dictionary is kept; beyond that, digests
of 64 bits (:class:`~dissensus.say.seen.Digests`).
"""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.seen import Digests, digest

EXACT: Final = 50_000
"""Names up to which the names themselves are kept."""


class Memory:
    """Names and the small number (1 to 65,535) noted for each; a name that was never noted has 0."""

    __slots__ = ("_changed", "_digests", "_exact")

    def __init__(self) -> None:
        self._exact: dict[str, int] | None = {}
        self._digests: Digests | None = None
        self._changed: dict[int, int] = {}
        """Names noted with one number and later with another, once digests are kept: few, since this is rare."""

    def note(self, name: str, value: int) -> None:
        """Note ``value`` for ``name``, in place of what was noted before."""
        if self._exact is not None:
            self._exact[name] = value
            if len(self._exact) > EXACT:
                self._digests = Digests(values=True)
                for each, number in self._exact.items():
                    self._digests.put(digest(each), number)
                self._exact = None
        elif self._digests is not None:
            key = digest(name)
            if not self._digests.put(key, value) and self[name] != value:
                self._changed[key] = value

    def __getitem__(self, name: str) -> int:
        if self._exact is not None:
            return self._exact.get(name, 0)
        key = digest(name)
        if key in self._changed:
            return self._changed[key]
        return (self._digests.get(key) or 0) if self._digests is not None else 0

    def __contains__(self, name: str) -> bool:
        return self[name] != 0

    def __len__(self) -> int:
        if self._exact is not None:
            return len(self._exact)
        return self._digests.count if self._digests is not None else 0

    def state(self) -> dict[str, Any]:
        """All of it as JSON data."""
        if self._exact is not None:
            return {"exact": dict(self._exact)}
        changed = {str(key): value for key, value in self._changed.items()}
        return {"digests": self._digests.state() if self._digests is not None else [], "changed": changed}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Memory:
        """The memory that :meth:`state` was taken of."""
        memory = cls()
        if "exact" in state:
            memory._exact = dict(state["exact"])
        else:
            memory._exact, memory._digests = None, Digests.restore(state["digests"], values=True)
            memory._changed = {int(key): value for key, value in state["changed"].items()}
        return memory
