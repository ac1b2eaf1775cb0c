"""The jury curve: how often a vote is right as the panel grows, if voters were independent and if they are not.

Everything here is an illustration: its parameters were assumed, none was measured, and it says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.errors import UsageError
from dissensus.measure.correlated import ladha
from dissensus.measure.inputs import distribution, probability, voters
from dissensus.measure.jury import effective_voters
from dissensus.measure.panel_models import CORRELATED, ModelName, PanelModel, correlated, independent, trap
from dissensus.measure.plurality import even_options

LARGEST = 1_000_000
LARGEST_WITH_OPTIONS = 9_999
"""Panels above these are refused: their figures are the limit to every digit shown."""

SEARCHED = 199
"""The best size is looked for among the odd ones up to here, and the ones that were asked for."""

NEAR = 0.005
"""A panel this close to the limit has little left to gain."""

EVEN = "An even panel can tie: between right and wrong, {sizes} voters do no better than one fewer."
EVEN_AMONG_OPTIONS = "An even panel ties more often ({sizes} voters); the figures split ties."
ALIKE = "Wrong answers count as one answer here, so that all can agree on it; give --options where there are several."
ILLUSTRATION = "An illustration: these parameters are assumed, not measured."
ORDER = "Worth in independent voters is an order of magnitude: exact for the variance of a mean, not for a majority."


@dataclass(frozen=True, slots=True)
class Point:
    """A panel of one size.

    Args:
        n: voters.
        independent: P(the vote is right) if voters are independent.
        correlated: the same under the model; equal to ``independent`` where that is the model.
        strictly: P(the right option alone leads) under the model; None between right and wrong.
        worth: independent voters with the same variance of their mean: n / (1 + (n - 1) rho).
        agree: P(all give one answer) under the model.
        wrong_if_agreed: P(that answer is wrong), given that; None if it never happens.
        wrong_if_agreed_independent: the same if voters are independent.
    """

    n: int
    independent: float
    correlated: float
    strictly: float | None
    worth: float | None
    agree: float
    wrong_if_agreed: float | None
    wrong_if_agreed_independent: float | None


@dataclass(frozen=True, slots=True, eq=False)
class JuryCurve:
    """A curve and what it assumes.

    Args:
        p: one voter's accuracy over all questions.
        model: which.
        parameters: of the model.
        rho: correlation of two voters' right answers; None where it does not exist.
        options: each option's share of a voter's answers, the right one first; None between right and wrong.
        points: by size.
        limit: with very many voters, under the model.
        limit_independent: the same if voters are independent.
        best_n: the size with the highest accuracy among those looked at, the smallest of equals.
        best: its accuracy.
        searched: up to which odd size that was looked for; 0: only the sizes asked for.
        near_limit: the smallest odd size from which on it stays within ``NEAR`` of its limit; None: none looked at.
        same_rho: limit of each model with the same p and rho.
        guarantee: what rho alone promises, in words.
        warnings: about the sizes.
    """

    p: float
    model: ModelName
    parameters: Mapping[str, float]
    rho: float | None
    options: tuple[float, ...] | None
    points: tuple[Point, ...]
    limit: float
    limit_independent: float
    best_n: int
    best: float
    searched: int
    near_limit: int | None
    same_rho: Mapping[str, float]
    guarantee: str
    warnings: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "p": self.p,
            "model": self.model,
            "parameters": dict(self.parameters),
            "rho": self.rho,
            "options": None if self.options is None else list(self.options),
            "curve": [{name: getattr(point, name) for name in point.__dataclass_fields__} for point in self.points],
            "limit": self.limit,
            "limit_independent": self.limit_independent,
            "best": {"n": self.best_n, "accuracy": self.best, "searched_to": self.searched or None},
            "near_limit": self.near_limit,
            "limits_at_same_rho": dict(self.same_rho) or None,
            "guarantee": self.guarantee or None,
            "notes": self.notes(),
            "warnings": list(self.warnings),
        }

    def title(self) -> str:
        """The model and its parameters, in one line."""
        one = f"one voter {self.p:.4g}"
        if self.options is not None:
            one += f" among {len(self.options)} options"
        if self.model == "independent":
            return f"{one}; voters are independent"
        if self.model == "trap":
            share, off = self.parameters["trap"], self.parameters["p_off_traps"]
            how = f"trap model: on {100 * share:.3g} % of the questions all give the same wrong answer"
            how += f", elsewhere {off:.4g}"
        elif self.model == "beta-binomial":
            how = "beta-binomial model"
        else:
            how = f"Gaussian one-factor model, latent correlation {self.parameters['latent']:.3f}"
        return f"{one}; {how}" + (f"; rho {self.rho:.3f}" if self.rho is not None else "")

    def notes(self) -> list[str]:
        """What the figures mean, each a sentence."""
        said = [self._where_best()]
        if self.same_rho:
            limits = ", ".join(f"{shown(limit)} ({name})" for name, limit in self.same_rho.items())
            said.append(f"With the same p and rho the limit is {limits}: correlation alone does not fix the curve.")
        if self.guarantee:
            said.append(f"From the correlation alone: {self.guarantee}.")
        if self.options is None:
            said.append(ALIKE)
        if self.model != "independent":
            said.append(ORDER)
        said.append(ILLUSTRATION)
        return said

    def _where_best(self) -> str:
        looked = f"Among odd panels up to {self.searched}" if self.searched else "Among these sizes"
        gains = self.limit > self.best + 1e-9
        if self.best_n == 1:
            return f"{looked} none is better than one voter" + (", though very many voters are." if gains else ".")
        if self.limit < self.best - 1e-9:
            return f"{looked} the best is n = {self.best_n} with {shown(self.best)}; beyond it more voters do harm."
        enough = f"; from n = {self.near_limit} on all further ones together bring less than {NEAR:g}"
        return f"{looked} more voters never hurt" + (f"{enough}." if self.near_limit else ".")


def jury_curve(
    sizes: Iterable[int],
    p: float | None = None,
    *,
    trap_share: float | None = None,
    rho: float | None = None,
    model: ModelName | None = None,
    options: int | Sequence[float] | None = None,
) -> JuryCurve:
    """The curve for panels of ``sizes``.

    Args:
        sizes: numbers of voters.
        p: one voter's accuracy over all questions; may be left out where ``options`` are shares.
        trap_share: share of questions where all give the same wrong answer.
        rho: correlation of two voters' right answers; not together with ``trap_share``.
        model: with ``rho``, how errors go together; beta-binomial if not said.
        options: the number of options, the wrong ones alike; or each option's share, the right one first.

    Raises:
        UsageError: a number is out of range, or two of them contradict each other.
    """
    asked = sorted({int(n) for n in voters(list(sizes)).ravel()})
    if not asked:
        raise UsageError("No panel size was given.", next_step="Try 3,5,9,21.")
    most = LARGEST if options is None else LARGEST_WITH_OPTIONS
    if asked[-1] > most:
        raise UsageError(f"A panel of {asked[-1]:,} is more than this computes.", next_step=f"Use at most {most:,}.")
    accuracy, shares = _accuracy(p, options)
    panel = _model(accuracy, shares, trap_share, rho, model)
    alone = independent(accuracy, shares)

    searched = 0 if shares is not None else min(max(SEARCHED, asked[-1]), 999)
    sought = sorted({1, *asked, *range(1, searched + 1, 2)})
    values = dict(zip(sought, panel.accuracy(sought).tolist(), strict=True))
    highest = max(values.values())
    best = min(n for n, value in values.items() if value >= highest - 1e-12)
    far = [n for n, value in values.items() if abs(value - panel.limit) > NEAR]
    near = [n for n in sought if n % 2 and n > max(far, default=0)]
    fixed = panel.name != "independent" and not math.isnan(panel.rho)
    return JuryCurve(
        p=accuracy,
        model=panel.name,
        parameters=panel.parameters,
        rho=None if math.isnan(panel.rho) else panel.rho,
        options=None if shares is None else tuple(shares),
        points=tuple(_points(asked, alone, panel, values)),
        limit=panel.limit,
        limit_independent=alone.limit,
        best_n=best,
        best=values[best],
        searched=searched,
        near_limit=near[0] if near else None,
        same_rho={name: correlated(name, accuracy, panel.rho).limit for name in CORRELATED}
        if fixed and shares is None
        else {},
        guarantee=f"{asked[-1]} voters: {ladha(asked[-1], accuracy, panel.rho)}" if fixed and shares is None else "",
        warnings=_warnings(asked, options=shares is not None),
    )


def shown(value: float) -> str:
    """A share with four digits; one that is not quite 1 or 0 never looks as if it were."""
    if 0.99995 <= value < 1:
        return ">.9999"
    if 0 < value < 0.00005:
        return f"{value:.0e}"
    return f"{value:.4f}".removeprefix("0") if value else "0"


def _accuracy(p: float | None, options: int | Sequence[float] | None) -> tuple[float, list[float] | None]:
    if options is None or isinstance(options, int):
        if p is None:
            raise UsageError("One voter's accuracy is missing.", next_step="Give it as --p 0.7.")
        accuracy = float(probability(p, "The accuracy p"))
        return accuracy, None if options is None else even_options(accuracy, options)
    shares = distribution(options, "The options").tolist()
    if len(shares) < 2:
        raise UsageError("A vote needs at least two options.")
    if p is not None and abs(p - shares[0]) > 1e-9:
        raise UsageError(
            f"The accuracy p is {p:g}, but the first of the options, the right one, has {shares[0]:g}.",
            next_step="Leave p out, or make them equal.",
        )
    return shares[0], shares


def _model(
    p: float, options: list[float] | None, trap_share: float | None, rho: float | None, model: ModelName | None
) -> PanelModel:
    if trap_share is not None and rho is not None:
        raise UsageError(
            "Traps and a correlation were both given, but traps fix the correlation.",
            next_step="Use --trap or --rho, not both.",
        )
    if trap_share is not None:
        if model not in {None, "trap"}:
            raise UsageError(f"Traps do not go with the {model} model.", next_step="Give --rho, or leave --model out.")
        return trap(p, trap_share, options)
    if rho is not None:
        if options is not None:
            raise UsageError(
                "These models of correlation are about right and wrong, not about many options.",
                next_step="With options, use --trap; or leave the options out.",
            )
        return correlated(model or "beta-binomial", p, rho)
    if model not in {None, "independent"}:
        raise UsageError(f"The {model} model needs a correlation.", next_step="Give one, such as --rho 0.4.")
    return independent(p, options)


def _points(asked: list[int], alone: PanelModel, panel: PanelModel, values: Mapping[int, float]) -> Iterable[Point]:
    strictly = [None] * len(asked) if panel.strictly is None else panel.strictly(asked).tolist()
    for n, promised, sole in zip(asked, alone.accuracy(asked).tolist(), strictly, strict=True):
        agree, wrong = panel.unanimous(n)
        yield Point(
            n=n,
            independent=promised,
            correlated=values[n],
            strictly=sole,
            worth=None if math.isnan(panel.rho) else effective_voters(n, panel.rho),
            agree=agree,
            wrong_if_agreed=None if math.isnan(wrong) else wrong,
            wrong_if_agreed_independent=None if math.isnan(alone.unanimous(n)[1]) else alone.unanimous(n)[1],
        )


def _warnings(asked: list[int], *, options: bool) -> tuple[str, ...]:
    even = [str(n) for n in asked if n % 2 == 0]
    if not even:
        return ()
    sizes = even[0] if len(even) == 1 else f"{', '.join(even[:-1])} or {even[-1]}"
    return ((EVEN_AMONG_OPTIONS if options else EVEN).format(sizes=sizes),)
