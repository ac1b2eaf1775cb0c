"""The figures of the reference on its data sets, to its digits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from voting_sets import GSM_NINE, HOSTS, game24, gsm, judges, mmlu_pro, ranked

from dissensus.measure.audit import audit
from dissensus.measure.subsets import any_curve, binary_curve
from dissensus.measure.table import VoteTable
from dissensus.measure.tallies import tally

SETS: dict[str, Callable[[Path], VoteTable]] = {
    "MMLU-Pro nine": mmlu_pro,
    "GSM nine": lambda shared: gsm(shared, GSM_NINE),
    "GSM 44": gsm,
    "one model at three hosts": lambda shared: gsm(shared, HOSTS),
    "first choices": ranked,
    "judges": judges,
}

# figure: a value for each set in the order of SETS; None where the reference gives none
TABLE: dict[str, tuple[Any, ...]] = {
    "questions": (6065, 669, 669, 669, 606, 202),
    "blanks": (2024, 16, 428, 20, 614, 0),
    "mean accuracy": (0.55261, 0.92028, 0.86567, 0.95117, 0.72257, 0.77129),
    "best accuracy": (0.70651, 0.96114, 0.96413, 0.95815, 0.74092, 0.88614),
    "joint": (0.30121, 0.03384, 0.04909, 0.03089, 0.17810, 0.06881),
    "product": (0.19928, 0.00614, 0.01775, 0.00236, 0.07694, 0.05001),
    "mean phi": (0.42427, 0.42935, 0.35964, 0.61846, 0.50522, 0.15779),
    "least phi": (0.304, 0.229, 0.016, 0.553, 0.447, -0.364),
    "largest phi": (0.649, 0.640, 0.834, 0.674, 0.578, 0.886),
    "effective voters": (2.048, 2.029, 2.672, 1.341, 1.764, 3.065),
    "rho": (0.40878, 0.37504, 0.26727, 0.61422, 0.50494, 0.09479),
    "same wrong": (0.41499, 0.70099, 0.47519, 0.89655, 0.92641, 1),
    "same wrong by chance": (0.12208, None, None, None, 0.25, 1),
    "plurality": (0.68081, 0.96313, 0.96413, 0.96413, 0.83333, 0.89604),
    "minus best": (-0.02571, 0.00199, 0, 0.00598, 0.09241, 0.00990),
    "its error": (0.00529, 0.00559, 0.00473, 0.00472, 0.01309, 0.00698),
    "decided strictly": (0.69299, 0.98655, 0.96712, 0.99402, 0.90594, 1),
    "right of those": (0.80728, 0.97121, 0.97836, 0.96391, 0.85428, 0.89604),
    "unanimous": (1180, 465, 54, 630, 239, 65),
    "unanimous and wrong": (78, 6, 0, 14, 29, 0),
    "nobody right": (620, 10, 4, 17, 78, 0),
    "AUROC": (0.78228, 0.79346, 0.85598, 0.68456, 0.60599, 0.70639),
    "ECE": (0.04220, 0.04119, 0.08823, 0.02740, 0.10520, 0.08020),
    "Brier": (0.17215, 0.03300, 0.04030, 0.03438, 0.14836, 0.10079),
}

PLURALITY: dict[str, dict[int, float]] = {
    "MMLU-Pro nine": {3: 0.61175, 5: 0.65088, 7: 0.66976, 9: 0.68081},
    "GSM nine": {3: 0.95308, 5: 0.96150, 7: 0.96332, 9: 0.96313},
    "GSM 44": {3: 0.92970, 5: 0.95178, 7: 0.95752, 9: 0.95999, 21: 0.96380, 43: 0.96470},
    "one model at three hosts": {3: 0.96413},
    "first choices": {3: 0.82374, 5: 0.83162, 7: 0.83313, 8: 0.83333},
    "judges": {3: 0.85000, 5: 0.89604},
}
BINARY: dict[str, dict[int, float]] = {
    "MMLU-Pro nine": {3: 0.55636, 5: 0.55655, 7: 0.55706, 9: 0.55944},
    "GSM nine": {3: 0.94831, 5: 0.95405, 7: 0.95607, 9: 0.95815},
    "GSM 44": {3: 0.91488, 5: 0.92914, 7: 0.93538, 9: 0.93886, 21: 0.94645, 43: 0.94843},
    "one model at three hosts": {3: 0.95815},
    "first choices": {3: 0.76933, 5: 0.78630, 7: 0.79455, 8: 0.79455},
    "judges": {3: 0.85000, 5: 0.89604},
}
WRONG: dict[str, dict[int, float]] = {
    "MMLU-Pro nine": {3: 0.13589, 5: 0.08908, 7: 0.07274, 9: 0.06610},
    "GSM nine": {3: 0.02022, 5: 0.01643, 7: 0.01450, 9: 0.01290},
    "GSM 44": {3: 0.01808, 5: 0.01325, 7: 0.01108, 9: 0.00953},
    "one model at three hosts": {3: 0.02222},
    "first choices": {3: 0.13808, 5: 0.12957, 7: 0.12434},
    "judges": {3: 0.05423, 5: 0},
}


@pytest.fixture(scope="module")
def measured(shared: Path) -> dict[str, dict[str, Any]]:
    return {name: audit(make(shared), bootstrap=1000, permutations=999).to_data() for name, make in SETS.items()}


def figure(data: dict[str, Any], name: str) -> Any:
    accuracy = data["accuracy"].values()
    strict = data["plurality"]["strict"]
    return {
        "questions": data["n_questions"],
        "blanks": sum(data["blanks"].values()),
        "mean accuracy": sum(accuracy) / len(accuracy),
        "best accuracy": max(accuracy),
        "joint": data["joint_error"],
        "product": data["independent_error"],
        "mean phi": data["phi_mean"],
        "least phi": data["phi_range"][0],
        "largest phi": data["phi_range"][1],
        "effective voters": data["n_eff"],
        "rho": data["rho"],
        "same wrong": data["same_wrong_rate"],
        "same wrong by chance": data["same_wrong_chance"],
        "plurality": data["plurality_accuracy"],
        "minus best": data["panel_minus_best"]["diff"],
        "its error": data["panel_minus_best"]["se"],
        "decided strictly": strict["decided"] / data["n_questions"],
        "right of those": strict["right"],
        "unanimous": data["unanimous"]["count"],
        "unanimous and wrong": data["unanimous"]["wrong"],
        "nobody right": data["key_review"]["nobody_right"],
        "AUROC": data["share_as_score"]["auroc"],
        "ECE": data["share_as_score"]["ece"],
        "Brier": data["share_as_score"]["brier"],
    }[name]


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("place", range(len(SETS)), ids=list(SETS))
def test_figures(measured: dict[str, dict[str, Any]], place: int, name: str) -> None:
    expected = TABLE[name][place]
    digits = {"least phi": 5e-4, "largest phi": 5e-4, "effective voters": 6e-4}.get(name, 5e-6)
    found = figure(measured[list(SETS)[place]], name)
    assert found is None if expected is None else found == pytest.approx(expected, abs=digits * 1.001)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("key", "expected"), [("plurality", PLURALITY), ("majority", BINARY), ("wrong_if_unanimous", WRONG)]
)
def test_curves(
    measured: dict[str, dict[str, Any]], name: str, key: str, expected: dict[str, dict[int, float]]
) -> None:
    found = {point["n"]: point[key] for point in measured[name]["curve"]}
    assert {n: found[n] for n in expected[name]} == pytest.approx(expected[name], abs=5.001e-6)


def test_intervals_of_unanimity(measured: dict[str, dict[str, Any]]) -> None:
    expected = {
        "MMLU-Pro nine": [0.0526, 0.0818],
        "GSM nine": [0.0047, 0.0279],
        "GSM 44": [0, 0.0660],
        "first choices": [0.0828, 0.1696],
    }
    for name, interval in expected.items():
        assert measured[name]["unanimous"]["ci"] == pytest.approx(interval, abs=5.001e-5)


def test_what_more_is_known_of_mmlu_pro(measured: dict[str, dict[str, Any]]) -> None:
    data = measured["MMLU-Pro nine"]
    levels = data["by_count"][1:]
    assert [level["count"] for level in levels] == [310, 711, 837, 863, 676, 706, 778, 1180]
    rates = [0.249, 0.363, 0.478, 0.630, 0.734, 0.782, 0.898, 0.934]
    assert [level["right"] for level in levels] == pytest.approx(rates, abs=5e-4)
    test = data["permutation"]
    assert (test["mean"], test["sd"], test["z"]) == pytest.approx((0.19928, 5.140e-4, 198.3), rel=3e-4)
    assert data["independence_p"] == 0.001
    inside = test["strata"]
    assert (inside["mean"], inside["z"]) == pytest.approx((0.21180, 185.1), rel=3e-4)
    explained = (inside["mean"] - test["mean"]) / (test["joint"] - test["mean"])
    assert explained == pytest.approx(0.1228, abs=5e-5)
    assert data["phi_ci"] == pytest.approx([0.4145, 0.4353], abs=0.002)
    assert data["n_eff_ci"] == pytest.approx([2.01, 2.09], abs=0.01)
    assert data["unanimous"]["independent_claim"] == pytest.approx(4.5e-9, rel=0.01)


def test_the_keys_that_all_nine_contradict(measured: dict[str, dict[str, Any]]) -> None:
    listed = measured["GSM nine"]["key_review"]["listed"]
    against = {doubt["question"] for doubt in listed if doubt["reason"] == "unanimous against the key"}
    assert against == {"403", "454", "768", "782", "952", "962"}


@pytest.mark.parametrize(
    ("prompt", "figures"),
    [("cot", (0.042, 0.20305, 0.19710, 0.01312)), ("standard", (0.0618, 0.57527, 0.13689, 0.05991))],
)
def test_flags_of_game24(shared: Path, prompt: str, figures: tuple[float, float, float, float]) -> None:
    p, rho, some, majority = figures
    table = game24(shared, prompt)
    right = tally(table).right
    data = audit(table, bootstrap=200, permutations=99).to_data()
    assert np.mean(right) / 100 == pytest.approx(p)
    assert data["rho"] == pytest.approx(rho, abs=5e-6)
    assert any_curve(right, 100, (9,))[0].mean() == pytest.approx(some, abs=5e-6)
    assert binary_curve(right, 100, (9,)).mean() == pytest.approx(majority, abs=5e-6)
