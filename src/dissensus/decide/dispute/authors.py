"""Authors of returned claims are asked for the evidence that is lacking, if they take part, and for nothing else.

An author names a source of the case and quotes it. It cannot bring new bytes, and what it writes besides is not read.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dissensus.decide.dispute.case import Case
from dissensus.decide.dispute.claims import Claim
from dissensus.decide.dispute.docket import Docket, Weighed
from dissensus.decide.dispute.evidence import Evidence, QuoteSelector
from dissensus.decide.dispute.exhibits import facts_of
from dissensus.decide.dispute.looking import OutOfBudgetError
from dissensus.say.readers.record import ENGINE, PROCEDURE
from dissensus.script.actions import objects_in
from dissensus.script.consult import consult
from dissensus.script.effects import Post
from dissensus.script.outcomes import BudgetExhausted, Outcome, Reply
from dissensus.script.seats import Seat

PROTOCOL: Final = "fipa-request"
_SHOWN: Final = 6000
_MOST: Final = 20
FORM: Final = (
    'Answer with one JSON object: {"evidence": [{"source": "its name", "quote": "the words, exactly as they stand"}]},'
    ' or {"none": "why there is none"}.'
)


def ask_authors(docket: Docket, seats: Sequence[Seat], number: int) -> Generator[Any, Any, Case]:
    """Ask the authors of returned claims that have a seat, once each; the case with what they brought.

    Raises :class:`OutOfBudgetError`.
    """
    case = docket.case
    by_name = {seat.agent: seat for seat in seats}
    brought: dict[str, list[Evidence]] = {}
    by_id = {claim.id: claim for claim in case.claims}
    for one in docket.claims:
        for name in one.ids if one.stand == "incomplete" else ():
            seat = by_name.get(by_id[name].by)
            if seat is not None and not by_id[name].children:
                found = yield from _ask(docket, one, by_id[name], seat, f"returned/{number}/{name}")
                had = {(item.digest, item.selectors, item.quote) for item in by_id[name].evidence}
                brought[name] = [item for item in found if (item.digest, item.selectors, item.quote) not in had]
    claims = tuple(replace(claim, evidence=(*claim.evidence, *brought.get(claim.id, ()))) for claim in case.claims)
    return replace(case, claims=claims)


def _ask(docket: Docket, one: Weighed, claim: Claim, seat: Seat, thread: str) -> Generator[Any, Any, list[Evidence]]:
    said = ", ".join(f"{label} {text}" for label, text in facts_of(claim) if label not in ("reported by", "in step"))
    request = f"Your report ({said}) is returned: {one.why} It is not weighed until it cites evidence."
    talk: dict[str, Any] = {"protocol": PROTOCOL, "thread": thread}
    yield Post(PROCEDURE, request, to=(seat.agent,), act="request", key=f"{thread}/request", **talk)
    mine = docket.case.sources_of.get(claim.by)
    text = "\n\n".join([*_sources(docket, mine), FORM])
    key = f"{thread}/ask"
    outcome: Outcome = yield from consult(seat, text, thread=thread, key=key)
    if not isinstance(outcome, Reply):
        why = f"{seat.agent} could not be asked ({outcome.kind})."
        yield Post(
            ENGINE, why, to=(PROCEDURE, seat.agent), act="failure", about=seat.agent, key=f"{thread}/end", **talk
        )  # fmt: skip
        if isinstance(outcome, BudgetExhausted):
            raise OutOfBudgetError(outcome.what)
        return []
    items = _read(docket, outcome.text, mine)
    answer: dict[str, Any] = {"to": (PROCEDURE,), "of": key, "key": f"{thread}/end", **talk}
    if not items:
        yield Post(seat.agent, outcome.text[:2000] or "No evidence.", act="refuse", **answer)
        return []
    data = {"evidence": [{"source_sha256": item.digest, "quote": item.quote} for item in items]}
    yield Post(seat.agent, json.dumps(data, ensure_ascii=False), act="inform", content_type="result", **answer)
    return items


def _sources(docket: Docket, mine: Sequence[str] | None) -> list[str]:
    found = []
    for digest, pinned in sorted(docket.case.sources.items()):
        text = docket.sources[digest].text
        if text is not None and (mine is None or digest in mine):
            found.append(f"Source {_name(digest, pinned.name)}:\n{text[:_SHOWN]}")
    return found


def _name(digest: str, name: str) -> str:
    return name or digest[:12]


def _read(docket: Docket, text: str, mine: Sequence[str] | None) -> list[Evidence]:
    """The evidence in a reply: sources of the case that are its own, by name or by the beginning of their digest."""
    own = {digest: one for digest, one in docket.case.sources.items() if mine is None or digest in mine}
    items: list[Evidence] = []
    given: Any = next(objects_in(text), {}).get("evidence")
    for one in given[:_MOST] if isinstance(given, list) else []:
        source, quote = (one.get("source"), one.get("quote")) if isinstance(one, Mapping) else (None, None)
        if not isinstance(source, str) or not isinstance(quote, str) or not quote.strip():
            continue
        digest = next((d for d, p in own.items() if source in (p.name, d, d[:12]) and source), None)
        if digest is not None:
            pinned = docket.case.sources[digest]
            items.append(Evidence(digest, (QuoteSelector(quote),), quote, media=pinned.media, title=pinned.name))
    return items
