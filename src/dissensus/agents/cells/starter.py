"""The program that a cell begins with: it gives up what the cell does not get, and then becomes the program to be run.

It is handed to a bare interpreter as text and imports nothing of ours: inside a cell there is nothing of ours. Its one
argument is a mapping (:mod:`dissensus.agents.cells.launch` writes it), marshalled: to load ``json`` would take longer
than all the rest. Whatever cannot be done ends it before the program begins. What it writes to standard error as its
last act, ``token``, says that all of it was done.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # what types would load is more than all the rest
    from typing import Any


def main() -> None:
    """Enter the cell."""
    orders = marshal.loads(bytes.fromhex(sys.argv[1]))  # noqa: S302 - from whoever started us, and nobody else
    for group in orders["cgroups"]:
        with open(group, "w", encoding="ascii") as file:  # noqa: PTH123 - a file of the kernel, and no pathlib to load
            file.write("0")
    ruleset = _ruleset(orders["landlock"]) if orders["landlock"] else -1
    if orders["uid"] is not None:  # before the folder is entered: it may belong to the new user alone
        os.setgroups([])
        os.setresgid(orders["uid"], orders["uid"], orders["uid"])
        os.setresuid(orders["uid"], orders["uid"], orders["uid"])
    if orders["folder"]:
        os.chdir(orders["folder"])
    _limit(orders["limits"])
    if orders["bare"]:
        _give_up_powers()
    if orders["alone"]:
        _control(_PR_SET_PDEATHSIG, 9)
        _control(_PR_SET_NO_NEW_PRIVS, 1)
    if ruleset >= 0:
        _checked(_libc().syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
        os.close(ruleset)
    if orders["filter"]:
        _filter(bytes.fromhex(orders["filter"]))
    if orders["token"]:
        os.write(2, orders["token"].encode("ascii"))
    os.execve(orders["program"], orders["argv"], orders["env"])  # noqa: S606 - a list, no shell


_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 22, 24, 38, 47
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_O_PATH = 0o10000000
_CAPABILITY_VERSION_3 = 0x20080522


def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    import ctypes

    if result < 0:
        raise OSError(ctypes.get_errno(), what + ": " + os.strerror(ctypes.get_errno()))
    return result


def _control(option: int, value: int, third: Any = None) -> None:
    import ctypes

    long = ctypes.c_ulong
    tail = third or long(0)
    _checked(_libc().prctl(option, long(value), tail, long(0), long(0)), "prctl %d" % option)  # noqa: UP031 - no need


def _limit(limits: list[tuple[str, int, int]]) -> None:
    import resource

    for name, soft, hard in limits:
        which = getattr(resource, "RLIMIT_" + name)
        most = resource.getrlimit(which)[1]
        top = hard if most == resource.RLIM_INFINITY else min(hard, most)
        try:
            resource.setrlimit(which, (min(soft, top), top))
        except (ValueError, OSError):
            if sys.platform == "linux":  # elsewhere some limits are names only; a trial shows which
                raise


def _ruleset(told: dict[str, Any]) -> int:
    import ctypes
    import struct

    libc = _libc()
    attributes = struct.pack("<%dQ" % len(told["attributes"]), *told["attributes"])  # noqa: UP031
    ruleset = _checked(
        libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0),
        "landlock_create_ruleset",
    )
    for path, access in told["rules"]:
        where = os.open(path, _O_PATH | os.O_CLOEXEC)
        rule = struct.pack("<Qi", access, where)
        _checked(libc.syscall(_LANDLOCK_ADD_RULE, ruleset, 1, rule, 0), "landlock_add_rule " + path)
        os.close(where)
    return ruleset


def _give_up_powers() -> None:
    """All capabilities, for a root that cannot become somebody else."""
    import ctypes
    import struct

    libc = _libc()
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # the kernel knows no more, or they were given up already
    libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    _checked(libc.capset(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), bytes(24)), "capset")


def _filter(program: bytes) -> None:
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    buffer = ctypes.create_string_buffer(program, len(program))
    told = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_char_p))
    _control(_PR_SET_SECCOMP, 2, ctypes.byref(told))


if __name__ == "__main__":
    main()
