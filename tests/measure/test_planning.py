"""Planning: the numbers do what they promise when the comparison is simulated."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.planning import detectable, detectable_mean, discordance, plan, too_few, too_few_for_mean


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_planned_test_has_the_planned_power(correlation: float) -> None:
    made = plan(0.05, 0.75, correlation=correlation)
    draw = np.random.default_rng(2)
    won, lost = (made.discordant + 0.05) / 2, (made.discordant - 0.05) / 2
    tables = draw.multinomial(made.questions, [won, lost, 1 - made.discordant], size=4000)
    z = (tables[:, 0] - tables[:, 1]) / np.sqrt(np.maximum(1, tables[:, 0] + tables[:, 1]))
    assert 0.78 <= float((np.abs(z) > 1.959964).mean()) <= 0.86


def test_what_it_costs_to_tell_82_from_80() -> None:
    made = plan(0.02, 0.8)
    assert made.correlation == 0.5
    assert made.questions == 3026
    assert made.if_independent == 6042
    assert made.unpaired == 6036
    assert made.at_best == 391
    text = "\n".join(made.lines())
    assert "3,026 questions" in text
    assert "assumes that the two sides' right answers correlate by 0.5" in text
    assert json.loads(json.dumps(made.to_data()))["assumption"] in text


@given(st.floats(0.05, 0.9), st.floats(0.01, 0.09), st.floats(0, 0.5))
def test_agreeing_more_costs_less(accuracy: float, difference: float, correlation: float) -> None:
    correlation = min(correlation, plan(difference, accuracy).correlation)
    made = plan(difference, accuracy, correlation=correlation)
    assert made.at_best <= made.questions <= made.if_independent
    assert plan(difference, accuracy, correlation=correlation, power=0.9).questions > made.questions
    loss = plan(-difference, accuracy + difference, correlation=correlation)
    assert abs(loss.questions - made.questions) <= 1  # the same comparison from its other side
    assert detectable(made.questions, made.discordant) == pytest.approx(difference, rel=0.02)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(-1, 1))
def test_discordance_is_that_of_two_by_two_tables(first: float, second: float, where: float) -> None:
    """Any table with these margins: its own correlation gives back its own discordance."""
    least, most = max(0.0, first + second - 1), min(first, second)
    both = least + (where + 1) / 2 * (most - least)
    correlation = (both - first * second) / math.sqrt(first * (1 - first) * second * (1 - second))
    assert discordance(first, second, correlation) == pytest.approx(first + second - 2 * both, abs=1e-9)


def test_the_usual_assumption_gives_way_where_it_is_impossible() -> None:
    made = plan(0.6, 0.3)
    assert made.correlation < 0.5
    assert made.questions == made.at_best


def test_everything_wrong_against_something_right() -> None:
    made = plan(0.1, 0.0)
    assert made.discordant == pytest.approx(0.1)
    assert made.questions == made.at_best


def test_comparisons_on_too_few_questions_say_so() -> None:
    assert too_few(3100, 0.154, 0.02) == ""
    assert "3,000 questions can show a difference of 0.020 or more" in too_few(3000, 0.154, 0.02)
    assert "100 questions can show a difference of 0.11" in too_few(100, 0.16, 0.02)
    assert "cannot show any difference" in too_few(10, 0.1, 0.02)
    assert math.isinf(detectable(1000, 0.0))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plan(0.0, 0.8), "cannot differ by 0"),
        (lambda: plan(0.3, 0.8), "cannot differ by 0.3"),
        (lambda: plan(-0.9, 0.8), "cannot differ by -0.9"),
        (lambda: plan(math.nan, 0.8), "cannot differ by nan"),
        (lambda: plan(0.02, 80), "accuracy cannot be 80"),
        (lambda: plan(0.02, 0.8, power=1.0), "power cannot be 1"),
        (lambda: plan(0.02, 0.8, level=0.0), "level cannot be 0"),
        (lambda: plan(0.02, 0.8, correlation=0.99), "cannot correlate by 0.99"),
        (lambda: plan(0.02, 0.8, correlation=math.nan), "cannot correlate by nan"),
    ],
)
def test_what_cannot_be_is_refused(call: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()  # type: ignore[operator]


def test_a_mean_that_may_be_any_number_is_judged_by_its_spread() -> None:
    """Where the difference is -1, 0 or 1 this is nearly McNemar's; half the spread shows half the difference."""
    whole = detectable_mean(1000, math.sqrt(0.1), 0.1)
    assert whole == pytest.approx(detectable(1000, 0.1), rel=0.02)
    assert detectable_mean(1000, math.sqrt(0.1) / 2, 0.1) == pytest.approx(whole / 2)
    assert math.isinf(detectable_mean(1000, 0.01, 0.002))
    assert too_few_for_mean(1000, math.sqrt(0.1), 0.1, 0.05) == ""
    assert "1,000 questions can show a difference of 0.028" in too_few_for_mean(1000, math.sqrt(0.1), 0.1, 0.01)
    assert "on 2 of which they differ" in too_few_for_mean(1000, 0.03, 0.002, 0.001)
