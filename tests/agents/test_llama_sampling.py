"""Choosing a token: the same number for the same place, the filters against a plain reading of what they mean."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dissensus.agents.llama_sampling import Sampling, choose, draw, logprobs

LOGITS = arrays(np.float32, st.integers(1, 40), elements=st.integers(-6, 6).map(float))
"""Few values, so that ties are common."""
HOW = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    top_k=st.integers(0, 45),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5]),
    seed=st.integers(0, 5),
)


def chosen_plainly(logits: list[float], how: Sampling, place: int) -> int:
    """The same by sorting everything and adding up one by one."""
    ranked = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    if how.temperature == 0:
        return ranked[0]
    kept = ranked[: how.top_k] if how.top_k else ranked
    weights = [math.exp(logits[token] - logits[kept[0]]) for token in kept]
    so_far, total, nucleus = 0.0, sum(weights), []
    for token, weight in zip(kept, weights, strict=True):
        nucleus.append(token)
        so_far += weight
        if so_far / total >= how.top_p - 1e-12 and how.top_p < 1:
            break
    least = how.min_p * math.exp(logits[nucleus[0]])
    nucleus = [token for token in nucleus if math.exp(logits[token]) >= least * (1 - 1e-9)]
    heated = [math.exp((logits[token] - logits[nucleus[0]]) / how.temperature) for token in nucleus]
    target, so_far = draw(how.seed, place) * sum(heated), 0.0
    for token, weight in zip(nucleus, heated, strict=True):
        so_far += weight
        if so_far > target:
            return token
    return nucleus[-1]


@given(LOGITS, HOW, st.integers(0, 1000))
def test_it_chooses_as_the_filters_say(logits: np.ndarray, how: Sampling, place: int) -> None:
    assert choose(logits, how, place) == chosen_plainly([float(one) for one in logits], how, place)


def test_greedy_takes_the_lowest_id_of_equals() -> None:
    assert choose(np.array([1, 3, 3, 2], np.float32), Sampling(), 0) == 1


def test_a_large_vocabulary_is_not_sorted_whole_and_gives_the_same() -> None:
    logits = np.random.default_rng(0).normal(0, 3, 20_000).astype(np.float32)
    for top_p in (0.3, 0.9, 0.999):  # the last one is wider than the first look
        how = Sampling(temperature=1.0, top_k=0, top_p=top_p, min_p=0.0, seed=3)
        plainly = [float(one) for one in logits]
        assert [choose(logits, how, place) for place in range(8)] == [
            chosen_plainly(plainly, how, place) for place in range(8)
        ]


def test_draws_are_uniform_and_depend_on_seed_and_place_alone() -> None:
    numbers = [draw(seed, place) for seed in range(40) for place in range(250)]
    assert numbers[:3] == [draw(0, 0), draw(0, 1), draw(0, 2)]
    assert len(set(numbers)) == len(numbers)
    assert 0 <= min(numbers) <= max(numbers) < 1
    tenths = Counter(int(number * 10) for number in numbers)
    # 10,000 draws: each tenth holds 1,000, with a standard deviation of 30
    assert all(abs(tenths[tenth] - 1000) < 150 for tenth in range(10))


def test_log_probabilities_are_exact() -> None:
    rows = np.random.default_rng(1).normal(0, 8, (5, 30_000)).astype(np.float32)
    ids = np.array([0, 1, 2, int(rows[3].argmax()), int(rows[4].argmin())])
    exact = [
        float(row[token])
        - float(row.max())
        - math.log(math.fsum(math.exp(float(one) - float(row.max())) for one in row))
        for row, token in zip(rows, ids, strict=True)
    ]
    assert logprobs(rows, ids) == pytest.approx(exact, abs=2e-6)
