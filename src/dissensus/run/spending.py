"""What live calls may take: reserved before each of them, settled after it, with notice of what is nearly used up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from dissensus.agents.prices import Prices
from dissensus.script.calls import Call, Score
from dissensus.script.outcomes import BudgetExhausted

Step = tuple[str, str, float]
"""A budget, one of its limits, and a share of that."""


class Lease(Protocol):
    """A reservation that is settled when the true cost is known."""

    def settle(self, usage: Any) -> None:
        """Replace the reservation by what ``usage`` says was spent."""
        ...


class Purse(Protocol):
    """What a budget looks like from here (:class:`dissensus.agents.budget.Budget`)."""

    def reserve(self, *, tokens: int, money: float | None = None) -> Any:
        """A :class:`Lease`, or an object whose ``what`` names the limit that does not allow it."""
        ...

    def left(self) -> Any:
        """What is left; its ``seconds`` are None if time is not limited."""
        ...

    @property
    def notices(self) -> Sequence[Any]:
        """What is nearly used up (:class:`dissensus.agents.budget.Notice`); only ever gets longer."""
        ...


class Spending:
    """The purses of one run.

    Args:
        budget: of the run; None binds nothing.
        purses: of agents that have one of their own; each is a part of the run's.
        price_of: the prices of an agent's model, for money; None if unknown.
        told: steps that the record gives notice of already.
    """

    def __init__(
        self,
        budget: Purse | None = None,
        purses: Mapping[str, Purse] | None = None,
        price_of: Callable[[str], Prices] | None = None,
        told: Iterable[Step] = (),
    ) -> None:
        self._budget = budget
        self._purses = dict(purses or {})
        self._price_of = price_of
        self._told = set(told)

    def reserve(self, agent: str, call: Call) -> Lease | BudgetExhausted | None:
        """A lease for ``call``, or that it cannot be paid; None if nothing binds."""
        purse = self._purses.get(agent, self._budget)
        if purse is None:
            return None
        tokens_in, tokens_out = at_most(call)
        money = self._price_of(agent).cost(tokens_in, tokens_out) if self._price_of is not None else None
        reserved = purse.reserve(tokens=tokens_in + tokens_out, money=money)
        if (what := getattr(reserved, "what", None)) is not None:
            return BudgetExhausted(what=what)
        lease: Lease = reserved
        return lease

    def left_s(self, agent: str) -> float | None:
        """The seconds that are left for a call of ``agent``; None if time is not limited."""
        purse = self._purses.get(agent, self._budget)
        left: float | None = None if purse is None else purse.left().seconds
        return left

    def notices(self) -> list[dict[str, Any]]:
        """The steps that were reached since this was asked last, as a record has them."""
        found = []
        for purse in (self._budget, *self._purses.values()):
            for notice in purse.notices if purse is not None else ():
                if notice.step not in self._told:
                    self._told.add(notice.step)
                    names = ("budget", "what", "share", "used", "limit")
                    found.append({"text": str(notice)} | {name: getattr(notice, name) for name in names})
        return found


def at_most(call: Call) -> tuple[int, int]:
    """Most tokens that ``call`` may read and write: about a third of the characters, and all that it may write."""
    characters = sum(len(turn.text) for turn in call.turns) + len(getattr(call, "text", ""))
    read = characters // 3 + len(getattr(call, "tokens", None) or ())
    if isinstance(call, Score):
        return read + sum(len(text) for text in call.continuations), 0
    return read, call.max_tokens
