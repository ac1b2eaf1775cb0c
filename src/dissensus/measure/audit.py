"""The audit of a table of answers: everything that the votes and the right answers together say about agreement.

:func:`audit` is where to start reading. Its result holds numbers only; :mod:`dissensus.measure.audit_data` writes them
as JSON and :mod:`dissensus.measure.audit_text` as a few lines of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dissensus.measure.agreement import Level, Score, Unanimous, by_count, score_share, unanimous
from dissensus.measure.best import Best, best_single
from dissensus.measure.bootstrap import interval, units_of
from dissensus.measure.clusters import Clusters, clusters_of
from dissensus.measure.curve import Curve, curve_of
from dissensus.measure.extrapolation import MOST_VOTERS, Extrapolation, extrapolate, next_sizes
from dissensus.measure.intervals import Share, share
from dissensus.measure.keyreview import Review, review
from dissensus.measure.pairs import (
    Pairs,
    chance_of_same,
    effective_voters,
    exact_p,
    holm,
    mean_phi,
    normal_p,
    pairs_of,
    phi_units,
    rho_from_sums,
)
from dissensus.measure.permutation import Overdispersion, Permutation, permutation_test, tarone
from dissensus.measure.special import Array
from dissensus.measure.table import VoteTable, Whole
from dissensus.measure.tallies import Tallies, count_patterns, tally

DEFINITIONS_VERSION = 1
"""Changes when a figure of the same name is computed in another way."""

EXACT_PAIRS = 5_000
"""Pairs up to which each is tested exactly; beyond, by the normal approximation."""

Interval = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter alone: accuracy with blanks counted as not right, and how many blanks there were."""

    id: str
    accuracy: Share
    blank: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two voters; ``ratio`` is joint / product, ``phi`` None where not defined, ``same_wrong`` None without cases."""

    i: str
    j: str
    joint: float
    product: float
    ratio: float | None
    phi: float | None
    same_wrong: float | None
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors together; None as a whole for one voter.

    Args:
        joint: mean over pairs of the share of questions on which both err.
        product: mean over pairs of e_i e_j.
        ratio: joint / product; None if nobody errs.
        mean_of_ratios: mean over pairs of their own ratio: another number.
        permutation: against independence; ``within`` the same inside strata.
        tarone: overdispersion of the number of right votes.
        pairs: all of them, most correlated first.
        together: questions on which at least two err: what all the correlations rest on.
        phi_mean, phi_ci, phi_range: correlation, mean over the defined pairs.
        rho, rho_ci: correlation if voters are alike and exchangeable (U-statistic).
        n_eff, n_eff_ci: independent voters with the same variance of the mean, from ``phi_mean``.
        same_wrong_rate: where two are wrong and not blank, how often on the same answer.
        same_wrong_chance: how often that would be by chance; None where the number of options is not known.
        clusters: voters that err alike.
    """

    joint: float
    product: float
    ratio: float | None
    mean_of_ratios: float | None
    permutation: Permutation
    within: Permutation | None
    tarone: Overdispersion | None
    pairs: tuple[Pair, ...]
    together: int
    phi_mean: float | None
    phi_ci: Interval
    phi_range: Interval
    rho: float | None
    rho_ci: Interval
    n_eff: float | None
    n_eff_ci: Interval
    same_wrong_rate: float | None
    same_wrong_chance: float | None
    clusters: Clusters | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """All voters together, on the questions with a known right answer.

    Args:
        plurality: right with ties split.
        unique: right and strictly first.
        strict: questions that a strict majority of all configured voters decides.
        strict_right: share of those decided right.
        best: the best single voter beside it.
        by_count: right answers by the votes of the leader.
        unanimous: all votes equal.
        score: the share of the votes as if it were a probability.
        curve: accuracy by number of voters.
        review: questions whose key should be looked at.
        extrapolation: what more voters could bring; None for one voter, or for very many where it was not asked for.
    """

    plurality: Share
    unique: float
    strict: int
    strict_right: Share
    best: Best
    by_count: tuple[Level, ...]
    unanimous: Unanimous
    score: Score
    curve: Curve
    review: Review
    extrapolation: Extrapolation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What :func:`audit` found.

    Args:
        n_questions: all questions; ``n_labelled`` of them have a known right answer, and all estimates are over these.
        n_distinct: labelled questions, those asked again counted once.
        n_voters: voters configured.
        blanks: reason to number of blank cells, in the whole table.
        split: votes of the leading answer to the number of questions, in the whole table.
        voters: by accuracy, then by name; without labels, by name and without accuracy.
        errors: None for a single voter or without labels.
        panel: None without labels.
        settings: bootstrap drawings, permutations, seed.
        reading: what the reader of the file did: rows read, dropped, duplicate, unmatched; equivalence of answers.
    """

    n_questions: int
    n_labelled: int
    n_distinct: int
    n_voters: int
    blanks: Mapping[str, int]
    split: Mapping[int, int]
    voters: tuple[Voter, ...]
    errors: Errors | None
    panel: Panel | None
    settings: Mapping[str, int]
    reading: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data; what is not defined is None, never NaN."""
        from dissensus.measure.audit_data import data_of

        return data_of(self)

    def lines(self) -> list[str]:
        """A few lines of text."""
        from dissensus.measure.audit_text import lines_of

        return lines_of(self)

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know before using a figure, one sentence each."""
        from dissensus.measure.audit_warnings import warnings_of

        return warnings_of(self)


def audit(
    table: VoteTable,
    *,
    bootstrap: int = 2000,
    permutations: int = 999,
    seed: int = 0,
    sizes: Sequence[int] = (),
    reading: Mapping[str, Any] | None = None,
) -> Audit:
    """Measure what agreement is worth in ``table``.

    Every figure is the same for any order of voters and questions and any names of answers.

    Args:
        table: answers, right answers, blanks with reasons.
        bootstrap: drawings of questions for intervals.
        permutations: dealings of errors for the test of independence.
        seed: of both.
        sizes: numbers of voters to extrapolate to; if empty, see :func:`dissensus.measure.extrapolation.next_sizes`.
        reading: kept with the result.

    Raises:
        UsageError: a size that is no number of voters.
    """
    table = table.columns(sorted(range(table.n_voters), key=lambda place: table.voters[place]))
    known = table.rows(table.labelled) if table.labelled.any() else None
    tallies = tally(table)
    voters = [
        Voter(
            name,
            share(known.right[:, place].astype(float), known.groups) if known else Share(None, None, None, None),
            int(table.blank[:, place].sum()),
            table.costs.get(name),
        )
        for place, name in enumerate(table.voters)
    ]
    counted = tally(known) if known is not None and known is not table else tallies
    errors = errors_of(known, counted, bootstrap, permutations, seed) if known and table.n_voters > 1 else None
    together_p = errors.permutation.p if errors is not None else None
    return Audit(
        n_questions=table.n_questions,
        n_labelled=known.n_questions if known else 0,
        n_distinct=0 if known is None else known.n_questions if known.groups is None else len(np.unique(known.groups)),
        n_voters=table.n_voters,
        blanks=table.blanks(),
        split={k: int(many) for k, many in enumerate(np.bincount(tallies.leader)) if many},
        voters=tuple(sorted(voters, key=lambda voter: (-(voter.accuracy.rate or 0.0), voter.id))),
        errors=errors,
        panel=panel_of(known, counted, bootstrap, seed, sizes=sizes, together_p=together_p) if known else None,
        settings={"bootstrap": bootstrap, "permutations": permutations, "seed": seed},
        reading=dict(reading or {}),
    )


def errors_of(table: VoteTable, tallies: Tallies, bootstrap: int, permutations: int, seed: int) -> Errors:
    """Errors together, for at least two voters."""
    n, questions = table.n_voters, table.n_questions
    pairs = pairs_of(table)
    i, j = pairs.above()
    joint, product = pairs.joint[i, j], pairs.product[i, j]
    phi = pairs.phi[i, j]
    defined = phi[np.isfinite(phi)]
    phi_mean = float(defined.mean()) if defined.size else None
    phi_ci = interval(phi_units(table.right, table.groups), lambda s: mean_phi(s, n), times=bootstrap, seed=seed)
    right = tallies.right.astype(float)
    squared = right**2
    rho = float(rho_from_sums(right.sum(), squared.sum(), np.array(float(questions)), n))
    features = np.column_stack([right, squared, np.ones_like(right)])
    kept = _one_of_each(table.groups, questions)
    wrong = ~table.right[kept]
    strata = None if table.strata is None else table.strata[kept]
    both = int(pairs.both_wrong[i, j].sum())
    answered_wrong = (~table.right & ~table.blank).sum(axis=1)
    return Errors(
        joint=float(joint.mean()),
        product=float(product.mean()),
        ratio=float(joint.mean() / product.mean()) if product.mean() > 0 else None,
        mean_of_ratios=float((joint / product).mean()) if (product > 0).all() else None,
        permutation=permutation_test(wrong, times=permutations, seed=seed),
        within=None if strata is None else permutation_test(wrong, strata, times=permutations, seed=seed),
        tarone=tarone(tallies.right[kept], n),
        pairs=_pairs(pairs, table.voters),
        together=int((tallies.right[kept] <= n - 2).sum()),
        phi_mean=phi_mean,
        phi_ci=phi_ci if phi_mean is not None else None,
        phi_range=(float(defined.min()), float(defined.max())) if defined.size else None,
        rho=rho if np.isfinite(rho) else None,
        rho_ci=interval(
            _merged(features, table.groups),
            lambda s: rho_from_sums(s[:, 0], s[:, 1], s[:, 2], n),
            times=bootstrap,
            seed=seed,
        ),
        n_eff=None if phi_mean is None else effective_voters(n, phi_mean),
        n_eff_ci=_effective_interval(n, phi_ci),
        same_wrong_rate=float(pairs.same_wrong[i, j].sum() / both) if both else None,
        same_wrong_chance=chance_of_same(table.options, answered_wrong),
        clusters=clusters_of(pairs.phi, table.voters),
    )


def _merged(features: Array, groups: Whole | None) -> Any:
    """Units of the right votes of a question, equal ones merged: there are at most n + 1."""
    if groups is not None:
        return units_of(features, groups)
    levels, counts = np.unique(features[:, 0], return_counts=True)
    return units_of(np.column_stack([levels, levels**2, np.ones_like(levels)]), counts=counts)


def _one_of_each(groups: Whole | None, questions: int) -> Whole:
    """Places of the questions, one for each group: what is asked again is no second observation."""
    if groups is None:
        return np.arange(questions)
    _, first = np.unique(groups, return_index=True)
    return np.sort(first)


def _effective_interval(n: int, phi: Interval) -> Interval:
    if phi is None:
        return None
    low, high = effective_voters(n, phi[1]), effective_voters(n, phi[0])
    return None if low is None or high is None else (low, high)


def _pairs(pairs: Pairs, voters: tuple[str, ...]) -> tuple[Pair, ...]:
    rows, columns = pairs.above()
    p = exact_p(pairs) if len(rows) <= EXACT_PAIRS else normal_p(pairs)
    corrected = holm(p)
    phi, products = pairs.phi, pairs.product
    found = []
    for place, (i, j) in enumerate(zip(rows, columns, strict=True)):
        product = float(products[i, j])
        both = int(pairs.both_wrong[i, j])
        found.append(
            Pair(
                i=voters[i],
                j=voters[j],
                joint=float(pairs.joint[i, j]),
                product=product,
                ratio=float(pairs.joint[i, j] / product) if product > 0 else None,
                phi=float(phi[i, j]) if np.isfinite(phi[i, j]) else None,
                same_wrong=int(pairs.same_wrong[i, j]) / both if both else None,
                p=float(p[place]),
                p_holm=float(corrected[place]),
            )
        )
    return tuple(sorted(found, key=lambda pair: (pair.phi is None, -(pair.phi or 0.0), pair.i, pair.j)))


def panel_of(
    table: VoteTable,
    tallies: Tallies,
    bootstrap: int,
    seed: int,
    *,
    sizes: Sequence[int] = (),
    together_p: float | None = None,
) -> Panel:
    """All voters together."""
    strict = tallies.strict
    groups = table.groups
    chance = None
    if table.options is not None and (table.options >= 2).all():
        chance = float((1 / (table.options - 1)).mean())
    wrong = float((~table.right & ~table.blank).mean())
    return Panel(
        plurality=share(tallies.credit, groups),
        unique=float(tallies.unique.mean()),
        strict=int(strict.sum()),
        strict_right=share(tallies.strict_right[strict].astype(float), None if groups is None else groups[strict]),
        best=best_single(table, tallies, times=bootstrap, seed=seed),
        by_count=tuple(by_count(tallies, groups)),
        unanimous=unanimous(tallies, chance, wrong, float(table.right.mean()), groups),
        score=score_share(tallies),
        curve=curve_of(count_patterns(table), times=bootstrap, seed=seed, groups=groups),
        review=review(table, tallies),
        extrapolation=extrapolation_of(table, tallies, sizes, together_p),
    )


def extrapolation_of(
    table: VoteTable, tallies: Tallies, sizes: Sequence[int], together_p: float | None
) -> Extrapolation | None:
    """What other numbers of voters could bring; None for one voter, and for very many if no size was asked for."""
    n = table.n_voters
    if n == 1 or (n > MOST_VOTERS and not sizes):
        return None
    kept = _one_of_each(table.groups, table.n_questions)
    counts = np.bincount(tallies.right[kept], minlength=n + 1)
    return extrapolate(counts, sizes or next_sizes(n), together_p=together_p)
