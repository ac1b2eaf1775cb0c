"""HyperAgent: a planner that gives subgoals to interns (navigator, editor, executor), and their reports.

A log of lines ``HyperAgent_INSTANCE - INFO - …``, or that log as a list in a JSON document. A line that begins so opens
an entry; what follows belongs to it. Entries repeat two to four times in these logs: each is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.message import Message
from dissensus.say.readers import documents
from dissensus.say.readers.asking import Asking
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.decoding import decode

_HEAD: Final = re.compile(r"\s*(?:\S+ +)*?HyperAgent\S* +- +[A-Z]+ +- +(?P<rest>.*)", re.DOTALL)
_SAYS: Final = re.compile(r"(?P<who>[\w -]{1,60}?)['’]s Response:\s*")
_REPORTS: Final = re.compile(r"(?P<who>[\w ]{1,60}?)\s*->\s*(?P<whom>[\w ]{1,60}?):\s*")
_INTERN: Final = re.compile(r"^\W*Intern Name\W*:\W*(?P<name>[\w ]{1,60}?)\W*$", re.MULTILINE)
_SUBGOAL: Final = re.compile(r"^\W*Subgoal\W*:\s*(?P<text>.*)", re.MULTILINE | re.DOTALL)
_PLANNER: Final = "Planner"
_LISTS: Final = frozenset({"trajectory"})

Entry = tuple[int, str, str]
"""Line, place and text of one entry, without its head."""


def _known_as(name: str) -> str:
    """The name under which an intern reports: ``Codebase Navigator`` reports as ``Navigator``."""
    return name.strip().rpartition(" ")[2].capitalize()


def _recognise(source: Source) -> float:
    text = source.head().decode("utf-8", "replace")
    return 0.95 if re.search(r"HyperAgent\S* +- +[A-Z]+ +- ", text) else 0.0


def _numbered(source: Source, options: Options) -> Iterator[tuple[int, str, str] | Skipped]:
    """Lines of the log: of the file, or of the lists named trajectory in it."""
    head = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] not in (b"{", b"["):
        skipped: list[Skipped] = []
        for number, raw in source.lines(skip=skipped.append if options.lenient else None):
            yield from skipped
            skipped.clear()
            yield number, "", raw.decode("utf-8", "replace")
        yield from skipped
        return
    if documents.is_lines(source):
        for item in documents.json_lines(source, options):
            if isinstance(item, Skipped):
                yield item
            else:
                yield from _in_record(item[1], item[0], "", source, options)
        return
    document = documents.Document(source, options, _LISTS)
    if isinstance(document.value, dict) and isinstance(document.value.get("trajectory"), list):
        for at, (number, text) in enumerate(document.entries("trajectory")):
            yield from _text(text, number, f"trajectory[{at}]", source, options)
    else:
        records = document.value if isinstance(document.value, list) else [document.value]
        for at, record in enumerate(records):
            yield from _in_record(record, 0, f"[{at}]." if isinstance(document.value, list) else "", source, options)
    if document.cut is not None:
        yield document.cut


def _in_record(
    record: Any, line: int, where: str, source: Source, options: Options
) -> Iterator[tuple[int, str, str] | Skipped]:
    """The lines of a record with a ``trajectory``, which may lie in its ``trace``, and may be one text."""
    inner = record.get("trace", record) if isinstance(record, dict) else record
    if isinstance(inner, str) and inner.lstrip()[:1] == "{":
        try:
            inner = decode(inner.encode("utf-8", "replace"))
        except ValueError as error:
            yield documents.bad(source, options, line, f"The trace is no JSON: {error}.", f"{where}trace")
            return
    listed = inner.get("trajectory") if isinstance(inner, dict) else inner
    if isinstance(listed, str):
        listed = listed.split("\n") if listed.strip() else []
    if not isinstance(listed, list):
        yield documents.bad(source, options, line, "A record has to have a trajectory.", where.rstrip("."))
        return
    if not listed:
        options.aside(Aside("empty trajectory", line, where.rstrip(".")))
    for at, text in enumerate(listed):
        yield from _text(text, line, f"{where}trajectory[{at}]", source, options)


def _text(
    text: Any, line: int, where: str, source: Source, options: Options
) -> Iterator[tuple[int, str, str] | Skipped]:
    if isinstance(text, str):
        yield line, where, text
    else:
        yield documents.bad(source, options, line, "A line of a trajectory has to be a text.", where)


def _entries(source: Source, options: Options) -> Iterator[Entry | Skipped]:
    """Whole entries: a head and the lines up to the next."""
    place: tuple[int, str] | None = None
    body: list[str] = []
    for item in _numbered(source, options):
        if isinstance(item, Skipped):
            yield item
            continue
        line, where, text = item
        found = _HEAD.fullmatch(text)
        if found is None:
            if place is not None:
                body.append(text)
            elif text.strip():
                options.aside(Aside("before the first entry", line, where))
            continue
        if place is not None:
            yield (*place, "\n".join(body).strip())
        place, body = (line, where), [found["rest"]]
    if place is not None:
        yield (*place, "\n".join(body).strip())


def _read(source: Source, options: Options) -> Iterator[Item]:
    runs, count = 0, 0
    begun = False
    asking = Asking()
    before = ""
    for item in _entries(source, options):
        if isinstance(item, Skipped):
            yield item
            continue
        line, where, text = item
        name = f"h{count}"
        count += 1
        if text.startswith("Initialized"):
            if begun:  # the next instance in the same log
                runs, begun = runs + 1, False
                asking = Asking(f"r{runs}:")
            options.aside(Aside("initialized", line, where))
        elif text == before:
            options.aside(Aside("repeated", line, where))
        else:
            begun = True
            said = _message(asking, name, text, line, where)
            if isinstance(said, Aside):
                options.aside(said)
            else:
                yield said
        before = text


def _message(asking: Asking, name: str, text: str, line: int, where: str) -> Message | Aside:
    if (found := _SAYS.match(text)) is not None:
        who, content = found["who"].strip(), text[found.end() :]
        if who.startswith("Inner-"):
            return Aside("inner response", line, where)
        if (intern := _INTERN.search(content)) is not None:
            goal = _SUBGOAL.search(content)
            target = _known_as(intern["name"])
            return asking.request(name, who, target, goal["text"].strip() if goal else content, line=line, where=where)
        return Message(
            id=name, sender=who, thread=f"{asking.prefix}said", receivers=("user",), content=content, line=line,
            where=where,
        )  # fmt: skip
    if (found := _REPORTS.match(text)) is not None:
        return asking.said(
            name, _known_as(found["who"]), found["whom"].strip(), text[found.end() :], line=line, where=where
        )
    return Aside("other line", line, where)


READER: Final = Reader(
    name="hyperagent",
    title="HyperAgent logs",
    recognise=_recognise,
    read=_read,
    looks_for='lines "HyperAgent_… - INFO - Planner\'s Response: …"',
    mapping={
        "Planner's Response with an Intern Name": "request to that intern, in a thread of its own",
        "X->Planner": "inform to the planner, for the latest open request to X (inferred)",
        "Planner's Response without an Intern Name": "untagged, to the user",
        "Inner-X-Assistant's Response": "no message; counted",
        "an entry that says the same as the one before it": "no message; counted as repeated",
        "Initialized …": "no message; counted. After other entries it begins another run",
    },
    cannot_tell=(
        "An intern's report shows that something came back for a subgoal, not that the subgoal was reached.",
        "Entries that repeat are read once; an intern that truly said the same twice in a row is not told apart.",
    ),
)
