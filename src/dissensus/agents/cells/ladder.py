"""Which level this machine reaches, found once by trial, and why not a higher one."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dissensus.agents.cells.guards import GUARDS, LEVELS, Level
from dissensus.agents.cells.trial import Trial, tried
from dissensus.agents.cells.ways import Way, lacking, ways
from dissensus.errors import CellError, UsageError

HELP: Final = {
    "strong": "Install bubblewrap (pip install 'dissensus[cells]'), and allow unprivileged user namespaces.",
    "medium": "Run on Linux 5.13 or newer with Landlock switched on.",
    "unconfined": "",
}
"""What to do where a level is not reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The level that a machine reaches, the way to it, and for each level above it why it is not reached."""

    way: Way
    enforced: tuple[str, ...]
    not_enforced: tuple[str, ...]
    not_higher: tuple[tuple[Level, str], ...] = ()

    @property
    def level(self) -> Level:
        """The level."""
        return self.way.level

    def on_record(self) -> dict[str, Any]:
        """What a record says of it."""
        return {
            "level": self.level,
            "how": self.way.described(),
            "enforced": list(self.enforced),
            "not_enforced": list(self.not_enforced),
            "not_higher": dict(self.not_higher),
        }


def chosen(trials: Iterable[Trial]) -> tuple[Trial | None, str]:
    """The best of some trials of one level, and why there is none.

    Trials are made as they are asked for; the first that holds all that its level can hold ends the search.
    """
    best: Trial | None = None
    problems: list[str] = []
    for trial in trials:
        if trial.level is None:
            problems.append(trial.why_not())
            continue
        if best is None or len(trial.enforced) > len(best.enforced):
            best = trial
        if set(best.enforced) >= full(best.way.level):
            break
    return best, "; ".join(dict.fromkeys(problems))


def full(level: Level) -> frozenset[str]:
    """The guards that a level holds where everything goes well."""
    return frozenset(one.name for one in GUARDS if one.at(level) in ("refused", "bounded"))


@functools.cache
def best_at(level: Level) -> tuple[Trial | None, str]:
    """The best way to one level on this machine, by trial; None and a reason if there is none. Found once a process."""
    if lack := lacking(level):
        return None, lack
    return chosen(tried(way) for way in ways(level))


@functools.cache
def reach(highest: Level = "strong") -> Reached:
    """The highest level up to ``highest`` that this machine reaches. Takes some tenths of a second, once a process.

    Raises:
        CellError: not even a plain process can be run.
    """
    above: list[tuple[Level, str]] = []
    for level in LEVELS[LEVELS.index(highest) :]:
        trial, why = best_at(level)
        if trial is not None:
            return Reached(
                way=trial.way,
                enforced=trial.enforced,
                not_enforced=trial.not_enforced,
                not_higher=tuple(above),
            )
        above.append((level, why))
    raise CellError(
        f"No program can be run in a cell: {above[-1][1]}.",
        next_step="See what `dissensus doctor` says.",
    )


def required(reached: Reached, require: str | None) -> Reached:
    """``reached`` itself, if it is at least at the level ``require``; None requires nothing.

    Raises:
        CellError: it is lower.
        UsageError: there is no such level.
    """
    if require is None:
        return reached
    if require not in LEVELS:
        raise UsageError(f"There is no level {require!r} of cells.", next_step=f"Write one of {', '.join(LEVELS)}.")
    if LEVELS.index(reached.level) > LEVELS.index(require):
        why = dict(reached.not_higher).get(require, "no more was asked for")
        raise CellError(
            f"A {require} cell is required, and this machine reaches {reached.level}: {why}.",
            next_step=HELP[require],
        )
    return reached
