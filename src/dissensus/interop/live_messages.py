"""What a program tells a monitor, made a message with an id, a time and a place, as it will stand in the record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from dissensus.errors import LogError, UsageError
from dissensus.say.message import Message
from dissensus.say.readers.own import message_of

_LONGEST: Final = 10_000
"""Characters that are kept of what is no JSON data."""


def complete(
    given: Message | Mapping[str, Any], line: int, now: Callable[[], float], *, renumber: bool = False
) -> Message:
    """The message that was given, with what it lacks.

    Args:
        given: a message, or a mapping with the keys of our logs.
        line: its place, which also makes its id where it has none.
        now: gives its time where it has none.
        renumber: put ``line`` in place of a line that it has.

    Raises:
        UsageError: it is neither a message nor a mapping.
        UnknownAct: its act is none.
        LogError: it is no message.
    """
    changes: dict[str, Any] = {}
    if isinstance(given, Message):
        m = given
    elif isinstance(given, Mapping):
        data = dict(given)
        if data.get("id") is None:
            data["id"] = f"#{line}"
        if data.get("at") is None:
            data["at"] = now()
        m = message_of(data, line)
    else:
        raise UsageError(f"{type(given).__name__} is no message.", next_step="Give a Message or a dict, or call tell.")
    if m.at is None:
        changes["at"] = now()
    elif not math.isfinite(m.at) or not math.isfinite(m.reply_by or 0.0):
        raise LogError(f"The time of the message {m.id!r} is no time.", line=line)
    if renumber or not m.line:
        changes["line"] = line
    for field in ("content", "wire"):
        value = getattr(m, field)
        if value is not None and (plain := plain_json(value)) is not value:
            changes[field] = plain
    return msgspec.structs.replace(m, **changes) if changes else m


def plain_json(value: Any) -> Any:
    """``value`` if it is JSON data, else what a record can hold of it; what is judged is what is recorded."""
    if type(value) in (str, int, bool):
        if type(value) is not str or value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "backslashreplace").decode()
        return value
    try:
        # nested twice, so that what is as deep as can be written still can be in the line of a record
        return msgspec.json.decode(msgspec.json.encode([[value]], enc_hook=_described))[0][0]
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):  # half a pair of surrogates, or too deep
        return _described(value).encode("utf-8", "backslashreplace").decode()[:_LONGEST]


def _described(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - whatever an object does when it is asked, the system that is watched goes on
        return f"<{type(value).__name__}>"
