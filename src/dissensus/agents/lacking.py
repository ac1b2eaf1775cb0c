"""The failure of a call that a back end cannot do."""

from __future__ import annotations

from dissensus.script.outcomes import TransportFailure


def lacks(what: str) -> TransportFailure:
    """A failure that names what the back end lacks; it is never tried again."""
    return TransportFailure(problem=what, cause="capability")
