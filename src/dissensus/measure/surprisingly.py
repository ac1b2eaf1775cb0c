"""The surprisingly popular answer: more votes than voters expected it to get (Prelec, Seung & McCoy 2017).

It takes a second question to each voter: "which share of the others will give each answer?". Where most are wrong and
those who are right know it, this can find what plurality cannot.
"""

from __future__ import annotations

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.candidates import Candidates
from dissensus.measure.special import Array


def surprise(voted: Candidates, predicted: Array) -> Array:
    """Vote share less mean predicted share of each answer given, shape (Q, width); the highest wins.

    Args:
        voted: the answers of Q questions.
        predicted: shape (Q, n, width): what share of the votes each voter expects each answer to get, NaN where it said
            nothing: it is left out of the mean then. An answer that nobody predicted is expected by nobody.

    Blank voters are left out of the vote share. Raises :class:`~dissensus.errors.UsageError` if shapes differ or a
    prediction lies outside [0, 1].
    """
    questions, n = voted.local.shape
    if predicted.shape != (questions, n, voted.width):
        raise UsageError(
            f"Predictions are {predicted.shape}, but there are {questions} questions, {n} voters and up to "
            f"{voted.width} answers to one question."
        )
    said = np.isfinite(predicted)
    if ((predicted[said] < 0) | (predicted[said] > 1)).any():
        raise UsageError("A predicted share lies outside 0 to 1.", next_step="Write seventy percent as 0.7.")
    many = said.sum(axis=1)
    expected = np.where(said, predicted, 0.0).sum(axis=1) / np.maximum(many, 1)
    counts = voted.counts()
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    found: Array = share - expected
    return found
