"""What a static check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from dissensus.say.exploring import Exploration, Machine, Way

ERROR: Final = "error"
WARNING: Final = "warning"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a protocol.

    Args:
        code: ``P01`` to ``P15``.
        level: ``error``, or ``warning``: worth a look, and often meant.
        message: the fault in one sentence.
        line: line of the file, 0 if none can be named.
        trace: a shortest path that shows it, one move a line; empty where the fault is that there is no path.
    """

    code: str
    level: str
    message: str
    line: int = 0
    trace: tuple[str, ...] = ()


Check = Callable[[Exploration], Iterator[Fault]]


def incidental(machine: Machine, way: Way) -> bool:
    """Whether ``way`` may cut into any state, so that the rules of delivery settle who came first.

    That is what ``include:`` brings in (a cancel and its confirmation, a ``not-understood``), and a platform's report.
    """
    return bool(way.move.origin) or machine.is_platform(way.sender) or machine.is_platform(way.move.receiver)
