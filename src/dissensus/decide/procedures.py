"""The procedures by name: what the engine needs to build a script again from a record's first event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.script.effects import Script
from dissensus.script.seats import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """A procedure that a record can name. ``build(settings, seats, seed)`` gives its script, from the beginning."""

    name: str
    version: str
    build: Callable[[Mapping[str, Any], Sequence[Seat], int], Script]


PROCEDURES: Mapping[str, Procedure] = {}
