"""What of an outcome a record may hold: whole characters, finite numbers, and nobody's keys."""

from __future__ import annotations

import math
from dataclasses import replace

from dissensus.agents.secrets import hide_keys
from dissensus.script.outcomes import CheckResult, Outcome, ToolResult, TransportFailure, Usage


def recordable(outcome: Outcome) -> Outcome:
    """``outcome`` as a record may hold it: finite numbers, whole characters, no key that a tool or check came by."""
    numbers = (*(getattr(outcome, "logprobs", None) or ()), *_amounts(getattr(outcome, "usage", None)))
    if not all(map(math.isfinite, numbers)):
        return TransportFailure(problem="The back end gave numbers that are not finite.", cause="body")
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


def _amounts(usage: Usage | None) -> tuple[float, ...]:
    """The amounts that may be fractions, where they are known."""
    return () if usage is None else tuple(one for one in (usage.seconds, usage.cost) if one is not None)
