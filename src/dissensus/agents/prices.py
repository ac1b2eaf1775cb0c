"""What tokens cost. An unknown price gives an unknown cost: ``None``, never 0."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Money per million tokens, in the currency that the panel file declares. ``None`` means unknown.

    Args:
        tokens_in: prompt tokens.
        tokens_out: written tokens.
        tokens_cached: prompt tokens that came from a cache; ``None`` means that they cost what others do.
    """

    tokens_in: float | None = None
    tokens_out: float | None = None
    tokens_cached: float | None = None

    def cost(self, tokens_in: int | None, tokens_out: int | None, tokens_cached: int | None = None) -> float | None:
        """What a call with these counts cost, or None if a price or a count is unknown."""
        if self.tokens_in is None or self.tokens_out is None or tokens_in is None or tokens_out is None:
            return None
        cached = min(tokens_cached or 0, tokens_in)
        cached_price = self.tokens_in if self.tokens_cached is None else self.tokens_cached
        return ((tokens_in - cached) * self.tokens_in + cached * cached_price + tokens_out * self.tokens_out) / 1e6


UNKNOWN_PRICES = Prices()
