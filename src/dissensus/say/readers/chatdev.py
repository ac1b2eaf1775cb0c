"""ChatDev's run logs: a phase is a talk of two roles that begins with a request and ends with a conclusion.

::

    [2023-22-10 10:15:00 INFO] Chief Executive Officer: **[Start Chat]**
    [2023-22-10 10:15:09 INFO] Programmer: **Programmer<->Chief Technology Officer on : Coding, turn 0**
    [2023-22-10 10:15:10 INFO] **[Seminar Conclusion]**:

Stamps are year-*day*-month. An entry reaches to the next stamp. A table ``[chatting]`` before the start names the phase
and its two roles; where it is missing, the first turn does. A phase ``Reflection`` is held inside the one whose
conclusion it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from dissensus.errors import LogError
from dissensus.say.message import STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.entries import decode_text, reason, refuse

_STAMP: Final = re.compile(r"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) ([A-Z]+)\] ?(.*)", re.DOTALL)
_STAMPED: Final = re.compile(rb"(?:\xef\xbb\xbf)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+\] ")
_START: Final = re.compile(r"(?P<who>[^\n*|]{1,80}?): \*\*\[Start Chat\]\*\*")
_TURN: Final = re.compile(
    r"(?P<who>[^\n*|]{1,80}?): \*\*(?P<a>[^*\n]+?)<->(?P<b>[^*\n]+?) on : (?P<phase>.+?), turn \d+\*\*"
)
_END: Final = re.compile(r"(?:System: )?\*\*\[Seminar Conclusion\]\*\*(?: for (?P<phase>[^:\n]+))?:?")
_ROW: Final = re.compile(r"^\| \*\*(phase_name|assistant_role_name|user_role_name)\*\* \| (.*?) \|\s*$", re.MULTILINE)
_MARK: Final = re.compile(r"\*\*\[([^\]\n]{1,60})\]?\*\*")
_REFLECTION: Final = "Reflection"
_UNKNOWN: Final = "assistant"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What stands from one stamp to the next."""

    line: int
    at: float | None
    said: str


@dataclass(frozen=True, slots=True)
class _Phase:
    """A phase that has begun: who asks whom in it."""

    thread: str
    name: str
    asker: str
    asked: str
    start: _Entry
    left: str | None = None
    announced: bool = True

    @property
    def number(self) -> str:
        return f"{self.start.line}"


def _recognise(source: Source) -> float:
    head = source.head()
    if not _STAMPED.match(head.lstrip()):
        return 0.0
    if b"**[Start Chat]**" in head or b"**ChatDev Starts**" in head:
        return 0.97
    return 0.9 if b"**[chatting]**" in head or (b"<->" in head and b" on : " in head) else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    log = _Log(options)
    for entry in _entries(source, options):
        if isinstance(entry, Skipped):
            yield entry
        else:
            yield from log.entry(entry)
    yield from log.announce()


def _entries(source: Source, options: Options) -> Iterator[_Entry | Skipped]:
    """Each stamped entry with the lines that belong to it."""
    skipped: list[Skipped] = []
    begun: _Entry | None = None
    body: list[str] = []
    for line, raw in source.lines(skip=skipped.append if options.lenient else None):
        try:
            plain = decode_text(source, line, raw)
        except LogError as error:
            if not options.lenient:
                raise
            yield Skipped(line, reason(error))
            continue
        found = _STAMP.match(plain)
        if found is None:
            if begun is None:
                yield refuse(source, options, line, "this line comes before any stamp like [2023-22-10 10:15:00 INFO].")
            else:
                body.append(plain)
            continue
        if begun is not None:
            yield replace(begun, said="\n".join(body))
        begun, body = _Entry(line, _time(found), ""), [found[8]]
    if begun is not None:
        yield replace(begun, said="\n".join(body))
    yield from skipped


def _time(found: re.Match[str]) -> float | None:
    """Year-day-month; a stamp that can only be year-month-day is read so."""
    year, first, second, hour, minute, sec = (int(found[i]) for i in range(1, 7))
    for day, month in ((first, second), (second, first)):
        try:
            return datetime(year, month, day, hour, minute, sec, tzinfo=UTC).timestamp()
        except (ValueError, OverflowError):
            continue
    return None


class _Log:
    """The phases of one run; the last one begun is the one that goes on."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._table: dict[str, str] = {}
        """What the last ``[chatting]`` said, until a talk starts."""
        self._open: list[_Phase] = []
        self._times: dict[str, int] = {}
        self._late: _Phase | None = None
        """Begun, and not told of yet: who is asked is not known."""

    def entry(self, entry: _Entry) -> Iterator[Message]:
        """The messages that one entry is."""
        if found := _START.match(entry.said):
            yield from self._start(entry, found["who"].strip())
        elif found := _TURN.match(entry.said):
            yield from self._turn(entry, found)
        elif found := _END.match(entry.said):
            yield from self._end(entry, found["phase"])
        else:
            if entry.said.startswith("System: **[chatting]**"):
                self._table = dict(_ROW.findall(entry.said))
            mark = _MARK.search(entry.said[:200])
            self._options.aside(Aside(mark[1] if mark else "note", entry.line))

    def _start(self, entry: _Entry, who: str) -> Iterator[Message]:
        yield from self.announce()
        name = self._table.get("phase_name", "")
        asked = self._table.get("assistant_role_name", "")
        self._table = {}
        left = None
        if self._open and name != _REFLECTION:  # those were broken off
            left, self._open = self._open[-1].number, []
        phase = _Phase(
            self._thread(name) if name else "", name, who, asked or _UNKNOWN, entry, left, bool(name and asked)
        )
        if phase.announced:
            self._open.append(phase)
            yield _request(phase)
        else:
            self._late = phase

    def _thread(self, name: str) -> str:
        times = self._times[name] = self._times.get(name, 0) + 1
        return name if times == 1 else f"{name}#{times}"

    def announce(self, name: str = "", asked: str = "") -> Iterator[Message]:
        """Tell of the phase that has begun, as far as its name and roles are known by now."""
        phase = self._late
        if phase is None:
            return
        self._late = None
        name = phase.name or name or "phase"
        phase = replace(phase, name=name, thread=self._thread(name), asked=asked or phase.asked, announced=True)
        if name != _REFLECTION and self._open:
            phase, self._open = replace(phase, left=phase.left or self._open[-1].number), []
        self._open.append(phase)
        yield _request(phase)

    def _turn(self, entry: _Entry, found: re.Match[str]) -> Iterator[Message]:
        who, one, other = found["who"].strip(), found["a"].strip(), found["b"].strip()
        if self._late is not None:
            asker = self._late.asker
            yield from self.announce(found["phase"].strip(), one if one != asker else other)
        yield Message(
            id=f"{entry.line}",
            sender=who,
            receivers=(other if who == one else one,),
            content=entry.said[found.end() :].strip(),
            at=entry.at,
            line=entry.line,
            name="turn",
        )

    def _end(self, entry: _Entry, name: str | None) -> Iterator[Message]:
        yield from self.announce(name or "")
        if not self._open:
            self._options.aside(Aside("Seminar Conclusion of no phase", entry.line))
            return
        phase = self._open.pop()
        yield Message(
            id=f"{entry.line}",
            sender=phase.asked,
            receivers=(phase.asker,),
            act="inform",
            thread=phase.thread,
            protocol="fipa-request",
            content=_END.sub("", entry.said, count=1).strip(),
            content_type="result",
            at=entry.at,
            line=entry.line,
            tag_source=STRUCTURE,
            name="Seminar Conclusion",
        )


def _request(phase: _Phase) -> Message:
    return Message(
        id=phase.number,
        sender=phase.asker,
        receivers=(phase.asked,),
        act="request",
        thread=phase.thread,
        protocol="fipa-request",
        content=_START.sub("", phase.start.said, count=1).strip(),
        at=phase.start.at,
        line=phase.start.line,
        tag_source=STRUCTURE,
        name="Start Chat",
        supersedes=phase.left,
    )


READER = Reader(
    name="chatdev",
    title="ChatDev run logs",
    recognise=_recognise,
    read=_read,
    looks_for='stamps like "[2023-22-10 10:15:00 INFO]" and "**[Start Chat]**"',
    mapping={
        "**[Start Chat]**": "request from the role that speaks to the other role of the phase; the thread is the "
        "occurrence of the phase",
        "A: **A<->B on : Phase, turn k**": "untagged: words",
        "**[Seminar Conclusion]**": "inform that ends the phase begun last",
        "[Start Chat] while a phase is open": "leaves it behind, unless the new phase is a Reflection, which is held "
        "inside it",
        "tables, usage, files, requests over HTTP, notes": "no message: counted as asides",
    },
    cannot_tell=(
        "A conclusion is written whenever a talk ends, also when its turns ran out; it does not say that both agreed.",
        "Which of the two roles found the conclusion is not said; it is put down to the one who was asked.",
        "The stamps have no zone; they are taken as UTC.",
    ),
    ids="line",
)
