"""Small shares for tests: a delivery note for each order, and one log of all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.dispute.parsing import claim_from
from dissensus.decide.dispute.reopening import reopen
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.programs import ReadItem
from dissensus.decide.swarm.reported import Reported
from dissensus.decide.swarm.reports import report
from dissensus.decide.swarm.work import Share, Wanted
from dissensus.script.effects import Effect
from dissensus.script.outcomes import Outcome, Reply
from dissensus.script.rehearsal import rehearse
from dissensus.script.seats import Seat

ITEMS = ("4711", "4712", "4713")
PALLETS = Wanted(attribute="pallets received", subject="order {item}", unit="pallet", as_of="2026-03-02")
LOG = (
    "booking,order,pallets,booked_at\n"
    "B1,4711,6,2026-03-02T09:00\n"
    "B2,4711,4,2026-03-02T10:00\n"
    "B3,4712,6,2026-03-02T11:00\n"
)
ADA = Seat(agent="ada", model="m")
READER = Seat(agent="reader", model="none")


def note_of(item: str) -> str:
    return f"Delivery note DN-{item}\nOrder {item}\nPallets received: 10\nSigned: M. R.\n"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def pin(text: str, name: str, media: str = "text/plain", **more: Any) -> Pinned:
    return Pinned(text=text, media=media, name=name, **more)


def share(
    sources: Iterable[Pinned] | None = None,
    *,
    items: tuple[str, ...] = ITEMS,
    of: Mapping[str, Any] | None = None,
    **more: Any,
) -> Share:
    """A share of ``ada``: a note for each item and the log, unless other sources are given; all are of every item."""
    if sources is None:
        notes = {item: pin(note_of(item), f"note-{item}.txt") for item in items}
        log = pin(LOG, "log.csv", "text/csv")
        pinned = {digest(one.text or ""): one for one in (*notes.values(), log)}
        of = {item: (digest(note_of(item)), digest(LOG)) for item in items}
    else:
        pinned = {digest(one.text or ""): one for one in sources}
        of = of or {item: tuple(pinned) for item in items}
    given: dict[str, Any] = {"party": "office", "agent": "ada", "wanted": (PALLETS,), **more}
    return Share(items=items, sources=pinned, of=of, **given)


def claims(*found: Mapping[str, Any], **more: Any) -> str:
    return json.dumps({"claims": list(found), **more})


def claim(value: Any, *evidence: tuple[str, str] | Mapping[str, Any], **more: Any) -> dict[str, Any]:
    cited = [{"source": one[0], "quote": one[1]} if isinstance(one, tuple) else dict(one) for one in evidence]
    return {"attribute": "pallets received", "value": value, "evidence": cited, **more}


def play(
    of: Share,
    answer: Callable[[str, Effect], Outcome | str],
    seats: tuple[Seat, ...] = (ADA, READER),
    seed: int = 0,
    read_item: ReadItem | None = None,
) -> Reported:
    """Play the script; a text is a reply."""

    def outcome(key: str, effect: Effect) -> Outcome:
        found = answer(key, effect)
        return Reply(text=found) if isinstance(found, str) else found

    found: Reported = rehearse(report(of, seats, seed, read_item=read_item), outcome)
    return found


def one_reply(text: str, sources: Iterable[Pinned] | None = None, **more: Any) -> Reported:
    """What comes of one item, if the agent always answers ``text``."""
    return play(share(sources, items=("4711",), **more), lambda _key, _effect: text)


def reopened(of: Share, data: Mapping[str, Any]) -> list[str]:
    """The results of reopening the evidence of a claim."""
    bytes_of = {name: source_of(pinned) for name, pinned in of.sources.items()}
    return [reopen(item, bytes_of).result for item in claim_from(dict(data)).evidence]


def opened(of: Share) -> Opened:
    return Opened(of.sources)
