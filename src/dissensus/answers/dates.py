"""Dates as they are written in English and in figures; what could be two dates is none.

A date may be less precise (a month, a year), and then differs from every more precise one. Figures with dots put the
day first, as everywhere where dots are used; with slashes or dashes only a day above 12 tells day from month.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)}
_MONTH_NUMBERS |= {name[:3]: number for name, number in _MONTH_NUMBERS.items()} | {"sept": 9}
_MONTH = "(?:" + "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True)) + r")(?![A-Za-z])\.?"
_CUT_YEAR = r",?\s['’]?[0-9]{1,2}(?![0-9:.])"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_ERA = r"\s?(?:bce?|ce|ad)(?![a-z])|\s?b\.c\.(?:e\.)?|\s?a\.d\."
_DATE = re.compile(
    rf"""(?<![\w.,/-])(?:
      (?P<iso>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}})(?:t[0-9]{{2}}:[0-9:.]{{2,15}}(?:z|[-+][0-9:]{{2,5}})?)?(?P<iso_era>{_ERA})?
    | (?P<year_first>[0-9]{{4}}(?P<first_sign>[/.])[0-9]{{1,2}}(?P=first_sign)[0-9]{{1,2}})
    | (?P<year_month>[0-9]{{4}}-[0-9]{{2}})(?P<ym_era>{_ERA})?
    | (?P<figures>[0-9]{{1,2}}(?P<sign>[/.-])[0-9]{{1,2}}(?P=sign)[0-9]{{2,4}})
    | (?P<day>{_DAY})\s(?:of\s)?(?P<month>{_MONTH})
      (?:,?\s?(?:(?P<year>[0-9]{{3,4}})|(?P<old_year>[0-9]{{1,4}})(?={_ERA}))(?P<era>{_ERA})?|{_CUT_YEAR})?
    | (?P<us_month>{_MONTH})\s?(?P<us_day>{_DAY})(?![0-9])
      (?:,?\s(?:(?P<us_year>[0-9]{{3,4}})|(?P<us_old_year>[0-9]{{1,4}})(?={_ERA}))(?P<us_era>{_ERA})?|{_CUT_YEAR})?
    | (?P<my_month>{_MONTH}),?\s(?:of\s)?(?P<my_year>[0-9]{{3,4}})(?P<my_era>{_ERA})?
    | (?P<no_day>--[0-9]{{2}}(?:-[0-9]{{2}})?)
    | (?P<era_year>[0-9]{{1,4}})(?P<only_era>{_ERA})
    | (?P<only_year>[0-9]{{4}})
    )(?![\w/-]|[.,:][0-9])""",
    re.VERBOSE | re.IGNORECASE,
)
_LONE_MONTH = re.compile(_MONTH, re.IGNORECASE)
_NUMBERS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Date:
    """A date of the Gregorian calendar, or of the Julian as it was written. 0 stands for what is not known."""

    year: int = 0
    month: int = 0
    day: int = 0
    before_christ: bool = False

    def canonical(self) -> str:
        """ISO 8601: ``2026-11-30``, ``2026-11``, ``2026``; without a year ``--11-30``; with `` BC`` where it is so."""
        year = f"{self.year:04}" if self.year else "-"
        parts = [year, *([f"{self.month:02}"] if self.month else []), *([f"{self.day:02}"] if self.day else [])]
        return "-".join(parts) + (" BC" if self.before_christ else "")


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date in a text, or why what looks like one cannot be read."""

    start: int
    end: int
    date: Date | None
    problem: str = ""


def scan_dates(text: str) -> Iterator[FoundDate]:
    """The dates in ``text``, from left to right. Time is linear in its length."""
    for match in _DATE.finditer(text):
        date, problem = _read(match)
        if date and not _exists(date):
            date, problem = None, "there is no such day"
        yield FoundDate(match.start(), match.end(), date, problem)


def lone_month(text: str) -> Date | None:
    """The month that ``text`` names and nothing else."""
    match = _LONE_MONTH.fullmatch(text.strip(" .*_"))
    return Date(month=_month(match[0])) if match else None


def _read(match: re.Match[str]) -> tuple[Date | None, str]:
    groups = match.groupdict()
    if groups["iso"] or groups["year_first"] or groups["year_month"]:
        numbers = [
            int(number) for number in _NUMBERS.findall(groups["iso"] or groups["year_first"] or groups["year_month"])
        ]
        if not numbers[0] or not all(1 <= number <= 31 for number in numbers[1:]) or numbers[1] > 12:
            return None, "there is no such day"
        _, bc = _year(None, groups["iso_era"] or groups["ym_era"])
        year, month, day = (*numbers, 0)[:3]
        return Date(year, month, day, before_christ=bc), ""
    numbers = [int(number) for number in _NUMBERS.findall(match[0])]
    if groups["figures"]:
        return _from_figures(numbers, groups["sign"], len(groups["figures"].rpartition(groups["sign"])[2]))
    if groups["no_day"]:
        month, day = (*numbers, 0)[:2]
        return Date(0, month, day), ""
    for prefix in ("", "us_"):
        if name := groups[f"{prefix}month"]:
            written = groups[f"{prefix}year"] or groups[f"{prefix}old_year"]
            if written is None and len(numbers) > 1:
                return None, "the year needs four digits"
            year, bc = _year(written, groups[f"{prefix}era"])
            day = int(_NUMBERS.findall(groups[f"{prefix}day"])[0])
            return (Date(year, _month(name), day, before_christ=bc), "") if day else (None, "there is no such day")
    if name := groups["my_month"]:
        year, bc = _year(groups["my_year"], groups["my_era"])
        return Date(year, _month(name), before_christ=bc), ""
    year, bc = _year(groups["only_year"] or groups["era_year"], groups["only_era"])
    return Date(year, before_christ=bc), ""


def _year(written: str | None, era: str | None) -> tuple[int, bool]:
    return int(written or 0), (era or "").strip().lower().startswith("b")


def _month(name: str) -> int:
    return _MONTH_NUMBERS[name.lower().rstrip(".")]


def _from_figures(numbers: list[int], sign: str, digits_of_year: int) -> tuple[Date | None, str]:
    first, second, year = numbers
    if digits_of_year != 4:
        return None, "the year needs four digits"
    if sign == "." or first > 12 or first == second:
        return Date(year, second, first), ""
    if second > 12:
        return Date(year, first, second), ""
    return None, "day and month could be either way round"


def _exists(date: Date) -> bool:
    if date.month > 12 or (date.year == 0 and date.month == 0) or (date.day and not date.month):
        return False
    year = 1 - date.year if date.before_christ else date.year or 2000  # without a year, 29 February is possible
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return date.day <= (lengths[date.month - 1] if date.month else 0)
