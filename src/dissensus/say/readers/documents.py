"""JSON out of logs that others wrote: lines, documents, the line of every part, and what is left of a cut file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from dissensus.say.readers.base import LONGEST_LINE, Options, Skipped, Source
from dissensus.say.readers.decoding import decode

_BOM: Final = b"\xef\xbb\xbf"
_MOST_SEEN: Final = 2_000
"""Most parts of a file's beginning that :func:`find` looks at."""


def json_lines(source: Source, options: Options) -> Iterator[tuple[int, Any] | Skipped]:
    """Line numbers and values of a file with one JSON value per line.

    Raises:
        LogError: a line is none, and reading is not lenient.
    """
    skipped: list[Skipped] = []
    for number, line in source.lines(skip=skipped.append if options.lenient else None):
        yield from skipped
        skipped.clear()
        raw = line.removeprefix(_BOM) if number == 1 else line
        try:
            value = decode(raw)
        except ValueError as error:
            why = f"This line is no JSON: {error}."
            if not options.lenient:
                raise source.wrong(number, why) from None
            yield Skipped(number, why)
            continue
        yield number, value
    yield from skipped


class Document:
    """A file that is one JSON document, read whole. Its parts know their lines.

    Under ``lenient``, of a document that breaks off only what is complete is taken: ``cut`` says where it breaks off.

    Args:
        source, options: what to read, and how.
        lists: keys of the lists that hold entries. Of a broken document, the entries that are complete are kept.

    Raises:
        LogError: it is no document, and nothing of it can be kept.
    """

    def __init__(self, source: Source, options: Options, lists: frozenset[str]) -> None:
        self.cut: Skipped | None = None
        self._data = raw = source.whole()
        self._counted, self._line = 0, 1
        self._kept: tuple[tuple[str | int, ...], list[tuple[int, bytes]]] | None = None
        try:
            self.value = decode(raw)
        except ValueError as error:
            why = f"This is no JSON document: {error}."
            kept = complete_part(raw.decode("utf-8", "replace"), lists) if options.lenient else None
            raw = (kept or "").encode()
            try:
                self.value = decode(raw)
            except ValueError:
                raise source.wrong(self._broken_at(str(error)), why) from None
            self.cut = Skipped(self._data.count(b"\n") + 1, "The document breaks off; what was complete was read.")
        self._raw = raw

    def _broken_at(self, message: str) -> int:
        digits = message.rpartition("(byte ")[2].rstrip(")")
        return self._data.count(b"\n", 0, int(digits) if digits.isdigit() else len(self._data)) + 1

    def entries(self, *path: str | int) -> Iterator[tuple[int, Any]]:
        """Lines and values of the list at ``path``; line 0 where it cannot be told. No list: nothing."""
        value = self.value
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return
        if not isinstance(value, list):
            return
        lines = self._lines_of(path)
        for at, inner in enumerate(value):
            yield (lines[at] if at < len(lines) else 0), inner

    def _lines_of(self, path: tuple[str | int, ...]) -> list[int]:
        """Lines of the elements of the list at ``path``."""
        try:
            return [self._line_at(at) for at, _ in self._elements(path)]
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, IndexError, RecursionError):
            return []

    def _elements(self, path: tuple[str | int, ...]) -> list[tuple[int, bytes]]:
        """Places and bytes of the elements of the list at ``path``: each is looked for behind the one before it."""
        at, raw = self._value(path)
        found, inside = [], 1
        for part in msgspec.json.decode(raw, type=list[msgspec.Raw]):
            element = bytes(part)
            inside = raw.find(element, inside)
            found.append((at + inside, element))
            inside += len(element)
        return found

    def _value(self, path: tuple[str | int, ...]) -> tuple[int, bytes]:
        """Place and bytes of the value at ``path``."""
        if not path:
            return 0, self._raw
        if isinstance(path[-1], int):
            return self._listed(path[:-1])[path[-1]]
        at, raw = self._value(path[:-1])
        inner = bytes(msgspec.json.decode(raw, type=dict[str, msgspec.Raw])[path[-1]])
        return at + max(raw.find(inner, _after_key(raw, path[-1])), 0), inner

    def _listed(self, path: tuple[str | int, ...]) -> list[tuple[int, bytes]]:
        """As :meth:`_elements`; the last list that was asked for is kept, for its elements are asked for one by one."""
        if self._kept is None or self._kept[0] != path:
            self._kept = (path, self._elements(path))
        return self._kept[1]

    def _line_at(self, offset: int) -> int:
        if offset < self._counted:
            self._counted, self._line = 0, 1
        self._line += self._data.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._line


def _after_key(raw: bytes, key: str) -> int:
    """Where to look for the value of ``key``: behind the first place that looks like the key."""
    found = re.search(rb'"' + re.escape(key.encode()) + rb'"\s*:', raw)
    return found.end() if found else 0


_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:"]|[^\s{}\[\],:"]+', re.DOTALL)


def complete_part(text: str, lists: frozenset[str] | None = None) -> str | None:
    """The longest beginning of a JSON text that ends behind a complete element, with its brackets closed.

    Args:
        text: a document that breaks off anywhere.
        lists: only elements of the outermost list and of lists under these keys count; None: of any list or mapping.

    Returns:
        A text that decodes where ``text`` was well-formed as far as it goes; None if nothing in it is complete.
    """
    stack: list[tuple[str, bool]] = []  # what closes it; whether its elements are entries
    cut, closing = 0, ""
    key, before = "", ""
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == '"':  # a text that never ends
            break
        if word in "[{":
            within = word == "[" and (not stack or key in (lists or ()))
            stack.append(("]" if word == "[" else "}", lists is None or within))
            key = ""
        elif word in "]}":
            if not stack:
                return None
            stack.pop()
            if not stack:
                return text[: token.end()]
        elif word == ",":
            key = ""
        elif word == ":":
            key = before.strip('"')
        before = word
        if word in "[{]}," and stack and stack[-1][1]:
            cut = token.start() if word == "," else token.end()
            closing = "".join(closes for closes, _ in reversed(stack))
    return text[:cut] + closing if cut else None


@lru_cache(maxsize=2)
def _beginning(head: bytes) -> tuple[bool, tuple[Any, ...]]:
    raw = head.removeprefix(_BOM)
    if raw.lstrip()[:1] not in (b"{", b"["):
        return False, ()
    found = []
    lines = raw.split(b"\n")
    for number, line in enumerate(lines if len(lines) == 1 or raw.endswith(b"\n") else lines[:-1]):
        if not line.strip():
            continue
        try:
            found.append(decode(line))
        except ValueError:
            if number or len(line) < 3:  # a first line may be the rest of one that was cut off
                break
        if len(found) == 64:
            break
    if found:
        return True, tuple(found)
    try:
        whole = decode(raw)
    except ValueError:
        part = complete_part(raw.decode("utf-8", "replace"))
        try:
            whole = decode((part or "").encode())
        except ValueError:
            return False, ()
    return False, (whole,)


def beginning(source: Source) -> tuple[bool, tuple[Any, ...]]:
    """What a file begins with: whether it has one JSON value per line, and the first values (one, if a document).

    Of what is longer than the head of the file, the part that is there.
    """
    return _beginning(source.head())


def is_lines(source: Source) -> bool:
    """Whether a file has one JSON value per line, rather than being one document laid out over lines.

    Looks at the first two lines that are not blank: the first may be the rest of one that was cut off.
    """
    number = -1
    with source.opens() as stream:
        for raw in iter(lambda: stream.readline(LONGEST_LINE), b""):
            line = raw.removeprefix(_BOM).strip()
            if not line:
                continue
            number += 1
            if number == 2:
                break
            try:
                if isinstance(decode(line), (dict, list)):
                    return True
            except ValueError:
                if number or len(line) < 3:
                    return False
    return False


def find(value: Any, depth: int = 8) -> Iterator[dict[str, Any]]:
    """The mappings in ``value``, outer ones first, as deep as ``depth`` and at most some thousands of them."""
    level, seen = [value], 0
    for _ in range(depth):
        below: list[Any] = []
        for inner in level:
            seen += 1
            if seen > _MOST_SEEN:
                return
            if isinstance(inner, dict):
                yield inner
                below.extend(inner.values())
            elif isinstance(inner, list):
                below.extend(inner[:64])
        level = [inner for inner in below if isinstance(inner, (dict, list))]


def bad(source: Source, options: Options, line: int, why: str, where: str = "") -> Skipped:
    """What to yield for an entry that is wrong.

    Raises:
        LogError: reading is not lenient.
    """
    if not options.lenient:
        raise source.wrong(line, f"{where}: {why}" if where else why)
    return Skipped(line, why, where)
