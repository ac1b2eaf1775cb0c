"""Plain numbers in a text that was written by several hands: where they stand and what they are, exactly.

Simpler than :mod:`~dissensus.answers.quantity` on purpose: units, words for numbers and hedges are not read, so that
the same rule gives the same answer whatever a text claims around its numbers. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

_LONGEST = 300
"""Most characters of one number; a longer run of digits is none."""

_NUMBER = re.compile(
    r"(?P<sign>[-−–]\s?(?=[$€£¥.0-9])|(?=[$€£¥.0-9]))"
    r"(?:[$€£¥]\s?(?P<late>[-−–](?=[.0-9]))?)?"
    r"(?P<whole>[0-9]++(?:,[0-9]{3}(?![0-9]))*+)?(?P<decimals>\.[0-9]++)?"
    r"(?P<power>[eE][-+]?[0-9]{1,2}(?![0-9A-Za-z]))?"
    r"(?P<over>(?:\s(?P<top>[0-9]{1,20}))?\s?/\s?(?P<bottom>[0-9]{1,20}+)(?![0-9/.]))?"
)
_FRACTION = re.compile(r"\\[dtc]?frac\s?\{?(-?[0-9]{1,40})\}?\s?\{?([0-9]{1,40})\}?")
_TEX_NOISE = (
    (re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\{([^{}]{0,200})\}"), r" \1 "),
    (re.compile(r"\{,\}|\\!"), ","),
    (re.compile(r"\\([$%])"), r"\1"),
    (re.compile(r"\\[,;: ]|\\left|\\right|\\[()\[\]]"), " "),
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number at ``start`` up to ``end`` of a text."""

    start: int
    end: int
    value: Fraction


def numbers_in(text: str) -> Iterator[Number]:
    """The numbers of ``text``, in order. ``1,000`` is a thousand, ``3/4`` a fraction, ``10-3`` two numbers."""
    position = 0
    while (match := _NUMBER.search(text, position)) is not None:
        position = max(match.end(), match.start() + 1)
        if match["whole"] is None and match["decimals"] is None:
            continue
        before = text[max(0, match.start() - 2) : match.start()]
        if match.end() - match.start() > _LONGEST or (not match["sign"] and _inside_word(before, match[0])):
            continue
        if (value := _value(match)) is not None:
            signed = bool(match["late"]) or (bool(match["sign"]) and not _minus(match["sign"], before))
            start = match.start() if signed or not match["sign"] else match.end("sign")
            yield Number(start, match.end(), -value if signed else value)


def _inside_word(before: str, number: str) -> bool:
    """Whether the digits go on from letters: the 2 of ``H2O``, the 5 of ``x5``."""
    return before[-1:].isalpha() and number[:1].isdigit()


def _minus(sign: str, before: str) -> bool:
    """Whether the sign takes away from what stands before it."""
    if len(sign) > 1:  # "16 - 3", and a dash before a number: a sign stands at its number
        return True
    return before[-1:].isalnum() or before[-1:] in {")", "]", "}", "%"} or bool(re.fullmatch(r"[0-9)\]%]\s", before))


def _value(match: re.Match[str]) -> Fraction | None:
    whole = (match["whole"] or "0").replace(",", "")
    value = Fraction(f"{whole}{match['decimals'] or ''}{match['power'] or ''}")
    if match["over"]:
        bottom = int(match["bottom"])
        if bottom == 0:
            return None
        return value + Fraction(int(match["top"]), bottom) if match["top"] else value / bottom
    return value


def without_tex(text: str) -> str:
    r"""``text`` with ``\frac{3}{4}`` as 3/4 and without the TeX that stands around numbers."""
    if "\\" not in text and "{,}" not in text:
        return text
    for pattern, plainer in _TEX_NOISE:
        text = pattern.sub(plainer, text)
    return _FRACTION.sub(r" \1/\2 ", text)


def whole_number(text: str) -> Fraction | None:
    """The number that ``text`` is, with nothing beside it but currency, ``%`` or a final full stop; None otherwise."""
    bare = without_tex(text).strip(" \t\n*_`$").rstrip(".").strip(" $%")
    found = next(numbers_in(bare), None)
    return found.value if found and found.start == 0 and found.end == len(bare) else None


def plain_text(value: Fraction) -> str:
    """``value`` in its one form: ``1000``, ``0.5``, ``1/3``."""
    if value.denominator == 1:
        return str(value.numerator)
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 30:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
