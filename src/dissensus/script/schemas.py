"""Does a value obey a JSON schema? The part of JSON Schema (2020-12) that describes tools' arguments and answers.

Known keywords: ``type``, ``enum``, ``const``, ``properties``, ``required``, ``additionalProperties``, ``items``,
``minItems``, ``maxItems``, ``minimum``, ``maximum``, ``exclusiveMinimum``, ``exclusiveMaximum``, ``minLength``,
``maxLength``, ``anyOf``, ``oneOf`` (read as ``anyOf``), ``allOf`` and ``$ref`` into the same schema. Others are left
to whoever receives the value; ``pattern`` is among them, since a regular expression from outside can take for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

DEEPEST: Final = 32
MOST_STEPS: Final = 10_000
"""Schemas may come from a stranger's tool server. What lies deeper, or comes after so many steps, counts as obeyed."""

_TYPES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "string": ("text", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "null": ("null", lambda value: value is None),
    "object": ("an object", lambda value: isinstance(value, Mapping)),
    "array": ("a list", lambda value: isinstance(value, list | tuple)),
    "number": ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    "integer": (
        "a whole number",
        lambda value: (
            (isinstance(value, int) and not isinstance(value, bool))
            or (isinstance(value, float) and value.is_integer())
        ),
    ),
}


def problem_with(schema: Mapping[str, Any], value: Any, name: str = "the value") -> str:
    """Why ``value`` does not obey ``schema``: one sentence without a full stop, or "" if it obeys.

    ``name`` is what the sentence calls the value.
    """
    return _problem(schema, value, name, _Walk(schema), 0)


@dataclass(slots=True)
class _Walk:
    root: Mapping[str, Any]
    steps: int = 0


def closed(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a tool's arguments, closed to unknown names unless it says something about them."""
    tells = {"additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf"} & parameters.keys()
    return {"type": "object", **({} if tells else {"additionalProperties": False}), **parameters}


def _problem(schema: Any, value: Any, name: str, walk: _Walk, depth: int) -> str:
    if schema is False:
        return f"{name} is not allowed"
    walk.steps += 1
    if not isinstance(schema, Mapping) or depth > DEEPEST or walk.steps > MOST_STEPS:
        return ""
    if "$ref" in schema:
        return _problem(_target(walk.root, schema["$ref"]), value, name, walk, depth + 1)
    return (
        _wrong_type(schema, value, name)
        or _wrong_choice(schema, value, name)
        or _out_of_bounds(schema, value, name)
        or _wrong_parts(schema, value, name, walk, depth)
        or _wrong_combination(schema, value, name, walk, depth)
    )


def _target(root: Mapping[str, Any], reference: Any) -> Any:
    """What ``#/…`` points at; a schema that allows everything if it points nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        if not isinstance(found, Mapping):
            return {}
        found = found.get(part.replace("~1", "/").replace("~0", "~"), {})
    return found


def _wrong_type(schema: Mapping[str, Any], value: Any, name: str) -> str:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, Sequence) else []
    known = [_TYPES[each] for each in names if isinstance(each, str) and each in _TYPES]
    if not known or len(known) < len(names) or any(fits(value) for _, fits in known):
        return ""
    return f"{name} has to be {' or '.join(word for word, _ in known)}, not {_kind_of(value)}"


def _kind_of(value: Any) -> str:
    for word in ("null", "boolean", "integer", "number", "string", "array", "object"):
        if _TYPES[word][1](value):
            return _TYPES[word][0]
    return type(value).__name__


def _wrong_choice(schema: Mapping[str, Any], value: Any, name: str) -> str:
    choices = schema.get("enum")
    if "const" in schema:
        choices = [schema["const"]]
    if not isinstance(choices, list | tuple) or any(_same(value, choice) for choice in choices):
        return ""
    return f"{name} has to be one of {', '.join(map(repr, choices[:10]))}"


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON: true is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _out_of_bounds(schema: Mapping[str, Any], value: Any, name: str) -> str:
    measured: dict[str, tuple[str, str, str]] = {}
    size: float = 0
    if _TYPES["number"][1](value):
        size, measured = value, {"minimum": ("<", "at least", ""), "maximum": (">", "at most", "")}
        measured |= {"exclusiveMinimum": ("<=", "more than", ""), "exclusiveMaximum": (">=", "less than", "")}
    elif isinstance(value, str):
        size, measured = (
            len(value),
            {"minLength": ("<", "at least", " characters"), "maxLength": (">", "at most", " characters")},
        )
    elif isinstance(value, list | tuple):
        size, measured = len(value), {"minItems": ("<", "at least", " items"), "maxItems": (">", "at most", " items")}
    for keyword, (sign, words, unit) in measured.items():
        bound = schema.get(keyword)
        if not _TYPES["number"][1](bound):
            continue
        broken = {"<": size < bound, ">": size > bound, "<=": size <= bound, ">=": size >= bound}[sign]  # type: ignore[operator]
        if broken:
            return f"{name} has to {'have' if unit else 'be'} {words} {bound}{unit}"
    return ""


def _wrong_parts(schema: Mapping[str, Any], value: Any, name: str, walk: _Walk, depth: int) -> str:
    if isinstance(value, list | tuple):
        for place, item in enumerate(value, 1):
            if problem := _problem(schema.get("items", {}), item, f"item {place} of {name}", walk, depth + 1):
                return problem
    if not isinstance(value, Mapping):
        return ""
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    for part in required if isinstance(required, list | tuple) else ():
        if part not in value:
            return f'"{part}" is missing'
    for part, inner in value.items():
        if part in known:
            problem = _problem(known[part], inner, f'"{part}"', walk, depth + 1)
        else:
            problem = _problem(schema.get("additionalProperties", {}), inner, f'"{part}"', walk, depth + 1)
        if problem:
            return problem
    return ""


def _wrong_combination(schema: Mapping[str, Any], value: Any, name: str, walk: _Walk, depth: int) -> str:
    every = schema.get("allOf")
    for inner in every if isinstance(every, list | tuple) else ():
        if problem := _problem(inner, value, name, walk, depth + 1):
            return problem
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if not isinstance(options, list | tuple) or not options:
            continue
        problems = [_problem(option, value, name, walk, depth + 1) for option in options]
        if all(problems):
            return (
                problems[0] if len(problems) == 1 else f"{name} fits none of its {len(problems)} forms: {problems[0]}"
            )
    return ""
