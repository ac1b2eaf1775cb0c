"""What the routes of all servers share: one connection, the bodies of requests, and the ways to say no."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from dissensus.agents.openai.options import OpenAIOptions
from dissensus.agents.openai.parse import Asked
from dissensus.agents.wire import Answer, Wire
from dissensus.script.calls import Call, Extend, Generate, Turn
from dissensus.script.outcomes import Outcome, TransportFailure, Usage

_T = TypeVar("_T")
_NUMBER = re.compile(r"\d+")
_REMEMBERED = 64
_ENCLOSED = "message"


class Link:
    """A model on a server: sends requests and reads answers for the routes."""

    def __init__(self, options: OpenAIOptions, wire: Wire) -> None:
        self.options = options
        self.wire = wire
        self._slots: dict[str, int] = {}

    async def ask(
        self,
        path: str,
        body: Mapping[str, object],
        read: Callable[[bytes, Asked], _T],
        *,
        max_tokens: int = 0,
        beside_v1: bool = False,
    ) -> _T | Outcome:
        """POST ``body``; what ``read`` makes of a successful answer, or the failure."""
        answer = await self.wire.post(path, body, beside_v1=beside_v1)
        if not isinstance(answer, Answer):
            return answer
        asked = Asked(
            model=self.options.model,
            sent=answer.sent,
            max_tokens=max_tokens,
            seconds=answer.seconds,
            prices=self.options.prices,
            hide=self.wire.hide,
        )
        return read(answer.body, asked)

    def body(self, call: Generate | Extend, *, limit: str = "", more: Mapping[str, object]) -> dict[str, object]:
        """The fields that all routes share, then ``more``, then the user's ``extra``; less what the server refuses."""
        options = self.options
        fields: dict[str, object] = {
            "model": options.model,
            "temperature": call.temperature,
            limit or options.max_tokens_field: call.max_tokens,
            "seed": call.seed,
        }
        if call.stop:
            fields["stop"] = list(call.stop)
        if isinstance(call, Extend) and call.top_p is not None:
            fields["top_p"] = call.top_p
        fields |= self.cache(call)
        fields |= more
        fields |= options.extra
        for name in options.omit:
            fields.pop(name, None)
        return fields

    def cache(self, call: Call) -> dict[str, object]:
        """How a llama.cpp server is to use its cache for ``call``."""
        if self.options.server != "llama.cpp":
            return {}
        fields: dict[str, object] = {"cache_prompt": self.options.cache_prompt}
        if self.options.slots:
            fields["id_slot"] = self.slot(call.key, "" if isinstance(call, Generate) else call.stream)
        return fields

    def slot(self, key: str, stream: str = "") -> int:
        """The cache slot of a stream, or else of the agent that ``key`` names: the same one for all its calls.

        The agent is the last part of a key that is no number. Whoever comes gets a slot that the fewest others have.
        """
        name = stream or next((part for part in reversed(key.split("/")) if not _NUMBER.fullmatch(part)), "")
        if name not in self._slots:
            taken = list(self._slots.values())
            self._slots[name] = min(range(self.options.slots), key=taken.count)
        return self._slots[name]

    def forget(self, prefix: str) -> None:
        """Give the slots of streams whose names begin with ``prefix`` to others."""
        for name in [name for name in self._slots if name.startswith(prefix)]:
            del self._slots[name]


def messages(turns: Iterable[Turn], text: str = "") -> list[dict[str, str]]:
    """The turns as the protocol writes them, and the message that the assistant has begun, if any."""
    listed = [{"role": turn.role, "content": turn.text} for turn in turns]
    if text:
        listed.append({"role": "assistant", "content": text})
    return listed


def joined(turns: Iterable[Turn]) -> str:
    """The turns as a base model reads them: one after the other, a line end between them."""
    return "\n".join(turn.text for turn in turns)


def enclosed(schema: Mapping[str, object]) -> dict[str, object]:
    """``schema`` as the only property of an object: OpenAI takes a choice of forms anywhere but at the top."""
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}  # that references begin at
    inner = {key: value for key, value in schema.items() if key not in shared}
    return {
        "type": "object",
        "properties": {_ENCLOSED: inner},
        "required": [_ENCLOSED],
        "additionalProperties": False,
        **shared,
    }


def disclosed(text: str) -> str:
    """What stands in ``text``, a message held to an :func:`enclosed` schema; ``text`` itself where it was cut short."""
    try:
        found = json.loads(text)
        return json.dumps(found[_ENCLOSED], ensure_ascii=False) if list(found) == [_ENCLOSED] else text
    except (ValueError, TypeError, RecursionError):
        return text


def response_format(schema: Mapping[str, object]) -> dict[str, object]:
    """The field that holds a message to ``schema``. Servers that know ``strict`` take it only for closed schemas."""
    named = {"name": "answer", "schema": dict(schema), "strict": _is_closed(schema)}
    return {"type": "json_schema", "json_schema": named}


def _is_closed(schema: object) -> bool:
    """Whether every object in the schema names all its properties as required and allows no others."""
    if isinstance(schema, list | tuple):
        return all(_is_closed(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema or schema.get("type") == "object":
        names, required = schema.get("properties", {}), schema.get("required", [])
        if schema.get("additionalProperties") is not False or sorted(map(str, names)) != sorted(map(str, required)):
            return False
    return all(_is_closed(value) for value in schema.values())


def without_route(found: _T | Outcome, what: str) -> _T | Outcome:
    """What was ``found``; that the server lacks something, if it does not know the route."""
    if isinstance(found, TransportFailure) and found.status in {404, 405, 501}:
        return replace(found, cause="capability", problem=f"{what} {found.problem}")
    return found


def total(usages: Iterable[Usage]) -> Usage:
    """The usage of a call that took several requests; unknown where one of them is."""
    listed = list(usages)

    def add(name: str) -> Any:
        values = [getattr(usage, name) for usage in listed]
        return None if not values or any(value is None for value in values) else sum(values)

    return Usage(
        tokens_in=add("tokens_in"),
        tokens_cached=add("tokens_cached"),
        tokens_out=add("tokens_out"),
        seconds=add("seconds"),
        cost=add("cost"),
    )


class Remembered(Generic[_T]):
    """The last few renderings of turns: an agent's own prompt stays the same while a shared text grows."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Turn, ...], _T] = OrderedDict()

    def get(self, turns: tuple[Turn, ...]) -> _T | None:
        """What was kept for ``turns``."""
        found = self._kept.get(turns)
        if found is not None:
            self._kept.move_to_end(turns)
        return found

    def keep(self, turns: tuple[Turn, ...], value: _T) -> _T:
        """Keep ``value`` for ``turns`` and give it back."""
        self._kept[turns] = value
        if len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)
        return value
