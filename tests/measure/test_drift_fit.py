"""Steps from measured turns: found again where the model made them, and doubted where it did not."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dissensus.errors import UsageError
from dissensus.measure.drift_fit import fit_steps
from dissensus.measure.drift_prediction import Drift
from dissensus.measure.study_points import Step


def written(seed: int, *, texts: int = 80, turns: int = 10, tiring: float = 0.0) -> list[Step]:
    """Texts of the walk: honest turns add 1, corrupted ones take .6 away, each with noise .4."""
    rng = np.random.default_rng(seed)
    steps = []
    for text in range(texts):
        x = float(rng.normal(0, 0.5))
        for turn in range(turns):
            corrupted = bool(rng.random() < 0.5)
            step = -0.6 if corrupted else 1.0 - tiring * turn
            after = x + step + float(rng.normal(0, 0.4))
            steps.append(Step(text=text, turn=turn, corrupted=corrupted, before=x, after=after))
            x = after
    return steps


def test_the_steps_of_a_walk_are_found_again() -> None:
    found = fit_steps(written(4))
    assert found.honest.turns + found.corrupted.turns == 800
    assert found.honest.texts == 80
    for kind, true in ((found.honest, 1.0), (found.corrupted, -0.6)):
        assert kind.step.low is not None
        assert kind.step.high is not None
        assert kind.step.low <= true <= kind.step.high
        assert kind.step.high - kind.step.low < 0.15
        assert kind.by_turn.low is not None
        assert kind.by_turn.high is not None
        assert kind.by_turn.low <= 0 <= kind.by_turn.high
    assert found.noise == pytest.approx(0.4, abs=0.03)
    assert not [doubt for doubt in found.doubts() if "A5" in doubt]
    given = Drift().fitted(found)
    assert (given.honest, given.corrupt, given.noise) == pytest.approx((1, 0.6, 0.4), abs=0.1)
    assert (given.contract, given.stretch, given.push) == (found.honest.factor, found.corrupted.factor,
                                                           found.corrupted.added)  # fmt: skip


def test_intervals_of_steps_cover() -> None:
    hits = 0
    for seed in range(50):
        found = fit_steps(written(seed, texts=30), times=200)
        for kind, true in ((found.honest, 1.0), (found.corrupted, -0.6)):
            hits += kind.step.low is not None and kind.step.high is not None and kind.step.low <= true <= kind.step.high
    assert 0.88 <= hits / 100 <= 0.99


def test_turns_that_tire_are_doubted() -> None:
    doubts = fit_steps(written(2, tiring=0.12)).doubts()
    assert any(doubt.startswith("A5 fails: honest steps change with the number of the turn") for doubt in doubts)


def test_honest_turns_that_do_not_contract_are_doubted() -> None:
    steps = [
        Step(text=text, turn=turn, corrupted=turn % 2 == 1, before=1.0, after=0.5)
        for text in range(5)
        for turn in (0, 1)
    ]
    found = fit_steps(steps)
    assert (
        found.honest.factor
        == found.corrupted.factor
        == pytest.approx(math.log1p(math.exp(-0.5)) / math.log1p(math.exp(-1)))
    )
    assert any(doubt.startswith("A3 fails") for doubt in found.doubts())
    assert found.honest.by_x.value is None  # x never varied
    json.dumps(found.to_data(), allow_nan=False)


def test_one_honest_turn_that_lost_ground_is_counted() -> None:
    steps = [
        Step(text="a", turn=0, corrupted=False, before=0, after=1),
        Step(text="a", turn=1, corrupted=True, before=1, after=0.4),
        Step(text="b", turn=0, corrupted=True, before=0, after=-1),
        Step(text="b", turn=1, corrupted=False, before=-1, after=0.5),
        Step(text="c", turn=0, corrupted=False, before=0.3, after=0.2),
    ]
    found = fit_steps(steps)
    assert found.honest.lowered == pytest.approx(2 / 3)
    assert any("66.7 % of 3 honest turns" in line for line in found.lines())


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([], "0 honest and 0 corrupted"),
        ([Step(text=1, turn=t, corrupted=False, before=0, after=1) for t in range(9)], "9 honest and 0 corrupted"),
        ([Step(text=1, turn=0, corrupted=True, before=0, after=math.nan)], "not finite"),
    ],
)
def test_too_little_is_refused(steps: list[Step], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        fit_steps(steps)
