"""“And with 21?”: every fit with its verdict, and the bounds that hold without any."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dissensus.measure.bounds import Bounds, bounds
from dissensus.measure.fits import (
    Fit,
    Name,
    checked_counts,
    fit_any_mixture,
    fit_beta_binomial,
    fit_independent,
    fit_trap,
    fit_two_classes,
)
from dissensus.measure.inputs import voters
from dissensus.measure.special import Array, Numbers
from dissensus.measure.wording import listed, percent, short

KEYS: dict[Name, str] = {
    "independent": "independent",
    "trap": "trap",
    "beta-binomial": "bb",
    "two classes": "two_classes",
    "any mixture": "npmle",
}
"""A fit's key in JSON."""

MOST_VOTERS = 100
"""Voters beyond which nothing is extrapolated unless asked: the exact curve goes far enough, the fits take seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Extrapolation:
    """What counts for m voters say about other numbers of voters.

    Args:
        voters: m.
        questions: Q.
        measured: how often a majority of all m, of right against wrong, was right.
        sizes: numbers of voters asked about, finite.
        fits: all models, rejected ones included.
        bounds: for each of ``sizes``, then for the limit.
    """

    voters: int
    questions: float
    measured: float
    sizes: tuple[int, ...]
    fits: tuple[Fit, ...]
    bounds: tuple[Bounds, ...]

    def to_data(self) -> dict[str, Any]:
        """The same as JSON: a rejected fit has no curve and no ceiling, and says so."""
        return {
            "fits": {KEYS[fit.name]: self._fit(fit) for fit in self.fits},
            "bounds": [
                {"n": None if one.n == math.inf else int(one.n), "low": one.low, "high": one.high, "level": one.level}
                for one in self.bounds
            ],
        }

    def lines(self) -> list[str]:
        """The same as text: the bounds, each fit that may be asked, and those that may not."""
        sizes = listed([f"{n:,}" for n in self.sizes]) or "very many"
        now = f"{short(self.measured)} with {self.voters:,}"
        said = [f"and with {sizes}? a majority of right against wrong ({now}): {self._bounds()}"]
        for fit in self.fits:
            if fit.verdict == "survived":
                values = zip(self.sizes, fit.majority(self.sizes).tolist(), strict=True)
                says = "".join(f"   {n:,}: {short(value)}" for n, value in values)
                said.append(f"  {fit.ceiling().sentence}{says}")
        for verdict, why in (("rejected", "rejected by a test"), ("untested", "too few voters or questions to test")):
            names = [fit.name for fit in self.fits if fit.verdict == verdict]
            if names:
                said.append(f"  no ceiling from {listed(names)}: {why}")
        return said

    def _bounds(self) -> str:
        if any(one.low is None or one.high is None for one in self.bounds):
            return "no interchangeable voters give these counts, so nothing follows from them"
        parts = []
        for one in self.bounds:
            who = "very many" if one.n == math.inf else f"{one.n:,.0f}"
            low, high = math.floor(1000 * (one.low or 0.0)) / 1000, math.ceil(1000 * (one.high or 0.0)) / 1000
            parts.append(f"{who}: {short(low)}–{short(high)}")
        level = self.bounds[0].level
        sure = "" if level is None else f"{percent(level, 0)} sure, "
        return f"{'   '.join(parts)}   ({sure}whatever the mixture of questions)"

    def _fit(self, fit: Fit) -> dict[str, Any]:
        ceiling, usable = fit.ceiling(), fit.verdict == "survived"
        curve = fit.majority(self.sizes).tolist() if usable else []
        return {
            "name": fit.name,
            "refused": ceiling.value is None,
            "parameters": {name: _finite(value) for name, value in fit.parameters.items()},
            "verdict": fit.verdict,
            "g2": _finite(fit.g2),
            "test": {"g2": _finite(fit.test_g2), "freedom": fit.freedom, "p": _finite(fit.p_value)},
            "together_p": _finite(fit.together_p),
            "curve": [{"n": n, "majority": value} for n, value in zip(self.sizes, curve, strict=False)] or None,
            "ceiling": ceiling.value,
            "note": ceiling.sentence,
        }


def next_sizes(voters: int) -> tuple[int, ...]:
    """What to ask about if nothing is asked: 21 voters, or 99 where there are as many."""
    return tuple(n for n in (21, 99) if n > voters)[:1]


def extrapolate(
    counts: Numbers, sizes: Iterable[int], *, level: float = 0.95, together_p: float | None = None
) -> Extrapolation:
    """Fit every model to ``counts`` (shape (m + 1,): questions with k of m right), and bound what they allow.

    Args:
        counts: shape (m + 1,).
        sizes: numbers of voters asked about.
        level: confidence of the bounds.
        together_p: p of the permutation test of independent errors, which knows the voters apart and so rejects
            independence where counts alone do not; None where it was not made.

    Raises:
        UsageError: no counts, or a size that is no number of voters.
    """
    given = checked_counts(counts)
    asked = tuple(int(size) for size in voters(list(sizes)).ravel())
    fits = [model(given) for model in (fit_trap, fit_beta_binomial, fit_two_classes, fit_any_mixture)]
    return Extrapolation(
        voters=given.size - 1,
        questions=float(given.sum()),
        measured=_majority(given),
        sizes=asked,
        fits=(replace(fit_independent(given), together_p=math.nan if together_p is None else together_p), *fits),
        bounds=tuple(bounds(given, [*asked, math.inf], level=level)),
    )


def _majority(given: Array) -> float:
    margin = 2 * np.arange(given.size) - (given.size - 1)
    return float(((margin > 0) + (margin == 0) / 2) @ given / given.sum())


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
