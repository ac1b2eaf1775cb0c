from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.script.schemas import closed, problem_with

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 2.0]) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)


def _object_schema(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"properties": st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)},
        optional={
            "type": st.just("object"),
            "required": st.lists(st.sampled_from("xyz"), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
        },
    )


TYPES = st.sampled_from(["string", "boolean", "null", "object", "array", "number", "integer"])
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True)})
    | st.fixed_dictionaries({"enum": st.lists(JSON, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"const": JSON})
    | st.fixed_dictionaries(
        {},
        optional={
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-3, 3),
            "exclusiveMinimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 3),
        },
    )
    | st.booleans(),
    lambda inner: (
        _object_schema(inner)
        | st.fixed_dictionaries({"items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)})
    ),
    max_leaves=6,
)


@given(SCHEMAS, JSON)
def test_agrees_with_the_reference_validator(schema: Any, value: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the reference validator is not installed")
    assert bool(problem_with(schema, value)) is not jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer"}, "12", "the value has to be a whole number, not text"),
        ({"type": ["number", "null"]}, [], "the value has to be a number or null, not a list"),
        ({"properties": {"n": {"minimum": 1}}}, {"n": 0}, '"n" has to be at least 1'),
        ({"properties": {"s": {"maxLength": 2}}}, {"s": "abc"}, '"s" has to have at most 2 characters'),
        ({"required": ["n"]}, {}, '"n" is missing'),
        ({"additionalProperties": False}, {"n": 1}, '"n" is not allowed'),
        ({"items": {"enum": ["a", "b"]}}, ["a", "c"], "item 2 of the value has to be one of 'a', 'b'"),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            1,
            "the value fits none of its 2 forms: the value has to be text, not a whole number",
        ),
    ],
)
def test_says_what_is_wrong(schema: dict[str, Any], value: Any, problem: str) -> None:
    assert problem_with(schema, value) == problem


def test_follows_references_into_the_same_schema() -> None:
    schema = {
        "$defs": {"a/b": {"type": "array", "items": {"$ref": "#/$defs/a~1b"}}},
        "properties": {"tree": {"$ref": "#/$defs/a~1b"}},
    }
    assert not problem_with(schema, {"tree": [[], [[]]]})
    assert problem_with(schema, {"tree": [[], [["leaf"]]]}) == (
        'item 1 of item 1 of item 2 of "tree" has to be a list, not text'
    )


@pytest.mark.parametrize("reference", ["#/nowhere", "https://example.org/schema", 7, "#/type/deeper"])
def test_references_that_lead_nowhere_allow_everything(reference: object) -> None:
    assert not problem_with({"type": "object", "properties": {"x": {"$ref": reference}}}, {"x": 1})


def test_schemas_that_call_themselves_end() -> None:
    both = [{"$ref": "#"}, {"$ref": "#"}]
    began = time.process_time()
    problem_with({"anyOf": both, "allOf": both}, 1)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 7},
        {"type": ["string", 3]},
        {"enum": 3},
        {"required": 3},
        {"properties": []},
        {"minimum": "x"},
        {"anyOf": 1},
    ],
)
def test_schemas_that_are_no_schemas_allow_everything(schema: dict[str, Any]) -> None:
    assert not problem_with(schema, {})
    assert not problem_with(schema, "text")


def test_arguments_that_no_tool_knows_are_refused_unless_its_schema_says_otherwise() -> None:
    assert problem_with(closed({}), {"x": 1}) == '"x" is not allowed'
    assert not problem_with(closed({}), {})
    assert problem_with(closed({}), []) == "the value has to be an object, not a list"
    assert not problem_with(closed({"additionalProperties": True}), {"x": 1})
    assert not problem_with(closed({"patternProperties": {"^x": {}}}), {"x": 1})
