"""What a study will take, before anything is asked: runs, calls, tokens, money. An upper estimate.

Written tokens are an upper bound: every answer as long as it may be. Read tokens follow from it: for texts written in
turns from the ledger's closed forms without any cache, which is the most, and with an exact one, which is the least.
Prompts are counted in characters, at 4 a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dissensus.answers import instruction_for
from dissensus.decide import ledger
from dissensus.decide.answer_debate import DebateSettings
from dissensus.decide.confidence import CONFIDENCE_TOKENS, ConfidenceSettings
from dissensus.decide.receivers import ReceiverSettings
from dissensus.decide.round_robin_settings import RoundRobinSettings, start_seats
from dissensus.decide.single import SingleSettings
from dissensus.decide.wording import kind_of
from dissensus.script.seats import Seat
from dissensus.study.estimate import CHARS_A_TOKEN
from dissensus.study.grid import Unit

_TURN_TOKENS = 8
"""What a chat template costs beside its texts, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What some runs take at most.

    Args:
        runs: how many.
        decoded: tokens written.
        computed: tokens read if no back end keeps anything in a cache.
        cached: of these, what an exact cache would save.
        money: with every token at its price; None if a price is not known.
        in_sequence: the most answers of one run that wait for one another.
        per_question: tokens written for one question, at most.
    """

    runs: int = 0
    decoded: int = 0
    computed: int = 0
    cached: int = 0
    money: float | None = 0.0
    in_sequence: int = 0
    per_question: int = 0

    def plus(self, other: Amount) -> Amount:
        """Both."""
        return Amount(
            runs=self.runs + other.runs,
            decoded=self.decoded + other.decoded,
            computed=self.computed + other.computed,
            cached=self.cached + other.cached,
            money=None if self.money is None or other.money is None else self.money + other.money,
            in_sequence=max(self.in_sequence, other.in_sequence),
            per_question=max(self.per_question, other.per_question),
        )

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the runs that are left take.

    Args:
        done: runs that are done already.
        total: what the others take.
        arms: the same by procedure.
        currency: of the money; "" if none is named.
        left_out: questions that cannot be used, by set of tasks.
    """

    done: int
    total: Amount
    arms: Mapping[str, Amount] = field(default_factory=dict)
    currency: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "done": self.done,
            "left": self.total.to_data(),
            "procedures": {name: one.to_data() for name, one in self.arms.items()},
            "currency": self.currency,
            "left_out": dict(self.left_out),
        }

    def lines(self) -> list[str]:
        """As text."""
        total = self.total
        before = f"{self.done:,} runs are done and are not repeated. " if self.done else ""
        if not total.runs:
            return [f"{before}Nothing is left to be run."]
        most = f"at most {total.decoded:,} tokens written; at most {total.computed:,} read without a cache"
        least = f"{total.computed - total.cached:,} where texts in turns are cached exactly"
        found = [f"{before}{total.runs:,} runs: {most}, {least}; {self._money(total)}."]
        found += [
            f"  {name}: {one.runs:,} runs, at most {one.per_question:,} tokens written for a question, "
            f"{one.in_sequence} answer{'s' * (one.in_sequence != 1)} one after the other"
            for name, one in self.arms.items()
        ]
        found += [
            f"note: {many:,} questions of {name} are left out: two of their options have the same text."
            for name, many in self.left_out.items()
            if many
        ]
        return found

    def _money(self, amount: Amount) -> str:
        if amount.money is None:
            return "money unknown: a model has no prices"
        return f"at most {amount.money:.2f} {self.currency or 'in money'}"


def plan_of(units: Sequence[Unit], *, done: int = 0) -> Plan:
    """What ``units`` take."""
    total, arms = Amount(), dict[str, Amount]()
    for unit in units:
        one = amount_of(unit)
        total = total.plus(one)
        name = unit.cell.arm.name
        arms[name] = arms.get(name, Amount()).plus(one)
    left_out = {unit.cell.tasks.name: unit.cell.tasks.left_out for unit in units}
    currencies = {unit.cell.lineup.panel.currency for unit in units}
    return Plan(
        done=done,
        total=total,
        arms=arms,
        currency=currencies.pop() if len(currencies) == 1 else "",
        left_out=left_out,
    )


def amount_of(unit: Unit) -> Amount:
    """What one run takes at most."""
    agents, honest = len(unit.order), len(unit.honest)
    arm, length = unit.cell.arm, unit.length
    calls = arm.most_calls(agents, honest)
    by_name = {seat.agent: seat for seat in unit.seats()}
    seats = [by_name[name] for name in unit.order]
    prompts = [_prompt(unit, seat) for seat in seats]
    mean = sum(prompts) // len(prompts)
    decoded = calls * length
    cached = 0
    settings = unit.settings
    computed = calls * mean
    if isinstance(settings, RoundRobinSettings):
        starts = start_seats(settings, agents, unit.run_seed)
        k = min(settings.k, length)
        computed = ledger.plan(agents, k, length, mean, starts=starts, block=ledger.NONE).computed
        cached = computed - ledger.plan(agents, k, length, mean, starts=starts, block=ledger.EXACT).computed
    elif isinstance(settings, DebateSettings):  # from the second round on everybody reads everybody
        computed += (calls - agents * settings.trajectories) * agents * length
    elif isinstance(settings, ConfidenceSettings):
        computed += calls * (mean + length)
        decoded += calls * CONFIDENCE_TOKENS
    elif isinstance(settings, ReceiverSettings):
        computed += agents * (calls - settings.trajectories) * (mean + length)
    elif arm.in_sequence(agents) > 1:  # who goes on from an answer reads it again
        computed += calls * length
    who = unit.order[:1] if isinstance(settings, SingleSettings) else unit.honest if arm.oracle else unit.order
    prices = [unit.cell.lineup.panel.spec_of(name).prices for name in who]
    costs = [price.cost(computed // len(who), decoded // len(who)) for price in prices]
    known = [cost for cost in costs if cost is not None]
    return Amount(
        runs=1,
        decoded=decoded,
        computed=computed,
        cached=cached,
        money=sum(known) if len(known) == len(costs) else None,
        in_sequence=arm.in_sequence(agents),
        per_question=decoded,
    )


def _prompt(unit: Unit, seat: Seat) -> int:
    """Tokens of what an agent reads first, roughly."""
    question = unit.task.question
    end = instruction_for(kind_of(question), question.options, question.unit)
    texts = [seat.system, seat.context, unit.task.text, end]
    return sum(map(len, texts)) // CHARS_A_TOKEN + _TURN_TOKENS * (1 + bool(seat.system))
