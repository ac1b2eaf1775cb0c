"""A tree of budgets against a ledger that adds everything up anew each time."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from dissensus.agents.budget import Budget, Exhausted, Lease, Limits
from dissensus.script.outcomes import Usage

PARENTS = {"root": None, "a": "root", "b": "root", "aa": "a"}


@dataclass
class Entry:
    where: str
    tokens: int
    money: float
    lease: Lease
    state: str = "open"
    paid_tokens: int = 0
    paid_money: float = 0.0
    overshot: bool = False


class Tree(RuleBasedStateMachine):
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.limits = {
            "root": Limits(tokens=1000, calls=12, money=8.0),
            "a": Limits(tokens=600, money=6.0),
            "b": Limits(calls=5),
            "aa": Limits(tokens=300, calls=4),
        }
        self.budgets: dict[str, Budget] = {}
        for name, parent in PARENTS.items():
            above = self.budgets[parent] if parent else None
            self.budgets[name] = Budget(self.limits[name], above, clock=lambda: 0.0)
        self.entries: list[Entry] = []

    def under(self, name: str) -> list[Entry]:
        def inside(where: str | None) -> bool:
            return where is not None and (where == name or inside(PARENTS[where]))

        return [entry for entry in self.entries if inside(entry.where)]

    def room(self, name: str) -> tuple[float, float, float]:
        """Calls, tokens and money left in this budget alone."""
        live = [entry for entry in self.under(name) if entry.state != "released"]
        calls = len(live)
        tokens = sum(entry.tokens if entry.state == "open" else entry.paid_tokens for entry in live)
        money = sum(entry.money if entry.state == "open" else entry.paid_money for entry in live)
        limits = self.limits[name]
        return tuple(  # type: ignore[return-value]
            float("inf") if limit is None else limit - taken
            for limit, taken in ((limits.calls, calls), (limits.tokens, tokens), (limits.money, money))
        )

    @rule(target=leases, where=st.sampled_from(sorted(PARENTS)), tokens=st.integers(0, 250), eighths=st.integers(0, 16))
    def reserve(self, where: str, tokens: int, eighths: int) -> object:
        money = eighths / 8
        name: str | None = where
        fits = True
        while name is not None:
            calls_left, tokens_left, money_left = self.room(name)
            fits = fits and calls_left >= 1 and tokens_left >= tokens and money_left >= money
            name = PARENTS[name]
        given = self.budgets[where].reserve(tokens=tokens, money=money)
        assert isinstance(given, Lease) is fits
        if isinstance(given, Exhausted):
            return multiple()
        entry = Entry(where, tokens, money, given)
        self.entries.append(entry)
        return entry

    @rule(entry=leases, share=st.floats(0, 1.3), known=st.booleans())
    def settle(self, entry: Entry, share: float, known: bool) -> None:
        took = int(entry.tokens * share)
        paid = round(entry.money * share * 8) / 8
        entry.lease.settle(Usage(tokens_in=took, tokens_out=0, cost=paid) if known else Usage())
        if entry.state == "open":
            entry.state = "settled"
            entry.paid_tokens, entry.paid_money = (took, paid) if known else (entry.tokens, entry.money)
            entry.overshot = entry.paid_tokens > entry.tokens or entry.paid_money > entry.money

    @rule(entry=leases)
    def release(self, entry: Entry) -> None:
        entry.lease.release()
        if entry.state == "open":
            entry.state = "released"

    @invariant()
    def the_books_agree(self) -> None:
        for name, budget in self.budgets.items():
            entries = self.under(name)
            open_ones = [entry for entry in entries if entry.state == "open"]
            paid = [entry for entry in entries if entry.state == "settled"]
            held, charged = budget.held(), budget.charged()
            assert (held.calls, charged.calls) == (len(open_ones), len(paid))
            assert (held.tokens, charged.tokens) == (sum(e.tokens for e in open_ones), sum(e.paid_tokens for e in paid))
            assert (held.money, charged.money) == (sum(e.money for e in open_ones), sum(e.paid_money for e in paid))

    @invariant()
    def nothing_is_overspent_unless_a_call_took_more_than_it_reserved(self) -> None:
        for name, budget in self.budgets.items():
            if any(entry.overshot for entry in self.under(name)):
                continue
            limits, held, charged = self.limits[name], budget.held(), budget.charged()
            for what in ("calls", "tokens", "money"):
                limit = getattr(limits, what)
                assert limit is None or getattr(held, what) + getattr(charged, what) <= limit

    @invariant()
    def what_is_left_is_the_least_on_the_way_up(self) -> None:
        for name, budget in self.budgets.items():
            rooms = []
            where: str | None = name
            while where is not None:
                rooms.append(self.room(where))
                where = PARENTS[where]
            calls, tokens, money = (max(min(column), 0) for column in zip(*rooms, strict=True))
            left = budget.left()
            assert (left.calls, left.tokens, left.money) == (calls, tokens, money)


Tree.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestTree = Tree.TestCase
