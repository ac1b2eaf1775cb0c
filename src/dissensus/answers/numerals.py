"""Numbers as people and models write them, read exactly: digits, separators, fractions, powers of ten, words.

What can be read in two ways is not read: ``3,5`` may be a decimal or two numbers, ``30/11/2026`` is a date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 400
MAX_EXPONENT = 999

_GROUPING = "'’_\u00a0\u202f\u2009 "
_RUN = re.compile(rf"[0-9]++(?:[.,][0-9]++|[{_GROUPING}][0-9]{{3}}(?![0-9]))*+|\.[0-9]++")
_EXPONENT = re.compile(r"[eE]([-+−]?[0-9]{1,5})(?![0-9A-Za-z])")
_TIMES_TEN = re.compile(
    r"\s?[x×*·]\s?10(?:\s?(?:\^|\*\*)\s?[{(]?([-+−]?[0-9]{1,5})[)}]?(?![0-9.])|([⁻⁺]?[⁰¹²³⁴-⁹]{1,5}))"
)
_POWER_OF_TEN = re.compile(r"(?:\^|\*\*)[{(]?([-+−]?[0-9]{1,5})[)}]?(?![0-9.])|([⁻⁺]?[⁰¹²³⁴-⁹]{1,5})")
_OVER = re.compile(r"(?:\s?/\s?|⁄)([0-9]++)(?!(?:[.,]?[0-9]|\s?[/⁄]\s?[0-9]))")
_MIXED = re.compile(r"[ \u00a0]([0-9]{1,4})[/⁄]([0-9]{1,4})(?!(?:[.,]?[0-9]|\s?[/⁄]))")
_VULGAR_TABLE = "½1/2 ⅓1/3 ⅔2/3 ¼1/4 ¾3/4 ⅕1/5 ⅖2/5 ⅗3/5 ⅘4/5 ⅙1/6 ⅚5/6 ⅐1/7 ⅛1/8 ⅜3/8 ⅝5/8 ⅞7/8 ⅑1/9 ⅒1/10"
VULGAR = {entry[0]: Fraction(entry[1:]) for entry in _VULGAR_TABLE.split()}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_BELOW_100 = {word: value for value, word in enumerate(_SMALL)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_PART_VALUES = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}
_PART_VALUES |= {"ninth": 9, "tenth": 10}
_PLURAL_PARTS = {("halves" if part == "half" else f"{part}s"): value for part, value in _PART_VALUES.items()}

_LETTERS = re.compile(r"[A-Za-z]+")
_GAP = re.compile(r"[ \u00a0-]")
_MULTIPLIER = re.compile(r"[ \u00a0-]?(hundred|thousand|million|billion|trillion|dozen)(?![A-Za-z])", re.IGNORECASE)
_HALF_OF = re.compile(r"(?: an?)? (hundred|thousand|million|billion|trillion|dozen)(?![A-Za-z])", re.IGNORECASE)
_MULTIPLES = {"hundred": 100, "dozen": 12, **_SCALES}
_OUT_OF_BOUNDS = 10**400
_AND_A_PART = re.compile(r" and (?:(?:an?|one)[ -](half|third|quarter)|(three)[ -]quarters)(?![A-Za-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number found at ``start:end`` of a text.

    Args:
        value: the number; None if it cannot be read safely, then ``problem`` says why.
        comma: a decimal comma that could be a list, unless a unit follows.
        word: written as a word.
    """

    start: int
    end: int
    value: Fraction | None
    problem: str = ""
    comma: bool = False
    word: bool = False


def numeral_at(text: str, start: int) -> Numeral | None:
    """The unsigned number that begins at ``start``; None if none does. Raises nothing."""
    if text[start : start + 1] in VULGAR:
        return _multiplied(text, Numeral(start, start + 1, VULGAR[text[start]]))
    if run := _RUN.match(text, start):
        return _multiplied(text, _digits(text, run))
    return _in_words(text, start)


def _digits(text: str, run: re.Match[str]) -> Numeral:
    start, end = run.span()
    if end - start > MAX_DIGITS:
        return Numeral(start, end, None, "a number with too many digits")
    value, comma = _separated(run[0])
    if value is None:
        return Numeral(start, end, None, f"“{run[0]}” can be read in more than one way")
    whole = run[0].isdigit()
    if match := _EXPONENT.match(text, end) or _TIMES_TEN.match(text, end):
        return _scaled(start, match, value)
    if whole and value == 10 and (match := _POWER_OF_TEN.match(text, end)):
        return _scaled(start, match, Fraction(1))
    if whole and text[end : end + 1] in VULGAR:
        return Numeral(start, end + 1, value + VULGAR[text[end]])
    if whole and text[end : end + 1] in {" ", "\u00a0"} and text[end + 1 : end + 2] in VULGAR:
        return Numeral(start, end + 2, value + VULGAR[text[end + 1]])
    if whole and (over := _OVER.match(text, end)):
        return _fraction(start, over.end(), Fraction(0), int(value), over[1])
    if whole and (over := _MIXED.match(text, end)) and int(over[1]) < int(over[2]):
        return _fraction(start, over.end(), value, int(over[1]), over[2])
    if re.match(r"\s?[/⁄]\s?[0-9]", text[end : end + 4]):
        return Numeral(start, end, None, "several numbers with a slash between them")
    return Numeral(start, end, value, comma=comma)


def _fraction(start: int, end: int, whole: Fraction, top: int, bottom: str) -> Numeral:
    if len(bottom) > MAX_DIGITS or int(bottom) == 0:
        return Numeral(start, end, None, "a fraction without a value")
    return Numeral(start, end, whole + Fraction(top, int(bottom)))


def _scaled(start: int, match: re.Match[str], value: Fraction) -> Numeral:
    written = next(group for group in match.groups() if group is not None)
    exponent = int(written.translate(_SUPERSCRIPTS).replace("−", "-"))
    if abs(exponent) > MAX_EXPONENT:
        return Numeral(start, match.end(), None, "a power of ten out of all bounds")
    return Numeral(start, match.end(), value * Fraction(10) ** exponent)


def _separated(run: str) -> tuple[Fraction | None, bool]:
    """Value of digits with separators, and whether it rests on a lone decimal comma."""
    if run.isdigit() or run.startswith("."):
        return Fraction(run if run.isdigit() else f"0{run}"), False
    parts = re.split(r"[^0-9]", run)
    signs = [sign for sign in run if not sign.isdigit()]
    first, last = signs[0], signs[-1]
    if first in _GROUPING:  # 1 234 567,50: grouped, perhaps with decimals
        decimals = parts.pop() if last in ".," else ""
        even = set(signs[: len(parts) - 1]) <= {first}
        return (_joined(parts, decimals) if even and _in_threes(parts) else None), False
    if last in _GROUPING:
        return None, False
    if first != last:  # 1,234.50 and 1.234,50
        decimals = parts.pop()
        return (
            _joined(parts, decimals) if signs[:-1] == [first] * len(parts[1:]) and _in_threes(parts) else None
        ), False
    if len(set(signs)) > 1:
        return None, False
    if first == "." and len(signs) == 1:
        return _joined(parts[:1], parts[1]), False
    if _in_threes(parts) or (first == "," and _indian(parts)):
        return _joined(parts, ""), False
    if first == "," and len(signs) == 1:
        return _joined(parts[:1], parts[1]), True
    return None, False


def _in_threes(parts: list[str]) -> bool:
    return 1 <= len(parts[0]) <= 3 and parts[0][0] != "0" and all(len(part) == 3 for part in parts[1:])


def _indian(parts: list[str]) -> bool:
    return (
        len(parts) > 2
        and len(parts[0]) <= 2
        and parts[0][0] != "0"
        and len(parts[-1]) == 3
        and all(len(part) == 2 for part in parts[1:-1])
    )


def _joined(parts: list[str], decimals: str) -> Fraction:
    return Fraction(f"{''.join(parts)}.{decimals or 0}")


def _multiplied(text: str, numeral: Numeral) -> Numeral:
    """``numeral`` with what may follow it: ``million``, ``dozen``, ``and a half``."""
    value, end = numeral.value, numeral.end
    if value is None:
        return numeral
    while match := _MULTIPLIER.match(text, end):
        value, end = value * _MULTIPLES[match[1].lower()], match.end()
        if value > _OUT_OF_BOUNDS:
            return Numeral(numeral.start, end, None, "a number out of all bounds")
    if match := _AND_A_PART.match(text, end):
        value += Fraction(1, _PART_VALUES[match[1].lower()]) if match[1] else Fraction(3, 4)
        end = match.end()
    return Numeral(numeral.start, end, value, comma=numeral.comma, word=numeral.word)


def _in_words(text: str, start: int) -> Numeral | None:
    words = _words(text, start)
    if not words:
        return None
    first = words[0][0]
    second = words[1][0] if len(words) > 1 else ""
    if first == "half" or (first in {"a", "one"} and second == "half"):
        end = words[0][1] if first == "half" else words[1][1]
        if of := _HALF_OF.match(text, end):
            return Numeral(start, of.end(), Fraction(_MULTIPLES[of[1].lower()], 2), word=True)
        return Numeral(start, end, Fraction(1, 2), word=True)
    if first in {"a", "an"}:
        if second in {"hundred", *_SCALES}:
            words = [("one", words[0][1]), *words[1:]]
        elif second == "dozen":
            return Numeral(start, words[1][1], Fraction(12), word=True)
        else:
            return None
    value, used = _cardinal([word for word, _ in words])
    if not used:
        return None
    end = words[used - 1][1]
    after = words[used][0] if used < len(words) else ""
    if 0 < value < 20 and (parts := _PART_VALUES if value == 1 else _PLURAL_PARTS).get(after):
        return Numeral(start, words[used][1], Fraction(value, parts[after]), word=True)
    return _multiplied(text, Numeral(start, end, Fraction(value), word=True))


def _words(text: str, start: int) -> list[tuple[str, int]]:
    """Up to 24 words from ``start`` on with single gaps between: the word, lower case, and where it ends."""
    found: list[tuple[str, int]] = []
    position = start
    while len(found) < 24 and (word := _LETTERS.match(text, position)):
        found.append((word[0].lower(), word.end()))
        gap = _GAP.match(text, word.end())
        if gap is None:
            break
        position = gap.end()
    return found


def _cardinal(words: list[str]) -> tuple[int, int]:
    """Value of the longest cardinal number that ``words`` begin with, and how many of them it takes."""
    total = group = used = 0
    room, scale = 100, 10**15  # what the next small word must stay below; the last scale word
    for place, word in enumerate(words):
        if word == "and":
            following = words[place + 1] if place + 1 < len(words) else ""
            if not used or words[place - 1] not in {"hundred", *_SCALES} or following not in _BELOW_100:
                break
            continue
        if word in _BELOW_100 and (small := _BELOW_100[word]) < room and (small or not (total or group)):
            group += small
            room = 10 if small >= 20 else 0
        elif word == "hundred" and 0 < group < 100:
            group *= 100
            room = 100
        elif (size := _SCALES.get(word, scale)) < scale and group:
            total, group = total + group * size, 0
            scale, room = size, 100
        else:
            break
        used = place + 1
    return total + group, used


WORDS_THAT_COUNT = (
    *_SMALL,
    *_TENS,
    "half",
    "an?(?= (?:hundred|thousand|million|billion|trillion|dozen|half)(?![a-z]))",
)
"""Patterns of the words that may begin a number."""
