"""Where procedures break under the drift model: columns against their definitions, points beside them, refusals."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import UsageError
from dissensus.measure.drift_prediction import MODELS, Drift, predict
from dissensus.measure.jury import condorcet
from dissensus.measure.study_points import StudyPoint
from dissensus.measure.voters import majority_of


def point(procedure: str, corrupted: int, *, agents: int = 5, trajectories: int = 1) -> StudyPoint:
    return StudyPoint(
        corrupted=corrupted,
        agents=agents,
        procedure=procedure,
        accuracy=0.5,
        low=0.4,
        high=0.6,
        n=50,
        trajectories=trajectories,
    )


def test_where_vote_and_text_break() -> None:
    found = predict(Drift())
    assert [form.name for form in found.forms] == list(MODELS)
    for form in found.forms:
        assert form.breaks("vote") == 3
        assert form.breaks("text") == form.breaks("voted") == 4
    walk = found.forms[0].rows
    assert walk[3].text == pytest.approx(0.624085, abs=5e-7)
    assert walk[4].voted < walk[4].text  # a vote amplifies whichever side leads
    assert walk[3].voted > walk[3].text


def test_the_walk_by_hand() -> None:
    given_ = Drift(agents=3, turns=4, trajectories=2)
    [row] = predict(given_, [1], models=["walk"]).forms[0].rows
    walk = given_.walk
    alone = [float(walk.after(np.array([[honest]]), 4)[0]) for honest in (True, True, False)]
    assert row.vote == pytest.approx(float(majority_of(alone)))
    texts, votes = [], []
    for [bad] in combinations(range(3), 1):
        each = [
            float(walk.right(np.array(float(sum((start + turn) % 3 != bad for turn in range(4)))), 4))
            for start in (0, 1)
        ]
        texts.append(each[0])
        votes.append(float(majority_of(each)))
    assert row.text == pytest.approx(np.mean(texts))
    assert row.voted == pytest.approx(np.mean(votes))


@given(st.integers(1, 6), st.integers(1, 12), st.sampled_from(MODELS))
def test_one_text_voted_on_is_itself(agents: int, turns: int, form: str) -> None:
    for row in predict(Drift(agents=agents, turns=turns, trajectories=1), models=[form]).forms[0].rows:
        assert row.voted == pytest.approx(row.text)


def test_texts_begun_on_one_seat_are_alike() -> None:
    given_ = Drift(agents=3, turns=2, trajectories=3, rotate=False)
    [row] = predict(given_, [0], models=["walk"]).forms[0].rows
    assert row.voted == pytest.approx(condorcet(3, row.text))


def test_what_is_drawn_agrees_with_the_formula() -> None:
    for one in predict(Drift(), [1, 3], runs=20_000, seed=4).simulated:
        assert abs(one.share - one.formula) <= 4 * one.error
    assert predict(Drift(), [3], models=["additive"], runs=100).simulated == ()


def test_a_measured_point_finds_its_prediction() -> None:
    found = predict(Drift())
    assert found.predicted(point("vote", 3))["multiplicative"] == 0
    assert found.predicted(point("round-robin", 3))["walk"] == pytest.approx(0.624085, abs=5e-7)
    assert found.predicted(point("round-robin", 3, trajectories=5))["walk"] == found.forms[0].rows[3].voted
    assert found.predicted(point("round-robin", 3, trajectories=7)) == {}
    assert found.predicted(point("round-robin", 3, agents=7)) == {}
    assert found.predicted(point("debate", 3)) == {}


def test_json_carries_assumptions_and_no_infinity() -> None:
    data = json.loads(json.dumps(predict(Drift(), runs=50).to_data(), allow_nan=False))
    assert set(data["assumptions"]) == {"A1", "A2", "A3", "A4", "A5"}
    assert data["orders"]["5"]["orders"][0]["potential"] is None
    assert data["orders"]["3"]["share_wrong"] == 0.1
    assert data["null_models"]["voted"]["3"]["last writer decides"] == 0
    assert data["forms"][1]["critical_share"] == pytest.approx(0.673207, abs=5e-7)


@pytest.mark.parametrize(
    ("given_", "corrupted", "says"),
    [
        (Drift(agents=0), None, "0 agents"),
        (Drift(turns=0), None, "0 turns"),
        (Drift(trajectories=0), None, "0 trajectories"),
        (Drift(), [6], "6 cannot be corrupted"),
        (Drift(noise=-1), None, "noise cannot be -1"),
        (Drift(contract=1.5), None, "gH = 1.5"),
        (Drift(agents=40), None, "too many to go through"),
        (Drift(agents=16, turns=100_000), None, "100,000 turns of 16 agents"),
    ],
)
def test_bad_input_is_a_sentence(given_: Drift, corrupted: list[int] | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        predict(given_, corrupted)


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(UsageError, match="no form 'spiral'"):
        predict(Drift(), models=["spiral"])
