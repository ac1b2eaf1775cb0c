from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom  # type: ignore[import-untyped]
from voting_sets import oracle, random_table, spelled, tables

from dissensus.measure.bootstrap import units_of
from dissensus.measure.pairs import (
    chance_of_same,
    effective_voters,
    exact_p,
    holm,
    mean_phi,
    mid_p,
    normal_p,
    pairs_of,
    phi_units,
    rho_from_sums,
)
from dissensus.measure.table import VoteTable


@given(tables())
def test_pairs_are_those_of_counting_by_hand(table: VoteTable) -> None:
    known = table.rows(table.labelled) if table.labelled.any() else None
    if known is None or known.n_voters < 2:
        return
    found = pairs_of(known)
    wrong = ~known.right
    for i, j in itertools.combinations(range(known.n_voters), 2):
        assert found.joint[i, j] == pytest.approx((wrong[:, i] & wrong[:, j]).mean())
        both = wrong[:, i] & wrong[:, j] & ~known.blank[:, i] & ~known.blank[:, j]
        assert found.both_wrong[i, j] == both.sum()
        assert found.same_wrong[i, j] == (both & (known.codes[:, i] == known.codes[:, j])).sum()
        if 0 < wrong[:, i].mean() < 1 and 0 < wrong[:, j].mean() < 1:
            assert found.phi[i, j] == pytest.approx(np.corrcoef(wrong[:, i], wrong[:, j])[0, 1])
        else:
            assert np.isnan(found.phi[i, j])


def test_the_oracle_of_the_definitions() -> None:
    table = oracle()
    found = pairs_of(table)
    i, j = found.above()
    assert (1 - found.error).tolist() == [0.75, 0.375, 0.25]
    assert found.joint[i, j].mean() == pytest.approx(0.375)
    assert found.product[i, j].mean() == pytest.approx(0.270833, abs=5e-7)
    assert found.joint[i, j].mean() / found.product[i, j].mean() == pytest.approx(1.384615, abs=5e-7)
    assert (found.joint[i, j] / found.product[i, j]).mean() == pytest.approx(1.422222, abs=5e-7)
    # by hand: 1/sqrt(5), 1/3 and sqrt(5)/3, whose mean is .508634; the reference prints .508629
    assert sorted(found.phi[i, j]) == pytest.approx([1 / 3, 5**-0.5, 5**0.5 / 3])
    assert found.phi[i, j].mean() == pytest.approx(0.508629, abs=1e-5)
    assert effective_voters(3, float(found.phi[i, j].mean())) == pytest.approx(1.4872, abs=5e-5)
    assert found.same_wrong[i, j].sum() / found.both_wrong[i, j].sum() == pytest.approx(5 / 6)
    wrong = (~table.right & ~table.blank).sum(axis=1)
    assert chance_of_same(table.options, wrong) == pytest.approx(1 / 3)


def test_rho_is_the_u_statistic_over_all_pairs() -> None:
    table = random_table(np.random.default_rng(2), 40, 5)
    right = table.right.astype(float)
    questions, n = right.shape
    within = np.mean(
        [right[q, i] * right[q, j] for q in range(questions) for i in range(n) for j in range(n) if i != j]
    )
    across = np.mean([right[q].mean() * right[r].mean() for q in range(questions) for r in range(questions) if q != r])
    p = right.mean()
    c = right.sum(axis=1)
    found = rho_from_sums(c.sum(), (c**2).sum(), np.array(float(questions)), n)
    assert float(found) == pytest.approx((within - across) / (p - across))


def test_rho_of_the_oracle() -> None:
    c = oracle().right.sum(axis=1).astype(float)
    assert float(rho_from_sums(c.sum(), (c**2).sum(), np.array(8.0), 3)) == pytest.approx(0.377778, abs=5e-7)


@pytest.mark.parametrize("c", [[3.0, 3.0], [0.0, 0.0], [3.0]])
def test_rho_without_variation_is_not_defined(c: list[float]) -> None:
    right = np.array(c)
    assert np.isnan(rho_from_sums(right.sum(), (right**2).sum(), np.array(float(right.size)), 3))


def test_the_mean_correlation_from_sums_is_that_of_the_matrix() -> None:
    table = random_table(np.random.default_rng(3), 200, 6)
    units = phi_units(table.right)
    whole = units.sums(units.counts[None, :].astype(float))
    found = pairs_of(table)
    assert mean_phi(whole, 6)[0] == pytest.approx(float(found.phi[found.above()].mean()))
    grouped = phi_units(table.right, np.arange(200) // 2)
    assert grouped.total == 100
    assert mean_phi(grouped.sums(np.ones((1, 100))), 6)[0] == pytest.approx(float(found.phi[found.above()].mean()))


def test_a_voter_without_an_error_is_left_out_of_the_mean() -> None:
    table = spelled(["ABB", "AAA", "ABA", "AAA"], "AAAA")
    found = pairs_of(table)
    assert np.isnan(found.phi[0]).all()
    units = phi_units(table.right)
    whole = units.sums(units.counts[None, :].astype(float))
    assert mean_phi(whole, 3)[0] == pytest.approx(float(found.phi[1, 2]))


@settings(max_examples=60)
@given(st.integers(2, 40).flatmap(lambda q: st.tuples(st.just(q), st.integers(0, q), st.integers(0, q))), st.data())
def test_mid_p_is_that_of_the_hypergeometric(sizes: tuple[int, int, int], data: st.DataObject) -> None:
    questions, first, second = sizes
    overlap = data.draw(st.integers(max(0, first + second - questions), min(first, second)))
    law = hypergeom(questions, first, second)
    at = law.pmf(overlap)
    below, above = law.cdf(overlap) - at / 2, law.sf(overlap) + at / 2
    assert mid_p(overlap, first, second, questions) == pytest.approx(min(1, 2 * min(below, above)), abs=1e-9)


def test_mid_p_of_a_million_questions_is_quick_and_finite() -> None:
    assert mid_p(200_000, 400_000, 400_000, 1_000_000) < 1e-100
    assert mid_p(160_000, 400_000, 400_000, 1_000_000) == pytest.approx(1, abs=0.01)


def test_the_normal_approximation_is_near_the_exact_test() -> None:
    rng = np.random.default_rng(5)
    table = VoteTable(
        codes=(rng.random((4000, 5)) < 0.4).astype(np.int32),
        gold=np.zeros(4000, dtype=np.int32),
        voters=tuple("abcde"),
    )
    found = pairs_of(table)
    assert normal_p(found) == pytest.approx(exact_p(found), abs=0.02)


def test_holm_steps_down() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("n", "rho", "expected"), [(1000, 0.5, 1.998), (1000, 0.2, 4.980), (9, 0.583333, 1.5882)])
def test_effective_voters_of_the_reference(n: int, rho: float, expected: float) -> None:
    assert effective_voters(n, rho) == pytest.approx(expected, abs=5e-4)


def test_opposed_errors_can_leave_no_number_of_voters() -> None:
    assert effective_voters(9, -0.05) == pytest.approx(15)
    assert effective_voters(9, -0.125) is None


def test_chance_of_the_same_wrong_answer_needs_the_number_of_options() -> None:
    wrong = np.array([2, 3, 0])
    assert chance_of_same(None, wrong) is None
    assert chance_of_same(np.array([5, 0, 4]), wrong) is None
    assert chance_of_same(np.array([5, 3, 0]), wrong) == pytest.approx((1 / 4 + 3 / 2) / 4)
    assert chance_of_same(np.array([5, 3, 0]), np.zeros(3, dtype=np.int64)) is None


def test_units_of_groups_are_sums() -> None:
    units = units_of(np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 2, 2]))
    assert sorted(units.features(slice(0, 3)).ravel()) == [2, 4, 9]
