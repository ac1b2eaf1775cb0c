"""What comes of one share: claims for each item, as data, and the items about which nothing came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dissensus.script.decisions import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Decision):
    """How the reading of a share ended. As a decision it has no answer: reports decide nothing.

    Args:
        party: the party.
        agent: who read.
        claims: for each item, claims as :func:`~dissensus.decide.dispute.parsing.claim_from` reads them; none of them
            has been looked at yet.
        silent: items about which nothing came that could be read, with the reason.
        asides: for each item, what came with the claims and weighs nothing: confidence, scratchpad.
    """

    party: str = ""
    agent: str = ""
    claims: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    asides: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Reported:
        """What :meth:`to_data` wrote."""
        return msgspec.convert(dict(data), cls)
