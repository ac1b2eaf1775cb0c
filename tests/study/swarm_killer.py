"""Kill a swarm with SIGKILL at random moments, give it again, and look for anything lost or done twice.

Run as a program: ``python swarm_killer.py FOLDER KILLS SEED``. Prints one JSON object. It forks its children, so it has
to be a process of its own with a single thread.
"""

from __future__ import annotations

import json
import random
import sys
import time
from functools import partial
from pathlib import Path

from killing import attempt
from small_swarms import done_twice, ends, records, written

from dissensus.interop.tasks_file import read_tasks
from dissensus.study.swarm.running import SwarmResult, run_swarm


def child(tasks: Path, folder: Path) -> None:
    """Do what is left of the swarm."""
    run_swarm(read_tasks(tasks, folder / "evidence"), folder)


def came(tasks: Path, folder: Path) -> SwarmResult:
    """How the swarm has ended; nothing is left to be done."""
    return run_swarm(read_tasks(tasks, folder / "evidence"), folder)


def main() -> None:
    """Interrupted over and over, and once not at all."""
    folder, kills, luck = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311
    tasks = written(folder / "in", delay=0.01)
    began = time.perf_counter()
    attempt(partial(child, tasks, folder / "whole"), None)
    whole_s = time.perf_counter() - began
    expected = came(tasks, folder / "whole")
    killed = rounds = 0
    problems: list[str] = []
    while killed < kills:
        rounds += 1
        out = folder / str(rounds)
        while attempt(partial(child, tasks, out), luck.uniform(0.02, 0.9) * whole_s if killed < kills else None):
            killed += 1
        found = came(tasks, out)
        problems += done_twice(out)
        if ends(found) != ends(expected) or [one.fate for one in found.plants] != [one.fate for one in expected.plants]:
            problems.append(f"round {rounds} ended as {ends(found)}")
        if found.cost.calls != expected.cost.calls:
            problems.append(f"round {rounds} has {found.cost.calls} answered calls, not {expected.cost.calls}")
        whole = {path.relative_to(folder / "whole") for path in records(folder / "whole")}
        mine = {path.relative_to(out) for path in records(out)}
        problems += [f"round {rounds} lacks {path}" for path in sorted(whole - mine)]
    sys.stdout.write(json.dumps({"kills": killed, "rounds": rounds, "problems": problems[:20]}))


if __name__ == "__main__":
    main()
