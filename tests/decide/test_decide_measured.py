"""What a vote says of its agreement when its panel was measured, and when that does not apply."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from dissensus.decide.measured import Level, Measured, Tried, measured_worth
from dissensus.decide.routing import trigger_of
from dissensus.decide.settings import VoteSettings, assign
from dissensus.decide.worth import unanimous_level, worth_of
from dissensus.errors import SpecError
from dissensus.script.decisions import Ballot
from dissensus.script.seats import Seat

FOUND = Measured(
    panel="p" * 64,
    voters=5,
    labels=60,
    levels=(
        Level(agreeing=2, count=0, correct=0),
        Level(agreeing=3, count=10, correct=4, low=0.1216, high=0.7376),
        Level(agreeing=5, count=31, correct=27, low=0.7017, high=0.9637),
    ),
    kinds={"number": Tried(count=40, correct=30), "yes-no": Tried(count=20, correct=11)},
    n_eff=1.42,
    date="2026-12-01",
    source="panel.profile.json",
)


def ballots(*answers: str | None, models: str = "mmmmm") -> list[Ballot]:
    names = ("ada", "ben", "cleo", "dan", "eve")
    return [
        Ballot(
            agent=name, answer=answer, reply=answer, outcome="reply" if answer is not None else "invalid", model=model
        )
        for name, answer, model in zip(names, answers, models, strict=True)
    ]


def test_a_measured_level_is_said_with_its_interval_and_its_counts() -> None:
    worth = worth_of(ballots("8", "8", "8", "8", "8"), FOUND, "number")
    assert (worth["status"], worth["of"], worth["agreeing"]) == ("measured", 5, 5)
    assert (worth["count"], worth["correct"], worth["labels"]) == (31, 27, 60)
    assert worth["right"] == 27 / 31
    assert worth["interval"] == [0.7017, 0.9637]
    assert worth["n_eff"] == 1.42
    assert "caution" not in worth
    for part in ("5 of 5 agents agreed 31 times", "right 27 of 31: 87.1 %", "[70.2, 96.4]", "order of magnitude"):
        assert part in worth["text"]
    assert "not a probability for this question" in worth["text"]
    assert "right 30 of 40" in worth["text"]


def test_blanks_stay_in_the_denominator() -> None:
    worth = worth_of(ballots("8", None, "8", "8", None), FOUND, "number")
    assert (worth["of"], worth["agreeing"], worth["right"]) == (5, 3, 0.4)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (("8", "8", "9", "9", None), "No answer leads alone"),
        (("8", "8", "9", "7", "6"), "On none of 60 labelled questions 2 of 5 agents agreed"),
        (("8", "8", "8", "8", None), "On none of 60 labelled questions 4 of 5 agents agreed"),
        ((None, None, None, None, None), "No ballot holds an answer"),
    ],
)
def test_where_nothing_was_measured_there_is_no_figure(answers: tuple[str | None, ...], said: str) -> None:
    worth = worth_of(ballots(*answers), FOUND, "number")
    assert worth["status"] == "measured"
    assert worth["right"] is None
    assert worth["interval"] is None
    assert said in worth["text"]
    assert "%" not in worth["text"]


def test_another_kind_of_question_brings_a_caution() -> None:
    worth = worth_of(ballots("8", "8", "8", "8", "8"), replace(FOUND, caution="Caution: other words."), "date")
    assert "no question of the kind date" in worth["caution"]
    assert worth["caution"].endswith("Caution: other words.")
    assert worth["text"].endswith(worth["caution"])
    assert worth_of(ballots("8", "8", "8", "8", "8"), replace(FOUND, caution="Old."), "number")["caution"] == "Old."


@pytest.mark.parametrize("answers", [("8",) * 5, ("8", "8", "8", "9", None)])
def test_too_few_labels_are_a_sentence_and_no_number(answers: tuple[str | None, ...]) -> None:
    few = Measured(panel="p", voters=5, labels=12, too_few="12 labelled questions are too few.")
    worth = worth_of(ballots(*answers), few, "number")
    assert worth["status"] == "unmeasured"
    assert worth["text"].endswith("12 labelled questions are too few.")
    assert worth.keys() <= {"status", "text", "illustration"}


def test_a_vote_that_was_cut_short_or_has_other_voters_is_not_measured() -> None:
    given_up = ballots("8", "8", "8", "8", None)
    given_up[-1] = replace(given_up[-1], outcome="cancelled")
    for cast, said in ((given_up, "not awaited"), (ballots("8", "8", "8", "8", "8")[:3], "3 voted here")):
        worth = worth_of(cast, FOUND, "number")
        assert worth["status"] == "unmeasured"
        assert said in worth["text"]


def test_a_spare_counts_for_the_agent_that_it_stands_in_for() -> None:
    cast = ballots("8", "8", "8", "8", None)
    cast.append(Ballot(agent="zoe", answer="8", reply="8", outcome="reply", model="m", stands_in_for="eve"))
    assert worth_of(cast, FOUND, "number")["agreeing"] == 5
    assert unanimous_level(cast, FOUND) == FOUND.level(5)


def test_hollow_unanimity_is_judged_by_the_measured_rate_where_that_is_asked_for() -> None:
    agreed, mixed = ballots(*"88888"), ballots(*"88888", models="mmmmn")
    settings = VoteSettings(profile=FOUND, hollow_below=0.75)
    assert trigger_of(agreed, {}, settings) == trigger_of(mixed, {}, settings) == "hollow-unanimity"
    trusting = replace(settings, hollow_below=0.7)
    assert trigger_of(agreed, {}, trusting) == trigger_of(mixed, {}, trusting) == ""
    assert trigger_of(agreed, {"8": "accepted"}, settings) == ""
    assert trigger_of(agreed, {}, VoteSettings(profile=FOUND)) == "hollow-unanimity"
    assert trigger_of(mixed, {}, VoteSettings(profile=FOUND)) == ""
    assert trigger_of(ballots("8", "8", "8", "8", None), {}, trusting) == "hollow-unanimity"  # 4 of 5 is not measured
    assert trigger_of(ballots(*"88889"), {}, settings) == "disagreement"


def test_a_rate_is_not_asked_for_without_a_profile() -> None:
    seats = [Seat(agent="ada", model="m")]
    for profile in (None, replace(FOUND, too_few="too few", levels=())):
        with pytest.raises(SpecError, match="measured figures"):
            assign(seats, VoteSettings(hollow_below=0.9, profile=profile))
    with pytest.raises(SpecError, match="cannot be"):
        assign(seats, VoteSettings(hollow_below=1.2, profile=FOUND))
    assert assign(seats, VoteSettings(hollow_below=0.9, profile=FOUND)).voters == (seats[0],)


def test_settings_with_a_profile_come_back_from_json() -> None:
    settings = VoteSettings(profile=FOUND, hollow_below=0.5)
    assert VoteSettings.from_data(msgspec.json.decode(msgspec.json.encode(settings.to_data()))) == settings
    old = {name: value for name, value in VoteSettings().to_data().items() if name not in ("profile", "hollow_below")}
    assert VoteSettings.from_data(old) == VoteSettings()


@pytest.mark.parametrize(
    "change",
    [
        {"voters": 0},
        {"labels": -1},
        {"levels": (Level(agreeing=6, count=1, correct=1),)},
        {"levels": (Level(agreeing=1, count=1, correct=2),)},
        {"levels": (Level(agreeing=1, count=1, correct=1, low=0.9, high=0.1),)},
        {"levels": (Level(agreeing=1, count=1, correct=1, low=float("nan")),)},
        {"levels": (Level(agreeing=1, count=1, correct=1), Level(agreeing=1, count=2, correct=1))},
    ],
)
def test_numbers_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        replace(FOUND, **change)  # type: ignore[arg-type]


def test_once_is_once_and_a_single_kind_is_not_told_twice() -> None:
    one = replace(
        FOUND,
        levels=(Level(agreeing=5, count=1, correct=1, low=0.025, high=1.0),),
        kinds={"number": Tried(count=60, correct=1)},
        n_eff=None,
    )
    text = measured_worth(one, [5], "number")["text"]
    assert "agreed once" in text
    assert "right 1 of 1: 100.0 %" in text
    assert "Of the kind" not in text
    assert "independent" not in text
