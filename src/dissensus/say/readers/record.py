"""A record of a run of ours as messages: every call and its outcome, and every post.

Pure: events in, messages out. The engine judges posts with it while a run goes on, and the audit of a record reads the
same messages again (:mod:`dissensus.interop.record_log` opens the file).

A call (``ask``, ``score``, ``continue``, ``check``, ``tool``, ``person``) is a request in a thread of its own, named by
its key. What came of it:

==============================  ==================================================================================
outcome                         message
==============================  ==================================================================================
a reply, scores, a result       ``inform``
a refusal                       ``refuse``
invalid, transport, budget,     ``failure``; the record's word for it is the content type
a failed tool or check
cancelled                       ``cancel`` by whoever asked, and ``inform`` (done): the call was stopped
timeout                         none. Whoever was asked has said nothing, so the answer is owed past its deadline
a reply after that              the same message, which is late then
==============================  ==================================================================================

A post with a protocol, or in a thread that has one, is a move in it. Any other post is an announcement: it is read as a
message without an act, which no protocol judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import IO, Any, Final

from dissensus.errors import UnknownAct
from dissensus.record.event import Draft, Event
from dissensus.say.acts import normalise
from dissensus.say.message import STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source

PROCEDURE: Final = "procedure"
"""Who asks, where no agent does."""
PERSON: Final = "person"
ENGINE: Final = "engine"
PLATFORMS: Final = (ENGINE, "ams", "df")
"""Platforms, which may report that an agent has failed: ours, and those of FIPA."""

SQLITE: Final = b"SQLite format 3\0"
JSONL: Final = b'{"dissensus":"record"'
"""How the two forms of a record begin."""

ON_THE_WIRE: Final = frozenset({"a2a", "mcp"})
"""Protocols of units that go over a wire; no post is one."""

CALLS: Final = frozenset({"ask", "score", "continue", "check", "tool", "person"})
_REQUEST, _QUERY = "fipa-request", "fipa-query"
_ACTS: Final = {
    "reply": "inform",
    "extended": "inform",
    "scores": "inform",
    "person-answer": "inform",
    "tool-result": "inform",
    "check-result": "inform",
    "refusal": "refuse",
    "invalid": "failure",
    "transport": "failure",
    "budget": "failure",
}
_SILENT: Final = "timeout"
_SAID: Final = ("text", "problem", "answer", "what", "detail")


def messages(events: Iterable[Event]) -> Iterator[Message | Skipped | Aside]:
    """The messages of a record, in order; an event that is no message is an :class:`Aside`.

    ``events`` are gone through twice, unless it is an iterator, whose events are kept: how long an answer was waited
    for is known only when it has come (:func:`deadlines`).
    """
    kept = list(events) if isinstance(events, Iterator) else events
    reading = Reading(deadlines(kept))
    for event in kept:
        yield from reading.take(event)


def deadlines(events: Iterable[Event]) -> dict[str, float]:
    """By when each message wanted its answer, by the message's id, in seconds since 1970-01-01 UTC.

    A deadline runs by the clock of whoever waits, from when the call was really made, and stands still while the run
    is interrupted; the record only has the times at which events were written. So what was taken as in time was in
    time: its deadline is not before it. Where the engine gave up waiting, the deadline is the stated one, and not after
    that.
    """
    ends: dict[str, float] = {}
    began: dict[str, float] = {}
    silent: set[str] = set()
    waiting: dict[tuple[str, str], str] = {}
    for event in events:
        body = event.body
        if event.kind in CALLS:
            began[event.key] = event.time
            if (seconds := _seconds(body.get("deadline_s"))) is not None:
                ends[event.key] = event.time + seconds
        elif event.kind == "outcome":
            outcome, start = _mapping(body.get("outcome")), began.pop(event.key, event.time)
            if outcome.get("kind") == _SILENT:
                silent.add(event.key)
                seconds = _seconds(outcome.get("after_s"))
                ends[event.key] = event.time if seconds is None else min(start + seconds, event.time)
            elif event.key in ends:
                ends[event.key] = max(ends[event.key], event.time)
        elif event.kind == "post":
            asked = waiting.pop((event.thread, str(body.get("sender"))), None)
            if asked is not None and body.get("of") is not None and body["of"] not in silent:
                ends[asked] = max(ends[asked], event.time)
            if (seconds := _seconds(body.get("deadline_s"))) is not None:
                ends[_id(event)] = event.time + seconds
                waiting |= {(event.thread, receiver): _id(event) for receiver in _names(body.get("to"))}
    return ends


class Reading:
    """From events to messages, one by one.

    Args:
        ends: the :func:`deadlines`; None leaves all times out, so that nothing but the order of events counts.
    """

    __slots__ = ("_ends", "_open", "calls", "typed")

    def __init__(self, ends: Mapping[str, float] | None = None) -> None:
        self._ends = ends
        self._open: dict[str, tuple[str, str, str, str]] = {}
        self.calls: set[str] = set()
        """Threads of calls."""
        self.typed: set[str] = set()
        """Threads in which posts follow a protocol."""

    def take(self, event: Event) -> tuple[Message | Skipped | Aside, ...]:
        """What ``event`` is."""
        if event.kind == "post":
            try:
                post = self.post(event)
            except UnknownAct as error:
                return (Skipped(event.seq, error.message),)
            if post is None or post.protocol in ON_THE_WIRE:
                return (Skipped(event.seq, "The post names no sender, or a protocol that no post can follow."),)
            if post.act is not None:
                self.typed.add(event.thread)
            return (post,)
        if event.kind in CALLS:
            return self._call(event)
        if event.kind in {"outcome", "late"}:
            return self._outcome(event)
        kind = f"blocked: {event.body.get('verdict')}" if event.kind == "blocked" else event.kind
        return (Aside(kind, event.seq),)

    def post(self, event: Event | Draft) -> Message | None:
        """The message of a post, which need not be on the record yet; None if it is none. Nothing is remembered.

        Raises :class:`~dissensus.errors.UnknownAct` for a move by an act that there is not.
        """
        body = event.body
        sender, text, data = body.get("sender"), body.get("text"), body.get("data")
        if not isinstance(sender, str):
            return None
        protocol = _text(body, "protocol")
        act, content_type, name = _text(body, "act"), _text(body, "content_type"), None
        if protocol is None and event.thread not in self.typed:
            act, name = None, act
        elif act is not None:
            act, content_type = normalise(act, content_type)
        return Message(
            id=_id(event),
            sender=sender,
            receivers=_names(body.get("to")),
            act=act,
            thread=event.thread,
            protocol=protocol,
            reply_with=_text(body, "reply_with"),
            in_reply_to=_text(body, "in_reply_to"),
            reply_by=None if self._ends is None else self._ends.get(_id(event)),
            content={**data, "text": text} if isinstance(data, Mapping) and data else text,
            content_type=content_type,
            about=_text(body, "about"),
            name=name,
            **self._place(event),
        )

    def call(self, key: str) -> str:
        """The thread of the call under ``key``: the key, unless posts have a conversation of that name."""
        thread = key if key not in self.typed else f"{key}#call"
        self.calls.add(thread)
        return thread

    def _call(self, event: Event) -> tuple[Message | Skipped, ...]:
        body = event.body
        agent = body.get("agent")
        asker, asked = {
            "tool": (agent, body.get("tool")),
            "check": (PROCEDURE, body.get("check")),
            "person": (PROCEDURE, PERSON),
        }.get(event.kind, (PROCEDURE, agent))
        if not isinstance(asker, str) or not isinstance(asked, str):
            return (Skipped(event.seq, f"The event of the kind {event.kind!r} does not say who was asked."),)
        thread = self.call(event.key)
        self._open[event.key] = (thread, asker, asked, event.kind)
        person = event.kind == "person"
        request = Message(
            id=event.key,
            sender=asker,
            receivers=(asked,),
            act="query-ref" if person else "request",
            thread=thread,
            protocol=_QUERY if person else _REQUEST,
            reply_with=event.key,
            reply_by=None if self._ends is None else self._ends.get(event.key),
            content=_first(body, ("prompt", "question", "arguments")),
            tag_source=STRUCTURE,
            **self._place(event),
        )
        return (request,)

    def _outcome(self, event: Event) -> tuple[Message | Skipped | Aside, ...]:
        outcome = _mapping(event.body.get("outcome"))
        kind = str(outcome.get("kind"))
        call = self._open.get(event.key)
        if call is None:
            return (Skipped(event.seq, f"The outcome {event.key!r} answers no call of this record."),)
        if kind == _SILENT:
            return (Aside("silent past its deadline", event.seq),)
        thread, asker, asked, _ = self._open.pop(event.key)
        number = f"{event.key}:{'late' if event.kind == 'late' else kind}"
        place = {"thread": thread, "tag_source": STRUCTURE, **self._place(event)}
        if kind == "cancelled":
            if event.kind == "late":
                return (Aside("late: cancelled", event.seq),)
            return (
                Message(id=number, sender=asker, receivers=(asked,), act="cancel", reply_with=number, **place),
                Message(
                    id=f"{number}.done", sender=asked, receivers=(asker,), act="inform", content_type="done",
                    in_reply_to=number, **place,
                ),
            )  # fmt: skip
        act = _ACTS.get(kind)
        if act is None:
            return (Skipped(event.seq, f"The outcome {event.key!r} is of the unknown kind {kind!r}."),)
        if outcome.get("ok") is False or outcome.get("verdict") == "error":
            act = "failure"
        answer = Message(
            id=number,
            sender=asked,
            receivers=(asker,),
            act=act,
            in_reply_to=event.key,
            content=_first(outcome, _SAID),
            content_type={"inform": "result", "failure": kind}.get(act),
            name=kind,
            **place,
        )
        return (answer,)

    def _place(self, event: Event | Draft) -> dict[str, Any]:
        if not isinstance(event, Event):
            return {}
        return {"line": event.seq, "at": None if self._ends is None else event.time}


def _id(event: Event | Draft) -> str:
    return event.key or f"{event.kind}@{event.seq if isinstance(event, Event) else ''}"


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list | tuple) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _first(body: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((body[name] for name in names if body.get(name)), None)


def _seconds(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if number else None


class EventSource(Source):
    """A record as a source of messages: something that is not read as text.

    Args:
        name, opens: as of any source.
        events: the events; they may be gone through again.
        ended: gives the time of the last event. The last message may be much earlier: silence is no message.
    """

    def __init__(
        self,
        name: str,
        opens: Callable[[], IO[bytes]],
        events: Iterable[Event],
        ended: Callable[[], float | None] = lambda: None,
    ) -> None:
        super().__init__(name, opens)
        self.events = events
        self.ended = ended


def _recognise(source: Source) -> float:
    head = source.head()
    return 1.0 if head.startswith(SQLITE) or head.removeprefix(b"\xef\xbb\xbf").startswith(JSONL) else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    if not isinstance(source, EventSource):
        raise source.wrong(0, "This is no record of a run.", next_step="Name a .db or .jsonl file that a run wrote.")
    for item in messages(source.events):
        if isinstance(item, Aside):
            options.aside(item)
        elif isinstance(item, Skipped) and not options.lenient:
            raise source.wrong(item.line, item.why)
        else:
            yield item


READER: Final = Reader(
    name="record",
    title="Record of a dissensus run (SQLite, or its JSON lines)",
    recognise=_recognise,
    read=_read,
    looks_for='an SQLite file; a first line {"dissensus":"record", …}',
    mapping={
        "ask, score, continue, check": "request from procedure, in a thread named by the key",
        "tool": "request from the agent to the tool",
        "person": "query-ref from procedure to person",
        "reply, scores, result, a person's answer": "inform",
        "refusal": "refuse",
        "invalid, transport, budget, a failed tool or check": "failure, with that as its content type",
        "cancelled (a race that had ended)": "cancel, and its confirmation",
        "timeout": "no message: the answer stays owed past its deadline",
        "a reply that came later": "the same, late",
        "post with a protocol, or in a thread that has one": "a move in it",
        "any other post": "untagged: an announcement, which no protocol judges",
        "blocked": "no message: nobody has seen it; counted",
        "ballots, decisions and other events": "no message; counted",
    },
    cannot_tell=(
        "Whether what was said is right or well done: only that it came, from whom, and when.",
        "What was blocked before delivery is no message: dissensus record show RECORD --kind blocked lists it.",
    ),
)
