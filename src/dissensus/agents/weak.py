"""Which models of a panel are too weak to name a letter or to follow a format, judged by the size of their files."""

from __future__ import annotations

from pathlib import Path

from dissensus.agents.panel import Panel
from dissensus.errors import DissensusError

WEAK_BELOW = 1_000_000_000
"""Bytes of a model's file. A model of half a billion weights named the right letter in 2 of 8 choices."""


def weak_models(panel: Panel) -> tuple[str, ...]:
    """References of the panel's embedded models whose file is small. Of models on servers nothing is known."""
    references = sorted({seat.model for seat in panel.seats})
    return tuple(reference for reference in references if 0 < _size(reference) < WEAK_BELOW)


def _size(reference: str) -> int:
    """Bytes of the file behind a reference; 0 if it is no embedded model or is not there."""
    from dissensus.agents.catalogue import find
    from dissensus.agents.registry import split_reference

    try:
        scheme, rest = split_reference(reference)
        if scheme != "llama":
            return 0
        path = Path(rest)
        return path.stat().st_size if path.is_file() else find(rest).size
    except (DissensusError, OSError):
        return 0
