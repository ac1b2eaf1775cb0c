"""Dawid-Skene at a million labels, beside crowd-kit's on the same labels, with the same labels out.

    python benchmarks/bench_dawid_skene.py [--quick]

100,000 questions, 10 voters, 4 classes. Ours is given the same list of (question, voter, class) as crowd-kit's, and
makes its table from it; the fit alone, from the table, is an arm of its own. Two kinds of votes: voters that err
independently, on which the model is true, and voters that share what they find hard, on which it is not.

Both make the same number of rounds, because they stop by different rules (ours by the likelihood of a question, theirs
by a bound for a label); then posteriors are equal to rounding. How labels differ where each stops by itself is a fact
of the result.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
from common import Promise, Took, at_least, at_most, finish, ratio, side_by_side

from dissensus.measure.dawid_skene import DawidSkene, dawid_skene
from dissensus.measure.table import Codes

CLASSES, VOTERS, ROUNDS = 4, 10, 7
NEVER = -np.inf

Labels = npt.NDArray[np.int64]


def votes(questions: int, *, shared: float, seed: int = 1) -> Codes:
    """Votes of voters of different skill and leaning; ``shared`` is how much of what is hard is hard for all."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, (questions, 1))
    hard = np.sqrt(shared) * rng.normal(size=(questions, 1)) + np.sqrt(1 - shared) * rng.normal(
        size=(questions, VOTERS)
    )
    right = hard < np.linspace(-0.1, 0.9, VOTERS)
    leaning = rng.dirichlet(np.ones(CLASSES), VOTERS)
    wrong = np.stack([rng.choice(CLASSES - 1, questions, p=one[:-1] / one[:-1].sum()) for one in leaning], axis=1)
    found: Codes = np.where(right, truth, (truth + 1 + wrong) % CLASSES).astype(np.int32)
    return found


def from_list(task: Labels, worker: Labels, label: Labels, **more: Any) -> DawidSkene:
    """Ours, from the list that crowd-kit is given."""
    codes: Codes = np.full((int(task.max()) + 1, int(worker.max()) + 1), -1, dtype=np.int32)
    codes[task, worker] = label
    return dawid_skene(codes, int(label.max()) + 1, **more)


def compared(name: str, codes: Codes, rounds: int) -> tuple[dict[str, list[Took]], list[Promise], dict[str, Any]]:
    """Both on one kind of votes."""
    import pandas as pd  # type: ignore[import-untyped]
    from crowdkit.aggregation import DawidSkene as Theirs  # type: ignore[import-not-found]

    task, worker = np.nonzero(codes >= 0)
    label = codes[task, worker].astype(np.int64)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    fixed = {"iterations": ROUNDS, "tolerance": NEVER}
    arms = {
        f"crowd-kit, {name}": lambda: Theirs(n_iter=ROUNDS, tol=NEVER).fit_predict(frame),
        f"ours, from the list, {name}": lambda: from_list(task, worker, label, **fixed),
        f"ours, from a table, {name}": lambda: dawid_skene(codes, CLASSES, iterations=ROUNDS, tolerance=NEVER),
    }
    took = side_by_side(arms, rounds=rounds)

    def beside(theirs: Any, ours: DawidSkene) -> tuple[float, float]:
        labels = theirs.labels_.reindex(range(len(codes))).to_numpy()
        stated = theirs.probas_.reindex(index=range(len(codes)), columns=range(CLASSES)).to_numpy()
        same = (labels == ours.posterior.argmax(axis=1)).mean()
        return float(same), float(np.abs(stated - ours.posterior).max())

    same, apart = beside(Theirs(n_iter=ROUNDS, tol=NEVER).fit(frame), from_list(task, worker, label, **fixed))
    their, mine = Theirs().fit(frame), from_list(task, worker, label)
    promises = [
        at_least(f"against crowd-kit, {name}", ratio(took, f"crowd-kit, {name}", f"ours, from the list, {name}"), 3.0),
        at_least(f"share of equal labels after {ROUNDS} rounds, {name}", same, 1.0),
        at_most(f"largest difference of a posterior, {name}", apart, 1e-8),
    ]
    facts = {
        f"share of equal labels where each stops by itself, {name}": beside(their, mine)[0],
        f"rounds until then, {name}": f"ours {mine.iterations}, crowd-kit {len(their.loss_history_)}",
    }
    return took, promises, facts


def main() -> int:
    """Run, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the questions")
    quick = parser.parse_args().quick
    questions, rounds = (10_000, 2) if quick else (100_000, 5)
    took: dict[str, list[Took]] = {}
    promises: list[Promise] = []
    facts: dict[str, Any] = {"labels": questions * VOTERS, "crowd-kit": version("crowd-kit")}
    for name, shared in (("independent errors", 0.0), ("shared errors", 0.5)):
        one, two, three = compared(name, votes(questions, shared=shared), rounds)
        took |= one
        promises += two
        facts |= three
    return finish("dawid_skene", took, promises, facts=facts)


if __name__ == "__main__":
    sys.exit(main())
