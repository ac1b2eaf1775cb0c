"""A case as JSON data, as it stands in a record's first event, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

import msgspec

from dissensus.decide.dispute.case import Asking, Case, PackSize, Pinned, Report, ToolCall
from dissensus.decide.dispute.claims import Claim, wrong_parts
from dissensus.decide.dispute.docket import Docket
from dissensus.decide.dispute.parsing import Line, claim_data, claim_from, evidence_data, evidence_from
from dissensus.decide.dispute.precedence import precedence_data, precedence_from
from dissensus.errors import SpecError

MOST_CLAIMS = 1000
"""Most claims of one case: each is compared with each other one."""
MOST_DEEP = 20
"""Most levels of parts of parts."""
MOST_PARTS = 10_000
"""Most parts of one claim, those of its parts included, each as often as it is a part."""


def case_data(case: Case) -> dict[str, Any]:
    """The case as JSON data that :func:`case_from` reads back as an equal case."""
    return {
        "id": case.id,
        "title": case.title,
        "claims": [claim_data(claim) for claim in case.claims],
        "sources": {digest: _without_defaults(pinned) for digest, pinned in sorted(case.sources.items())},
        "live": dict(case.live),
        "pack_sizes": [
            {
                "unit": size.unit,
                "factor": str(size.factor),
                "of": size.of,
                "subject": size.subject,
                "evidence": [evidence_data(item) for item in size.evidence],
            }
            for size in case.pack_sizes
        ],
        "precedence": None if case.precedence is None else precedence_data(case.precedence),
        "calls": [msgspec.to_builtins(call) for call in case.calls],
        "verifier": case.verifier,
        "turns": case.turns,
        "rounds": case.rounds,
        "reports": [msgspec.to_builtins(report) for report in case.reports],
        "asking": msgspec.to_builtins(case.asking),
        "after": case.after,
        "cell": None if case.cell is None else dict(case.cell),
        "spot_check": case.spot_check,
        "sources_of": {name: list(digests) for name, digests in sorted(case.sources_of.items())},
    }


def case_from(data: Mapping[str, Any]) -> Case:
    """The case in ``data``. Raises SpecError if it is none."""
    at = Line("the case")
    known = {field.name for field in fields(Case)}
    if unknown := sorted(set(data) - known):
        raise SpecError(f"A case has no {unknown[0]!r}.", next_step=f"Known are {', '.join(sorted(known))}.")
    try:
        claims = tuple(
            claim_from(one, at, ("claims", n), name=f"claim-{n + 1}") for n, one in enumerate(data.get("claims", []))
        )
        rules = data.get("precedence")
        return checked(
            Case(
                id=str(data["id"]),
                title=str(data.get("title", "")),
                claims=claims,
                sources=msgspec.convert(data.get("sources", {}), dict[str, Pinned]),
                live=msgspec.convert(data.get("live", {}), dict[str, str]),
                pack_sizes=tuple(_pack_size(one, at, n) for n, one in enumerate(data.get("pack_sizes", []))),
                precedence=None if rules is None else precedence_from(rules, at, ("precedence",)),
                calls=msgspec.convert(data.get("calls", []), tuple[ToolCall, ...]),
                verifier=str(data.get("verifier", "")),
                turns=msgspec.convert(data.get("turns", 6), int),
                rounds=msgspec.convert(data.get("rounds", 1), int),
                reports=msgspec.convert(data.get("reports", []), tuple[Report, ...]),
                asking=msgspec.convert(data.get("asking", {}), Asking),
                after=str(data.get("after", "")),
                cell=data.get("cell"),
                spot_check=msgspec.convert(data.get("spot_check", False), bool),
                sources_of=msgspec.convert(data.get("sources_of", {}), dict[str, tuple[str, ...]]),
            )
        )
    except (KeyError, msgspec.ValidationError) as problem:
        raise SpecError(f"The data of the case cannot be read: {problem}.") from None


def checked(case: Case) -> Case:
    """The case, if it can be one.

    Raises SpecError for one without claims, with two claims of one id, or in which a claim is a part of itself.
    """
    if not case.claims:
        raise SpecError("The case holds no claim.", next_step="Add `claims`.")
    if len(case.claims) > MOST_CLAIMS:
        raise SpecError(f"The case holds more than {MOST_CLAIMS} claims.", next_step="Divide it.")
    seen: set[str] = set()
    for claim in case.claims:
        if not claim.id or claim.id in seen:
            raise SpecError(f"Two claims have the id {claim.id!r}.", next_step="Give each claim its own id.")
        if problem := wrong_parts(claim.kind, claim.children):
            raise SpecError(f"The claim {claim.id!r}: {problem[0]}", next_step=problem[1])
        seen.add(claim.id)
    for name, (deep, parts) in _sizes(case.claims).items():
        if deep > MOST_DEEP or parts > MOST_PARTS:
            raise SpecError(
                f"The claim {name!r} is made of more than {MOST_DEEP} levels or {MOST_PARTS:,} parts.",
                next_step="Make it of fewer.",
            )
    return case


def _sizes(claims: Sequence[Claim]) -> dict[str, tuple[int, int]]:
    """Levels and parts of each claim, itself counted. Raises SpecError for one that is its own part."""
    by_id = {claim.id: claim for claim in claims}
    sizes: dict[str, tuple[int, int]] = {}
    for first in by_id:
        path = [first]
        while path:
            claim = by_id[path[-1]]
            below = [child for child in claim.children if child in by_id]
            following = next((child for child in below if child not in sizes), None)
            if following in path:
                ring = " -> ".join([*path[path.index(following) :], following])
                raise SpecError(f"A claim is a part of itself: {ring}.", next_step="Take one out of `children`.")
            if following is not None:
                path.append(following)
            else:
                deep = 1 + max((sizes[child][0] for child in below), default=0)
                sizes[path.pop()] = deep, 1 + sum(sizes[child][1] for child in below)
    return sizes


def cases_in(case: Case) -> list[Case]:
    """The case for each group of claims that contradict each other or cannot be compared, and one for the rest.

    One group keeps all claims in one case; so does none.
    """
    from dissensus.decide.dispute.comparing import components

    docket = Docket(case)
    edges = [*docket.graph.contradictions, *docket.graph.incomparable]
    groups = components([(edge.first, edge.second) for edge in edges])
    if len(groups) < 2:
        return [case]
    places = {claim.id: place for place, claim in enumerate(case.claims)}
    named = [{name for place in group for name in docket.claims[place].ids} for group in groups]
    named.sort(key=lambda names: min(places[name] for name in names))
    taken: set[str] = set()
    cases: list[Case] = []
    for number, names in enumerate(named, 1):
        whole = _with_parts(case, names)
        taken |= whole
        cases.append(_only(case, whole, f"{case.id}-{number}"))
    rest = {claim.id for claim in case.claims} - taken
    if rest:
        cases.append(_only(case, _with_parts(case, rest), f"{case.id}-{len(cases) + 1}"))
    return cases


def _with_parts(case: Case, names: set[str]) -> set[str]:
    by_id = {claim.id: claim for claim in case.claims}
    found, waiting = set(names), list(names)
    while waiting:
        for child in by_id[waiting.pop()].children:
            if child in by_id and child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _only(case: Case, names: set[str], name: str) -> Case:
    claims: tuple[Claim, ...] = tuple(claim for claim in case.claims if claim.id in names)
    cited = {item.digest for claim in claims for item in claim.evidence}
    cited |= {item.digest for size in case.pack_sizes for item in size.evidence}
    import dataclasses

    return dataclasses.replace(
        case,
        id=name,
        claims=claims,
        sources={digest: pinned for digest, pinned in case.sources.items() if digest in cited},
        reports=tuple(report for report in case.reports if report.claim in names),
    )


def _pack_size(data: Any, at: Line, number: int) -> PackSize:
    place = ("pack_sizes", number)
    items = enumerate(data["evidence"])
    return PackSize(
        unit=str(data["unit"]),
        factor=Decimal(str(data["factor"])),
        of=str(data["of"]),
        subject=data.get("subject"),
        evidence=tuple(evidence_from(item, at, (*place, "evidence", n)) for n, item in items),
    )


def _without_defaults(pinned: Pinned) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(pinned)
    return {key: value for key, value in data.items() if value not in (None, "")}
