"""What the agreement of a vote is worth: the seam for measured figures.

Until a panel has been measured it is ``unmeasured``, and no probability is given for the question at hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dissensus.decide.tally import NOT_AWAITED
from dissensus.measure.worth import unmeasured
from dissensus.script.decisions import Ballot


def worth_of(ballots: Sequence[Ballot]) -> Mapping[str, Any]:
    """What can be said of these ballots: ``{"status": "unmeasured", "text": …}``, perhaps with an ``illustration``."""
    final = {ballot.stands_in_for or ballot.agent: ballot for ballot in ballots}.values()
    counted = [ballot for ballot in final if ballot.answer is not None]
    return unmeasured(
        len(counted),
        max(Counter(ballot.answer for ballot in counted).values(), default=0),
        same_model=len({ballot.model for ballot in counted}) == 1,
        copies=sum(bool(ballot.same_as) for ballot in counted),
        blanks=sum(ballot.answer is None and ballot.outcome != NOT_AWAITED for ballot in final),
    )
