"""What Landlock is told for a cell: which kinds of access are watched, and where they are allowed.

Landlock is asked by its system calls; how far it goes is the version of its interface (ABI), and that is asked by
system call as well. What a version does not know is not watched: 2 links across folders, 3 truncating, 4 TCP,
5 devices, 6 signals and abstract sockets. UDP is in none of them.

Source: Linux, ``Documentation/userspace-api/landlock.rst``, ``include/uapi/linux/landlock.h``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import Any, Final

CREATE_RULESET: Final = 444
"""The number of the first of Landlock's three calls, the same on all machines."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG, MAKE_SYM = 1 << 7, 1 << 8, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

CODE: Final = READ_FILE | READ_DIR | EXECUTE
EVIDENCE: Final = READ_FILE | READ_DIR
SCRATCH: Final = (
    READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | MAKE_SYM | REMOVE_FILE | REMOVE_DIR | REFER
)
DEVICE: Final = READ_FILE | WRITE_FILE
_OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Kinds of access that make sense for something that is no folder; the kernel refuses a rule with others."""

_FIRST: Final = (1 << 13) - 1
_TCP: Final = 0b11
_SCOPES: Final = 0b11
_ANY: Final = (1 << 64) - 1
SCOPES_FROM: Final = 6
"""The version from which signals and abstract sockets can be kept inside."""


def abi() -> int:
    """The version of Landlock's interface on this kernel; 0 if there is none or it is off."""
    if sys.platform != "linux":
        return 0
    try:
        return max(0, int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, 1)))
    except (OSError, AttributeError):
        return 0


def rules(version: int, allowed: Iterable[tuple[str, int, bool]], *, scopes: bool) -> dict[str, Any]:
    """What the starter hands to the kernel.

    Args:
        version: of the interface, at least 1.
        allowed: path, kinds of access, and whether it is a folder.
        scopes: also keep signals and abstract sockets inside (from version 6 on).
    """
    watched = handled(version)
    attributes = [watched, _TCP if version >= 4 else 0, _SCOPES if scopes else 0]
    return {
        "attributes": attributes[: _fields(version)],
        "rules": [[path, access & watched & (_ANY if folder else _OF_FILES)] for path, access, folder in allowed],
    }


def handled(version: int) -> int:
    """The kinds of access to files that a version watches."""
    watched = _FIRST
    for since, access in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if version >= since:
            watched |= access
    return watched


def _fields(version: int) -> int:
    """How many 64-bit fields the kernel's structure has in a version."""
    return 1 if version < 4 else 2 if version < SCOPES_FROM else 3
