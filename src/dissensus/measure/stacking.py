"""A vote with learned weights (a stacker): which answer is right, given who gave it; multinomial logistic regression.

An answer's score is the sum of the weights of its voters. P(right) is the softmax over the answers given and one more,
"none of these", whose score is a constant plus log of how many options nobody gave. Weights that independent voters
would deserve are the log-odds of :mod:`dissensus.measure.weights`; these are learned, so voters that copy each other
share one weight. They are drawn towards a common weight, so few right answers give plurality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.measure.candidates import Candidates
from dissensus.measure.patterns import distinct
from dissensus.measure.special import Array
from dissensus.measure.table import Flags, Whole

FEWEST = 200
"""Different questions with a known right answer that learning takes at least."""

_RIDGE = 1.0
_RIDGE_COMMON = 1e-3
_ROUNDS = 60
_STILL = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Stacker:
    """What was learned.

    Args:
        weights: shape (n,), in nats.
        none: score of "none of these" with one option that nobody gave.
    """

    weights: Array
    none: float

    def posterior(self, voted: Candidates, wrong: Array) -> Array:
        """P(right) of each answer given, shape (Q, width); 0 where there is none.

        Args:
            voted: the answers.
            wrong: shape (Q,): number of wrong options.
        """
        scores = voted.scores(self.weights)
        return _softmax(np.where(voted.there, scores, -np.inf), self.none + _unlisted(voted, wrong))[:, :-1]


def _unlisted(voted: Candidates, wrong: Array) -> Array:
    """Logarithm of the number of options nobody gave; -inf for none."""
    left = wrong + 1 - voted.given
    return np.where(left > 1e-9, np.log(np.maximum(left, 1e-9)), -np.inf)


def _softmax(given: Array, none: Array) -> Array:
    everything = np.column_stack([given, none])
    top = everything.max(axis=1, keepdims=True)
    np.exp(everything - np.where(np.isfinite(top), top, 0.0), out=everything)
    everything /= np.maximum(everything.sum(axis=1, keepdims=True), 1e-300)
    return everything


def fit_stacker(voted: Candidates, wrong: Array, seen: Flags | Whole, start: Stacker | None = None) -> Stacker:
    """Learn from the questions ``seen``, whose right answers are known.

    Args:
        voted: the answers of Q questions.
        wrong: shape (Q,): number of wrong options.
        seen: which of them may be learned from.
        start: where to begin; nothing but time depends on it.
    """
    part, options = voted.rows(seen), wrong[seen]
    unlisted = _unlisted(part, options)
    # where nobody gave the right answer and no option is left, key or options are wrong: nothing to learn
    use = (part.right >= 0) | np.isfinite(unlisted)
    part, unlisted = part.rows(use), unlisted[use]
    levels, level = np.unique(unlisted, return_inverse=True)
    found = distinct(np.column_stack([part.local + 1, part.right + 1, level]))
    rows = found.rows
    n = rows.shape[1] - 2
    times = found.counts.astype(float)
    answers = Candidates(
        (rows[:, :n] - 1).astype(np.int16), rows[:, n] - 1, rows[:, :n].max(axis=1, initial=0), part.width
    )
    none = levels[rows[:, n + 1]] if levels.size else np.zeros(0)
    begin = np.zeros(n + 1) if start is None else np.append(start.weights, start.none)
    b = _newton(_Problem(answers, none, times), begin)
    return Stacker(b[:n], float(b[n]))


class _Problem:
    """The penalised log-likelihood of weights and "none", shape (n + 1,), with slope and bend."""

    def __init__(self, answers: Candidates, none: Array, times: Array) -> None:
        """``answers`` U different rows, ``none`` their log of options nobody gave, ``times`` how often each occurs."""
        n = answers.local.shape[1]
        self._answers, self._none, self._times = answers, none, times
        self._given = answers.local >= 0
        self._places = np.maximum(answers.local, 0).astype(np.int64)
        self._hit = self._given & (answers.local == answers.right[:, None])
        self._target = np.where(answers.right >= 0, answers.right, answers.width)
        self.held = np.zeros((n + 1, n + 1))
        self.held[:n, :n] = _RIDGE * (np.eye(n) - 1 / n)
        self.held[np.diag_indices(n + 1)] += _RIDGE_COMMON

    def _p(self, b: Array) -> Array:
        scores = np.where(self._answers.there, self._answers.scores(b[:-1]), -np.inf)
        return _softmax(scores, b[-1] + self._none)

    def value(self, b: Array) -> float:
        """Higher is better."""
        stated = self._p(b)[np.arange(len(self._target)), self._target]
        return float(self._times @ np.log(np.maximum(stated, 1e-300))) - float(b @ self.held @ b) / 2

    def step(self, b: Array) -> Array:
        """Newton's step."""
        p = self._p(b)
        none = p[:, -1]
        mine = np.where(self._given, np.take_along_axis(p, self._places, axis=1), 0.0)  # P(this voter is right)
        weighed = self._times[:, None] * mine
        missed = self._target == self._answers.width
        slope = np.concatenate([self._times @ (self._hit - mine), [self._times @ (missed - none)]]) - self.held @ b
        bend = self.held.copy()
        bend[:-1, :-1] -= weighed.T @ mine
        for voter in range(mine.shape[1]):
            alike = (self._answers.local == self._answers.local[:, [voter]]) & self._given
            bend[voter, :-1] += weighed[:, voter] @ alike
        bend[-1, :-1] -= weighed.T @ none
        bend[:-1, -1] = bend[-1, :-1]
        bend[-1, -1] += float((self._times * none) @ (1 - none))
        return np.asarray(np.linalg.solve(bend, slope), dtype=float)


def _newton(problem: _Problem, b: Array) -> Array:
    best = problem.value(b)
    for _ in range(_ROUNDS):
        step = problem.step(b)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        while (new := problem.value(b + step)) < best and float(np.abs(step).max()) > _STILL:
            step = step / 2
        if new < best:
            break
        b, best = b + step, new
        if float(np.abs(step).max()) < _STILL:
            break
    return b
