"""From labelled questions to a profile: the table, the figures, the digest, the file, and going on after a cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from scipy.stats import beta  # type: ignore[import-untyped]

from dissensus.agents.panel import ModelSpec, Panel
from dissensus.agents.prices import Prices
from dissensus.decide.settings import VoteSettings
from dissensus.errors import RunError, SpecError, StorageError
from dissensus.record.event import Draft, Event
from dissensus.record.sqlite import open_record
from dissensus.run.casting import Cast
from dissensus.script.decisions import Ballot
from dissensus.script.questions import Question
from dissensus.script.seats import Seat
from dissensus.study.asking import Asked, Study, ask_all
from dissensus.study.calibrate import checked_sizes, enlarged, labelled, profile_of, table_from
from dissensus.study.estimate import estimate
from dissensus.study.panel_digest import description_of, digest_of, first_difference, wording_digest
from dissensus.study.profile import Profile, profile_path, read_profile, write_profile

NAMES = ("ada", "ben", "cleo", "dan", "eve")
NONE = VoteSettings(levers=())


def panel(agents: int = 3, **options: Any) -> Panel:
    seats = tuple(Seat(agent=name, model="scripted:yes") for name in NAMES[:agents])
    return Panel(
        seats=seats,
        models={"m": ModelSpec(reference="scripted:yes", options=options)},
        model_of={seat.agent: "m" for seat in seats},
    )


def question(number: int, gold: str | None = "yes", **more: Any) -> Question:
    return Question(text=f"Is {number} a number?", **{"kind": "yes-no", "id": f"q{number}", "gold": gold, **more})


def asked(number: int, answers: Sequence[str | None], gold: str = "yes", **more: Any) -> Asked:
    cast = {
        name: Ballot(agent=name, answer=answer, reply=answer, outcome="reply" if answer is not None else "invalid")
        for name, answer in zip(NAMES, answers, strict=False)
    }
    one = question(number, gold, **more)
    return Asked(question=one, kind=one.kind, ballots=cast, record="", new=False)


# --- figures


@examples(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=5, max_size=5), st.sampled_from("abc")),
        min_size=50,
        max_size=70,
    )
)
def test_levels_are_those_of_counting_by_hand(rows: list[tuple[list[str | None], str]]) -> None:
    options = {"kind": "choice", "options": ("a", "b", "c")}
    answers = [asked(place, row, gold, **options) for place, (row, gold) in enumerate(rows)]
    description = description_of(panel(5), NONE)
    profile, found = profile_of(answers, description, (3, 5), made={"date": "2026-12-01"})
    by_hand = {k: [0, 0] for k in range(1, 6)}
    ties = 0
    for row, gold in rows:
        votes = {answer: row.count(answer) for answer in set(row) if answer is not None}
        leaders = [answer for answer, count in votes.items() if count == max(votes.values())]
        if len(leaders) != 1:
            ties += 1
            continue
        by_hand[votes[leaders[0]]][0] += 1
        by_hand[votes[leaders[0]]][1] += leaders[0] == gold
    measured = profile.measured
    assert {level.agreeing: [level.count, level.correct] for level in measured.levels} == by_hand
    assert profile.ties == ties
    for level in measured.levels:
        low, high = 0.0, 1.0
        if level.correct:
            low = float(beta.ppf(0.025, level.correct, level.count - level.correct + 1))
        if level.count > level.correct:
            high = float(beta.ppf(0.975, level.correct + 1, level.count - level.correct))
        assert (level.low, level.high) == pytest.approx((low, high), abs=1e-9)
    assert measured.kinds["choice"].count == len(rows)
    assert measured.kinds["choice"].correct == sum(right for _, right in by_hand.values())
    assert [point["n"] for point in profile.sizes] == [3, 5]
    assert found.panel is not None
    assert profile.sizes[-1]["plurality"] == pytest.approx(found.panel.plurality.rate)
    assert measured.n_eff == (found.errors.n_eff if found.errors else None)


def test_the_right_answer_counts_as_one_however_it_is_written() -> None:
    one = asked(1, ["300 min", "5 h", "5", "6 h", None], "5", kind="number", unit="h")
    table = table_from([one], NAMES)
    assert table.right.tolist() == [[True, True, True, False, False]]
    assert table.blank.tolist() == [[False, False, False, False, True]]
    assert np.unique(table.codes[table.right]).size == 1


def test_few_labels_give_a_sentence_and_no_level() -> None:
    answers = [asked(place, ["yes"] * 3) for place in range(49)]
    description = description_of(panel(3), NONE)
    profile, _ = profile_of(answers, description, (3,), made={})
    assert profile.measured.levels == ()
    assert profile.measured.n_eff is None
    assert "49 labelled questions are too few" in profile.measured.too_few
    assert profile.warnings[0] == profile.measured.too_few
    enough, _ = profile_of([*answers, asked(50, ["no"] * 3)], description, (3,), made={})
    assert [level.count for level in enough.measured.levels] == [0, 0, 50]
    assert enough.measured.too_few == ""


def test_the_digest_of_questions_does_not_depend_on_their_order() -> None:
    description = description_of(panel(3), NONE)
    answers = [asked(place, ["yes", "no", "yes"]) for place in range(5)]
    one, _ = profile_of(answers, description, (3,), made={})
    other, _ = profile_of(answers[::-1], description, (3,), made={})
    third, _ = profile_of([*answers[1:], asked(0, ["yes"] * 3, "no")], description, (3,), made={})
    assert one.questions["digest"] == other.questions["digest"] != third.questions["digest"]


# --- questions


def test_questions_without_a_right_answer_are_left_out() -> None:
    assert labelled([question(1), question(2, None)]) == [question(1)]


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ([question(1, None)], "No question has a right answer"),
        ([question(1), question(1, id="again", gold="no")], "q1 and again are the same"),
        ([question(1, "perhaps")], "'perhaps' of the question q1"),
        ([question(1, "d", kind="choice", options=("a", "b"))], "no answer that it allows"),
    ],
)
def test_questions_that_cannot_be_measured_by_are_refused(questions: list[Question], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        labelled(questions)


# --- sizes


def test_a_panel_is_enlarged_by_asking_its_agents_again() -> None:
    spare = Seat(agent="zoe", model="scripted:yes", spare=True)
    small = panel(3)
    small = replace(small, seats=(*small.seats, spare), model_of={**small.model_of, "zoe": "m"})
    large = enlarged(small, NONE, 7)
    assert [seat.agent for seat in large.seats] == [
        "ada", "ben", "cleo", "ada 2", "ben 2", "cleo 2", "ada 3", "zoe"
    ]  # fmt: skip
    assert large.model_of["ada 3"] == "m"
    assert enlarged(small, NONE, 3) == small
    with pytest.raises(SpecError, match="more than 100"):
        enlarged(small, NONE, 301)
    named = replace(small, seats=(*small.seats, Seat(agent="ada 2", model="m", spare=True)))
    with pytest.raises(SpecError, match="'ada 2' already"):
        enlarged(replace(named, model_of={**named.model_of, "ada 2": "m"}), NONE, 4)


def test_sizes_are_those_of_the_curve() -> None:
    assert checked_sizes((), 5) == (1, 3, 5)
    assert checked_sizes((), 4) == (1, 3, 4)
    assert checked_sizes((21, 3, 3), 5) == (3, 21)
    with pytest.raises(SpecError, match="no curve at 14"):
        checked_sizes((14, 21), 5)


# --- the digest of a panel


def test_what_changes_an_answer_changes_the_digest_and_is_named() -> None:
    base = panel()
    description = description_of(base, NONE)
    assert first_difference(description, description) == ""

    def with_seat(**change: Any) -> Panel:
        return replace(base, seats=(base.seats[0], replace(base.seats[1], **change), base.seats[2]))

    changed = {
        "temperature of ben": (with_seat(temperature=0.1), NONE),
        "prompt of ben": (with_seat(system="Be brief."), NONE),
        "max_tokens of ben": (with_seat(max_tokens=7), NONE),
        "weight of ben": (with_seat(weight=2.0), NONE),
        "it has 3 agents, and this panel has 5": (panel(5), NONE),
        "seed of options of model of ada": (panel(seed=7), NONE),
        "read_by": (base, replace(NONE, read_by="parser")),
        "options_shuffled": (base, replace(NONE, levers=("shuffle",))),
        "style of ada": (base, replace(NONE, levers=("styles",))),
        "shown_examples of ada": (base, replace(NONE, weak_models=("scripted:yes",))),
    }
    for where, (other, how) in changed.items():
        theirs = description_of(other, how)
        assert digest_of(theirs) != digest_of(description), where
        assert first_difference(theirs, description).startswith(where)


def test_what_changes_no_answer_does_not_change_the_digest() -> None:
    base = digest_of(description_of(panel(), NONE))
    patient = panel(delay_s=1.0)
    slow = replace(patient, seats=tuple(replace(seat, deadline_s=9.0) for seat in patient.seats))
    priced = replace(slow, models={"m": replace(slow.models["m"], prices=Prices(tokens_in=1.0, tokens_out=2.0))})
    assert digest_of(description_of(priced, replace(NONE, rule="majority", stop="when-decided"))) == base
    asked_by_another_helper = replace(priced, seats=(*priced.seats, Seat(agent="judge", model="scripted:no")))
    asked_by_another_helper = replace(
        asked_by_another_helper,
        models={**priced.models, "j": ModelSpec(reference="scripted:no")},
        model_of={**priced.model_of, "judge": "j"},
    )
    routed = replace(NONE, stronger="judge", on_disagreement="stronger")
    assert digest_of(description_of(asked_by_another_helper, routed)) == base


def test_the_wording_has_one_digest() -> None:
    assert wording_digest() == wording_digest()
    assert len(wording_digest()) == 64


# --- the file


@pytest.fixture(scope="module")
def profile() -> Profile:
    answers = [asked(place, ["yes", "no", "yes"]) for place in range(60)]
    found, _ = profile_of(
        answers, description_of(panel(3), NONE), (1, 3), made={"date": "2026-12-01", "seed": 0}, source="p.profile.json"
    )
    return found


def test_a_profile_is_read_as_it_was_written(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "new" / "p.profile.json"
    write_profile(path, profile)
    read = read_profile(path)
    assert msgspec.json.encode(read.to_data()) == msgspec.json.encode(profile.to_data())
    assert read.of(description_of(panel(3), NONE), str(path)) == profile.measured
    assert [entry.name for entry in path.parent.iterdir()] == ["p.profile.json"]
    assert profile_path("there/panel.yaml") == Path("there/panel.profile.json")


def test_a_profile_of_another_panel_is_refused_with_what_differs(profile: Profile) -> None:
    with pytest.raises(SpecError, match="another panel: it has 3 agents, and this panel has 5"):
        profile.of(description_of(panel(5), NONE), "p")
    forged = replace(profile, measured=replace(profile.measured, panel="0" * 64))
    with pytest.raises(SpecError, match="its own digest does not fit"):
        forged.of(description_of(panel(3), NONE), "p")


def test_a_profile_from_other_words_says_so(profile: Profile) -> None:
    old = replace(profile, made={**profile.made, "wording": "0" * 64})
    measured = old.of(description_of(panel(3), NONE), "p")
    assert "in other words" in measured.caution
    assert replace(measured, caution="") == profile.measured


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, "not JSON"),
        ({"format": "another"}, "no profile"),
        ({"version": 2}, "version 2"),
        ({"measured": {"voters": 3}}, "damaged"),
        ({"measured": {"panel": "p", "voters": 0, "labels": 1}}, "damaged: The counts"),
        ({"ties": "many"}, "damaged"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(
    profile: Profile, tmp_path: Path, change: dict[str, Any] | None, said: str
) -> None:
    path = tmp_path / "p.profile.json"
    data = profile.to_data()
    path.write_text("{" if change is None else json.dumps(data | change))
    with pytest.raises(SpecError, match=said) as caught:
        read_profile(path)
    assert caught.value.next_step
    with pytest.raises(SpecError, match="cannot be read"):
        read_profile(tmp_path / "none.json")


def test_a_place_that_cannot_be_written_is_a_sentence(profile: Profile, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_profile(tmp_path / "file" / "p.profile.json", profile)


# --- asking


def study(folder: Path, of: Panel, seed: int = 0) -> Study:
    return Study(settings=NONE, folder=folder, panel=digest_of(description_of(of, NONE)), seed=seed)


async def go(folder: Path, of: Panel, questions: Sequence[Question], seed: int = 0) -> tuple[list[Asked], int]:
    async with Cast(of) as cast:
        model: Any = cast.model_of("ada")
        done = await ask_all(study(folder, of, seed), cast, questions)
        return done, model.calls


@pytest.mark.anyio
async def test_what_is_done_is_not_asked_again(tmp_path: Path) -> None:
    questions = [question(place) for place in range(4)]
    first, calls = await go(tmp_path, panel(), questions[:2])
    assert (calls, [one.new for one in first]) == (6, [True, True])
    second, calls = await go(tmp_path, panel(), questions)
    assert (calls, [one.new for one in second]) == (6, [False, False, True, True])
    assert second[0].ballots == first[0].ballots
    relabelled = [replace(one, gold="no") for one in questions]
    third, calls = await go(tmp_path, panel(), relabelled)
    assert (calls, [one.question.gold for one in third]) == (0, ["no"] * 4)
    changed = replace(panel(), seats=tuple(replace(seat, temperature=0.1) for seat in panel().seats))
    assert (await go(tmp_path, changed, questions))[1] == 12
    assert (await go(tmp_path, panel(), questions, seed=1))[1] == 12


def records(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.db"))


def draft_of(event: Event) -> Draft:
    return Draft(**{name.name: getattr(event, name.name) for name in fields(Draft)})


@pytest.mark.anyio
async def test_a_record_that_was_begun_is_finished(tmp_path: Path) -> None:
    """Cut a finished record after each of its events; every time only what is missing is asked."""
    questions = [question(1)]
    done, _ = await go(tmp_path / "whole", panel(), questions)
    with open_record(done[0].record) as store:
        events = list(store.read())
    for cut in range(1, len(events)):
        folder = tmp_path / str(cut)
        path = next(study(folder, panel()).paths(questions[0]))
        with open_record(path, "x") as store:
            store.append([draft_of(event) for event in events[:cut]])
        again, calls = await go(folder, panel(), questions)
        recorded = sum(event.kind == "outcome" for event in events[:cut])
        assert calls == 3 - recorded
        assert {name: ballot.answer for name, ballot in again[0].ballots.items()} == dict.fromkeys(NAMES[:3], "yes")
        assert again[0].record == str(path)


@pytest.mark.anyio
async def test_a_record_that_cannot_be_gone_on_with_is_left_and_the_question_asked_beside_it(tmp_path: Path) -> None:
    first, second = question(1), question(2)
    spoilt = next(study(tmp_path, panel()).paths(first))
    spoilt.write_text("no record at all")
    with open_record(next(study(tmp_path, panel()).paths(second)), "x"):
        pass  # killed before its first event
    done, calls = await go(tmp_path, panel(), [first, second])
    assert calls == 6
    assert [Path(one.record).name.endswith("-2.db") for one in done] == [True, False]
    assert spoilt.read_text() == "no record at all"
    assert (await go(tmp_path, panel(), [first, second]))[1] == 0


@pytest.mark.anyio
async def test_lost_calls_are_asked_again_and_a_dead_model_stops_the_study(tmp_path: Path) -> None:
    questions = [question(place) for place in range(6)]
    dying = panel(dies_after=6)
    with pytest.raises(RunError, match="last 3 questions no call came about"):
        await go(tmp_path, dying, questions)
    assert len(records(tmp_path)) == 5
    done, calls = await go(tmp_path, panel(), questions)  # dies_after is no part of the digest: it is the same panel
    assert calls == 12
    assert sum(one.lost for one in done) == 0
    assert (await go(tmp_path, panel(), questions))[1] == 0


# --- the estimate


@pytest.mark.anyio
async def test_an_estimate_counts_calls_and_money() -> None:
    priced = panel()
    priced = replace(
        priced,
        seats=tuple(replace(seat, max_tokens=100) for seat in priced.seats),
        models={"m": replace(priced.models["m"], prices=Prices(tokens_in=1e6, tokens_out=0.0))},
        currency="EUR",
    )
    async with Cast(priced) as cast:
        questions = [question(1), question(2)]
        found = estimate(cast.panel, questions, NONE, 0)
        assert (found.questions, found.agents, found.calls, found.calls_at_most) == (2, 3, 6, 12)
        assert found.tokens_out_at_most == 600
        assert found.money_at_most == 2 * found.tokens_in + found.tokens_out_at_most  # one unit a token read, twice
        assert "6 calls (at most 12 with repair turns)" in found.text()
        assert "EUR" in found.text()
        scored = estimate(cast.panel, questions, replace(NONE, read_by="log-probability"), 0)
        assert (scored.calls_at_most, scored.tokens_out_at_most) == (6, 0)
        nothing = estimate(cast.panel, [], NONE, 0)
        assert nothing.text() == "No question has to be asked."
    async with Cast(panel()) as cast:
        assert estimate(cast.panel, questions, NONE, 0).money_at_most is None
