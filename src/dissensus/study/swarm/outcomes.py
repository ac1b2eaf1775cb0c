"""How each item has ended, and what spot checks and planted faults have shown.

Two parties agree on an item only if, for each thing that is wanted of it, claims of both are left standing and do not
rest on copies of one source. What only one party tells of is *unchallenged*, and is never told as agreed; *open_budget*
if the other one was not heard because the budget was over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, Literal

from dissensus.decide.dispute.case import State
from dissensus.decide.dispute.case_data import case_from
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.comparing import compare_claims
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.dispute.normalise import normal
from dissensus.script.outcomes import BudgetExhausted
from dissensus.study.swarm.batch import Swarm
from dissensus.study.swarm.case_runs import CaseRun
from dissensus.study.swarm.readings import ItemReport

OUTCOMES: Final = (
    "settled", "consistent", "unchallenged", "no report", "incomplete", "disputed", "waiting", "open_budget", "error",
)  # fmt: skip
"""How an item can end, what is most pressing last: an item of several cases ends as the most pressing one."""
Spot = Literal["", "programs only", "sound", "wrong", "undetermined", "failed"]
_FOUND: Final[Mapping[str, Spot]] = {"BOTH_CONSISTENT": "sound", "SOURCE_WRONG": "wrong", "BOTH_WRONG": "wrong"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """How an item has ended.

    Args:
        item: its name.
        outcome: one of :data:`OUTCOMES`.
        why: a sentence.
        runs: its cases, with their records; none if nobody reported anything.
        silent: by party, why nothing was reported.
        spot: what the verifier found, if it was a spot check; "" if it was none.
    """

    item: str
    outcome: str
    why: str
    runs: tuple[CaseRun, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)
    spot: Spot = ""

    @property
    def rule(self) -> str:
        """By which rule it was settled; "" if by none."""
        rules = [str(run.account.verdict.get("rule") or "") for run in self.runs if run.account is not None]
        return rules[0] if self.outcome == State.SETTLED and rules else ""

    @property
    def agreed(self) -> bool:
        """Whether nothing contradicts, and none of its reports fell."""
        return self.outcome == State.CONSISTENT and not any(
            run.account.verdict.get("losers") for run in self.runs if run.account is not None
        )

    def documents(self) -> Iterator[dict[str, Any]]:
        """Its cases as ``dissensus dispute --json`` prints each, with how the item has ended."""
        ended: dict[str, Any] = {
            "item": self.item,
            "outcome": self.outcome,
            "why": self.why,
            "silent": dict(self.silent),
            "spot_check": self.spot or None,
        }
        as_its_cases = self.outcome in {run.state for run in self.runs}
        for run in self.runs:
            if run.account is not None:
                document = run.account.document()
                status = document["status"] if as_its_cases else self.outcome
                yield {**document, "status": status, **ended, "record": run.account.record}
        if not self.runs:
            yield {**_NO_CASE, "case": self.item, "status": self.outcome, **ended, "record": None}


_NO_CASE: Final[Mapping[str, Any]] = {
    "case": None, "status": None, "rule": None, "cites": [], "losers": [], "question": None, "answer": None,
    "verifier_input_sha256": None, "cell": None, "budget": None,
}  # fmt: skip


def result_of(swarm: Swarm, item: str, reports: Mapping[str, ItemReport], runs: Sequence[CaseRun]) -> ItemResult:
    """How ``item`` has ended.

    Args:
        swarm: the batch.
        item: which item.
        reports: what each party has reported about it; a party that is missing has no source of it.
        runs: its cases.
    """
    silent = {party.name: why for party in swarm.parties if (why := _silence(party.name, reports))}
    unasked = any(not one.claims and one.failed == BudgetExhausted.kind for one in reports.values())
    if not runs:
        why = "; ".join(f"{party}: {reason}" for party, reason in silent.items())
        return ItemResult(item=item, outcome="open_budget" if unasked else "no report", why=why, silent=silent)
    worst = max(runs, key=lambda run: _pressing(run.state))
    outcome, why = worst.state, " ".join([_why(worst), *_unread(worst, reports)])
    told = [party.name for party in swarm.parties if party.name not in silent]
    if outcome == State.CONSISTENT or (outcome == State.SETTLED and len(told) < 2):
        lacking = list(_unchallenged(swarm, item, runs))
        if lacking:
            outcome = "open_budget" if unasked else "unchallenged"
            why = "; ".join([*lacking, *(f"{p}: {reason}" for p, reason in silent.items())])
    return ItemResult(item=item, outcome=outcome, why=why, runs=tuple(runs), silent=silent, spot=_spot(runs))


def _pressing(state: str) -> int:
    return OUTCOMES.index(state) if state in OUTCOMES else len(OUTCOMES)


def _silence(party: str, reports: Mapping[str, ItemReport]) -> str:
    report = reports.get(party)
    if report is None:
        return "it has no source of this item"
    return "" if report.claims else report.silent or "it reported nothing"


def _why(run: CaseRun) -> str:
    account = run.account
    if account is None:
        return ""
    stopped = account.budget.get("stopped")
    return str(account.error or account.verdict.get("why") or stopped or "")


def _unread(run: CaseRun, reports: Mapping[str, ItemReport]) -> Iterator[str]:
    """What could not be read of the claims that went back: evidence that names no source, say, is as good as none."""
    returned = {one["claim"] for one in run.account.verdict.get("returned", ())} if run.account is not None else set()
    for report in reports.values():
        for aside in report.asides:
            if aside.get("claim") in returned:
                yield from aside.get("says", ())


def _unchallenged(swarm: Swarm, item: str, runs: Sequence[CaseRun]) -> Iterator[str]:
    """For each thing that is wanted of the item, why no two parties stand for it."""
    opened = [(run.account, Docket(case_from(run.account.case))) for run in runs if run.account is not None]
    for wanted in swarm.wanted:
        about = wanted.about(item)
        standing: list[tuple[Docket, Claim]] = []
        fallen: dict[str, str] = {}
        for account, docket in opened:
            verdict = account.verdict
            down = {one["claim"]: one["reason"] for one in (*verdict.get("losers", ()), *verdict.get("returned", ()))}
            for claim in docket.case.claims:
                if not _same(claim.attribute, about["attribute"]) or not _same(claim.subject, about["subject"]):
                    continue
                if claim.id in down:
                    fallen[claim.cell] = down[claim.id]
                else:
                    standing.append((docket, claim))
        if why := _alone(standing, fallen):
            yield f"{wanted.attribute}: {why}" if len(swarm.wanted) > 1 else why


def _alone(standing: Sequence[tuple[Docket, Claim]], fallen: Mapping[str, str]) -> str:
    """Why no two parties say the same of one thing, on sources that are no copies of one another; "" if two do."""
    parties = list(dict.fromkeys(claim.cell for _, claim in standing))
    if len(parties) < 2:
        falls = "".join(
            f"; the report of {party} fell ({why})" for party, why in fallen.items() if party not in parties
        )
        return f"only {parties[0]} is left{falls}" if parties else f"nobody is left{falls}"
    pairs = [
        (docket, one, other, compare_claims(one, other, docket.measures.units))
        for (docket, one), (_, other) in combinations(standing, 2)
        if one.cell != other.cell
    ]
    same = [(docket, one, other) for docket, one, other, found in pairs if found.relation == "AGREE"]
    if not same:
        return pairs[0][3].why
    origins = [
        {docket.origin_of(item.digest) for claim in (one, other) for item in claim.evidence}
        for docket, one, other in same
    ]
    return f"{' and '.join(parties)} rest on copies of one source" if all(len(one) == 1 for one in origins) else ""


def _same(said: str | None, wanted: str) -> bool:
    return normal(said or "").strip() == normal(wanted).strip()


def _spot(runs: Sequence[CaseRun]) -> Spot:
    """What the verifier found in those of the runs that were spot checks and came to nothing else."""
    for run in runs:
        if run.account is None or not run.account.case.get("spot_check"):
            continue
        kinds = {event.kind for event in run.account.events}
        findings = [event.body for event in run.account.events if event.kind == "finding"]
        if "spot-check" in kinds and findings:
            return "failed" if findings[-1].get("failed") else _FOUND.get(findings[-1]["outcome"], "undetermined")
        if run.state == State.CONSISTENT:
            return "programs only"
    return ""


# --- planted faults

Fate = Literal["caught", "unchallenged", "passed", "believed", "not looked at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantResult:
    """What became of a planted fault.

    Args:
        item, kind: where it was planted, and what it is.
        claims: the claims at fault.
        fate: ``caught`` if they all fell, were returned, or the case is for a person to say; ``unchallenged`` if
            nothing fell, and what is left does not agree; ``passed`` if nothing was noticed; ``believed`` if the case
            was settled for one of them; ``not looked at`` for want of money, or after an error.
        state: of its case.
        record: of its case.
    """

    item: str
    kind: str
    claims: tuple[str, ...]
    fate: Fate
    state: str
    rule: str
    record: str

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def fate_of(swarm: Swarm, item: str, run: CaseRun, claims: Sequence[str]) -> Fate:
    """What became of the claims at fault in a case that was planted in ``item``."""
    account = run.account
    if account is None or run.state in (State.ERROR, State.OPEN_BUDGET, State.OPEN):
        return "not looked at"
    verdict = account.verdict
    down = {one["claim"] for one in (*verdict.get("losers", ()), *verdict.get("returned", ()))}
    if run.state in (State.DISPUTED, State.WAITING) or set(claims) <= down:
        return "caught"
    if run.state == State.SETTLED:
        return "believed"
    return "unchallenged" if any(_unchallenged(swarm, item, [run])) else "passed"
