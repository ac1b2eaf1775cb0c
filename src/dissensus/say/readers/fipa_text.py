"""Messages in the string syntax of FIPA (SC00070I) and of KQML (Finin and others 1994), as agents log them.

::

    (request :sender (agent-identifier :name a) :receiver (set (agent-identifier :name b))
      :content "count" :protocol fipa-request :conversation-id c1 :reply-by 20260302T100000000Z)

A message may run over lines, and a line may hold a logger's time before it. What stands between messages is no message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from dissensus.errors import LogError, UnknownAct
from dissensus.say.acts import nearest, normalise
from dissensus.say.message import FIELD, Message
from dissensus.say.readers.base import LONGEST_LINE, Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.conversations import Conversations
from dissensus.say.readers.entries import decode_text, reason, refuse, stamp
from dissensus.say.readers.expressions import Broken, Scanner, elements, names, plain
from dissensus.say.readers.times import seconds

_BEGINS: Final = re.compile(r"\(\s*(?P<act>[A-Za-z][\w./-]*)(?=\s+:[A-Za-z]|\s*$)")
_HEAD: Final = re.compile(rb"\(\s*([A-Za-z][\w./-]*)\s+:[A-Za-z]")
_PARTIES: Final = re.compile(rb":(?:sender|receiver)\s", re.IGNORECASE)
_DATE: Final = re.compile(r"(?P<sign>[+-]?)(?P<date>\d{8})T(?P<clock>\d{6})(?P<part>\d{3})?(?P<zone>[A-Za-z]?)$")
_LONGEST: Final = 16_000_000
"""Characters of the longest message: a bracket that is never closed must not hold the whole log."""


def _recognise(source: Source) -> float:
    head = source.head()
    found = _HEAD.search(head)
    if found is None or not _PARTIES.search(head) or head.lstrip()[:1] in (b"{", b"<"):
        return 0.0
    if head.lstrip()[:1] == b"[" and head.lstrip()[1:2] in (b"{", b"\n", b"\r", b""):
        return 0.0
    name = found[1].decode("ascii", "replace")
    try:
        normalise(name)
    except UnknownAct:
        return 0.3 if nearest(name) is None else 0.6  # misspelt: that is worth more than "no known format"
    return 0.95


def _read(source: Source, options: Options) -> Iterator[Item]:
    conversations = Conversations(options.protocol)
    for count, found in enumerate(_texts(source, options), 1):
        if isinstance(found, Skipped):
            yield found
            continue
        try:
            yield _message(source, conversations, str(count), found)
        except LogError as error:
            if not options.lenient:
                raise
            yield Skipped(found[0], reason(error))


def _texts(source: Source, options: Options) -> Iterator[tuple[int, float | None, str] | Skipped]:
    """Each message with the line where it begins and the time before it."""
    held: list[str] = []
    begins, size, at, scanner = 0, 0, None, Scanner()
    with source.opens() as stream:
        for line, raw in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
            too_long = len(raw) >= LONGEST_LINE or size > _LONGEST
            try:
                rest = "" if too_long else decode_text(source, line, raw)
            except LogError as error:
                if not options.lenient:
                    raise
                yield Skipped(line, reason(error))
                held, scanner = [], Scanner()
                continue
            if too_long:
                yield refuse(
                    source, options, begins or line, "the message that begins here is longer than any message."
                )
                held, size, scanner = [], 0, Scanner()
            while rest:
                if not held:
                    found = _BEGINS.search(rest)
                    if found is None:
                        if rest.strip():
                            options.aside(Aside("text between messages", line))
                        break
                    begins, size, at = line, 0, stamp(rest[: found.start()])
                    rest = rest[found.start() :]
                end = scanner.feed(rest)
                held.append(rest[:end] if end else rest)
                size += len(held[-1])
                rest = rest[end:] if end else ""
                if end:
                    yield begins, at, "".join(held)
                    held, scanner = [], Scanner()
    if held:
        yield refuse(source, options, begins, "the message that begins here is not closed.")


def _message(
    source: Source, conversations: Conversations, number: str, found: tuple[int, float | None, str]
) -> Message:
    line, at, written = found
    try:
        parts = elements(written)
        fields = _fields(parts[1:])
        act, content_type = normalise(parts[0])
        sender = next(iter(names(fields.get("sender", ""))), "anonymous")
        receivers = tuple(dict.fromkeys(names(fields.get("receiver", ""))))
    except Broken as broken:
        raise source.wrong(line, f"This message cannot be read: {broken}.") from None
    except UnknownAct as unknown:
        raise source.wrong(line, unknown.message, next_step=unknown.next_step) from None
    reply_with = _said(fields, "reply-with")
    if reply_with is not None and reply_with.lower() in {"nil", "t"}:
        reply_with = None if reply_with.lower() == "nil" else "t"
    in_reply_to = _said(fields, "in-reply-to")
    thread, protocol, source_of_tag = None, None, FIELD
    if act is not None:
        place = conversations.place(
            number,
            act,
            sender,
            receivers,
            thread=_said(fields, "conversation-id"),
            protocol=(_said(fields, "protocol") or "").lower() or None,
            reply_with=reply_with,
            in_reply_to=in_reply_to,
            name=parts[0],
        )
        thread, protocol, source_of_tag = place.thread, place.protocol, place.tag_source
    written_act = parts[0].lower()
    return Message(
        id=number,
        sender=sender,
        receivers=receivers,
        act=act if thread is not None else None,
        thread=thread,
        protocol=protocol,
        reply_with=reply_with if reply_with != "t" else None,
        in_reply_to=in_reply_to,
        reply_to=next(iter(names(fields.get("reply-to", ""))), None),
        reply_by=_reply_by(source, line, _said(fields, "reply-by"), at),
        content=_said(fields, "content"),
        content_type=content_type,
        language=_said(fields, "language"),
        encoding=_said(fields, "encoding"),
        ontology=_said(fields, "ontology"),
        at=at,
        line=line,
        tag_source=source_of_tag,
        name=written_act if written_act != act or thread is None else None,
    )


def _fields(parts: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    index = 0
    while index < len(parts):
        key = parts[index]
        if not key.startswith(":") or index + 1 >= len(parts):
            raise Broken(f"{key[:40]!r} is no parameter with a value")
        fields.setdefault(key[1:].lower(), parts[index + 1])
        index += 2
    return fields


def _said(fields: dict[str, str], key: str) -> str | None:
    return plain(fields[key]) if key in fields else None


def _reply_by(source: Source, line: int, said: str | None, at: float | None) -> float | None:
    """Seconds since 1970 of a FIPA date; one with a sign counts from the message, whose time may not be known."""
    if said is None:
        return None
    found = _DATE.match(said)
    if found is None:
        when = seconds(said)
        if when is None:
            raise source.wrong(line, f"{said!r} in :reply-by is no time such as 20260302T100000000Z.")
        return when
    date, clock, part = found["date"], found["clock"], int(found["part"] or 0) / 1000.0
    if found["sign"]:
        days = int(date[:4]) * 365 + int(date[4:6]) * 30 + int(date[6:])
        span = timedelta(days=days, hours=int(clock[:2]), minutes=int(clock[2:4]), seconds=int(clock[4:]))
        return None if at is None else at + (span.total_seconds() + part) * (-1 if found["sign"] == "-" else 1)
    try:
        when = datetime.strptime(date + clock, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise source.wrong(line, f"{said!r} in :reply-by is no time that exists.") from None
    return when + part


READER = Reader(
    name="fipa-text",
    title="FIPA-ACL and KQML messages as text",
    recognise=_recognise,
    read=_read,
    looks_for='messages like "(request :sender … :receiver …)"',
    mapping={
        "(act …)": "the FIPA act, or the one that a KQML performative is; the name is kept (sorry, tell)",
        ":conversation-id": "the thread; without one, that of the :reply-with which :in-reply-to repeats; "
        "without that, the latest open one between the two, inferred",
        ":protocol": "the protocol; without one, the first act of the thread tells it (cfp: fipa-contract-net)",
        ":reply-with nil or absent, in KQML": "no answer is owed: untagged",
        ":reply-by": "deadline; one that begins with a sign counts from the time in front of the message",
        "inform, tell that answers nothing": "untagged: it belongs to no conversation",
        "text between messages": "no message: counted as asides",
    },
    cannot_tell=(
        "The string syntax has no time of sending: only a logger's time before each message tells when it was said.",
        "Messages without :conversation-id and :in-reply-to are put together by order, which is a guess.",
    ),
    ids="line",
)
