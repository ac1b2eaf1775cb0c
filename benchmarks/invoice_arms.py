"""Ways to make one answer of two reports: the rules of a dispute, and what is done instead.

An arm is given an item and says how it ends. The other arms see the typed claims, their order of arrival, their words
and their confidence, and no evidence; they always answer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from invoice_cases import Claim, Draws, Item, case_of

from dissensus.decide.dispute.account import Account, account_of
from dissensus.decide.dispute.case import Asking
from dissensus.record.memory import MemoryStore
from dissensus.run.disputing import dispute

Ended = Literal["consistent", "settled", "disputed", "incomplete", "nothing"]
RHOS = (0.0, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class End:
    """How an arm has left an item.

    Args:
        ended: ``consistent`` and ``settled`` give an answer, ``disputed`` asks a person, ``incomplete`` sends a report
            back, ``nothing`` is no answer.
        wrong: the answer is not so, or a report that is true has fallen.
        rule: by which it was settled.
        losers, returned: reports that fell, or went back.
        live: what was told of a file that was edited; "" if of none.
        calls: of models; of items that were read together, the mean.
        tokens: read and written, likewise.
        cpu_ms: of this process.
        input: hash of what a verifier is given.
    """

    ended: Ended
    wrong: bool = False
    rule: str = ""
    losers: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    live: str = ""
    calls: float = 0
    tokens: float = 0
    cpu_ms: float = 0.0
    input: str = ""


def by_rules(item: Item) -> End:
    """The procedure: the case of the item through the engine, its record in memory, a person asked where one is due."""
    begun = time.process_time()
    case = case_of(item, asking=Asking())
    store = MemoryStore()
    dispute(case, record=store)
    return end_of(item, account_of(list(store.read())), (time.process_time() - begun) * 1000)


_STATES: Mapping[str, Ended] = {
    "settled": "settled", "consistent": "consistent", "waiting": "disputed", "disputed": "disputed",
    "incomplete": "incomplete",
}  # fmt: skip


def end_of(item: Item, account: Account, cpu_ms: float = 0.0) -> End:
    """What a record tells of how the case of ``item`` has ended."""
    ended = _STATES.get(account.state, "nothing")
    verdict = account.verdict
    losers = tuple(sorted(one["claim"] for one in verdict.get("losers", [])))
    left = [name for name in verdict.get("standing", []) if name in item.true]
    wrong = any(item.true[name] for name in losers if name in item.true)
    if ended in ("settled", "consistent"):
        wrong = wrong or any(not item.true[name] for name in left)
    spent = account.budget["spent"]
    changed = any(event.body.get("live") == "CHANGED" for event in account.events if event.kind == "reopened")
    return End(
        ended, wrong, "" if ended in ("consistent", "nothing") else str(verdict.get("rule", "")), losers,
        tuple(sorted(one["claim"] for one in verdict.get("returned", []))), "CHANGED" if changed else "",
        cpu_ms=cpu_ms, input=account.verifier_input_sha256 or "", calls=int(spent["calls"]),
        tokens=int(spent["tokens_in"] or 0) + int(spent["tokens_out"] or 0),
    )  # fmt: skip


def as_required(item: Item, end: End) -> bool:
    """Whether an item has ended as the rules require."""
    wanted = item.required
    return (end.ended, end.rule, end.losers, end.returned, end.live) == (
        wanted.state, wanted.rule, wanted.losers, wanted.returned, wanted.live,
    )  # fmt: skip


# --- what is done instead


def _said(claim: Claim) -> tuple[Any, ...]:
    value = claim["value"]
    number = Fraction(str(value))
    return claim["attribute"], number, claim.get("unit"), claim["as_of"]


def _answered(item: Item, true: bool) -> End:
    agreed = len({_said(claim) for claim in item.claims}) == 1
    return End("consistent" if agreed else "settled", wrong=not true)


def _chosen(item: Item, claim: Claim) -> End:
    return _answered(item, item.true[claim["id"]])


def last_report(item: Item, _draws: Draws) -> End:
    """The report that came last."""
    return _chosen(item, item.claims[-1])


def most_confident(item: Item, _draws: Draws) -> End:
    """The report that states the highest confidence; of equal ones the first."""
    return _chosen(item, max(item.claims, key=lambda claim: float(claim["confidence"])))


def longest(item: Item, _draws: Draws) -> End:
    """The report with the most words; of equal ones the first."""
    return _chosen(item, max(item.claims, key=lambda claim: len(claim["text"].split())))


def majority(item: Item, draws: Draws, *, rho: float) -> End:
    """Plurality of A, B and a third voter, who copies one of them, drawn, with probability ``rho``.

    Where it does not copy it says what is so: a better third voter than any agent.
    """
    votes = [(_said(claim), item.true[claim["id"]]) for claim in item.claims]
    if draws.draw("third", 10**6) < rho * 10**6:
        votes.append(draws.pick("copied", votes))
    else:
        votes.append(next((vote for vote in votes if vote[1]), ((None,), True)))
    counts = Counter(said for said, _ in votes).most_common()
    if counts[0][1] < 2:
        return End("nothing")
    return _answered(item, next(true for said, true in votes if said == counts[0][0]))


def mean(item: Item, _draws: Draws) -> End:
    """One number between the two: their mean, to two places."""
    return _blended(item, [Fraction(1)] * len(item.claims))


def merged(item: Item, _draws: Draws) -> End:
    """A merge as an assistant writes it: one number, nearer to whoever is surer, rounded as the reports are."""
    return _blended(item, [Fraction(claim["confidence"]) for claim in item.claims])


def _blended(item: Item, weights: list[Fraction]) -> End:
    values = [Fraction(str(claim["value"])) for claim in item.claims]
    total = sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
    places = 2 if isinstance(item.claims[0]["value"], str) or len(set(weights)) == 1 else 0
    one = Fraction(round(total * 10**places), 10**places)
    true = any(item.true[claim["id"]] and value == one for claim, value in zip(item.claims, values, strict=True))
    return _answered(item, true)


BASELINES: Mapping[str, Callable[[Item, Draws], End]] = {
    **{f"majority of three, rho {rho:g}": partial(majority, rho=rho) for rho in RHOS},
    "most confident wins": most_confident,
    "last report wins": last_report,
    "longest report wins": longest,
    "mean": mean,
    "merge by confidence": merged,
}
