"""The jury curve: the figures of the seed, one object for text and JSON, and contradictions refused."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.correlated import beta_binomial_majority, gaussian_limit
from dissensus.measure.jury_curve import ILLUSTRATION, ORDER, JuryCurve, jury_curve, shown
from dissensus.measure.panel_models import correlated, independent, trap

SIZES = [3, 5, 9, 21, 99]


def column(curve: JuryCurve, name: str) -> list[float]:
    return [getattr(point, name) for point in curve.points]


def test_the_promise_and_the_trap() -> None:
    curve = jury_curve(SIZES, 0.7, trap_share=0.2)
    assert [round(value, 3) for value in column(curve, "independent")[:4]] == [0.784, 0.837, 0.901, 0.974]
    assert [round(value, 3) for value in column(curve, "correlated")] == [0.766, 0.787, 0.798, 0.800, 0.800]
    assert curve.parameters["p_off_traps"] == pytest.approx(0.875)
    assert curve.rho == pytest.approx(0.583333, abs=1e-6)
    assert (curve.limit, curve.limit_independent) == pytest.approx((0.8, 1))
    nine = curve.points[2]
    assert nine.worth == pytest.approx(1.5882, abs=5e-5)
    assert (nine.agree, nine.wrong_if_agreed) == pytest.approx((0.440526, 0.454002), abs=5e-7)
    assert nine.wrong_if_agreed_independent == pytest.approx(1 - 0.99951, abs=5e-6)


def test_correlation_by_each_model() -> None:
    beta = jury_curve([9], 0.7, rho=0.2)
    assert beta.model == "beta-binomial"
    assert column(beta, "correlated") == [pytest.approx(float(beta_binomial_majority(9, 0.7, 0.2)))]
    gauss = jury_curve([9], 0.7, rho=0.2, model="gaussian")
    assert round(gauss.parameters["latent"], 4) == 0.3284
    assert gauss.limit == gaussian_limit(0.7, gauss.parameters["latent"])
    traps = jury_curve([9], 0.7, rho=0.2, model="trap")
    assert round(traps.parameters["trap"], 6) == 0.078947
    assert {name: round(limit, 4) for name, limit in beta.same_rho.items()} == {
        "trap": 0.9211,
        "beta-binomial": 0.8180,
        "gaussian": 0.8199,
    }
    assert beta.same_rho == pytest.approx(traps.same_rho)


def test_options_split_and_strict() -> None:
    curve = jury_curve([11, 51, 101], options=[0.4, 0.35, 0.25])
    assert curve.p == 0.4
    assert [round(value, 4) for value in column(curve, "independent")] == [0.4933, 0.6356, 0.7121]
    assert [round(value, 4) for value in column(curve, "strictly")] == [0.4104, 0.6052, 0.6920]
    assert jury_curve([3], 0.4, options=11).points[0].correlated == pytest.approx(0.4816, abs=5e-5)
    two, binary = jury_curve([3, 9], 0.7, options=2, trap_share=0.2), jury_curve([3, 9], 0.7, trap_share=0.2)
    for a, b in zip(two.points, binary.points, strict=True):
        assert (a.correlated, a.agree, a.wrong_if_agreed) == pytest.approx((b.correlated, b.agree, b.wrong_if_agreed))


def test_traps_among_options_leave_the_rest_in_proportion() -> None:
    panel = trap(0.6, 0.2, [0.6, 0.3, 0.1])
    alone = independent(0.75, [0.75, 0.1875, 0.0625])
    assert panel.accuracy([7])[0] == pytest.approx(0.8 * alone.accuracy([7])[0])
    assert panel.limit == pytest.approx(0.8)
    agree, wrong = panel.unanimous(3)
    assert agree * wrong == pytest.approx(0.2 + 0.8 * (0.1875**3 + 0.0625**3))


def test_without_correlation_models_are_independent_voters() -> None:
    alone = independent(0.7).accuracy(SIZES)
    for name in ("trap", "beta-binomial", "gaussian"):
        assert correlated(name, 0.7, 0.0).accuracy(SIZES) == pytest.approx(alone, abs=1e-12)
    assert trap(0.7, 0.0).rho == 0


@given(st.floats(0.05, 0.95), st.floats(0, 1), st.sampled_from(["trap", "beta-binomial", "gaussian"]))
def test_figures_are_shares_and_one_voter_is_one_voter(p: float, rho: float, model: str) -> None:
    curve = jury_curve([1, 2, 9, 99], p, rho=rho, model=model)  # type: ignore[arg-type]
    assert curve.points[0].correlated == pytest.approx(p, abs=1e-9)
    assert curve.points[1].correlated == pytest.approx(p, abs=1e-9)
    for point in curve.points:
        for value in (point.correlated, point.independent, point.agree):
            assert -1e-12 <= value <= 1 + 1e-12
        assert point.worth is not None
        assert 1 - 1e-9 <= point.worth <= point.n + 1e-9
    assert curve.points[0].agree == 1
    json.dumps(curve.to_data(), allow_nan=False)


def test_where_voting_hurts_one_voter_is_best() -> None:
    curve = jury_curve([3, 9], 0.4)
    assert curve.best_n == 1
    assert "none is better than one voter." in curve.notes()[0]
    assert "though very many voters are" in jury_curve([2], 0.4, options=4).notes()[0]  # two voters only split ties


def test_where_more_is_better_it_says_how_little_is_left() -> None:
    curve = jury_curve([3, 99], 0.7, trap_share=0.2)
    assert curve.near_limit == 7
    assert "from n = 7 on" in curve.notes()[0]
    assert curve.best == pytest.approx(0.8)
    assert "more voters never hurt." in jury_curve([3], 0.501).notes()[0]


def test_some_plurality_falls_with_more_voters() -> None:
    """Even panels tie in another way than odd ones, so among a few sizes the largest need not be the best."""
    curve = jury_curve([2, 3, 9, 99], options=[0.3, 0.4, 0.3])
    assert curve.best_n < 99
    assert curve.limit == 0


def test_what_is_assumed_is_always_said() -> None:
    trapped = jury_curve([3], 0.7, trap_share=0.2)
    assert "on 20 % of the questions all give the same wrong answer, elsewhere 0.875; rho 0.583" in trapped.title()
    assert ORDER in trapped.notes()
    assert any("no guarantee" in note for note in trapped.notes())
    assert jury_curve([3], 0.7).notes()[-1] == ILLUSTRATION
    assert trapped.to_data()["notes"] == trapped.notes()
    assert "latent correlation 0.328" in jury_curve([3], 0.7, rho=0.2, model="gaussian").title()
    assert "among 4 options" in jury_curve([3], 0.7, options=4).title()


def test_even_panels_draw_a_warning() -> None:
    assert jury_curve([3, 9], 0.7).warnings == ()
    assert "4 voters do no better than one fewer" in jury_curve([3, 4], 0.7).warnings[0]
    assert "2, 4 or 8 voters" in jury_curve([8, 2, 4], 0.7).warnings[0]
    assert "ties more often" in jury_curve([4], 0.7, options=4).warnings[0]


def test_sizes_are_sorted_and_counted_once() -> None:
    assert column(jury_curve([9, 3, 9], 0.7), "n") == [3, 9]


def test_no_voter_is_ever_right() -> None:
    curve = jury_curve([3], 0.0)
    assert curve.points[0].correlated == 0
    assert curve.points[0].wrong_if_agreed == 1
    assert jury_curve([3], 1.0).points[0].correlated == 1
    assert jury_curve([3], 0.0, options=3).points[0].correlated == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0000"), (0.99999, ">.9999"), (0.7, ".7000"), (0.0, "0"), (1.9e-8, "2e-08"), (0.99994, ".9999")],
)
def test_nothing_looks_more_certain_than_it_is(value: float, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: jury_curve([3], 1.2), "p cannot be 1.2"),
        (lambda: jury_curve([3], math.nan), "p cannot be nan"),
        (lambda: jury_curve([3]), "accuracy is missing"),
        (lambda: jury_curve([], 0.7), "No panel size"),
        (lambda: jury_curve([0], 0.7), "voters cannot be 0"),
        (lambda: jury_curve([2_000_000], 0.7), "2,000,000 is more than"),
        (lambda: jury_curve([10_000], 0.7, options=3), "10,000 is more than"),
        (lambda: jury_curve([3], 0.9, trap_share=0.2), "no voter can be right on 0.9"),
        (lambda: jury_curve([3], 0.0, trap_share=1.0), "no voter can be right on 0 of all"),
        (lambda: jury_curve([3], 0.7, trap_share=1.2), "traps cannot be 1.2"),
        (lambda: jury_curve([3], 0.7, trap_share=0.2, rho=0.2), "both given"),
        (lambda: jury_curve([3], 0.7, trap_share=0.2, model="gaussian"), "do not go with the gaussian"),
        (lambda: jury_curve([3], 0.7, rho=1.2), "rho cannot be 1.2: it lies between"),
        (lambda: jury_curve([3], 0.7, rho=-0.1), "disagree more than chance"),
        (lambda: jury_curve([3], 0.7, rho=math.nan), "rho cannot be nan"),
        (lambda: jury_curve([3], 1.0, rho=0.2), "all alike"),
        (lambda: jury_curve([3], 0.7, rho=0.2, options=3), "right and wrong, not about many options"),
        (lambda: jury_curve([3], 0.7, model="gaussian"), "needs a correlation"),
        (lambda: jury_curve([3], 0.7, options=1), "two options"),
        (lambda: jury_curve([3], options=[1.0]), "two options"),
        (lambda: jury_curve([3], options=[0.4, 0.4]), "sum to 0.8"),
        (lambda: jury_curve([3], 0.6, options=[0.4, 0.6]), "p is 0.6, but the first"),
    ],
)
def test_contradictions_are_refused_with_a_next_step(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator]
