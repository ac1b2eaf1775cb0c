"""The filter of system calls that a cell runs under, as a program for the kernel's packet filter (classic BPF).

The filter lets everything through but what leads out of a cell: sockets of every kind, new namespaces, other processes,
the kernel's own machinery, and memory that no limit counts. Landlock needs its help: it knows files and TCP, and lets
UDP, netlink and local sockets, modes, owners and times of files pass.

Rules look at numbers in registers and never at what a pointer points to: that could be changed after the look. Where
a call hides its flags behind a pointer (``clone3``, ``openat2``), it is answered as if the kernel did not have it, and
libraries fall back to the older call.

Source: Linux, ``Documentation/userspace-api/seccomp_filter.rst``, ``include/uapi/linux/{filter,seccomp,audit}.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dissensus.agents.cells.syscalls import MACHINES, number

LOAD: Final = 0x20
"""A word of the call: A = data[k]."""
AND: Final = 0x54
JUMP_EQUAL: Final = 0x15
JUMP_AT_LEAST: Final = 0x35
RETURN: Final = 0x06
ALLOW: Final = 0x7FFF0000
REFUSE: Final = 0x00050000
"""Or-ed with the number of the error that the caller sees."""
KILL: Final = 0x80000000
ARCHITECTURES: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_X32: Final = 0x40000000
"""Calls of the 32-bit pointer variant of x86_64 have this bit: the same calls under other numbers."""
_NR, _ARCH, _ARGUMENTS = 0, 4, 16
_ALL: Final = 0xFFFFFFFF

_NEW_NAMESPACES: Final = 0x7E020080
"""CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} and CLONE_NEWTIME."""
_AF_UNIX, _SOCK_STREAM = 1, 1
_F_SETOWN, _F_SETOWN_EX = 8, 15
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000


@dataclass(frozen=True, slots=True)
class When:
    """Argument ``argument`` (its low 32 bits), masked, is ``value``; or is not, if ``unless``."""

    argument: int
    value: int
    mask: int = _ALL
    unless: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Calls that are refused with ``error``: always, or if one of ``when`` holds."""

    calls: tuple[str, ...]
    when: tuple[When, ...] = ()
    error: int = errno.EPERM


_OWN_PID: Final = (When(0, 0, unless=True),)
"""0 means the caller itself."""

_ALWAYS: Final = (
    Rule(("socket", "connect", "bind", "listen", "io_uring_setup", "io_uring_enter", "io_uring_register")),
    # a pair of streams can be joined to nobody else; a pair of datagram sockets can send to any local address
    Rule(("socketpair",), (When(0, _AF_UNIX, unless=True), When(1, _SOCK_STREAM, mask=0xF, unless=True))),
    Rule(("clone",), (When(0, 0, mask=_NEW_NAMESPACES, unless=True),)),
    Rule(("clone3", "openat2"), error=errno.ENOSYS),
    # all stay in the group of processes that is ended with the program
    Rule(("unshare", "setns", "setsid", "setpgid")),
    Rule(("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr")),
    Rule(("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr")),
    Rule(("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd")),
    Rule(("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"), _OWN_PID),
    Rule(("setpriority", "ioprio_set", "migrate_pages", "move_pages")),
    Rule(("bpf", "perf_event_open", "userfaultfd", "fanotify_init", "open_by_handle_at", "syslog")),
    Rule(("add_key", "request_key", "keyctl")),
    Rule(("memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open")),
)
_FILES: Final = (
    # what Landlock does not know: it watches opening, not changing what has a name
    Rule(("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat")),
    Rule(("utime", "utimes", "futimesat", "utimensat", "file_setattr", "truncate")),
    Rule(("setxattr", "lsetxattr", "fsetxattr", "setxattrat")),
    Rule(("removexattr", "lremovexattr", "fremovexattr", "removexattrat")),
    # emptying a file that is opened for reading: the first two versions of Landlock let it pass
    Rule(("open",), (When(1, _O_TRUNC, mask=_O_ACCMODE | _O_TRUNC),)),
    Rule(("openat",), (When(2, _O_TRUNC, mask=_O_ACCMODE | _O_TRUNC),)),
)
_SIGNALS: Final = (
    Rule(("kill",), _OWN_PID),
    Rule(("tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")),
    # a signal can also be sent by having a file send it
    Rule(("fcntl",), (When(1, _F_SETOWN), When(1, _F_SETOWN_EX))),
    Rule(("ioctl",), (When(1, _FIOSETOWN), When(1, _SIOCSPGRP))),
)


def known(machine: str) -> bool:
    """Whether there is a filter for ``machine`` (as ``os.uname().machine``)."""
    return machine in MACHINES


def filter_for(machine: str, *, files: bool, signals: bool) -> bytes:
    """The filter, 8 bytes an instruction, in the order of the machine's bytes (little-endian on both).

    Args:
        machine: one of :data:`~.syscalls.MACHINES`.
        files: also refuse changes to modes, owners, times and attributes: where the file system is the host's.
        signals: also refuse every signal but those to the program's own group: where nothing else keeps them inside.

    Raises:
        KeyError: there is no filter for this machine.
    """
    rules = [*_ALWAYS, *(_FILES if files else ()), *(_SIGNALS if signals else ())]
    return b"".join(_head(machine)) + b"".join(_body(rules, machine)) + _code(RETURN, ALLOW)


def _code(operation: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", operation, yes, no, k)


def _head(machine: str) -> Iterator[bytes]:
    yield _code(LOAD, _ARCH)
    yield _code(JUMP_EQUAL, ARCHITECTURES[machine], 1, 0)
    yield _code(RETURN, KILL)  # calls of another architecture have other numbers
    yield _code(LOAD, _NR)
    if machine == "x86_64":
        yield _code(JUMP_AT_LEAST, _X32, 0, 1)
        yield _code(RETURN, REFUSE | errno.ENOSYS)


def _body(rules: Sequence[Rule], machine: str) -> Iterator[bytes]:
    for rule in rules:
        for call in rule.calls:
            if (nr := number(call, machine)) is not None:
                block = b"".join(_refusal(rule))
                yield _code(JUMP_EQUAL, nr, 0, len(block) // 8)
                yield block


def _refusal(rule: Rule) -> Iterator[bytes]:
    refuse = _code(RETURN, REFUSE | rule.error)
    if not rule.when:
        yield refuse
        return
    for when in rule.when:
        yield _code(LOAD, _ARGUMENTS + 8 * when.argument)
        yield _code(AND, when.mask)
        yield _code(JUMP_EQUAL, when.value, int(when.unless), int(not when.unless))
        yield refuse
    yield _code(LOAD, _NR)
