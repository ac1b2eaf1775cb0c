"""Outside checks of the answers that got votes, and what their verdicts may change.

A check asks no agent. Its verdicts stand beside the vote (``beside``), or may change the answer (``overrule``):

==============  ==========================================  =================================================
the vote        verdicts                                    ``overrule`` makes of it
==============  ==========================================  =================================================
has a winner    winner accepted, or could not be judged     the winner stays
has a winner    winner rejected, exactly one other accepted that other is the answer
has a winner    winner rejected, none or several accepted   no answer, ``disputed``
is split        exactly one answer accepted                 that one is the answer
is split        every answer rejected                       no answer, ``disputed``
is split        anything else                               it stays split
==============  ==========================================  =================================================

With several checks an answer is accepted if all accept it, rejected if one rejects it, and not judged otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dissensus.script.decisions import Check, Status
from dissensus.script.effects import RunCheck, Script
from dissensus.script.outcomes import CheckResult

ACCEPTED, REJECTED, ERROR = "accepted", "rejected", "error"


def run_checks(names: Sequence[str], question: str, answers: Iterable[str], *, since: int = 0) -> Script:
    """Try each of ``answers`` against each check, side by side. Returns a tuple of Check, answers first.

    ``since`` is the number of answers tried before in the same vote; keys count on from it.
    """
    pairs = [(place, answer, name) for place, answer in enumerate(answers, since + 1) for name in names]
    effects = [
        RunCheck(name, question, answer, key=f"check/{place}/{names.index(name) + 1}") for place, answer, name in pairs
    ]
    if not effects:
        return ()
    outcomes = yield effects
    return tuple(_as_check(name, answer, outcome) for (_, answer, name), outcome in zip(pairs, outcomes, strict=True))


def _as_check(name: str, answer: str, outcome: object) -> Check:
    if isinstance(outcome, CheckResult):
        return Check(check=name, answer=answer, verdict=outcome.verdict, detail=outcome.detail)
    return Check(check=name, answer=answer, verdict=ERROR, detail="it gave no verdict")


def verdicts(checks: Iterable[Check]) -> dict[str, str]:
    """For each answer that was tried, the verdict of all checks together."""
    by_answer: dict[str, set[str]] = {}
    for check in checks:
        by_answer.setdefault(check.answer, set()).add(check.verdict)
    return {
        answer: REJECTED if REJECTED in said else ACCEPTED if said == {ACCEPTED} else ERROR
        for answer, said in by_answer.items()
    }


def overrule(answer: str | None, status: Status, said: Mapping[str, str]) -> tuple[str | None, Status]:
    """What the table above makes of an answer and status, given each answer's verdict."""
    if status not in (Status.DECIDED, Status.SPLIT) or (answer is not None and said.get(answer) != REJECTED):
        return answer, status
    accepted = [one for one, verdict in said.items() if verdict == ACCEPTED]
    if len(accepted) == 1:
        return accepted[0], Status.DECIDED
    if answer is None and set(said.values()) != {REJECTED}:
        return None, Status.SPLIT
    return None, Status.DISPUTED
