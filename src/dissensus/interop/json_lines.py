"""JSON lines: one object a line, a vote or a question; answers as keys, or under ``answers``, ``votes``, ``resps``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dissensus.errors import SpecError
from dissensus.interop.rows import ABSENT, BLOCK, Rows, no_blocks

NESTED = ("answers", "votes", "responses", "resps", "ballots", "samples")
USUAL = 0.9
"""Share of questions with the same number of ballots from which on a surplus ballot is a vote too many."""

_decode = msgspec.json.Decoder().decode


def open_json_lines(path: str) -> Rows:
    """The objects of a file of JSON lines (or of one JSON list of objects) as rows.

    Raises:
        SpecError: it cannot be read, a line is no object, or there is none.
    """
    keys: dict[str, None] = {}
    inner: dict[str, dict[str, None]] = {}
    lengths: dict[str, Counter[int]] = {}
    for _, record in records(path):
        keys.update(dict.fromkeys(record))
        for name in NESTED:
            value = record.get(name)
            if isinstance(value, Mapping):
                inner.setdefault(name, {}).update(dict.fromkeys(map(str, value)))
            elif isinstance(value, list):
                lengths.setdefault(name, Counter())[len(value)] += 1
    if not keys:
        raise SpecError("The file holds no object.", path=path, next_step="Write one JSON object on each line.")
    nested = next((name for name in NESTED if name in inner or name in lengths), "")
    rows = Rows(path=path, format="JSON lines", header=[], blocks=no_blocks)
    if nested and nested in inner and nested not in lengths:
        rows.voters = tuple(inner[nested])
    elif nested and nested not in inner:
        rows.voters = tuple(str(place + 1) for place in range(_ballots(lengths[nested], rows)))
    elif nested:
        raise SpecError(
            f"The key {nested!r} holds lists on some lines and objects on others.",
            path=path,
            next_step="Choose one form.",
        )
    plain = [key for key in keys if key != nested]
    clash = sorted(set(plain) & set(rows.voters))
    if clash:
        raise SpecError(
            f"{clash[0]!r} is a key of the line and a voter in {nested!r}.", path=path, next_step="Rename one."
        )
    rows.header = [*plain, *rows.voters]
    rows.blocks = lambda: _blocks(path, plain, nested, rows)
    return rows


def _ballots(lengths: Counter[int], rows: Rows) -> int:
    """How many ballots a question has: the usual number, or the largest where numbers vary."""
    usual, many = lengths.most_common(1)[0]
    total = sum(lengths.values())
    if len(lengths) == 1 or many < USUAL * total:
        return max(lengths)
    more = sum(count for length, count in lengths.items() if length > usual)
    if more:
        rows.notes.append(
            f"{more:,} of {total:,} questions hold more ballots than the {usual} of all others: one voter has one "
            f"vote, and the first {usual} are counted."
        )
    return usual


def _blocks(path: str, plain: list[str], nested: str, rows: Rows) -> Iterator[tuple[int, Sequence[Sequence[Any]]]]:
    block: list[list[Any]] = []
    rows.duplicates = 0
    start = 1
    for line, record in records(path):
        if not block:
            start = line
        row = [record.get(key, ABSENT) for key in plain]
        if nested:
            value = record.get(nested)
            if isinstance(value, Mapping):
                row += [value.get(voter, ABSENT) for voter in rows.voters]
            else:
                listed = value if isinstance(value, list) else []
                rows.duplicates += max(0, len(listed) - len(rows.voters))
                row += [listed[place] if place < len(listed) else ABSENT for place in range(len(rows.voters))]
        block.append(row)
        if len(block) == BLOCK:
            yield start, list(zip(*block, strict=True))
            block = []
    if block:
        yield start, list(zip(*block, strict=True))


def records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line that is not empty."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
            file.seek(0)
            if first.startswith(b"["):
                yield from _listed(file.read(), path)
                return
            for number, line in enumerate(file, 1):
                if text := line.strip().removeprefix(b"\xef\xbb\xbf"):
                    yield number, _object(text, path, number)
    except OSError as problem:
        raise SpecError(
            f"The file cannot be read: {os.strerror(problem.errno or 0)}.", path=path, next_step="Check the path."
        ) from None


def _listed(raw: bytes, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    value = decoded(raw.removeprefix(b"\xef\xbb\xbf"), path, 1)
    for place, item in enumerate(value, 1):
        if not isinstance(item, dict):
            raise SpecError(f"Item {place} of the list is no object.", path=path, next_step="List objects only.")
        yield place, item


def _object(text: bytes, path: str, line: int) -> dict[str, Any]:
    value = decoded(text, path, line)
    if not isinstance(value, dict):
        raise SpecError(
            "The line is no JSON object.", path=path, line=line, next_step="Write one JSON object on each line."
        )
    return value


def decoded(text: bytes, path: str, line: int) -> Any:
    """A JSON value; NaN and infinities, which are no JSON, are read as Python's writer writes them.

    Raises:
        SpecError: it is no JSON; the message says where.
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        if any(word in text for word in (b"NaN", b"Infinity")):
            import json

            try:
                return json.loads(text)
            except ValueError:
                pass
        raise SpecError(
            f"The line is not JSON: {problem}.", path=path, line=line, next_step="Write one JSON object on each line."
        ) from None
