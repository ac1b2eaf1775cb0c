from __future__ import annotations

import numpy as np
import pytest
from voting_sets import random_table

from dissensus.measure import bootstrap
from dissensus.measure.bootstrap import (
    affordable,
    draws,
    interval,
    jackknife,
    mean_of_values,
    paired,
    units_of,
    units_of_values,
)
from dissensus.measure.curve import band, max_t, share_band
from dissensus.measure.pairs import mean_phi, phi_units


@pytest.mark.parametrize("kinds", [2, 60], ids=["by multinomial", "by index"])
def test_drawings_have_the_mean_and_variance_of_drawing_with_replacement(kinds: int) -> None:
    values = np.random.default_rng(1).integers(0, kinds, 60).astype(float)
    found = mean_of_values(draws(units_of_values(values), 20_000, seed=5))
    assert found.mean() == pytest.approx(values.mean(), abs=4 * values.std() / np.sqrt(60 * 20_000))
    assert found.std() == pytest.approx(values.std() / np.sqrt(60), rel=0.03)


def test_a_group_is_drawn_as_a_whole() -> None:
    values = np.repeat(np.random.default_rng(2).random(40), 4)
    groups = np.repeat(np.arange(40), 4)
    apart = mean_of_values(draws(units_of_values(values), 4000, seed=1)).std()
    together = mean_of_values(draws(units_of_values(values, groups), 4000, seed=1)).std()
    assert together == pytest.approx(2 * apart, rel=0.06)


def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_questions() -> None:
    values = np.random.default_rng(3).random(50).round(1)
    one = interval(units_of_values(values), mean_of_values, times=500, seed=9)
    other = interval(units_of_values(values[::-1]), mean_of_values, times=500, seed=9)
    assert one == other
    groups = np.arange(50) // 2
    one = interval(units_of_values(values, groups), mean_of_values, times=500, seed=9)
    other = interval(units_of_values(values[::-1], groups[::-1]), mean_of_values, times=500, seed=9)
    assert one == other


def test_percentile_and_corrected_intervals_of_a_mean_agree_with_the_normal_one() -> None:
    values = np.random.default_rng(4).normal(size=800)
    error = values.std() / np.sqrt(800)
    for method in ("percentile", "bca"):
        found = interval(units_of_values(values), mean_of_values, times=4000, seed=1, method=method)
        assert found == pytest.approx((values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.15 * error)


def test_bca_moves_a_skewed_interval_to_the_right() -> None:
    values = np.random.default_rng(5).exponential(size=40)
    plain = interval(units_of_values(values), mean_of_values, times=4000, seed=1, method="percentile")
    moved = interval(units_of_values(values), mean_of_values, times=4000, seed=1, method="bca")
    assert plain is not None
    assert moved is not None
    assert moved[0] > plain[0]
    assert moved[1] > plain[1]


def test_the_jackknife_leaves_each_unit_out_once() -> None:
    values = np.array([1.0, 2.0, 2.0, 6.0])
    units = units_of_values(values)
    whole = units.sums(units.counts[None, :].astype(float))
    assert jackknife(units, mean_of_values, whole) == pytest.approx([10 / 3, 3, 5 / 3])


def test_one_question_has_no_interval() -> None:
    assert interval(units_of_values(np.array([0.3])), mean_of_values, times=300, seed=0) is None
    assert paired(np.array([0.3])) == (0.3, None)


def test_a_statistic_that_is_mostly_undefined_has_no_interval() -> None:
    units = units_of(np.column_stack([np.ones(20), np.r_[np.ones(1), np.zeros(19)]]))
    assert interval(units, lambda s: np.where(s[:, 1] > 3, 1.0, np.nan), times=300, seed=0) is None


def test_large_tables_take_the_jackknife_which_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(np.random.default_rng(6), 2000, 4)
    units = phi_units(table.right)
    drawn = interval(units, lambda s: mean_phi(s, 4), times=4000, seed=1)
    monkeypatch.setattr(bootstrap, "_WORK", 1.0)
    assert affordable(units, 4000) == 0
    normal = interval(units, lambda s: mean_phi(s, 4), times=4000, seed=1)
    assert drawn is not None
    assert normal == pytest.approx(drawn, abs=0.004)


def test_fewer_drawings_where_they_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    units = units_of(np.ones((100, 10)))
    monkeypatch.setattr(bootstrap, "_WORK", 300_000.0)
    assert affordable(units, 2000) == 300
    assert affordable(units, 250) == 250


def test_blocks_of_units_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    features, weights = rng.random((30, 4)), rng.integers(0, 3, (5, 30)).astype(float)
    units = units_of(features)
    whole = units.sums(weights)
    monkeypatch.setattr(bootstrap, "_CELLS", 12)
    assert len(list(units.blocks())) == 10
    assert units.sums(weights) == pytest.approx(whole)
    assert whole == pytest.approx(weights @ features)


def test_the_paired_error_is_sd_over_root_of_questions() -> None:
    difference = np.array([1.0, 0, -1, 0, 1, 1])
    mean, error = paired(difference)
    assert mean == pytest.approx(1 / 3)
    assert error == pytest.approx(difference.std(ddof=1) / np.sqrt(6))
    copied = paired(np.repeat(difference, 3), np.repeat(np.arange(6), 3))
    assert copied == pytest.approx((mean, error))


def test_a_simultaneous_band_is_wider_than_one_interval_and_holds_the_largest_deviation() -> None:
    rng = np.random.default_rng(8)
    drawn = rng.normal(size=(20_000, 5)) * [1, 2, 3, 4, 0]
    mean = np.zeros(5)
    q = max_t(mean, drawn)
    assert q == pytest.approx(2.49, abs=0.04)  # four independent normals: the .95^(1/4) quantile of |z|
    low, high = band(mean, drawn, 10**6)
    assert high[:4] == pytest.approx(q * np.array([1, 2, 3, 4]), rel=0.03)
    assert low == pytest.approx(-high)


def test_a_band_of_shares_stays_between_nothing_and_all() -> None:
    drawn = np.array([[0.99, 1.0], [1.0, 1.0], [0.98, 1.0]] * 100)
    low, high = share_band(np.array([0.99, 1.0]), drawn, 100)
    assert (low < [0.99, 1.0]).all()
    assert high.tolist() == pytest.approx([1.0, 1.0], abs=5e-3)
    assert (high <= 1).all()
