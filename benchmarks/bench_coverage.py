"""How often the 95 % intervals of the audit hold the truth, for 100, 300 and 1,000 questions.

    python benchmarks/bench_coverage.py [--tables 1000] [--quick]

Panels of nine voters, ten options, whose truth is the mean over two million questions:

* ``mixed``: accuracies .45 to .70, correlated, wrong voters drawn to the same lure: unanimity is often wrong;
* ``independent``: nine equal voters of .7;
* ``ceiling``: accuracies .93 to .96, correlated: a panel that is wrong on 1 question in 100, so that tables of 100
  questions hold one error. There some intervals are too narrow, and the audit says so (fewer than ten errors).

The comparison is with the voter who is best in truth. Unanimity is exact (Clopper and Pearson) and errs on the safe
side.
Each panel is drawn ``--tables`` times; with 1,000 tables a coverage of .95 is known to within .014.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Promise, at_least, finish

from dissensus.measure.agreement import unanimous
from dissensus.measure.bootstrap import interval, mean_of_values, units_of, units_of_values
from dissensus.measure.curve import curve_of
from dissensus.measure.intervals import share
from dissensus.measure.pairs import mean_phi, pairs_of, phi_units, rho_from_sums
from dissensus.measure.subsets import plurality_curve, usual_sizes
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import count_patterns, tally

N = 9
QUESTIONS = (100, 300, 1_000)
TRUTH = 2_000_000
TIMES = 1_000


def panel(questions: int, skill: np.ndarray[Any, Any], shared: float, lured: float, seed: int) -> VoteTable:
    """Voters with these latent skills, who share ``shared`` of what makes a question hard; errors may be ``lured``."""
    rng = np.random.default_rng(seed)
    hard = np.sqrt(shared) * rng.normal(size=(questions, 1))
    right = hard + np.sqrt(1 - shared) * rng.normal(size=(questions, N)) < skill
    lure = rng.integers(1, 10, size=(questions, 1), dtype=np.int32)
    other = rng.integers(1, 10, size=(questions, N), dtype=np.int32)
    wrong = np.where(rng.random((questions, N)) < lured, lure, other)
    return VoteTable(
        codes=np.where(right, np.int32(0), wrong),
        gold=np.zeros(questions, dtype=np.int32),
        voters=tuple("abcdefghi"),
    )


PANELS: dict[str, Callable[[int, int], VoteTable]] = {
    "mixed": lambda questions, seed: panel(questions, np.linspace(0.52, -0.13, N), 0.45, 0.95, seed),
    "independent": lambda questions, seed: panel(questions, np.full(N, 0.5244), 0.0, 0.4, seed),
    "ceiling": lambda questions, seed: panel(questions, np.linspace(1.75, 1.48, N), 0.45, 0.4, seed),
}


def figures(table: VoteTable) -> dict[str, Any]:
    """The truth, from a table that is large enough."""
    counted = tally(table)
    right = counted.right.astype(float)
    pairs = pairs_of(table)
    counts = count_patterns(table)
    all_alike = counted.unanimous
    return {
        "rho": float(rho_from_sums(right.sum(), (right**2).sum(), np.array(float(len(right))), N)),
        "mean phi": float(pairs.phi[pairs.above()].mean()),
        "plurality": float(counted.credit.mean()),
        "plurality minus a voter": float((counted.credit - table.right[:, 0]).mean()),
        "unanimous and wrong": float(1 - counted.credit[all_alike].mean()),
        "curve": counts.times @ plurality_curve(counts, usual_sizes(N)) / counts.times.sum(),
    }


def covered(table: VoteTable, truth: dict[str, Any], seed: int) -> dict[str, bool]:
    """Whether each interval of ``table`` holds the truth."""
    counted = tally(table)
    counts = count_patterns(table)
    right = counted.right.astype(float)
    levels, times = np.unique(right, return_counts=True)
    by_level = units_of(np.column_stack([levels, levels**2, np.ones_like(levels)]), counts=times)
    difference = units_of_values(counted.credit - table.right[:, 0])
    plurality = share(counted.credit)
    wrong = unanimous(counted, None, 0.0, 0.0, None).share_wrong
    curve = curve_of(counts, times=TIMES, seed=seed)
    best = usual_sizes(N).index(curve.argmax)
    behind = truth["curve"][best] - truth["curve"]
    return {
        "rho": _holds(interval(by_level, _rho, times=TIMES, seed=seed), truth["rho"]),
        "mean phi": _holds(
            interval(phi_units(table.right), lambda sums: mean_phi(sums, N), times=TIMES, seed=seed), truth["mean phi"]
        ),
        "plurality": _holds((plurality.low, plurality.high), truth["plurality"]),
        "plurality minus a voter": _holds(
            interval(difference, mean_of_values, times=TIMES, seed=seed), truth["plurality minus a voter"]
        ),
        "unanimous and wrong": wrong.rate is None or _holds((wrong.low, wrong.high), truth["unanimous and wrong"]),
        "band of the curve": all(
            _holds(point.band, value) for point, value in zip(curve.points, truth["curve"], strict=True)
        ),
        "band of the distance to the best size": all(
            _holds(point.behind_band, value) for point, value in zip(curve.points, behind, strict=True)
        ),
    }


def _rho(sums: Any) -> Any:
    return rho_from_sums(sums[:, 0], sums[:, 1], sums[:, 2], N)


def _holds(found: tuple[float | None, float | None] | None, value: float) -> bool:
    if found is None or found[0] is None or found[1] is None:
        return False
    return bool(found[0] - 1e-12 <= value <= found[1] + 1e-12)


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="60 tables of each kind")
    asked = parser.parse_args()
    many = 60 if asked.quick else asked.tables
    facts: dict[str, Any] = {"tables": many, "drawings": TIMES}
    promises: list[Promise] = []
    for name, make in PANELS.items():
        truth = figures(make(TRUTH, 1))
        facts[f"{name}: truth"] = {
            key: np.round(value, 5).tolist() if key == "curve" else round(value, 6) for key, value in truth.items()
        }
        for questions in QUESTIONS:
            hits: dict[str, int] = {}
            for number in range(many):
                for what, hit in covered(make(questions, 1000 + number), truth, number).items():
                    hits[what] = hits.get(what, 0) + hit
            rates = {what: round(hit / many, 3) for what, hit in hits.items()}
            facts[f"{name}, {questions} questions"] = rates
            print(
                f"{name:<12} {questions:>5}  " + "  ".join(f"{what} {rate:.3f}" for what, rate in rates.items()),
                flush=True,
            )
            if name != "ceiling":
                slack = 3 * (0.95 * 0.05 / many) ** 0.5  # what luck may take
                promises += [
                    at_least(f"{name}, {questions} questions: {what}", rate, round(0.945 - slack, 3))
                    for what, rate in rates.items()
                ]
    return finish("coverage", {}, promises, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
