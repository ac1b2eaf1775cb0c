"""Magentic-One: an orchestrator that asks agents by name. Who&When documents, event lines, and console logs.

The speaker's name says what an entry is: ``Orchestrator (-> WebSurfer)`` asks, ``Orchestrator (thought)`` thinks aloud,
``WebSurfer`` answers. Sources of the format: Zhang and others 2025 (Who&When), AutoGen's Magentic-One sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dissensus.say.message import INFERRED, STRUCTURE, Message
from dissensus.say.readers import documents
from dissensus.say.readers.asking import PROTOCOL, Asking
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.times import seconds

_SPEAKER: Final = re.compile(r"(?P<name>[^()]*?)\s*(?:\((?P<mark>[^()]*)\))?[^\w()]*")
"""``Name (mark)``; newer consoles put a picture behind it."""
_ASKS: Final = re.compile(r"->\s*(?P<target>\S.*?)\s*")
_CONSOLE: Final = re.compile(
    rb"(?:\x1b\[\d+m)?\[(?P<at>\d{4}-\d\d-\d\d[T ][^\]]+)\], (?P<speaker>.+?):(?:\x1b\[0m)?\s*"
)
_ENDS: Final = ("termination condition", "final answer")
_USERS: Final = ("human", "user", "userproxy", "user_proxy")
_EVENTS: Final = ("OrchestrationEvent", "AgentEvent")
_LISTS: Final = frozenset({"history"})
_ABOUT: Final = frozenset({"question", "ground_truth", "mistake_agent", "is_corrected", "question_ID"})
"""What a Who&When document says besides its history."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of any of the three forms; ``problem`` is set where it is none."""

    speaker: str
    content: Any
    line: int
    where: str
    at: float | None = None
    kind: str = ""
    problem: str = ""


def _marked(role: str) -> tuple[str, str | None]:
    found = _SPEAKER.fullmatch(role)
    return (found["name"].strip(), found["mark"]) if found and found["name"].strip() else (role, None)


def _recognise(source: Source) -> float:
    if any(_CONSOLE.match(line) for line in source.head().split(b"\n")):
        return 0.9
    _, values = documents.beginning(source)
    best = 0.0
    for value in values:
        history = value.get("history") if isinstance(value, dict) else value
        if history == [] and isinstance(value, dict) and not _ABOUT.isdisjoint(value):
            best = 0.6
        if isinstance(value, dict) and value.get("type") in _EVENTS and isinstance(value.get("source"), str):
            return 0.95
        for entry in history if isinstance(history, list) else ():
            role = entry.get("role") if isinstance(entry, dict) else None
            if isinstance(role, str) and "(" in role and _marked(role)[1] is not None:
                return 0.95
            if isinstance(value, dict) and isinstance(role, str) and "content" in entry and "history" in value:
                best = 0.55 if "tool_calls" not in entry else best
    return best


def _from_documents(source: Source, options: Options) -> Iterator[_Entry | Skipped]:
    """Entries of Who&When documents: one document, or one a line."""
    if documents.is_lines(source):
        number = 0
        for item in documents.json_lines(source, options):
            if isinstance(item, Skipped):
                yield item
                continue
            line, value = item
            history = value.get("history") if isinstance(value, dict) else value if isinstance(value, list) else None
            if history is None and isinstance(value, dict) and ("role" in value or "source" in value):
                yield _entry(value, line, "")
            elif isinstance(history, list):
                if number:
                    yield _Entry("", None, line, "", kind="another run")
                number += 1
                if not history:
                    options.aside(Aside("empty history", line))
                for at, entry in enumerate(history):
                    yield _entry(entry, line, f"history[{at}]" if number == 1 else f"[{number - 1}].history[{at}]")
            else:
                yield _Entry("", None, line, "", problem="Neither a history nor an entry of one.")
        return
    document = documents.Document(source, options, _LISTS)
    value = document.value
    if not isinstance(value.get("history") if isinstance(value, dict) else value, list):
        raise source.wrong(0, "This document has no list named history.")
    path, name = (("history",), "history") if isinstance(value, dict) else ((), "")
    for at, (line, entry) in enumerate(document.entries(*path)):
        yield _entry(entry, line, f"{name}[{at}]")
    if document.cut is not None:
        yield document.cut


def _entry(value: Any, line: int, where: str) -> _Entry:
    if not isinstance(value, dict):
        return _Entry("", None, line, where, problem="An entry has to be a mapping.")
    kind = value.get("type")
    if isinstance(kind, str) and "source" in value and kind not in _EVENTS:
        return _Entry("", None, line, where, kind=kind[:40])
    speaker = value.get("source") if "source" in value else value.get("role")
    name = value.get("name")
    if isinstance(name, str) and name and speaker in ("assistant", "user", "tool", None):
        speaker = name  # group chats of AG2: the role is that of the chat interface, the name is the agent
    if not isinstance(speaker, str) or not speaker.strip():
        if kind is not None and speaker is None:
            return _Entry("", None, line, where, kind=str(kind)[:40])
        return _Entry("", None, line, where, problem="An entry has to say who speaks: role or source.")
    content = value.get("message") if "source" in value else value.get("content")
    return _Entry(speaker, content, line, where, seconds(value.get("timestamp")))


def _from_console(source: Source, options: Options) -> Iterator[_Entry | Skipped]:
    """Entries of a console log: ``[time], Speaker (mark):`` and the lines up to the next."""
    skipped: list[Skipped] = []
    head: tuple[int, str, float | None] | None = None
    body: list[str] = []
    for number, raw in source.lines(skip=skipped.append if options.lenient else None):
        yield from skipped
        skipped.clear()
        found = _CONSOLE.fullmatch(raw)
        text = raw.decode("utf-8", "replace")
        if found is None:
            if head is not None and not (len(text) > 60 and not text.strip("- ")):
                body.append(text)
            continue
        if head is not None:
            yield _Entry(head[1], "\n".join(body).strip(), head[0], "", head[2])
        body = []
        head = (number, found["speaker"].decode("utf-8", "replace"), seconds(found["at"].decode("utf-8", "replace")))
    yield from skipped
    if head is not None:
        yield _Entry(head[1], "\n".join(body).strip(), head[0], "", head[2])


class _Run:
    """One run: who asks, the task from outside, the requests."""

    def __init__(self, number: int) -> None:
        self.prefix = f"r{number}:" if number else ""
        self.asking = Asking(self.prefix)
        self.asker = "Orchestrator"
        self.task: Message | None = None
        self.done = 0

    def item(self, entry: _Entry) -> Message | Aside:
        name, mark = _marked(entry.speaker)
        place: dict[str, Any] = {"line": entry.line, "where": entry.where, "at": entry.at}
        name_of_entry = f"{self.prefix}h{self.done}"
        self.done += 1
        if mark is not None and (asks := _ASKS.fullmatch(mark)):
            self.asker = name
            return self.asking.request(name_of_entry, name, asks["target"], entry.content, **place)
        if mark is not None and mark.strip().startswith("thought"):
            return Aside("thought", entry.line, entry.where)
        if mark in _ENDS:
            if self.task is None:
                return Aside(mark or "", entry.line, entry.where)
            task, self.task = self.task, None
            return Message(
                id=name_of_entry,
                sender=name,
                receivers=(task.sender,),
                act="inform",
                thread=task.thread,
                protocol=PROTOCOL,
                content=entry.content,
                content_type="result",
                tag_source=INFERRED,
                outside=True,
                name=mark,
                **place,
            )
        if name.casefold() in _USERS and not self.asking.asked(name):
            if self.task is not None or self.asking.begun:
                return Message(
                    id=name_of_entry,
                    sender=name,
                    receivers=(self.asker,),
                    thread=self.task.thread if self.task is not None else f"{self.prefix}said",
                    content=entry.content,
                    tag_source=INFERRED,
                    outside=True,
                    **place,
                )
            self.task = Message(
                id=name_of_entry,
                sender=name,
                receivers=(self.asker,),
                act="request",
                thread=f"{self.prefix}task",
                protocol=PROTOCOL,
                content=entry.content,
                tag_source=STRUCTURE,
                outside=True,
                **place,
            )
            return self.task
        if name == self.asker and not self.asking.asked(name):
            # Aloud, to nobody in particular: it cannot answer what it asked itself.
            return Message(
                id=name_of_entry,
                sender=name,
                receivers=(self.task.sender if self.task is not None else "human",),
                thread=f"{self.prefix}said",
                content=entry.content,
                tag_source=INFERRED,
                name=mark,
                **place,
            )
        return self.asking.said(name_of_entry, name, self.asker, entry.content, **place)


def _read(source: Source, options: Options) -> Iterator[Item]:
    from_console = any(_CONSOLE.match(line) for line in source.head().split(b"\n"))
    run, number = _Run(0), 0
    for entry in _from_console(source, options) if from_console else _from_documents(source, options):
        if isinstance(entry, Skipped):
            yield entry
        elif entry.problem:
            run.done += 1
            yield documents.bad(source, options, entry.line, entry.problem, entry.where)
        elif entry.kind == "another run":
            number += 1
            run = _Run(number)
        elif entry.kind:
            run.done += 1
            options.aside(Aside(entry.kind, entry.line, entry.where))
        else:
            item = run.item(entry)
            if isinstance(item, Aside):
                options.aside(item)
            else:
                yield item


READER: Final = Reader(
    name="who-and-when",
    title="Magentic-One (Who&When documents, event lines, console logs)",
    recognise=_recognise,
    read=_read,
    looks_for='a "history" of entries with a role like "Orchestrator (-> X)", or lines "[time], Orchestrator (-> X):"',
    mapping={
        "Orchestrator (-> X)": "request to X, in a thread of its own; it leaves an open request behind unanswered",
        "X": "inform to the orchestrator, for the latest open request to X (inferred); untagged if nothing is open",
        "Y, while only X was asked": "inform in the thread of X, without title",
        "Orchestrator (thought)": "no message; counted",
        "Orchestrator, alone or with another mark": "untagged: said to nobody in particular",
        "human, before anything else": "request to the orchestrator from outside",
        "Orchestrator (termination condition), (final answer)": "inform that ends the task from outside (inferred)",
        "other event lines (LLMCallEvent …)": "no message; counted",
    },
    cannot_tell=(
        "Who answers is known by who speaks next: an answer shows that something came back, not that it was wanted.",
        "Two requests to one agent cannot be told apart by its answers: an answer belongs to the latest.",
    ),
)
