"""A rescue is called one only if the attack works, the vote does worse, and no null model does as well."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dissensus.errors import UsageError
from dissensus.measure.rescue import judge_rescue
from dissensus.measure.seats import ANY, FIRST, LAST, MAJORITY

N = 100
RIGHT = np.concatenate([np.ones(85), np.zeros(15)])
VOTE = np.concatenate([np.ones(2), np.zeros(98)])
NULLS = {
    FIRST: np.concatenate([np.zeros(60), np.ones(40)]),
    LAST: np.concatenate([np.ones(40), np.zeros(60)]),
    MAJORITY: np.zeros(N),
    ANY: np.ones(N),
}


def test_a_rescue_that_is_one() -> None:
    found = judge_rescue(RIGHT, VOTE, NULLS, solo=(92, 100))
    assert found.repaired
    assert found.above == (FIRST, LAST, MAJORITY)
    assert found.not_above == ()
    assert found.sentences()[-1].startswith("Evidence of repair, for these agents")
    assert json.loads(json.dumps(found.to_data()))["evidence_of_repair"] is True


@pytest.mark.parametrize(
    ("solo", "says"), [(None, "was not tried"), ((30, 100), "surviving such an attack shows nothing")]
)
def test_an_attack_that_does_not_work_alone_shows_nothing(solo: tuple[int, int] | None, says: str) -> None:
    found = judge_rescue(RIGHT, VOTE, NULLS, solo=solo)
    assert not found.repaired
    assert says in " ".join(found.sentences())
    assert found.sentences()[-1] == "No evidence of repair."


def test_what_the_last_writer_would_have_done_is_no_repair() -> None:
    """The seats give .40 for nothing; a procedure at .40 has repaired nothing, however far above the vote."""
    found = judge_rescue(NULLS[LAST], VOTE, NULLS, solo=(92, 100))
    assert found.better
    assert not found.repaired
    assert found.not_above == (FIRST, LAST)
    assert "seats alone may explain it" in " ".join(found.sentences())


def test_worse_than_the_vote_is_no_rescue() -> None:
    found = judge_rescue(VOTE, RIGHT, NULLS, solo=(92, 100))
    assert not found.better
    assert not found.repaired


def test_without_null_models_nothing_is_claimed() -> None:
    for nulls in ({}, {ANY: np.ones(N)}):
        found = judge_rescue(RIGHT, VOTE, nulls, solo=(92, 100))
        assert not found.repaired
        assert "No null model" in " ".join(found.sentences())


def test_stories_are_drawn_as_wholes() -> None:
    found = judge_rescue(RIGHT, VOTE, NULLS, solo=(92, 100), groups=[i // 50 for i in range(N)])
    assert found.against.units == 2
    assert not found.repaired  # two stories are too few


def test_an_attack_tried_on_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="tried on no question"):
        judge_rescue(RIGHT, VOTE, NULLS, solo=(0, 0))
