"""Isotonic regression: the best fit that never falls (pool adjacent violators, Ayer et al. 1955)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.special import Array
from dissensus.measure.sums import sum_by


def pooled(values: Array, weights: Array) -> Array:
    """The rising sequence with the least weighted squared distance to ``values``; both have shape (U,), weights > 0."""
    level: list[float] = []
    mass: list[float] = []
    length: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        level.append(value)
        mass.append(weight)
        length.append(1)
        while len(level) > 1 and level[-2] >= level[-1]:
            total = mass[-2] + mass[-1]
            merged = (level[-2] * mass[-2] + level[-1] * mass[-1]) / total
            many = length[-2] + length[-1]
            del level[-2:], mass[-2:], length[-2:]
            level.append(merged)
            mass.append(total)
            length.append(many)
    return np.repeat(np.array(level, dtype=float), np.array(length, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Isotonic:
    """A fitted rising curve: ``y`` at the different ``x``, linear between them, flat outside."""

    x: Array
    y: Array

    def at(self, x: Array) -> Array:
        """The curve at ``x``, any shape."""
        return np.interp(x, self.x, self.y)


def fit_isotonic(x: Array, y: Array, weights: Array | None = None) -> Isotonic:
    """Fit to points, shape (Q,) each and at least one; equal ``x`` are pooled first."""
    weight = np.ones_like(x) if weights is None else weights
    levels, place = np.unique(x, return_inverse=True)
    mass = sum_by(place, weight, len(levels))
    mean = sum_by(place, weight * y, len(levels)) / mass
    return Isotonic(levels, pooled(mean, mass))
