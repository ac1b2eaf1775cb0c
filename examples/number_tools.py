"""Tools for agents_with_tools.yaml. A tool is a function; run this file to try it by hand."""

from __future__ import annotations

import math


def is_prime(number: int) -> bool:
    """Tells whether a whole number is prime."""
    if number > 10**12:
        raise ValueError("only numbers up to 10^12 are tried")
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


if __name__ == "__main__":
    print("2027 is prime:", is_prime(2027))
