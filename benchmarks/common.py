"""What all benchmarks share: measure arms side by side, compare them as ratios, keep the result.

A benchmark is a script ``bench_<what>.py`` with one line to run it. It builds its inputs first, names its *arms* (ours
and what we compare with, each a function without arguments that does one round of the same work), and ends with
:func:`finish`::

    arms = {"ours": lambda: append(prebuilt), "bare sqlite": lambda: bare_insert(prebuilt)}
    rounds = side_by_side(arms, rounds=5)
    speed = ratio(rounds, "bare sqlite", "ours")  # > 1: ours is faster
    sys.exit(finish("record", rounds, [at_least("append, against a bare insert", speed, 0.4)]))

Rules: CPU seconds, not wall-clock, because machines are shared. All arms in one process and one run, interleaved, so
that a slow minute hits all alike; compare within a round and take the median of the rounds. Quote ratios; absolute
times are of one machine on one day. Results go to ``benchmarks/results/<name>.json``, which is committed.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import resource
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MOST_SHOWN = 2000
"""Characters of a fact that are printed."""
RESULTS = Path(__file__).resolve().parent / "results"

Arm = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Took:
    """What one round of one arm took: CPU seconds of all threads (and of child processes), and wall-clock seconds."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Promise:
    """One figure and the bound it was promised to keep."""

    what: str
    value: float
    bound: float
    kept: bool


def measure(arm: Arm) -> Took:
    """Run ``arm`` once. What earlier arms left is collected first, so that it is not on this one's bill."""
    gc.collect()
    cpu, wall = _cpu_s(), time.perf_counter()
    arm()
    return Took(_cpu_s() - cpu, time.perf_counter() - wall)


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def side_by_side(arms: Mapping[str, Arm], *, rounds: int = 5, warm_up: int = 1) -> dict[str, list[Took]]:
    """Measure all arms ``rounds`` times, each round beginning with another. Warm-up rounds are dropped."""
    names = list(arms)
    took: dict[str, list[Took]] = {name: [] for name in names}
    for number in range(-warm_up, rounds):
        for place in range(len(names)):
            name = names[(number + place) % len(names)]
            one = measure(arms[name])
            if number >= 0:
                took[name].append(one)
    return took


def ratio(took: Mapping[str, Sequence[Took]], over: str, under: str) -> float:
    """Median over rounds of the CPU seconds of arm ``over`` divided by those of arm ``under`` in the same round."""
    return statistics.median(a.cpu_s / b.cpu_s for a, b in zip(took[over], took[under], strict=True))


def median_cpu_s(took: Sequence[Took]) -> float:
    """Median CPU seconds of one arm's rounds."""
    return statistics.median(one.cpu_s for one in took)


def peak_memory_mb() -> float:
    """Most memory that this process has held so far, in MB (10**6 bytes).

    The usual figure begins, in a child, with what its parent held; Linux has a better one.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii")) if status.exists() else None
    if found:
        return int(found[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def at_least(what: str, value: float, bound: float) -> Promise:
    """Promise that ``value`` ≥ ``bound``."""
    return Promise(what, value, bound, value >= bound)


def at_most(what: str, value: float, bound: float) -> Promise:
    """Promise that ``value`` ≤ ``bound``."""
    return Promise(what, value, bound, value <= bound)


def finish(
    name: str,
    took: Mapping[str, Sequence[Took]],
    promises: Sequence[Promise],
    *,
    facts: Mapping[str, Any] | None = None,
) -> int:
    """Print the result and write it to ``benchmarks/results/<name>.json``.

    Args:
        name: the benchmark's, without ``bench_``.
        took: from :func:`side_by_side`; may be empty.
        promises: the figures that have a bound.
        facts: anything else worth keeping: sizes, counts, versions of whom we compare with.

    Returns:
        The exit status: 0 if every promise was kept, else 1.
    """
    for arm, rounds in took.items():
        low, high = min(one.cpu_s for one in rounds), max(one.cpu_s for one in rounds)
        print(f"{arm:<40} {median_cpu_s(rounds):9.4f} CPU s (median of {len(rounds)}; {low:.4f} to {high:.4f})")
    for promise in promises:
        print(f"{'kept' if promise.kept else 'MISSED':<7}{promise.what}: {promise.value:.4g} (bound {promise.bound:g})")
    for fact, value in (facts or {}).items():
        said = str(value)
        print(f"{fact}: {said if len(said) <= MOST_SHOWN else f'{said[:80]} … (all of it is in the file)'}")
    result = {
        "benchmark": name,
        "promises": [asdict(promise) for promise in promises],
        "cpu_s": {arm: [round(one.cpu_s, 6) for one in rounds] for arm, rounds in took.items()},
        "wall_s": {arm: [round(one.wall_s, 6) for one in rounds] for arm, rounds in took.items()},
        "facts": dict(facts or {}),
        "machine": {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "sqlite": sqlite3.sqlite_version,
        },
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    text = re.sub(r"\[[-\d.,\s]+\]", lambda rounds: " ".join(rounds[0].split()), text)  # an arm's rounds on one line
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    return 0 if all(promise.kept for promise in promises) else 1
