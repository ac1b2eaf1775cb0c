"""Entries of JSON logs, whatever way they are laid out, with the line that each stands in.

One object a line; one list of objects; objects that are spread over several lines, one after the other (what printing
exporters write); one object that holds everything. Readers of frameworks' logs share this and decide what an entry is.

Two rules hold in all of them. What is no JSON, or no object where an object must be, is an error with its line (under
``lenient`` it is skipped and counted). What is an object, but says less than its kind should, is a message without a
tag: one odd entry must not cost the rest of the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from dissensus.errors import LogError
from dissensus.say.readers.base import Options, Skipped, Source
from dissensus.say.readers.decoding import decode
from dissensus.say.readers.times import seconds

_BOM: Final = b"\xef\xbb\xbf"
_TRIES: Final = 3
"""How often a closing brace in the first column is tried as the end of an object. Objects that are printed without
indentation have many of them, and trying each would take quadratic time."""
_JSON_BEGINS: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*(?:[{\[\]]|\Z))")
_STAMP: Final = re.compile(
    r"\[?(?P<day>\d{4}-\d\d-\d\d)[ T](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d+))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a log: its line from 1 (0 within one large document), its place there, and itself."""

    line: int
    where: str
    value: dict[str, Any]


def entries(source: Source, options: Options) -> Iterator[Entry | Skipped]:
    """All objects of a JSON log in their order, as a stream where its layout allows that.

    Raises:
        LogError: what is no object, at its line; nothing is raised under ``lenient`` but for a document that is
            broken as a whole.
    """
    skipped: list[Skipped] = []
    lines = source.lines(skip=skipped.append if options.lenient else None)
    number, first = next(lines, (0, b""))
    if not (whole := first.removeprefix(_BOM).strip()):
        number, first = next(lines, (0, b""))
        whole = first.strip()
    if not whole:
        yield from skipped
        return
    if _decoded(whole) is not None or whole[-1:] not in (b"{", b"[", b","):
        yield from _each_line(source, options, number, whole, lines)
    elif whole == b"{":
        yield from _spread(source, options, number, whole, lines)
    else:
        try:
            whole_file = source.document()
        except LogError:
            if not options.lenient:
                raise
            yield from _each_line(source, options, number, whole, lines)
        else:
            yield from _objects(source, options, 0, "", whole_file)
    yield from skipped


def decode_line(source: Source, line: int, raw: bytes) -> Any:
    """The JSON value of one line, or an error that names the line."""
    try:
        return decode(raw)
    except ValueError as error:
        raise source.wrong(line, f"This line is no JSON: {error}.") from None


def decode_text(source: Source, line: int, raw: bytes) -> str:
    """The text of one line, or an error that names the line."""
    try:
        return raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise source.wrong(line, f"This line is not encoded as UTF-8: {error.reason}.") from None


def reason(error: LogError) -> str:
    """What is wrong, without the place that the error's message begins with."""
    return error.message.removeprefix(f"{error.path}:{error.line}: ").removeprefix(f"{error.path}: ")


def refuse(source: Source, options: Options, line: int, message: str, where: str = "") -> Skipped:
    """What to do with an entry that cannot be read: raise the error, or, under ``lenient``, say that it is skipped."""
    full = f"{where} {message}" if where else f"{message[:1].upper()}{message[1:]}"
    if not options.lenient:
        raise source.wrong(line, full)
    return Skipped(line, full, where)


def _each_line(
    source: Source, options: Options, number: int, first: bytes, rest: Iterable[tuple[int, bytes]]
) -> Iterator[Entry | Skipped]:
    def every() -> Iterator[tuple[int, bytes]]:
        yield number, first
        yield from rest

    for line, raw in every():
        try:
            value = decode_line(source, line, raw)
        except LogError as error:
            if not options.lenient:
                raise
            yield Skipped(line, reason(error))
            continue
        yield from _objects(source, options, line, "", value)


def _spread(
    source: Source, options: Options, number: int, first: bytes, rest: Iterable[tuple[int, bytes]]
) -> Iterator[Entry | Skipped]:
    """Objects over several lines: each ends at a brace in the first column."""
    held, begins, tries = [first], number, 0
    for line, raw in rest:
        if not held:
            begins, tries = line, 0
        held.append(raw)
        if raw.rstrip().rstrip(b",") == b"}" and raw[:1] == b"}" and tries < _TRIES:
            tries += 1
            value = _decoded(b"\n".join(held).strip().rstrip(b","))
            if value is not None:
                yield from _objects(source, options, begins, "", value[0])
                held = []
    if held:
        try:
            value = decode_line(source, begins, b"\n".join(held))
        except LogError as error:
            if not options.lenient:
                raise source.wrong(begins, "The object that begins here is no JSON, or is cut off.") from None
            yield Skipped(begins, reason(error))
        else:
            yield from _objects(source, options, begins, "", value)


def _objects(source: Source, options: Options, line: int, where: str, value: Any) -> Iterator[Entry | Skipped]:
    if isinstance(value, dict):
        yield Entry(line, where, value)
        return
    if isinstance(value, list) and not where:
        for index, item in enumerate(value):
            yield from _objects(source, options, line, f"[{index}]", item)
        return
    yield refuse(source, options, line, "is no JSON object." if where else "this is no JSON object.", where)


def _decoded(raw: bytes) -> tuple[Any] | None:
    """The value in a tuple, for a JSON null is a value too."""
    try:
        return (decode(raw),)
    except ValueError:
        return None


def is_json(head: bytes) -> bool:
    """Whether a file that begins so can be JSON; a text whose lines begin with ``[2023-…`` is none."""
    return _JSON_BEGINS.match(head) is not None


def has_keys(head: bytes, *keys: str) -> bool:
    """Whether all these keys stand in the beginning of a JSON file. What is quoted inside a text does not count."""
    return all(re.search(rb'(?<!\\)"' + re.escape(key.encode()) + rb'"\s*:', head) for key in keys)


def has_value(head: bytes, key: str, pattern: str) -> bool:
    """Whether a key has a string value that matches in the beginning of a JSON file."""
    return (
        re.search(rb'(?<!\\)"' + re.escape(key.encode()) + rb'"\s*:\s*"(?:' + pattern.encode() + rb')"', head)
        is not None
    )


def text(value: Any, otherwise: str = "") -> str:
    """A name as it stands in a log: a text that is not blank, or a number; else ``otherwise``."""
    if isinstance(value, str):
        return value.strip() or otherwise
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return otherwise


def table(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def stamp(prefix: str) -> float | None:
    """The time that a line of a text log begins with, in seconds since 1970-01-01 UTC; None if with none.

    What loggers write: ``2026-02-21 01:55:13,928``, in brackets or not. Without a zone it is taken as UTC.
    """
    found = _STAMP.search(prefix)
    if found is None:
        return None
    return seconds(f"{found['day']}T{found['clock']}.{(found['part'] or '0')[:6]}{found['zone'] or ''}")
