"""CPU time of ``dissensus --help``, beside a Python that does nothing and one that imports click.

python benchmarks/bench_startup.py
"""

from __future__ import annotations

import subprocess
import sys

from common import at_most, finish, median_cpu_s, ratio, side_by_side

TIMES = 5


def run(*arguments: str) -> None:
    """Start Python a few times and wait for it."""
    for _ in range(TIMES):
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)


HELP = "import sys; from dissensus.cli.main import main; sys.argv[1:] = ['--help']; main()"
took = side_by_side(
    {
        "bare python": lambda: run("-c", "pass"),
        "python, import click": lambda: run("-c", "import click"),
        "dissensus --help": lambda: run("-c", HELP),
    },
    rounds=9,
)
sys.exit(
    finish(
        "startup",
        took,
        [at_most("CPU seconds of dissensus --help", median_cpu_s(took["dissensus --help"]) / TIMES, 0.3)],
        facts={
            "starts in each round": TIMES,
            "dissensus --help / bare python": round(ratio(took, "dissensus --help", "bare python"), 2),
            "dissensus --help / import click": round(ratio(took, "dissensus --help", "python, import click"), 2),
        },
    )
)
