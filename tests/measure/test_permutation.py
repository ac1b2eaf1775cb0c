from __future__ import annotations

import itertools

import numpy as np
import pytest
from voting_sets import oracle, random_table

from dissensus.measure.permutation import permutation_test, tarone
from dissensus.measure.table import Flags


def joint_of(wrong: Flags) -> float:
    pairs = itertools.combinations(range(wrong.shape[1]), 2)
    return float(np.mean([(wrong[:, i] & wrong[:, j]).mean() for i, j in pairs]))


def every_dealing(wrong: Flags) -> list[float]:
    """The joint error under all ways to deal two columns anew; the first may stay where it is."""
    orders = list(itertools.permutations(range(wrong.shape[0])))
    return [
        joint_of(np.column_stack([wrong[:, 0], wrong[list(second), 1], wrong[list(third), 2]]))
        for second in orders
        for third in orders
    ]


def test_mean_and_deviation_are_those_of_all_dealings() -> None:
    wrong = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)
    dealt = every_dealing(wrong)
    found = permutation_test(wrong)
    assert found.mean == pytest.approx(np.mean(dealt))
    assert found.sd == pytest.approx(np.std(dealt))
    assert found.joint == pytest.approx(joint_of(wrong))


def test_the_drawn_p_is_near_that_of_all_dealings() -> None:
    wrong = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]], dtype=bool)
    dealt = every_dealing(wrong)
    exact = np.mean(np.array(dealt) >= joint_of(wrong) - 1e-12)
    found = permutation_test(wrong, times=20_000, seed=1)
    assert found.p == pytest.approx(exact, abs=0.015)


def test_dealings_within_strata_are_those_of_each_stratum() -> None:
    rng = np.random.default_rng(3)
    wrong = rng.random((12, 4)) < 0.4
    strata = np.repeat([7, 2, 5], 4)
    found = permutation_test(wrong, strata)
    parts = [permutation_test(wrong[strata == part]) for part in (7, 2, 5)]
    assert found.mean == pytest.approx(np.mean([part.mean for part in parts]))
    assert found.sd == pytest.approx(np.sqrt(sum((part.sd / 3) ** 2 for part in parts)))
    assert found.joint == pytest.approx(joint_of(wrong))


def test_drawings_have_the_exact_mean_and_deviation() -> None:
    rng = np.random.default_rng(6)
    wrong = rng.random((300, 7)) < np.linspace(0.1, 0.9, 7)
    found = permutation_test(wrong, times=2000, seed=2)
    assert found.z is not None
    assert abs(found.z) < 4
    assert found.p is not None
    assert 0.001 < found.p <= 1


def test_the_oracle_of_the_definitions() -> None:
    found = permutation_test(~oracle().right)
    assert found.joint == pytest.approx(0.375)
    assert found.mean == pytest.approx(0.270833, abs=5e-7)
    assert found.z == pytest.approx(2.4, abs=0.05)


@pytest.mark.parametrize("value", [True, False])
def test_without_variation_there_is_nothing_to_test(value: bool) -> None:
    found = permutation_test(np.full((5, 3), value))
    assert (found.z, found.p, found.sd) == (None, None, 0.0)


def test_the_order_of_voters_and_questions_does_not_matter() -> None:
    wrong = ~random_table(np.random.default_rng(1), 80, 5).right
    rng = np.random.default_rng(2)
    turned = wrong[rng.permutation(80)][:, rng.permutation(5)]
    one, other = permutation_test(wrong, times=500, seed=3), permutation_test(turned, times=500, seed=3)
    assert (one.joint, one.mean, one.sd, one.p) == pytest.approx((other.joint, other.mean, other.sd, other.p))


def test_tarone_has_its_size_and_its_power() -> None:
    rng = np.random.default_rng(8)
    size = [_p(rng.binomial(9, 0.7, 200)) < 0.05 for _ in range(1000)]
    assert np.mean(size) == pytest.approx(0.05, abs=0.025)
    spread = 0.05
    a, b = 0.7 * (1 / spread - 1), 0.3 * (1 / spread - 1)
    power = [_p(rng.binomial(9, rng.beta(a, b, 200))) < 0.05 for _ in range(300)]
    assert np.mean(power) == pytest.approx(0.98, abs=0.03)


def _p(right: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> float:
    found = tarone(right, 9)
    assert found is not None
    return found.p


def test_tarone_without_variation_is_not_defined() -> None:
    assert tarone(np.array([9, 9, 9]), 9) is None
    assert tarone(np.array([0, 1]), 1) is None
