"""Points of a study: what is read, how it is named, and what is refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import SpecError
from dissensus.measure.study_points import StudyPoint, read_points

POINT: dict[str, Any] = {
    "corrupted": 3, "agents": 5, "procedure": "round-robin", "accuracy": 0.7, "low": 0.5, "high": 0.8, "n": 40,
}  # fmt: skip
STEP = {"text": "q1/0", "turn": 0, "corrupted": True, "before": 0.5, "after": -0.25}


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def test_a_list_or_an_object_with_more_in_it() -> None:
    [point], steps = read_points(encoded([POINT]))
    assert (point.name, point.predicted_as, steps) == ("round-robin", "text", ())
    whole = {"points": [POINT | {"note": "left alone"}], "steps": [STEP], "title": "a study"}
    [again], [step] = read_points(encoded(whole))
    assert again == point
    assert (step.corrupted, step.after) == (True, -0.25)
    assert read_points(encoded([point.to_data()])) == ((point,), ())


@pytest.mark.parametrize(
    ("changes", "name", "column"),
    [
        ({"trajectories": 5}, "round-robin x 5", "voted"),
        ({"procedure": "vote", "label": "strong"}, "vote, strong", "vote"),
        ({"procedure": "debate", "scripted": True}, "debate (scripted)", ""),
    ],
)
def test_names_and_columns(changes: dict[str, Any], name: str, column: str) -> None:
    [point], _ = read_points(encoded([POINT | changes]))
    assert (point.name, point.predicted_as) == (name, column)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "no points and no steps"),
        ({}, "no points and no steps"),
        ([{"corrupted": 3}], "missing required field"),
        ([POINT | {"corrupted": 6}], "Point 1: of 5 agents 6"),
        ([POINT, POINT | {"accuracy": 0.9}], "Point 2: the accuracy 0.9 lies outside"),
        ([POINT | {"high": 1.2}], "shares between 0 and 1"),
        ([POINT | {"n": 0}], "at least one question"),
        ({"points": 3}, "Expected `array`"),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(document: object, says: str) -> None:
    with pytest.raises(SpecError, match=says) as caught:
        read_points(encoded(document), path="study.json")
    assert str(caught.value).startswith("study.json: ")
    assert caught.value.next_step


@given(st.binary(max_size=60))
def test_bytes_from_anywhere_are_points_or_refused(document: bytes) -> None:
    try:
        points, steps = read_points(document)
    except SpecError:
        return
    assert points or steps
    assert all(isinstance(point, StudyPoint) for point in points)
