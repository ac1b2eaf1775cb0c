"""The drift model of one text written in turns: honest turns pull it to the right answer, corrupted ones push it away.

What follows is arithmetic under the assumptions named in ``ASSUMPTIONS``; every result carries them. None of it has
been calibrated on a language model, and none of it is evidence about one.

Two kinds of push are worked out here, for N agents of whom a share rho is corrupted. *Multiplicative*: a corrupted turn
stretches the potential, V -> gC V. *Additive*: it adds to it, V -> V + b. In both an honest turn contracts it, V ->
gH V. A text is right where V < ln 2, which is x > 0. The random walk, where turns are noisy, is in ``drift_walk.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dissensus.errors import UsageError
from dissensus.measure.inputs import probability
from dissensus.measure.seats import check_seats, orders, placements
from dissensus.measure.special import Numbers

if TYPE_CHECKING:
    from dissensus.measure.special import Array
    from dissensus.measure.table import Flags

ASSUMPTIONS: Final[dict[str, str]] = {
    "A1": "one number x, the log-odds of the right answer against the target, says all that matters of a text",
    "A2": "the potential of a text is V = ln(1 + e^-x); the text is right where V < ln 2",
    "A3": "an honest turn contracts: V becomes gH V, with gH below 1",
    "A4": "a corrupted turn is bounded: V becomes gC V, or V + b",
    "A5": "factors and steps do not depend on the turn or on what the text says",
}
"""What the drift model takes for granted, by the names under which it is spoken of."""

NOT_CALIBRATED: Final = (
    "None of this is calibrated on a language model: measure gH, gC and b by forcing an answer before and after each "
    "turn. That honest agents agree on an answer in the long run does not give A3."
)

RIGHT_BELOW: Final = math.log(2)
"""The potential of a text that favours neither answer."""

_SLACK: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Order:
    """One order of seats under the additive push.

    Args:
        order: H and C, seat by seat.
        potential: V after the last seat of very many rounds.
        right: V < ln 2.
    """

    order: str
    potential: float
    right: bool


def potential(x: Numbers) -> Array:
    """V = ln(1 + e^-x) of log-odds x (A2)."""
    import numpy as np

    return np.asarray(np.logaddexp(0.0, -np.asarray(x, dtype=float)), dtype=float)


def log_odds(v: Numbers) -> Array:
    """The x with V = ln(1 + e^-x); V above 0."""
    import numpy as np

    given = np.asarray(v, dtype=float)
    if not (given > 0).all():
        raise UsageError("A potential lies above 0.", next_step="Check the numbers.")
    return np.asarray(-given - np.log(-np.expm1(-given)), dtype=float)  # -ln(e^V - 1), without overflow


def right(v: Array) -> Array:
    """1 where V < ln 2, 0 where it is above, one half where it is equal up to rounding."""
    import numpy as np

    gap = RIGHT_BELOW - v
    close = np.abs(gap) <= _SLACK
    return np.asarray(np.where(close, 0.5, (gap > 0).astype(float)))


# --- multiplicative


def multiplicative_drift(rho: float, contract: float, stretch: float) -> float:
    """Mean change of ln V in a turn: (1 - rho) ln gH + rho ln gC; below 0 texts go to the right answer."""
    _factors(contract, stretch=stretch)
    share = float(probability(rho, "The share of corrupted agents"))
    return (1 - share) * math.log(contract) + share * math.log(stretch)


def critical_multiplicative(contract: float, stretch: float) -> float:
    """The share of corrupted agents where the drift is 0: ln(1/gH) / (ln(1/gH) + ln gC)."""
    _factors(contract, stretch=stretch)
    pull = -math.log(contract)
    return pull / (pull + math.log(stretch))


# --- additive


def additive_mean(rho: float, contract: float, push: float) -> float:
    """Mean of V after very many turns of writers drawn at random: rho b / ((1 - rho)(1 - gH)); infinite at rho = 1.

    It is a mean over texts. That it lies below ln 2 does not make each text right: see :func:`additive_share_right`.
    """
    _factors(contract, push=push)
    share = float(probability(rho, "The share of corrupted agents"))
    return share * push / ((1 - share) * (1 - contract)) if share < 1 else math.inf


def critical_additive(contract: float, push: float) -> float:
    """The share of corrupted agents where that mean is ln 2."""
    _factors(contract, push=push)
    pull = RIGHT_BELOW * (1 - contract)
    return pull / (push + pull)


def additive_share_right(
    rho: float, contract: float, push: float, *, turns: int = 200, runs: int = 20_000, seed: int = 0
) -> tuple[float, float, float]:
    """Simulated texts of writers drawn at random: share right, mean V, and the standard error of that mean."""
    import numpy as np

    _factors(contract, push=push)
    share = float(probability(rho, "The share of corrupted agents"))
    rng = np.random.default_rng(seed)
    v = np.full(runs, RIGHT_BELOW)
    for _ in range(turns):
        v = np.where(rng.random(runs) < share, v + push, contract * v)
    return float(right(v).mean()), float(v.mean()), float(v.std(ddof=1)) / math.sqrt(runs)


def rotation_limit(order: str, contract: float, push: float) -> float:
    """V after the last seat of very many rounds in one order of H and C; infinite if nobody is honest.

    A round maps V to A V + B with A < 1, so V tends to B / (1 - A), wherever it began.
    """
    _factors(contract, push=push)
    if not order or set(order) - {"H", "C"}:
        raise UsageError(f"{order!r} is no order of seats.", next_step="Write H for honest and C for corrupted: HHCCC.")
    scale, shift = 1.0, 0.0
    for seat in order:
        if seat == "H":
            scale, shift = scale * contract, shift * contract
        else:
            shift += push
    return shift / (1 - scale) if scale < 1 else math.inf


def rotation_orders(n: int, corrupted: int, contract: float, push: float) -> tuple[Order, ...]:
    """All orders of the seats, the one with the highest potential first.

    Which seat the text ends on changes nothing in the list as a whole: another end is another order of the same list.
    """
    check_seats(n, corrupted)
    placements(n, corrupted)  # refuses too many
    found = [(order, rotation_limit(order, contract, push)) for order in orders(n, corrupted)]
    found.sort(key=lambda one: (-one[1], one[0]))
    return tuple(Order(order, v, v < RIGHT_BELOW) for order, v in found)


def share_wrong(orders_of_seats: tuple[Order, ...]) -> float:
    """The share of orders that end wrong."""
    return sum(not one.right for one in orders_of_seats) / len(orders_of_seats)


# --- finitely many turns


def multiplicative_after(
    seats: Flags, turns: int, start: int = 0, *, x0: float, contract: float, stretch: float
) -> Array:
    """V after T turns for each placement, shape (P,); ``seats`` has shape (P, N), true where an honest agent sits."""
    import numpy as np

    from dissensus.measure.seats import turns_of_seats

    _factors(contract, stretch=stretch)
    honest = seats @ np.array(turns_of_seats(seats.shape[1], turns, start), dtype=np.int64)
    log_v = math.log(float(potential(x0))) + honest * math.log(contract) + (turns - honest) * math.log(stretch)
    return np.exp(np.minimum(log_v, 700.0))  # far above ln 2 all the same


def additive_after(seats: Flags, turns: int, start: int = 0, *, x0: float, contract: float, push: float) -> Array:
    """V after T turns for each placement, as :func:`multiplicative_after`; here the order of the seats counts."""
    import numpy as np

    _factors(contract, push=push)
    v = np.full(len(seats), float(potential(x0)))
    for turn in range(turns):
        v = np.where(seats[:, (start + turn) % seats.shape[1]], contract * v, v + push)
    return v


def named() -> dict[str, Any]:
    """The assumptions, as they stand in every JSON document."""
    return {"assumptions": dict(ASSUMPTIONS), "not_calibrated": NOT_CALIBRATED}


def _factors(contract: float, *, stretch: float | None = None, push: float | None = None) -> None:
    if not 0 < contract < 1:
        raise UsageError(
            f"An honest turn that contracts (A3) cannot have the factor gH = {contract:g}.",
            next_step="Use a factor between 0 and 1.",
        )
    if stretch is not None and not 1 <= stretch < math.inf:
        raise UsageError(
            f"A corrupted turn that stretches (A4) cannot have the factor gC = {stretch:g}.",
            next_step="Use a factor of at least 1.",
        )
    if push is not None and not 0 < push < math.inf:
        raise UsageError(
            f"A corrupted turn that pushes (A4) cannot add b = {push:g}.", next_step="Use a number above 0."
        )
