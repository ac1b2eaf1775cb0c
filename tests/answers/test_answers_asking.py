"""What agents are told, and that the reader understands those who obey."""

from __future__ import annotations

import json

import pytest

from dissensus.answers import KINDS, infer_kind, instruction_for, read, repair_prompt, schema_for
from dissensus.errors import UsageError

CASES = [
    ("number", (), "", "8 euros", "8 EUR"),
    ("number", (), "euros", "8", "8 EUR"),
    ("number", (), "ratio", "0.5", "0.5"),
    ("choice", ("Paris", "Rome"), "", "Rome", "Rome"),
    ("yes-no", (), "", "no", "no"),
    ("yes-no", ("true", "false"), "", "false", "false"),
    ("date", (), "", "2026-11-30", "2026-11-30"),
    ("text", (), "", "Paris", "paris"),
    ("auto", (), "", "Paris", "paris"),
    ("auto", ("Paris", "Rome"), "", "Paris", "Paris"),
]


@pytest.mark.parametrize(("kind", "options", "unit", "answer", "expected"), CASES)
def test_who_obeys_is_understood(kind: str, options: tuple[str, ...], unit: str, answer: str, expected: str) -> None:
    held = json.dumps({"reason": "It says so.", "answer": answer})
    for reply in (held, f"It says so.\nAnswer: {answer}", f"Answer: {answer}"):
        assert read(kind, reply, options=options, unit=unit).canonical == expected
    assert read(kind, "Answer: unsure", options=options, unit=unit).status == "abstained"


@pytest.mark.parametrize(("kind", "options", "unit", "answer", "expected"), CASES)
def test_the_schema_allows_the_answer(
    kind: str, options: tuple[str, ...], unit: str, answer: str, expected: str
) -> None:
    schema = schema_for(kind, options, unit)
    assert json.loads(json.dumps(schema)) == schema
    assert list(schema["properties"]) == ["reason", "answer"] == schema["required"]
    assert schema["additionalProperties"] is False
    allowed = schema["properties"]["answer"].get("enum", [answer, "unsure"])
    assert {answer, "unsure"} <= set(allowed)
    assert expected


def test_an_option_that_abstains_is_not_doubled() -> None:
    options = ("4", "Cannot be determined")
    assert schema_for("choice", options)["properties"]["answer"]["enum"] == ["4", "Cannot be determined"]
    assert "unsure" not in instruction_for("choice", options)
    assert "unsure" in instruction_for("choice", ("4", "5"))


def test_instructions_name_the_unit_and_the_words() -> None:
    assert "Answer: <number in euros>" in instruction_for("number", unit="euros")
    assert "Answer: <number with unit>" in instruction_for("number")
    assert "“Answer: true” or “Answer: false”" in instruction_for("yes-no", ("true", "false"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_repair_prompt_says_what_was_wrong(kind: str) -> None:
    options = ("Paris", "Rome") if kind == "choice" else ()
    problem = read("choice" if options else "number", "5, 6", options=options).problem
    prompt = repair_prompt(kind, problem, options)
    assert problem.partition(": ")[2] in prompt
    assert "Answer: " in prompt
    assert all(option in prompt for option in options)
    assert repair_prompt("text", "").startswith("Your reply could not be counted: no answer was found.")


@pytest.mark.parametrize(("kind", "options", "unit", "answer", "expected"), CASES)
def test_who_repeats_the_instruction_has_not_answered(
    kind: str, options: tuple[str, ...], unit: str, answer: str, expected: str
) -> None:
    del answer, expected
    found = read(kind, instruction_for(kind, options, unit), options=options, unit=unit)
    assert found.status != "answer"


def test_what_cannot_be_asked_is_refused() -> None:
    for ask in (schema_for, instruction_for):
        with pytest.raises(UsageError):
            ask("colour")
    with pytest.raises(UsageError):
        schema_for("choice", ("a", "A"))


@pytest.mark.parametrize(
    ("question", "options", "kind"),
    [
        ("Is 2027 a prime number?", (), "yes-no"),
        ("A shop sells pens at 3 for 2 euros. What do 12 pens cost?", (), "number"),
        ("How many eggs are in 5 boxes?", (), "number"),
        ("Tom has 3 apples. How much do they weigh?", (), "number"),
        ("What is 12 × 3?", (), "number"),
        ("What is 17*23", (), "number"),
        ("Calculate 3 + 4.", (), "number"),
        ("What is the total cost of two pens?", (), "number"),
        ("When did the war end?", (), "date"),
        ("In which year did it begin?", (), "date"),
        ("Was it raining?", (), "yes-no"),
        ("Can pigs fly or swim?", (), "auto"),
        ("Who wrote Faust?", (), "text"),
        ("What is the capital of France?", (), "text"),
        ("What is a monad?", (), "auto"),
        ("Should we ship?", (), "yes-no"),
        ("Write a poem.", (), "auto"),
        ("", (), "auto"),
        ("anything", ("yes", "no"), "yes-no"),
        ("anything", ("False", "True"), "yes-no"),
        ("Is it so?", ("yes", "no", "maybe"), "choice"),
        ("How many?", ("1", "2"), "choice"),
        ("anything", ("yes", "true"), "choice"),
    ],
)
def test_infers_the_kind(question: str, options: tuple[str, ...], kind: str) -> None:
    assert infer_kind(question, options) == kind
