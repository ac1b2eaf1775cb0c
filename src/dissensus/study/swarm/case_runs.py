"""One case of a swarm in its record: is it done, does it wait, is there something to go on with, or is it to be begun?

Records of one case are numbered. The last one counts; a case that is looked at again names the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from dissensus.decide.dispute.account import Account, account_of
from dissensus.decide.dispute.case import Case, State
from dissensus.decide.dispute.case_data import case_data
from dissensus.decide.dispute.precedence import Precedence
from dissensus.decide.procedures import settings_of_dispute
from dissensus.errors import ScriptError, StorageError, UsageError
from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.run.casting import Cast, run_procedure
from dissensus.run.inbox import State as Asked
from dissensus.run.inbox import questions_in
from dissensus.run.inbox_withdrawing import withdraw
from dissensus.run.waiting import of_the_run
from dissensus.study.records import go_on
from dissensus.study.swarm.meeting import reported_in, rules_since, same_rules, terms_in
from dissensus.study.swarm.names import events_in, free, of_name, word

CASES, PLANTS = "cases", "plants"
Work = Literal["", "begin", "go on", "again"]
_AGAIN: Final = "Its case is looked at again in a new record, by what is known now."


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRun:
    """Where a case stands.

    Args:
        case: the case as it would be opened today.
        work: what is to be done: nothing, begin it, go on with its record, or look at it again.
        path: its record; None if there is none.
        account: what the record tells; None if there is none.
    """

    case: Case
    work: Work
    path: Path | None = None
    account: Account | None = field(default=None, repr=False)

    @property
    def state(self) -> str:
        """State of the case; ``open`` before anything was done."""
        return self.account.state if self.account is not None else State.OPEN.value


def look(
    place: Path, case: Case, *, limits: object, declared: Precedence | None, name: str = "", repin: bool = False
) -> CaseRun:
    """Where ``case`` stands in the folder ``place``.

    Args:
        place: folder of records.
        case: the case as it would be opened today.
        limits: of the whole swarm: a case whose budget was over is looked at again if they are others now.
        declared: the rules of precedence of the tasks file, without those that persons made.
        name: of its records; the case's own if it is left out.
        repin: whether a case that was settled under other terms is looked at again.

    Raises:
        UsageError: it was settled under other terms, and ``repin`` does not say that this is known.
        RecordError: a record is damaged.
    """
    last: tuple[Path, list[Event]] | None = None
    for path in of_name(place, word(name or case.id)):
        if events := events_in(path):
            last = path, events
    if last is None:
        return CaseRun(case=case, work="begin")
    path, events = last
    account = account_of(events)
    account.record = str(path)
    same_terms = terms_in(account.case) == terms_in(case_data(case)) and same_rules(account.case, declared)
    if not same_terms and not repin:
        raise UsageError(
            f"{path} was settled under other terms: verifier, turns, rounds, units or rules of precedence.",
            next_step="Name a new folder with -o, or use --repin: then the cases are looked at again.",
        )
    if reported_in(account.case) != reported_in(case_data(case)):
        again = replace(case, after=path.name)
        return CaseRun(case=again, work="again", path=path, account=account)
    ended = _ended(events)
    if not same_terms or (ended and _more_can_be_done(case, account, limits)):
        return CaseRun(case=case, work="again", path=path, account=account)
    waits = _waits(events)
    undecided = waits or (ended and account.state == State.DISPUTED)
    if undecided and (_withdrawn(events) or rules_since(account.case, case)):
        return CaseRun(case=replace(case, after=path.name), work="again", path=path, account=account)
    work: Work = "" if ended or waits else "go on"
    return CaseRun(case=case, work=work, path=path, account=account)


def _more_can_be_done(case: Case, account: Account, limits: object) -> bool:
    """Whether what ended it holds no more: the budget, that nobody was to be asked, that it was no spot check."""
    match account.state:
        case State.OPEN_BUDGET:
            return bool(account.events[0].body.get("panel", {}).get("budget") != limits)
        case State.DISPUTED:
            return case.asking.ask
        case State.CONSISTENT:
            return case.spot_check and bool(case.verifier) and not account.case.get("spot_check")
    return False


def _ended(events: Sequence[Event]) -> bool:
    return next((event.kind for event in of_the_run(reversed(events))), "") == "ended"


def _waits(events: Sequence[Event]) -> bool:
    """Whether it waits for a person who has not answered."""
    last = next((event.kind for event in of_the_run(reversed(events))), "")
    return last == "waiting" and not any(one.accepted and not one.taken_up for one in questions_in(events))


def _withdrawn(events: Sequence[Event]) -> bool:
    """Whether its question was taken back, and the record that was to follow was never begun."""
    return any(one.state is Asked.WITHDRAWN for one in questions_in(events)) and _waits(events)


async def carry_out(place: Path, run: CaseRun, cast: Cast, *, seed: int, name: str = "") -> CaseRun:
    """Do what is to be done of a case; what its procedure fails with is its state ``error``.

    Raises:
        StorageError: a record cannot be written.
        RecordError: a record is damaged.
    """
    path = run.path
    if run.work == "again" and run.state == State.WAITING and path is not None and not withdraw(path, _AGAIN):
        run = replace(run, work="go on")  # a person was quicker
    if run.work == "go on" and path is not None:
        try:
            if await go_on(path, cast) is not None:
                return _done(run, path)
        except ScriptError:
            return _done(run, path)
    anew = free(place, word(name or run.case.id))  # also where another version of the procedures began it
    try:
        with open_record(anew, "x") as store:
            await run_procedure(
                procedure="dispute", settings=settings_of_dispute(run.case), panel=cast, record=store, seed=seed
            )
    except ScriptError:
        pass
    return _done(run, anew)


def _done(run: CaseRun, path: Path) -> CaseRun:
    if not (events := events_in(path)):
        raise StorageError(f"{path} holds nothing.", next_step="Give the same command again.")
    account = account_of(events)
    account.record = str(path)
    return CaseRun(case=run.case, work="", path=path, account=account)
