"""Are errors independent? Each voter's errors are dealt to the questions anew, so that only his error rate is kept.

Mean and standard deviation of the joint error under that are closed forms. Its distribution is drawn exactly without
touching a question: where h_d questions have d errors so far, the next voter's errors fall on these classes as a
multivariate hypergeometric draw. Within strata the dealing stays inside each, which keeps what all voters find hard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.special import Array, normal_cdf
from dissensus.measure.table import Flags, Whole


@dataclass(frozen=True, slots=True)
class Permutation:
    """Mean joint error of the pairs against the same if errors were independent.

    Args:
        joint: observed.
        mean, sd: under independence, exact.
        z: (joint - mean) / sd; None if sd is 0.
        p: share of dealings with at least this joint error, the observed one counted in: (1 + #) / (B + 1); None if
            sd is 0.
        times: B.
        questions: how many took part.
    """

    joint: float
    mean: float
    sd: float
    z: float | None
    p: float | None
    times: int
    questions: int


def permutation_test(wrong: Flags, strata: Whole | None = None, *, times: int = 999, seed: int = 0) -> Permutation:
    """Test whether errors fall together more often than independent ones would.

    Args:
        wrong: shape (Q, n), n at least 2: who erred where.
        strata: shape (Q,): dealings stay within equal numbers.
        times: dealings.
        seed: of the drawings.
    """
    questions, n = wrong.shape
    parts = [wrong] if strata is None else [wrong[strata == part] for part in np.unique(strata)]
    pairs = n * (n - 1) / 2
    mean = variance = observed = 0.0
    drawn = np.zeros(times)
    rng = np.random.default_rng(seed)
    for part in parts:
        size = part.shape[0]
        errors = np.sort(part.sum(axis=0, dtype=np.int64))  # sorted: the order of voters must not matter
        together = part.sum(axis=1, dtype=np.int64)
        observed += float((together * (together - 1)).sum()) / 2
        share = errors / size
        mean += size * _pair_sum(share)
        if size > 1:
            variance += size**2 * _pair_sum(share * (1 - share)) / (size - 1)
        drawn += _dealt(rng, size, errors, times)
    scale = questions * pairs
    joint, mean, sd = observed / scale, mean / scale, float(np.sqrt(variance)) / scale
    if sd < 1e-15:
        return Permutation(joint, mean, 0.0, None, None, times, questions)
    reached = int((drawn >= observed - 0.5).sum())
    return Permutation(joint, mean, sd, (joint - mean) / sd, (1 + reached) / (times + 1), times, questions)


def _pair_sum(values: Array) -> float:
    """Sum over pairs of the product of two values."""
    return float(values.sum() ** 2 - (values**2).sum()) / 2


def _dealt(rng: np.random.Generator, size: int, errors: Whole, times: int) -> Array:
    """Pairs of errors on one question, summed over questions, in ``times`` dealings; shape (times,)."""
    classes = np.zeros((len(errors) + 1, times), dtype=np.int64)
    classes[0] = size
    for before, count in enumerate(errors.tolist()):
        if not 0 < count < size:  # nothing to draw
            if count:
                classes[1:] = classes[:-1].copy()
                classes[0] = 0
            continue
        left: Whole = np.full(times, count)
        rest = np.full(times, size)
        for d in range(before, -1, -1):
            if not classes[d].any():
                continue
            rest -= classes[d]
            hit = left if d == 0 else rng.hypergeometric(classes[d], rest, left)
            left = left - hit
            classes[d + 1] += hit
            classes[d] -= hit
    size_of = np.arange(len(errors) + 1)
    found: Array = ((size_of * (size_of - 1) / 2)[:, None] * classes).sum(axis=0)
    return found


@dataclass(frozen=True, slots=True)
class Overdispersion:
    """Tarone's test: does the number of right votes vary more over questions than for independent equal voters?"""

    z: float
    p: float


def tarone(right: Whole, n: int) -> Overdispersion | None:
    """Tarone 1979, one-sided; None without variation.

    Z = (sum (c - np)^2 / (pq) - Qn) / sqrt(2 Q n (n - 1)), with c right votes of n, shape (Q,).
    """
    questions = right.size
    p = float(right.mean()) / n if questions else 0.0
    if n < 2 or not 0 < p < 1:
        return None
    spread = float(((right - n * p) ** 2).sum()) / (p * (1 - p))
    z = (spread - questions * n) / (2 * questions * n * (n - 1)) ** 0.5
    return Overdispersion(z, float(normal_cdf(-z)))
