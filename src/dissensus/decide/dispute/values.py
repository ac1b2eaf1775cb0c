"""What a claim says: a typed value as it was written, and the time at which it is said to hold.

Numbers are exact: a decimal is a :class:`decimal.Decimal` that was read from its digits, never a binary float, and its
written form is kept (``12.50`` stays ``12.50``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, get_args

ValueType = Literal["decimal", "integer", "boolean", "date", "enum", "string", "set"]
VALUE_TYPES: Final[tuple[str, ...]] = get_args(ValueType)

MOST_DIGITS: Final = 1000
"""Most digits of a number, written out: no quantity has more, and comparing stays quick."""

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")
_YEAR: Final = re.compile(r"[0-9]{4}")
_SAFE_FLOAT: Final = 15
"""A float gives back every decimal of up to this many significant digits."""


class NotRead(ValueError):
    """Data is not what it should be. The sentence begins with a verb and has no end: ``is no date``."""


class Written(str):
    """The text of a number in a JSON document, so that none of its digits is lost."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value. Two are equal if type and value are, however they were written.

    Args:
        type: one of :data:`VALUE_TYPES`.
        value: ``Decimal``, ``int``, ``bool``, ``date``, ``str`` (enum and string) or ``frozenset`` of texts.
        written: how it was written.
    """

    type: ValueType
    value: Decimal | int | bool | date | str | frozenset[str]
    written: str = field(default="", compare=False)

    @property
    def number(self) -> Decimal | int | None:
        """The number, if it is one."""
        is_number = self.type in ("decimal", "integer") and isinstance(self.value, Decimal | int)
        return self.value if is_number else None  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class AsOf:
    """When a claim is said to hold: an instant (``start == end``) or the interval ``[start, end)``.

    ``None`` on one side is an open end. That nobody knows when is no ``AsOf`` at all: the claim has None there.
    """

    start: datetime | None
    end: datetime | None
    written: str = field(default="", compare=False)

    @property
    def instant(self) -> bool:
        """Whether it is one point in time."""
        return self.start is not None and self.start == self.end

    def overlaps(self, other: AsOf) -> bool:
        """Whether some moment belongs to both."""
        return _begins_before_end(self, other) and _begins_before_end(other, self)


def _begins_before_end(one: AsOf, other: AsOf) -> bool:
    if one.start is None or other.end is None:
        return True
    return one.start <= other.end if other.instant else one.start < other.end


def decimal_of(text: str) -> Decimal:
    """The number that ``text`` writes with a decimal point, as in ``-12.50`` or ``1e3``.

    Raises:
        NotRead: it is none.
    """
    if not _NUMBER.fullmatch(text):
        raise NotRead("is no number; write digits with a decimal point, as in 12.50")
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or len(number.as_tuple().digits) + abs(exponent) > MOST_DIGITS:
        raise NotRead(f"has more than {MOST_DIGITS} digits")
    return number


def value_of(data: object, type_: str | None = None) -> Value:
    """The typed value of JSON or YAML ``data``.

    Args:
        data: a number, a text, true or false, or a list of these.
        type_: one of :data:`VALUE_TYPES`; else what the data looks like: a text is a ``string``, a list a ``set``.

    Raises:
        NotRead: it is none.
    """
    if type_ is not None and type_ not in VALUE_TYPES:
        raise NotRead(f"has the unknown type {type_!r}; known are {', '.join(VALUE_TYPES)}")
    kind = type_ or _looks_like(data)
    written = _written(data)
    if kind == "decimal" and isinstance(data, str | int | float | Decimal) and not isinstance(data, bool):
        return Value("decimal", decimal_of(written), written)
    if kind == "integer" and isinstance(data, str | int | Decimal) and not isinstance(data, bool):
        if not _INTEGER.fullmatch(written):
            raise NotRead("is no whole number")
        if len(written) > MOST_DIGITS:
            raise NotRead(f"has more than {MOST_DIGITS} digits")
        return Value("integer", int(written), written)
    if kind == "boolean" and (isinstance(data, bool) or written in ("true", "false")):
        return Value("boolean", written == "true", written)
    if kind == "date" and isinstance(data, str):
        if not _DATE.fullmatch(data):
            raise NotRead("is no date; write it like 2026-03-02")
        try:
            return Value("date", date.fromisoformat(data), data)
        except ValueError:
            raise NotRead("is no day of the calendar") from None
    if kind in ("enum", "string") and isinstance(data, str) and not isinstance(data, Written):
        return Value("enum" if kind == "enum" else "string", data, data)
    if kind == "set" and isinstance(data, list | tuple | set | frozenset):
        return _set_of(data)
    raise NotRead(f"is no {kind}")


def _set_of(items: Iterable[object]) -> Value:
    texts = []
    for item in items:
        if not isinstance(item, str | int | Decimal | float):
            raise NotRead("is a set of something that is neither text nor number")
        texts.append(_written(item))
        if not isinstance(item, bool) and (isinstance(item, Written) or not isinstance(item, str)):
            texts[-1] = _shortest(decimal_of(texts[-1]))
    found = frozenset(texts)
    return Value("set", found, "{" + ", ".join(sorted(found)) + "}")


def _shortest(number: Decimal) -> str:
    """A number as a member of a set, which 1.50 and 1.5 are once."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _looks_like(data: object) -> str:
    if isinstance(data, bool):
        return "boolean"
    if isinstance(data, int):
        return "integer"
    if isinstance(data, Written | Decimal | float):
        return "decimal"
    if isinstance(data, str):
        return "string"
    if isinstance(data, list | tuple | set | frozenset):
        return "set"
    raise NotRead("is neither number, text, boolean nor list")


def _written(data: object) -> str:
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, float):  # from YAML, whose reader has made one of it
        text = repr(data)
        if len(re.sub(r"e.*|[^0-9]", "", text).strip("0")) > _SAFE_FLOAT:
            raise NotRead("has too many digits to be exact; put the number into quotes")
        return text
    try:
        return str(data)
    except ValueError:  # an integer longer than Python likes to print
        raise NotRead(f"has more than {MOST_DIGITS} digits") from None


def as_of_from(data: object) -> AsOf | None:
    """The time of ``data``: an instant, a day, month or year, ``A/B``, or ``{"from": A, "to": B}``; None is unknown.

    A time without an offset is taken as UTC. A day is the interval from its midnight to the next one.

    Raises:
        NotRead: it is none.
    """
    if data is None:
        return None
    if isinstance(data, dict):
        if not data or set(data) - {"from", "to"}:
            raise NotRead("has to hold `from` and `to`")
        return _interval(data.get("from"), data.get("to"))
    if isinstance(data, list | tuple) and len(data) == 2:
        return _interval(data[0], data[1])
    if isinstance(data, int) and not isinstance(data, bool):  # a bare year in YAML
        data = str(data)
    if not isinstance(data, str):
        raise NotRead("is no time; write it like 2026-03-02T11:00:00Z")
    if "/" in data:
        first, _, last = data.partition("/")
        return _interval(first if first not in ("", "..") else None, last if last not in ("", "..") else None)
    start, end = _moment(data)
    return AsOf(start, end, data)


def _interval(first: object, last: object) -> AsOf:
    if first is None and last is None:
        raise NotRead("has no end on either side; leave it out if nobody knows")
    start = None if first is None else _moment(first)[0]
    end = None if last is None else _moment(last)[0]
    if start is not None and end is not None and end <= start:
        raise NotRead("ends before it begins")
    return AsOf(start, end, f"{'..' if first is None else first}/{'..' if last is None else last}")


def _moment(data: object) -> tuple[datetime, datetime]:
    """Begin and end of what a text names: equal for an instant."""
    text = str(data) if isinstance(data, int) and not isinstance(data, bool) else data
    if not isinstance(text, str):
        raise NotRead("is no time; write it like 2026-03-02T11:00:00Z")
    try:
        if _YEAR.fullmatch(text):
            year = int(text)
            return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
        if month := _MONTH.fullmatch(text):
            year, number = int(month[1]), int(month[2])
            after = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
            return datetime(year, number, 1, tzinfo=UTC), after
        if _DATE.fullmatch(text):
            day = datetime.fromisoformat(text).replace(tzinfo=UTC)
            return day, day + timedelta(days=1)
        moment = datetime.fromisoformat(text.strip())
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotRead(f"is no time: {text[:40]!r}; write it like 2026-03-02T11:00:00Z") from None
    return moment, moment
