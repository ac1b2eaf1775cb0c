"""Voters alike but not independent: each question has a chance Theta, and given it the voters are independent.

de Finetti: a panel that can be extended without end, whose voters are exchangeable, is exactly this, with Theta drawn
anew for each question from some distribution F. Everything about it follows from F::

    accuracy of one voter     p   = E Theta
    correlation of two        rho = Var Theta / (p (1 - p))
    majority of n             P_n = E I_Theta((n + 1)/2, (n + 1)/2)
    of very many              F(Theta > 1/2) + F(Theta = 1/2) / 2

Two panels with the same p and rho can have different F, hence different curves and different limits: rho alone does not
fix the majority's accuracy. Here F has finitely many points (:class:`Mixture`); continuous ones are in
:mod:`dissensus.measure.correlated`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.inputs import distribution, probability, voters
from dissensus.measure.special import Array, Numbers, incomplete_beta

Shape = Literal["rises", "falls", "rises, then falls", "falls, then rises", "flat"]
"""How the majority's accuracy goes with the number of voters, odd sizes from one on."""


def majority_given(theta: Numbers, n: Numbers) -> Array:
    """P(the majority of ``n`` is right) where each voter is right with chance ``theta``, independently; broadcasts.

    I_theta((n + 1)/2, (n + 1)/2) for odd n; an even n with ties split is worth n - 1.
    """
    size = np.asarray(n, dtype=float)
    k = np.where(size % 2 == 1, size + 1, size) / 2
    return incomplete_beta(k, k, theta)


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Questions of finitely many kinds.

    Args:
        points: shape (kinds,): a voter's chance to be right on a question of each kind.
        weights: shape (kinds,): the share of questions of each kind; they sum to one.

    Raises:
        UsageError: shapes differ, or a number is no probability, or the weights do not sum to one.
    """

    points: Array
    weights: Array

    def __init__(self, points: Iterable[float] | Array, weights: Iterable[float] | Array) -> None:
        theta = np.atleast_1d(probability(np.asarray(list(points), dtype=float), "A chance to be right"))
        share = distribution(weights, "The shares of the kinds of questions")
        if theta.shape != share.shape:
            raise UsageError(f"There are {theta.size} kinds of questions and {share.size} shares.")
        object.__setattr__(self, "points", theta)
        object.__setattr__(self, "weights", share)

    @property
    def accuracy(self) -> float:
        """p: one voter's share of right answers."""
        return float(self.weights @ self.points)

    @property
    def correlation(self) -> float:
        """rho: the correlation of two voters' right answers; NaN where a voter is always or never right."""
        p = self.accuracy
        spread = p * (1 - p)
        return min(1.0, float(self.weights @ (self.points - p) ** 2) / spread) if spread > 0 else math.nan

    def majority(self, n: Numbers) -> Array:
        """P_n for each ``n``, same shape."""
        size = voters(n)
        return np.asarray(majority_given(self.points, size[..., None]) @ self.weights)

    @property
    def limit(self) -> float:
        """P_n as n grows without end."""
        return float(self.weights @ ((self.points > 0.5) + (self.points == 0.5) / 2))

    def unanimous(self, n: Numbers) -> tuple[Array, Array]:
        """P(all ``n`` agree on right or wrong) and P(they are wrong, given that); NaN where they never agree."""
        size = voters(n)[..., None]
        right = np.asarray(self.points**size @ self.weights)
        wrong = np.asarray((1 - self.points) ** size @ self.weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            return right + wrong, wrong / (right + wrong)


def trap_mixture(share: float, elsewhere: float) -> Mixture:
    """The trap model as a mixture: on ``share`` of the questions all are wrong, on the rest right by ``elsewhere``."""
    return Mixture([0.0, elsewhere], [share, 1 - share])


def trap_of_correlation(p: float, rho: float) -> float:
    """The share of traps at which voters of accuracy ``p`` have correlation ``rho``: rho q / (p + rho q), q = 1 - p.

    Inverts rho = share p0 / (1 - p) with p = (1 - share) p0.
    """
    accuracy, correlation = float(probability(p, "The accuracy p")), float(probability(rho, "The correlation rho"))
    q = 1 - accuracy
    return correlation * q / (accuracy + correlation * q) if accuracy + correlation * q > 0 else 0.0


def easy_hard(share: float, easy: float, hard: float) -> Mixture:
    """Easy questions (``share`` of them, chance ``easy`` > 1/2) and hard ones (chance ``hard`` < 1/2).

    Model of Chen et al., arXiv 2403.02419: more voters can first help and then hurt, since the hard questions, where
    voting converges to the wrong answer, win in the end. The limit is ``share``.
    """
    mixture = Mixture([easy, hard], [share, 1 - share])
    if not easy > 0.5 > hard:
        raise UsageError(
            f"Easy questions need a chance above 1/2 and hard ones below, not {easy:g} and {hard:g}.",
            next_step="Use a mixture of your own for other cases: dissensus.measure.mixtures.Mixture.",
        )
    return mixture


def easy_hard_shape(share: float, easy: float, hard: float) -> Shape:
    """How the curve of :func:`easy_hard` goes.

    From n = 2m - 1 to 2m + 1 the majority gains, up to a positive factor that is the same for both kinds,
    a (p1 q1)^m (2 p1 - 1) - (1 - a) (p2 q2)^m (1 - 2 p2). So it rises at first where the easy part is the larger at
    m = 1, and in the end where it fades more slowly: where p1 + p2 < 1.
    """
    up, down, fading = _gains(share, easy, hard)
    if up == down == 0:
        return "flat"
    if up == 0 or down == 0:
        return "rises" if up > 0 else "falls"
    if fading == 1:
        return "flat" if up == down else "rises" if up > down else "falls"
    if fading < 1:
        return "rises, then falls" if up > down else "falls"
    return "rises" if up >= down else "falls, then rises"


def easy_hard_peak(share: float, easy: float, hard: float) -> int | None:
    """The odd number of voters with the best majority (the smallest of equals); None if its limit is better still."""
    shape = easy_hard_shape(share, easy, hard)
    if shape in {"falls", "flat"}:
        return 1
    if shape == "rises":
        return None
    if shape == "falls, then rises":
        return 1 if share * easy + (1 - share) * hard >= share else None
    up, down, fading = _gains(share, easy, hard)
    # the m-th gain is positive while (up / down) fading^(m - 1) > 1
    return 1 + 2 * math.ceil(math.log(up / down) / -math.log(fading))


def _gains(share: float, easy: float, hard: float) -> tuple[float, float, float]:
    """The first gain's two parts, and how the ratio of the first to the second changes from one gain to the next."""
    easy_hard(share, easy, hard)  # refuses what is no such mixture
    first, second = easy * (1 - easy), hard * (1 - hard)
    up, down = share * first * (2 * easy - 1), (1 - share) * second * (1 - 2 * hard)
    if math.isclose(up, down, rel_tol=1e-12):  # equal in the decimals that were meant
        up = down
    if abs(easy + hard - 1) < 1e-12:
        return up, down, 1.0
    return up, down, first / second if second > 0 else math.inf
