"""One budget for all records of a swarm: what earlier calls took is on it before anybody is asked.

No call is made that does not fit into what the whole swarm has left, so shares, cases and planted cases together never
pass it, however often the swarm is cut and begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dissensus.agents.budget import Budget, Limits
from dissensus.agents.model import Model
from dissensus.agents.panel import Panel
from dissensus.agents.prices import UNKNOWN_PRICES, Prices
from dissensus.record.event import Event
from dissensus.run.casting import Cast, Checks
from dissensus.run.performers import Live
from dissensus.run.spending import Spending
from dissensus.run.waiting import at_work
from dissensus.script.outcomes import from_data

_CALLS: Final = frozenset({"ask", "continue", "score"})


class Lent(Cast):
    """A cast whose models are opened elsewhere and whose calls are paid from one purse with those of other casts.

    Args:
        panel: who takes part, knowing what the models can do.
        models: gives the model behind an agent; it stays open.
        spending: what is paid from; what the record of a run holds is on it already.
        wrap: put around each tool.
    """

    def __init__(
        self,
        panel: Panel,
        models: Callable[[str], Model],
        spending: Spending,
        *,
        wrap: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(panel, late=True, wrap=wrap)
        self._lent = models
        self._spending = spending

    def model_of(self, agent: str) -> Model:
        """The model behind ``agent``."""
        return self._lent(agent)

    def performer(self, checks: Checks | None = None, past: Sequence[Event] = ()) -> Live:  # noqa: ARG002 - paid before
        """A live performer for one run."""
        return Live(self.model_of, tools=self._tools, checks=checks, spending=self._spending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What calls took.

    Args:
        calls: that reached a model.
        tokens_in, tokens_out: tokens; None if no call said.
        seconds: of calls, those side by side added; None if no call said.
        money: in the panel's currency; None if no call said.
        silent: for each of these, how many calls did not say.
    """

    calls: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    seconds: float | None = 0.0
    money: float | None = 0.0
    silent: Mapping[str, int] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in (*_TAKEN, "silent")}


_TAKEN: Final = ("calls", "tokens_in", "tokens_out", "seconds", "money")
_USAGE: Final = {"tokens_in": "tokens_in", "tokens_out": "tokens_out", "seconds": "seconds", "money": "cost"}


def taken(records: Iterable[Sequence[Event]]) -> Taken:
    """What the calls in some records took."""
    calls = 0
    sums: dict[str, Any] = dict.fromkeys(_USAGE)
    silent = dict.fromkeys(_USAGE, 0)
    for events in records:
        asked = {event.key for event in events if event.kind in _CALLS}
        for event in events:
            if event.kind != "outcome" or event.key not in asked:
                continue
            outcome = event.body["outcome"]
            if outcome["kind"] == "budget" and not outcome.get("begun"):
                continue
            calls += 1
            for name, key in _USAGE.items():
                value = outcome.get("usage", {}).get(key)
                if value is None:
                    silent[name] += 1
                else:
                    sums[name] = (sums[name] or 0) + value
    if not calls:
        return Taken()
    return Taken(calls=calls, **sums, silent={name: count for name, count in silent.items() if count})


def purse(limits: Limits, panel: Panel | None, records: Iterable[Sequence[Event]]) -> tuple[Budget, Spending]:
    """The budget of a swarm, and the purse that all its runs pay from.

    Args:
        limits: of the whole.
        panel: agents with a limit of their own have it for the whole swarm.
        records: what earlier calls have left.
    """
    kept = list(records)
    elapsed_s = at_work_s(kept)
    whole = Budget(limits, name="swarm", elapsed_s=elapsed_s)
    own = panel.budgets if panel is not None else {}
    agents = {name: Budget(most, whole, name=name, elapsed_s=elapsed_s) for name, most in sorted(own.items())}
    for events in kept:
        for event in events:
            if event.kind == "outcome":
                outcome = from_data(event.body["outcome"])
                if getattr(outcome, "model", ""):  # it reached a back end
                    agents.get(event.actor, whole).charge(getattr(outcome, "usage", None))

    def price_of(agent: str) -> Prices:
        return panel.spec_of(agent).prices if panel is not None and agent in panel.model_of else UNKNOWN_PRICES

    return whole, Spending(whole, agents, price_of)


def at_work_s(records: Iterable[Sequence[Event]]) -> float:
    """Seconds in which at least one of the runs was at work."""
    spans = sorted(span for events in records for span in _spans(events))
    total, end = 0.0, float("-inf")
    for first, last in spans:
        if last > end:
            total += last - max(first, end)
            end = last
    return total


def _spans(events: Sequence[Event]) -> Iterator[tuple[float, float]]:
    """From when to when a run was at work: from its start, and from each time that it was taken up again."""
    began: float | None = None
    last = 0.0
    for event in at_work(events):
        if began is None or event.kind == "resumed":
            if began is not None:
                yield began, max(last, began)
            began = event.time
        last = event.time
    if began is not None:
        yield began, max(last, began)
