"""How long a regular expression can take at worst: an upper bound by its form, before it is ever tried.

Python's engine backtracks, so ``(a+)+b`` takes for ever on a few dozen characters. The bound multiplies, along the
expression, in how many ways each repetition can be matched; it is coarse, and never too small for what it counts.
"""

from __future__ import annotations

import math
import re
from typing import Final

MOST_STEPS: Final = 2e8
"""Steps that an expression may take on one text, by this coarse count: at worst some seconds, in practice far less."""

_QUANTIFIER: Final = re.compile(r"(?:([*+?])|\{(\d*)(,?)(\d*)\})[?+]?")
_GROUP: Final = re.compile(r"\?(?:P<\w+>|P=\w+|[aiLmsux]*(?:-[imsx]+)?:|<?[=!]|>|#[^)]*|[aiLmsux]+(?=\))|\([^)]*\))")


def steps(expression: str, length: int) -> float:
    """At most about so many steps that searching a text of ``length`` characters takes; may be infinite.

    ``expression`` has to be one that compiles.
    """
    return length * _Scan(expression, length).alternatives()[0]


class _Scan:
    """One pass over an expression."""

    def __init__(self, expression: str, length: int) -> None:
        self.text = expression
        self.length = length
        self.at = 0

    def alternatives(self) -> tuple[float, int]:
        """Ways to match up to the end of a group, and how many branches it has."""
        worst, branches = self.sequence(), 1
        while self.text[self.at : self.at + 1] == "|":
            self.at += 1
            worst, branches = max(worst, self.sequence()), branches + 1
        return worst, branches

    def sequence(self) -> float:
        ways = 1.0
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            inner, branches = self.atom()
            found = _QUANTIFIER.match(self.text, self.at)
            if found is not None and (found[1] or found[2] or found[4]):
                self.at = found.end()
                ways *= self.repeated(inner, branches, self.most(found))
            else:
                ways *= inner * min(branches, 2)
        return ways

    def most(self, found: re.Match[str]) -> float:
        """How often a quantifier repeats at most."""
        if found[1]:
            return 1 if found[1] == "?" else math.inf
        if not found[3]:
            return int(found[2])
        return int(found[4]) if found[4] else math.inf

    def repeated(self, inner: float, branches: int, most: float) -> float:
        if inner * branches <= 1:  # the same each time: only how often is open
            return min(most, self.length) + 1
        if most * math.log2(inner * branches) > 60:
            return math.inf
        return math.pow(inner * branches, most) * (most + 1)

    def atom(self) -> tuple[float, int]:
        """Pass over one character, class or group."""
        here = self.text[self.at]
        self.at += 1
        if here == "\\":
            self.at += 1
        elif here == "[":
            self.at += self.text[self.at : self.at + 1] == "^"
            self.at += self.text[self.at : self.at + 1] == "]"  # plain in the first place
            while self.at < len(self.text) and self.text[self.at] != "]":
                self.at += 2 if self.text[self.at] == "\\" else 1
            self.at += 1
        elif here == "(":
            if (found := _GROUP.match(self.text, self.at)) is not None:
                self.at = found.end()
            inside = self.alternatives()
            self.at += 1
            return inside
        return 1.0, 1
