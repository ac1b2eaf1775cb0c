"""Choosing the next token from logits: deterministic, and the same whatever else shares a batch.

A choice is a function of logits, settings, seed and the place in the text: no generator carries state from one token to
the next, so a turn that is taken up again somewhere else in a text draws the same numbers there.

The order of the filters is llama.cpp's: ``top_k``, ``top_p``, ``min_p``, then the temperature. Log-probabilities are
the model's own, before any of that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_LOOK = 1024
"""So many of the likeliest tokens are sorted first; the whole vocabulary only if they do not hold ``top_p``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a token is chosen.

    Args:
        temperature: 0 takes the most likely token, of several the one with the lowest id.
        top_k: choose among this many most likely tokens; 0 for all.
        top_p: choose among the most likely tokens that make up this much probability.
        min_p: leave out tokens less likely than this share of the most likely one.
        seed: what the draws depend on, with the place in the text.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    seed: int = 0


def choose(logits: NDArray[np.float32], how: Sampling, place: int) -> int:
    """The id of the token at ``place`` (its number in prompt and text together).

    Args:
        logits: shape (vocabulary,).
        how: the settings.
        place: goes into the draw.
    """
    if how.temperature <= 0:
        return int(logits.argmax())
    ids = _likeliest(logits, how.top_k or len(logits), how.top_p)
    kept = logits[ids].astype(np.float64)
    if how.top_p < 1:
        p = np.exp(kept - kept[0])
        total = p.sum() if how.top_k else np.exp(logits.astype(np.float64) - kept[0]).sum()
        kept = kept[: int(np.searchsorted(np.cumsum(p / total), how.top_p)) + 1]
    if how.min_p > 0:
        kept = kept[kept >= kept[0] + np.log(how.min_p)]
    weights = np.cumsum(np.exp((kept - kept[0]) / how.temperature))
    at = int(np.searchsorted(weights, draw(how.seed, place) * weights[-1], side="right"))
    return int(ids[min(at, len(kept) - 1)])


def draw(seed: int, place: int) -> float:
    """A number in [0, 1) for this seed and place: 53 bits of a hash."""
    digest = hashlib.blake2b(f"{seed}/{place}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def logprobs(rows: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Natural-log probability of ``ids[i]`` under ``rows[i]``: shapes (n, vocabulary) and (n,) to (n,)."""
    most = rows.max(axis=1, keepdims=True)
    # sums in double, exponentials in single precision: the error is below 1e-6, and it takes a third of the time
    mass = np.exp(rows - most).sum(axis=1, dtype=np.float64)
    chosen = rows[np.arange(len(ids)), ids].astype(np.float64) - most[:, 0]
    values: NDArray[np.float64] = chosen - np.log(mass)
    return values


def _likeliest(logits: NDArray[np.float32], most: int, top_p: float) -> NDArray[np.int64]:
    """Ids of at most ``most`` tokens, the likeliest first, of equal ones the lowest id first.

    If ``top_p`` is below 1, a beginning of that list that surely holds that much probability is enough.
    """
    if most >= len(logits) and top_p < 1 and len(logits) > _FIRST_LOOK:
        ids = _sorted(logits, _FIRST_LOOK)
        p = np.exp(logits.astype(np.float64) - logits[ids[0]])
        if p[ids].sum() > p.sum() * top_p:
            return ids
    return _sorted(logits, most)


def _sorted(logits: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    if most < len(logits):
        # all that are as likely as the last one that counts, so that ties are broken by the id and nothing else
        least = np.partition(logits, len(logits) - most)[len(logits) - most]
        ids = np.flatnonzero(logits >= least)
    else:
        ids = np.arange(len(logits))
    return ids[np.argsort(-logits[ids], kind="stable")][:most]
