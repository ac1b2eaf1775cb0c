"""Fits to counts: reference figures on real votes, maxima that nothing beats, verdicts that reject what is wrong."""

from __future__ import annotations

import csv
import json
import math
import re
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.correlated import beta_binomial_counts, beta_binomial_majority
from dissensus.measure.extrapolation import extrapolate, next_sizes
from dissensus.measure.fits import (
    Fit,
    binomial_matrix,
    fit_any_mixture,
    fit_beta_binomial,
    fit_independent,
    fit_trap,
    fit_two_classes,
    subset_counts,
)
from dissensus.measure.mixtures import Mixture, trap_mixture
from dissensus.measure.special import Array

FITS = (fit_independent, fit_trap, fit_beta_binomial, fit_two_classes, fit_any_mixture)


def counts_of(mixture: Mixture, m: int, questions: float = 1000) -> Array:
    return questions * (binomial_matrix(m, mixture.points) @ mixture.weights)


@pytest.fixture(scope="module")
def mmlu(shared: Path) -> Array:
    """Questions by how many of nine models were right."""
    with (shared / "data/voting/mmlu-pro/answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    models = list(rows[0])[4:]
    return np.bincount([sum(row[model] == row["gold"] for model in models) for row in rows], minlength=10).astype(float)


@pytest.fixture(scope="module")
def gsm(shared: Path) -> Array:
    """Questions by how many of 44 models were right; the last number of a text is its answer."""
    lines = (shared / "data/voting/zeroeval-gsm/raw_answers.jsonl").read_text(encoding="utf-8").splitlines()

    def number(raw: object) -> Decimal | None:
        found = re.findall(r"-?\d[\d,]*(?:\.\d+)?", raw.replace("$", "")) if isinstance(raw, str) else []
        return Decimal(found[-1].replace(",", "")) if found else None

    right = [
        sum(number(raw) == number(row["gold"]) for raw in row["answers"].values()) for row in map(json.loads, lines)
    ]
    return np.bincount(right, minlength=45).astype(float)


# --- reference figures


def test_forty_four_models_from_nine(gsm: Array) -> None:
    actual = float(subset_counts(gsm, 43)[22:].sum() / gsm.sum())
    assert round(actual, 5) == 0.94843
    counts = subset_counts(gsm, 9)
    found = {fit.name: (round(float(fit.majority(43)), 5), fit) for fit in (model(counts) for model in FITS)}
    assert found["trap"][0] == 0.98513
    assert round(found["trap"][1].g2) == 366
    assert found["beta-binomial"][0] == 0.94579
    assert round(found["beta-binomial"][1].g2) == 63
    assert found["any mixture"][0] == 0.94916
    assert round(found["independent"][0], 3) == 1
    assert [name for name, (_, fit) in found.items() if fit.verdict == "survived"] == ["any mixture"]


def test_nine_models_from_five(mmlu: Array) -> None:
    assert round(float(mmlu[5:].sum() / mmlu.sum()), 5) == 0.55944
    counts = subset_counts(mmlu, 5)
    trap, beta, any_mixture = fit_trap(counts), fit_beta_binomial(counts), fit_any_mixture(counts)
    assert (round(float(trap.majority(9)), 5), round(trap.g2)) == (0.70537, 2757)
    assert (round(float(beta.majority(9)), 5), round(beta.g2, 1)) == (0.56473, 4.0)
    assert round(float(any_mixture.majority(9)), 5) == 0.55572
    assert round(float(fit_independent(counts).majority(9)), 5) == 0.62757
    assert (trap.verdict, beta.verdict) == ("rejected", "survived")


def test_the_limit_of_a_free_mixture_is_not_determined(mmlu: Array) -> None:
    five, nine = fit_any_mixture(subset_counts(mmlu, 5)), fit_any_mixture(mmlu)
    assert (round(five.limit, 3), round(nine.limit, 3)) == (0.551, 0.653)
    assert five.ceiling().value is None
    assert "do not determine" in five.ceiling().sentence


def test_the_trap_fit_may_not_speak_about_beta_binomial_voters() -> None:
    fit = fit_trap(1000 * beta_binomial_counts(9, 0.7, 0.2))
    assert fit.limit > 0.99  # where the truth is .818
    assert fit.verdict == "rejected"
    assert fit.ceiling().value is None
    assert "rejected" in fit.ceiling().sentence


# --- every fit finds its own kind again


# at one, or apart from it by more than a float can lose: a millionth of a question is no question
@given(st.floats(0, 0.9), st.floats(0.05, 1 - 1e-9) | st.just(1.0), st.integers(2, 15))
def test_trap(traps: float, elsewhere: float, m: int) -> None:
    fit = fit_trap(counts_of(trap_mixture(traps, elsewhere), m))
    assert fit.parameters["traps"] == pytest.approx(traps, abs=1e-6)
    assert fit.parameters["p0"] == pytest.approx(elsewhere, abs=1e-6)
    assert fit.g2 == pytest.approx(0, abs=1e-6)
    assert fit.verdict != "rejected"


@pytest.mark.parametrize(("p", "rho"), [(0.7, 0.2), (0.3, 0.6), (0.95, 0.05), (0.5, 0.0)])
def test_beta_binomial(p: float, rho: float) -> None:
    fit = fit_beta_binomial(1000 * beta_binomial_counts(9, p, rho))
    assert fit.parameters == pytest.approx({"p": p, "rho": rho}, abs=1e-5)
    assert fit.majority([3, 21]) == pytest.approx(beta_binomial_majority([3, 21], p, rho), abs=1e-5)
    assert fit.verdict == "survived"


@pytest.mark.parametrize(("share", "high", "low"), [(0.6, 0.85, 0.4), (0.3, 0.9, 0.1), (0.9, 0.8, 0.2)])
def test_two_classes(share: float, high: float, low: float) -> None:
    fit = fit_two_classes(counts_of(Mixture([high, low], [share, 1 - share]), 9))
    assert fit.parameters == pytest.approx({"share": share, "high": high, "low": low}, abs=1e-4)
    assert fit.ceiling().value == pytest.approx(share, abs=1e-4)


def test_any_mixture_predicts_a_few_more_voters() -> None:
    truth = Mixture([0.2, 0.5, 0.8, 0.95], [0.1, 0.2, 0.4, 0.3])
    fit = fit_any_mixture(counts_of(truth, 9))
    assert fit.g2 < 0.5
    assert fit.majority([11, 15]) == pytest.approx(truth.majority([11, 15]), abs=2e-3)


@pytest.mark.parametrize("model", [fit_beta_binomial, fit_two_classes, fit_trap])
def test_no_other_parameters_are_likelier(model: object, mmlu: Array) -> None:
    """Random steps around the fitted parameters never fit better."""
    fit: Fit = model(mmlu)  # type: ignore[operator]
    draw = np.random.default_rng(1)

    def g2(parameters: dict[str, float]) -> float:
        if fit.name == "beta-binomial":
            expected = beta_binomial_counts(9, parameters["p"], parameters["rho"])
        elif fit.name == "trap":
            expected = counts_of(trap_mixture(parameters["traps"], parameters["p0"]), 9, 1)
        else:
            two = [parameters["share"], 1 - parameters["share"]]
            expected = counts_of(Mixture([parameters["high"], parameters["low"]], two), 9, 1)
        return float(2 * (mmlu * np.log(mmlu / mmlu.sum() / expected)).sum())

    assert g2(dict(fit.parameters)) == pytest.approx(fit.g2)
    for _ in range(200):
        near = {name: value + draw.normal(0, 0.01) for name, value in fit.parameters.items()}
        assert g2(near) >= fit.g2 - 1e-6


def test_verdicts_are_right_as_often_as_they_should_be() -> None:
    """Data from the model are rejected about one time in twenty; from another, nearly always."""
    draw = np.random.default_rng(7)
    own, other = counts_of(trap_mixture(0.2, 0.875), 9, 1), beta_binomial_counts(9, 0.7, 0.2)
    rejected = [fit_trap(draw.multinomial(500, own)).verdict == "rejected" for _ in range(400)]
    assert 0.02 <= np.mean(rejected) <= 0.09
    caught = [fit_trap(draw.multinomial(500, other)).verdict == "rejected" for _ in range(50)]
    assert all(caught)


def test_voters_who_exclude_each_other_are_no_mixture() -> None:
    """Exactly two of four are right on every question: nothing interchangeable and extendible does that."""
    fit = fit_any_mixture([0, 0, 500, 0, 0])
    assert fit.verdict == "rejected"


# --- subsets


@pytest.mark.parametrize("m", range(1, 8))
def test_subset_counts_are_the_mean_over_all_subsets(m: int) -> None:
    draw = np.random.default_rng(3)
    right = draw.random((20, 7)) < draw.random((20, 1))
    all_subsets = [np.bincount(right[:, list(subset)].sum(1), minlength=m + 1) for subset in combinations(range(7), m)]
    counts = np.bincount(right.sum(1), minlength=8)
    assert subset_counts(counts, m) == pytest.approx(np.mean(all_subsets, axis=0), abs=1e-10)


# --- odd data


@pytest.mark.parametrize(
    "counts",
    [[0, 0, 0, 9], [9, 0, 0, 0], [0, 9], [5, 4], [3, 0, 0, 4], [0, 9, 0, 0], [1, 0, 0, 0], [0.5, 0.25, 0.1, 0.1]],
)
def test_whatever_the_counts_there_is_a_result(counts: list[float]) -> None:
    for model in FITS:
        fit = model(counts)
        assert fit.expected.sum() == pytest.approx(1)
        assert (fit.majority([1, 3, 9]) >= -1e-12).all()
        assert (fit.majority([1, 3, 9]) <= 1 + 1e-12).all()
        assert 0 <= fit.limit <= 1
        json.dumps(extrapolate(counts, [3, 21]).to_data(), allow_nan=False)


@pytest.mark.parametrize("counts", [[], [5], [0, 0, 0], [1, -1], [1, math.nan], [[1, 2], [3, 4]]])
def test_what_is_no_count_is_refused(counts: object) -> None:
    with pytest.raises(UsageError, match="Counts must be"):
        fit_trap(counts)  # type: ignore[arg-type]


def test_no_larger_subsets_than_voters() -> None:
    with pytest.raises(UsageError, match="subsets of 5"):
        subset_counts([1, 2, 3], 5)


# --- the report


def test_a_rejected_fit_gives_no_figure() -> None:
    report = extrapolate(1000 * beta_binomial_counts(9, 0.7, 0.2), [9, 21])
    data = report.to_data()
    assert data["fits"]["trap"]["verdict"] == "rejected"
    assert data["fits"]["trap"]["ceiling"] is None
    assert data["fits"]["trap"]["curve"] is None
    assert data["fits"]["bb"]["ceiling"] == pytest.approx(0.818, abs=1e-3)
    assert [bound["n"] for bound in data["bounds"]] == [9, 21, None]
    assert data["fits"]["trap"]["refused"]
    assert report.measured == pytest.approx(0.78365, abs=5e-6)
    first, *fits = report.lines()
    assert first.startswith("and with 9 and 21? a majority of right against wrong (.784 with 9): 9: ")
    assert first.endswith("(95 % sure, whatever the mixture of questions)")
    assert fits[0].startswith("  beta-binomial: ceiling 0.818 if it is true; it survived its test (G2 = ")
    assert fits[0].endswith("   9: .784   21: .801")
    assert fits[-1] == "  no ceiling from independent, trap and two classes: rejected by a test"


def test_too_few_voters_to_test_means_no_ceiling() -> None:
    fit = fit_two_classes([10, 20, 30, 40])
    assert fit.verdict == "untested"
    assert fit.ceiling().value is None


def test_what_is_asked_about_by_itself() -> None:
    assert [next_sizes(voters) for voters in (2, 9, 20, 21, 98, 99, 500)] == [(21,)] * 3 + [(99,)] * 2 + [()] * 2


def test_independence_that_another_test_rejects_gives_no_ceiling() -> None:
    """Voters of different accuracy who err together can leave counts like those of independent ones."""
    counts = 200 * binomial_matrix(5, np.array([0.77]))[:, 0]
    assert extrapolate(counts, [21]).to_data()["fits"]["independent"]["verdict"] == "survived"
    told = extrapolate(counts, [21], together_p=0.001)
    fit = told.to_data()["fits"]["independent"]
    assert (fit["verdict"], fit["ceiling"], fit["curve"]) == ("rejected", None, None)
    assert "errors together, p = 0.001" in fit["note"]
    assert not any(line.startswith("  independent") for line in told.lines())
