"""Files of questions with right answers, as tasks. Whatever is wrong with a file is one sentence with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dissensus.errors import SpecError
from dissensus.study.tasks.formats import FORMATS, Format, ItemError, format_of
from dissensus.study.tasks.task import Task

MOST_BYTES: Final = 200_000_000


def read_tasks(path: str | Path, *, format: str = "auto", name: str = "") -> list[Task]:  # noqa: A002 - the field's word
    """The tasks in a file: JSON Lines, a JSON array, or an object with the list ``examples``.

    Args:
        path: the file.
        format: one of :data:`~dissensus.study.tasks.formats.FORMATS`; ``auto`` tells it by the keys of the first item.
        name: the set's name, the first part of each task's id; if not given, the file's name without endings, or that
            of the format where the file is called ``test``, ``dev`` and the like.

    Raises:
        SpecError: the file cannot be read, or an item is not of the format; with the line, or the item's place from 0.
    """
    where = str(path)
    items = list(_items(_text(Path(path)), where))
    if not items:
        raise SpecError("The file holds no question.", path=where, next_step="Give a file of questions with answers.")
    chosen = _format(format, items[0][1], where)
    stem = Path(path).name.partition(".")[0]
    name = name or (chosen.name if stem in {"test", "dev", "train", "validation"} else stem)
    tasks: list[Task] = []
    seen: dict[str, int] = {}
    for place, (line, item) in enumerate(items):
        given = item.get("id") if chosen.name == "plain" else None
        task_id = f"{name}/{place if given in (None, '') else given}"
        if seen.setdefault(task_id, place) != place:
            raise _wrong(f"the id {given!r} stands in item {seen[task_id]} already", where, line, place)
        try:
            tasks.append(chosen.read(item, task_id))
        except ItemError as problem:
            raise _wrong(f"as {chosen.name}, {problem}", where, line, place) from None
    return tasks


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        why = error.strerror or error
        raise SpecError(f"The data set cannot be read: {why}.", path=str(path), next_step="Check the path.") from None
    if len(raw) > MOST_BYTES:
        raise SpecError(f"The file is larger than {MOST_BYTES:,} bytes.", path=str(path), next_step="Split it.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError("The file is not UTF-8.", path=str(path), line=line, next_step="Save it as UTF-8.") from None


def _items(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Items with the lines on which they stand; 0 where one document holds them all."""
    document = _document(text)
    if document is not None:
        for place, item in enumerate(document):
            if not isinstance(item, dict):
                raise _wrong("it is no object", where, 0, place)
            yield 0, item
        return
    for place, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as problem:
            why = str(problem).partition(":")[0]
            raise SpecError(
                f"The line is not JSON: {why}.", path=where, line=place, next_step="Write one JSON object on each line."
            ) from None
        if not isinstance(item, dict):
            raise SpecError("The line is no object.", path=where, line=place, next_step="Write it as {…}.")
        yield place, item


def _document(text: str) -> list[Any] | None:
    """The items of a file that is one JSON document; None if it is none, or has one object a line."""
    start = text.lstrip()[:1]
    if start not in {"[", "{"}:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        examples = data.get("examples")
        return examples if isinstance(examples, list) else [data]
    return data if isinstance(data, list) else None


def _format(named: str, first: dict[str, Any], where: str) -> Format:
    if named != "auto":
        if named not in FORMATS:
            known = ", ".join(FORMATS)
            raise SpecError(f"There is no format {named!r} of data sets.", next_step=f"Known are {known}, and auto.")
        return FORMATS[named]
    found = format_of(first)
    if found is None:
        keys = ", ".join(sorted(first)[:6])
        raise SpecError(
            f"The format cannot be told: the first item has the keys {keys}.",
            path=where,
            next_step='Name the format, or write objects such as {"question": "…", "gold": "…"}.',
        )
    return found


def _wrong(what: str, where: str, line: int, place: int) -> SpecError:
    here = "" if line else f"Item {place}: "
    return SpecError(f"{here}{what}.", path=where, line=line, next_step="Correct it, or name another format.")
