"""MetaGPT's messages: ``cause_by``, ``sent_from``, ``send_to``.

As lines or a list, in the log (``publish_message: {…}``), or in a saved team (``team.json``). The route is typed, the
act is not: that a message to one role asks it for something, and that the next message of this role answers, is
inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dissensus.errors import LogError
from dissensus.say.message import INFERRED, STRUCTURE, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.entries import (
    Entry,
    decode_line,
    entries,
    has_keys,
    is_json,
    reason,
    refuse,
    rows,
    stamp,
    table,
    text,
)
from dissensus.say.readers.times import seconds

PERSON: Final = "user"
TEAM: Final = "team"
_EVERYBODY: Final = frozenset({"<all>", "", "<none>", "<self>"})
_PUBLISHED: Final = b"publish_message: "
_REQUIREMENT: Final = "UserRequirement"
_FIRST: Final = ("history", "memory")


def _recognise(source: Source) -> float:
    head = source.head()
    if is_json(head):
        return 0.95 if has_keys(head, "cause_by", "sent_from", "send_to") else 0.0
    return 0.9 if _PUBLISHED + b"{" in head and b'"cause_by"' in head else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    team = _Team(options)
    found = entries(source, options) if is_json(source.head()) else _published(source, options)
    for entry in found:
        if isinstance(entry, Skipped):
            yield entry
            continue
        messages = list(_messages(entry))
        if not messages:
            yield refuse(source, options, entry.line, "is no message of MetaGPT and holds none.", entry.where or "This")
        for one in messages:
            if "cause_by" in one.value:
                yield from team.message(one)
            else:
                yield refuse(source, options, one.line, 'is no message: it has no "cause_by".', one.where)


def _published(source: Source, options: Options) -> Iterator[Entry | Skipped]:
    """Messages in a text log; its other lines are asides."""
    skipped: list[Skipped] = []
    for line, raw in source.lines(skip=skipped.append if options.lenient else None):
        before, mark, rest = raw.partition(_PUBLISHED)
        if not mark:
            options.aside(Aside("line of the log", line))
            continue
        try:
            value = decode_line(source, line, rest)
        except LogError as error:
            if not options.lenient:
                raise
            yield Skipped(line, reason(error))
            continue
        if not isinstance(value, dict):
            yield refuse(source, options, line, "this is no JSON object.")
            continue
        value.setdefault("created_at", stamp(before.decode("utf-8", "replace")))
        yield Entry(line, "", value)
    yield from skipped


def _messages(entry: Entry) -> Iterator[Entry]:
    """The messages in one object.

    It is one itself, or a saved environment with a history; where that has none, what its roles remember, each once.
    """
    if "cause_by" in entry.value:
        yield entry
        return
    team = entry.value
    for key in ("env", "environment"):
        team = table(team.get(key)) or team
    for key in _FIRST:
        storage = table(team.get(key)).get("storage")
        if isinstance(storage, list) and storage:
            for i, message in enumerate(storage):
                yield Entry(entry.line, f"{key}.storage[{i}]", table(message))
            return
    if isinstance(team.get("storage"), list):
        for i, message in enumerate(team["storage"]):
            yield Entry(entry.line, f"storage[{i}]", table(message))
        return
    seen: dict[str, Entry] = {}
    for name, role in table(team.get("roles")).items():
        storage = rows(table(table(table(role).get("rc")).get("memory")).get("storage"))
        for i, message in enumerate(storage):
            one = Entry(entry.line, f"roles.{name}.rc.memory.storage[{i}]", table(message))
            seen.setdefault(text(one.value.get("id"), one.where), one)
    yield from sorted(seen.values(), key=lambda one: seconds(one.value.get("created_at")) or 0.0)


@dataclass(frozen=True, slots=True)
class _Asked:
    thread: str
    asker: str


class _Team:
    """Who was asked and has not been heard of."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._open: dict[str, list[_Asked]] = {}
        self._count = 0

    def message(self, entry: Entry) -> Iterator[Message]:
        """One message: a request, an answer, both (a role that was asked asks the next), or untagged."""
        self._count += 1
        value = entry.value
        cause = text(value.get("cause_by")).rpartition(".")[2]
        required = cause == _REQUIREMENT
        sender = _role(value.get("sent_from")) or (PERSON if required else _role(value.get("role")) or "role")
        sent_to = value.get("send_to")
        targets = [_role(one) for one in (sent_to if isinstance(sent_to, list) else [sent_to])]
        receivers = tuple(dict.fromkeys(one for one in targets if one not in _EVERYBODY and one != sender))
        number = text(value.get("id")) or f"{entry.where or entry.line or self._count}"
        place: dict[str, Any] = {
            "sender": sender,
            "content": value.get("content"),
            "at": seconds(value.get("created_at")),
            "line": entry.line,
            "where": entry.where,
            "name": cause or None,
        }
        if required:
            thread = f"requirement:{number}"
            yield _said("request", thread, number, receivers or (TEAM,), place, tag_source=STRUCTURE, outside=True)
            return
        asked = self._open.pop(sender, [])
        for i, one in enumerate(asked):
            yield _said("inform", one.thread, f"{number}.{i}" if i else number, (one.asker,), place)
        askers = {one.asker for one in asked}
        if len(receivers) == 1 and receivers[0] not in askers:
            thread = f"to:{receivers[0]}:{number}"
            self._open.setdefault(receivers[0], []).append(_Asked(thread, sender))
            yield _said("request", thread, f"{number}.next" if asked else number, receivers, place)
        elif not asked:
            yield Message(id=number, receivers=receivers, **place)


def _said(
    act: str, thread: str, number: str, receivers: tuple[str, ...], place: dict[str, Any], **more: Any
) -> Message:
    return Message(
        id=number,
        receivers=receivers,
        act=act,
        thread=thread,
        protocol="fipa-request",
        content_type="result" if act == "inform" else None,
        **{"tag_source": INFERRED, **place, **more},
    )


def _role(value: Any) -> str:
    """The name of a role: the last part of its class, where it is given by that."""
    return text(value).rpartition(".")[2]


READER = Reader(
    name="metagpt",
    title="MetaGPT messages",
    recognise=_recognise,
    read=_read,
    looks_for='messages with "cause_by", "sent_from" and "send_to"',
    mapping={
        "cause_by UserRequirement": "request from the user, outside, to the roles it is sent to, or to the team",
        "a message to one role": "request, inferred: nobody says what it is for",
        "the next message of a role that was asked, whoever it goes to": "inform to whoever asked, inferred",
        "other messages to all": "untagged; the action that caused it is kept as its name",
        "team.json": "the history of the environment; without one, what the roles remember, each message once",
        "other lines of a text log": "no message: counted as asides",
    },
    cannot_tell=(
        "Roles act on what they watch, not on what they are asked: that a role said nothing is no broken promise.",
        "A message has no field for what it answers; an answer is whatever its sender says next.",
    ),
)
