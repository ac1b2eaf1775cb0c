"""The audit of large tables, beside other ways to compute the same.

    python benchmarks/bench_measure.py [--quick]

* plurality of 1,000,000 votes, beside crowd-kit's MajorityVote on the same numbers, with the same winners out;
* the exact subset curve of 2,000 questions and 9 voters, beside the mean over every choice of voters, and beside plain
  Python that goes through the counts of one question after the other;
* a whole audit of 12,032 questions x 28 voters, and of 1,000,000 x 9, each from its CSV file, in a process of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from common import Took, at_least, at_most, finish, peak_memory_mb, ratio, side_by_side

from dissensus.measure.subsets import plurality_curve
from dissensus.measure.table import Codes, VoteTable
from dissensus.measure.tallies import count_patterns, tally, winners

LETTERS = "ABCDEFGHIJ"
SIZES = (3, 5, 7, 9)


def panel(questions: int, voters: int, *, options: int = 10, seed: int = 1) -> Codes:
    """Answers of voters that share what they find hard and what lures them; 0 is right, -1 is blank."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.6, -0.2, voters)
    right = 0.7 * rng.normal(size=(questions, 1)) + 0.7 * rng.normal(size=(questions, voters)) < skill
    lure = rng.integers(1, options, size=(questions, 1))
    other = rng.integers(1, options, size=(questions, voters))
    wrong = np.where(rng.random((questions, voters)) < 0.4, lure, other)
    codes: Codes = np.where(right, 0, wrong).astype(np.int32)
    codes[rng.random(codes.shape) < 0.03] = -1
    return codes


def table(codes: Codes) -> VoteTable:
    """The same as a table whose right answer is 0."""
    return VoteTable(
        codes=codes,
        gold=np.zeros(len(codes), dtype=np.int32),
        voters=tuple(f"v{place}" for place in range(codes.shape[1])),
    )


# --- whom we compare with


def crowd_kit(codes: Codes) -> Any:
    """A function that runs crowd-kit's MajorityVote on the votes of ``codes``."""
    import pandas as pd  # type: ignore[import-untyped]
    from crowdkit.aggregation import MajorityVote  # type: ignore[import-not-found]

    task, worker = np.nonzero(codes >= 0)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": codes[task, worker]})
    return lambda: MajorityVote().fit_predict(frame)


def every_choice(codes: Codes) -> list[float]:
    """The curve as its definition says: the mean over every choice of n voters."""
    whole = table(codes)
    return [
        float(np.mean([tally(whole.columns(chosen)).credit.mean() for chosen in itertools.combinations(range(9), n)]))
        for n in SIZES
    ]


def plain_python(codes: Codes) -> list[float]:
    """The curve question by question: polynomials in lists, and a cache by sorted counts."""
    counts = count_patterns(table(codes))
    m = counts.n

    @cache
    def one(right: int, wrong: tuple[int, ...], n: int) -> float:
        blank, total = m - right - sum(wrong), 0.0
        for a in range(1, min(right, n) + 1):
            ways = {0: [float(math.comb(blank, b)) for b in range(n - a + 1)]}
            for c in wrong:
                after: dict[int, list[float]] = {}
                for ties, row in ways.items():
                    for i in range(min(a, c) + 1):
                        into = after.setdefault(ties + (i == a), [0.0] * (n - a + 1))
                        for b in range(n - a + 1 - i):
                            into[b + i] += row[b] * math.comb(c, i)
                ways = after
            total += math.comb(right, a) * sum(row[n - a] / (1 + ties) for ties, row in ways.items())
        return total / math.comb(m, n)

    found = []
    for n in SIZES:
        values = [
            one(int(right), tuple(int(c) for c in wrong if c), n)
            for right, wrong in zip(counts.right, counts.wrong, strict=True)
        ]
        found.append(float(np.average(values, weights=counts.times)))
    return found


def exact(codes: Codes) -> list[float]:
    """Ours."""
    counts = count_patterns(table(codes))
    found: list[float] = (counts.times @ plurality_curve(counts, SIZES) / counts.times.sum()).tolist()
    return found


# --- whole audits


def whole_audit(path: str) -> None:
    """Audit one file; print wall-clock and CPU seconds and the most memory held, and the first lines of the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    from dissensus.interop.reading import read_table
    from dissensus.measure.audit import audit

    read = read_table([path])
    reading = time.perf_counter() - wall
    found = audit(read.table, reading=read.report)
    found.to_data()
    print(
        json.dumps(
            {
                "wall_s": time.perf_counter() - wall,
                "reading_s": reading,
                "cpu_s": time.process_time() - cpu,
                "memory_mb": peak_memory_mb(),
                "text": found.lines()[:5],
            }
        )
    )


def audited(questions: int, voters: int) -> dict[str, Any]:
    """The audit of a random panel from its CSV file, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        names = np.array([*LETTERS, ""])
        with path.open("w", encoding="utf-8") as file:
            file.write("id,n_options,gold," + ",".join(f"voter {place}" for place in range(voters)) + "\n")
            for number, row in enumerate(names[panel(questions, voters)]):
                file.write(f"{number},10,A,{','.join(row)}\n")
        command = [sys.executable, __file__, "--audit", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    parser.add_argument("--audit", metavar="FILE", help="audit one file; used by the benchmark itself")
    asked = parser.parse_args()
    if asked.audit:
        whole_audit(asked.audit)
        return 0
    rounds = 3 if asked.quick else 5
    took: dict[str, list[Took]] = {}
    facts: dict[str, Any] = {}
    promises = []

    votes = panel(20_000 if asked.quick else 100_000, 10, options=4)
    arms: dict[str, Any] = {
        "winners of 1M votes": lambda: winners(votes),
        "tally of 1M votes": lambda: tally(table(votes)),
    }
    try:
        arms["crowd-kit MajorityVote"] = crowd_kit(votes)
        facts["crowd-kit"] = version("crowd-kit")
    except (ImportError, PackageNotFoundError):
        facts["crowd-kit"] = "not installed: run make bench"
    took |= side_by_side(arms, rounds=rounds)
    if "crowd-kit MajorityVote" in arms:
        theirs = arms["crowd-kit MajorityVote"]()
        ours = winners(votes)
        known = ours[theirs.index.to_numpy()]
        facts["same winners where one answer leads"] = bool((known[known >= 0] == theirs.to_numpy()[known >= 0]).all())
        promises.append(
            at_least("majority, against crowd-kit", ratio(took, "crowd-kit MajorityVote", "winners of 1M votes"), 20)
        )
        times = ratio(took, "crowd-kit MajorityVote", "tally of 1M votes")
        facts["tally with ties and credit, against crowd-kit"] = round(times, 1)

    small = panel(500 if asked.quick else 2_000, 9)
    curves = {"exact curve": lambda: exact(small), "every choice of voters": lambda: every_choice(small)}
    took |= side_by_side(curves, rounds=rounds)
    largest = max(abs(a - b) for a, b in zip(exact(small), every_choice(small), strict=True))
    promises.append(at_most("exact curve, largest difference from every choice", largest, 1e-12))
    promises.append(
        at_least("exact curve, against every choice", ratio(took, "every choice of voters", "exact curve"), 1)
    )
    wide = panel(1_000 if asked.quick else 12_032, 28)
    curves = {"exact curve, 28 voters": lambda: exact(wide), "plain Python, 28 voters": lambda: plain_python(wide)}
    took |= side_by_side(curves, rounds=1 if asked.quick else 2, warm_up=0)
    largest = max(abs(a - b) for a, b in zip(exact(wide), plain_python(wide), strict=True))
    promises.append(at_most("exact curve of 28 voters, largest difference from plain Python", largest, 1e-12))
    times = ratio(took, "plain Python, 28 voters", "exact curve, 28 voters")
    promises.append(at_least("exact curve of 28 voters, against plain Python", times, 1))

    for questions, voters, seconds in ((12_032, 28, 10.0), (100_000 if asked.quick else 1_000_000, 9, 60.0)):
        found = audited(questions, voters)
        name = f"audit of {questions:,} x {voters}"
        promises.append(at_most(f"{name}, CPU seconds", found["cpu_s"], seconds))
        promises.append(at_most(f"{name}, MB", found["memory_mb"], 1000))
        facts[name] = {key: round(value, 2) for key, value in found.items() if key != "text"}
        print("\n".join(found["text"]))
    return finish("measure", took, promises, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
