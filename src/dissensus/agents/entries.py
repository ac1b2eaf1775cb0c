"""What may stand in a panel file, one class for each kind of mapping, and plain sentences for what does not fit."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import BeforeValidator, Field

from dissensus.agents.durations import seconds_of
from dissensus.errors import SpecError
from dissensus.specfile import Place, Spec

_Entry = TypeVar("_Entry", bound="Entry")

Text = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(max_length=200, pattern=r"^[^\r\n]*$")]
Name = Annotated[str, Field(max_length=64, pattern=r"^[\w.-]+$")]
Span = Annotated[float, BeforeValidator(seconds_of)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Price = Annotated[float, Field(ge=0)]


class Entry(pydantic.BaseModel):
    """A mapping of the file. Types are taken as they are written: "1" is no number."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=False)


class PricesEntry(Entry):
    """``prices`` of a model: money per million tokens."""

    price_in: Price = Field(alias="in")
    price_out: Price = Field(alias="out")
    price_cached: Price | None = Field(None, alias="cached")
    currency: Line = ""


class ModelEntry(Entry):
    """A model. Other keys are options of its back end."""

    model_config = pydantic.ConfigDict(extra="allow")

    use: Text
    url: Text | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    timeout: Span | None = None
    prices: dict[str, Any] | None = None


class SharedEntry(Entry):
    """What single agents and groups have in common."""

    weight: Annotated[float, Field(gt=0)] = 1.0
    deadline: Span | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 512
    max_steps: Annotated[int, Field(ge=1, le=1000)] = 8
    tools: list[Text] = []
    budget: dict[str, Any] = {}
    persona: str = ""
    language: Line = ""


class AgentEntry(SharedEntry):
    """One agent."""

    name: Name
    model: Text
    temperature: Temperature = 0.7
    style: Text | None = None


class GroupEntry(SharedEntry):
    """Several agents at once. Lists are handed out in turn."""

    count: Annotated[int, Field(ge=1, le=1000)]
    model: Text | None = None
    models: Annotated[list[Text], Field(min_length=1)] | None = None
    names: list[Name] | None = None
    styles: Annotated[list[Text], Field(min_length=1)] | None = None
    temperatures: Annotated[list[Temperature], Field(min_length=1)] = [0.7]


class ToolEntry(Entry):
    """A tool: exactly one of the first four says what it is."""

    python: Text | None = None
    command: Annotated[list[Text], Field(min_length=1)] | None = None
    mcp: dict[str, Any] | None = None
    builtin: Text | None = None
    description: str = ""
    parameters: dict[str, Any] | None = None
    timeout: Span | None = None
    max_output: Annotated[int, Field(ge=1)] | None = None
    env: list[Name] = []


class McpEntry(Entry):
    """``mcp`` of a tool: how to start the server."""

    command: Annotated[list[Text], Field(min_length=1)]
    env: list[Name] = []


class BudgetEntry(Entry):
    """The most that a run may take."""

    tokens: Annotated[int, Field(ge=0)] | None = None
    calls: Annotated[int, Field(ge=0)] | None = None
    seconds: Span | None = None
    money: Annotated[float, Field(ge=0)] | None = None


class ShareEntry(Entry):
    """The most that one agent may take of it. What limits its time is its deadline."""

    tokens: Annotated[int, Field(ge=0)] | None = None
    calls: Annotated[int, Field(ge=0)] | None = None
    money: Annotated[float, Field(ge=0)] | None = None


class PanelEntry(Entry):
    """The whole file."""

    agents: Any
    spares: Any = []
    models: dict[str, Any] = {}
    tools: dict[str, Any] = {}
    budget: dict[str, Any] = {}


def read_entry(kind: type[_Entry], spec: Spec, data: Any, place: Place, what: str) -> _Entry:
    """``data``, which stands at ``place``, as an entry. ``what`` names it in messages: ``an agent``.

    Raises:
        SpecError: it does not fit. An unknown key is told first, since it may be why another is missing.
    """
    if not isinstance(data, Mapping):
        raise spec.wrong(place, f"{what.capitalize()} has to be a mapping: lines like `key: value`.")
    try:
        return kind.model_validate(data)
    except pydantic.ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
    problems.sort(key=lambda one: (one["type"] != "extra_forbidden", spec.line((*place, *one["loc"]))))
    first, more = problems[0], len(problems) - 1
    known = [field.alias or name for name, field in kind.model_fields.items()]
    message, hint = _sentence(first, what, known)
    if more:
        hint = f"{hint} ({more} more problem{'s' if more > 1 else ''} in {what}.)".strip()
    raise spec.wrong((*place, *first["loc"]), message, next_step=hint) from None


def unknown_key(key: str, what: str, known: Collection[str]) -> tuple[str, str]:
    """Message and next step for a key that ``what`` does not have."""
    return f'There is no key "{_short(key)}" in {what}.', nearest(key, known)


def nearest(word: str, known: Collection[str]) -> str:
    """What may have been meant by ``word``, or all that is known."""
    near = difflib.get_close_matches(word, known, n=1)
    return f'Did you mean "{near[0]}"?' if near else f"Known are: {', '.join(known)}."


def undefined(spec: Spec, place: Place, kind: str, name: str, known: Sequence[str]) -> SpecError:
    """The error to raise for a name that the file does not define."""
    hint = nearest(name, known) if known else f"Define it under {kind}s."
    return spec.wrong(place, f'There is no {kind} "{_short(name)}".', next_step=hint)


def _sentence(problem: Any, what: str, known: Sequence[str]) -> tuple[str, str]:
    kind, context = problem["type"], problem.get("ctx", {})
    subject = _subject(problem["loc"])
    match kind:
        case "extra_forbidden":
            return unknown_key(str(problem["loc"][-1]), what, known)
        case "missing":
            return f"{subject} is missing in {what}.", "Add it."
        case "string_type":
            return f"{subject} has to be a text.", "Put it into quotes."
        case "float_type" | "finite_number":
            return f"{subject} has to be a number.", ""
        case "int_type":
            return f"{subject} has to be a whole number.", ""
        case "list_type":
            return f"{subject} has to be a list.", "Write it like [a, b]."
        case "dict_type" | "model_type":
            return f"{subject} has to be a mapping: lines like `key: value`.", ""
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            word = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
            key, bound = next(iter(context.items()))
            return f"{subject} has to be {word[key]} {bound:g}.", ""
        case "string_too_short" | "too_short":
            return f"{subject} is empty.", ""
        case "string_too_long":
            return f"{subject} has more than {context['max_length']} characters.", ""
        case "string_pattern_mismatch" if context["pattern"].startswith("^[^"):
            return f"{subject} has to be on one line.", ""
        case "string_pattern_mismatch":
            return f"{subject} may only hold letters, digits, and the signs _ . -", ""
        case "value_error":
            return f"{subject} {context['error']}.", ""
        case _:
            return f"{subject}: {problem['msg']}.", ""


def _subject(place: Place) -> str:
    """What a message calls the value at ``place``."""
    if place and isinstance(place[-1], int):
        inside = next((part for part in reversed(place) if isinstance(part, str)), "")
        return f'Item {place[-1] + 1} of "{_short(inside)}"'
    return f'"{_short(str(place[-1]))}"' if place else "It"


def _short(text: str) -> str:
    """``text`` as a message can show it."""
    return text if len(text) <= 60 and text.isprintable() else f"{text[:60]!r}…"
