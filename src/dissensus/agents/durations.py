"""Spans of time as people write them."""

from __future__ import annotations

import math
import re
from typing import Any, Final

_UNITS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)", re.ASCII)
LONGEST_S: Final = 366 * 86400.0


def seconds_of(value: Any) -> float:
    """Seconds in ``value``: a number of seconds, or a text such as ``30s``, ``2 min``, ``1.5 h``, ``250 ms``.

    Raises:
        ValueError: it is none of these, not above zero, or longer than a year.
    """
    seconds: float | None = None
    if isinstance(value, str) and (found := _SPAN.fullmatch(value.strip().lower())) and (found[2] or "s") in _UNITS:
        seconds = float(found[1]) * _UNITS[found[2] or "s"]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value) if abs(value) <= LONGEST_S else math.inf
    if seconds is None:
        raise ValueError("has to be a span of time like 30s, 2 min or 1.5 h")
    if not 0 < seconds <= LONGEST_S:
        raise ValueError("has to be a span of time above zero and at most a year")
    return seconds
