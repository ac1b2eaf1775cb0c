"""Judges of the NYU debates: the table of the reference, and the reward that upstream states for each of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dissensus.errors import LogError
from dissensus.interop.nyu_judges import Judged, Setting, judged_from, setting_from, summary

FOLDER = Path("data") / "disputes-and-debate" / "nyu-debates"
Both = list[tuple[Setting, Judged]]


@pytest.fixture(scope="module")
def judges(shared: Path) -> Both:
    found = []
    for line in (shared / FOLDER / "debates-metadata.jsonl").read_text(encoding="utf-8").splitlines():
        setting = setting_from(json.loads(line))
        path = shared / FOLDER / "official" / f"{setting.name}.json"
        found.append((setting, judged_from(json.loads(path.read_text(encoding="utf-8")), path.name)))
    return found


def test_the_score_is_the_reward_of_every_line(judges: Both) -> None:
    assert len(judges) == 207
    for setting, judged in judges:
        assert setting.reward is not None
        assert judged.score == pytest.approx(setting.reward, abs=1e-12)


@pytest.mark.parametrize(
    ("human", "debate", "row"),
    [
        (True, True, (73, 65, 0.8904, 0.2069, 0.5107, 0.8215, 3.877, -0.7507, 40, 4, 49, 44)),
        (True, False, (51, 35, 0.6863, 0.4763, 0.4945, 0.6584, 4.804, -1.3495, 16, 3, 31, 23)),
        (False, True, (43, 34, 0.7907, 0.3839, 0.5023, 0.7458, 4.884, -1.3706, 30, 6, 31, 25)),
        (False, False, (39, 30, 0.7692, 0.3684, 0.5000, 0.7469, 5.718, -1.2743, 25, 4, 29, 24)),
    ],
)
def test_the_table_of_settings(judges: Both, human: bool, debate: bool, row: tuple[float, ...]) -> None:
    """The population of the paper: debates that are in it and have at least two rounds of a judge."""
    some = [
        judged for setting, judged in judges
        if setting.in_paper and (setting.human, setting.debate) == (human, debate) and len(judged.beliefs) >= 2
    ]  # fmt: skip
    found = summary(some)
    likely = [judged for judged in some if judged.tops[-1] >= 0.9]
    assert (
        found.number, found.right, round(found.right / found.number, 4), round(found.brier, 4), round(found.first, 4),
        round(found.last, 4), round(found.rounds, 3), round(found.score, 4), found.sure, found.sure_wrong, len(likely),
        sum(judged.right for judged in likely),
    ) == row  # fmt: skip


def test_confidence_does_not_settle(judges: Both) -> None:
    paper = [judged for setting, judged in judges if setting.in_paper and len(judged.beliefs) >= 2]
    found = summary(paper)
    assert (found.number, found.sure, found.sure_wrong) == (206, 111, 17)


# --- one file


def document(*rounds: tuple[list[float], bool], correct: Any = 1) -> dict[str, Any]:
    bodies = [{"JudgeFeedback": {"distribution": given, "endDebate": end}} for given, end in rounds]
    return {"setup": {"correctAnswerIndex": correct}, "rounds": [{"SequentialSpeeches": {}}, *bodies]}


def test_even_is_not_right_and_a_belief_of_nothing_costs_everything() -> None:
    even = judged_from(document(([0.5, 0.5], True)), "d")
    assert (even.right, even.brier, even.score) == (False, 0.5, -1.0)
    sure = judged_from(document(([0.5, 0.5], False), ([1, 0], True)), "d")
    assert (sure.right, sure.brier, sure.score) == (False, 2.0, -math.inf)
    assert (sure.beliefs, sure.tops, sure.went_on) == ((0.5, 0.0), (0.5, 1.0), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {}, [], document(correct=2), document(correct=True), document(),
        document(([0.5], True)), document(([0.5, "x"], True)), document(([0.5, 1.5], True)),  # type: ignore[list-item]
    ],
)  # fmt: skip
def test_what_has_no_judge(wrong: Any) -> None:
    with pytest.raises(LogError, match=r"^d\.json: "):
        judged_from(wrong, "d.json")


@pytest.mark.parametrize(
    "wrong", [None, {}, {"setting": {"isHuman": 1, "isDebate": True}, "includedInPaper": True, "name": "a"}]
)
def test_what_is_no_setting(wrong: Any) -> None:
    with pytest.raises(LogError, match="no setting"):
        setting_from(wrong, "m.jsonl")


def test_a_debate_that_was_not_completed_has_no_reward() -> None:
    line = {"setting": {"isHuman": True, "isDebate": True}, "includedInPaper": False, "name": "a", "status": {}}
    assert setting_from(line) == Setting("a", human=True, debate=True, in_paper=False, reward=None)
