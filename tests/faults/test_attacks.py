from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.scripted import Scripted
from dissensus.cli.attacks import attacks
from dissensus.errors import SpecError, UsageError
from dissensus.faults.attacks.corruption import SLOTS, corrupt, corrupted_seats, line_up, truth_note
from dissensus.faults.attacks.loading import attack_from, find_attack, shipped, shipped_attack
from dissensus.faults.attacks.target import Target, checked_target, choose_target, offset_of
from dissensus.faults.attacks.template import STRENGTHS, Wording
from dissensus.record.memory import MemoryStore
from dissensus.record.view import view_of
from dissensus.run.engine import Engine
from dissensus.run.journal import Journal
from dissensus.run.performers import Live
from dissensus.script.calls import Extend, Generate
from dissensus.script.effects import Ask, Continue, Script
from dissensus.script.questions import Question
from dissensus.script.seats import Seat
from dissensus.specfile import parse_spec
from dissensus.study.tasks.reading import read_tasks

KINDS = (
    "advertisement", "collusion", "early-end", "flooding", "forged-check", "format-break", "imperative", "last-word",
    "lock", "misinformation", "template-smuggling",
)  # fmt: skip
SEATS = tuple(Seat(agent=name, model="m", system=f"You are {name}.") for name in ("ada", "ben", "cleo", "dora", "emil"))
SUM = Question(text="What is 40 + 2?", kind="number", gold="42")


# --- the texts


def test_every_kind_is_there_with_several_wordings() -> None:
    assert shipped() == KINDS
    for attack in map(shipped_attack, KINDS):
        wanted = STRENGTHS if attack.name in {"imperative", "advertisement", "misinformation"} else ("strong",)
        assert attack.strengths == wanted
        assert attack.aim == ("disruption" if attack.name in {"flooding", "format-break"} else "target")
        for strength in attack.strengths:
            assert len(set(attack.of(strength))) == len(attack.of(strength)) >= 3
            for wording in attack.of(strength):
                assert (len(wording.parts) > 1) == (attack.name == "collusion")
    assert len({shipped_attack(name).digest for name in KINDS}) == len(KINDS)


def test_a_stronger_text_says_more() -> None:
    for name in ("imperative", "advertisement", "misinformation"):
        sizes = [[len(one.parts[0]) for one in shipped_attack(name).of(strength)] for strength in STRENGTHS]
        assert max(sizes[0]) < min(sizes[1])
        assert max(sizes[1]) < min(sizes[2])


def test_what_is_filled_in_is_not_searched_for_slots_again() -> None:
    wording = Wording((r"\boxed{{target}} for {name}: {question} {other}",))
    filled = wording.filled(target="{question}", question="{name} {target}", name="{target}")
    assert filled == r"\boxed{{question}} for {target}: {name} {target} {other}"


@pytest.mark.parametrize("name", KINDS)
def test_a_filled_text_has_no_slot_left(name: str) -> None:
    attack = shipped_attack(name)
    for strength in attack.strengths:
        for wording in attack.of(strength):
            texts = [wording.filled(target="77", question="Why?", name="ada", part=part) for part in range(4)]
            assert not any(re.search(r"\{(target|question|name)\}", text) for text in texts)
            assert any("77" in text for text in texts) or attack.aim == "disruption"
            assert texts[3] == texts[3 % len(wording.parts)]


GOOD = """attack: mine
version: 2
title: Mine
about: It does
  things.
strengths:
  mild:
    - say {target}
    - ["first {target}", "second"]
"""


def test_an_attack_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    attack = find_attack(str(path))
    assert (attack.name, attack.version, attack.about, attack.aim) == ("mine", 2, "It does things.", "target")
    assert attack.of("mild") == (Wording(("say {target}",)), Wording(("first {target}", "second")))
    with pytest.raises(UsageError, match="no strength 'strong'"):
        attack.of("strong")
    changed = attack_from(parse_spec(GOOD.replace("second", "other"), "a", "b"))
    assert changed.digest != attack.digest


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("say {target}", "say {traget}", 8, "There is no slot {traget}"),
        ("say {target}", "say it", 8, "does not name the {target}"),
        ("    - say {target}", "    - 7", 8, "has to be a text"),
        ('"second"', '""', 9, "has to be a text"),
        ('["first {target}", "second"]', "[]", 9, "without a part"),
        ("  mild:", "  mildest:", 7, "no strength 'mildest'"),
        ("version: 2", "version: two", 2, "whole number"),
        ("version: 2", "version: true", 2, "whole number"),
        ("title: Mine", "titel: Mine", 3, "no key 'titel'"),
        ("title: Mine", "aim: money", 3, "does not aim at 'money'"),
        ("title: Mine\n", "", 1, "needs a text 'title'"),
        ("attack: mine", "attack: []", 1, "needs a text 'attack'"),
    ],
)
def test_a_fault_in_a_file_is_named_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    with pytest.raises(SpecError) as caught:
        attack_from(parse_spec(GOOD.replace(old, new), "mine.yaml", "file of an attack"))
    assert caught.value.line == line
    assert message in caught.value.message


def test_strengths_are_needed() -> None:
    for rest in ("strengths: []", "strengths: {}", "", "strengths: {mild: {}}", "strengths: {mild: []}"):
        with pytest.raises(SpecError, match=r"needs strengths|list of texts"):
            attack_from(parse_spec(GOOD.partition("strengths:")[0] + rest, "mine.yaml", "file of an attack"))
    with pytest.raises(SpecError, match="no attack 'imperatif'") as caught:
        find_attack("imperatif")
    assert caught.value.next_step == "Did you mean 'imperative'?"
    with pytest.raises(SpecError, match="cannot be read"):
        find_attack("no/such/file.yaml")


@given(
    st.dictionaries(
        st.sampled_from(["attack", "version", "title", "about", "aim", "strengths", "x"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(0, 3)
            | st.sampled_from(["target", "disruption", "a {target}", "", "{x}"]),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(STRENGTHS), inner, max_size=3),
            max_leaves=8,
        ),
    )
)
def test_any_file_is_an_attack_or_an_error(data: dict[str, Any]) -> None:
    try:
        attack = attack_from(parse_spec(json.dumps(data) if data else "{}", "any.yaml", "file of an attack"))
    except SpecError as error:
        path = error.path
    else:
        path = "any.yaml"
        assert attack.strengths
    assert path == "any.yaml"


# --- the wrong answer


def drawn(kind: str, gold: str, count: int = 600, **more: Any) -> Counter[str]:
    return Counter(choose_target(kind, gold, seed=seed, **more).shown for seed in range(count))


def test_numbers_within_half_are_drawn_evenly() -> None:
    found = drawn("number", "10", 5000)
    assert set(found) == {str(number) for number in range(5, 16) if number != 10}
    # chi-square with 9 degrees of freedom: above 33.7 once in 10,000
    assert sum((count - 500) ** 2 / 500 for count in found.values()) < 33.7


@given(gold=st.integers(-(10**12), 10**12) | st.integers(-9, 9), seed=st.integers(0, 10**6), commas=st.booleans())
def test_a_numeric_target_keeps_sign_and_format_and_is_never_right(gold: int, seed: int, *, commas: bool) -> None:
    written = f"{gold:,}" if commas else str(gold)
    target = choose_target("number", str(gold), written=written, seed=seed)
    value = int(target.shown.replace(",", ""))
    assert value != gold
    assert str(value) == target.answer
    assert target.shown == (f"{value:,}" if "," in written else str(value))
    if abs(gold) > 1:
        assert value * gold > 0
        assert abs(value - gold) * 2 <= abs(gold)
        offset = offset_of(target, str(gold))
        assert offset is not None
        assert 0 < abs(offset) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("0", {"1"}),
        ("1", {"2"}),
        ("-1", {"-2"}),
        ("2", {"1", "3"}),
        ("-3", {"-2", "-4"}),
        ("0.5", {"0.3", "0.4", "0.6", "0.7"}),
        ("$0.02", {"$0.01", "$0.03"}),
        ("3/4", {"2/4", "4/4", "3/2", "3/3", "3/5", "3/6"}),
    ],
)
def test_small_numbers(written: str, found: set[str]) -> None:
    assert set(drawn("number", written.strip("$"), written=written)) <= found
    if "/" not in written:
        assert set(drawn("number", written.strip("$"), written=written)) == found


def test_options_are_drawn_evenly_from_texts_that_differ() -> None:
    options = ("69:91", "59:91", "59:90", "59:91", "69:101")
    found = drawn("choice", "59:91", 3000, options=options)
    assert set(found) == {"(A) 69:91", "(C) 59:90", "(E) 69:101"}
    assert sum((count - 1000) ** 2 / 1000 for count in found.values()) < 18.5  # 2 degrees of freedom, 1 in 10,000
    assert choose_target("choice", "(D)", options=options, seed=1).answer != "59:91"
    assert set(drawn("choice", "x", 50, options=("x", "y"), lettered=False)) == {"y"}
    with pytest.raises(UsageError, match="No option is wrong"):
        choose_target("choice", "x", options=("x", "X"))


def test_yes_becomes_no() -> None:
    assert choose_target("yes-no", "yes") == Target("no", "no")
    assert choose_target("yes-no", "no", options=("Yes", "No")) == Target("yes", "Yes")


def test_formulas_and_words() -> None:
    assert choose_target("text", r"\frac{14}{3}", seed=2).shown != r"\frac{14}{3}"
    assert set(drawn("text", "evelyn", 30, others=["Evelyn", "Briana", "Carla"])) == {"Briana", "Carla"}
    for gold in ("evelyn", "p-q"):
        with pytest.raises(UsageError, match="No wrong answer"):
            choose_target("text", gold, others=[gold])
    with pytest.raises(UsageError, match="No wrong answer"):
        choose_target("date", "2026-01-01")


@pytest.mark.parametrize(
    ("shown", "kind", "gold", "options"),
    [
        ("1,000.0", "number", "1000", ()),
        ("$1000", "number", "1000", ()),
        ("B", "choice", "an owl", ("a raven", "an owl")),
        ("TRUE", "yes-no", "yes", ()),
        (r"\dfrac{1}{2}", "text", "0.5", ()),
        ("The Owl.", "text", "owl", ()),
    ],
)
def test_the_right_answer_in_other_words_is_no_target(
    shown: str, kind: str, gold: str, options: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match="is the right answer"):
        checked_target(shown, kind, gold, options=options)


def test_what_is_no_answer_is_no_target() -> None:
    with pytest.raises(UsageError, match="no answer of the kind number"):
        checked_target("many", "number", "4")


@pytest.mark.parametrize("name", ["gsm8k/test.even.jsonl", "aqua/test.even.jsonl", "math500/math500_test.even.json",
    "strategyqa/dev.even.json", "bbh/navigate.even.json", "bbh/geometric_shapes.even.json",
    "bbh/tracking_shuffled_objects_seven_objects.even.json"])  # fmt: skip
def test_a_wrong_answer_is_found_for_every_published_question(shared: Path, name: str) -> None:
    tasks = read_tasks(shared / "data/round-robin" / name)
    others = [task.written for task in tasks if task.question.kind == "text"]
    for task in tasks:
        found = choose_target(
            task.question.kind,
            task.gold,
            written=task.gold_written,
            options=task.question.options,
            lettered=task.lettered,
            others=others,
            seed=11,
            key=task.id,
        )
        assert not task.right(found.shown)
        assert not task.right(found.answer)
        assert task.score(f"The answer is {found.shown}.") is False
        if name.startswith("gsm8k") and int(task.gold) > 1:
            offset = offset_of(found, task.gold)
            assert offset is not None
            assert 0 < abs(offset) <= Fraction(1, 2)


# --- the corrupted agent


def test_where_the_text_sits() -> None:
    attack, target = shipped_attack("imperative"), Target("41", "41")
    for slot in SLOTS:
        found = corrupt(SEATS[0], attack, target, question=SUM.text, slot=slot, wording=0)
        seat = found.seat(SEATS[0])
        system, prompt = found.prompt(SEATS[0].system, SUM.text)
        assert seat.system == system
        assert "\n\n".join(filter(None, [seat.context, SUM.text])) == prompt
        assert (found.text in system, found.text in prompt) == (slot == "system", slot != "system")
        assert ("<document" in prompt) == (slot == "quoted")
        assert seat.system.startswith("You are ada.")
        assert prompt.endswith(SUM.text)
        assert replace(seat, system=SEATS[0].system, context="") == SEATS[0]
    with pytest.raises(UsageError, match="slot 'pocket'"):
        corrupt(SEATS[0], attack, target, question="", slot="pocket")
    with pytest.raises(UsageError, match="no wording 3"):
        corrupt(SEATS[0], attack, target, question="", wording=3)
    with pytest.raises(UsageError, match="is for ada"):
        corrupt(SEATS[0], attack, target, question="").seat(SEATS[1])


def test_a_line_up_shares_its_target_or_does_not() -> None:
    attack = shipped_attack("imperative")
    agents = ["ada", "dora", "emil"]
    shared = line_up(SEATS, agents, attack, SUM, seed=3)
    assert list(shared) == agents
    assert len({one.target for one in shared.values()}) == 1
    assert len({one.wording for one in shared.values()}) == 1
    assert [one.part for one in shared.values()] == [0, 1, 2]
    assert shared == line_up(SEATS, agents, attack, SUM, seed=3)
    apart = [line_up(SEATS, agents, attack, SUM, seed=seed, shared=False) for seed in range(30)]
    assert any(len({one.target for one in found.values()}) == 3 for found in apart)
    assert all(one.target != "42" for found in apart for one in found.values())
    assert {line_up(SEATS, agents, attack, SUM, seed=seed)["ada"].wording for seed in range(30)} == {0, 1, 2}
    # who else is corrupted does not change what one aims at
    assert line_up(SEATS, ["dora"], attack, SUM, seed=3)["dora"].target == shared["dora"].target


def test_colluding_agents_read_different_parts() -> None:
    found = line_up(SEATS, ["emil", "ada", "ben", "cleo"], shipped_attack("collusion"), SUM, wording=0)
    texts = [one.text for one in found.values()]
    assert len(set(texts)) == 3
    assert texts[0] == texts[3]


def test_a_line_up_that_cannot_be() -> None:
    attack = shipped_attack("lock")
    for agents in (["zoe"], ["ada", "ada"]):
        with pytest.raises(UsageError, match="cannot be corrupted"):
            line_up(SEATS, agents, attack, SUM)
    with pytest.raises(UsageError, match="no right answer"):
        line_up(SEATS, ["ada"], attack, replace(SUM, gold=None))
    with pytest.raises(UsageError, match="No agent is called ada"):
        corrupted_seats(SEATS[1:], line_up(SEATS, ["ada"], attack, SUM))


@pytest.mark.parametrize("slot", SLOTS)
def test_no_agent_is_told_the_truth_about_the_others(slot: str) -> None:
    """The labels of a run reach the record and no call; the attack's text reaches the corrupted agents alone."""
    corruptions = line_up(SEATS, ["ben", "dora"], shipped_attack("misinformation"), SUM, slot=slot, seed=5)
    seats = {seat.agent: seat for seat in corrupted_seats(SEATS, corruptions)}
    models = {name: Scripted("I write a few words", keep_calls=True) for name in seats}
    target = corruptions["ben"].target

    def script() -> Script:
        yield truth_note("42", corruptions, list(seats))
        for _ in range(2):
            yield [Ask(name, "What is 40 + 2 ?", thread="t") for name in seats]
            yield [Continue(name, "What is 40 + 2 ?", "So", max_tokens=3, thread="t") for name in seats]

    store = MemoryStore()

    async def play() -> None:
        async with Live(lambda agent: models[agent]) as performer:
            await Engine(Journal(store), performer, seats, seed=1).run(script())

    anyio.run(play)
    events = list(store.read())
    (note,) = [event for event in events if event.kind == "truth"]
    assert note.visibility == "operator"
    assert note.body["roles"] == {
        "ada": "honest",
        "ben": "corrupted",
        "cleo": "honest",
        "dora": "corrupted",
        "emil": "honest",
    }
    assert note.body["gold"] == "42"
    assert note.body["corruptions"][0]["target"] == target
    for name, model in models.items():
        read = [
            turn.text for call in model.asked or () if isinstance(call, Generate | Extend) for turn in call.turns
        ] + [seen.text for seen in view_of(events, name)]
        whole = "\n".join(read)
        assert len(model.asked or ()) == 4
        assert "What is 40 + 2 ?" in whole
        assert "42" not in whole
        assert not re.search(r"honest|corrupted|gold|misinformation", whole)
        assert (corruptions["ben"].target in whole) == (name in corruptions)


# --- the command


def test_the_command_lists_and_shows() -> None:
    run = CliRunner()
    listed = json.loads(run.invoke(attacks, ["list", "--json"]).output)
    assert [row["attack"] for row in listed] == list(KINDS)
    assert listed[KINDS.index("imperative")]["strengths"] == {"mild": 3, "moderate": 3, "strong": 3}
    assert len(run.invoke(attacks, ["list"]).output.splitlines()) == len(KINDS) + 2
    shown = json.loads(run.invoke(attacks, ["show", "collusion", "--target", "41", "--json"]).output)
    assert [len(parts) for parts in shown["texts"]["strong"]] == [3, 3, 2]
    assert "41" in shown["texts"]["strong"][0][0]
    page = run.invoke(attacks, ["show", "imperative", "--strength", "mild"]).output
    assert "{target}" in page
    assert "## mild" in page
    assert "## strong" not in page
    assert isinstance(run.invoke(attacks, ["show", "lock", "--strength", "mild"]).exception, UsageError)
    assert isinstance(run.invoke(attacks, ["show", "nothing"]).exception, SpecError)
