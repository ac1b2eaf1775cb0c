"""Text logs of MCP: lines that say who spoke and end in the JSON that was said.

Desktop clients write, for each server or for all in one file::

    2025-03-10T17:03:18.764Z [demo] [info] Message from client: {"method":"initialize",…} { metadata: undefined }

with name and level in either order. Others write an arrow: ``client -> server: {…}``, ``C->S {…}``, ``--> {…}``. All
other lines are what servers print, and are no messages. A long message is cut in the middle by some clients
(``...[18778 chars truncated]...``); its head then says which request or answer it was, which is enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from dissensus.say.readers.base import Aside, Options, Skipped, Source
from dissensus.say.readers.documents import bad
from dissensus.say.readers.entries import stamp
from dissensus.say.wire.jsonrpc import CLIENT, SERVER

_WAY: Final = re.compile(
    r"Message from (?P<who>client|server)\s*:"
    r"|(?P<c2s>\b(?:client|c)\s*(?:->|-->|=>|→|to)\s*(?:server|s)\b|\bc2s\b|^\s*(?:-->|>>>?)\s)"
    r"|(?P<s2c>\b(?:server|s)\s*(?:->|-->|=>|→|to)\s*(?:client|c)\b|\bs2c\b|^\s*(?:<--|<<<?)\s)",
    re.IGNORECASE,
)
_TAGS: Final = re.compile(r"\[([^\[\]]*)\]")
_LEVELS: Final = frozenset({"debug", "info", "warn", "warning", "error", "trace", "notice", "critical", "fatal"})
_BRACKET: Final = re.compile(r"[{\[]\s*[\"{]")
_CUT: Final = re.compile(r"\.\.\.\[\d+ chars truncated\]\.\.\.")
_ID: Final = r'"id"\s*:\s*(?P<id>-?\d+|"(?:[^"\\]|\\.)*")'
_HEAD: Final = re.compile(r'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + r'\s*,\s*"(?P<what>result|error)"\s*:')
_METHOD: Final = re.compile(
    r'^\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*(?:' + _ID + r'\s*,\s*)?"method"\s*:\s*"(?P<method>[^"]+)"'
)
_LAST_ID: Final = re.compile(_ID + r"\s*\}\s*$")
_TRAILER: Final = re.compile(r"\s*\{ metadata: [^{}]*\}\s*$")
_decoder: Final = json.JSONDecoder()


class Said(NamedTuple):
    """One message of a text log: its line, who said it (None: not told), the server's name, the time, the unit."""

    line: int
    side: str | None
    server: str
    at: float | None
    value: Any


def looks_like_text_log(text: str) -> bool:
    """Whether the beginning of a file has lines of this kind with JSON-RPC in them."""
    return any('"jsonrpc"' in line or '"method"' in line for line in text.splitlines() if _WAY.search(line))


def said(source: Source, options: Options) -> Iterator[Said | Skipped]:
    """The messages of a text log. Lines that carry none are reported as asides.

    Raises:
        LogError: a line says that it holds a message, and it does not; not under ``lenient``.
    """
    skipped: list[Skipped] = []
    for number, raw in source.lines(skip=skipped.append if options.lenient else None):
        yield from skipped
        skipped.clear()
        text = raw.decode("utf-8", "replace")
        found = _WAY.search(text)
        if found is None or (start := _BRACKET.search(text, found.end())) is None:
            options.aside(Aside("text of a program", number))
            continue
        value = _unit(text[start.start() :])
        if value is None:
            yield bad(source, options, number, "This line says that it holds a message, and its JSON is broken.")
            continue
        side = CLIENT if found["c2s"] or (found["who"] or "").lower() == CLIENT else SERVER
        tags = [tag for tag in _TAGS.findall(text[: found.start()]) if tag.lower() not in _LEVELS]
        server = next((tag for tag in tags if stamp(tag) is None and any(map(str.isalpha, tag))), "")
        yield Said(number, side, server, stamp(text[: found.start()]), value)
    yield from skipped


def _unit(text: str) -> Any:
    try:
        return _decoder.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return _salvaged(text) if _CUT.search(text) else None


def _salvaged(text: str) -> dict[str, Any] | None:
    """What a unit was that was cut in its middle: its id, and its method or that it was an answer."""
    head = _HEAD.match(text)
    if head is not None:
        return {"jsonrpc": "2.0", "id": json.loads(head["id"]), head["what"]: {}}
    begin = _METHOD.match(text)
    if begin is None:
        return None
    unit: dict[str, Any] = {"jsonrpc": "2.0", "method": begin["method"], "params": {}}
    last = begin if begin["id"] else _LAST_ID.search(_TRAILER.sub("", text))
    if last is not None:
        unit["id"] = json.loads(last["id"])
    return unit
