from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from voting_sets import oracle, random_table, spelled, tables

from dissensus.measure.audit import audit
from dissensus.measure.table import VoteTable, table_of

PROMISED = {
    "n_questions", "n_voters", "accuracy", "plurality_accuracy", "plurality_ci", "best_voter", "joint_error",
    "independent_error", "independence_p", "rho", "rho_ci", "phi_mean", "n_eff", "same_wrong_rate", "same_wrong_chance",
    "unanimous", "by_count", "curve",
}  # fmt: skip


def data_of(table: VoteTable, **more: Any) -> dict[str, Any]:
    data = audit(table, bootstrap=300, permutations=199, **more).to_data()
    json.dumps(data, allow_nan=False)  # no NaN and no array may be left in it
    return data


def test_the_oracle_of_the_definitions() -> None:
    data = data_of(oracle())
    assert data.keys() >= PROMISED
    assert data["accuracy"] == {"x": 0.75, "y": 0.375, "z": 0.25}
    assert data["blanks"] == {"blank": 4}
    expected = {
        "joint_error": 0.375, "independent_error": 0.270833, "ratio": 1.384615, "mean_of_pair_ratios": 1.422222,
        "rho": 0.377778, "same_wrong_rate": 5 / 6, "same_wrong_chance": 1 / 3, "plurality_accuracy": 0.416667,
    }  # fmt: skip
    assert {key: data[key] for key in expected} == pytest.approx(expected, abs=5e-7)
    assert data["phi_mean"] == pytest.approx(0.508629, abs=1e-5)
    assert data["n_eff"] == pytest.approx(1.4872, abs=5e-5)
    assert data["plurality"]["strict"]["decided"] == 6
    assert data["plurality"]["strict"]["right"] == pytest.approx(3 / 6)
    assert (data["unanimous"]["count"], data["unanimous"]["wrong"]) == (3, 1)
    assert data["key_review"]["nobody_right"] == 2
    assert data["share_as_score"] == pytest.approx({"auroc": 0.735714, "ece": 0.25, "brier": 0.277778}, abs=5e-7)
    assert data["panel_minus_best"]["diff"] == pytest.approx(-1 / 3)
    assert [point["plurality"] for point in data["curve"]] == pytest.approx([0.458333, 0.5, 0.416667], abs=5e-7)
    assert [point["majority"] for point in data["curve"]] == pytest.approx([0.458333, 0.458333, 0.375], abs=5e-7)


def in_one_order(data: dict[str, Any]) -> dict[str, Any]:
    """The data without what names the answers, and with numbers rounded."""
    for doubt in data["key_review"]["listed"] if data.get("key_review") else ():
        doubt.pop("leader")
        doubt.pop("key")
    rounded = json.loads(json.dumps(data), parse_float=lambda text: round(float(text), 9) + 0.0)
    assert isinstance(rounded, dict)
    return rounded


@settings(max_examples=25)
@given(tables(most_questions=15, most_voters=5), st.randoms(use_true_random=False))
def test_no_figure_depends_on_order_or_on_the_names_of_answers(table: VoteTable, luck: Any) -> None:
    rows, columns = list(range(table.n_questions)), list(range(table.n_voters))
    luck.shuffle(rows)
    luck.shuffle(columns)
    most = int(max(table.codes.max(), table.gold.max(), 0)) + 1
    renamed = list(range(most))
    luck.shuffle(renamed)
    names = np.array(renamed, dtype=np.int32)

    def other(codes: Any) -> Any:
        return np.where(codes >= 0, names[np.maximum(codes, 0)], codes).astype(np.int32)

    turned = VoteTable(
        codes=other(table.codes)[np.ix_(rows, columns)],
        gold=other(table.gold)[rows],
        voters=tuple(table.voters[place] for place in columns),
        questions=[table.questions[place] for place in rows],
        texts=table.texts,
        options=table.options,
    )
    assert in_one_order(data_of(turned)) == in_one_order(data_of(table))


@settings(max_examples=60)
@given(tables())
def test_any_table_has_a_result_without_nan_and_shares_in_bounds(table: VoteTable) -> None:
    found = audit(table, bootstrap=200, permutations=99)
    data = found.to_data()
    json.dumps(data, allow_nan=False)
    assert found.lines()
    assert sum(count["count"] for count in data["leader_votes"]) == table.n_questions
    if data["n_labelled"]:
        assert sum(level["count"] for level in data["by_count"]) == data["n_labelled"]
        for key in ("plurality_accuracy", "joint_error", "independent_error"):
            assert data[key] is None or 0 <= data[key] <= 1
        for point in data["curve"]:
            assert (
                point["band"] is None or 0 <= point["band"][0] <= point["plurality"] + 1e-9 <= point["band"][1] + 2e-9
            )


# --- tables at the edge


def test_all_right_is_said_without_inventing_a_correlation() -> None:
    found = audit(spelled(["AAA"] * 40, "A" * 40), bootstrap=200, permutations=99)
    data = found.to_data()
    assert data["plurality_accuracy"] == 1
    assert (data["rho"], data["phi_mean"], data["n_eff"], data["independence_p"]) == (None, None, None, None)
    assert data["unanimous"]["wrong"] == 0
    assert data["unanimous"]["at_most"] == pytest.approx(1 - 0.05 ** (1 / 40))
    text = "\n".join(found.lines())
    assert "never wrong: at most 7.2 % (95 %)" in text
    assert any("not defined" in warning for warning in found.warnings)


def test_all_wrong_is_said_as_it_is() -> None:
    found = audit(spelled(["BBB", "BCB"] * 20, "A" * 40), bootstrap=200, permutations=99)
    data = found.to_data()
    assert data["plurality_accuracy"] == 0
    assert data["joint_error"] == 1
    assert data["phi_mean"] is None
    assert data["same_wrong_rate"] == pytest.approx((3 + 1) / 6)
    assert data["key_review"]["unanimous_against"] == 20
    assert found.lines()


def test_one_question_is_measured_without_intervals() -> None:
    found = audit(spelled(["AAB"], "A"), bootstrap=200, permutations=99)
    data = found.to_data()
    assert data["plurality_accuracy"] == 1
    assert data["panel_minus_best"] == {"diff": 0.0, "se": None, "ci": None, "detectable": None}
    assert data["rho_ci"] is None
    assert all(point["band"] is None for point in data["curve"])
    assert any("Only 1 question " in warning for warning in found.warnings)
    assert found.lines()


def test_one_voter_has_no_agreement() -> None:
    found = audit(spelled(["A", "B", "A"], "AAA"), bootstrap=200, permutations=99)
    data = found.to_data()
    assert data["joint_error"] is None
    assert data["pairs"] is None
    assert data["accuracy"] == {"voter 1": pytest.approx(2 / 3)}
    assert any("One voter" in warning for warning in found.warnings)
    assert len(found.lines()) == 2


def test_a_voter_with_one_answer_stays_in_every_denominator() -> None:
    table = table_of(
        [["A", "A", "A"], ["A", "A", None], ["B", "A", None], ["A", "B", None]], ["A"] * 4, voters=["p", "q", "r"]
    )
    data = data_of(table)
    assert data["accuracy"]["r"] == 0.25
    assert data["n_voters"] == 3
    assert next(voter["blank"] for voter in data["voters"] if voter["id"] == "r") == 3
    assert data["by_count"][1] == data["by_count"][1] | {"k": 2, "count": 1, "correct": 1.0}


def test_a_table_without_right_answers_gives_no_percentage_of_right() -> None:
    found = audit(spelled(["AAA", "AAB"], "--"), bootstrap=200, permutations=99)
    data = found.to_data()
    assert data.keys() >= PROMISED
    assert data["plurality_accuracy"] is None
    assert data["unanimous"] is None
    assert "correctness unknown, correlation unmeasured" in "\n".join(found.lines())
    assert any("No right answer is known" in warning for warning in found.warnings)


def test_questions_without_a_right_answer_are_left_out_and_said() -> None:
    found = audit(spelled(["AAA", "AAB", "ABB"] * 30, "A-A" * 30), bootstrap=200, permutations=99)
    assert (found.n_questions, found.n_labelled) == (90, 60)
    assert found.to_data()["plurality_accuracy"] == 0.5
    assert any(warning.startswith("30 questions have no right answer") for warning in found.warnings)


def test_a_question_asked_four_times_makes_no_interval_narrower() -> None:
    once = random_table(np.random.default_rng(1), 120, 5)
    four = VoteTable(
        codes=np.repeat(once.codes, 4, axis=0),
        gold=np.repeat(once.gold, 4),
        voters=once.voters,
        options=np.full(480, 4),
        groups=np.repeat(np.arange(120), 4),
    )
    one, many = audit(once, seed=1), audit(four, seed=1)
    a, b = one.to_data(), many.to_data()
    for key in ("plurality_accuracy", "joint_error", "phi_mean"):
        assert a[key] == pytest.approx(b[key])
    for key in ("plurality_ci", "rho_ci", "phi_ci"):
        assert b[key][1] - b[key][0] == pytest.approx(a[key][1] - a[key][0], rel=0.12)
    assert b["permutation"]["z"] == pytest.approx(a["permutation"]["z"])
    assert b["panel_minus_best"]["se"] == pytest.approx(a["panel_minus_best"]["se"], rel=1e-6)
    assert b["unanimous"]["ci"] == pytest.approx(a["unanimous"]["ci"])
    assert (many.n_labelled, many.n_distinct) == (480, 120)
    assert any("480 questions are 120 different ones" in warning for warning in many.warnings)


def test_many_pairs_are_tested_by_the_normal_approximation() -> None:
    table = random_table(np.random.default_rng(2), 60, 110)
    data = data_of(table)
    assert len(data["pairs"]) == 110 * 109 // 2
    assert all(0 <= pair["p"] <= pair["p_holm"] <= 1 for pair in data["pairs"])


def test_cost_per_effective_vote_needs_every_cost() -> None:
    table = random_table(np.random.default_rng(3), 80, 3)
    paid = VoteTable(codes=table.codes, gold=table.gold, voters=table.voters, costs={"v0": 1.0, "v1": 2.0, "v2": 3.0})
    data = data_of(paid)
    assert data["cost_per_effective_vote"] == pytest.approx(6 / data["n_eff"])
    unknown = VoteTable(codes=table.codes, gold=table.gold, voters=table.voters, costs={"v0": 1.0})
    assert data_of(unknown)["cost_per_effective_vote"] is None


# --- the text


def test_the_text_says_what_the_figures_are_worth() -> None:
    table = random_table(np.random.default_rng(5), 3000, 5, options=3, accuracy=0.45)
    lines = audit(table, bootstrap=300).lines()
    text = "\n".join(lines)
    assert 5 <= len(lines) <= 12
    assert re.match(r"5 voters, 3,000 questions, 3,000 with a right answer, [\d,]+ cells blank$", lines[0])
    assert "order of magnitude" in text
    assert re.search(r"errors together \.\d{3}, if independent \.\d{3}   → independence rejected \(p = \.001\)", text)
    assert re.search(r"unanimous \d+ times, wrong \d+\.\d % \[\d+\.\d, \d+\.\d\]   \(independent voters: ", text)
    assert re.search(r"correlation \.\d\d \[\.\d\d, \.\d\d\] +5 voters are worth about \d\.\d independent ones", text)


def test_an_even_panel_and_a_falling_curve_are_warned_of() -> None:
    rng = np.random.default_rng(6)
    table = VoteTable(
        codes=(rng.random((1000, 4)) > 0.3).astype(np.int32), gold=np.zeros(1000, dtype=np.int32), voters=tuple("abcd")
    )
    found = audit(table, bootstrap=300)
    assert any("even number" in warning for warning in found.warnings)
    assert any(warning.startswith("More voters made it worse") for warning in found.warnings)


def test_too_few_questions_to_compare_are_said_with_what_they_could_show() -> None:
    found = audit(random_table(np.random.default_rng(5), 30, 3), bootstrap=300)
    assert any(
        re.search(r"Too few questions to tell the panel from v\d: 30 questions can show a difference of 0\.\d", w)
        for w in found.warnings
    )


def test_blanks_of_one_voter_are_named() -> None:
    table = random_table(np.random.default_rng(8), 100, 3, blank=0.0)
    codes = table.codes.copy()
    codes[:50, 1] = -1
    found = audit(VoteTable(codes=codes, gold=table.gold, voters=table.voters), bootstrap=300)
    assert any("v1 (50)" in warning for warning in found.warnings)


def test_two_options_say_nothing_by_equal_wrong_answers() -> None:
    table = random_table(np.random.default_rng(9), 200, 3, options=2)
    found = audit(table, bootstrap=300)
    assert found.to_data()["same_wrong_rate"] == 1
    assert any("With two options" in warning for warning in found.warnings)
    assert "both wrong" not in "\n".join(found.lines())


def test_a_ceiling_stands_with_its_fit_and_the_bounds_need_none() -> None:
    found = audit(
        random_table(np.random.default_rng(2), 400, 5, options=3, accuracy=0.6), bootstrap=200, sizes=[20, 21]
    )
    data = found.to_data()
    assert data["fits"].keys() == {"independent", "trap", "bb", "two_classes", "npmle"}
    for fit in data["fits"].values():
        assert fit["verdict"] in {"survived", "rejected", "untested"}
        assert fit["refused"] == (fit["ceiling"] is None)
        assert (fit["curve"] is None) == (fit["verdict"] != "survived")
    assert [bound["n"] for bound in data["bounds"]] == [20, 21, None]
    assert any("20 voters: an even panel can tie" in warning for warning in found.warnings)
    told = [line for line in found.lines() if "ceiling" in line]
    assert all("survived its test" in line or "no ceiling" in line or "see the bounds" in line for line in told)


def test_questions_asked_again_are_one_question_to_the_fits() -> None:
    table = random_table(np.random.default_rng(3), 200, 5, options=3, accuracy=0.6)
    once = audit(table, bootstrap=200, sizes=[21])
    rows = np.repeat(np.arange(200), 4)
    assert table.options is not None
    assert table.gold is not None
    again = replace(
        table, codes=table.codes[rows], gold=table.gold[rows], questions=[], options=table.options[rows], groups=rows
    )
    repeated = audit(again, bootstrap=200, sizes=[21])
    assert repeated.to_data()["bounds"] == once.to_data()["bounds"]


def test_hundreds_of_voters_are_extrapolated_only_if_asked() -> None:
    table = random_table(np.random.default_rng(4), 30, 120, options=3, accuracy=0.6)
    assert audit(table, bootstrap=200).to_data()["bounds"] is None


def test_a_comparison_on_too_few_questions_says_so() -> None:
    few = audit(random_table(np.random.default_rng(1), 60, 7, options=3, accuracy=0.55), bootstrap=300)
    curve = few.panel.curve if few.panel else None
    assert curve is not None
    assert curve.enough != curve.argmax
    said = (
        f"Too few questions to tell {curve.enough} voters? from {curve.argmax}: 60 questions can show a difference of"
    )
    assert any(re.match(said, warning) for warning in few.warnings)
