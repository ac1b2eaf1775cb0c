"""The first wrong step of a text, and how a text is divided into steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BREAK = re.compile(r"\n|(?<=[.;!?])[ \t]+|(?=\(\d{1,3}\)[ \t])")
_LABEL = re.compile(r"[\s*_#>-]{0,8}(?:step\s{0,2})?\(?(\d{1,3})(?:\)|[.:](?=\s|$))", re.IGNORECASE)
_ONLY_LABEL = re.compile(r"[\s*_#>-]{0,8}(?:step\s{0,2})?\d{1,3}\.", re.IGNORECASE)
MOST_STEPS = 5000
"""Steps of one text that are looked at."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A step that is wrong.

    Args:
        start: its place in the text, in characters.
        stop: the place behind it; what stands before ``start`` was looked at and is not wrong.
        written: the step as it stands there.
        why: what is wrong with it, in words.
    """

    start: int
    stop: int
    written: str
    why: str


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a text that can be judged by itself. ``label`` is the number that it carries; None if it has none."""

    start: int
    stop: int
    text: str
    label: int | None


def steps_of(text: str, *, finished: bool) -> Iterator[Step]:
    """The lines and sentences of ``text``; what is still being written at its end only if it is ``finished``."""
    start = 0
    places = [match for match, _ in zip(_BREAK.finditer(text), range(MOST_STEPS), strict=False)]
    for match in places:
        part = text[start : match.start()]
        if match[0].isspace() and match[0] != "\n" and _ONLY_LABEL.fullmatch(part):
            continue
        if part.strip():
            yield _step(text, start, match.start())
        start = match.end()
    if finished and text[start:].strip() and len(places) < MOST_STEPS:
        yield _step(text, start, len(text))


def _step(text: str, start: int, stop: int) -> Step:
    part = text[start:stop]
    label = _LABEL.match(part)
    return Step(start, stop, part, int(label[1]) if label else None)
