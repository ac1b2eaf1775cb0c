"""SPADE's messages: ``to``, ``sender``, ``body``, ``thread``, and a ``metadata`` with the performative.

As JSON (lines, a list, under ``messages``), or as SPADE prints them: ``<message to="…" from="…" thread="…"
metadata={…}>``. A performative is any text there; one that is no act of FIPA or KQML leaves the message untagged and is
kept as its name. The part of an address after the slash, which is new with each connection, is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from dissensus.errors import LogError, UnknownAct
from dissensus.say.acts import normalise
from dissensus.say.message import FIELD, Message
from dissensus.say.readers.base import Aside, Item, Options, Reader, Skipped, Source
from dissensus.say.readers.conversations import Conversations
from dissensus.say.readers.entries import (
    Entry,
    decode_text,
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

_TAG: Final = re.compile(
    r'<message to="(?P<to>[^"]*)" from="(?P<sender>[^"]*)" thread="(?P<thread>[^"]*)" metadata=(?P<metadata>\{.*?\})>'
)
_CLOSED: Final = "</message>"


def _recognise(source: Source) -> float:
    head = source.head()
    if is_json(head):
        known = has_keys(head, "metadata", "performative") and has_keys(head, "body")
        return 0.9 if known and (has_keys(head, "to") or has_keys(head, "sender")) else 0.0
    return 0.95 if re.search(rb'<message to="[^"]*" from="[^"]*" thread="[^"]*" metadata=\{', head) else 0.0


def _read(source: Source, options: Options) -> Iterator[Item]:
    conversations = Conversations(options.protocol)
    count = 0
    found = entries(source, options) if is_json(source.head()) else _printed(source, options)
    for entry in found:
        if isinstance(entry, Skipped):
            yield entry
            continue
        inner = entry.value.get("messages")
        if isinstance(inner, list) and "metadata" not in entry.value:
            several = [Entry(entry.line, f"{entry.where}messages[{i}]", table(one)) for i, one in enumerate(inner)]
        else:
            several = [entry]
        for one in several:
            count += 1
            if isinstance(one.value.get("metadata"), dict) or "performative" in one.value:
                yield _message(conversations, str(count), one)
            else:
                yield refuse(
                    source, options, one.line, 'is no message of SPADE: it has no "metadata".', one.where or "This"
                )


def _printed(source: Source, options: Options) -> Iterator[Entry | Skipped]:
    """Messages as SPADE prints them; what stands around them is aside."""
    skipped: list[Skipped] = []
    begun: Entry | None = None
    body: list[str] = []
    for line, raw in source.lines(skip=skipped.append if options.lenient else None):
        try:
            rest = decode_text(source, line, raw)
        except LogError as error:
            if not options.lenient:
                raise
            yield Skipped(line, reason(error))
            continue
        if begun is None:
            found = _TAG.search(rest)
            if found is None:
                options.aside(Aside("text between messages", line))
                continue
            try:
                metadata = ast.literal_eval(found["metadata"])
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                yield refuse(source, options, line, "the metadata of this message cannot be read.")
                continue
            thread = found["thread"] if found["thread"] != "None" else None
            value = {
                **found.groupdict(),
                "thread": thread,
                "metadata": table(metadata),
                "at": stamp(rest[: found.start()]),
            }
            begun, body, rest = Entry(line, "", value), [], rest[found.end() :]
        inside, closed, _ = rest.partition(_CLOSED)
        body.append(inside)
        if closed:
            begun.value["body"] = "\n".join(body).strip()
            yield begun
            begun = None
    if begun is not None:
        yield refuse(source, options, begun.line, "the message that begins here is not closed.")
    yield from skipped


def _message(conversations: Conversations, number: str, entry: Entry) -> Message:
    value, metadata = entry.value, table(entry.value.get("metadata"))
    name = text(metadata.get("performative")) or text(value.get("performative"))
    if name.upper() == "BDI":  # spade-bdi keeps the performative elsewhere
        name = text(metadata.get("ilf_type"), name)
    sender = _agent(value.get("sender", value.get("from")), "anonymous")
    to = value.get("to", value.get("receiver"))
    receivers = tuple(dict.fromkeys(_agent(one, "") for one in (rows(to) or [to]) if _agent(one, "")))
    at = seconds(value.get("at", value.get("timestamp", value.get("time"))))
    act, implied = _act(name)
    reply_with, in_reply_to = _of(metadata, "reply-with"), _of(metadata, "in-reply-to")
    thread, protocol, tag = None, None, FIELD
    if act is not None:
        place = conversations.place(
            number,
            act,
            sender,
            receivers,
            thread=text(value.get("thread")) or _of(metadata, "conversation-id"),
            protocol=(_of(metadata, "protocol") or "").lower() or None,
            reply_with=reply_with,
            in_reply_to=in_reply_to,
            name=name,
        )
        thread, protocol, tag = place.thread, place.protocol, place.tag_source
    by = seconds(metadata.get("reply-by", metadata.get("reply_by")))
    return Message(
        id=text(value.get("id")) or number,
        sender=sender,
        receivers=receivers,
        act=act if thread is not None else None,
        thread=thread,
        protocol=protocol,
        reply_with=reply_with,
        in_reply_to=in_reply_to,
        reply_to=_agent(_of(metadata, "reply-to"), "") or None,
        reply_by=by,
        content=value.get("body"),
        content_type=text(metadata.get("content-type")) or implied,
        language=_of(metadata, "language"),
        ontology=_of(metadata, "ontology"),
        at=at,
        line=entry.line,
        where=entry.where,
        tag_source=tag,
        name=(name or None) if name.lower() != act or thread is None else None,
    )


@lru_cache(maxsize=1024)
def _act(name: str) -> tuple[str | None, str | None]:
    """Act and content type of a performative; none for a text of the program's own, for which looking is slow."""
    try:
        return normalise(name)
    except UnknownAct:
        return None, None


def _of(metadata: dict[str, Any], key: str) -> str | None:
    return text(metadata.get(key)) or text(metadata.get(key.replace("-", "_"))) or None


def _agent(value: Any, otherwise: str) -> str:
    """An address without what follows its slash."""
    return text(value, otherwise).partition("/")[0]


READER = Reader(
    name="spade",
    title="SPADE messages",
    recognise=_recognise,
    read=_read,
    looks_for='messages with "to", "body" and a "performative" in "metadata"',
    mapping={
        "metadata.performative": "the act (FIPA, KQML, spade-bdi's ilf_type); another text leaves the message untagged",
        "thread, metadata.conversation-id": "the thread; without one, that of the reply-with which in-reply-to "
        "repeats; without that, the latest open one between the two, inferred",
        "metadata.protocol": "the protocol; without one, the first act of the thread tells it",
        "metadata.ontology, language, reply-with, in-reply-to, reply-by, reply-to": "the same fields",
        "text between printed messages": "no message: counted as asides",
    },
    cannot_tell=(
        "Most SPADE messages carry no thread; those are put together by order, which is a guess.",
        "A printed message has no time unless a logger wrote one before it.",
    ),
    ids="line",
)
