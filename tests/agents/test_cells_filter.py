"""The filter of system calls, run on a machine for packet filters of our own: so that of the other processor too."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.cells import landlock, seccomp
from dissensus.agents.cells.syscalls import MACHINES, NUMBERS, number

HEADERS: Final = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
CLONE_THREAD_FLAGS = 0x3D0F00
"""What a C library asks for when it makes a thread."""


def decided(program: bytes, call: int, arguments: tuple[int, ...] = (), architecture: int | None = None) -> int:
    """What the kernel would return for a call: the value of the return that is reached."""
    padded = (*arguments, *([0] * (6 - len(arguments))))
    data = struct.pack("<IIQ6Q", call & 0xFFFFFFFF, architecture or 0, 0, *(one & (2**64 - 1) for one in padded))
    code = list(struct.iter_unpack("<HBBI", program))
    accumulator, at = 0, 0
    operation: int
    k: int
    while True:
        operation, yes, no, k = code[at]
        at += 1
        match operation:
            case seccomp.LOAD:
                (accumulator,) = struct.unpack_from("<I", data, k)
            case seccomp.AND:
                accumulator &= k
            case seccomp.JUMP_EQUAL:
                at += yes if accumulator == k else no
            case seccomp.JUMP_AT_LEAST:
                at += yes if accumulator >= k else no
            case seccomp.RETURN:
                return k
            case _:
                raise AssertionError(f"no such instruction: {operation:#x}")


class Tried:
    """A filter, asked by names of calls."""

    def __init__(self, machine: str, *, files: bool = False, signals: bool = False) -> None:
        self.machine = machine
        self.program = seccomp.filter_for(machine, files=files, signals=signals)

    def says(self, name: str, *arguments: int) -> int:
        """0 if the call is let through, else the number of the error."""
        nr = number(name, self.machine)
        assert nr is not None
        result = decided(self.program, nr, arguments, seccomp.ARCHITECTURES[self.machine])
        if result == seccomp.ALLOW:
            return 0
        assert result & 0xFFFF0000 == seccomp.REFUSE
        return result & 0xFFFF


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernel(machine: str) -> None:
    header = next((Path(path) for path in HEADERS[machine] if Path(path).is_file()), None)
    if header is None:
        pytest.skip(f"the kernel's headers for {machine} are not installed")
    lines = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", header.read_text(encoding="utf-8"))
    real = {name: int(text) for name, text in lines}
    assert len(real) > 200
    compared = [name for name in NUMBERS if name in real]
    assert len(compared) > 60
    assert {name: number(name, machine) for name in compared} == {name: real[name] for name in compared}
    if machine == "x86_64":
        absent = [name for name in NUMBERS if number(name, machine) is None]
        assert not [name for name in absent if name in real]


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_refused_at_every_level(machine: str) -> None:
    tried = Tried(machine)
    for family in range(50):
        assert tried.says("socket", family, 1) == errno.EPERM
    for name in ("connect", "bind", "unshare", "setns", "setsid", "setpgid", "mount", "ptrace", "bpf", "keyctl"):
        assert tried.says(name) == errno.EPERM, name
    for name in ("io_uring_setup", "memfd_create", "shmget", "open_by_handle_at", "process_vm_readv", "userfaultfd"):
        assert tried.says(name) == errno.EPERM, name
    assert tried.says("clone3") == errno.ENOSYS  # its flags lie behind a pointer: libraries fall back to clone


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=st.integers(0, 2**32 - 1))
def test_clone_makes_processes_and_no_namespaces(machine: str, flags: int) -> None:
    tried = Tried(machine)
    new = 0x00000080 | 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
    assert tried.says("clone", flags) == (errno.EPERM if flags & new else 0)
    assert tried.says("clone", CLONE_THREAD_FLAGS) == 0


@pytest.mark.parametrize("machine", MACHINES)
def test_a_pair_of_streams_is_all_that_is_left_of_sockets(machine: str) -> None:
    tried = Tried(machine)
    cloexec, nonblock = 0o2000000, 0o4000
    assert tried.says("socketpair", 1, 1) == 0
    assert tried.says("socketpair", 1, 1 | cloexec | nonblock) == 0
    for family, kind in ((1, 2), (1, 2 | cloexec), (1, 5), (2, 1), (16, 3)):
        assert tried.says("socketpair", family, kind) == errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
@given(pid=st.integers(-(2**31), 2**31 - 1))
def test_whose_limits_and_priorities_may_be_set(machine: str, pid: int) -> None:
    tried = Tried(machine)
    for name in ("prlimit64", "sched_setaffinity", "sched_setscheduler"):
        assert tried.says(name, pid) == (0 if pid == 0 else errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
@given(pid=st.integers(-(2**31), 2**31 - 1), number_of_signal=st.integers(0, 64))
def test_signals_where_nothing_else_keeps_them_inside(machine: str, pid: int, number_of_signal: int) -> None:
    kept, free = Tried(machine, signals=True), Tried(machine)
    assert kept.says("kill", pid, number_of_signal) == (0 if pid == 0 else errno.EPERM)
    assert free.says("kill", pid, number_of_signal) == 0
    assert kept.says("tgkill", pid, pid, number_of_signal) == errno.EPERM
    assert kept.says("fcntl", 3, 8, pid) == errno.EPERM
    assert kept.says("fcntl", 3, 4, 0o2000) == 0  # other uses of the same calls go on
    assert kept.says("ioctl", 3, 0x8901) == errno.EPERM
    assert kept.says("ioctl", 3, 0x5413) == 0


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=st.integers(0, 2**31 - 1))
def test_a_file_that_is_read_is_not_emptied(machine: str, flags: int) -> None:
    tried = Tried(machine, files=True)
    emptied = flags & 0o1000 and flags & 0o3 == 0
    assert tried.says("openat", -100, 0, flags) == (errno.EPERM if emptied else 0)
    if machine == "x86_64":
        assert tried.says("open", 0, flags) == (errno.EPERM if emptied else 0)
    assert tried.says("openat2") == errno.ENOSYS
    for name in ("fchmod", "fchmodat", "fchownat", "utimensat", "setxattr", "removexattr", "truncate"):
        assert tried.says(name) == errno.EPERM
        assert Tried(machine).says(name) == 0


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_end_the_program(machine: str) -> None:
    program = seccomp.filter_for(machine, files=True, signals=True)
    for architecture in (0x40000003, 0x40000028, *seccomp.ARCHITECTURES.values()):
        result = decided(program, 1, (), architecture)
        assert result == (seccomp.ALLOW if architecture == seccomp.ARCHITECTURES[machine] else seccomp.KILL)


@given(call=st.integers(0, 2**31 - 1))
def test_the_second_set_of_numbers_of_x86_is_closed(call: int) -> None:
    program = seccomp.filter_for("x86_64", files=False, signals=False)
    result = decided(program, call | 0x40000000, (), seccomp.ARCHITECTURES["x86_64"])
    assert result == seccomp.REFUSE | errno.ENOSYS


@given(
    call=st.integers(0, 600), machine=st.sampled_from(MACHINES), arguments=st.tuples(*[st.integers(0, 2**64 - 1)] * 6)
)
def test_what_no_rule_names_is_let_through(call: int, machine: str, arguments: tuple[int, ...]) -> None:
    program = seccomp.filter_for(machine, files=True, signals=True)
    result = decided(program, call, arguments, seccomp.ARCHITECTURES[machine])
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096  # the kernel's limit
    if call not in {number(name, machine) for name in NUMBERS}:
        assert result == seccomp.ALLOW


def test_a_machine_without_a_filter() -> None:
    assert not seccomp.known("riscv64")
    with pytest.raises(KeyError):
        seccomp.filter_for("riscv64", files=False, signals=False)


@pytest.mark.parametrize("version", range(1, 9))
def test_a_rule_asks_for_nothing_that_its_version_does_not_know(version: int) -> None:
    allowed = [("/somewhere", landlock.SCRATCH, True), ("/dev/null", landlock.SCRATCH, False)]
    told = landlock.rules(version, allowed, scopes=version >= 6)
    watched = told["attributes"][0]
    assert watched & 0x1FFF == 0x1FFF
    assert len(told["attributes"]) == (1 if version < 4 else 2 if version < 6 else 3)
    for _, access in told["rules"]:
        assert access & ~watched == 0
    of_a_file = told["rules"][1][1]
    assert of_a_file & (landlock.READ_DIR | landlock.MAKE_DIR | landlock.REMOVE_FILE | landlock.REFER) == 0
    assert not landlock.EVIDENCE & (landlock.WRITE_FILE | landlock.EXECUTE)
    assert not landlock.SCRATCH & landlock.EXECUTE
