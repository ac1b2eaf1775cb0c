"""What a cell keeps a program from, and at which level: the table of docs/cells.md, as data.

Tests run an attack for each line at each level and hold it to what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Level = Literal["strong", "medium", "unconfined"]
LEVELS: Final[tuple[Level, ...]] = ("strong", "medium", "unconfined")
"""From the strongest down."""

Effect = Literal["refused", "bounded", "partly", "not stopped"]
"""``refused``: the attempt fails. ``bounded``: it goes on up to the limit. ``partly``: see the remark."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One line: what a program tries, and what comes of it at each level."""

    name: str
    attempt: str
    strong: Effect
    medium: Effect
    unconfined: Effect
    remark: str = ""

    def at(self, level: Level) -> Effect:
        """What comes of the attempt at ``level``."""
        effects: dict[Level, Effect] = {"strong": self.strong, "medium": self.medium, "unconfined": self.unconfined}
        return effects[level]


GUARDS: Final = (
    Guard("read", "read a file that the manifest does not list", "refused", "refused", "not stopped"),
    Guard("write", "write or change a file outside of its scratch folder", "refused", "refused", "not stopped"),
    Guard(
        "names",
        "ask whether a file outside exists, its size, its owner",
        "refused",
        "not stopped",
        "not stopped",
        "Landlock watches opening and listing, not asking about a name that is guessed.",
    ),
    Guard("environment", "read the environment of another process", "refused", "refused", "not stopped"),
    Guard("tcp", "open a TCP socket", "refused", "refused", "not stopped"),
    Guard("udp", "open a UDP socket", "refused", "refused", "not stopped"),
    Guard("netlink", "open a netlink socket", "refused", "refused", "not stopped"),
    Guard(
        "local-sockets",
        "speak to a local service (a container engine, a desktop)",
        "refused",
        "refused",
        "not stopped",
    ),
    Guard(
        "signals",
        "send a signal to a process outside",
        "refused",
        "refused",
        "not stopped",
        "Before version 6 of Landlock a program at medium can signal nobody but its own group, not even a child alone.",
    ),
    Guard("namespaces", "make namespaces, mount, trace", "refused", "refused", "not stopped"),
    Guard(
        "processes",
        "start processes without end",
        "bounded",
        "bounded",
        "bounded",
        "Nothing holds a root that can neither become another user nor make a control group; then it is reported as "
        "not enforced. For an ordinary user below strong, what the user runs besides counts: room is made for it at "
        "the start.",
    ),
    Guard("memory", "take memory, in one process", "bounded", "bounded", "bounded"),
    Guard(
        "memory-together",
        "take memory, in many processes",
        "bounded",
        "bounded",
        "partly",
        "Looked at ten times a second; what is taken between two looks can be more. Unconfined, processes that leave "
        "their group are not seen.",
    ),
    Guard("cpu", "use the processor without end", "bounded", "bounded", "bounded", "For each process."),
    Guard("wall", "run for ever", "bounded", "bounded", "bounded"),
    Guard("file-size", "write one endless file", "bounded", "bounded", "bounded"),
    Guard(
        "disk",
        "fill the disk with many files",
        "bounded",
        "partly",
        "partly",
        "Below strong the folder is looked at ten times a second: a file that was deleted and is still open is not "
        "seen there, and unconfined, files elsewhere are not.",
    ),
    Guard("files", "make files without end", "bounded", "bounded", "partly", "Looked at ten times a second."),
    Guard("output", "print 1 GB", "bounded", "bounded", "bounded", "The rest is read and dropped."),
    Guard(
        "leftovers",
        "leave processes behind",
        "refused",
        "refused",
        "partly",
        "Unconfined, a process that leaves its group lives on.",
    ),
)

NEEDED: Final = ("read", "write", "environment", "tcp", "udp", "netlink", "local-sockets", "signals", "leftovers")
"""What a trial has to show before a level above unconfined counts as reached."""


def guard(name: str) -> Guard:
    """The guard of that name. Raises KeyError if there is none."""
    return {one.name: one for one in GUARDS}[name]


def table() -> str:
    """The table as Markdown."""
    rows = ["| what a program tries | | strong | medium | unconfined |", "| --- | --- | --- | --- | --- |"]
    rows += [f"| {one.attempt} | `{one.name}` | {one.strong} | {one.medium} | {one.unconfined} |" for one in GUARDS]
    remarks = [f"- `{one.name}`: {one.remark}" for one in GUARDS if one.remark]
    return "\n".join([*rows, "", *remarks]) + "\n"
