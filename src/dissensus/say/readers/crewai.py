"""CrewAI: the events of its bus, and the log of tasks that a crew writes (``output_log_file``).

An event has a ``type`` in pairs: started, and completed, finished, failed or error. Crews, tasks and tools are asked at
the start and answer at the end; newer events carry the id of the event that started them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dissensus.errors import LogError
from dissensus.say.message import STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.crewai_tools import Tools
from dissensus.say.readers.entries import (
    Entry,
    decode_text,
    entries,
    has_keys,
    has_value,
    is_json,
    reason,
    refuse,
    stamp,
    table,
    text,
)
from dissensus.say.readers.times import seconds

USER: Final = "user"
_CREW: Final = {"crew_kickoff_started": "request", "crew_kickoff_completed": "inform", "crew_kickoff_failed": "failure"}
_TASK: Final = {"task_started": "request", "task_completed": "inform", "task_failed": "failure"}
_STATUS: Final = {"started": "request", "completed": "inform", "failed": "failure"}
_SURE: Final = "(?:crew_kickoff|agent_execution|tool_usage)_(?:started|completed|failed|finished|error)"
_TEXT: Final = re.compile(r'(?P<when>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d): (?P<fields>task_name="(?s:.*))', re.DOTALL)
_TEXT_HEAD: Final = re.compile(rb'\s*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: task_name="')
_FIELD: Final = re.compile(
    r'(task_name|task|agent|status|output)="(.*?)"(?=, (?:task|agent|status|output)="|\s*\Z)', re.DOTALL
)


def _recognise(source: Source) -> float:
    head = source.head()
    if not is_json(head):
        return 0.95 if _TEXT_HEAD.match(head) else 0.0
    if has_keys(head, "timestamp"):
        if has_value(head, "type", _SURE):
            return 0.9
        if has_value(head, "type", "task_(?:started|completed|failed)") and has_keys(head, "task_name"):
            return 0.8
        if has_keys(head, "task_name", "agent", "task") and has_value(head, "status", "started|completed"):
            return 0.85
    return 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    crew = _Crew(options, _performers(source))
    for entry in _entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
        elif "status" in entry.value and "type" not in entry.value:
            yield from crew.logged(entry)
        elif text(entry.value.get("type")):
            yield from crew.event(entry)
        else:
            yield refuse(source, options, entry.line, "is no event of CrewAI.", entry.where or "This")


def _entries(source: Source, options: Options) -> Iterator[Entry | Skipped]:
    if is_json(source.head()):
        for entry in entries(source, options):
            yield entry if isinstance(entry, Skipped) else _flat(entry)
        return
    skipped: list[Skipped] = []
    begun, body = 0, ""
    for line, raw in source.lines(skip=skipped.append if options.lenient else None):
        try:
            plain = decode_text(source, line, raw)
        except LogError as error:
            if not options.lenient:
                raise
            yield Skipped(line, reason(error))
            continue
        if _TEXT.match(plain):
            if begun:
                yield _fields(begun, body)
            begun, body = line, plain
        elif begun:
            body += "\n" + plain  # texts of tasks and outputs run over several lines
        else:
            yield refuse(source, options, line, "this line comes before any task.")
    if begun:
        yield _fields(begun, body)
    yield from skipped


def _fields(line: int, body: str) -> Entry:
    return Entry(line, "", {"timestamp": stamp(body[:24]), **dict(_FIELD.findall(body))})


def _flat(entry: Entry) -> Entry:
    """An event as its trace wraps it: type and time outside, the rest in ``event_data``."""
    inner = entry.value.get("event_data")
    if not isinstance(inner, dict):
        return entry
    return Entry(entry.line, entry.where, {**inner, **{k: v for k, v in entry.value.items() if k != "event_data"}})


def _performers(source: Source) -> dict[str, str]:
    """Which agent works on which task: events of a task's start do not say it, later ones do."""
    found: dict[str, str] = {}
    if is_json(source.head()):
        for entry in entries(source, Options(lenient=True)):
            if isinstance(entry, Entry):
                value = _flat(entry).value
                if (task := _task(value)) and (agent := _agent(value)):
                    found.setdefault(task, agent)
    return found


def _task(value: dict[str, Any]) -> str:
    return text(value.get("task_id")) or text(table(value.get("task")).get("id")) or text(value.get("task_name"))


def _agent(value: dict[str, Any]) -> str:
    task, output = table(value.get("task")), table(value.get("output"))
    agent = value.get("agent")
    return (
        text(value.get("agent_role"))
        or text(table(agent).get("role"))
        or text(agent)
        or text(table(task.get("agent")).get("role"))
        or text(task.get("agent"))
        or text(output.get("agent"))
    )


class _Crew:
    """What is under way in a crew."""

    def __init__(self, options: Options, performers: dict[str, str]) -> None:
        self._options = options
        self._performers = performers
        self._tools = Tools()
        self._name = "crew"
        self._threads: dict[str, tuple[str, str, str]] = {}
        """By what was begun: thread, who asked and who was asked."""
        self._times: dict[str, int] = {}
        self._agreed: set[str] = set()
        self._count = 0

    def logged(self, entry: Entry) -> Iterator[Message]:
        """A line of ``output_log_file``: a task was started or completed."""
        value = entry.value
        act = _STATUS.get(text(value.get("status")))
        task = text(value.get("task_name")) or text(value.get("task"), "task")
        if act is None:
            self._options.aside(Aside("other status", entry.line, entry.where))
            return
        yield from self._said(entry, act, f"task:{task}", (self._name, text(value.get("agent"), "agent")), "task")

    def event(self, entry: Entry) -> Iterator[Message]:
        """The messages that one event is."""
        value = entry.value
        kind = text(value.get("type"))
        if kind in _CREW:
            self._name = text(value.get("crew_name"), "crew")
            yield from self._said(entry, _CREW[kind], f"crew:{self._name}", (USER, self._name), kind)
        elif kind in _TASK:
            task = _task(value) or "task"
            agent = self._performers.get(task) or _agent(value) or f"agent of {task}"
            yield from self._said(entry, _TASK[kind], f"task:{task}", (self._name, agent), kind)
        elif kind == "agent_execution_started":
            yield from self._agree(entry)
        else:
            found = self._tools.event(self._number(entry), kind, value, entry, self._at(entry))
            if found is None:
                self._options.aside(Aside(kind, entry.line, entry.where))
            else:
                yield found

    def _said(self, entry: Entry, act: str, key: str, parties: tuple[str, str], name: str) -> Iterator[Message]:
        if act == "request" or key not in self._threads:
            times = self._times[key] = self._times.get(key, 0) + 1
            self._threads[key] = (key if times == 1 else f"{key}#{times}", *parties)
        thread, asker, asked = self._threads[key]
        value = entry.value
        content = {
            "request": value.get("inputs", value.get("context", value.get("task"))),
            "failure": value.get("error"),
        }
        yield Message(
            id=self._number(entry),
            sender=asker if act == "request" else asked,
            receivers=(asked if act == "request" else asker,),
            act=act,
            thread=thread,
            protocol="fipa-request",
            content=content.get(act, value.get("output")),
            content_type="result" if act == "inform" else None,
            at=self._at(entry),
            line=entry.line,
            where=entry.where,
            tag_source=STRUCTURE,
            name=name,
            outside=asker == USER,
        )

    def _agree(self, entry: Entry) -> Iterator[Message]:
        """The agent of a task begins to work on it: it has taken it. Later attempts at it say nothing new."""
        key = f"task:{_task(entry.value)}"
        begun = self._threads.get(key)
        if begun is None or begun[0] in self._agreed:
            self._options.aside(Aside("agent_execution_started", entry.line, entry.where))
            return
        thread, asker, asked = begun
        self._agreed.add(thread)
        yield Message(
            id=self._number(entry),
            sender=asked,
            receivers=(asker,),
            act="agree",
            thread=thread,
            protocol="fipa-request",
            at=self._at(entry),
            line=entry.line,
            where=entry.where,
            tag_source=STRUCTURE,
            name="agent_execution_started",
        )

    def _number(self, entry: Entry) -> str:
        self._count += 1
        return text(entry.value.get("event_id")) or f"{entry.where or entry.line or self._count}"

    @staticmethod
    def _at(entry: Entry) -> float | None:
        return seconds(entry.value.get("timestamp"))


READER = Reader(
    name="crewai",
    title="CrewAI events and task logs",
    recognise=_recognise,
    read=_read,
    looks_for='events with a "type" such as "crew_kickoff_started" and a "timestamp", or task logs of a crew',
    mapping={
        "crew_kickoff_started / completed / failed": "request from the user to the crew, outside; inform; failure",
        "task_started / completed / failed": "request from the crew to the task's agent; inform; failure",
        "agent_execution_started": "agree of the agent, once in a task",
        "tool_usage_started / finished / error": "tool-call: request; inform; failure (also if the result says that it "
        "failed)",
        "delegate work, ask question (tools)": "request or query-ref to the co-worker, and the answer",
        "llm_call_started / completed / failed": "tool-call to the model",
        "output_log_file (JSON or text)": "started = request to the agent, completed = inform",
        "other events": "no message: counted as asides",
    },
    cannot_tell=(
        "A guardrail may have sent a result back before the task was completed; the log of tasks does not show it.",
        "Events without the id of their start are paired by agent, tool, arguments and order.",
        "The times of output_log_file have no zone; they are taken as UTC.",
    ),
)
