"""What a cell costs at each level: opening one, and running a program that does nothing, beside a bare Python.

Ratios are of seconds by the clock, within a round: what runs inside of bubblewrap is reaped by bubblewrap, so its CPU
seconds are on nobody's bill.

python benchmarks/bench_cells.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import anyio
from common import Took, finish, side_by_side

from dissensus.agents.cells import open_cell
from dissensus.agents.cells.guards import LEVELS, Level
from dissensus.agents.cells.interpreter import real_interpreter
from dissensus.agents.cells.ladder import best_at

TIMES = 10


def bare() -> None:
    """Start the same interpreter in the same way, and nothing else."""
    for _ in range(TIMES):
        subprocess.run([real_interpreter(), "-I", "-S", "-X", "utf8", "-c", "pass"], check=True)


async def in_a_cell(level: Level) -> None:
    """Run a program that does nothing, in one cell."""
    async with open_cell({}, highest=level) as cell:
        for _ in range(TIMES):
            await cell.run("pass")


def wall_ms(took: list[Took]) -> float:
    """Milliseconds by the clock for one start, median of the rounds."""
    return round(1000 * statistics.median(one.wall_s for one in took) / TIMES, 1)


def slower(over: list[Took], under: list[Took]) -> float:
    """Median over rounds of the seconds of one arm divided by those of another in the same round."""
    return round(statistics.median(a.wall_s / b.wall_s for a, b in zip(over, under, strict=True)), 2)


trials: dict[str, float] = {}
for one in LEVELS:
    began = time.perf_counter()
    if best_at(one)[0] is not None:
        trials[one] = round(1000 * (time.perf_counter() - began))
arms = {"bare python": bare} | {
    level: (lambda level=level: anyio.run(in_a_cell, level)) for level in LEVELS if level in trials
}
took = side_by_side(arms, rounds=7)
sys.exit(
    finish(
        "cells",
        took,
        [],
        facts={
            "starts in each round": TIMES,
            **{f"{level} / bare python, by the clock": slower(took[level], took["bare python"]) for level in trials},
            **{f"ms by the clock for a start, {name}": wall_ms(took[name]) for name in took},
            **{f"ms by the clock for the trials that find {level}": trials[level] for level in trials},
        },
    )
)
