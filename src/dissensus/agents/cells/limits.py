"""How much a program in a cell may use."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from dissensus.errors import UsageError

MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run of one program in a cell. docs/cells.md says which of them hold at which level.

    Args:
        wall_s: seconds by the clock; then the program and all that it started are ended.
        cpu_s: seconds of processor time for each process.
        memory_bytes: address space of each process.
        memory_together_bytes: memory in use by all processes together; looked at ten times a second.
        processes: processes and threads at one time, the program itself among them.
        file_bytes: size of one file.
        disk_bytes: size of all files that the program leaves or keeps at one time.
        files: number of files and folders; looked at ten times a second.
        open_files: open files of each process.
        output_bytes: what is kept of standard output, and as much of standard error; the rest is read and dropped.

    Raises:
        UsageError: a limit is not positive.
    """

    wall_s: float = 30.0
    cpu_s: int = 20
    memory_bytes: int = 512 * MEGABYTE
    memory_together_bytes: int = 1024 * MEGABYTE
    processes: int = 32
    file_bytes: int = 32 * MEGABYTE
    disk_bytes: int = 64 * MEGABYTE
    files: int = 10_000
    open_files: int = 256
    output_bytes: int = MEGABYTE

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise UsageError(
                    f"The limit {field.name} of a cell is {getattr(self, field.name)}.",
                    next_step="Give a number above 0.",
                )

    def for_the_kernel(self, processes: int | None) -> list[tuple[str, int, int]]:
        """Name, soft and hard value of each limit that the kernel holds a process to; ``processes``: None for none."""
        found = [
            ("CPU", self.cpu_s, self.cpu_s + 1),
            ("AS", self.memory_bytes, self.memory_bytes),
            ("FSIZE", self.file_bytes, self.file_bytes),
            ("NOFILE", self.open_files, self.open_files),
            ("CORE", 0, 0),
        ]
        if processes is not None:
            found.append(("NPROC", processes, processes))
        return found
