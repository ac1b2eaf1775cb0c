"""Conditions on a message's content: what stands behind ``when:`` in a protocol file.

::

    condition = either {"or" either};  either = single {"and" single}
    single    = "not" single | "(" condition ")" | value [compares value | ["not"] "in" list]
    compares  = "==" | "!=" | "<" | "<=" | ">" | ">="
    value     = number | 'text' | "text" | true | false | null | field
    list      = "[" value {"," value} "]"

A field is a path into the content: ``price``, ``order.total``; ``content`` alone is all of it. A field alone holds if
it is there and is neither false, null, 0 nor empty. A comparison with a field that is missing, or of values that have
no order between them, does not hold (so ``not (price > 3)`` holds where there is no price).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dissensus.say.protocol import Guard

DEEPEST: Final = 30
"""Most brackets and ``not`` inside each other."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<text>'[^']*'|"[^"]*")"""
    r"""|(?P<field>[^\W\d][\w-]*(?:\.[\w-]+)*)|(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,))"""
)
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_SIGNS: Final = ("==", "!=", "<", "<=", ">", ">=")
_MISSING: Final = object()

Value = Callable[[Any], Any]
Test = Callable[[Any], bool]


class GuardError(ValueError):
    """A condition that cannot be read; its text says why."""


def compile_guard(text: str) -> Guard:
    """The condition written as ``text``.

    Raises:
        GuardError: it is not one.
    """
    parser = _Parser(_tokens(text))
    test = parser.either()
    if parser.here is not None:
        raise GuardError(f"{parser.here[1]!r} is not expected here")
    return Guard(" ".join(text.split()), test)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise GuardError(f"{text[at:].split()[0][:20]!r} is not expected here")
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
    return found


class _Parser:
    """Recursive descent over tokens; each method returns a test or a value of the content."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    @property
    def here(self) -> tuple[str, str] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def ahead(self, *words: str) -> bool:
        """Whether the next token is a sign or word of ``words``; a text in quotes never is."""
        here = self.here
        return here is not None and here[0] != "text" and here[1] in words

    def take(self, word: str) -> None:
        if not self.ahead(word):
            raise GuardError(f"{word!r} is missing" + (f" before {self.here[1]!r}" if self.here else " at the end"))
        self.at += 1

    def either(self) -> Test:
        tests = [self.both()]
        while self.ahead("or"):
            self.at += 1
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda content: any(test(content) for test in tests)

    def both(self) -> Test:
        tests = [self.single()]
        while self.ahead("and"):
            self.at += 1
            tests.append(self.single())
        return tests[0] if len(tests) == 1 else lambda content: all(test(content) for test in tests)

    def single(self) -> Test:
        self.depth += 1
        if self.depth > DEEPEST:
            raise GuardError(f"it is nested more than {DEEPEST} deep")
        try:
            if self.ahead("not"):
                self.at += 1
                inner = self.single()
                return lambda content: not inner(content)
            if self.ahead("("):
                self.at += 1
                inner = self.either()
                self.take(")")
                return inner
            return self.comparison()
        finally:
            self.depth -= 1

    def comparison(self) -> Test:
        left = self.value()
        here = self.here
        if here is not None and here[0] == "sign" and here[1] in _SIGNS:
            self.at += 1
            sign, right = here[1], self.value()
            return lambda content: _compare(sign, left(content), right(content))
        wanted = True
        if self.ahead("not"):
            self.at += 1
            wanted = False
            if not self.ahead("in"):
                raise GuardError("'in' is missing after 'not'")
        if self.ahead("in"):
            self.at += 1
            values = self.list()
            return lambda content: _is_among(left(content), [value(content) for value in values]) is wanted
        return lambda content: (found := left(content)) is not _MISSING and bool(found)

    def list(self) -> list[Value]:
        self.take("[")
        values = [self.value()]
        while self.ahead(","):
            self.at += 1
            values.append(self.value())
        self.take("]")
        return values

    def value(self) -> Value:
        here = self.here
        if here is None:
            raise GuardError("it ends too early")
        kind, text = here
        if kind == "sign" or (kind == "field" and text in ("and", "or", "not", "in")):
            raise GuardError(f"{text!r} is not expected here")
        self.at += 1
        if kind == "field" and text not in _WORDS:
            path = tuple(text.split("."))
            return lambda content: _field(content, path)
        known = _WORDS[text] if kind == "field" else text[1:-1] if kind == "text" else _number(text)
        return lambda _content: known


def _number(text: str) -> float | int:
    if len(text) > 100:  # so long a text would cost, or be refused, as a whole number
        raise GuardError(f"{text[:20]}… is too long for a number")
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _field(content: Any, path: tuple[str, ...]) -> Any:
    """What stands at ``path``; a content that is no mapping has only ``content``."""
    if path[0] == "content" and not (isinstance(content, Mapping) and "content" in content):
        path = path[1:]
    for name in path:
        if not isinstance(content, Mapping) or name not in content:
            return _MISSING
        content = content[name]
    return content


def _compare(sign: str, left: Any, right: Any) -> bool:
    if left is _MISSING or right is _MISSING:
        return False
    if sign in ("==", "!="):
        return _same(left, right) is (sign == "==")
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if not (isinstance(left, int | float) and isinstance(right, int | float)) and not (
        isinstance(left, str) and isinstance(right, str)
    ):
        return False
    lower: bool = left < right  # type: ignore[operator]  # both numbers or both texts, by the tests above
    if sign == "<":
        return lower
    if sign == "<=":
        return lower or left == right
    higher: bool = left > right  # type: ignore[operator]
    return higher if sign == ">" else higher or left == right


def _same(left: Any, right: Any) -> bool:
    """Equality in which true is not 1."""
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _is_among(value: Any, values: list[Any]) -> bool:
    return value is not _MISSING and any(other is not _MISSING and _same(value, other) for other in values)
