"""Logistic regression with a ridge, on weighted rows: Newton's method, a few dozen parameters at most."""

from __future__ import annotations

import numpy as np

from dissensus.measure.special import Array

_ROUNDS = 100
_STILL = 1e-7
_LARGEST = 30.0


def expit(x: Array) -> Array:
    """1 / (1 + e^-x), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def fit_logistic(x: Array, right: Array, wrong: Array, ridge: Array, start: Array | None = None) -> Array:
    """Coefficients that maximise the penalised likelihood; shape (F,).

    Args:
        x: shape (U, F).
        right: shape (U,): weight of the cases with these features that were right; may be fractions.
        wrong: the same of those that were wrong.
        ridge: shape (F,), at least 0: half of it times the squared coefficient is taken off the log-likelihood.
        start: coefficients to begin at; none but time depends on it.

    The likelihood is concave, so steps are halved until it rises. A coefficient without a ridge whose data are all
    right or all wrong has no maximum: a ridge of at least 1e-6 is used everywhere.
    """
    held = np.maximum(ridge, 1e-6)
    many = right + wrong
    b = np.zeros(x.shape[1]) if start is None else start

    def value(at: Array) -> float:
        z = x @ at
        # log(1 + e^z) without overflow
        return float(right @ z - many @ np.logaddexp(0.0, z)) - float(held @ at**2) / 2

    best = value(b)
    for _ in range(_ROUNDS):
        p = expit(x @ b)
        slope = x.T @ (right - many * p) - held * b
        root = x * np.sqrt(many * p * (1 - p))[:, None]
        bend = root.T @ root
        bend[np.diag_indices_from(bend)] += held
        step = np.linalg.solve(bend, slope)
        step *= min(1.0, _LARGEST / max(float(np.abs(step).max()), 1e-300))
        while (new := value(b + step)) < best and float(np.abs(step).max()) > _STILL:
            step = step / 2
        if new < best:
            break
        b, best = b + step, new
        if float(np.abs(step).max()) < _STILL:
            break
    return b
