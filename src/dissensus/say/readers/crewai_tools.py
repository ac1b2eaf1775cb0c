"""Calls of tools, models and co-workers in CrewAI's events: which end belongs to which start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.say.message import INFERRED, STRUCTURE, Message
from dissensus.say.readers.entries import Entry, table, text

_STARTS: Final = {"tool_usage_started", "llm_call_started"}
_ENDS: Final = {
    "tool_usage_finished": "inform",
    "tool_usage_error": "failure",
    "tool_validate_input_error": "failure",
    "tool_selection_error": "failure",
    "llm_call_completed": "inform",
    "llm_call_failed": "failure",
}
_COWORKER: Final = {"delegate_work_to_coworker": "request", "ask_question_to_coworker": "query-ref"}
"""Tools by which one agent turns to another, and what it then does."""
_PROTOCOLS: Final = {"request": "fipa-request", "query-ref": "fipa-query"}


@dataclass(frozen=True, slots=True)
class _Started:
    thread: str
    event: str
    caller: str
    called: str
    protocol: str
    key: tuple[str, ...]


class Tools:
    """The calls that are under way."""

    def __init__(self) -> None:
        self._by_event: dict[str, _Started] = {}
        self._by_call: dict[tuple[str, ...], list[_Started]] = {}

    def event(self, number: str, kind: str, value: dict[str, Any], entry: Entry, at: float | None) -> Message | None:
        """The message that an event is; None if it is none, or an end without a start."""
        place: dict[str, Any] = {"id": number, "at": at, "line": entry.line, "where": entry.where, "name": kind}
        if kind in _STARTS:
            return self._start(number, kind, value, place)
        if kind in _ENDS:
            return self._end(kind, value, place)
        return None

    def _start(self, number: str, kind: str, value: dict[str, Any], place: dict[str, Any]) -> Message:
        caller, called = (
            text(value.get("agent_role")) or text(table(value.get("agent")).get("role"), "agent"),
            _called(kind, value),
        )
        arguments = _arguments(value)
        act = _COWORKER.get(called.lower().replace(" ", "_"), "")
        protocol = _PROTOCOLS.get(act, "tool-call")
        if act:
            called = text(arguments.get("coworker")) or text(arguments.get("co_worker"), "co-worker")
        started = _Started(f"call:{number}", text(value.get("event_id")), caller, called, protocol, _key(kind, value))
        self._by_call.setdefault(started.key, []).append(started)
        if started.event:
            self._by_event[started.event] = started
        content = value.get("tool_args", value.get("messages"))
        return Message(
            sender=caller, receivers=(called,), act=act or "request", thread=started.thread, protocol=protocol,
            content=content, tag_source=STRUCTURE, **place,
        )  # fmt: skip

    def _end(self, kind: str, value: dict[str, Any], place: dict[str, Any]) -> Message | None:
        begun = text(value.get("started_event_id"))
        waiting = self._by_call.get(_key(kind, value), [])
        if begun in self._by_event:
            started, sure = self._by_event[begun], True
        elif waiting and not begun:
            started, sure = waiting[0], len(waiting) == 1
        else:
            return None
        same = self._by_call[started.key]
        same.remove(started)
        if not same:
            del self._by_call[started.key]
        self._by_event.pop(started.event, None)
        failed = _ENDS[kind] == "failure" or bool(value.get("failure"))
        return Message(
            sender=started.called,
            receivers=(started.caller,),
            act="failure" if failed else "inform",
            thread=started.thread,
            protocol=started.protocol,
            content=value.get("error", value.get("failure")) if failed else value.get("output", value.get("response")),
            content_type=None if failed else "result",
            tag_source=STRUCTURE if sure else INFERRED,
            **place,
        )


def _called(kind: str, value: dict[str, Any]) -> str:
    return text(value.get("model"), "model") if kind.startswith("llm_") else text(value.get("tool_name"), "tool")


def _arguments(value: dict[str, Any]) -> dict[str, Any]:
    arguments = value.get("tool_args")
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
    return table(arguments)


def _key(kind: str, value: dict[str, Any]) -> tuple[str, ...]:
    """What start and end have in common where they carry no ids."""
    who = text(value.get("agent_id")) or text(value.get("agent_role"))
    if kind.startswith("llm_"):
        return ("llm", text(value.get("call_id")) or who)
    arguments = value.get("tool_args")
    said = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments, order="sorted").decode()
    return ("tool", who, text(value.get("tool_name")), said)
