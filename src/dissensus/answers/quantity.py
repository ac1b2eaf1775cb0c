"""A number with its unit, its canonical form, and finding quantities in text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dissensus.answers import units
from dissensus.answers.numerals import VULGAR, WORDS_THAT_COUNT, Numeral, numeral_at
from dissensus.answers.units import Unit

_LONGEST_PLAIN = 30
"""Most digits of a number written out; beyond, powers of ten or a fraction."""
_LARGEST = 10**100


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with a unit of the table, or a bare one.

    ``noun`` is what it counts, where that is no unit; ``finer`` the smaller unit of a compound, such as 5 h 30 min.
    """

    number: Fraction
    unit: Unit | None = None
    noun: str = ""
    finer: Unit | None = None

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that it was stated in."""
        return tuple(unit for unit in (self.unit, self.finer) if unit is not None)

    @property
    def bare(self) -> bool:
        """Whether nothing was said of what the number counts, so that it may take a unit from elsewhere."""
        return self.unit is None and not self.noun

    def canonical(self) -> str:
        """The quantity in one way: the same text for the same quantity, and for no other.

        A noun is left out. Among the units that the table shows, the one that gives the shortest number is taken,
        then the largest: 300 min is ``5 h``, 1.5 h is ``90 min``.
        """
        if self.unit is None:
            return number_text(self.number)
        base = self.number * self.unit.factor
        shown = [(number_text(base / unit.factor), unit) for unit in units.shown_in(self.unit)]
        number, unit = min(shown, key=lambda pair: len(pair[0]))  # the first of the shortest: the largest unit
        return f"{number} {units.name_after(number, unit)}"

    def canonical_in(self, unit: Unit) -> str:
        """The quantity, which is in ``unit``, as it stands there and not in the unit that reads best."""
        number = number_text(self.number)
        return f"{number} {units.name_after(number, unit)}"

    def readable(self) -> bool:
        """Whether the number is of a size that an answer can have: about 100 digits on each side of the point."""
        base = self.number * (self.unit.factor if self.unit else 1)
        return abs(base) < _LARGEST and base.denominator < _LARGEST**2

    def in_unit(self, unit: Unit) -> Quantity | None:
        """The same quantity in ``unit``; None if they do not measure the same thing."""
        if self.unit is None:
            return None
        if self.unit.dimensions == unit.dimensions:
            return Quantity(self.number * self.unit.factor / unit.factor, unit)
        if (self.unit.name, unit.name) == ("lb", "GBP"):  # pounds
            return Quantity(self.number, unit)
        if unit.name in units.SUBUNITS.get(self.unit.name, ()):
            return Quantity(self.number / 100, unit)
        if unit == units.RATIO and self.unit.name == "%":
            return Quantity(self.number / 100)
        return None


def number_text(number: Fraction) -> str:
    """An exact number as text: a decimal where it ends, else a fraction; very long ones with a power of ten."""
    top, bottom = number.numerator, number.denominator
    rest, twos, fives = bottom, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{top}/{bottom}"
    places = max(twos, fives)
    digits = str(abs(top) * 10**places // bottom)
    sign = "-" if top < 0 else ""
    if len(digits) > _LONGEST_PLAIN or places > _LONGEST_PLAIN:
        bare = digits.rstrip("0") or "0"
        return f"{sign}{bare}e{len(digits) - len(bare) - places}"
    if not places:
        return sign + digits
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


@dataclass(frozen=True, slots=True)
class Found:
    """A quantity in a text, sign and currency included, or something like one that cannot be read."""

    start: int
    end: int
    quantity: Quantity | None
    problem: str = ""
    word: bool = False


_CODES = "|".join(units.CURRENCY_CODES)
_CANDIDATE = re.compile(
    rf"(?<![0-9])(?:[0-9]|\.[0-9]|[{''.join(VULGAR)}])|(?<![A-Za-z0-9_])(?:{'|'.join(WORDS_THAT_COUNT)})(?![A-Za-z])",
    re.IGNORECASE,
)
_LETTERS_BEFORE = re.compile(rf"(?:^|[^A-Za-z])({_CODES})$")
_CURRENCY_BEFORE = re.compile(rf"((?:US|AU|CA|[AC])?\$|[€£¥₹]|(?<![A-Za-z])(?:{_CODES}))[ \u00a0]?$")
_SIGN_BEFORE = re.compile(r"(?:^|[^\w)\]\-−–.])([-+−–])$")
_WORD_SIGN_BEFORE = re.compile(r"(?<![A-Za-z])(?:minus|negative)\s$", re.IGNORECASE)
_CLOCK = re.compile(
    r"[0-9]{1,2}:[0-9]{2}(?![0-9])(?::[0-9]{2})?(?:\s?[ap]\.?m\b\.?)?|[0-9]{1,2}\s?[ap]\.?m\b", re.IGNORECASE
)
_RATIO = re.compile(r"[0-9]+\s?:\s?[0-9]+")
_FEET_INCHES = re.compile(r"([0-9]{1,4})['′]\s?([0-9]{1,2})(?:[\"″”]|'')")
_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)(?![A-Za-z])", re.IGNORECASE)
_CODE_WORD = re.compile(r"[A-Za-z0-9_]+")

_SPACE = re.compile(r"[ \u00a0\u202f\u2009]{1,2}|-(?=[A-Za-z])")
_UNIT_WORD = re.compile(r"(?:[A-Za-zµ]+[23²³]?(?![A-Za-z0-9])|[°℃℉%€£¥₹¢]|\$(?![0-9]))(?:\^[23])?")
_NEXT_WORD = re.compile(r"\.?[ \u00a0-]?(?=[A-Za-z])")
_WORD_AFTER = re.compile(r"\s+\w")
_IN_NAMES = str.maketrans({"\u00a0": " ", "-": " ", ".": None})
_HALF_A = re.compile(r"(?<=half) an?(?= [a-z])", re.IGNORECASE)
_TOGETHER = re.compile(r"\s{0,3}(?:,?\s?(?:and|&)|,|)\s{0,3}", re.IGNORECASE)
_PER = re.compile(r"\s?/\s?(?=[A-Za-z])|\s(?:per|an?|each|every)\s(?=[A-Za-z])", re.IGNORECASE)
_MORE_LETTERS = re.compile(r"[^\W0-9]\w*")
_FUNCTION_WORDS = """
    a about above after all altogether also an and are as at away be because been before below but by can cost costs
    different each equals every extra fewer for from further had has have he here i if in into is it its just
    later left less longer made make makes may more most must now of off older on only or other out over overall per
    plus remain remaining remains shorter should since so taller than that the their then there they this
    thus times to together total under until was we were when where which will with would x yet you younger
"""
_NO_NOUN = frozenset(_FUNCTION_WORDS.split())


def scan(text: str) -> Iterator[Found]:
    """The quantities in ``text``, from left to right. Time is linear in the part that is consumed."""
    position = 0
    while candidate := _CANDIDATE.search(text, position):
        start = candidate.start()
        before = text[max(0, start - 12) : start]
        if (before[-1:].isalpha() or before.endswith("_")) and not _LETTERS_BEFORE.search(before):
            position = _end(_CODE_WORD, text, start)  # part of a name, such as H2O or B2
            continue
        found = _found(text, start, before[-(start - position) :] if start > position else "", before)
        if found is None:
            position = max(candidate.end(), _end(_ORDINAL, text, start))
        else:
            yield found
            position = found.end


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return max(match.end(), start + 1) if match else start + 1


def _found(text: str, start: int, free: str, before: str) -> Found | None:
    """What begins at ``start``: ``before`` stands in front of it, of which ``free`` belongs to nothing else."""
    if _ORDINAL.match(text, start):
        return None
    if clock := _CLOCK.match(text, start) or _RATIO.match(text, start):
        return Found(start, clock.end(), None, "a time of day or a ratio is no number")
    if feet := _FEET_INCHES.match(text, start):
        inches = 12 * int(feet[1]) + int(feet[2])
        return Found(start, feet.end(), Quantity(Fraction(inches), units.unit_named("in")))
    numeral = numeral_at(text, start)
    if numeral is None:
        return None
    sign, currency, begin = _before(before, start)
    if start - begin > len(free):
        sign, currency, begin = 1, None, start
    if numeral.value is None:
        return Found(begin, numeral.end, None, numeral.problem)
    found = _with_unit(text, numeral, sign * numeral.value, begin, currency)
    if found.quantity and not found.quantity.readable():
        return Found(begin, found.end, None, "a number out of all bounds")
    return found


def _before(before: str, start: int) -> tuple[int, Unit | None, int]:
    """Sign and currency in front of a number at ``start``, and where the whole begins."""
    sign, currency, length = 1, None, len(before)
    for _ in range(2):  # -$5 and $-5
        if currency is None and (match := _CURRENCY_BEFORE.search(before[:length])):
            currency, length = units.unit_named(match[1]), match.start(1)
        elif match := _SIGN_BEFORE.search(before[:length]):
            sign, length = sign * (1 if match[1] == "+" else -1), match.start(1)
        elif match := _WORD_SIGN_BEFORE.search(before[:length]):
            sign, length = -sign, match.start()
    return sign, currency, start - len(before) + length


def _with_unit(text: str, numeral: Numeral, number: Fraction, begin: int, currency: Unit | None) -> Found:
    half_a = _HALF_A.match(text, numeral.end) if numeral.word else None
    last = half_a.end() if half_a else numeral.end
    unit, noun, end = (currency, "", last) if currency else _unit_after(text, last)
    if end < 0 or (currency and _MORE_LETTERS.match(text, end)):
        return Found(begin, _end(_MORE_LETTERS, text, numeral.end), None, "letters stand in the number")
    if unit is not None and (per := _PER.match(text, end)):
        below, after = _word_unit(text, per.end())
        if below is None:
            word = _MORE_LETTERS.match(text, per.end())
            if word and len(word[0]) < 2 and "/" in per[0]:
                return Found(begin, per.end() + 1, None, "an unknown stands below the number")
        elif not {base for base, _ in below.dimensions} & {base for base, _ in unit.dimensions}:
            unit, end = units.rate(unit, below), after
    if numeral.comma and unit is None:
        return Found(begin, end, None, f"“{text[numeral.start : numeral.end]}” may be a decimal or two numbers")
    return Found(begin, end, Quantity(number, unit, noun), word=numeral.word)


def _unit_after(text: str, end: int) -> tuple[Unit | None, str, int]:
    """Unit and noun after a number that ends at ``end``, and where they end; -1 if loose letters follow."""
    gap = _SPACE.match(text, end)
    start = gap.end() if gap else end
    unit, after = _word_unit(text, start)
    if unit is not None:
        return unit, "", after
    word = _MORE_LETTERS.match(text, start)
    if word is None:
        return None, "", end
    letters = word[0].rstrip("_")
    letters = letters.lower() if letters.isascii() else letters
    if gap is None or (len(letters) == 1 and letters not in {"a", "i", "x"}):
        return None, "", -1
    return None, "" if len(letters) == 1 or letters in _NO_NOUN else letters, end


def _word_unit(text: str, start: int) -> tuple[Unit | None, int]:
    """The unit that begins at ``start``, the longest name first, and where it ends."""
    ends: list[int] = []
    position = start
    while len(ends) < 3 and (word := _UNIT_WORD.match(text, position)):
        ends.append(word.end())
        gap = _NEXT_WORD.match(text, word.end())
        if gap is None:
            break
        position = gap.end()
    for end in reversed(ends):
        name = text[start:end].translate(_IN_NAMES)
        unit = units.unit_named(name)
        if unit is not None and not (name == "in" and _WORD_AFTER.match(text, end)):
            return unit, end
    return None, start


def merged(text: str, found: list[Found]) -> list[Found]:
    """``found`` with compounds joined: 5 hours and 30 minutes, 5 lb 3 oz, 5 dollars and 50 cents."""
    joined: list[Found] = []
    smallest: Unit | None = None
    for item in found:
        last = joined[-1] if joined else None
        total = None
        if last and last.quantity and item.quantity and _TOGETHER.fullmatch(text, last.end, item.start):
            total = _sum(last.quantity, smallest, item.quantity)
        smallest = item.quantity.unit if item.quantity else None
        if last is None or total is None:
            joined.append(item)
        else:
            joined[-1] = replace(last, end=item.end, quantity=total)
    return joined


def _sum(large: Quantity, smallest: Unit | None, small: Quantity) -> Quantity | None:
    """Both together; None unless the second is less than one of the smallest unit named before it."""
    if large.unit is None or small.unit is None or smallest is None or small.number < 0:
        return None
    part, least = small.in_unit(large.unit), small.in_unit(smallest)
    if part is None or least is None or least.number >= 1 or small.unit == smallest:
        return None
    total = large.number + part.number if large.number >= 0 else large.number - part.number
    return Quantity(total, large.unit, finer=small.unit if small.unit.dimensions == large.unit.dimensions else None)
