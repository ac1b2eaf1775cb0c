"""Special functions, with types: scipy carries none, so its names enter the formulas of this package here.

Everything takes and gives float arrays that broadcast. Importing this module imports numpy; scipy's parts are imported
when a function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""A float array of any shape."""

Numbers = npt.ArrayLike
"""A number, or anything numpy makes an array of."""


def incomplete_beta(a: Numbers, b: Numbers, x: Numbers) -> Array:
    """The regularised incomplete beta function I_x(a, b)."""
    from scipy.special import betainc  # type: ignore[import-untyped]

    return np.asarray(betainc(a, b, x), dtype=float)


def incomplete_beta_inverse(a: Numbers, b: Numbers, y: Numbers) -> Array:
    """The x with I_x(a, b) = y."""
    from scipy.special import betaincinv

    return np.asarray(betaincinv(a, b, y), dtype=float)


def log_beta(a: Numbers, b: Numbers) -> Array:
    """Log of the beta function B(a, b)."""
    from scipy.special import betaln

    return np.asarray(betaln(a, b), dtype=float)


def log_gamma(x: Numbers) -> Array:
    """Log of the gamma function, x > 0."""
    from scipy.special import gammaln

    return np.asarray(gammaln(x), dtype=float)


def x_log_y(x: Numbers, y: Numbers) -> Array:
    """The product x log y, with 0 log 0 = 0."""
    from scipy.special import xlogy

    return np.asarray(xlogy(x, y), dtype=float)


def normal_cdf(x: Numbers) -> Array:
    """The standard normal distribution function."""
    from scipy.special import ndtr

    return np.asarray(ndtr(x), dtype=float)


def normal_quantile(p: Numbers) -> Array:
    """Its inverse; -inf at 0 and inf at 1."""
    from scipy.special import ndtri

    return np.asarray(ndtri(p), dtype=float)


def chi2_above(x: Numbers, freedom: Numbers) -> Array:
    """P(X >= x) for chi-square with ``freedom`` degrees of freedom."""
    from scipy.special import chdtrc

    return np.asarray(chdtrc(freedom, x), dtype=float)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where ``function`` crosses zero between ``low`` and ``high``, whose values have opposite signs (Brent)."""
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    return cast("float", brentq(function, low, high, xtol=1e-15, rtol=1e-14, maxiter=300))


def least(function: Callable[[Array], float], start: Numbers) -> Array:
    """The point with the least value of a smooth function, by simplex (Nelder-Mead) from ``start``: few parameters."""
    from scipy.optimize import minimize

    options = {"xatol": 1e-9, "fatol": 1e-13, "maxfev": 1500}
    return np.asarray(minimize(function, start, method="Nelder-Mead", options=options).x, dtype=float)


def least_linear(cost: Array, *, at_most: tuple[Array, Array], equal: tuple[Array, Array]) -> Array | None:
    """The x >= 0 of least ``cost @ x`` with A x <= b and C x = d (HiGHS); None if no x meets them."""
    from scipy.optimize import linprog

    found = linprog(
        cost, A_ub=at_most[0], b_ub=at_most[1], A_eq=equal[0], b_eq=equal[1], bounds=(0, None), method="highs"
    )
    return None if found.x is None else np.asarray(found.x, dtype=float)
