"""Our own message log: one JSON object per line, with the fields of :class:`~dissensus.say.message.Message`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dissensus.errors import LogError, UnknownAct
from dissensus.say.acts import ACTS, normalise
from dissensus.say.message import FIELD, Message
from dissensus.say.readers.base import Item, Options, Reader, Skipped, Source
from dissensus.say.readers.decoding import decode


class _Line(msgspec.Struct, gc=False):
    sender: str
    id: str | int | None = None
    act: str | None = None
    receivers: tuple[str, ...] | str = ()
    thread: str | int | None = None
    protocol: str | None = None
    reply_with: str | None = None
    in_reply_to: str | None = None
    reply_to: str | None = None
    reply_by: datetime | float | None = None
    content: Any = None
    content_type: str | None = None
    language: str | None = None
    encoding: str | None = None
    ontology: str | None = None
    about: str | None = None
    at: datetime | float | None = None
    tag_source: str = FIELD
    tag_confidence: float = 1.0
    name: str | None = None
    outside: bool = False
    supersedes: str | None = None
    wire: Any = None


KEYS: Final = frozenset(_Line.__struct_fields__)
"""Keys that a line may have; others are passed over."""

_decode = msgspec.json.Decoder(_Line).decode
_encode = msgspec.json.Encoder().encode

_WRITTEN: Final = (
    "act", "thread", "protocol", "reply_with", "in_reply_to", "reply_to", "content", "content_type", "language",
    "encoding", "ontology", "about", "name", "supersedes", "wire",
)  # fmt: skip
_PLAIN: Final[dict[str, Any]] = {"tag_source": FIELD, "tag_confidence": 1.0, "outside": False}
_FIELDS: Final = "It needs `sender`, and to be judged `act`, `receivers` and `thread`."


def read(source: Source, options: Options) -> Iterator[Item]:
    """Messages of a log of ours, line by line."""
    skipped: list[Skipped] = []
    for number, raw in source.lines(skip=skipped.append if options.lenient else None):
        yield from skipped
        skipped.clear()
        try:
            yield _message(raw, number)
        except (msgspec.MsgspecError, UnicodeDecodeError, UnknownAct, ValueError, RecursionError) as error:
            why = _why(error, raw)
            if not options.lenient:
                step = error.next_step if isinstance(error, UnknownAct) else ""
                raise source.wrong(number, why, next_step=step) from None
            yield Skipped(number, why)
    yield from skipped


def message_of(data: Mapping[str, Any], number: int) -> Message:
    """The message that ``data`` is, an object as a line of such a log holds it; ``number`` is its line.

    Raises:
        UnknownAct: its act is none.
        LogError: it is no message.
    """
    try:
        return _from(msgspec.convert(data, _Line), number)
    except UnknownAct:
        raise
    except (msgspec.ValidationError, ValueError, RecursionError, OverflowError) as error:
        raise LogError(f"This is no message: {error}.", line=number, next_step=_FIELDS) from None


def line_of(m: Message, more: Mapping[str, Any] | None = None) -> bytes:
    """``m`` as a line of such a log, without the end of the line; reading it gives ``m`` again, but for its line.

    Args:
        m: the message.
        more: further keys, which readers pass over.

    Raises:
        TypeError: its content is no JSON data.
    """
    data: dict[str, Any] = {"id": m.id, "sender": m.sender, "receivers": m.receivers}
    for field in _WRITTEN:
        value = getattr(m, field)
        if value is not None:
            data[field] = value
    for field, plain in _PLAIN.items():
        value = getattr(m, field)
        if value != plain:
            data[field] = value
    if m.at is not None:
        data["at"] = m.at
    if m.reply_by is not None:
        data["reply_by"] = _deadline(m.reply_by, m.at)
    if more:
        data.update(more)
    return _encode(data)


def _deadline(by: float, at: float | None) -> float | str:
    """Seconds after ``at`` if adding them gives ``by`` to the last bit, as for all times of our days; else a date."""
    if at is not None and at + (by - at) == by:
        return by - at
    return datetime.fromtimestamp(by, UTC).isoformat()


def _message(raw: bytes, number: int) -> Message:
    try:
        line = _decode(raw)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        try:
            value = decode(raw)
        except ValueError:
            raise error from None
        line = msgspec.convert(value, _Line)
    return _from(line, number)


def _from(line: _Line, number: int) -> Message:
    act, content_type, name = line.act, line.content_type, line.name
    if act is not None and act not in ACTS:
        name = act
        act, content_type = normalise(act, content_type)
    at = None if line.at is None else _time(line.at)
    by = line.reply_by
    if by is None:
        deadline = None
    elif isinstance(by, datetime):
        deadline = _time(by)
    elif at is not None:
        deadline = at + by
    else:
        raise ValueError("`reply_by` counts seconds after `at`, and the line has no `at`")
    return Message(  # by place: naming each takes eight times as long
        f"{number}" if line.id is None else f"{line.id}",
        line.sender,
        (line.receivers,) if isinstance(line.receivers, str) else line.receivers,
        act,
        line.thread if line.thread is None or isinstance(line.thread, str) else f"{line.thread}",
        line.protocol,
        line.reply_with,
        line.in_reply_to,
        line.reply_to,
        deadline,
        line.content,
        content_type,
        line.language,
        line.encoding,
        line.ontology,
        line.about,
        at,
        number,
        "",
        line.tag_source,
        line.tag_confidence,
        name,
        line.outside,
        line.supersedes,
        line.wire,
    )


def _time(value: datetime | float) -> float:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return float(value)


def _why(error: Exception, raw: bytes) -> str:
    if isinstance(error, UnknownAct):
        return error.message
    if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower() or b"\0" in raw:
        return "The line is not UTF-8."
    if isinstance(error, msgspec.ValidationError):
        return f"This is no message: {error}."
    if isinstance(error, msgspec.DecodeError):
        cut = not raw.rstrip().endswith(b"}")
        return f"The line breaks off: {error}." if cut else f"The line is no JSON: {error}."
    return f"This is no message: {error}."


def _recognise(source: Source) -> float:
    head = source.head()
    first = head.lstrip().split(b"\n", 1)[0]
    try:
        data = decode(first)
    except ValueError:
        return 0.0
    if not isinstance(data, dict) or not isinstance(data.get("sender"), str) or "receivers" not in data:
        return 0.0
    return 0.95 if "act" in data else 0.7


READER = Reader(
    name="own",
    title="dissensus message log (JSON lines)",
    recognise=_recognise,
    read=read,
    looks_for='lines with "sender", "receivers" and "act"',
    mapping={
        "act": "one of the 22 acts, a KQML performative or a known variant; absent: untagged",
        "receivers": "a list of names, or one name",
        "at, reply_by": "ISO 8601 (without a zone: UTC) or seconds since 1970; reply_by as a number: seconds after at",
    },
)
