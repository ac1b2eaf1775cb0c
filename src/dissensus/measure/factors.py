"""What makes voters err alike: correlation within and between the levels of a factor, and what an effective vote costs.

A factor is a property of a voter: its model, family, prompt, temperature, order of options. Pairs of voters are of one
level (*within*) or of two (*between*); *alone* are the pairs that differ in this factor and in no other, which shows
the lever by itself. Differences are over the same questions, with intervals by drawing questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.measure.bootstrap import affordable, draws
from dissensus.measure.intervals import LEVEL
from dissensus.measure.pairs import Pairs, effective_voters, pairs_of, phi_units
from dissensus.measure.special import Array
from dissensus.measure.table import Flags, VoteTable, Whole

FACTORS = ("model", "family", "prompt", "temperature", "order")
"""Columns that are read as factors; any other that is named so is one too."""


@dataclass(frozen=True, slots=True)
class Correlated:
    """Some pairs of voters.

    Args:
        pairs: those whose correlation of errors is defined.
        phi: mean correlation; None without pairs. ``ci``: its interval.
        same_wrong: where both are wrong, how often on the same answer; None without cases.
    """

    pairs: int
    phi: float | None
    ci: tuple[float, float] | None
    same_wrong: float | None


@dataclass(frozen=True, slots=True)
class Level:
    """The voters of one level.

    Args:
        level: its name.
        voters: their names.
        accuracy: mean over them.
        phi: mean correlation inside; None for one voter.
        n_eff: how many independent voters they are worth, an order of magnitude.
        cost: of all their answers; None where that is not known.
        cost_per_effective_vote: cost / n_eff.
    """

    level: str
    voters: tuple[str, ...]
    accuracy: float
    phi: float | None
    n_eff: float | None
    cost: float | None
    cost_per_effective_vote: float | None


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor.

    Args:
        name: of the factor.
        within, between, alone: pairs of one level, of two, and of two with all other factors equal.
        difference: phi within less phi between, with interval; None without both.
        levels: in alphabetical order.
    """

    name: str
    within: Correlated
    between: Correlated
    alone: Correlated
    difference: float | None
    difference_ci: tuple[float, float] | None
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Factors:
    """All factors.

    Args:
        factors: by name.
        cost: of all answers together; None where one is not known.
        cost_per_effective_vote: cost / n_eff of all voters.
        missing: factors left out and why.
    """

    factors: tuple[Factor, ...]
    cost: float | None
    cost_per_effective_vote: float | None
    missing: tuple[str, ...] = ()


Levels = Mapping[str, Mapping[str, str]]
"""Factor to voter to level."""


def factors_of(table: VoteTable, levels: Levels, *, bootstrap: int = 2000, seed: int = 0) -> Factors | None:
    """Correlations by factor on the questions with a known right answer; None without these or with one voter.

    Args:
        table: votes, and costs where known.
        levels: factor to voter to level. Voters without a level are left out of that factor; a factor with one level
            for all says nothing and is left out.
        bootstrap: drawings of questions for intervals.
        seed: of these.
    """
    if table.n_voters < 2 or not table.labelled.any():
        return None
    known = table.rows(table.labelled)
    pairs = pairs_of(known)
    missing: list[str] = []
    found = []
    drawn: _Drawn | None = None
    for name in sorted(levels):
        given = levels[name]
        kinds = {given[voter] for voter in table.voters if voter in given}
        if len(kinds) < 2:
            missing.append(f"All voters have the same {name}." if kinds else f"No voter has a {name}.")
            continue
        if len(kinds) == sum(voter in given for voter in table.voters):
            missing.append(f"No two voters have the same {name}.")
            continue
        drawn = drawn or _Drawn(known, pairs, bootstrap, seed)
        found.append(_factor(known, pairs, name, levels, drawn))
    everybody = range(table.n_voters)
    total = _cost(table, everybody)
    return Factors(tuple(found), total, _per_vote(total, pairs, everybody), tuple(missing))


def _factor(table: VoteTable, pairs: Pairs, name: str, levels: Levels, drawn: _Drawn) -> Factor:
    i, j = pairs.above()
    here = levels[name]
    label = [here.get(voter) for voter in table.voters]
    known = np.array([label[a] is not None and label[b] is not None for a, b in zip(i, j, strict=True)])
    alike = np.array([label[a] == label[b] for a, b in zip(i, j, strict=True)])
    rest = [other for other in levels if other != name]
    equal = np.array(
        [
            all(_same(levels[other], table.voters[a], table.voters[b]) for other in rest)
            for a, b in zip(i, j, strict=True)
        ]
    )
    within, between = known & alike, known & ~alike
    alone = between & equal if rest else np.zeros_like(between)
    difference, ci = drawn.difference(within, between)
    return Factor(
        name,
        drawn.correlated(within),
        drawn.correlated(between),
        drawn.correlated(alone),
        difference,
        ci,
        tuple(_levels(table, pairs, here)),
    )


def _same(given: Mapping[str, str], first: str, second: str) -> bool:
    return first in given and given[first] == given.get(second)


class _Drawn:
    """Mean correlations of sets of pairs, with percentile intervals from the same drawings of questions."""

    def __init__(self, table: VoteTable, pairs: Pairs, bootstrap: int, seed: int) -> None:
        self._pairs, self._n = pairs, table.n_voters
        self._i, self._j = pairs.above()
        self._phi = pairs.phi[self._i, self._j]
        units = phi_units(table.right, table.groups)
        times = affordable(units, bootstrap) if units.total > 1 else 0
        self._sums = draws(units, times, seed) if times else None

    def correlated(self, chosen: Flags) -> Correlated:
        """The pairs that ``chosen`` marks."""
        use = chosen & np.isfinite(self._phi)
        both = int(self._pairs.both_wrong[self._i, self._j][chosen].sum())
        same = int(self._pairs.same_wrong[self._i, self._j][chosen].sum())
        many = int(use.sum())
        return Correlated(
            many,
            float(self._phi[use].mean()) if many else None,
            self._interval(use) if many else None,
            same / both if both else None,
        )

    def difference(self, first: Flags, second: Flags) -> tuple[float | None, tuple[float, float] | None]:
        """Mean correlation of ``first`` less that of ``second``."""
        defined = np.isfinite(self._phi)
        a, b = first & defined, second & defined
        if not a.any() or not b.any():
            return None, None
        return float(self._phi[a].mean() - self._phi[b].mean()), self._interval(a, b)

    def _interval(self, first: Flags, second: Flags | None = None) -> tuple[float, float] | None:
        if self._sums is None:
            return None
        drawn = _mean_phi(self._sums, self._n, self._i, self._j, first)
        if second is not None:
            drawn = drawn - _mean_phi(self._sums, self._n, self._i, self._j, second)
        drawn = drawn[np.isfinite(drawn)]
        if 2 * len(drawn) < len(self._sums):
            return None
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return float(low), float(high)


def _mean_phi(sums: Array, n: int, i: Whole, j: Whole, chosen: Flags) -> Array:
    """Mean correlation of the chosen pairs from the sums of :func:`dissensus.measure.pairs.phi_units`."""
    place = np.flatnonzero(chosen)
    questions = sums[:, :1]
    error = sums[:, 1 : n + 1] / questions
    joint = sums[:, n + 1 + place] / questions
    a, b = error[:, i[place]], error[:, j[place]]
    below = np.sqrt(a * (1 - a) * b * (1 - b))
    defined = below > 1e-9
    phi = np.where(defined, joint - a * b, 0.0) / np.where(defined, below, 1.0)
    many = defined.sum(axis=1)
    found: Array = np.where(many > 0, phi.sum(axis=1) / np.maximum(many, 1), np.nan)
    return found


def _levels(table: VoteTable, pairs: Pairs, given: Mapping[str, str]) -> Iterator[Level]:
    for level in sorted(set(given.values())):
        places = [place for place, voter in enumerate(table.voters) if given.get(voter) == level]
        if not places:
            continue
        cost = _cost(table, places)
        yield Level(
            level=level,
            voters=tuple(table.voters[place] for place in places),
            accuracy=float(1 - pairs.error[places].mean()),
            phi=_phi(pairs, places),
            n_eff=_worth(pairs, places),
            cost=cost,
            cost_per_effective_vote=_per_vote(cost, pairs, places),
        )


def _phi(pairs: Pairs, places: Sequence[int]) -> float | None:
    inside = pairs.phi[np.ix_(list(places), list(places))][np.triu_indices(len(places), 1)]
    inside = inside[np.isfinite(inside)]
    return float(inside.mean()) if inside.size else None


def _worth(pairs: Pairs, places: Sequence[int]) -> float | None:
    if len(places) == 1:
        return 1.0
    phi = _phi(pairs, places)
    return None if phi is None else effective_voters(len(places), phi)


def _cost(table: VoteTable, places: Sequence[int]) -> float | None:
    costs = [table.costs.get(table.voters[place]) for place in places]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _per_vote(cost: float | None, pairs: Pairs, places: Sequence[int]) -> float | None:
    worth = _worth(pairs, list(places))
    return None if cost is None or not worth else cost / worth
