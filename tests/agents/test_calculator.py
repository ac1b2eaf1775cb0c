from __future__ import annotations

import math
import time
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dissensus.agents.calculator import BITS, LONGEST, CalculationError, calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12 / 3 * 2", "8"),
        ("0.1 + 0.2", "0.3"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("2^3^2", "512"),
        ("2**10", "1024"),
        ("3 × 4 ÷ 6 − 1 =", "1"),
        ("5² = ?", "25"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("-1/8", "-0.125"),
        ("15% * 80", "12"),
        ("50% - 3", "-2.5"),
        ("--3 + +4", "7"),
        (".5 + 1. + 1e3 + 2E-1", "1001.7"),
        ("1/3", "1/3, about 0.333333333333"),
        ("10 / 4", "2.5"),
        ("sqrt(1/4)", "0.5"),
        ("sqrt(2)", "about 1.41421356237"),
        ("sqrt(2)^2", "about 2"),
        ("8^(2/3)", "4"),
        ("1e-300 ^ 0.5", "about 1E-150"),
        ("7^-40", "about 1.57064631395E-34"),
        ("1/7^20", "1/79792266297612001, about 1.25325428942E-17"),
        ("sqrt(2e-400)", "about 1.41421356237E-200"),
        ("round(2.5) + round(-2.5)", "0"),
        ("round(1234.567, 2)", "1234.57"),
        ("round(1250, -2)", "1300"),
        ("mod(-7, 3)", "2"),
        ("gcd(12, 18) + lcm(4, 6)", "18"),
        ("factorial(5)", "120"),
        ("min(3, 1, 2) + max(3, 1, 2) + sum(1, 2) + mean(1, 2)", "8.5"),
        ("floor(-1.5) + ceil(-1.5) + abs(-3)", "0"),
        ("0^0", "1"),
        ("(-1)^999999999999999999", "-1"),
        ("1^(10^300)", "1"),
        ("10^20", "100000000000000000000"),
        ("2/10^20", "0.00000000000000000002"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "ends too early"),
        ("1 +", "ends too early"),
        ("1 + * 2", 'a number is missing before "*"'),
        ("2 (3)", 'an operator is missing before "("'),
        ("3 x 4", 'an operator is missing before "x"'),
        ("x", '"x" is not known; known are abs'),
        ("(1", 'a ")" is missing'),
        ("1,000 + 1", "write 1000, not 1,000"),
        ("10 % 3", "for the remainder write mod(a, b)"),
        ("1/0", "division by zero"),
        ("1 // (2 - 2)", "division by zero"),
        ("0^-1", "division by zero"),
        ("sqrt(-1)", "not a real number"),
        ("2^(1/65)", "only roots up to the 64th"),
        ("gcd(1.5, 2)", "a whole number is needed"),
        ("gcd(sqrt(2), 2)", "a whole number is needed"),
        ("factorial(501)", "from 0 to 500"),
        ("factorial(-1)", "from 0 to 500"),
        ("round(1, 101)", "at most 100 places"),
        ("sqrt(1, 2)", "sqrt takes 1 arguments"),
        ("sqrt 4", "sqrt needs its arguments in parentheses"),
        ("9^9^9", "too large"),
        ("10^-100000", "too large"),
        ("1e9999", "too large"),
        ("2^8193", "too large"),
        ("__import__(1)", '"__import__" is not known'),
        ("1; 2", '";" is no part of arithmetic'),
        ("٣ + 1", "is no part of arithmetic"),
        ("1\x00", "is no part of arithmetic"),
        ("(" * 100 + "1" + ")" * 100, "nested too deeply"),
        ("-" * 400 + "1", "nested too deeply"),
        ("1" * (LONGEST + 1), f"longer than {LONGEST} characters"),
    ],
)
def test_problems_are_told(expression: str, problem: str) -> None:
    with pytest.raises(CalculationError) as caught:
        calculate(expression)
    assert problem in str(caught.value)


def value_of(text: str) -> Fraction:
    return Fraction(text.partition(",")[0])


NUMBERS = st.integers(0, 99).map(str) | st.decimals(0, 99, places=2).map(str)
EXPRESSIONS = st.recursive(
    NUMBERS.map(lambda text: (text, Fraction(text))),
    lambda inner: (
        st.builds(
            lambda left, sign, right: (f"({left[0]} {sign} {right[0]})", apply(left[1], sign, right[1])),
            inner,
            st.sampled_from(["+", "-", "*", "/", "//"]),
            inner,
        )
        | inner.map(lambda one: (f"(-{one[0]})", None if one[1] is None else -one[1]))
    ),
    max_leaves=8,
)


def apply(left: Fraction | None, sign: str, right: Fraction | None) -> Fraction | None:
    if left is None or right is None or (sign in ("/", "//") and right == 0):
        return None
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case _:
            return Fraction(left // right)


@given(EXPRESSIONS)
def test_agrees_with_fractions(pair: tuple[str, Fraction | None]) -> None:
    expression, value = pair
    assume(len(expression) <= LONGEST)
    if value is None:
        with pytest.raises(CalculationError, match="division by zero"):
            calculate(expression)
    else:
        assert value_of(calculate(expression)) == value


@given(st.lists(st.tuples(st.sampled_from("+-*/"), st.integers(1, 20)), min_size=1, max_size=8))
def test_precedence_is_that_of_python(parts: list[tuple[str, int]]) -> None:
    plain = "1" + "".join(f" {sign} {number}" for sign, number in parts)
    wrapped = "Fraction(1)" + "".join(f" {sign} Fraction({number})" for sign, number in parts)
    assert value_of(calculate(plain)) == eval(wrapped, {"Fraction": Fraction})  # noqa: S307 - made of digits and signs


@given(st.integers(1, 10**30), st.integers(2, 7))
def test_roots_are_exact_where_they_can_be(number: int, degree: int) -> None:
    assert calculate(f"{number**degree}^(1/{degree})") == str(number)
    about = calculate(f"{number**degree + 1}^(1/{degree})")
    with localcontext(prec=60):
        expected = Decimal(number**degree + 1) ** (Decimal(1) / degree)
    assert math.isclose(float(about.removeprefix("about ")), expected, rel_tol=1e-11)


@given(st.text(max_size=60) | st.text(alphabet="0123456789+-*/^%().,e sqrtmd", max_size=60))
def test_any_text_gives_a_short_value_or_a_problem(text: str) -> None:
    try:
        value = calculate(text)
    except CalculationError as problem:
        value = str(problem)
    assert 0 < len(value) < BITS


def test_the_heaviest_expressions_take_little_time() -> None:
    began = time.process_time()
    for expression in (
        "+".join(["9^2500"] * 60),
        "*".join(["7.7^64"] * 60),
        "(3^4000/7^2900)^(1/63)",
        "factorial(500)^2^0.5",
    ):
        try:
            calculate(expression)
        except CalculationError:
            continue
    assert time.process_time() - began < 10
