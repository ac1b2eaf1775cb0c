"""The contract net: announce a task, take bids, award it to the best, have it reported; announce it anew on failure.

Start at :func:`contract_net`. Every message follows the protocol ``fipa-contract-net`` (SC00029H; Smith, The Contract
Net Protocol, 1980), one conversation for each round, and the engine holds each to it. What an agent did not say itself
(that it was silent, that its call failed) is said by ``engine`` about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from dissensus.decide.bidding import (
    BID_SCHEMA,
    CRITERIA,
    FORM,
    Offer,
    Refused,
    Unreadable,
    best_of,
    call_for_bids,
    read_bid,
)
from dissensus.decide.contract import DELIVERED, FAILED, SILENT, Bid, Contract, ContractSettings, Held, NoBid, checked
from dissensus.decide.cost import Bill, metered
from dissensus.decide.remedies import Answered, ask_and_remind
from dissensus.say.readers.record import ENGINE, PROCEDURE
from dissensus.script.calls import Capability
from dissensus.script.consult import consult
from dissensus.script.decisions import Status
from dissensus.script.effects import Note, Post, Script, Together, under
from dissensus.script.outcomes import Blocked, BudgetExhausted, Invalid, Outcome, Reply, TimedOut
from dissensus.script.seats import Seat

PROTOCOL: Final = "fipa-contract-net"
GAVE_UP: Final = "FAILED:"
"""How a holder says itself that it could not do the task."""
_REPAIR_TOKENS: Final = 256


@dataclass(slots=True)
class _Course:
    """What has happened so far."""

    bids: list[Bid] = field(default_factory=list)
    refusals: list[NoBid] = field(default_factory=list)
    missing: list[NoBid] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    report: str | None = None
    rounds: int = 0
    bill: Bill = field(default_factory=Bill)


def contract_net(
    task: str, seats: Sequence[Seat], settings: ContractSettings, seed: int
) -> Generator[Any, Any, Contract]:
    """Put ``task`` out to tender among ``seats`` until somebody has delivered, at most ``settings.rounds`` times.

    Spares are called from the second round on. Who refused is not called again, and neither is a holder that failed.

    Raises SpecError, before anybody is asked, for a task, seats or settings that cannot be.
    """
    checked(task, seats, settings)
    yield Note("contract", {"rule": CRITERIA[settings.criterion], "rounds": settings.rounds}, key="contract")
    course = _Course()
    for number in range(1, settings.rounds + 1):
        out = {one.agent for one in course.refusals} | {one.agent for one in course.held}
        bidders = [seat for seat in seats if seat.agent not in out and (number > 1 or not seat.spare)]
        if not bidders:
            break
        if number > 1:
            yield Note(
                "remedy", {"remedy": "announce again", "round": number, "without": sorted(out)}, key=f"again/{number}"
            )
        course.rounds = number
        one_round = _round(_Round(task, tuple(bidders), settings, number, f"{seed}/{number}"), course)
        yield from metered(under(f"round/{number}", one_round), course.bill)
        if course.report is not None:
            break
    return _contract(task, settings, course)


@dataclass(frozen=True, slots=True)
class _Round:
    task: str
    bidders: tuple[Seat, ...]
    settings: ContractSettings
    number: int
    lot: str

    @property
    def thread(self) -> str:
        return f"{self.settings.thread}/{self.number}"

    def post(self, sender: str, act: str, text: str, to: Sequence[str], **more: Any) -> Post:
        return Post(sender, text, act=act, to=tuple(to), protocol=PROTOCOL, thread=self.thread, **more)

    def reported(self, agent: str, outcome: Outcome, key: str) -> Post:
        """The engine's word that ``agent`` has failed, to whoever waits and to the agent itself."""
        return self.post(
            ENGINE,
            "failure",
            _told(agent, outcome),
            (PROCEDURE, agent),
            about=agent,
            content_type=outcome.kind,
            key=key,
        )


def _round(this: _Round, course: _Course) -> Script:
    """Announce, take bids, award, have it reported. The course holds what came of it."""
    names = [seat.agent for seat in this.bidders]
    text = call_for_bids(this.task, this.settings.criterion, names)
    yield from _say(this.post(PROCEDURE, "cfp", text, names, deadline_s=this.settings.bid_s, key="cfp"))
    bills = [Bill() for _ in this.bidders]
    bidding = {seat.agent: metered(_bid(this, seat), one) for seat, one in zip(this.bidders, bills, strict=True)}
    came: Mapping[str, Bid | NoBid] = yield Together(bidding)
    for one_bill in bills:
        course.bill.merge(one_bill)
    bids = {name: one for name, one in came.items() if isinstance(one, Bid)}
    others = [one for one in came.values() if isinstance(one, NoBid)]
    course.refusals += [one for one in others if one.outcome == "refused"]
    course.missing += [one for one in others if one.outcome != "refused"]
    if not bids:
        return
    offers = {
        name: Offer(price=one.price, estimate=one.estimate, confidence=one.confidence) for name, one in bids.items()
    }
    best = best_of(offers, this.settings.criterion, this.lot)
    course.bids += [replace(one, accepted=name == best) for name, one in bids.items()]
    seat = next(seat for seat in this.bidders if seat.agent == best)
    yield from _award(this, best, [name for name in bids if name != best])
    held = yield from _held(this, seat, course)
    course.held.append(held)


def _bid(this: _Round, seat: Seat) -> Generator[Any, Any, Bid | NoBid]:
    """Ask one bidder, once more if its reply cannot be read, and say for it, or about it, what came."""
    fits = Capability.SCHEMA in seat.capabilities or seat.tools
    asked: dict[str, Any] = {"thread": this.thread, "deadline_s": this.settings.bid_s}
    asked["schema"] = BID_SCHEMA if fits else None
    key = "ask"
    outcome: Outcome = yield from consult(seat, FORM, key=key, **asked)
    read = read_bid(outcome.text) if isinstance(outcome, Reply) else None
    if isinstance(read, Unreadable):
        key = "repair"
        limit = seat.max_tokens if seat.tools else min(_REPAIR_TOKENS, seat.max_tokens)
        again = f"That is no bid: {read.problem}.\n{FORM}"
        outcome = yield from consult(seat, again, key=key, max_tokens=limit, **asked)
        read = read_bid(outcome.text) if isinstance(outcome, Reply) else None
        if isinstance(read, Unreadable):
            outcome = Invalid(problem=read.problem)
    where = f"round/{this.number}/{seat.agent}/{key}"
    match read:
        case Offer():
            data = msgspec.to_builtins(read)
            post = this.post(seat.agent, "propose", read.words(), [PROCEDURE], data=data, of=key, key="bid")
            yield from _say(post)
            return Bid(agent=seat.agent, round=this.number, key=where, **data)
        case Refused(why):
            yield from _say(this.post(seat.agent, "refuse", why, [PROCEDURE], of=key, key="bid"))
            return NoBid(agent=seat.agent, round=this.number, outcome="refused", why=why, key=where)
    yield from _say(this.reported(seat.agent, outcome, "bid"))
    return NoBid(agent=seat.agent, round=this.number, outcome=outcome.kind, why=_told("", outcome), key=where)


def _award(this: _Round, best: str, others: Sequence[str]) -> Script:
    """Decide on every bid. The work is due, reminders included, when the acceptance says."""
    settings = this.settings
    due = None if settings.report_s is None else settings.report_s * (1 + settings.remind)
    posts = [this.post(PROCEDURE, "accept-proposal", "The task is yours. Do it.", [best], deadline_s=due, key="accept")]
    if others:
        posts.append(this.post(PROCEDURE, "reject-proposal", "The task went to another bidder.", others, key="reject"))
    yield from _say(*posts)


def _held(this: _Round, seat: Seat, course: _Course) -> Generator[Any, Any, Held]:
    """Have the holder report: what it delivers, that it failed, or that nothing came."""
    prompt = f"Do the task now, and answer with what it was to bring about. If you cannot, write {GAVE_UP} and why."
    asking = ask_and_remind(
        seat, prompt, deadline_s=this.settings.report_s, remind=this.settings.remind, thread=this.thread, key="report"
    )
    answered: Answered = yield from asking
    outcome, of = answered.outcome, answered.key
    held = Held(
        agent=seat.agent, round=this.number, since=f"round/{this.number}/accept", until=f"round/{this.number}/end",
        ended=DELIVERED,
    )  # fmt: skip
    if isinstance(outcome, Reply) and not outcome.text.strip():
        outcome = Invalid(problem="its report is empty")
    if not isinstance(outcome, Reply):
        yield from _say(this.reported(seat.agent, outcome, "end"))
        ended = SILENT if isinstance(outcome, TimedOut) else FAILED
        return replace(held, ended=ended, why=_told("", outcome))
    text = outcome.text.strip()
    if text.startswith(GAVE_UP):
        yield from _say(this.post(seat.agent, "failure", text, [PROCEDURE], of=of, key="end"))
        return replace(held, ended=FAILED, why=text.removeprefix(GAVE_UP).strip())
    report = this.post(seat.agent, "inform", outcome.text, [PROCEDURE], content_type="result", of=of, key="end")
    yield from _say(report)
    course.report = outcome.text
    return held


def _say(*posts: Post) -> Script:
    """Post; a post of this procedure that is blocked is a fault of the procedure, not of an agent."""
    for outcome in (yield list(posts)):
        if isinstance(outcome, Blocked):
            raise RuntimeError(outcome.says)  # noqa: TRY004 - no type is wrong


def _told(agent: str, outcome: Outcome) -> str:
    """What happened in place of an answer."""
    why = getattr(outcome, "problem", "") or getattr(outcome, "what", "")
    told = {
        "timeout": "no answer in time",
        "refusal": "the call was declined",
        "transport": "the call failed",
        "invalid": "the answer cannot be read",
        "budget": "no budget left",
    }.get(outcome.kind, outcome.kind)
    told = f"{told}: {why}" if why else told
    return f"{agent}: {told}" if agent else told


def _contract(task: str, settings: ContractSettings, course: _Course) -> Contract:
    last = course.held[-1] if course.held else None
    delivered = last is not None and last.ended == DELIVERED
    holder = last.agent if last is not None and delivered else None
    failures = Counter(one.outcome for one in course.missing)
    failures += Counter("failed while holding" for one in course.held if one.ended != DELIVERED)
    if delivered:
        status = Status.DECIDED
    elif failures.get(BudgetExhausted.kind):
        status = Status.OPEN_BUDGET
    else:
        status = Status.ABSTAINED if course.refusals and not failures else Status.FAILED
    return Contract(
        question=task,
        answer=holder,
        status=status,
        failures=dict(sorted(failures.items())),
        warnings=tuple(_warnings(course, settings, delivered=delivered)),
        worth={"status": "unmeasured", "text": "Bids and reports are the agents' own word; nothing has checked them."},
        cost=course.bill.cost(),
        rule=f"{CRITERIA[settings.criterion]}; among equal bids a lot decides",
        holder=holder,
        report=course.report,
        bids=tuple(course.bids),
        refusals=tuple(course.refusals),
        missing=tuple(course.missing),
        held=tuple(course.held),
        rounds=course.rounds,
    )


def _warnings(course: _Course, settings: ContractSettings, *, delivered: bool) -> Generator[str, None, None]:
    for one in course.held:
        if one.ended != DELIVERED:
            yield f"{one.agent} was awarded the task in round {one.round} and did not deliver: {one.why}."
    for absent in course.missing:
        yield f"{absent.agent} was called in round {absent.round} and made no bid: {absent.why}."
    for bid in course.bids:
        if sum(other.round == bid.round for other in course.bids) == 1:
            yield f"In round {bid.round}, {bid.agent} was the only bidder."
    if not delivered:
        yield (
            f"The task was announced {settings.rounds} times, as often as allowed, and is not done."
            if course.rounds == settings.rounds
            else "Nobody is left to be asked, and the task is not done."
        )
