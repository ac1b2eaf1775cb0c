"""Budgets: what a run may take, reserved before a call and settled after it.

Budgets form a tree: what several runs may take together, below it what one run may, below it what one agent may. A
reservation has to fit into its own budget and into every one above it, so children share what their parent has, and
what is held and what is spent never come to more than the limit anywhere. Limits are tokens, calls, seconds and money;
an absent limit binds nothing. Seconds are those of work: a run that waits for a person has ended, and one that is
taken up again is told what it had used before.

Three rules keep the numbers honest:

* **What was reserved is never handed out twice.** Reserved amounts count against the limit until they are settled.
* **A call pays what it took**, even if that is more than it reserved; then less than nothing may be left, and every
  further reservation is refused.
* **Unknown is not zero.** A call whose usage is not known (or makes no sense) pays what it had reserved, and the sum is
  marked as unknown. If it had reserved an unknown amount as well, nothing can be promised any more: under a limit on
  that quantity every further reservation is refused. A reservation of an unknown amount is accepted while something
  is left, and holds nothing, so the calls under way at that moment may together pass the limit.

Not for use from several threads at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeVar

from dissensus.script.outcomes import BudgetExhausted, Usage

_Number = TypeVar("_Number", int, float)

STEPS: Final = (0.5, 0.8)
"""The shares of a limit at which a budget gives notice, once each."""

_UNIT: Final = 10**12
"""Money is summed in whole units of 1e-12, so that sums are exact and what is released comes back in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Most that may be taken; None binds nothing. ``money`` is in the currency of the panel's prices.

    Raises :class:`ValueError` for a limit that is negative or not finite.
    """

    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "calls", "seconds", "money"):
            limit = getattr(self, name)
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                raise ValueError(f"The limit on {name} has to be a number that is not negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Tokens, calls, seconds and money.

    None means unknown where this tells what was spent, and unlimited where it tells what is left.
    """

    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    money: float | None = None


def tighter(limits: Limits, left: Amounts) -> Limits:
    """``limits``, and no more of anything than what is ``left`` elsewhere."""

    def least(limit: _Number | None, room: _Number | None) -> _Number | None:
        return limit if room is None else room if limit is None else min(limit, room)

    return Limits(
        tokens=least(limits.tokens, left.tokens),
        calls=least(limits.calls, left.calls),
        seconds=least(limits.seconds, left.seconds),
        money=least(limits.money, left.money),
    )


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A reservation that was refused. ``what`` is the limit that it did not fit into; ``why`` is a plain sentence."""

    what: str
    why: str

    def outcome(self) -> BudgetExhausted:
        """The outcome that a script receives for the call that was not made."""
        return BudgetExhausted(what=self.what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """That a share of a limit is used.

    Args:
        budget: name of the budget.
        what: ``calls``, ``tokens``, ``money`` or ``seconds``.
        share: which of :data:`STEPS`.
        used: how much when it was seen.
        limit: of how much.
    """

    budget: str
    what: str
    share: float
    used: float
    limit: float

    def __str__(self) -> str:
        return f"{self.used:.12g} of {self.limit:.12g} {self.what} in the budget of the {self.budget} are used."

    @property
    def step(self) -> tuple[str, str, float]:
        """What tells it from all others of a run."""
        return self.budget, self.what, self.share


_Wanted = dict[str, int | None]
"""Calls, tokens and money, in whole units; None means unknown."""


@dataclass(slots=True, eq=False)
class _Account:
    """One quantity of one budget, in whole units."""

    limit: int | None
    charged: int = 0
    held: int = 0
    unknown: bool = False
    blind: bool = False
    """True once nobody can tell how much is left."""

    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.charged - self.held

    def end(self, reserved: int | None, taken: int | None) -> None:
        """A reservation is over; ``taken`` takes its place."""
        self.held -= reserved or 0
        self.charged += (reserved or 0) if taken is None else taken
        if taken is None:
            self.unknown = True
            self.blind = self.blind or reserved is None


class _Node:
    """One budget of the tree, without those above it."""

    def __init__(self, limits: Limits, name: str, clock: Callable[[], float], elapsed_s: float) -> None:
        self.limits = limits
        self.name = name
        self.clock = clock
        self.began = clock() - elapsed_s
        self.reached: dict[str, float] = {}
        self.noticed: list[Notice] = []
        self.accounts = {
            "calls": _Account(limits.calls),
            "tokens": _Account(limits.tokens),
            "money": _Account(None if limits.money is None else _units(limits.money)),
        }

    def seconds(self) -> float:
        return max(self.clock() - self.began, 0.0)

    def rooms(self) -> dict[str, float]:
        """What is left of each limited quantity; money in units."""
        rooms: dict[str, float] = {
            what: left for what, account in self.accounts.items() if (left := account.left()) is not None
        }
        if self.limits.seconds is not None:
            rooms["seconds"] = self.limits.seconds - self.seconds()
        return rooms

    def refuses(self, wanted: _Wanted) -> Exhausted | None:
        limit_s = self.limits.seconds
        if limit_s is not None and self.seconds() >= limit_s:
            return Exhausted(
                "seconds", f"The budget of the {self.name} allows {limit_s:.12g} seconds, and they are over."
            )
        for what, account in self.accounts.items():
            left = account.left()
            if left is None:
                continue
            if account.blind:
                why = f"A call did not say what it took, so nobody knows what is left of the {self.name}'s {what}."
                return Exhausted(what, why)
            asked = wanted[what]
            if (1 if asked is None else asked) > left:
                return Exhausted(what, self._too_much(what, asked, left))
        return None

    def _too_much(self, what: str, asked: int | None, left: int) -> str:
        unit = _UNIT if what == "money" else 1
        rest = f"{max(left, 0) / unit:.12g} of {getattr(self.limits, what):.12g} {what}"
        call = "a call" if asked is None or what == "calls" else f"a call of up to {asked / unit:.12g}"
        return f"The budget of the {self.name} has {rest} left; {call} does not fit."

    def notice(self) -> None:
        used: dict[str, float] = {what: account.charged for what, account in self.accounts.items()}
        used |= {"money": used["money"] / _UNIT, "seconds": self.seconds()}
        for what, amount in used.items():
            limit = getattr(self.limits, what)
            steps = [share for share in STEPS if limit and amount >= share * limit]
            if steps and steps[-1] > self.reached.get(what, 0):
                self.reached[what] = steps[-1]
                self.noticed.append(
                    Notice(budget=self.name, what=what, share=steps[-1], used=float(amount), limit=float(limit))
                )


class Lease:
    """A reservation. It ends once, by :meth:`settle` or :meth:`release`; ending it again does nothing."""

    __slots__ = ("_nodes", "_open", "_reserved")

    def __init__(self, nodes: tuple[_Node, ...], reserved: _Wanted) -> None:
        self._nodes = nodes
        self._reserved = reserved
        self._open = True
        for node in nodes:
            for what, account in node.accounts.items():
                account.held += reserved[what] or 0

    def settle(self, usage: Usage | None) -> None:
        """The call was made: pay what ``usage`` says. None means that nothing is known about it."""
        known = usage or Usage()
        counts = (known.tokens_in, known.tokens_out)
        tokens = sum(count for count in counts if count is not None)
        sane = all(count is not None and count >= 0 for count in counts)
        self._end({"calls": 1, "tokens": tokens if sane else None, "money": _units(known.cost)})

    def release(self) -> None:
        """The call never reached a back end: it costs nothing."""
        self._end({"calls": 0, "tokens": 0, "money": 0})

    def _end(self, taken: _Wanted) -> None:
        if not self._open:
            return
        self._open = False
        for node in self._nodes:
            for what, account in node.accounts.items():
                account.end(self._reserved[what], taken[what])
            node.notice()


class Budget:
    """What may be taken by all calls made under it.

    Args:
        limits: the most that may be taken.
        parent: a budget that this one is a part of.
        name: stands in notices and refusals.
        clock: seconds, never backwards. The time limit counts from the moment at which the budget is made.
        elapsed_s: seconds that count as gone already, for a run that is taken up again.
    """

    __slots__ = ("_node", "_nodes", "limits", "name", "parent")

    def __init__(
        self,
        limits: Limits | None = None,
        parent: Budget | None = None,
        *,
        name: str = "run",
        clock: Callable[[], float] = time.monotonic,
        elapsed_s: float = 0.0,
    ) -> None:
        self.limits = limits or Limits()
        self.parent = parent
        self.name = name
        self._node = _Node(self.limits, name, clock, elapsed_s)
        self._nodes: tuple[_Node, ...] = (self._node, *(parent._nodes if parent else ()))  # noqa: SLF001 - the same class

    def reserve(self, *, tokens: int | None = None, money: float | None = None) -> Lease | Exhausted:
        """Reserve one call that takes at most ``tokens`` tokens (in and out) and ``money``; None means unknown.

        Raises:
            ValueError: an amount is negative or not finite.
        """
        for amount in (tokens, money):
            if amount is not None and not (math.isfinite(amount) and amount >= 0):
                raise ValueError(f"An amount to reserve has to be a number that is not negative, not {amount}.")
        wanted = {"calls": 1, "tokens": tokens, "money": _units(money)}
        for node in self._nodes:
            node.notice()
            if (refusal := node.refuses(wanted)) is not None:
                return refusal
        return Lease(self._nodes, wanted)

    def charge(self, usage: Usage | None, *, tokens: int | None = None, money: float | None = None) -> None:
        """Count a call that was made before this budget was, for instance one that a resumed record holds.

        ``tokens`` and ``money`` are what it had reserved: they count where ``usage`` does not say.
        """
        Lease(self._nodes, {"calls": 1, "tokens": tokens, "money": _units(money)}).settle(usage)

    def spent(self) -> Amounts:
        """What the settled calls took. A quantity is None if any of them did not say."""
        charged, accounts = self.charged(), self._node.accounts
        return replace(
            charged,
            tokens=None if accounts["tokens"].unknown else charged.tokens,
            money=None if accounts["money"].unknown else charged.money,
        )

    def charged(self) -> Amounts:
        """What counts against the limits: as :meth:`spent`, with what was reserved in place of what is unknown."""
        charged = {what: account.charged for what, account in self._node.accounts.items()}
        return Amounts(
            calls=charged["calls"],
            tokens=charged["tokens"],
            seconds=self._node.seconds(),
            money=charged["money"] / _UNIT,
        )

    def held(self) -> Amounts:
        """What is reserved for calls under way; time is never reserved."""
        held = {what: account.held for what, account in self._node.accounts.items()}
        return Amounts(calls=held["calls"], tokens=held["tokens"], money=held["money"] / _UNIT)

    def left(self) -> Amounts:
        """What can still be reserved here, with the budgets above in mind: never negative, None where nothing binds."""
        found: dict[str, float] = {}
        for node in self._nodes:
            for what, room in node.rooms().items():
                found[what] = max(min(room, found.get(what, room)), 0)
        return Amounts(
            calls=int(found["calls"]) if "calls" in found else None,
            tokens=int(found["tokens"]) if "tokens" in found else None,
            seconds=found.get("seconds"),
            money=found["money"] / _UNIT if "money" in found else None,
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The steps of the limits here that are reached, in the order in which they came up; only ever gets longer.

        A call that passes two steps at once gives notice of the higher one.
        """
        self._node.notice()
        return tuple(self._node.noticed)


def _units(money: float | None) -> int | None:
    """Whole units; None for an amount that is unknown or cannot be."""
    if money is None or not math.isfinite(money) or money < 0:
        return None
    return round(Fraction(money) * _UNIT)
