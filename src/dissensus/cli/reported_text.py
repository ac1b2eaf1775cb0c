"""What was reported in one share, as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from dissensus.cli.readout import clean
from dissensus.decide.swarm.reported import Reported

_LABEL = 10
_MOST = 200


def reported_lines(found: Reported, *, width: int = 80) -> Iterator[str]:
    """What came of each item. A report is not looked at here: its evidence is, where it meets others in a case."""
    items = list(dict.fromkeys([*found.claims, *found.silent]))
    yield f"{clean(found.party)}, read by {clean(found.agent)}: {_count(len(items), 'item')}"
    yield f"{found.status.value}: {_count(len(found.claims), 'item')} reported, {len(found.silent)} silent"
    yield ""
    for item in items:
        for claim in found.claims.get(item, ()):
            yield from _line(item, _said(claim), width)
        if item in found.silent:
            yield from _line(item, f"silent: {found.silent[item][:_MOST]}", width)
    yield ""
    failures = ", ".join(f"{number} {kind}" for kind, number in found.failures.items())
    yield from _line("failures", failures or "none", width)
    if found.stopped:
        yield from _line("stopped", found.stopped, width)
    if found.record:
        yield from _line("record", found.record, width)


def _said(claim: Mapping[str, Any]) -> str:
    value = " ".join(str(claim[key]) for key in ("value", "unit") if claim.get(key) is not None)
    cited = len(claim.get("evidence", ()))
    return f"{claim['attribute']}: {value} ({_count(cited, 'item') + ' of' if cited else 'no'} evidence)"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _line(label: str, text: str, width: int) -> Iterator[str]:
    label = clean(label)
    lines = textwrap.wrap(clean(text), max(width - _LABEL, 20), break_long_words=False, break_on_hyphens=False) or [""]
    if len(label) >= _LABEL:
        yield label
        label = ""
    for line in lines:
        yield f"{label:<{_LABEL}}{line}"
        label = ""
