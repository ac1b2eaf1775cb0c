"""All readers by name, and which one a log is for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Final

from dissensus.errors import LogError, UsageError
from dissensus.say.readers.base import Reader, Source
from dissensus.say.readers.decoding import UTF_16

_HERE: Final = "dissensus.say.readers"

READERS: Final[dict[str, str]] = {
    "own": f"{_HERE}.own:READER",
    "record": f"{_HERE}.record:READER",
    "a2a": f"{_HERE}.a2a:READER",
    "mcp": f"{_HERE}.mcp:READER",
    "fipa-text": f"{_HERE}.fipa_text:READER",
    "spade": f"{_HERE}.spade:READER",
    "otel": f"{_HERE}.otel:OTEL",
    "openinference": f"{_HERE}.otel:OPENINFERENCE",
    "agents-sdk": f"{_HERE}.agents_sdk:AGENTS_SDK",
    "langsmith": f"{_HERE}.langsmith:LANGSMITH",
    "autogen": f"{_HERE}.autogen:READER",
    "agentchat": f"{_HERE}.agentchat:READER",
    "crewai": f"{_HERE}.crewai:READER",
    "metagpt": f"{_HERE}.metagpt:READER",
    "chatdev": f"{_HERE}.chatdev:READER",
    "hyperagent": f"{_HERE}.hyperagent:READER",
    "llmcontract": f"{_HERE}.llmcontract:READER",
    "who-and-when": f"{_HERE}.who_and_when:READER",
    "langchain": f"{_HERE}.langchain:READER",
    "openai-chat": f"{_HERE}.chat:READER",
}
"""Module and attribute of each reader. The order decides between two that are equally sure: the narrower one first."""

ENOUGH: Final = 0.5
"""How sure a reader must be."""


def reader_named(name: str) -> Reader:
    """The reader of a format.

    Raises:
        UsageError: there is none of this name.
    """
    import difflib

    place = READERS.get(name)
    if place is None:
        near = difflib.get_close_matches(name, READERS, n=1, cutoff=0.5)
        known = ", ".join(READERS)
        raise UsageError(
            f"No format is called {name!r}.", next_step=f"Did you mean {near[0]!r}?" if near else f"There are: {known}."
        )
    reader = _loaded(place)
    if reader is None:
        raise UsageError(f"The reader of the format {name!r} is not part of this installation.")
    return reader


def readers() -> Iterator[Reader]:
    """All readers, in the order of :data:`READERS`; one whose module is missing is passed over."""
    for place in READERS.values():
        if (reader := _loaded(place)) is not None:
            yield reader


def _loaded(place: str) -> Reader | None:
    module, attribute = place.split(":")
    try:
        reader: Reader | None = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name != module:  # something else is missing, and that is a fault
            raise
        return None
    return reader


def recognise(source: Source) -> Reader:
    """The reader that is surest of a log.

    Raises:
        LogError: none is sure enough; it says what was looked for.
    """
    best: tuple[float, Reader] | None = None
    looked_for = []
    for reader in readers():
        score = reader.recognise(source)
        if best is None or score > best[0]:
            best = (score, reader)
        looked_for.append(f"{reader.name}: {reader.looks_for}")
    if best is None or best[0] < ENOUGH:
        head = source.head()
        empty = not head.strip()
        if _is_utf_16(head):
            raise LogError(
                "The file is not UTF-8; it looks like UTF-16.",
                path=source.name,
                line=1,
                next_step="Convert it, for instance: iconv -f UTF-16 -t UTF-8.",
            )
        raise LogError(
            "The file is empty."
            if empty
            else "This is no log of a known format. Looked for:\n  " + "\n  ".join(looked_for),
            path=source.name,
            next_step="Check the path." if empty else "If it is one of these, name it with --format.",
        )
    return best[1]


def _is_utf_16(head: bytes) -> bool:
    """Whether a file begins with the mark of that encoding, or has a zero in most of its even or of its odd places."""
    fewer, more = sorted((head[:2_000:2].count(0), head[1:2_000:2].count(0)))
    return head.startswith(UTF_16) or more > max(4, len(head[:2_000]) // 4, 4 * fewer)
