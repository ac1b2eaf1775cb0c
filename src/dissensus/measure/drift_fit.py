"""Steps of the drift model from measured turns, and how far these turns keep to its assumptions.

A receiver forces an answer before and after each turn and notes the log-odds of the right one against the target. From
such steps come dH, dC and s of the walk, and gH, gC and b of the potential. Turns of one text depend on each other, so
texts are drawn again and never turns. The estimates say how *these* agents moved *these* texts under a probe that may
itself be wrong; they do not make the assumptions true, and what speaks against them stands beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.bootstrap import interval, mean_of_values, units_of, units_of_values
from dissensus.measure.drift import potential
from dissensus.measure.paired import Interval
from dissensus.measure.special import Array
from dissensus.measure.study_points import Step
from dissensus.measure.table import Whole
from dissensus.measure.wording import between, percent, short

FEWEST: Final = 2
"""Turns of each kind that estimates take at least."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of honest or of corrupted agents.

    Args:
        turns, texts: how many.
        step: mean change of x, upwards positive.
        spread: standard deviation of that change.
        factor: geometric mean of V after by V before.
        added: mean of V after less V before; ``most_added`` the largest.
        lowered: share of turns after which V was lower.
        by_turn: change of the step from one turn to the next (A5 says 0).
        by_x: change of the step with x before the turn (A5 says 0).
    """

    turns: int
    texts: int
    step: Interval
    spread: float
    factor: float
    added: float
    most_added: float
    lowered: float
    by_turn: Interval
    by_x: Interval

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value.to_data() if isinstance(value, Interval) else value for name, value in found.items()}


@dataclass(frozen=True, slots=True)
class Fit:
    """Both kinds of turns; ``noise`` is the standard deviation of a step around the mean of its kind."""

    honest: Turns
    corrupted: Turns
    noise: float

    def doubts(self) -> list[str]:
        """What in these turns speaks against the assumptions, by their names; empty if nothing was shown."""
        found = []
        if self.honest.factor >= 1:
            found.append(f"A3 fails: honest turns do not contract V, its mean factor is {self.honest.factor:.3g}.")
        elif self.honest.lowered < 1:
            found.append(
                f"A3 holds on {percent(self.honest.lowered)} of {self.honest.turns:,} honest turns, not on each."
            )
        if self.corrupted.factor <= 1:
            found.append(f"Corrupted turns do not push: their mean factor of V is {self.corrupted.factor:.3g}.")
        for kind, turns in (("honest", self.honest), ("corrupted", self.corrupted)):
            for what, slope in (("with the number of the turn", turns.by_turn), ("with x", turns.by_x)):
                if slope.low is not None and slope.high is not None and (slope.low > 0 or slope.high < 0):
                    gap = f"{short(slope.value)}{between((slope.low, slope.high))}"
                    found.append(f"A5 fails: {kind} steps change {what}, by {gap} for each.")
        return found

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "honest": self.honest.to_data(),
            "corrupted": self.corrupted.to_data(),
            "noise": self.noise,
            "doubts": self.doubts(),
        }

    def lines(self) -> list[str]:
        """As text."""
        found = []
        for kind, turns in (("honest", self.honest), ("corrupted", self.corrupted)):
            step = f"{turns.step.value:+.3f} [{turns.step.low:+.3f}, {turns.step.high:+.3f}]"
            found.append(
                f"{turns.turns:,} {kind} turns in {turns.texts:,} texts: x moves by {step}, sd {turns.spread:.3f}; "
                f"V times {turns.factor:.3f}, or plus {turns.added:+.3f} (at most {turns.most_added:+.3f})"
            )
        return [*found, *self.doubts()]


def fit_steps(steps: Sequence[Step], *, times: int = 1000, seed: int = 0) -> Fit:
    """Estimates from measured steps, with intervals over texts.

    Raises:
        UsageError: fewer than two turns of a kind, or log-odds that are no numbers.
    """
    if not all(math.isfinite(step.before) and math.isfinite(step.after) for step in steps):
        raise UsageError("Log-odds of a step are not finite.", next_step="Leave out turns whose probe failed.")
    parts = {kind: [step for step in steps if step.corrupted is kind] for kind in (False, True)}
    if min(map(len, parts.values())) < FEWEST:
        raise UsageError(
            f"There are {len(parts[False])} honest and {len(parts[True])} corrupted turns.",
            next_step=f"Measure at least {FEWEST} of each kind.",
        )
    honest, corrupted = (_turns(part, times=times, seed=seed) for part in parts.values())
    squares = sum((kind.turns - 1) * kind.spread**2 for kind in (honest, corrupted))
    return Fit(honest, corrupted, math.sqrt(squares / (honest.turns + corrupted.turns - 2)))


def _turns(steps: Sequence[Step], *, times: int, seed: int) -> Turns:
    before, after = (np.array([getattr(step, name) for step in steps]) for name in ("before", "after"))
    names = {text: place for place, text in enumerate(dict.fromkeys(str(step.text) for step in steps))}
    groups: Whole = np.array([names[str(step.text)] for step in steps], dtype=np.int64)
    change = after - before
    v, w = potential(before), potential(after)
    found = interval(units_of_values(change, groups), mean_of_values, times=times, seed=seed)
    low, high = found or (-math.inf, math.inf)
    ratio = np.log(np.maximum(w, 1e-300)) - np.log(np.maximum(v, 1e-300))
    return Turns(
        turns=len(steps),
        texts=len(names),
        step=Interval(float(change.mean()), low, high, len(steps)),
        spread=float(change.std(ddof=1)),
        factor=float(np.exp(ratio.mean())),
        added=float((w - v).mean()),
        most_added=float((w - v).max()),
        lowered=float((w < v).mean()),
        by_turn=_slope(np.array([float(step.turn) for step in steps]), change, groups, times=times, seed=seed),
        by_x=_slope(before, change, groups, times=times, seed=seed),
    )


def _slope(x: Array, y: Array, groups: Whole, *, times: int, seed: int) -> Interval:
    """Slope of least squares of y on x, with its interval over groups; nothing where x does not vary."""
    features = np.column_stack([np.ones_like(x), x, y, x * x, x * y])

    def slope(sums: Array) -> Array:
        n, sx, sy, sxx, sxy = sums.T
        with np.errstate(divide="ignore", invalid="ignore"):
            across = n * sxx - sx * sx
            found: Array = np.where(across > 1e-9 * np.maximum(n * sxx, 1e-300), (n * sxy - sx * sy) / across, np.nan)
        return found

    value = float(slope(features.sum(axis=0)[None, :])[0])
    if math.isnan(value):
        return Interval(None, None, None, x.size)
    found = interval(units_of(features, groups), slope, times=times, seed=seed, method="percentile")
    low, high = found or (None, None)
    return Interval(value, low, high, x.size)
