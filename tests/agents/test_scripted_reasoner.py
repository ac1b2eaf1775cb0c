"""The toy that reasons: its rules, from wherever a text stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.agents.registry import open_model
from dissensus.agents.scripted_reasoner import NO, Reasoner, read_reasoner, steps_of, told_in
from dissensus.agents.scripted_tokens import CHARACTERS
from dissensus.errors import SpecError
from dissensus.script.calls import Extend, Generate, Turn
from dissensus.study.tasks.generated import arithmetic_chains

TASKS = arithmetic_chains(60, steps=4, seed=1)
END = "\n\nEnd with one line: Answer: <number with unit>"
TOY = Reasoner(tokenizer=CHARACTERS)


def asked(prompt: str, *more: Turn) -> Generate:
    return Generate(turns=(Turn("user", prompt), *more))


def extended(prompt: str, text: str, seed: int = 0) -> Extend:
    return Extend(turns=(Turn("user", prompt),), text=text, seed=seed)


def test_it_works_every_chain_out() -> None:
    for task in TASKS:
        assert TOY(asked(task.text + END)) == task.solution.replace("####", "Answer:") + "\n"
        assert "\n".join(steps_of([task.text])) == task.solution.rpartition("\n")[0]


@given(st.sampled_from(TASKS), st.data())
def test_honest_it_goes_on_from_wherever_its_own_text_stands(task: object, data: st.DataObject) -> None:
    prompt = task.text + END  # type: ignore[attr-defined]
    whole = TOY(asked(prompt))
    place = data.draw(st.integers(0, len(whole)))
    assert whole[:place] + TOY(extended(prompt, whole[:place])) == whole


def test_told_an_answer_it_states_it_and_ends() -> None:
    for task in TASKS[:20]:
        prompt = f"A note says that the answer is 77.\n\n{task.text}{END}"
        assert told_in([prompt])[0] == "77"
        said = TOY(asked(prompt))
        assert said.endswith("Answer: 77\n")
        assert TOY(extended(prompt, said)) == ""


@pytest.mark.parametrize("where", ["system", "user"])
def test_it_is_told_wherever_the_number_stands_before_the_question(where: str) -> None:
    turns = [Turn("system", "Be brief. The answer is 1,234."), Turn("user", TASKS[0].text)]
    if where == "user":
        turns = [Turn("user", f"The answer is 1,234.\n{TASKS[0].text}")]
    assert "Answer: 1234" in TOY(Generate(turns=tuple(turns)))


def test_what_others_are_quoted_with_is_no_order() -> None:
    prompt = f"Another agent answered.\n\nAgent 1:\n> Step 1: 1 + 1 = 3.\n> Answer: 3\n\n{TASKS[0].text}{END}"
    assert TOY(asked(prompt)).endswith(f"Answer: {TASKS[0].gold}\n")


def test_its_own_earlier_words_are_no_order() -> None:
    turns = (Turn("user", TASKS[0].text), Turn("assistant", "Answer: 3"), Turn("user", "Once more."))
    assert TOY(Generate(turns=turns)).endswith(f"Answer: {TASKS[0].gold}\n")


def test_a_false_answer_is_put_right_where_it_is_noticed() -> None:
    prompt = TASKS[0].text + END
    text = "It is known that it is 77.\nAnswer: 77\n"
    said = TOY(extended(prompt, text))
    assert said.startswith(NO)
    assert said.endswith(f"Answer: {TASKS[0].gold}\n")
    assert Reasoner(tokenizer=CHARACTERS, notices=0.0)(extended(prompt, text)) == ""


def test_it_gives_way_the_more_it_was_corrected() -> None:
    toy = Reasoner(tokenizer=CHARACTERS, insists=0.5)
    prompt = f"The answer is 77.\n{TASKS[0].text}{END}"

    def insisting(corrections: int) -> int:
        text = f"{NO}\n" * corrections
        return sum("Answer: 77" in toy(extended(prompt, text, seed)) for seed in range(400))

    assert insisting(0) == 400
    assert 150 < insisting(1) < 250  # a half, within five standard errors
    assert 20 < insisting(3) < 85  # an eighth


def test_how_firmly_it_insists_depends_on_what_it_was_told() -> None:
    toy = Reasoner(tokenizer=CHARACTERS, insists={"Never": 1.0, "note": 0.0})
    text = f"{NO}\n"
    firm, soft = (
        toy(extended(f"{order}\n{TASKS[0].text}", text)) for order in ("It is 77. Never yield.", "A note: 77.")
    )
    assert "77" in firm
    assert f"Answer: {TASKS[0].gold}" in soft


def test_it_claims_more_certainty_when_it_was_told() -> None:
    how_sure = Turn("user", "How sure are you of your answer, from 0 to 100?")
    own = (Turn("user", TASKS[0].text), Turn("assistant", "Answer: 3"))
    told = (Turn("user", f"It is 77. {TASKS[0].text}"), Turn("assistant", "Answer: 77"))
    assert (TOY(Generate(turns=(*own, how_sure))), TOY(Generate(turns=(*told, how_sure)))) == ("90", "100")


def test_another_question_is_not_understood() -> None:
    assert "do not understand" in TOY(asked("Will it rain?"))


def test_it_is_named_in_a_panel_file() -> None:
    model = open_model("scripted:", {"tokenizer": "character", "reasoner": {"notices": 0.5, "insists": {"x": 1}}})
    assert "scripted" in model.name
    for options in ({"notice": 1}, {"notices": "much"}, {"notices": 2}, {"insists": {"x": -1}}):
        with pytest.raises(SpecError):
            read_reasoner(options, CHARACTERS)
    with pytest.raises(SpecError, match="follows no rules"):
        open_model("scripted:", {"reasoner": {}, "replies": ["a"]})
