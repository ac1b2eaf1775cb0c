"""The panels that a jury curve can be drawn for: independent voters, and three ways in which errors go together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.correlated import (
    beta_binomial_limit,
    beta_binomial_majority,
    beta_binomial_unanimous,
    gaussian_latent,
    gaussian_limit,
    gaussian_majority,
    gaussian_unanimous,
)
from dissensus.measure.inputs import distribution, probability
from dissensus.measure.mixtures import Mixture, trap_mixture, trap_of_correlation
from dissensus.measure.plurality import plurality_curve, plurality_limit
from dissensus.measure.special import Array

ModelName = Literal["independent", "trap", "beta-binomial", "gaussian"]
CORRELATED: tuple[ModelName, ...] = ("trap", "beta-binomial", "gaussian")


@dataclass(frozen=True, slots=True, eq=False)
class PanelModel:
    """One way in which voters of one accuracy can behave.

    Args:
        name: the model.
        parameters: what it assumes, by name.
        rho: the correlation of two voters' right answers; NaN where a voter is always or never right.
        accuracy: number of voters to P(the vote is right), ties split.
        strictly: the same where only a sole leader counts; None between right and wrong.
        limit: ``accuracy`` of very many voters.
        unanimous: number of voters to P(all give one answer) and P(it is wrong, given that).
    """

    name: ModelName
    parameters: Mapping[str, float]
    rho: float
    accuracy: Callable[[Sequence[int]], Array]
    strictly: Callable[[Sequence[int]], Array] | None
    limit: float
    unanimous: Callable[[int], tuple[float, float]]


def independent(p: float, options: Sequence[float] | None = None) -> PanelModel:
    """Voters who have nothing in common; with ``options`` (the right one first), a plurality among them."""
    if options is None:
        return _of_mixture("independent", {}, Mixture([p], [1.0]), rho=0.0)
    return _of_plurality("independent", {}, 0.0, distribution(options, "The options"), rho=0.0)


def trap(p: float, share: float, options: Sequence[float] | None = None) -> PanelModel:
    """On ``share`` of the questions all give the same wrong answer; elsewhere voters are independent.

    ``p`` is a voter's accuracy over all questions, so elsewhere it is p / (1 - share), and so for the wrong options.

    Raises:
        UsageError: with so many traps nobody can be right so often.
    """
    accuracy, traps = float(probability(p, "The accuracy p")), float(probability(share, "The share of traps"))
    if traps == 1 or accuracy > 1 - traps + 1e-12:
        raise UsageError(
            f"With traps on a share {traps:g} of the questions no voter can be right on {accuracy:g} of all.",
            next_step=f"The accuracy over all questions can be at most {1 - traps:g}; or assume fewer traps.",
        )
    elsewhere = min(1.0, accuracy / (1 - traps))
    assumed = {"trap": traps, "p_off_traps": elsewhere}
    mixture = trap_mixture(traps, elsewhere)
    rho = mixture.correlation if traps else 0.0
    if options is None:
        return _of_mixture("trap", assumed, mixture, rho=rho)
    given = distribution(options, "The options")
    scale = (1 - elsewhere) / (1 - accuracy) if accuracy < 1 else 0.0
    return _of_plurality("trap", assumed, traps, np.concatenate([[elsewhere], given[1:] * scale]), rho=rho)


def correlated(name: ModelName, p: float, rho: float) -> PanelModel:
    """The model ``name`` at accuracy ``p`` and correlation ``rho``.

    Raises:
        UsageError: no panel that could be larger has this correlation.
    """
    accuracy = float(probability(p, "The accuracy p"))
    if not 0 <= rho <= 1:
        why = "voters who disagree more than chance cannot be many" if -1 <= rho < 0 else "it lies between 0 and 1"
        raise UsageError(f"The correlation rho cannot be {rho:g}: {why}.", next_step="Use a rho from 0 to 1.")
    if accuracy in {0.0, 1.0} and rho > 0:
        raise UsageError(
            f"Voters of accuracy {accuracy:g} are all alike: nothing is left that could correlate.",
            next_step="Leave rho out, or use a p between 0 and 1.",
        )
    if name == "independent":
        return independent(accuracy)
    if name == "trap":
        return trap(accuracy, trap_of_correlation(accuracy, rho))
    if name == "beta-binomial":
        return PanelModel(
            name=name,
            parameters={"rho": rho},
            rho=rho,
            accuracy=lambda sizes: beta_binomial_majority(list(sizes), accuracy, rho),
            strictly=None,
            limit=beta_binomial_limit(accuracy, rho),
            unanimous=lambda n: beta_binomial_unanimous(n, accuracy, rho),
        )
    latent = gaussian_latent(accuracy, rho)
    return PanelModel(
        name=name,
        parameters={"rho": rho, "latent": latent},
        rho=rho,
        accuracy=lambda sizes: gaussian_majority(list(sizes), accuracy, latent),
        strictly=None,
        limit=gaussian_limit(accuracy, latent),
        unanimous=lambda n: gaussian_unanimous(n, accuracy, latent),
    )


def _of_mixture(name: ModelName, assumed: Mapping[str, float], mixture: Mixture, *, rho: float) -> PanelModel:
    def unanimous(n: int) -> tuple[float, float]:
        if n == 1:
            return 1.0, 1 - mixture.accuracy
        both, wrong = mixture.unanimous(n)
        return float(both), float(wrong)

    return PanelModel(
        name=name,
        parameters=assumed,
        rho=rho,
        accuracy=lambda sizes: mixture.majority(list(sizes)),
        strictly=None,
        limit=mixture.limit,
        unanimous=unanimous,
    )


def _of_plurality(
    name: ModelName, assumed: Mapping[str, float], traps: float, options: Array, *, rho: float
) -> PanelModel:
    """``options`` are the shares outside the traps, the right one first."""

    def unanimous(n: int) -> tuple[float, float]:
        right = (1 - traps) * float(options[0]) ** n
        wrong = traps + (1 - traps) * float((options[1:] ** n).sum())
        return (right + wrong, wrong / (right + wrong)) if right + wrong > 0 else (0.0, math.nan)

    return PanelModel(
        name=name,
        parameters=assumed,
        rho=rho,
        accuracy=lambda sizes: (1 - traps) * plurality_curve(options, list(sizes))[1],
        strictly=lambda sizes: (1 - traps) * plurality_curve(options, list(sizes))[0],
        limit=(1 - traps) * plurality_limit(options),
        unanimous=unanimous,
    )
