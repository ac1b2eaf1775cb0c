"""Dawid & Skene 1979: right answers and the voters' habits of error, both from the votes alone.

Full model: each voter answers class l where k is right with a probability of its own. One-coin model: each voter is
right with one probability and else picks among the wrong answers alike. Neither needs a right answer. Both take errors
to be *independent given the right answer*; where models share their errors that is false, and then the posterior is far
too sure. So it is shown only as model-based (:func:`note`), never as the probability to be right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import UsageError
from dissensus.measure.candidates import Candidates
from dissensus.measure.patterns import distinct
from dissensus.measure.special import Array
from dissensus.measure.table import Codes, Flags
from dissensus.measure.weights import log_odds_scores

ITERATIONS = 100
TOLERANCE = 1e-5
_LEAST = 1e-10
_TIE = 1e-9


def note(p_independence: float | None) -> str:
    """What to write beside a posterior, with the p of the test of independent errors; None if it was not made."""
    if p_independence is None:
        return "model-based: assumes independent errors, untested"
    if p_independence < 0.05:
        return "model-based, independence rejected"
    return "model-based: assumes independent errors, not rejected here"


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene:
    """The full model, fitted.

    Args:
        posterior: shape (Q, K): model-based, see :func:`note`. Rows without a vote hold the prior.
        prior: shape (K,): share of each class.
        confusion: shape (n, K, K): voter, right class, answer; rows sum to 1.
        log_likelihood: mean over questions, nats.
        iterations: rounds made.
        converged: the last round gained less than the tolerance.
    """

    posterior: Array
    prior: Array
    confusion: Array
    log_likelihood: float
    iterations: int
    converged: bool

    def leaders(self) -> Flags:
        """Which classes have the highest posterior; shape (Q, K)."""
        found: Flags = self.posterior >= self.posterior.max(axis=1, keepdims=True) - _TIE
        return found


def dawid_skene(
    codes: Codes, classes: int, *, iterations: int = ITERATIONS, tolerance: float = TOLERANCE
) -> DawidSkene:
    """Fit the full model by expectation maximisation from the shares of votes.

    Args:
        codes: shape (Q, n): class 0 … ``classes`` - 1 in the same meaning on every question; below 0: no answer.
        classes: K.
        iterations: most rounds.
        tolerance: stop when a round adds less to the mean log-likelihood.

    Raises:
        UsageError: a code is not below ``classes``, or there is no vote at all.
    """
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    if int(codes.max(initial=-1)) >= classes:
        raise UsageError(f"There are {classes} classes, but an answer is class {int(codes.max())}.")
    if not (codes >= 0).any():
        raise UsageError("There is no vote to learn from.")
    alike = distinct(np.maximum(codes, -1) + 1)  # questions with the same votes have the same posterior
    rows = alike.rows - 1
    times = alike.counts / alike.counts.sum()
    kinds, n = rows.shape
    voted = rows >= 0
    # one row a question, one column for each voter and answer: both steps are products with this matrix
    columns = (rows + np.arange(n) * classes)[voted].astype(np.int32)
    start = np.concatenate([[0], np.cumsum(voted.sum(axis=1))]).astype(np.int32)
    votes = csr_matrix((np.ones(len(columns)), columns, start), shape=(kinds, n * classes))
    by_answer = votes.T.tocsr()  # products by rows run through memory once
    counts = np.asarray(votes @ np.tile(np.eye(classes), (n, 1)), dtype=float)
    has = counts.sum(axis=1, keepdims=True)
    posterior = np.divide(counts, has, out=np.full_like(counts, 1 / classes), where=has > 0)
    value, gained, rounds = -np.inf, np.inf, 0
    prior, confusion = np.empty(classes), np.empty((n, classes, classes))
    while rounds < iterations and gained >= tolerance:
        prior = np.maximum(times @ posterior, 1e-300)
        posterior *= times[:, None]
        seen = np.asarray(by_answer @ posterior, dtype=float).reshape(n, classes, classes)  # voter, answer, right
        confusion = np.maximum(seen, _LEAST / len(codes))
        confusion /= confusion.sum(axis=1, keepdims=True)
        posterior = np.asarray(votes @ np.log(confusion).reshape(n * classes, classes), dtype=float)
        posterior += np.log(prior)
        top = posterior.max(axis=1, keepdims=True)
        posterior -= top
        np.exp(posterior, out=posterior)
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= total
        new = float(times @ (top + np.log(total))[:, 0])
        gained, value, rounds = new - value, new, rounds + 1
    return DawidSkene(
        posterior[alike.place], prior, np.swapaxes(confusion, 1, 2), value, rounds, converged=gained < tolerance
    )


@dataclass(frozen=True, slots=True, eq=False)
class OneCoin:
    """The one-coin model, fitted.

    Args:
        posterior: shape (Q, width): of each answer given; what is missing to 1 is on options nobody gave. Model-based.
        accuracy: shape (n,): chance to be right, by the model.
        iterations: rounds made.
        converged: the last round moved no accuracy by more than the tolerance.
    """

    posterior: Array
    accuracy: Array
    iterations: int
    converged: bool


def one_coin(voted: Candidates, wrong: Array, *, iterations: int = ITERATIONS, tolerance: float = TOLERANCE) -> OneCoin:
    """Fit the one-coin model by expectation maximisation from the shares of votes.

    Args:
        voted: the answers; they need not mean the same on different questions.
        wrong: shape (Q,): number of wrong options, at least 1.
        iterations: most rounds.
        tolerance: stop when no accuracy moves further.
    """
    n = voted.local.shape[1]
    counts = voted.counts()
    posterior = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    unlisted = np.maximum(wrong + 1 - voted.given, 0.0)
    accuracy = np.full(n, np.inf)
    moved, rounds = np.inf, 0
    while rounds < iterations and moved > tolerance:
        new = np.array([_credence(posterior, voted.local[:, voter]) for voter in range(n)])
        moved, accuracy, rounds = float(np.abs(new - accuracy).max()), new, rounds + 1
        scores = np.where(voted.there, log_odds_scores(voted, accuracy, wrong), -np.inf)
        top = np.maximum(scores.max(axis=1, keepdims=True), 0.0)
        posterior = np.exp(scores - top)
        posterior /= posterior.sum(axis=1, keepdims=True) + unlisted[:, None] * np.exp(-top) + 1e-300
    return OneCoin(posterior, accuracy, rounds, moved <= tolerance)


def _credence(posterior: Array, votes: npt.NDArray[np.int16]) -> float:
    """Mean posterior of one voter's answers, kept off 0 and 1; one half for a voter without any."""
    rows = np.flatnonzero(votes >= 0)
    return float(np.clip(posterior[rows, votes[rows]].mean(), 1e-6, 1 - 1e-6)) if rows.size else 0.5
