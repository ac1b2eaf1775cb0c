"""When may the panel answer alone? Risk by coverage, and "answer if at least t agree" with a guaranteed error rate.

What is not answered is handed on: to a stronger check, a tool or a person. A guarantee holds for questions like those
that it was learned on (exchangeable); it says nothing of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.errors import UsageError
from dissensus.measure.calibration import FEWEST, different
from dissensus.measure.intervals import LEVEL, at_most, effective_questions
from dissensus.measure.special import Array
from dissensus.measure.sums import count_by, sum_by
from dissensus.measure.table import VoteTable, Whole
from dissensus.measure.tallies import Tallies, tally

TARGETS = (0.01, 0.05, 0.10)
"""Error rates that a rule is looked for, unless others are asked for."""


@dataclass(frozen=True, slots=True)
class Step:
    """Accept all questions with at least this score.

    Args:
        score: lowest that is accepted.
        coverage: share of all questions accepted.
        risk: share wrong of those.
    """

    score: float
    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """Risk as more is accepted, the surest first (El-Yaniv & Wiener 2010).

    Args:
        steps: one for each different score, falling.
        area: mean risk over all coverages, equal scores accepted in random order; lower is better.
        oracle: the same if all right answers came before all wrong ones.
    """

    steps: tuple[Step, ...]
    area: float
    oracle: float


def risk_coverage(score: Array, right: Array) -> RiskCoverage:
    """The curve of a score, shape (Q,), with outcomes ``right`` in [0, 1], shape (Q,); at least one question."""
    levels, place = np.unique(-np.round(score, 12), return_inverse=True)
    many = count_by(place, len(levels))
    wrong = sum_by(place, 1.0 - right, len(levels))
    accepted, missed = np.cumsum(many), np.cumsum(wrong)
    questions = float(accepted[-1])
    steps = tuple(
        Step(float(-level), float(n) / questions, float(w / n))
        for level, n, w in zip(levels, accepted, missed, strict=True)
    )
    base = float(missed[-1]) / questions
    oracle = base + (1 - base) * float(np.log1p(-base)) if base < 1 else 1.0
    return RiskCoverage(steps, _area(accepted - many, missed - wrong, many, wrong) / questions, oracle)


def _area(before: Array, missed: Array, many: Array, wrong: Array) -> float:
    """Sum over levels of the integral of (missed + rate x) / (before + x) for x from 0 to many, in closed form."""
    rate = wrong / many
    first = before == 0
    grown = np.log1p(many / np.where(first, 1.0, before))
    return float((wrong + np.where(first, 0.0, (missed - rate * before) * grown)).sum())


@dataclass(frozen=True, slots=True)
class Threshold:
    """Answer alone if one answer has at least t votes and no other as many.

    Args:
        t: votes asked for.
        count: questions that would be answered; ``wrong`` of them wrongly.
        coverage: count / all questions.
        risk: wrong / count.
        at_most: upper bound of the error rate of answered questions; all thresholds' bounds hold together with 95 %.
    """

    t: int
    count: int
    wrong: int
    coverage: float
    risk: float
    at_most: float


@dataclass(frozen=True, slots=True)
class Rule:
    """What to ask for so that answered questions are wrong in at most ``target`` of the cases.

    Args:
        target: error rate allowed.
        t: smallest number of votes whose bound keeps it; None if no number's does.
        coverage: share of questions answered alone; 0 without a rule.
        handed_on: the rest.
        at_most: the bound that holds for ``t``; None without a rule.
        least_handed_on: share that any rule must hand on to keep ``target``, with perfect knowledge of what is right.
    """

    target: float
    t: int | None
    coverage: float
    handed_on: float
    at_most: float | None
    least_handed_on: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The thresholds, the rules, and the curve of the vote's share.

    Args:
        thresholds: from few votes to many; empty if there are too few labels.
        rules: one for each target.
        curve: risk by coverage of the leader's share; None if there are too few labels.
        base_risk: share wrong if every question is answered, ties split.
        sentence: why there is no number; empty if there are numbers.
    """

    thresholds: tuple[Threshold, ...]
    rules: tuple[Rule, ...]
    curve: RiskCoverage | None
    base_risk: float | None
    sentence: str = ""


def select(table: VoteTable, *, targets: Sequence[float] = TARGETS, level: float = LEVEL) -> Selection:
    """Find rules from the questions of ``table`` with a known right answer.

    Args:
        table: the votes.
        targets: error rates, each in (0, 1).
        level: confidence of all bounds together.

    Raises:
        UsageError: a target is not between 0 and 1.
    """
    for target in targets:
        if not 0 < target < 1:
            raise UsageError(f"An error rate cannot be {target:g}.", next_step="Write five percent as 0.05.")
    labels = different(table)
    if not labels:
        return Selection((), (), None, None, "No right answer is given, so no rule can promise an error rate.")
    if labels < FEWEST:
        text = f"Not enough labels: {labels} of at least {FEWEST} right answers; no rule is offered."
        return Selection((), (), None, None, text)
    known = table.rows(table.labelled)
    tallies = tally(known)
    thresholds = thresholds_of(tallies, known.groups, level)
    base = 1.0 - float(tallies.credit.mean())
    return Selection(
        thresholds,
        tuple(rule_for(target, thresholds, base) for target in targets),
        risk_coverage(tallies.leader / tallies.n, tallies.credit),
        base,
    )


def thresholds_of(tallies: Tallies, groups: Whole | None = None, level: float = LEVEL) -> tuple[Threshold, ...]:
    """Every number of votes that some question's only leader has, with Clopper-Pearson bounds that hold together.

    Each is at level 1 - (1 - level) / m, m the number of thresholds, which the votes fix before any right answer is
    looked at (Bonferroni).
    Where questions repeat, the bound is that of as many independent questions as fix the rate as well, and approximate.
    """
    alone = tallies.tied == 1
    sizes = np.unique(tallies.leader[alone])
    each = 1 - (1 - level) / max(len(sizes), 1)
    found = []
    for t in sizes:
        rows = alone & (tallies.leader >= t)
        wrong = 1.0 - tallies.credit[rows]
        count = int(rows.sum())
        risk = float(wrong.mean())
        effective = count if groups is None else effective_questions(wrong, groups[rows])
        bound = at_most(risk * effective, effective, each)
        found.append(Threshold(int(t), count, round(float(wrong.sum())), count / len(rows), risk, bound))
    return tuple(found)


def rule_for(target: float, thresholds: Sequence[Threshold], base: float) -> Rule:
    """The smallest t whose bound keeps ``target``: it hands on the least. ``base`` is the error rate without a rule."""
    least = max(0.0, (base - target) / (1 - target))
    kept = next((threshold for threshold in thresholds if threshold.at_most <= target), None)
    if kept is None:
        return Rule(target, None, 0.0, 1.0, None, least)
    return Rule(target, kept.t, kept.coverage, 1 - kept.coverage, kept.at_most, least)
