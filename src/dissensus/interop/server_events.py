"""Server-sent events as bytes: where each ends, and what data it carries."""

from __future__ import annotations

import re
from typing import Final

_END: Final = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
"""Two ends of lines; atomic, so that one CR LF is not taken for two."""
_LINES: Final = re.compile(rb"\r\n|\n|\r")


class EventSplitter:
    """Cuts a stream into events. All bytes come out again, in order.

    Args:
        most: bytes of the longest event.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that are complete now, each with the blank line that ends it.

        Raises:
            ValueError: an event is longer than the longest that is allowed.
        """
        kept = self._kept
        looked = max(0, len(kept) - 3)  # an end may have begun in what was there before
        kept += chunk
        events: list[bytes] = []
        begin = 0
        while found := _END.search(kept, max(looked, begin)):
            end = found.end()
            if end == len(kept) and kept[end - 1 : end] == b"\r":
                break  # a LF may belong to it
            events.append(bytes(kept[begin:end]))
            begin = end
        del kept[:begin]
        if len(kept) > self._most or any(len(event) > self._most for event in events):
            raise ValueError(f"an event is longer than {self._most:,} bytes")
        return events

    def rest(self) -> bytes:
        """What came after the last complete event."""
        rest = bytes(self._kept)
        self._kept.clear()
        return rest


def data_of(event: bytes) -> bytes | None:
    """The data of an event, its lines joined; None if it has none (a comment, a keep-alive)."""
    parts: list[bytes] = []
    for line in _LINES.split(event.removeprefix(b"\xef\xbb\xbf")):
        name, colon, value = line.partition(b":")
        if name == b"data":
            parts.append(value.removeprefix(b" ") if colon else b"")
    return b"\n".join(parts) if parts else None


def event_of(data: bytes) -> bytes:
    """``data``, which has no end of line, as an event."""
    return b"data: " + data + b"\n\n"
