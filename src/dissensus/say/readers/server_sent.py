"""Server-sent events in a log: JSON in ``data:`` lines, alone or among lines that are JSON themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dissensus.say.readers.base import Aside, Options, Skipped, Source
from dissensus.say.readers.decoding import decode
from dissensus.say.readers.documents import bad

_DATA: Final = re.compile(rb"^data:[ \t]*[{\[]", re.MULTILINE)
_FIELDS: Final = (b"event:", b"id:", b"retry:", b":")
_LONGEST: Final = 1_000
"""Most lines of one event."""


def has_events(head: bytes) -> bool:
    """Whether the beginning of a file has an event with JSON in it."""
    return _DATA.search(head) is not None


def in_events(source: Source, options: Options) -> Iterator[tuple[int, Any] | Skipped]:
    """Line numbers and values of such a log. An event may go on over several lines; its number is that of the first.

    Raises:
        LogError: what must be JSON is none, and reading is not lenient.
    """
    skipped: list[Skipped] = []
    begun = 0
    held: list[bytes] = []
    broken = "The event that begins here is no JSON, or is cut off."
    for number, raw in source.lines(skip=skipped.append if options.lenient else None):
        yield from skipped
        skipped.clear()
        line = raw.strip()
        if line.startswith(b"data:"):
            part = line[5:].strip()
            if not held and part[:1] not in (b"{", b"["):
                options.aside(Aside("data of a server-sent event that is no JSON", number))
                continue
            begun, held = begun or number, [*held, part]
            try:
                value = decode(b"\n".join(held))
            except ValueError:
                if len(held) < _LONGEST:
                    continue
                yield bad(source, options, begun, broken)
            else:
                yield begun, value
            begun, held = 0, []
        elif line.startswith(_FIELDS):
            options.aside(Aside("field of a server-sent event", number))
        else:
            if held:
                yield bad(source, options, begun, broken)
                begun, held = 0, []
            try:
                yield number, decode(line)
            except ValueError as error:
                yield bad(source, options, number, f"This line is no JSON: {error}.")
    if held:
        yield bad(source, options, begun, broken)
    yield from skipped


def first_values(head: bytes, most: int = 64) -> list[Any]:
    """The values of the first events in the beginning of a file, those that stand in one line."""
    found = []
    for line in head.split(b"\n"):
        if line.startswith(b"data:"):
            try:
                found.append(decode(line[5:].strip()))
            except ValueError:
                continue
            if len(found) == most:
                break
    return found
