"""Jury theorems in closed form: what a majority is worth if errors are independent, and if they are not.

Arguments: ``n`` voters, each right with probability ``p``; two answers. Probabilities are floats in [0, 1].
All functions raise :class:`~dissensus.errors.UsageError` for arguments outside their range.
"""

from __future__ import annotations

import math

from dissensus.errors import UsageError


def condorcet(n: int, p: float) -> float:
    """Probability that a majority of ``n`` independent voters is right; a tie of even ``n`` counts half.

    Condorcet (1785): the sum over k > n/2 of C(n, k) p^k (1-p)^(n-k), plus half of the term at k = n/2.
    Absolute error below 1e-12 up to n = 1000.
    """
    _check_voters(n)
    _check_share("p", p)
    if n % 2 == 0:
        n -= 1  # with half of the tie, one voter more than an odd number changes nothing
    if p in {0.0, 1.0}:
        return float(p)
    return min(1.0, math.fsum(_binomial(n, k, p) for k in range((n + 1) // 2, n + 1)))


def _binomial(n: int, k: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) if n > 900 else math.log(math.comb(n, k))
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


def trap(n: int, lam: float, p0: float) -> float:
    """Probability that the majority is right where a share ``lam`` of questions are traps.

    On a trap all voters give the same wrong answer; elsewhere each is right with probability ``p0``, independently.
    It is (1 - lam) · condorcet(n, p0), and never above 1 - lam.
    """
    _check_share("lam", lam)
    return (1 - lam) * condorcet(n, p0)


def trap_unanimous(n: int, lam: float, p0: float) -> tuple[float, float]:
    """In the trap model: probability of unanimity, and of being wrong given unanimity.

    Unanimity is a trap, or all ``n`` right elsewhere: P = lam + (1 - lam) p0^n, and lam / P of it is wrong. That
    independent voters err in the same way is left out; for nine voters at p0 = .875 it changes no sixth digit.
    Where unanimity is impossible (P = 0) the second value is nan.
    """
    _check_voters(n)
    _check_share("lam", lam)
    _check_share("p0", p0)
    unanimous = lam + (1 - lam) * p0**n
    return unanimous, lam / unanimous if unanimous else math.nan


def split_posterior(a: int, b: int, p: float) -> float:
    """Probability that the side with ``a`` votes against ``b`` is right, by Bayes' rule.

    Independent voters, two answers, equally likely beforehand: 1 / (1 + ((1-p)/p)^(a-b)). Only the margin counts.
    """
    if a < 0 or b < 0:
        raise UsageError("Votes cannot be negative.", next_step="Give two counts, 0 or more.")
    _check_share("p", p)
    margin = a - b
    if margin == 0:
        return 0.5
    if p in {0.0, 1.0}:
        return float((margin > 0) == (p == 1.0))
    exponent = margin * (math.log(p) - math.log1p(-p))
    if exponent >= 0:
        return 1 / (1 + math.exp(-exponent))
    odds = math.exp(exponent)  # never overflows on this side
    return odds / (1 + odds)


def effective_voters(n: int, rho: float) -> float | None:
    """How many independent voters have a mean as variable as ``n`` voters with pairwise correlation ``rho``.

    n / (1 + (n-1) rho), which tends to 1/rho (Kish's design effect). None where the denominator is not positive: no
    ``n`` voters can be that negatively correlated, and the number is undefined. It is an order of magnitude: rho alone
    does not fix how a majority performs.
    """
    _check_voters(n)
    if not -1 <= rho <= 1:
        raise UsageError("A correlation lies between -1 and 1.", next_step="Check how rho was computed.")
    denominator = 1 + (n - 1) * rho
    return n / denominator if denominator > 0 else None


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval of a share of which ``k`` of ``n`` were seen.

    Clopper and Pearson (1934): quantiles of Beta(k, n-k+1) and Beta(k+1, n-k); 0 and 1 at the ends. Coverage is at
    least ``level``.
    """
    _check_voters(n)
    if not 0 <= k <= n:
        raise UsageError("The count must lie between 0 and the number of cases.", next_step="Check the counts.")
    if not 0 < level < 1:
        raise UsageError("A confidence level lies between 0 and 1.", next_step="Use 0.95 for 95 percent.")
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # late: it is heavy

    tail = (1 - level) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return low, high


def _check_voters(n: int) -> None:
    if n < 1:
        raise UsageError("At least one voter is needed.", next_step="Give n as 1 or more.")


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is a share and lies between 0 and 1.", next_step="Use 0.7 for 70 percent.")
