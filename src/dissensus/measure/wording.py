"""How numbers and lists are written in texts."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_DIGITS = 9
"""Digits beyond which a number is taken for whole: the rounding of sums."""


def short(value: float | None, digits: int = 3) -> str:
    """A share or a correlation without its leading zero: ``.673``, ``-.36``, ``1``; ``not defined`` for None.

    Only what is 0 or 1 is written so: .9997 is not rounded to 1, nor .0003 to 0.
    """
    if value is None:
        return "not defined"
    while digits < _MOST_DIGITS and float(f"{abs(value):.{digits}f}") in {0.0, 1.0} and not _is_whole(value):
        digits += 1
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        return "0"
    if abs(float(text)) >= 1:
        return text.rstrip("0").rstrip(".") if float(text) == int(float(text)) else text
    return text.replace("0.", ".", 1)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 10.0**-_MOST_DIGITS


def between(interval: tuple[float | None, float | None] | None, digits: int = 3) -> str:
    """An interval: `` [.665, .681]`` with a space in front, or nothing."""
    if interval is None or interval[0] is None or interval[1] is None:
        return ""
    return f" [{short(interval[0], digits)}, {short(interval[1], digits)}]"


def percent(value: float, digits: int = 1) -> str:
    """A share in percent: ``7.1 %``; a small one with two digits that say something: ``.034 %``."""
    return f"{hundredths(value, digits)} %"


def hundredths(value: float, digits: int = 1) -> str:
    """A share in percent, without the sign."""
    if value == 0 or abs(value) >= 0.01:
        while digits < _MOST_DIGITS and f"{100 * value:.{digits}f}" == f"{100:.{digits}f}" and not _is_whole(value):
            digits += 1  # what is less than all is not written as all
        return f"{100 * value:.{digits}f}"
    return f"{100 * value:.2g}".replace("0.", ".", 1) if abs(value) >= 1e-6 else f"{100 * value:.1e}"


def p_value(p: float) -> str:
    """``p = .002``; below .001 it says so."""
    return f"p = {short(p)}" if p >= 0.0005 else f"p = {p:.1e}"


def tiny(value: float) -> str:
    """A probability that may be very small: ``4.5e-9``, ``.034``."""
    if value >= 0.001:
        return short(value)
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}" if value else "0"


def counted(number: int, one: str, more: str = "") -> str:
    """``1 vote``, ``2,000 votes``; ``more`` where an s is not enough."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def listed(names: Sequence[str], *, more: int = 0) -> str:
    """``a, b and c``; with ``more``, ``a, b and 7 more``."""
    if more > 0:
        return f"{', '.join(names)} and {more:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
