"""What the agreement of a vote is worth: measured figures where the panel has a profile, and honesty where not.

Until a panel has been measured it is ``unmeasured``. No probability is given for the question at hand in either case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dissensus.decide.measured import Level, Measured, measured_worth
from dissensus.decide.tally import NOT_AWAITED
from dissensus.measure.worth import unmeasured
from dissensus.script.decisions import Ballot


def worth_of(ballots: Sequence[Ballot], profile: Measured | None = None, kind: str = "auto") -> Mapping[str, Any]:
    """What can be said of these ballots: ``{"status": "unmeasured", "text": …}``, perhaps with an ``illustration``.

    With a ``profile`` of the panel that voted: ``{"status": "measured", …}`` as in
    :func:`~dissensus.decide.measured.measured_worth`, ``kind`` being the question's kind of answer.
    """
    final = _final(ballots)
    counted = [ballot for ballot in final if ballot.answer is not None]
    votes = Counter(ballot.answer for ballot in counted)
    why_not = "" if profile is None else _not_applicable(profile, final)
    if profile is not None and not why_not:
        return measured_worth(profile, list(votes.values()), kind)
    worth = unmeasured(
        len(counted),
        max(votes.values(), default=0),
        same_model=len({ballot.model for ballot in counted}) == 1,
        copies=sum(bool(ballot.same_as) for ballot in counted),
        blanks=sum(ballot.answer is None and ballot.outcome != NOT_AWAITED for ballot in final),
    )
    return {**worth, "text": f"{worth['text']} {why_not}"} if why_not else worth


def unanimous_level(ballots: Sequence[Ballot], profile: Measured | None) -> Level | None:
    """What was measured where every voter gave one answer; None if these did not, or if nothing was measured of it."""
    final = _final(ballots)
    if profile is None or _not_applicable(profile, final) or len({ballot.answer for ballot in final}) != 1:
        return None
    return profile.level(len(final)) if final[0].answer is not None else None


def _final(ballots: Sequence[Ballot]) -> list[Ballot]:
    """The ballot of each configured voter: its own, or that of the last spare that stands in for it."""
    return list({ballot.stands_in_for or ballot.agent: ballot for ballot in ballots}.values())


def _not_applicable(profile: Measured, final: Sequence[Ballot]) -> str:
    """Why the profile says nothing of this vote; "" if it does."""
    if profile.too_few:
        return profile.too_few
    if any(ballot.outcome == NOT_AWAITED for ballot in final):
        return "The panel's profile counts all ballots, and here some were not awaited, so it does not apply."
    if len(final) != profile.voters:
        return f"The profile is of a panel of {profile.voters}, and {len(final)} voted here, so it does not apply."
    return ""
