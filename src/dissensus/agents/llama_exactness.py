"""Whether an engine gives the same numbers whatever shares a pass, and how far they differ where it does not.

Kernels for one token and for many need not add up in the same order. Where they do not, the same text read in other
pieces gives other logits, and a greedy choice between two near-equal tokens may fall the other way. So where exactness
is promised it is looked at when the engine starts, on the model and machine at hand: one text is read in one piece,
token by token, and in three sequences side by side, and the rows of logits are compared.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.agents.llama_sequences import MOST_TOKENS_EXACT, Reading, Sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

SAMPLE = (
    "A train leaves at 9:40 and arrives at 11:05. How long does it take? It takes 20 minutes until ten o'clock, one "
    "hour until eleven, and five minutes more. Together that is 1 hour and 25 minutes, or 85 minutes.\n"
)
_SINGLE = 12
_BEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactness:
    """What was found.

    Args:
        exact: all numbers were the same to the last bit.
        noise: largest change of the gap between the best token and one of the nine next, in logits (0.0 if exact).
        shapes: the same for each way of reading, by name.
        copied: the same between a sequence and its copy, each rolled back and read on.
    """

    exact: bool
    noise: float
    shapes: dict[str, float]
    copied: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Seconds of one pass: with one token of each of so many sequences, and for each token read in a long piece."""

    one: float
    several: float
    number: int
    read: float

    def lockstep_pays(self, agents: int) -> bool:
        """Whether feeding each token to all ``agents`` at once takes less time than having each read up at its turn."""
        each = (self.several - self.one) / max(self.number - 1, 1)
        return self.one + each * (agents - 1) < self.one + self.read * (agents - 1)


def measure(sequences: Sequences) -> Exactness:
    """Read :data:`SAMPLE` in several ways. Takes about a hundred tokens of work; leaves no sequence open."""
    ids = sequences.weights.cut(SAMPLE)[:MOST_TOKENS_EXACT]
    opened = [sequences.open()]
    try:
        whole = sequences.step([Reading(opened[0], ids, len(ids))])[0]
        opened.append(sequences.copy(opened[0]))
        sequences.rollback(opened[1], 0)
        single = [sequences.step([Reading(opened[1], [token], 1)])[0] for token in ids[:_SINGLE]]
        half = _SINGLE // 2
        for handle in opened:
            sequences.rollback(handle, half)
        opened.append(sequences.copy(opened[0]))
        beside = sequences.step([Reading(handle, ids[half:_SINGLE], _SINGLE - half) for handle in opened])
    finally:
        for handle in opened:
            sequences.close(handle)
    shapes = {
        "one token at a time": gap_change(whole[:_SINGLE], np.concatenate(single)),
        "three sequences": gap_change(whole[half:_SINGLE], beside[1]),
    }
    copied = gap_change(beside[0], beside[2])
    same = bool(
        np.array_equal(whole[:_SINGLE], np.concatenate(single)) and np.array_equal(whole[half:_SINGLE], beside[1])
    )
    return Exactness(exact=same, noise=max(*shapes.values(), copied), shapes=shapes, copied=copied)


def rates(sequences: Sequences, *, agents: int = 4, times: int = 3) -> Rates:
    """Time passes of the engine, the best of ``times`` each. Leaves no sequence open."""
    ids = sequences.weights.cut(SAMPLE)[:MOST_TOKENS_EXACT]
    opened = [sequences.open(ids[:16])]
    try:
        opened += [sequences.copy(opened[0]) for _ in range(agents - 1)]
        one = min(_timed(sequences, opened[:1], ids[16:17]) for _ in range(times))
        several = min(_timed(sequences, opened, ids[16:17]) for _ in range(times))
        read = min(_timed(sequences, opened[:1], ids[16:48]) for _ in range(times)) / 32
    finally:
        for handle in opened:
            sequences.close(handle)
    return Rates(one=one, several=several, number=agents, read=read)


def gap_change(rows: Rows, others: Rows) -> float:
    """Largest change of a gap between the best token of a row and one of the nine next: shapes (n, vocabulary)."""
    best = np.argpartition(-rows, _BEST, axis=1)[:, :_BEST]
    top = rows.argmax(axis=1)[:, None]

    def gaps(found: Rows) -> Rows:
        return np.take_along_axis(found, top, 1) - np.take_along_axis(found, best, 1)

    return float(np.abs(gaps(rows) - gaps(others)).max())


def _timed(sequences: Sequences, handles: list[int], ids: list[int]) -> float:
    lengths = [sequences.length(handle) for handle in handles]
    began = time.perf_counter()
    sequences.step([Reading(handle, ids, 1) for handle in handles])
    took = time.perf_counter() - began
    for handle, length in zip(handles, lengths, strict=True):
        sequences.rollback(handle, length)
    return took
