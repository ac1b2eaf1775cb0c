"""A calculator for agents: exact arithmetic with fractions, in bounded time and space.

It has a parser of its own instead of Python's: what models write is not Python (``3 × 4``, ``2^10``, ``15%``), and no
text can reach anything but numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

LONGEST: Final = 500
"""Most characters of an expression."""
DEEPEST: Final = 80
"""Most steps down: a parenthesis or a right-hand side takes two, a sign or a power one."""
BITS: Final = 8192
"""Most bits of a numerator or denominator: about 2,466 digits."""

_DIGITS: Final = 12
_LONGEST_FRACTION: Final = 30
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|//|[-+*/^%(),]))",
    re.ASCII,
)
_SAME: Final = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "²": "^2", "³": "^3"})


class CalculationError(Exception):
    """The expression cannot be worked out; the message says why, for the agent."""


@dataclass(frozen=True, slots=True)
class Number:
    """A value; ``exact`` is False once a root had to be rounded on the way to it."""

    value: Fraction
    exact: bool = True


def calculate(expression: str) -> str:
    """The value of ``expression``: exact where it is a whole number or a short decimal, else a fraction, or rounded.

    ``+ - * / // ^ ( )`` as usual (``//`` rounds down, ``**`` is ``^``); ``%`` divides what stands before it by 100;
    functions: see :data:`FUNCTIONS`. A rounded value is marked with ``about``.

    Raises:
        CalculationError: it is no expression, has no value, or is too large.
    """
    if len(expression) > LONGEST:
        raise CalculationError(f"the expression is longer than {LONGEST} characters")
    text = re.sub(r"=\s*\??\s*$", "", expression.translate(_SAME))
    return show(_Parser(text).whole())


def show(number: Number) -> str:
    """``number`` as a text."""
    value = number.value
    if not number.exact:
        return f"about {_rounded(value)}"
    if value.denominator == 1:
        return str(value.numerator)
    if (places := _decimal_places(value.denominator)) <= 30:
        whole, rest = divmod(abs(value.numerator) * 10**places // value.denominator, 10**places)
        return f"{'-' if value < 0 else ''}{whole}.{rest:0{places}d}"
    fraction, about = f"{value.numerator}/{value.denominator}", f"about {_rounded(value)}"
    return about if len(fraction) > _LONGEST_FRACTION else f"{fraction}, {about}"


def _decimal_places(denominator: int) -> float:
    """Digits after the point of a fraction in lowest terms; infinite if they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else math.inf


def _rounded(value: Fraction) -> str:
    rounded = Context(prec=_DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{rounded:f}" if -7 < rounded.adjusted() < _DIGITS else f"{rounded}"


def _checked(number: Number) -> Number:
    if max(number.value.numerator.bit_length(), number.value.denominator.bit_length()) > BITS:
        raise CalculationError("the number becomes too large")
    return number


def _divided(left: Number, right: Number) -> Number:
    if right.value == 0:
        raise CalculationError("division by zero")
    return Number(left.value / right.value, left.exact and right.exact)


def _floor_divided(left: Number, right: Number) -> Number:
    quotient = _divided(left, right)
    return Number(Fraction(math.floor(quotient.value)), quotient.exact)


def _power(base: Number, exponent: Number) -> Number:
    exact = base.exact and exponent.exact
    value, power = base.value, exponent.value
    if value == 0 and power < 0:
        raise CalculationError("division by zero")
    if power.denominator > 1:
        if power.denominator > 64:
            raise CalculationError("only roots up to the 64th are known")
        root = _root(value, power.denominator)
        value, exact = root.value, exact and root.exact
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if abs(power.numerator) * max(bits - 1, 0) > BITS:
        raise CalculationError("the number becomes too large")
    if bits <= 1:  # 0, 1 and -1 stay what they are, however high the power
        return Number(Fraction(value ** (power.numerator % 2 or 2 * bool(power))), exact)
    return Number(value**power.numerator, exact)


def _root(value: Fraction, degree: int) -> Number:
    """The root, exact where there is one; else its first forty digits or more."""
    if value < 0:
        raise CalculationError("the root of a negative number is not a real number")
    above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    if above**degree == value.numerator and below**degree == value.denominator:
        return Number(Fraction(above, below))
    small = max(value.denominator.bit_length() - value.numerator.bit_length(), 0)
    places = 40 + small // (3 * degree)
    return Number(Fraction(_whole_root(math.floor(value * 10 ** (places * degree)), degree), 10**places), exact=False)


def _whole_root(number: int, degree: int) -> int:
    """The largest whole number whose power ``degree`` is at most ``number``, by bisection."""
    if degree == 2:
        return math.isqrt(number)
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low


def _whole(number: Number) -> int:
    if number.value.denominator != 1 or not number.exact:
        raise CalculationError("a whole number is needed there")
    return number.value.numerator


def _round(number: Number, places: Number = Number(Fraction(0))) -> Number:
    """Half away from zero, as in school."""
    digits = _whole(places)
    if abs(digits) > 100:
        raise CalculationError("at most 100 places can be rounded to")
    scaled = abs(number.value) * Fraction(10) ** digits
    rounded = math.floor(scaled + Fraction(1, 2)) / Fraction(10) ** digits
    return Number(-rounded if number.value < 0 else rounded, number.exact)


def _factorial(number: Number) -> Number:
    count = _whole(number)
    if not 0 <= count <= 500:
        raise CalculationError("factorials are known from 0 to 500")
    return Number(Fraction(math.factorial(count)))


def _over(function: Callable[..., Fraction]) -> Callable[..., Number]:
    def apply(*numbers: Number) -> Number:
        return Number(Fraction(function(*(one.value for one in numbers))), all(one.exact for one in numbers))

    return apply


def _whole_over(function: Callable[..., int]) -> Callable[..., Number]:
    return lambda *numbers: Number(Fraction(function(*map(_whole, numbers))))


def _mean(*values: Fraction) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _remainder(left: Number, right: Number) -> Number:
    whole = _floor_divided(left, right)
    return Number(left.value - right.value * whole.value, whole.exact)


FUNCTIONS: Final[dict[str, tuple[int, int, Callable[..., Number]]]] = {
    "abs": (1, 1, _over(abs)),
    "ceil": (1, 1, _over(lambda value: Fraction(math.ceil(value)))),
    "factorial": (1, 1, _factorial),
    "floor": (1, 1, _over(lambda value: Fraction(math.floor(value)))),
    "gcd": (1, 50, _whole_over(math.gcd)),
    "lcm": (1, 50, _whole_over(math.lcm)),
    "max": (1, 50, _over(max)),
    "mean": (1, 50, _over(_mean)),
    "min": (1, 50, _over(min)),
    "mod": (2, 2, _remainder),
    "round": (1, 2, _round),
    "sqrt": (1, 1, lambda number: _power(number, Number(Fraction(1, 2)))),
    "sum": (1, 50, _over(lambda *values: sum(values, Fraction(0)))),
}
"""Name of each function to the least and most arguments it takes, and the function."""

_BINARY: Final[dict[str, tuple[int, Callable[[Number, Number], Number]]]] = {
    "+": (1, lambda left, right: Number(left.value + right.value, left.exact and right.exact)),
    "-": (1, lambda left, right: Number(left.value - right.value, left.exact and right.exact)),
    "*": (2, lambda left, right: Number(left.value * right.value, left.exact and right.exact)),
    "/": (2, _divided),
    "//": (2, _floor_divided),
}


class _Parser:
    """Reads and works out an expression in one pass, by precedence climbing."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    def whole(self) -> Number:
        result = self.sum_or_product(1, 0)
        if self.peek() == ",":
            raise CalculationError("a comma only separates the arguments of a function: write 1000, not 1,000")
        if self.peek():
            raise CalculationError(f'an operator is missing before "{self.peek()}"')
        return result

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def sum_or_product(self, least: int, depth: int) -> Number:
        left = self.signed(depth + 1)
        while (operator := self.peek()) in _BINARY and _BINARY[operator][0] >= least:
            self.take()
            strength, function = _BINARY[operator]
            left = _checked(function(left, self.sum_or_product(strength + 1, depth + 1)))
        return left

    def signed(self, depth: int) -> Number:
        """A sign binds less than a power: ``-2^2`` is -4."""
        if depth > DEEPEST:
            raise CalculationError("the expression is nested too deeply")
        if self.peek() in ("+", "-"):
            sign = self.take()
            number = self.signed(depth + 1)
            return number if sign == "+" else Number(-number.value, number.exact)
        base = self.percent(depth)
        if self.peek() in ("^", "**"):
            self.take()
            return _checked(_power(base, self.signed(depth + 1)))
        return base

    def percent(self, depth: int) -> Number:
        number = self.atom(depth)
        while self.peek() == "%":
            self.take()
            number = Number(number.value / 100, number.exact)
            if re.match(r"[\w.(]", self.peek()):
                raise CalculationError("% means per cent; for the remainder write mod(a, b)")
        return number

    def atom(self, depth: int) -> Number:
        word = self.take()
        if word == "(":
            number = self.sum_or_product(1, depth + 1)
            self.close()
            return number
        if word[:1].isdigit() or word[:1] == ".":
            return _checked(Number(Fraction(word)))
        if word in FUNCTIONS:
            return self.call(word, depth)
        if word.isidentifier():
            raise CalculationError(f'"{word}" is not known; known are {", ".join(FUNCTIONS)}')
        raise CalculationError(f'a number is missing before "{word}"' if word else "the expression ends too early")

    def call(self, name: str, depth: int) -> Number:
        least, most, function = FUNCTIONS[name]
        if self.take() != "(":
            raise CalculationError(f"{name} needs its arguments in parentheses")
        arguments = [self.sum_or_product(1, depth + 1)]
        while self.peek() == ",":
            self.take()
            arguments.append(self.sum_or_product(1, depth + 1))
        self.close()
        if not least <= len(arguments) <= most:
            raise CalculationError(f"{name} takes {least if least == most else f'{least} to {most}'} arguments")
        return _checked(function(*arguments))

    def close(self) -> None:
        if self.take() != ")":
            raise CalculationError('a ")" is missing')


def _tokens(text: str) -> Sequence[str]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CalculationError(f'"{text[at:].strip()[:1]}" is no part of arithmetic')
        tokens.append(match.group().strip())
        at = match.end()
    return tokens
