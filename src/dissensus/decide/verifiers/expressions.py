"""Plain arithmetic as it is written in running text: what one line holds, and what an expression comes to, exactly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Kind = Literal["number", "operator", "open", "close", "equals", "word", "other"]

_TOKEN = re.compile(
    r"(?P<number>(?:[$€£¥]\s?)?(?:[0-9]{1,3}(?:,[0-9]{3})++(?![0-9])|[0-9]++)(?:\.[0-9]++)?%?|(?:[$€£¥]\s?)?\.[0-9]++%?)"
    r"|(?P<word>[A-Za-z_][A-Za-z_0-9']*+)"
    r"|(?P<tex>\\[A-Za-z]+)"
    r"|(?P<other>[<>!:]=|=>|->)"
    r"|(?P<equals>==?)"
    r"|(?P<operator>\*\*|[-+*/×÷·^−–])"
    r"|(?P<open>\()|(?P<close>\))"
    r"|(?P<space>\s+)|(?P<rest>.)",
    re.DOTALL,
)
_TIMES = re.compile(r"[xX](?=\s{0,2}[$€£¥]?\s?[0-9(.])")
_PLAIN = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "**": "^", "\\times": "*", "\\cdot": "*", "\\div": "/"}
_LONGEST_NUMBER = 40
_LARGEST_POWER = 64
_DEEPEST = 40
MOST_TOKENS = 200
"""Tokens of an expression beyond which it is not worked out."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a line. ``value`` of a number is what it says, its percent sign not regarded."""

    kind: Kind
    text: str
    start: int
    stop: int
    value: Fraction = Fraction(0)
    decimals: int = 0
    percent: bool = False


def tokens_of(line: str, offset: int = 0) -> list[Token]:
    """The pieces of ``line``, white space left out. A lone ``x`` between two numbers is a sign of multiplication."""
    found: list[Token] = []
    position = 0
    while position < len(line):
        times = _TIMES.match(line, position) if found and found[-1].kind in {"number", "close"} else None
        match = times or _TOKEN.match(line, position)
        if match is None:
            break
        start, position = match.start() + offset, match.end()
        if times:
            found.append(Token("operator", "*", start, start + 1))
        elif match.lastgroup != "space":
            found.append(_token(match[0], match.lastgroup or "rest", start))
    return found


def _token(text: str, group: str, start: int) -> Token:
    stop = start + len(text)
    if group == "number":
        bare = text.strip("$€£¥ %").replace(",", "")
        if len(bare) > _LONGEST_NUMBER:
            return Token("other", text, start, stop)
        return Token(
            "number", text, start, stop, Fraction(bare), len(bare.partition(".")[2]), percent=text.endswith("%")
        )
    if group in {"operator", "tex"} and text in _PLAIN:
        return Token("operator", _PLAIN[text], start, stop)
    if group == "operator":
        return Token("operator", text, start, stop)
    kinds: dict[str, Kind] = {"word": "word", "open": "open", "close": "close", "equals": "equals"}
    return Token(kinds.get(group, "other"), text, start, stop)


def value_of(tokens: Sequence[Token], *, percent: bool) -> Fraction | None:
    """What the expression comes to; None if it is none, divides by nothing, or is too large to be worked out.

    ``percent`` says whether 50% is one half or 50.
    """
    if not tokens or len(tokens) > MOST_TOKENS:
        return None
    reader = _Reader(tokens, percent=percent)
    try:
        value = reader.sum(0)
    except (_NoExpressionError, ZeroDivisionError):
        return None
    return value if reader.place == len(tokens) else None


class _NoExpressionError(Exception):
    """The tokens are no expression that is worked out."""


class _Reader:
    """Sums of products of powers, read from left to right."""

    def __init__(self, tokens: Sequence[Token], *, percent: bool) -> None:
        self.tokens = tokens
        self.percent = percent
        self.place = 0

    def _next(self, *operators: str) -> str:
        if self.place < len(self.tokens):
            token = self.tokens[self.place]
            if token.kind == "operator" and token.text in operators:
                self.place += 1
                return token.text
        return ""

    def sum(self, depth: int) -> Fraction:
        value = self.product(depth)
        while operator := self._next("+", "-"):
            other = self.product(depth)
            value = value + other if operator == "+" else value - other
        return value

    def product(self, depth: int) -> Fraction:
        value = self.signed(depth)
        while operator := self._next("*", "/"):
            other = self.signed(depth)
            value = value * other if operator == "*" else value / other
        return value

    def signed(self, depth: int) -> Fraction:
        if sign := self._next("-", "+"):
            if depth > _DEEPEST:
                raise _NoExpressionError
            value = self.signed(depth + 1)
            return -value if sign == "-" else value
        return self.power(depth)

    def power(self, depth: int) -> Fraction:
        base = self.atom(depth)
        if not self._next("^"):
            return base
        exponent = self.signed(depth + 1)
        large = abs(exponent) > _LARGEST_POWER or base.numerator.bit_length() + base.denominator.bit_length() > 256
        if exponent.denominator != 1 or large:
            raise _NoExpressionError
        return base ** int(exponent)

    def atom(self, depth: int) -> Fraction:
        if depth > _DEEPEST or self.place >= len(self.tokens):
            raise _NoExpressionError
        token = self.tokens[self.place]
        self.place += 1
        if token.kind == "number":
            return token.value / 100 if token.percent and self.percent else token.value
        if token.kind != "open":
            raise _NoExpressionError
        value = self.sum(depth + 1)
        if self.place >= len(self.tokens) or self.tokens[self.place].kind != "close":
            raise _NoExpressionError
        self.place += 1
        return value
