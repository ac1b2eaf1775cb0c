"""What of an outcome a record may hold: whole characters, finite numbers, and nobody's keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from dissensus.agents.secrets import hide_keys
from dissensus.script.outcomes import CheckResult, Outcome, ToolResult, TransportFailure, from_data, to_data

_MOST: Final = 2**63


def recordable(outcome: Outcome) -> Outcome:
    """``outcome`` as a record gives it back: finite numbers, whole characters, no key that a tool or check came by.

    A script is sent what a replay will send it, so a whole number where a fraction may stand is made one (6 is written
    otherwise than 6.0), and what a replay could not read is a failed call now.
    """
    try:
        data = to_data(outcome)
        outcome = from_data(data)
    except (msgspec.ValidationError, AttributeError, KeyError, TypeError) as problem:  # whatever others return
        return TransportFailure(problem=f"The back end gave what no record can hold: {problem}."[:500], cause="body")
    if not all(map(_is_kept, _numbers(data))):
        return TransportFailure(problem="The back end gave numbers that are not finite, or too large.", cause="body")
    changed = {}
    for name in ("text", "problem", "detail"):
        text = getattr(outcome, name, None)
        if not isinstance(text, str):
            continue
        fit = text if text.isascii() else text.encode("utf-8", "replace").decode()
        if isinstance(outcome, ToolResult | CheckResult):
            fit = hide_keys(fit)
        if fit != text:
            changed[name] = fit
    return replace(outcome, **changed) if changed else outcome  # type: ignore[arg-type] # they are its own fields


def _numbers(data: Mapping[str, Any]) -> Iterator[Any]:
    """All numbers in an outcome's data."""
    for value in data.values():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif isinstance(value, list | tuple):
            yield from value
        elif isinstance(value, int | float):
            yield value


def _is_kept(number: Any) -> bool:
    return bool(math.isfinite(number) if isinstance(number, float) else -_MOST <= number < _MOST)
