"""The labelled questions that are shipped: well formed, answered, and right as far as a program can tell."""

from __future__ import annotations

import calendar
from collections import Counter
from fractions import Fraction
from pathlib import Path
from statistics import mean

import pytest

from dissensus.agents.panel import load_panel
from dissensus.agents.weak import weak_models
from dissensus.cli.questions import read_questions
from dissensus.decide.settings import VoteSettings
from dissensus.decide.wording import _NUMBERS, _POLAR  # worked examples, which must not be asked
from dissensus.measure.wording import short
from dissensus.study.calibrate import digest_of_questions, labelled
from dissensus.study.panel_digest import description_of
from dissensus.study.profile import read_profile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS = {question.id: question for question in labelled(read_questions(str(EXAMPLES / "labelled-60.jsonl")))}


def prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, number))


def snail(wall: int, up: int, down: int) -> int:
    height, day = 0, 1
    while (height := height + up) < wall:
        height, day = height - down, day + 1
    return day


def said(yes: bool) -> str:
    return "yes" if yes else "no"


COMPUTED = {
    "number-01": 17 + 26,
    "number-02": 6 * 9,
    "number-03": 40 - 13 + 5,
    "number-04": Fraction(20, 100) * 150,
    "number-05": (11 * 60 + 5) - (9 * 60 + 40),
    "number-06": 14 * 12,
    "number-07": Fraction(6, 4) * 10,
    "number-08": 7 * 13,
    "number-09": 100 % 7,
    "number-10": next(ball for ball in range(111) if ball + (ball + 100) == 110),
    "number-11": mean([12, 18, 21, 29]),
    "number-12": Fraction(100) / (100 * Fraction(5, 5 * 5)),
    "number-13": 80 * Fraction(75, 100) * Fraction(110, 100),
    "number-14": 1000 - 367,
    "number-15": snail(10, 3, 2),
    "number-16": 2**10,
    "number-17": Fraction(150) / Fraction(5, 2),
    "number-18": sum(number % 6 == 0 for number in range(1, 51)),
    "number-19": next(ann for ann in range(1, 100) if 3 * ann + 10 == 2 * (ann + 10)),
    "number-20": 2 * 3600 + 15 * 60,
    "yes-no-01": said(prime(51)),
    "yes-no-03": said(Fraction(3, 4) > Fraction(2, 3)),
    "yes-no-06": said(any(root * root == 144 for root in range(145))),
    "yes-no-08": said(calendar.isleap(1900)),
    "yes-no-10": said(Fraction("0.3") > Fraction("0.25")),
    "yes-no-11": said(prime(2)),
    "yes-no-13": said(Fraction("9.11") > Fraction("9.9")),
    "yes-no-15": said(1001 % 7 == 0),
    "yes-no-18": said(all((one + other) % 2 == 0 for one in range(1, 50, 2) for other in range(1, 50, 2))),
    "yes-no-20": said(prime(87)),
    "choice-04": next(option for option in ("21", "27", "29", "33") if prime(int(option))),
    "choice-07": max(("1/2", "3/5", "2/3", "4/7"), key=Fraction),
    "choice-11": calendar.day_name[(list(calendar.day_name).index("Friday") + 3) % 7],
    "choice-12": max({"triangle": 3, "hexagon": 6, "square": 4, "pentagon": 5}.items(), key=lambda item: item[1])[0],
    "choice-14": str(8 + 13),
    "choice-18": next(
        month
        for month in ("January", "March", "August", "June")
        if calendar.monthrange(2027, list(calendar.month_name).index(month))[1] == 30
    ),
}


@pytest.mark.parametrize("name", sorted(COMPUTED))
def test_a_right_answer_that_can_be_computed_is_that(name: str) -> None:
    gold, computed = str(QUESTIONS[name].gold), COMPUTED[name]
    assert (gold == computed) if isinstance(computed, str) else (Fraction(gold) == computed)


def test_there_are_sixty_of_three_kinds_and_every_prefix_is_mixed() -> None:
    assert len(QUESTIONS) == 60
    assert Counter(question.kind for question in QUESTIONS.values()) == {"number": 20, "yes-no": 20, "choice": 20}
    kinds = [question.kind for question in QUESTIONS.values()]
    assert all(set(kinds[place : place + 3]) == {"number", "yes-no", "choice"} for place in range(0, 60, 3))
    assert Counter(question.gold for question in QUESTIONS.values() if question.kind == "yes-no") == {
        "yes": 10,
        "no": 10,
    }


def test_right_options_stand_in_every_place() -> None:
    places = Counter(
        question.options.index(str(question.gold)) for question in QUESTIONS.values() if question.kind == "choice"
    )
    assert set(places) == {0, 1, 2, 3}
    assert max(places.values()) < 10


def test_no_question_is_one_of_the_worked_examples() -> None:
    shown = {text for text, _ in (*_NUMBERS, *_POLAR)}
    assert not shown & {question.text for question in QUESTIONS.values()}


@pytest.mark.parametrize(("name", "lever"), [("temperatures", "temperature"), ("styles", "style")])
def test_the_panels_differ_in_one_lever_alone(name: str, lever: str) -> None:
    seats = load_panel(EXAMPLES / "panels" / f"{name}.yaml").seats
    assert len({getattr(seat, lever) for seat in seats}) == len(seats) == 5
    other = {"temperature": "style", "style": "temperature"}[lever]
    assert len({getattr(seat, other) for seat in seats}) == 1
    assert len({seat.model for seat in seats}) == 1


@pytest.mark.parametrize("name", ["temperatures", "styles"])
def test_the_shipped_profiles_are_of_these_panels_and_questions_and_on_the_page(name: str) -> None:
    panel = load_panel(EXAMPLES / "panels" / f"{name}.yaml")
    settings = VoteSettings(levers=(), weak_models=weak_models(panel))
    profile = read_profile(EXAMPLES / "panels" / f"{name}.profile.json")
    measured = profile.of(description_of(panel, settings), name)
    assert (measured.labels, profile.questions["digest"]) == (60, digest_of_questions(list(QUESTIONS.values())))
    assert {kind: tried.count for kind, tried in measured.kinds.items()} == {"choice": 20, "number": 20, "yes-no": 20}
    page = (EXAMPLES.parent / "docs" / "guide-measure.md").read_text(encoding="utf-8")
    column = {"temperatures": 2, "styles": 3}[name]
    rows = {cells[1].strip(): cells[column].strip() for cells in map(_cells, page.splitlines()) if len(cells) == 5}
    for level in measured.levels[2:]:
        told = f"{level.correct} of {level.count}"
        assert rows[f"{level.agreeing} of 5 agree: right"] == told
    assert rows["no answer led alone"] == f"{profile.ties} questions"
    assert rows["plurality of all five"].startswith(short(profile.audit["plurality_accuracy"]))
    assert rows["correlation of errors"].startswith(short(profile.audit["phi_mean"], 2))


def _cells(line: str) -> list[str]:
    return line.split("|")
