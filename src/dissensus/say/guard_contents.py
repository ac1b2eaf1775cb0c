"""Contents that fulfil conditions: found by trying, for each field, values around every constant that is named.

A condition compares fields with constants, so that between two neighbouring constants nothing changes: one value from
each gap, and the constants themselves, are all the cases there are. Comparing fields with each other is covered as far
as the same values go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise, product
from typing import Any, Final

from dissensus.say.protocol import Guard

MOST_TRIED: Final = 50_000
"""Contents tried; conditions that need more are taken to be possible together."""

_PART = re.compile(
    r"""(?P<text>'[^']*'|"[^"]*")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<field>[^\W\d][\w-]*(?:\.[\w-]+)*)"""
)
_WORDS: Final = frozenset({"and", "or", "not", "in", "true", "false", "null"})
_MISSING: Final = object()


def fulfilling(*guards: Guard | None, against: tuple[Guard, ...] = ()) -> Any:
    """A content that fulfils all of ``guards`` and none of ``against``; None if there is no such.

    Without any condition it is the empty mapping.
    """
    asked = [guard for guard in guards if guard is not None]
    if not asked and not against:
        return {}
    tried = 0
    for content in _contents([guard.text for guard in (*asked, *against)]):
        tried += 1
        if all(guard.holds(content) for guard in asked) and not any(guard.holds(content) for guard in against):
            return content
    return {} if tried >= MOST_TRIED else None


def _contents(texts: list[str]) -> Iterator[Any]:
    fields: dict[str, None] = {}
    numbers: set[float] = set()
    words: dict[str, None] = {}
    for text in texts:
        for match in _PART.finditer(text):
            if match["text"] is not None:
                words.setdefault(match["text"][1:-1])
            elif match["number"] is not None:
                number = float(match["number"])
                numbers.add(int(number) if number.is_integer() and "." not in match["number"] else number)
            elif match["field"] not in _WORDS:
                fields.setdefault(match["field"])
    pool = [_MISSING, *_around(numbers), *_texts(list(words)), True, False]
    paths = sorted((tuple(each.split(".")) for each in fields), key=len)
    if paths == [("content",)]:
        yield from (value for value in pool if value is not _MISSING)
        return
    paths = [path[1:] if path[0] == "content" and len(path) > 1 else path for path in paths if path != ("content",)]
    for values in islice(product(pool, repeat=len(paths)), MOST_TRIED):
        yield _content(list(zip(paths, values, strict=True)))


def _around(numbers: set[float]) -> Iterator[float]:
    ordered = sorted(numbers) or [0]
    yield ordered[0] - 1
    yield from ordered
    yield from ((low + high) / 2 for low, high in pairwise(ordered))
    yield ordered[-1] + 1


def _texts(words: list[str]) -> Iterator[str]:
    yield from words
    yield from (word + "~" for word in words)
    if "" not in words:
        yield ""


def _content(values: list[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for path, value in values:
        if value is _MISSING:
            continue
        here = content
        for name in path[:-1]:
            inner = here.get(name)
            if not isinstance(inner, dict):
                inner = here[name] = {}
            here = inner
        here[path[-1]] = value
    return content
