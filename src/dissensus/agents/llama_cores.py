"""How many threads the engine gets: the cores that are there, less those that others keep busy."""

from __future__ import annotations

import os
import time
from pathlib import Path


def idle_cores() -> int:
    """Physical cores that this process may use and that nothing else keeps busy now; at least 1.

    ``DISSENSUS_LLAMA_THREADS`` overrides it.
    """
    own = os.environ.get("DISSENSUS_LLAMA_THREADS", "")
    if own.isdigit() and int(own) > 0:
        return int(own)
    return max(1, physical_cores() - round(busy_cores()))


def physical_cores(system: Path = Path("/sys")) -> int:
    """Cores without their hyper-threads, within this process's affinity and its container's CPU limit."""
    try:
        mine = os.sched_getaffinity(0)
    except AttributeError:  # pragma: no cover - not on Linux
        return max(1, (os.cpu_count() or 2) // 2)
    cores = set()
    for cpu in mine:
        siblings = system / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        try:
            cores.add(siblings.read_text().strip())
        except OSError:
            cores.add(str(cpu))
    count = len(cores)
    try:
        quota, period = (system / "fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            count = min(count, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(1, count)


def busy_cores(stat: Path = Path("/proc/stat"), over_s: float = 0.2) -> float:
    """How many cores were busy during the last moment; 0 where the system does not tell."""

    def times() -> tuple[int, int]:
        with stat.open() as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # idle, and waiting for a disk

    try:
        total, idle = times()
        time.sleep(over_s)
        total_now, idle_now = times()
    except (OSError, ValueError, IndexError):
        return 0.0
    if total_now == total:
        return 0.0
    return (os.cpu_count() or 1) * (1 - (idle_now - idle) / (total_now - total))
