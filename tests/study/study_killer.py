"""Kill a study with SIGKILL at random moments, give the same command again, and look for anything lost or done twice.

Run as a program: ``python study_killer.py FOLDER KILLS SEED``. Prints one JSON object. It forks its children, so it has
to be a process of its own with a single thread.
"""

from __future__ import annotations

import json
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from killing import attempt
from small_studies import TOY, written

from dissensus.record.opening import open_record
from dissensus.record.verify import verify
from dissensus.study.executor import Local
from dissensus.study.gather import rows_of
from dissensus.study.grid import units_of
from dissensus.study.report import report_of
from dissensus.study.study_file import read_study
from dissensus.study.unit_runs import found

TEXT = TOY.replace("tokenizer: character,", "tokenizer: character, delay_s: 0.002,").replace("count: 4", "count: 2")


def child(path: Path, folder: Path) -> None:
    """Do what is left of the study."""
    units = [unit for unit in units_of(read_study(path)) if found(folder, unit) is None]
    anyio.run(Local(2).run, folder, units, lambda _unit, _found: None)


def came(path: Path, folder: Path) -> tuple[Any, dict[str, int]]:
    """The report without what the clock says, and what the records hold."""
    whole = read_study(path)
    units = units_of(whole)
    rows = list(rows_of(folder, units))
    data = report_of(whole, rows, units=len(units)).to_data()
    for cell in data["cells"]:
        del cell["seconds"]
    del data["equal_cost"]
    records = sorted(folder.rglob("*.db"))
    outcomes = repeated = 0
    for record in records:
        verify(record)
        with open_record(record) as store:
            keys = [event.key for event in store.read() if event.kind == "outcome"]
        outcomes += len(keys)
        repeated += len(keys) - len(set(keys))
    return data, {"records": len(records), "outcomes": outcomes, "repeated": repeated, "units": len(units)}


def main() -> None:
    """Interrupted over and over, and once not at all."""
    folder, kills, luck = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311
    path = written(folder, TEXT)
    began = time.perf_counter()
    attempt(partial(child, path, folder / "whole"), None)
    whole_s = time.perf_counter() - began
    expected, counts = came(path, folder / "whole")
    killed = rounds = 0
    same = True
    while killed < kills:
        rounds += 1
        out = folder / str(rounds)
        while attempt(partial(child, path, out), luck.uniform(0.1, 0.5) * whole_s if killed < kills else None):
            killed += 1
        data, own = came(path, out)
        same = same and data == expected and own == counts
    sys.stdout.write(json.dumps({"kills": killed, "rounds": rounds, "same": same, **counts}))


if __name__ == "__main__":
    main()
