"""“And with 21?”: every fit with its verdict, and the bounds that hold without any."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dissensus.measure.bounds import Bounds, bounds
from dissensus.measure.fits import (
    Fit,
    checked_counts,
    fit_any_mixture,
    fit_beta_binomial,
    fit_independent,
    fit_trap,
    fit_two_classes,
)
from dissensus.measure.inputs import voters
from dissensus.measure.special import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Extrapolation:
    """What counts for m voters say about other numbers of voters.

    Args:
        voters: m.
        questions: Q.
        sizes: numbers of voters asked about, finite.
        fits: all models, rejected ones included.
        bounds: for each of ``sizes``, then for the limit.
    """

    voters: int
    questions: float
    sizes: tuple[int, ...]
    fits: tuple[Fit, ...]
    bounds: tuple[Bounds, ...]

    def to_data(self) -> dict[str, Any]:
        """The same as JSON: a rejected fit has no curve and no ceiling, and says so."""
        return {
            "voters": self.voters,
            "questions": self.questions,
            "fits": {fit.name: self._fit(fit) for fit in self.fits},
            "bounds": [
                {"n": None if one.n == math.inf else int(one.n), "low": one.low, "high": one.high, "level": one.level}
                for one in self.bounds
            ],
        }

    def lines(self) -> list[str]:
        """The same as text: one line for each fit, then one for each size."""
        said = [fit.ceiling().sentence for fit in self.fits]
        return said + [str(one) for one in self.bounds]

    def _fit(self, fit: Fit) -> dict[str, Any]:
        ceiling, usable = fit.ceiling(), fit.verdict == "survived"
        curve = fit.majority(self.sizes).tolist() if usable else []
        return {
            "parameters": {name: _finite(value) for name, value in fit.parameters.items()},
            "verdict": fit.verdict,
            "g2": _finite(fit.g2),
            "test": {"g2": _finite(fit.test_g2), "freedom": fit.freedom, "p": _finite(fit.p_value)},
            "curve": [{"n": n, "majority": value} for n, value in zip(self.sizes, curve, strict=False)] or None,
            "ceiling": ceiling.value,
            "note": ceiling.sentence,
        }


def extrapolate(counts: Numbers, sizes: Iterable[int], *, level: float = 0.95) -> Extrapolation:
    """Fit every model to ``counts`` (shape (m + 1,): questions with k of m right), and bound what they allow.

    Raises:
        UsageError: no counts, or a size that is no number of voters.
    """
    given = checked_counts(counts)
    asked = tuple(int(size) for size in voters(list(sizes)).ravel())
    models = (fit_independent, fit_trap, fit_beta_binomial, fit_two_classes, fit_any_mixture)
    return Extrapolation(
        voters=given.size - 1,
        questions=float(given.sum()),
        sizes=asked,
        fits=tuple(model(given) for model in models),
        bounds=tuple(bounds(given, [*asked, math.inf], level=level)),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
