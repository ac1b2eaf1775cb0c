"""An agent is asked about one item, in a thread of its own, and told what could not be read in its reply."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any, Final

from dissensus.decide.dispute.authors import PROTOCOL
from dissensus.decide.swarm import wording
from dissensus.decide.swarm.citing import Desk
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.replies import answer_schema, document_in
from dissensus.decide.swarm.showing import show
from dissensus.decide.swarm.taking import Read, read_of
from dissensus.decide.swarm.work import Share
from dissensus.say.readers.record import ENGINE, PROCEDURE
from dissensus.script.calls import Capability
from dissensus.script.consult import consult
from dissensus.script.effects import Post
from dissensus.script.outcomes import BudgetExhausted, Invalid, Outcome, Reply
from dissensus.script.seats import Seat

_MOST_SAID: Final = 2000


def ask_agent(share: Share, item: str, seat: Seat, opened: Opened, seed: int) -> Generator[Any, Any, Read]:
    """Ask the agent in ``seat`` about ``item``; what came of it."""
    thread = f"item/{item}"
    talk: dict[str, Any] = {"protocol": PROTOCOL, "thread": thread}
    shown = show(share, item, opened, seed)
    desk = Desk.of(share, item, shown.labels, opened)
    schema = None
    if Capability.SCHEMA in seat.capabilities:
        # an agent with tools reads its schema, and lines of sources stay in fences
        listed = replace(shown, lines={}) if seat.tools else shown
        schema = answer_schema([one.of(item) for one in share.wanted], listed)
    yield Post(PROCEDURE, wording.request(share, item), to=(seat.agent,), act="request", key="request", **talk)
    prompt, key, examples = wording.first(share, item, shown), "ask", wording.EXAMPLES
    turn = 0
    while True:
        outcome: Outcome = yield from consult(seat, prompt, thread=thread, examples=examples, schema=schema, key=key)
        read = _heard(outcome, item, desk, seat)
        if not isinstance(outcome, Reply) or not read.failed or turn >= share.repairs:
            break
        turn += 1
        prompt, key, examples = wording.repair(share, item, shown, read.silent), f"repair/{turn}", ()
    yield _end(read, seat, key, talk)
    return read


def _heard(outcome: Outcome, item: str, desk: Desk, seat: Seat) -> Read:
    """What an outcome says about the item."""
    if isinstance(outcome, Reply):
        read = read_of(document_in(outcome.text), item, desk)
        if outcome.finish == "length":
            read.taken.asides.append({"says": ["The reply was cut off at its greatest length."]})
        return read
    if isinstance(outcome, BudgetExhausted):
        why = f"budget: {outcome.what}"
        return Read(silent=why, failed=outcome.kind, out=why)
    problem = f": {outcome.problem}" if isinstance(outcome, Invalid) else ""
    return Read(silent=f"{seat.agent} gave no report ({outcome.kind}){problem}"[:_MOST_SAID], failed=outcome.kind)


def _end(read: Read, seat: Seat, key: str, talk: dict[str, Any]) -> Post:
    """The last move: what the agent reported, that it reports nothing, or that there is no report of it."""
    if read.failed:
        return Post(
            ENGINE, read.silent[:_MOST_SAID], to=(PROCEDURE, seat.agent), act="failure", about=seat.agent, key="end",
            **talk,
        )  # fmt: skip
    answer: dict[str, Any] = {"to": (PROCEDURE,), "of": key, "key": "end", **talk}
    if read.silent:
        return Post(seat.agent, read.silent[:_MOST_SAID], act="refuse", **answer)
    said = [
        {name: claim[name] for name in ("id", "attribute", "value", "unit") if name in claim}
        for claim in read.taken.claims
    ]
    text = json.dumps({"claims": said}, ensure_ascii=False)
    return Post(seat.agent, text, act="inform", content_type="result", **answer)
