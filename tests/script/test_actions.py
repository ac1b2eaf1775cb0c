from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.script.actions import (
    Answer,
    Broken,
    Use,
    action_schema,
    arguments_for,
    instructions,
    read_action,
)
from dissensus.script.schemas import problem_with
from dissensus.script.seats import ToolSpec

CALC = ToolSpec(
    name="calculator",
    description="Works out an expression.",
    parameters={"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
)
CLOCK = ToolSpec(name="clock", description="Tells the time.")
CALL = '{"tool": "calculator", "arguments": {"expression": "1+1"}}'
USE = Use("calculator", {"expression": "1+1"})

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"I will compute that {{carefully}}.\n{CALL}\nResult: 2\n" + '{"answer": "2"}',
        f"<tool_call>\n{CALL.replace('tool', 'name', 1)}\n</tool_call>",
        '{"thought": "easy", "tool": "calculator", "arguments": {"expression": "1+1"}, "answer": ""}',
        f'{{"note": 1}} {CALL}',
    ],
)
def test_the_first_action_counts_whatever_stands_around_it(text: str) -> None:
    assert read_action(text) == USE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"answer": "8 euros"}', "8 euros"),
        ('{"tool": null, "answer": 8}', 8),
        ('{"tool": "", "answer": {"sum": 8}}', {"sum": 8}),
    ],
)
def test_answers(text: str, value: object) -> None:
    assert read_action(text) == Answer(value)


@pytest.mark.parametrize(
    "text", ["  The answer is 8. ", '{"result": 8}', "{", "", "12 {pens} cost 8", "a \\ud800 text"]
)
def test_a_message_without_an_action_is_the_answer(text: str) -> None:
    assert read_action(text) == Answer(text.strip(), plain=True)


@pytest.mark.parametrize(
    "text",
    [
        CALL[:-2],
        CALL.replace('"', "'"),
        '{"tool": 7, "arguments": {}}',
        '{"tool": null}',
        '{"tool": "calculator", "arguments": {"expression": NaN}}',
        '{"tool": "calculator", "arguments": {"expression": 1e999}}',
        '{"tool": "calculator", "arguments": {"expression": "\\ud800"}}',
        '{"tool": "calculator", "arguments": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"tool": "calculator", "arguments": ' + "[" * 60 + "]" * 60 + "}",
        '{"tool": "calculator", "arguments": {"n": ' + "1" * 5000 + "}}",
    ],
)
def test_a_broken_action_is_no_answer(text: str) -> None:
    assert isinstance(read_action(text), Broken)


@given(st.text() | st.text(alphabet='{}[]":, toolanswer\\1e', max_size=80))
def test_any_text_is_read(text: str) -> None:
    action = read_action(text)
    if isinstance(action, Answer) and action.plain:
        assert action.text() == text.strip()


@given(JSON.filter(lambda value: not isinstance(value, str)), st.text(alphabet="ab{}\n ", max_size=20))
def test_answers_come_back_as_they_were_written(value: Any, around: str) -> None:
    if "{" in around and not around.endswith("\n"):
        around += "\n"
    action = read_action(f"{around.replace('{', '(')}{json.dumps({'answer': value})}{around}")
    assert action == Answer(value)
    assert json.loads(action.text()) == value


@given(st.text())
def test_a_text_answer_is_that_text_or_its_json(value: str) -> None:
    action = read_action(json.dumps({"answer": value}))
    assert isinstance(action, Answer)
    assert action.text() == value
    assert json.loads(action.text(as_json=True)) == value


@pytest.mark.parametrize(
    ("spec", "given_", "arguments"),
    [
        (CALC, None, {}),
        (CALC, {"expression": "2"}, {"expression": "2"}),
        (CALC, "2 * 3", {"expression": "2 * 3"}),
        (CALC, '{"expression": "2"}', {"expression": "2"}),
        (CALC, "{broken", {"expression": "{broken"}),
        (CALC, ["2"], ["2"]),
        (CLOCK, "now", "now"),
    ],
)
def test_arguments_are_read_with_tolerance(spec: ToolSpec, given_: Any, arguments: Any) -> None:
    assert arguments_for(spec, given_) == arguments


def test_the_schema_allows_actions_and_nothing_else() -> None:
    schema = action_schema([CALC, CLOCK])
    for good in (json.loads(CALL), {"tool": "clock", "arguments": {}}, {"answer": "8"}):
        assert not problem_with(schema, good)
    for bad in (
        {"tool": "calculator", "arguments": {}},
        {"tool": "clock", "arguments": {"zone": 1}},
        {"tool": "other", "arguments": {}},
        {"answer": 8},
        {"answer": "8", "tool": "clock"},
        {},
    ):
        assert problem_with(schema, bad)


def test_the_schema_of_the_last_turn_allows_only_an_answer() -> None:
    schema = action_schema([], {"type": "integer"})
    assert not problem_with(schema, {"answer": 8})
    assert problem_with(schema, {"answer": "8"})
    assert problem_with(schema, json.loads(CALL))


def test_a_schema_that_refers_into_itself_is_not_embedded() -> None:
    tree = ToolSpec(name="tree", description="", parameters={"$defs": {}, "properties": {"x": {"$ref": "#/$defs/x"}}})
    assert "$ref" not in json.dumps(action_schema([tree]))


def test_the_instructions_show_each_tool_and_both_forms() -> None:
    optional = ToolSpec(
        name="look", description="Looks.", parameters={"properties": {"up": {"type": "string"}, "n": {}}}
    )
    assert instructions([CALC, CLOCK, optional]).splitlines() == [
        "You can use these tools:",
        "- calculator(expression: string): Works out an expression.",
        "- clock(): Tells the time.",
        "- look(up?: string, n?): Looks.",
        'To use a tool, write only a JSON object like {"tool": "calculator", "arguments": {"expression": "…"}}',
        'When you know the answer, write only {"answer": "…"}',
    ]
