"""From a seat to its ballot: ask, read, one repair turn, and a spare for an agent that was silent.

Each seat is a sub-script of its own, so no agent waits for another, and asks in a thread of its own, so none sees
another's reply. A failed call is never speech: it makes a blank ballot that says what failed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from dissensus.answers import Read, read, read_answer, repair_prompt
from dissensus.decide.cost import Bill, metered
from dissensus.decide.election import Election, Voter
from dissensus.decide.tally import ABSTAINED, REPLY
from dissensus.script.consult import consult
from dissensus.script.decisions import Ballot
from dissensus.script.effects import Note, ScoreTexts, Script
from dissensus.script.outcomes import Invalid, Outcome, Reply, Scores, TimedOut
from dissensus.script.seats import Seat

REPAIR_TOKENS = 64
"""Most tokens of a repair turn: it asks for one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """What came of asking one agent.

    Args:
        ballot: the ballot, its answer in canonical form.
        read: what the reply said; None if there was no reply that could be read.
        request: digest of a request whose outcome holds no chance (scored, or sampled greedily); "" otherwise.
        bill: what its calls took.
    """

    ballot: Ballot
    read: Read | None = None
    request: str = ""
    bill: Bill = field(default_factory=Bill)


def ask_voter(election: Election, voter: Voter, spares: list[Voter]) -> Script:
    """Ask one voter and, as long as the last one asked was silent past its deadline, the next spare.

    ``spares`` is shared by all voters of a vote: whoever falls silent first takes the first. Returns a tuple of Cast;
    the last one counts, with the weight of the voter's own seat.
    """
    casts = [(yield from cast(election, voter, scope=voter.seat.agent))]
    while casts[-1].ballot.outcome == TimedOut.kind and spares:
        spare = spares.pop(0)
        seat = replace(spare.seat, weight=voter.seat.weight)
        one = yield from cast(
            election, replace(spare, seat=seat), scope=voter.seat.agent, stands_in_for=voter.seat.agent
        )
        casts.append(one)
    return tuple(casts)


def cast(election: Election, voter: Voter, *, scope: str = "", stands_in_for: str = "") -> Generator[Any, Any, Cast]:
    """Ask one agent and read its ballot, which is on the disk before the script goes on.

    ``scope`` is the scope that this script runs in, so that the ballot can name the key of its outcome in full.
    """
    seat = voter.seat
    scored = voter.asking.read_by == "log-probability"
    style = seat.style if scored else voter.plan.style or seat.style  # a scored prompt holds no style of the plan
    levers = {"agent": seat.agent, "model": seat.model, "read_by": voter.asking.read_by, **voter.plan.to_data()}
    yield Note("levers", {**levers, "style": style}, key=f"levers/{seat.agent}")
    bill = Bill()
    how = _score if scored else _ask
    ballot, found = yield from metered(how(election, voter), bill)
    ballot = replace(
        ballot,
        weight=seat.weight,
        key=f"{scope}/{ballot.key}" if scope else ballot.key,
        stands_in_for=stands_in_for,
        model=seat.model,
        style=style,
    )
    yield Note("ballot", msgspec.to_builtins(ballot), actor=seat.agent, durable=True, key=f"ballot/{seat.agent}")
    return Cast(ballot=ballot, read=found, request=_fingerprint(voter), bill=bill)


def _ask(election: Election, voter: Voter) -> Generator[Any, Any, tuple[Ballot, Read | None]]:
    seat, asking = voter.seat, voter.asking
    kind, unit = election.kind, election.question.unit
    key, thread = f"ask/{seat.agent}", f"seat/{seat.agent}"
    limit = min(asking.max_tokens or seat.max_tokens, seat.max_tokens)
    outcome: Outcome = yield from consult(
        seat,
        asking.prompt,
        thread=thread,
        examples=asking.examples,
        schema=asking.schema,
        temperature=voter.plan.temperature,
        max_tokens=limit,
        key=key,
    )
    if not isinstance(outcome, Reply):
        return _failed(seat, outcome, key), None
    first = read_reply(outcome, kind, asking.options, unit)
    held = asking.schema is not None and first.by == "json"
    if first.status != "unreadable":
        return _given(seat, outcome.text, first, key, "schema" if held else "parser"), first
    key = f"repair/{seat.agent}"
    repaired: Outcome = yield from consult(
        seat,
        repair_prompt(kind, first.problem, asking.options, unit),
        thread=thread,
        temperature=voter.plan.temperature,
        max_tokens=min(REPAIR_TOKENS, seat.max_tokens) if not seat.tools else seat.max_tokens,
        key=key,
    )
    if not isinstance(repaired, Reply):
        return replace(_failed(seat, repaired, key), reply=outcome.text), None
    second = read_reply(repaired, kind, asking.options, unit)
    if second.status == "unreadable":
        blank = Ballot(agent=seat.agent, answer=None, reply=repaired.text, outcome=Invalid.kind, key=key)
        return replace(blank, reason=second.problem, read_by="repair"), None
    return _given(seat, repaired.text, replace(second, reason=second.reason or first.reason), key, "repair"), second


def read_reply(reply: Reply, kind: str, options: Sequence[str], unit: str) -> Read:
    """What a reply says. A cut one counts only if its answer stands without its last word: 1 may have been 12."""
    found = read(kind, reply.text, options=options, unit=unit)
    if reply.finish != "length" or found.status == "unreadable":
        return found
    before = (reply.text.rsplit(None, 1) or [""])[0]
    if read(kind, before, options=options, unit=unit).canonical == found.canonical:
        return found
    return Read(None, "unreadable", "unfinished: the reply was cut at its answer")


def _given(seat: Seat, text: str, found: Read, key: str, read_by: str) -> Ballot:
    return Ballot(
        agent=seat.agent,
        answer=found.canonical,
        reply=text,
        outcome=ABSTAINED if found.status == "abstained" else REPLY,
        reason=found.reason,
        key=key,
        read_by=read_by,
    )


def _failed(seat: Seat, outcome: Outcome, key: str) -> Ballot:
    """A blank. What a refusal or a broken message said stays in the record: it is no speech and stands in no ballot."""
    problem = getattr(outcome, "problem", "") or getattr(outcome, "what", "")
    return Ballot(agent=seat.agent, answer=None, reply=None, outcome=outcome.kind, reason=problem, key=key)


def _score(election: Election, voter: Voter) -> Generator[Any, Any, tuple[Ballot, Read | None]]:
    seat, asking = voter.seat, voter.asking
    key = f"score/{seat.agent}"
    outcome: Outcome = yield ScoreTexts(
        seat.agent, asking.prompt, asking.options, thread=f"seat/{seat.agent}", examples=asking.examples, key=key
    )
    if not isinstance(outcome, Scores):
        return _failed(seat, outcome, key), None
    means = outcome.means()
    ballot = Ballot(agent=seat.agent, answer=None, reply=None, outcome=Invalid.kind, key=key, read_by="log-probability")
    if len(means) != len(asking.options) or not all(map(math.isfinite, means)):
        return replace(ballot, reason="the model did not score every option"), None
    ranked = sorted(zip(means, asking.options, strict=True), reverse=True)
    scores = f"mean log-probability per token: {', '.join(f'{option} {mean:.2f}' for mean, option in ranked)}"
    if ranked[0][0] == ranked[1][0]:
        return replace(ballot, reason=f"several options score the same; {scores}"), None
    found = read_answer(election.kind, ranked[0][1], options=asking.options)
    return replace(ballot, answer=found.canonical, outcome=REPLY, reason=scores), found


def _fingerprint(voter: Voter) -> str:
    """Digest of what is asked, where the same request must bring the same outcome."""
    asking, seat = voter.asking, voter.seat
    temperature = seat.temperature if voter.plan.temperature is None else voter.plan.temperature
    if seat.tools or (asking.read_by != "log-probability" and temperature > 0):
        return ""
    scored = asking.options if asking.read_by == "log-probability" else ()
    what = [
        seat.model,
        seat.system,
        seat.context,
        seat.max_tokens,
        asking.read_by,
        asking.prompt,
        asking.examples,
        asking.schema,
        scored,
    ]
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


def with_copies(casts: Sequence[Cast]) -> tuple[Cast, ...]:
    """The same casts, with ``same_as`` where request or reply repeat those of an earlier agent of the same model."""
    requests: dict[str, str] = {}
    replies: dict[tuple[str, str], str] = {}
    marked = []
    for one in casts:
        ballot = one.ballot
        if ballot.answer is None:
            marked.append(one)
            continue
        original = requests.setdefault(one.request, ballot.agent) if one.request else ballot.agent
        if original == ballot.agent and ballot.reply is not None:
            original = replies.setdefault((ballot.model, ballot.reply), ballot.agent)
        marked.append(one if original == ballot.agent else replace(one, ballot=replace(ballot, same_as=original)))
    return tuple(marked)
