"""Expressions in round brackets, as FIPA and KQML messages are written: words, strings, lists."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_MARK: Final = re.compile(r'[()"#]')
_COUNTED: Final = re.compile(r'#(\d{1,9})"')
_IN_TEXT: Final = re.compile(r'["\\]')
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SETS: Final = frozenset({"set", "sequence"})
_AGENTS: Final = frozenset({"agent-identifier", "agent-identifiers", "aid", "agent"})
_NESTED: Final = 8


class Broken(ValueError):
    """An expression that is none, and why."""


class Scanner:
    """Finds where a list ends that comes in pieces; each character is looked at once."""

    __slots__ = ("_count", "_quoted", "depth")

    def __init__(self) -> None:
        self.depth = 0
        """How many lists are open."""
        self._quoted = False
        self._count = 0
        """Characters still to come of a string whose length is given."""

    def feed(self, piece: str, at: int = 0) -> int:
        """The place in ``piece`` where the list ends; 0 if not in this piece. It begins with the first bracket."""
        while at < len(piece):
            if self._count:
                step = min(self._count, len(piece) - at)
                self._count -= step
                at += step
            elif self._quoted:
                at = _end_of_text(piece, at)
                if at < 0:
                    return 0
                self._quoted = False
            else:
                found = _MARK.search(piece, at)
                if found is None:
                    return 0
                mark, at = found[0], found.end()
                if mark == "(":
                    self.depth += 1
                elif mark == ")":
                    self.depth -= 1
                    if self.depth <= 0:
                        return at
                elif mark == '"':
                    self._quoted = True
                elif counted := _COUNTED.match(piece, found.start()):
                    self._count, at = int(counted[1]), counted.end()
        return 0


def elements(written: str) -> list[str]:
    """What stands in a list, each element as it is written.

    Raises:
        Broken: it is no list, or does not end where it should.
    """
    body = written.strip()
    if not (body.startswith("(") and body.endswith(")")):
        raise Broken("it is no list in brackets")
    found, at, last = [], 1, len(body) - 1
    while at < last:
        if body[at].isspace():
            at += 1
            continue
        end = _end(body, at)
        if end > last:
            raise Broken("a bracket or a quotation mark is not closed")
        found.append(body[at:end])
        at = end
    if not found:
        raise Broken("the brackets are empty")
    return found


def _end(body: str, at: int) -> int:
    """Where the element that begins at ``at`` ends."""
    mark = body[at]
    if mark == "(":
        return Scanner().feed(body, at) or len(body) + 1
    if mark == '"':
        end = _end_of_text(body, at + 1)
        return end if end >= 0 else len(body) + 1
    if counted := _COUNTED.match(body, at):
        return counted.end() + int(counted[1])
    if mark == ")":
        raise Broken("a bracket is closed that was not opened")
    end = at
    while end < len(body) and not body[end].isspace() and body[end] not in "()":
        end += 1
    return end


def _end_of_text(written: str, at: int) -> int:
    """Where a string ends whose inside begins at ``at``; -1: not here."""
    while found := _IN_TEXT.search(written, at):
        if found[0] == '"':
            return found.end()
        at = found.end() + 1
    return -1


def plain(element: str) -> str:
    """The text of an element: a string without its marks, anything else as it is written."""
    if element.startswith('"') and element.endswith('"') and len(element) > 1:
        return _ESCAPED.sub(r"\1", element[1:-1])
    if counted := _COUNTED.match(element):
        return element[counted.end() :]
    return element


def names(element: str, depth: int = 0) -> list[str]:
    """The names of the agents in an element: a word, an agent identifier, a set or a sequence of them.

    Raises:
        Broken: it is a list of something else.
    """
    if not element:
        return []
    if not element.startswith("("):
        return [plain(element)]
    if depth > _NESTED:
        raise Broken("agents are nested too deeply")
    try:
        parts = elements(element)
    except Broken:
        if element.strip()[1:-1].strip():
            raise
        return []
    head = parts[0].lower()
    if head in _AGENTS:
        for key, value in pairwise(parts):
            if key.lower() == ":name":
                return [plain(value)]
        raise Broken("an agent identifier has no :name")
    rest = parts[1:] if head in _SETS else parts
    return [name for part in rest for name in names(part, depth + 1)]
