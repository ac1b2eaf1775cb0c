"""A small table of units: names, dimensions and exact factors.

Money is never converted between currencies, months and years never into days, temperatures not at all.
Data sizes follow the standard: 1 kB is 1000 B, 1 KiB is 1024 B. Factors: the SI brochure, and the international yard
and pound of 1959.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

Dimensions = tuple[tuple[str, int], ...]
"""Base quantities and their powers, sorted: ``(("length", 1), ("time", -1))`` is a speed."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit. ``factor`` is its size in the base unit of its dimensions; ``top`` is the numerator of a rate."""

    name: str
    dimensions: Dimensions
    factor: Fraction = Fraction(1)
    top: Unit | None = None


RATIO = Unit("ratio", ())
"""What a question declares when 12 % and 0.12 are the same answer."""

# spellings, case folded, to which a plural "s" is added | how it is shown | dimension and power | size
_TABLE = """
millisecond,msec,ms|ms|time 1|0.001
second,sec,s|s|time 1|1
minute,min|min|time 1|60
hour,hr,h|h|time 1|3600
day,d|day|time 1|86400
week,wk|week|time 1|604800
month|month|calendar 1|1
year,yr|year|calendar 1|12
decade|decade|calendar 1|120
century,centuries|century|calendar 1|1200
millimeter,millimetre,mm|mm|length 1|0.001
centimeter,centimetre,cm|cm|length 1|0.01
meter,metre,m|m|length 1|1
kilometer,kilometre,km|km|length 1|1000
inch,inches,in|in|length 1|0.0254
foot,feet,ft|ft|length 1|0.3048
yard,yd|yd|length 1|0.9144
mile,mi|mi|length 1|1609.344
hectare,ha|ha|length 2|10000
acre|acre|length 2|4046.8564224
milliliter,millilitre,ml|mL|length 3|0.000001
centiliter,centilitre,cl|cL|length 3|0.00001
deciliter,decilitre,dl|dL|length 3|0.0001
liter,litre,l|L|length 3|0.001
teaspoon,tsp|tsp|length 3|0.00000492892159375
tablespoon,tbsp|tbsp|length 3|0.00001478676478125
fluid ounce,fl oz|fl oz|length 3|0.0000295735295625
cup|cup|length 3|0.0002365882365
pint,pt|pt|length 3|0.000473176473
quart,qt|qt|length 3|0.000946352946
gallon,gal|gal|length 3|0.003785411784
milligram,milligramme,mg|mg|mass 1|0.000001
gram,gramme,g|g|mass 1|0.001
kilogram,kilogramme,kilo,kg|kg|mass 1|1
tonne,metric ton|tonne|mass 1|1000
pound,lb|lb|mass 1|0.45359237
ounce,oz|oz|mass 1|0.028349523125
percent,per cent,pct,%|%|percent 1|1
percentage point,percent point|percentage point|percentage points 1|1
degree,deg,°|°|angle 1|1
degree celsius,degrees celsius,degrees c,celsius,°c,° c,℃|°C|celsius 1|1
degree fahrenheit,degrees fahrenheit,degrees f,fahrenheit,°f,° f,℉|°F|fahrenheit 1|1
dollar,us dollar,buck,usd,$,us$|USD|USD 1|1
euro,eur,€|EUR|EUR 1|1
british pound,pound sterling,pounds sterling,gbp,£|GBP|GBP 1|1
yen,jpy,¥|JPY|JPY 1|1
yuan,renminbi,rmb,cny|CNY|CNY 1|1
rupee,inr,₹|INR|INR 1|1
swiss franc,chf|CHF|CHF 1|1
australian dollar,aud,a$,au$|AUD|AUD 1|1
canadian dollar,cad,c$,ca$|CAD|CAD 1|1
cent,¢|cent|cent 1|1
pence|pence|pence 1|1
bit|bit|data 1|1
byte|B|data 1|8
kilobyte|kB|data 1|8000
megabyte|MB|data 1|8000000
gigabyte|GB|data 1|8000000000
terabyte|TB|data 1|8000000000000
"""

# In data sizes case matters: Mb is a megabit and MB a megabyte.
_LETTERS = {"B": 8, "b": 1}
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

SUBUNITS = {"cent": ("AUD", "CAD", "EUR", "USD"), "pence": ("GBP",)}
"""Hundredths, and the currencies that they may be hundredths of."""

CURRENCY_CODES = ("USD", "EUR", "GBP", "JPY", "CNY", "RMB", "INR", "CHF", "AUD", "CAD")

_POWERS = (("square ", 2, "²"), ("sq ", 2, "²"), ("cubic ", 3, "³"), ("cu ", 3, "³"))
_SUFFIXES = (("²", 2), ("^2", 2), ("2", 2), ("³", 3), ("^3", 3), ("3", 3))

# Units that an answer may be shown in, largest first; the shortest number wins. Others are shown as they stand.
_SHOWN: dict[tuple[str, int], tuple[str, ...]] = {
    ("time", 1): ("day", "h", "min", "s", "ms"),
    ("time", -1): ("day", "h", "s"),
    ("calendar", 1): ("year", "month"),
    ("calendar", -1): ("year", "month"),
    ("length", 1): ("mi", "km", "m", "ft", "in", "cm", "mm"),
    ("length", 2): ("mi²", "km²", "acre", "m²", "ft²", "in²", "cm²"),
    ("length", 3): ("m³", "ft³", "gal", "L", "cup", "fl oz", "in³", "mL"),
    ("mass", 1): ("tonne", "kg", "lb", "oz", "g", "mg"),
    ("data", 1): ("TB", "GB", "MB", "kB", "B", "bit", "TiB", "GiB", "MiB", "KiB"),
}


_IN_WORDS = frozenset({"day", "week", "month", "year", "acre", "cup", "tonne", "cent", "bit", "percentage point"})


@cache
def _units() -> dict[str, Unit]:
    """Every spelling to its unit: case-folded ones, and the data sizes as they are written."""
    found: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        spellings, shown, dimension, size = line.split("|")
        base, power = dimension.rsplit(" ", 1)
        unit = Unit(shown, ((base, int(power)),), Fraction(size))
        found[shown] = unit
        for spelling in spellings.split(","):
            found.setdefault(spelling, unit)
            if len(spelling) > 1 and spelling[-1].isalpha() and spelling != "in":
                found.setdefault(f"{spelling}s", unit)
    lengths = {spelling: unit for spelling, unit in found.items() if unit.dimensions == (("length", 1),)}
    for spelling, unit in lengths.items():
        for prefix, degree, sign in _POWERS:
            raised = Unit(unit.name + sign, (("length", degree),), Fraction(unit.factor**degree))
            found[prefix + spelling] = raised
            found.update({spelling + suffix: raised for suffix, of in _SUFFIXES if of == degree})
    for prefix, times in (_PREFIXES | _BINARY_PREFIXES).items():
        for letter, bits in _LETTERS.items():
            name = ("k" if prefix == "K" else prefix) + letter
            found[prefix + letter] = Unit(name, (("data", 1),), Fraction(times * bits))
    del found["b"]  # "b" alone is too often the name of an option
    return found


def unit_named(name: str) -> Unit | None:
    """The unit of the table that ``name`` spells, with its plural and in any case; None if there is none."""
    units = _units()
    if len(name) == 1 and name.isupper():
        return units.get(name)  # 5 M is five million to many, never five metres
    return units.get(name) or units.get(name.casefold())


def rate(top: Unit, bottom: Unit) -> Unit:
    """``top`` per ``bottom``; their dimensions have no base in common."""
    dimensions = tuple(sorted([*top.dimensions, *((base, -power) for base, power in bottom.dimensions)]))
    return Unit(f"{top.name}/{bottom.name}", dimensions, top.factor / bottom.factor, top)


def shown_in(unit: Unit) -> list[Unit]:
    """The units that a quantity in ``unit`` may be shown in, itself left out where the table has others."""
    tops = _shown_alone(unit.top or unit)
    if unit.top is None:
        return tops
    bottom = [(base, power) for base, power in unit.dimensions if power < 0]
    names = _SHOWN.get(bottom[0], ()) if len(bottom) == 1 else ()
    return [rate(top, _units()[name]) for top in tops for name in names] or [unit]


def name_after(number: str, unit: Unit) -> str:
    """The name of ``unit`` as it stands after ``number``."""
    return f"{unit.name}s" if unit.name in _IN_WORDS and number != "1" else unit.name


def _shown_alone(unit: Unit) -> list[Unit]:
    names = _SHOWN.get(unit.dimensions[0], ()) if len(unit.dimensions) == 1 else ()
    return [_units()[name] for name in names] or [unit]
