"""The drift model with noise: log-odds of a text as a random walk, averaged over where the corrupted agents sit.

x begins at x0; an honest turn adds dH, a corrupted turn takes dC away, and each turn adds normal noise of standard
deviation s. After T turns with h honest ones x is normal with mean x0 + h dH - (T - h) dC and variance s^2 T, so a text
is right with probability Phi(mean / (s sqrt T)); without noise it is right if the mean is above 0, and 0 counts half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dissensus.errors import UsageError
from dissensus.measure.seats import check_seats, honest_turns, turns_of_seats
from dissensus.measure.special import normal_cdf

if TYPE_CHECKING:
    from dissensus.measure.special import Array
    from dissensus.measure.table import Flags


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk goes by.

    Args:
        x0: where a text begins.
        honest: dH, what an honest turn adds.
        corrupt: dC, what a corrupted turn takes away.
        noise: s, standard deviation of a turn; 0 or more.

    Raises:
        UsageError: a number that is none, or noise below 0.
    """

    x0: float
    honest: float
    corrupt: float
    noise: float

    def __post_init__(self) -> None:
        for value, what in (
            (self.x0, "The start x0"),
            (self.honest, "An honest step"),
            (self.corrupt, "A corrupted step"),
            (self.noise, "The noise"),
        ):
            if not math.isfinite(value):
                raise UsageError(f"{what} cannot be {value:g}.", next_step="Use a number.")
        if self.noise < 0:
            raise UsageError(f"The noise cannot be {self.noise:g}.", next_step="Use 0 or more.")

    @property
    def critical(self) -> float:
        """The share of corrupted agents beyond which long texts go wrong: dH / (dH + dC).

        Where only one side pulls, or none does, 1 if that is the honest one and 0 otherwise.
        """
        if self.honest > 0 and self.corrupt > 0:
            return self.honest / (self.honest + self.corrupt)
        return float(self.honest > 0)

    def right(self, honest: Array, turns: int) -> Array:
        """P(right) of a text with ``honest`` (any shape) of ``turns`` turns honest."""
        import numpy as np

        mean = self.x0 + honest * self.honest - (turns - honest) * self.corrupt
        if self.noise > 0:
            return normal_cdf(mean / (self.noise * math.sqrt(turns)))
        scale = max(1.0, abs(self.x0), turns * (abs(self.honest) + abs(self.corrupt)))
        mean = np.where(np.abs(mean) <= 1e-12 * scale, 0.0, mean)
        return np.asarray((mean > 0) + (mean == 0) / 2, dtype=float)

    def accuracy(self, n: int, corrupted: int, turns: int) -> float:
        """Accuracy of one text over all placements of ``corrupted`` of ``n`` agents, whatever seat begins; any N."""
        import numpy as np

        many, chance = zip(*honest_turns(n, corrupted, turns), strict=True)
        return float(self.right(np.array(many, dtype=float), turns) @ np.array(chance))

    def after(self, seats: Flags, turns: int, start: int = 0) -> Array:
        """P(right) for each placement, shape (P,); ``seats`` has shape (P, N), true where an honest agent sits."""
        import numpy as np

        return self.right(seats @ np.array(turns_of_seats(seats.shape[1], turns, start), dtype=float), turns)

    def simulated(
        self, n: int, corrupted: int, turns: int, *, runs: int = 20_000, seed: int = 0
    ) -> tuple[float, float]:
        """The accuracy by drawing seats and noise, turn by turn, and its standard error."""
        import numpy as np

        check_seats(n, corrupted, turns)
        if runs < 2:
            raise UsageError(f"A simulation cannot take {runs} runs.", next_step="Use at least 2.")
        rng = np.random.default_rng(seed)
        honest = rng.permuted(np.tile(np.arange(n) >= corrupted, (runs, 1)), axis=1)
        x = np.full(runs, float(self.x0))
        for turn in range(turns):
            x += np.where(honest[:, turn % n], self.honest, -self.corrupt)
            if self.noise > 0:
                x += rng.normal(0.0, self.noise, runs)
        credit = np.where(np.abs(x) <= 1e-9, 0.5, (x > 0).astype(float))
        return float(credit.mean()), float(credit.std(ddof=1)) / math.sqrt(runs)
