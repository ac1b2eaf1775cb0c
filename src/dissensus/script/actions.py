"""What an agent with tools may write: one JSON object that names a tool, or one that gives its answer.

::

    {"tool": "calculator", "arguments": {"expression": "12 / 3 * 2"}}
    {"answer": "8 euros"}

Reading is tolerant of what models wrap around it: prose, code fences, arguments as a JSON text, ``name`` in place
of ``tool``. The first action in a message counts; what a model writes after it (often an imagined result) does not.
A message without an action **is** the answer: small models answer in plain words. Only a message that plainly tried to
be an action and cannot be read is broken, so that half a tool call never becomes an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from dissensus.script.seats import ToolSpec

_LONGEST: Final = 100_000
_MOST_STARTS: Final = 200
_DEEPEST: Final = 40
_MEANT_AS_ACTION: Final = re.compile(r"""["'](?:tool|answer|arguments)["']\s*:""")


@dataclass(frozen=True, slots=True)
class Use:
    """The agent wants a tool. ``arguments`` is what it wrote, not yet checked."""

    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent answers. ``value`` is JSON data, or the whole message where it held no action."""

    value: Any
    plain: bool = False

    def text(self, *, as_json: bool = False) -> str:
        """The answer as a text; ``as_json`` where a schema was asked for."""
        if isinstance(self.value, str) and (self.plain or not as_json):
            return self.value
        return json.dumps(self.value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Broken:
    """The agent tried to act and cannot be understood. ``problem`` is a sentence for the agent."""

    problem: str


Action = Use | Answer | Broken


def read_action(text: str) -> Action:
    """The first action in ``text``; the whole text as the answer if there is none."""
    for found in objects_in(text[:_LONGEST]):
        if (action := _action_of(found)) is not None:
            return action
    if _MEANT_AS_ACTION.search(text):
        return Broken("That was not valid JSON.")
    return Answer(text.strip(), plain=True)


def arguments_for(spec: ToolSpec, given: Any) -> Any:
    """``given`` as the tool takes it: a JSON text is read, and a lone value goes to the tool's only parameter."""
    if given is None:
        return {}
    if isinstance(given, str):
        inner = next(objects_in(given[:_LONGEST]), None) if given.lstrip().startswith("{") else None
        given = given if inner is None else inner
    names = list(_properties(spec))
    if not isinstance(given, Mapping | list) and len(names) == 1:
        return {names[0]: given}
    return given


def action_schema(tools: Sequence[ToolSpec], answer: Mapping[str, object] | None = None) -> dict[str, object]:
    """JSON schema of an action. With no tools only an answer is allowed. ``answer`` is the schema of the answer."""
    forms: list[dict[str, object]] = [_form({"answer": answer or {"type": "string"}})]
    forms += [_form({"tool": {"const": tool.name}, "arguments": _arguments_schema(tool)}) for tool in tools]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def instructions(tools: Sequence[ToolSpec], answer: Mapping[str, object] | None = None) -> str:
    """What the agent reads about its tools and how to use them. ``answer`` is the schema of the answer."""
    example = json.dumps(
        {"tool": tools[0].name, "arguments": dict.fromkeys(_properties(tools[0]), "…")}, ensure_ascii=False
    )
    return "\n".join(
        [
            "You can use these tools:",
            *(f"- {_signature(tool)}: {tool.description}" for tool in tools),
            f"To use a tool, write only a JSON object like {example}",
            f"When you know the answer, write only {answer_form(answer)}",
        ]
    )


def answer_form(answer: Mapping[str, object] | None = None) -> str:
    """How an answer has to look, in the agent's words."""
    if answer is None:
        return '{"answer": "…"}'
    return f'{{"answer": …}} with a value that obeys this JSON schema: {json.dumps(answer, ensure_ascii=False)}'


def _form(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _properties(tool: ToolSpec) -> Mapping[str, Any]:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _arguments_schema(tool: ToolSpec) -> object:
    """The tool's own schema, unless it refers into itself: inside another schema such references would miss."""
    if not tool.parameters:
        return _form({})
    return {"type": "object"} if '"$ref"' in json.dumps(tool.parameters) else tool.parameters


def _signature(tool: ToolSpec) -> str:
    required = tool.parameters.get("required") or ()
    parts = []
    for name, schema in _properties(tool).items():
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        mark = "" if name in required else "?"
        parts.append(f"{name}{mark}: {kind}" if isinstance(kind, str) else f"{name}{mark}")
    return f"{tool.name}({', '.join(parts)})"


def _action_of(found: Mapping[str, Any]) -> Action | None:
    tool = found.get("tool")
    if tool is None and "arguments" in found:
        tool = found.get("name")
    if tool in (None, "") and "answer" in found:
        return Answer(found["answer"])
    if tool is None and "tool" not in found:
        return None
    if not isinstance(tool, str) or not tool:
        return Broken('"tool" has to be the name of a tool.')
    return Use(tool, found.get("arguments"))


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects in ``text``, in order, not those inside others. Only data that a record can hold."""
    at = text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
            json.dumps(found, ensure_ascii=False).encode()
        except (ValueError, RecursionError):  # no JSON here; or a lone surrogate, which no record can hold
            end = at + 1
        else:
            if _is_shallow(found):
                yield found
        at = text.find("{", end)


def _is_shallow(data: Any) -> bool:
    """Whether lists and objects are nested at most ``_DEEPEST`` deep; a record would refuse more."""
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            part
            for outer in level
            if isinstance(outer, dict | list)
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


def _refuse(what: str) -> NoReturn:
    raise ValueError(what)


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _refuse(text)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
