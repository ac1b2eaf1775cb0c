"""Scripts in progress: a tree of generators, each waiting for something or done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dissensus.script.effects import Finish, Race, Script

_MISSING: Any = object()


@dataclass(slots=True, eq=False)
class Frame:
    """One script. ``gathering`` is what it waits for; ``parent`` and ``slot`` say where its result goes."""

    script: Script
    scope: str
    parent: Gathering | None = None
    slot: Any = None
    gathering: Gathering | None = None
    done: bool = False
    result: Any = None


@dataclass(slots=True, eq=False)
class Gathering:
    """Outcomes that one frame waits for: of one effect, of a list, or of whole scripts side by side."""

    owner: Frame
    shape: str
    """``one``, ``list``, ``together`` or ``race``."""
    slots: dict[Any, Any] = field(default_factory=dict)
    children: list[Frame] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    """Keys of effects in progress, to their slots."""
    race: Race | None = None
    race_key: str = ""
    arrived: dict[Any, Any] = field(default_factory=dict)
    armed: bool = False
    """True once its owner really waits for it; before that its parts may already have come."""

    def expect(self, slot: Any) -> None:
        """Reserve ``slot``; the order of reservation is the order of the results."""
        self.slots[slot] = _MISSING

    def put(self, slot: Any, value: Any) -> None:
        """Fill ``slot``."""
        self.slots[slot] = value
        self.arrived[slot] = value

    def complete(self) -> bool:
        """Whether the owner can go on."""
        if len(self.arrived) == len(self.slots):
            return True
        return self.race is not None and bool(self.arrived) and self.race.enough(self.arrived)

    def value(self) -> Any:
        """What the owner is sent."""
        if self.shape == "one":
            return next(iter(self.slots.values()))
        if self.shape == "list":
            return list(self.slots.values())
        if self.shape == "race":
            return Finish(dict(self.arrived), tuple(slot for slot in self.slots if slot not in self.arrived))
        return dict(self.slots)

    def open_keys(self) -> Iterator[str]:
        """Keys of all effects in progress here and below."""
        yield from self.keys
        for child in self.children:
            if child.gathering is not None:
                yield from child.gathering.open_keys()

    def close(self) -> None:
        """Close the scripts that still run below."""
        for child in self.children:
            if not child.done:
                if child.gathering is not None:
                    child.gathering.close()
                child.script.close()
                child.done = True
