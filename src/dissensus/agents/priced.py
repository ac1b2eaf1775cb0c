"""Prices for a model whose back end knows none: the cost of a call follows from its tokens."""

from __future__ import annotations

from dataclasses import replace

from dissensus.agents.model import Model
from dissensus.agents.prices import Prices
from dissensus.agents.wrapped import Wrapped
from dissensus.script.calls import Extend, Generate, Score
from dissensus.script.outcomes import Outcome, Usage


class Priced(Wrapped):
    """``model``, with a cost added to each outcome whose tokens are known and whose cost is not."""

    __slots__ = ("prices",)

    def __init__(self, model: Model, prices: Prices) -> None:
        super().__init__(model)
        self.prices = prices

    async def generate(self, call: Generate) -> Outcome:
        """The model's own answer, with its cost."""
        return self._priced(await self.model.generate(call))

    async def extend(self, call: Extend) -> Outcome:
        """The model's own continuation, with its cost."""
        return self._priced(await self.model.extend(call))

    async def score(self, call: Score) -> Outcome:
        """The model's own scores, with their cost."""
        return self._priced(await self.model.score(call))

    def _priced(self, outcome: Outcome) -> Outcome:
        usage = getattr(outcome, "usage", None)
        if not isinstance(usage, Usage) or usage.cost is not None:
            return outcome
        cost = self.prices.cost(usage.tokens_in, usage.tokens_out, usage.tokens_cached)
        return outcome if cost is None else replace(outcome, usage=replace(usage, cost=cost))  # type: ignore[arg-type]
