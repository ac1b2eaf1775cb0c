"""Scores of stated probabilities: the reference's figures, definitions written out, what must hold for any numbers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from voting_sets import GSM_NINE, HOSTS, gsm, judges, mmlu_pro, oracle, ranked

from dissensus.errors import UsageError
from dissensus.measure.isotonic import fit_isotonic, pooled
from dissensus.measure.scores import bars, equal_mass, fixed, scores_of, stated
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import tally

# AUROC, ECE, Brier of the leader's share
REFERENCE: dict[str, tuple[Callable[[Path], VoteTable], tuple[float, float, float]]] = {
    "MMLU-Pro nine": (mmlu_pro, (0.78228, 0.04220, 0.17215)),
    "GSM nine": (lambda shared: gsm(shared, GSM_NINE), (0.79346, 0.04119, 0.03300)),
    "GSM 44": (gsm, (0.85598, 0.08823, 0.04030)),
    "one model at three hosts": (lambda shared: gsm(shared, HOSTS), (0.68456, 0.02740, 0.03438)),
    "first choices": (ranked, (0.60599, 0.10520, 0.14836)),
    "judges": (judges, (0.70639, 0.08020, 0.10079)),
}

pairs_of_values = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0]), st.sampled_from([0.0, 1 / 3, 0.5, 1.0])),
    min_size=1,
    max_size=30,
)


def split(pairs: list[tuple[float, float]]) -> tuple[Array, Array]:
    return np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])


@pytest.mark.parametrize("name", REFERENCE)
def test_the_vote_share_of_the_reference_sets(shared: Path, name: str) -> None:
    load, (auroc, ece, brier) = REFERENCE[name]
    tallies = tally(load(shared))
    p = tallies.leader / tallies.n
    found = scores_of(p, tallies.credit)
    assert found.auroc == pytest.approx(auroc, abs=6e-6)
    assert found.brier.score == pytest.approx(brier, abs=6e-6)
    # with one bin for each value, the definition of the reference
    every = stated(p, tallies.credit)
    assert abs(every.right - every.p * every.many).sum() / every.questions == pytest.approx(ece, abs=6e-6)
    if tallies.n <= 9:  # ten bins hold one value each
        assert found.ece == pytest.approx(ece, abs=6e-6)


def test_the_oracle_of_the_definitions() -> None:
    tallies = tally(oracle())
    found = scores_of(tallies.leader / 3, tallies.credit)
    assert found.auroc == pytest.approx(0.735714, abs=5e-7)
    assert found.ece == pytest.approx(0.25)
    assert found.brier.score == pytest.approx(0.277778, abs=5e-7)


@given(pairs_of_values)
def test_auroc_is_its_definition(pairs: list[tuple[float, float]]) -> None:
    p, y = split(pairs)
    above = sum(ya * (1 - yb) * ((pa > pb) + (pa == pb) / 2) for (pa, ya), (pb, yb) in product(pairs, repeat=2))
    total = y.sum() * (1 - y).sum()
    found = scores_of(p, y).auroc
    assert found == (pytest.approx(above / total) if total > 0 else None)


@given(pairs_of_values)
def test_brier_is_its_parts_and_none_is_negative(pairs: list[tuple[float, float]]) -> None:
    p, y = split(pairs)
    found = scores_of(p, y).brier
    assert found.score == pytest.approx(float(np.mean(y * (1 - p) ** 2 + (1 - y) * p**2)))
    assert found.reliability - found.resolution + found.uncertainty == pytest.approx(found.score)
    assert found.reliability > -1e-12
    assert found.resolution > -1e-12
    if found.uncertainty > 0:
        assert found.skill == pytest.approx(1 - found.score / found.uncertainty)


def test_where_the_share_right_rises_the_parts_are_murphys() -> None:
    rng = np.random.default_rng(0)
    p = rng.choice([0.2, 0.5, 0.8], 3000)
    y = (rng.random(3000) < 0.2 + 0.6 * p).astype(float)
    found = scores_of(p, y).brier
    levels = [(float(np.mean(p == v)), v, float(y[p == v].mean())) for v in (0.2, 0.5, 0.8)]
    assert found.reliability == pytest.approx(sum(w * (v - r) ** 2 for w, v, r in levels))
    assert found.resolution == pytest.approx(sum(w * (r - y.mean()) ** 2 for w, _, r in levels))


@given(pairs_of_values, st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_of_questions(pairs: list[tuple[float, float]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = scores_of(*split(pairs)), scores_of(*split(shuffled))
    assert first.ece_equal_mass == pytest.approx(second.ece_equal_mass)
    assert first.ece_debiased == pytest.approx(second.ece_debiased)
    assert [bar.count for bar in first.bins] == [bar.count for bar in second.bins]


@given(pairs_of_values)
def test_bins_hold_everything_once(pairs: list[tuple[float, float]]) -> None:
    found = stated(*split(pairs))
    for place in (fixed(found), equal_mass(found)):
        assert sum(bar.count for bar in bars(found, place)) == len(pairs)
        assert (np.diff(place) >= 0).all()  # values in order: no bin is inside another


def test_the_edges_of_the_bins() -> None:
    found = stated(np.array([0.0, 0.05, 0.1, 0.95, 1.0]), np.zeros(5))
    assert fixed(found).tolist() == [0, 0, 1, 9, 9]


def test_equal_mass_is_about_equal() -> None:
    p = np.random.default_rng(1).random(1000)
    found = scores_of(p, np.ones(1000))
    assert {bar.count for bar in found.bins} == {100}
    assert sum(found.histogram) == 1000


def test_the_debiased_error_of_an_exact_statement_is_two_fifths_smaller() -> None:
    rng = np.random.default_rng(2)
    plain, corrected = [], []
    for _ in range(300):
        p = rng.random(300)
        found = scores_of(p, (rng.random(300) < p).astype(float))
        plain.append(found.ece_equal_mass)
        corrected.append(found.ece_debiased)
    assert float(np.mean(plain)) > 0.04
    assert float(np.mean(corrected)) == pytest.approx((2 - 2**0.5) * float(np.mean(plain)), rel=0.06)  # E|N(0, s)|


def test_the_debiased_error_of_a_wrong_statement_stays() -> None:
    rng = np.random.default_rng(3)
    found = [scores_of(np.full(400, 0.9), (rng.random(400) < 0.7).astype(float)).ece_debiased for _ in range(200)]
    assert float(np.mean(found)) == pytest.approx(0.2, abs=0.01)


def test_log_loss() -> None:
    y = np.array([1.0, 0.0, 0.5])
    p = np.array([0.8, 0.3, 0.6])
    expected = -np.mean([np.log(0.8), np.log(0.7), 0.5 * np.log(0.6) + 0.5 * np.log(0.4)])
    assert scores_of(p, y).log_loss == pytest.approx(float(expected))
    assert scores_of(np.array([1.0, 0.5]), np.array([0.0, 1.0])).log_loss == np.inf
    assert scores_of(np.array([1.0, 0.0]), np.array([1.0, 0.0])).log_loss == 0.0


@pytest.mark.parametrize("bad", [[1.1], [-0.1], [np.nan], []])
def test_what_is_no_probability_is_refused(bad: list[float]) -> None:
    with pytest.raises(UsageError):
        scores_of(np.array(bad), np.zeros(len(bad)))


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), min_size=1, max_size=9))
def test_isotonic_regression_is_the_minimum_over_later_of_the_maximum_over_earlier(
    points: list[tuple[float, int]],
) -> None:
    y, w = np.array([v for v, _ in points]), np.array([float(k) for _, k in points])
    found = pooled(y, w)
    for at in range(len(y)):
        best = min(
            max(float(np.average(y[i : j + 1], weights=w[i : j + 1])) for i in range(at + 1)) for j in range(at, len(y))
        )
        assert found[at] == pytest.approx(best)
    assert all(low <= high + 1e-12 for low, high in pairwise(found.tolist()))


def test_equal_places_are_pooled_and_gaps_are_lines() -> None:
    fitted = fit_isotonic(np.array([1.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.0]))
    assert fitted.at(np.array([0.0, 1.0, 2.0, 3.0, 9.0])).tolist() == [0.5, 0.5, 0.75, 1.0, 1.0]
