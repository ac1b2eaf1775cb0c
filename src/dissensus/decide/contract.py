"""What a contract net begins and ends with: its settings, and a :class:`Contract`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import msgspec

from dissensus.decide.bidding import CRITERIA, Criterion
from dissensus.errors import SpecError
from dissensus.say.readers.record import ENGINE, PERSON, PROCEDURE
from dissensus.script.decisions import Decision
from dissensus.script.seats import Seat

MOST_ROUNDS: Final = 100
MAX_TASK: Final = 200_000
"""Most characters of a task."""
RESERVED: Final = (PROCEDURE, ENGINE, PERSON)
"""Names that no agent of a contract may have: they speak for the run itself."""

DELIVERED, FAILED, SILENT = "delivered", "failed", "silent"
"""How holding a task ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractSettings:
    """How a task is put out to tender.

    Args:
        criterion: what makes an offer the best: ``price``, ``estimate`` or ``confidence``.
        bid_s: seconds to bid in; None waits as long as each seat's own deadline says, or for ever.
        report_s: seconds from the award to the report; None as above.
        remind: how often a silent holder is reminded; each time it has ``report_s`` more.
        rounds: how often the task is announced at most.
        thread: name of the contract. Round n is a conversation of its own, ``thread/n``.
    """

    criterion: Criterion = "price"
    bid_s: float | None = None
    report_s: float | None = None
    remind: int = 0
    rounds: int = 3
    thread: str = "contract"

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ContractSettings:
        """The settings that :meth:`to_data` wrote. Raises SpecError for a name or value that does not exist."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(data.keys() - set(known)):
            raise SpecError(f"A contract has no setting {unknown[0]!r}.", next_step=f"Known are: {', '.join(known)}.")
        try:
            return msgspec.convert(dict(data), cls)
        except msgspec.ValidationError as problem:
            raise SpecError(f"A setting of the contract is wrong: {problem}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bid:
    """One offer and what was decided on it.

    Args:
        agent, round: whose, and in which round, from 1.
        price, estimate, confidence, note: the offer; minutes, and a probability from 0 to 1.
        accepted: whether it was taken; every other bid was rejected.
        key: key of the effect whose reply it was read from.
    """

    agent: str
    round: int
    price: float
    estimate: float
    confidence: float
    note: str = ""
    accepted: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBid:
    """A bidder that made no offer.

    Args:
        agent, round: who, and in which round.
        why: its own words if it refused, else the problem.
        outcome: ``refused`` (its own word), or what failed: ``timeout``, ``transport``, ``refusal``, ``invalid`` …
        key: key of the effect that this is known from.
    """

    agent: str
    round: int
    outcome: str
    why: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One agent's time with the task.

    Args:
        agent, round: who, and in which round.
        since, until: keys of the posts with which it began and ended, in the contract's scope; the record holds their
            times (:func:`dissensus.run.holding.holdings`). At most one agent holds the task between any two events.
        ended: ``delivered``, ``failed`` or ``silent``.
        why: what went wrong; "" if nothing did.
    """

    agent: str
    round: int
    since: str
    until: str
    ended: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract(Decision):
    """Who did a task, and all that came before.

    As a decision: ``question`` is the task, ``answer`` who delivered, ``status`` is ``decided`` (delivered),
    ``abstained`` (everybody who was asked refused), ``open_budget`` (the budget ended first) or ``failed``.

    Args:
        holder: who holds the task, or held it when it was delivered; None if nobody does.
        report: what the holder delivered, verbatim.
        bids: every offer, in order of rounds and seats.
        refusals: who refused to bid, by its own word.
        missing: who was called and neither bid nor refused, and why.
        held: who held the task when, in order.
        rounds: how often it was announced.
    """

    holder: str | None = None
    report: str | None = None
    bids: tuple[Bid, ...] = ()
    refusals: tuple[NoBid, ...] = ()
    missing: tuple[NoBid, ...] = ()
    held: tuple[Held, ...] = ()
    rounds: int = 0

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Contract:
        """The contract that :meth:`to_data` wrote."""
        return msgspec.convert(dict(data), cls)


def checked(task: str, seats: Sequence[Seat], settings: ContractSettings) -> None:
    """Raise SpecError for a task, seats or settings that cannot be."""
    if not task.strip():
        raise SpecError("The task is empty.", next_step="Write what is to be done.")
    if len(task) > MAX_TASK:
        raise SpecError(f"The task has {len(task):,} characters; the limit is {MAX_TASK:,}.", next_step="Shorten it.")
    try:
        f"{task}{settings.thread}".encode()
    except UnicodeEncodeError:
        raise SpecError("The task is not valid UTF-8 text.", next_step="Save or type it as UTF-8.") from None
    names = [seat.agent for seat in seats]
    if len(set(names)) < len(names):
        raise SpecError("Two agents of the panel have the same name.", next_step="Give each agent its own.")
    if taken := [name for name in names if name in RESERVED]:
        raise SpecError(f"No agent of a contract can be called {taken[0]!r}.", next_step="Give it another name.")
    if not any(not seat.spare for seat in seats):
        raise SpecError("Nobody can bid: the panel has no agent that is not a spare.", next_step="Add an agent.")
    if settings.criterion not in CRITERIA:
        raise SpecError(
            f"Bids cannot be compared by {settings.criterion!r}.", next_step=f"Use one of {', '.join(CRITERIA)}."
        )
    if not 1 <= settings.rounds <= MOST_ROUNDS:
        raise SpecError(f"There are 1 to {MOST_ROUNDS} rounds, not {settings.rounds}.", next_step="Use such a number.")
    if not 0 <= settings.remind <= MOST_ROUNDS:
        raise SpecError(f"{settings.remind} reminders cannot be.", next_step=f"Use 0 to {MOST_ROUNDS}.")
    for name in ("bid_s", "report_s"):
        seconds = getattr(settings, name)
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise SpecError(f"A time of {seconds} seconds cannot be waited for.", next_step=f"Give {name} above zero.")
    if not settings.thread.strip():
        raise SpecError("The contract has no name.", next_step="Give it a thread.")
