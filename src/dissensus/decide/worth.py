"""What the agreement of a vote is worth. The seam for measured figures: until a panel has been measured, it is unmeasured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dissensus.script.decisions import Ballot


def worth_of(ballots: Sequence[Ballot]) -> Mapping[str, Any]:
    return {"status": "unmeasured"}
