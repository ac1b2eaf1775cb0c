"""Verdicts as one object: JSON that holds no NaN, text that claims nothing without labels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from reordered import reordered
from voting_sets import random_table, spelled, tables

from dissensus.errors import UsageError
from dissensus.measure.table import VoteTable
from dissensus.measure.verdicts import Verdicts, extend_audit, families_of

FACTORS = {"model": {"v0": "m", "v1": "m", "v2": "n", "v3": "n", "v4": "n"}}


def data_of(found: Verdicts) -> dict[str, Any]:
    data = found.to_data()
    parsed: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return parsed


def whole(table: VoteTable, **more: Any) -> Verdicts:
    return extend_audit(table, aggregators=True, bootstrap=200, **more)


def test_everything_asked_for_is_there() -> None:
    table = random_table(np.random.default_rng(0), 240, 5)
    costs = {voter: 1.0 + place for place, voter in enumerate(table.voters)}
    found = whole(replace(table, factors=FACTORS, costs=costs), p_independence=0.01)
    data = data_of(found)
    assert data.keys() == {"calibration", "selection", "aggregators", "factors", "choice"}
    assert {way["name"] for way in data["calibration"]["ways"]} == {
        "share", "independent", "tempered", "count", "isotonic", "who",
    }  # fmt: skip
    assert [rule["target"] for rule in data["selection"]["rules"]] == [0.01, 0.05, 0.1]
    assert "capped by model" in {rule["rule"] for rule in data["aggregators"]["rules"]}
    assert data["factors"]["factors"][0]["name"] == "model"
    assert [choice["by"] for choice in data["choice"]["panels"]] == ["accuracy", "accuracy per cost"]
    text = "\n".join(found.lines())
    for part in ("P(right) if so many of 5 agree", "wrong in at most 5 %", "model: errors correlate", "stacker",
                 "chosen by accuracy per cost", "per effective vote", "stopping by lead 2"):  # fmt: skip
        assert part in text
    assert "model-based, independence rejected" in text


def test_what_is_not_asked_for_is_none() -> None:
    table = random_table(np.random.default_rng(1), 60, 3)
    data = data_of(extend_audit(table, calibration=False))
    assert data == dict.fromkeys(("calibration", "selection", "aggregators", "factors", "choice"))
    assert extend_audit(table, calibration=False).lines() == []


def test_a_target_of_ones_own() -> None:
    table = random_table(np.random.default_rng(2), 200, 5)
    data = data_of(extend_audit(table, targets=(0.3,)))
    assert [rule["target"] for rule in data["selection"]["rules"]] == [0.3]
    with pytest.raises(UsageError):
        extend_audit(table, targets=(2.0,))


def test_without_labels_no_figure_looks_like_a_probability() -> None:
    table = random_table(np.random.default_rng(3), 100, 5)
    found = whole(replace(table, gold=np.full(100, -1, dtype=np.int32), factors=FACTORS))
    data = data_of(found)
    assert data["calibration"]["by_count"] == data["calibration"]["ways"] == []
    assert data["selection"]["rules"] == data["aggregators"]["rules"] == data["choice"]["panels"] == []
    assert data["factors"] is None
    assert not any(character.isdigit() and "labels" not in line for line in found.lines() for character in line)


def test_few_labels_give_sentences() -> None:
    lines = whole(random_table(np.random.default_rng(4), 30, 4)).lines()
    assert lines[0] == "Not enough labels: 30 of at least 50 right answers; no probability is stated."
    assert lines[-1] == "Not enough labels: 30 of at least 50 right answers; no panel is chosen."


@pytest.mark.parametrize(
    "rows",
    [
        ["AAA"] * 60,  # always right
        ["BBB"] * 60,  # always wrong
        ["---"] * 60,  # nobody answers
        ["A--"] * 60,
        ["ABC"] * 60,  # always tied
        ["AAA", "BBB"] * 150,
    ],
)
def test_tables_at_the_edge(rows: list[str]) -> None:
    table = spelled(rows, "A" * len(rows), options=[4] * len(rows))
    found = whole(table)
    data = data_of(found)
    assert found.lines()
    rate = {rule["rule"]: rule["accuracy"] for rule in data["aggregators"]["rules"]}
    expected = np.mean([0 if not row.strip("-") else (row.count("A") > 0) / len(set(row) - {"-"}) for row in rows])
    assert rate["plurality"] == pytest.approx(expected)


@given(tables(most_questions=30))
def test_no_small_table_breaks_it(table: VoteTable) -> None:
    found = whole(table)
    data_of(found)
    assert all(found.lines())


@pytest.mark.parametrize("seed", range(2))
def test_order_and_names_do_not_matter(seed: int) -> None:
    table = replace(random_table(np.random.default_rng(5), 220, 5), factors=FACTORS)

    def rounded(found: Verdicts) -> Any:
        return json.loads(json.dumps(found.to_data()), parse_float=lambda text: round(float(text), 7) + 0.0)

    assert rounded(whole(table)) == rounded(whole(reordered(table, seed)))


def test_families_are_the_levels_of_each_factor() -> None:
    assert families_of(FACTORS) == {"model": [["v0", "v1"], ["v2", "v3", "v4"]]}
