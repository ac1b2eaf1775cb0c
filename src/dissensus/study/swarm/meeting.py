"""What the parties have reported about one item meets in a case, and how far they have told of the same things at all.

A case holds the bytes that are cited in it, and, of a party whose claim lacks evidence, those that it may still cite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from dissensus.decide.dispute.bearing import Measures
from dissensus.decide.dispute.case import Case, PackSize, Pinned, Report
from dissensus.decide.dispute.case_data import cases_in
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.comparing import compare_claims, contradictions
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.dispute.evidence import Evidence
from dissensus.decide.dispute.normalise import normal
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.precedence import STANDING, Precedence, precedence_data
from dissensus.decide.dispute.units import Units
from dissensus.decide.swarm.work import READER
from dissensus.study.panel_digest import digest_of
from dissensus.study.swarm.batch import Party, Swarm, drawn
from dissensus.study.swarm.readings import ItemReport

Reports = Mapping[str, ItemReport]
"""The report of each party about one item."""


def cases_of(swarm: Swarm, item: str, reports: Reports, precedence: Precedence | None) -> list[Case]:
    """The cases of one item; none if nobody has reported anything.

    Args:
        swarm: the batch.
        item: which item.
        reports: what each party has reported about it.
        precedence: the rules that stand now.
    """
    claims: list[Claim] = []
    asides: list[Report] = []
    for party in swarm.parties:
        if (report := reports.get(party.name)) is not None:
            own = [_claim(data, party, report) for data in report.claims]
            claims += own
            asides += _asides(report, {claim.id for claim in own})
    if not claims:
        return []
    readers = {agent: party for party in swarm.parties if party.by == "agent" for agent in party.agents}
    told = [f"{about['subject']}: {about['attribute']}" for about in (one.about(item) for one in swarm.wanted)]
    sizes = tuple(size for size in swarm.pack_sizes if size.subject is None or _tells(size.subject, claims))
    sources = _sources(swarm, item, claims, readers, sizes)
    case = Case(
        id=item,
        title="; ".join(dict.fromkeys(told)),
        claims=tuple(claims),
        sources=sources,
        live=_live(swarm, claims),
        pack_sizes=sizes,
        precedence=precedence,
        verifier=swarm.verifier,
        turns=swarm.turns,
        rounds=swarm.rounds,
        reports=tuple(asides),
        asking=swarm.asking,
        sources_of={
            agent: tuple(digest for digest in readers[agent].of.get(item, ()) if digest in sources)
            for agent in sorted({claim.by for claim in claims} & readers.keys())
        },
    )
    graph = contradictions(case.claims, _units(case))
    return cases_in(case) if len(graph.contradictions) + len(graph.incomparable) > 1 else [case]


def _tells(subject: str, claims: Sequence[Claim]) -> bool:
    """Whether a claim is about ``subject``, so that what is declared of that matters here."""
    return any(normal(claim.subject or "").strip() == normal(subject).strip() for claim in claims)


def _units(case: Case) -> Units:
    """What can be converted in a case. Declared conversions have to be reopened for that."""
    return Docket(case).measures.units if case.pack_sizes else Measures().units


def _claim(data: Mapping[str, Any], party: Party, report: ItemReport) -> Claim:
    claim = claim_from(dict(data))
    by = party.name if report.agent == READER else report.agent
    evidence = tuple(_captured(item, party) for item in claim.evidence)
    return replace(claim, by=by, cell=party.name, evidence=evidence)


def _captured(item: Evidence, party: Party) -> Evidence:
    path = party.paths.get(item.digest)
    return item if path is None or item.live_ref else replace(item, live_ref=path)


def _asides(report: ItemReport, ids: set[str]) -> Iterator[Report]:
    for aside in report.asides:
        if aside.get("claim") in ids and (aside.get("confidence") or aside.get("scratchpad")):
            yield Report(
                claim=str(aside["claim"]),
                confidence=str(aside.get("confidence", "")),
                scratchpad=str(aside.get("scratchpad", "")),
            )


def _sources(
    swarm: Swarm, item: str, claims: Sequence[Claim], readers: Mapping[str, Party], sizes: Sequence[PackSize]
) -> dict[str, Pinned]:
    cited = {evidence.digest for claim in claims for evidence in claim.evidence}
    cited |= {evidence.digest for size in sizes for evidence in size.evidence}
    if swarm.rounds:
        lacking = [readers[claim.by] for claim in claims if not claim.evidence and claim.by in readers]
        cited |= {digest for party in lacking for digest in party.of.get(item, ())}
    known = dict(swarm.shared)
    for party in swarm.parties:
        known |= {digest: pinned for digest, pinned in party.sources.items() if digest not in known}
    return {digest: known[digest] for digest in sorted(cited) if digest in known}


def _live(swarm: Swarm, claims: Sequence[Claim]) -> dict[str, str]:
    """What lay where the evidence was captured: the captured bytes, or nothing would have been read."""
    paths = {path: digest for party in swarm.parties for digest, path in party.paths.items()}
    cited = {item.live_ref for claim in claims for item in claim.evidence if item.live_ref}
    return {path: digest for path, digest in sorted(paths.items()) if path in cited}


def spot_checked(swarm: Swarm, cases: Mapping[str, Sequence[Case]]) -> frozenset[str]:
    """The items at which the verifier looks although nothing contradicts: a share of these, drawn by the seed.

    Args:
        swarm: the batch.
        cases: of each item.
    """
    agree = [item for item, some in cases.items() if len(some) == 1 and _agrees(some[0])] if swarm.spot_checks else []
    count = max(round(swarm.spot_checks * len(agree)), 1)
    return frozenset(sorted(agree, key=lambda item: (drawn(swarm.seed, item, "spot-check"), item))[:count])


def _agrees(case: Case) -> bool:
    """Whether two parties say the same, and nothing contradicts or cannot be compared."""
    units = _units(case)
    graph = contradictions(case.claims, units)
    return (
        not graph.contradictions
        and not graph.incomparable
        and any(
            compare_claims(one, other, units).relation == "AGREE"
            for one, other in combinations(case.claims, 2)
            if one.cell != other.cell
        )
    )


# --- is it the same case as one on a record?


def reported_in(data: Mapping[str, Any]) -> str:
    """Digest of what was reported and what it is held against: another one is another case."""
    return digest_of([data.get("claims"), sorted(data.get("sources", {}))])


def terms_in(data: Mapping[str, Any]) -> str:
    """Digest of how a case is settled, rules of precedence apart: the user says that for the whole batch."""
    return digest_of([data.get(key) for key in ("verifier", "turns", "rounds", "pack_sizes")])


def same_rules(data: Mapping[str, Any], precedence: Precedence | None) -> bool:
    """Whether a case was opened under these rules of precedence; those that persons have added since do not count."""
    then = data.get("precedence") or {"id": STANDING, "version": "1", "rules": []}
    now = {"id": STANDING, "version": "1", "rules": []} if precedence is None else precedence_data(precedence)
    count = len(now["rules"])
    added = then["rules"][count:]
    return (then["id"], then["version"], then["rules"][:count]) == (now["id"], now["version"], now["rules"]) and all(
        rule.get("version") for rule in added
    )


def rules_since(data: Mapping[str, Any], case: Case) -> bool:
    """Whether a person has made a rule since a case was opened that may decide it: it names sources that are cited."""
    if case.precedence is None:
        return False
    then = (data.get("precedence") or {}).get("rules", [])
    now = zip(case.precedence.rules, precedence_data(case.precedence)["rules"], strict=True)
    cited = {item.digest for claim in case.claims for item in claim.evidence}
    kinds = {pinned.kind for digest, pinned in case.sources.items() if digest in cited}
    return any(
        rule.version
        and data_of_it not in then
        and {rule.prefer, rule.over} <= kinds
        and any(rule.covers(claim) for claim in case.claims)
        for rule, data_of_it in now
    )
