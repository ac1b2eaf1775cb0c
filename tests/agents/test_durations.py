from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.durations import LONGEST_S, seconds_of


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (30, 30.0),
        (0.5, 0.5),
        ("30", 30.0),
        ("30s", 30.0),
        ("2 min", 120.0),
        (" 1.5 H ", 5400.0),
        ("250ms", 0.25),
        (".5m", 30.0),
        ("1 day", 86400.0),
    ],
)
def test_spans(value: object, seconds: float) -> None:
    assert seconds_of(value) == seconds


@pytest.mark.parametrize(
    "value", ["", "s", "soon", "1:30", "1e3", "-5s", "5 parsecs", "1 h 5 min", None, True, [], "٣s"]
)
def test_what_is_no_span(value: object) -> None:
    with pytest.raises(ValueError, match="has to be a span of time like"):
        seconds_of(value)


@pytest.mark.parametrize("value", [0, -1, "0s", "367 days", math.inf, -math.inf, math.nan, 10**400])
def test_spans_out_of_range(value: object) -> None:
    with pytest.raises(ValueError, match="above zero and at most a year"):
        seconds_of(value)


@given(st.floats() | st.text() | st.integers())
def test_any_value_is_a_span_or_a_value_error(value: object) -> None:
    try:
        seconds = seconds_of(value)
    except ValueError:
        seconds = 1.0
    assert 0 < seconds <= LONGEST_S
