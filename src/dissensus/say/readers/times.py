"""Times as logs write them, as seconds since 1970-01-01 UTC."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

_LATEST: Final = 32_503_680_000.0
"""The year 3000 in seconds: a larger number counts in a smaller unit."""


def seconds(value: Any) -> float | None:
    """Seconds since 1970 in ``value``; None if it is no time.

    A text is ISO 8601 (without a zone: UTC) or a number. A number counts seconds, or, where that would be past the year
    3000, milli-, micro- or nanoseconds.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 40:
            return None
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            try:
                value = float(text)
            except ValueError:
                return None
    if not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number) or number < 0:
        return None
    while number > _LATEST:
        number /= 1000.0
    return number
