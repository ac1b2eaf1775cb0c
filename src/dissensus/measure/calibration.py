"""From votes to a probability that the panel's answer is right: learned from right answers, judged on other questions.

The panel's answer is that with the most votes. Where t answers lead, each is a case of weight 1/t. Six ways compete:

* ``share``: votes of the leader / voters, as if it were a probability. It is none.
* ``independent``: the posterior if voters erred independently: softmax over the K options of votes * w, with
  w = log(p (K - 1) / (1 - p)) and p the mean accuracy. Unlisted options have no votes.
* ``tempered``: the same with votes * n_eff / n.
* ``count``: share right at each number of votes of the leader, with Jeffreys' prior Beta(1/2, 1/2).
* ``isotonic``: the same, pooled until it never falls.
* ``who``: logistic on who voted for the answer, who for another, who not at all; voters are shrunk towards each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dissensus.measure.candidates import Candidates, candidates_of, wrong_options
from dissensus.measure.crossfit import folds_of
from dissensus.measure.intervals import Share, share
from dissensus.measure.isotonic import pooled
from dissensus.measure.logistic import expit, fit_logistic
from dissensus.measure.pairs import effective_voters, pairs_of
from dissensus.measure.patterns import distinct
from dissensus.measure.scores import Scores, scores_of
from dissensus.measure.special import Array
from dissensus.measure.sums import count_by, sum_by
from dissensus.measure.table import Flags, VoteTable, Whole
from dissensus.measure.tallies import Tallies, tally

FEWEST = 50
"""Different questions with a known right answer below which no probability is stated."""

FEWEST_WHO = 200
"""The same for learning from who voted."""

_RIDGE_VOTER, _RIDGE_ALL = 1.0, 0.01

_PLAINEST = ("isotonic", "count", "who", "share", "tempered", "independent")
"""Of ways that are equally good, the first of these comes first."""


@dataclass(frozen=True, slots=True)
class CountLevel:
    """What k votes for the leader have been worth.

    Args:
        k: votes of the leader.
        count: questions.
        right: share right, a tie of t counting 1/t; exact interval.
        jeffreys: (right + 1/2) / (count + 1).
        isotonic: the same, pooled so that it never falls with k.
    """

    k: int
    count: int
    right: Share
    jeffreys: float
    isotonic: float


@dataclass(frozen=True, slots=True)
class Way:
    """One way to state a probability, and its scores on questions that it had not seen."""

    name: str
    scores: Scores


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the panel's agreement says about being right.

    Args:
        labels: different questions with a known right answer.
        levels: P(right) by votes of the leader, from all labels; empty if there are too few.
        ways: compared by cross-validation, the best Brier score first; empty if there are too few.
        folds: parts of the cross-validation.
        sentence: why there is no number; empty if there are numbers.
        missing: what was left out and why.
    """

    labels: int
    levels: tuple[CountLevel, ...]
    ways: tuple[Way, ...]
    folds: int
    sentence: str = ""
    missing: tuple[str, ...] = ()

    def way(self, name: str) -> Way | None:
        """The way of that name, or None."""
        return next((way for way in self.ways if way.name == name), None)

    def p_right(self, k: int) -> float | None:
        """P(right | the leader has k votes), never falling with k; None without enough labels or such a level."""
        return next((level.isotonic for level in self.levels if level.k == k), None)


def different(table: VoteTable) -> int:
    """Different questions with a known right answer."""
    if table.groups is None:
        return int(table.labelled.sum())
    return len(np.unique(table.groups[table.labelled]))


def calibrate(table: VoteTable, *, folds: Whole | None = None, seed: int = 0) -> Calibration:
    """Learn and judge P(the panel's answer is right).

    Args:
        table: questions without a known right answer are left out.
        folds: shape (Q,): part of each question of ``table``; None: five parts by name.
        seed: of the parts.
    """
    labels = different(table)
    if not labels:
        text = "Correctness unknown: no right answer is given, so no probability can be stated."
        return Calibration(0, (), (), 0, text)
    if labels < FEWEST:
        text = f"Not enough labels: {labels} of at least {FEWEST} right answers; no probability is stated."
        return Calibration(labels, (), (), 0, text)
    known = table.rows(table.labelled)
    part = folds_of(known, seed=seed) if folds is None else folds[table.labelled]
    tallies = tally(known)
    stated = {
        "share": tallies.leader / tallies.n,
        "count": crossed(part, lambda seen: by_count(tallies, seen)),
        "isotonic": crossed(part, lambda seen: by_isotonic(tallies, seen)),
    }
    missing = []
    voted = candidates_of(known)
    wrong = wrong_options(known)
    stated["independent"] = crossed(part, lambda seen: independent(known, voted, wrong, seen))
    if known.n_voters > 1:
        stated["tempered"] = crossed(part, lambda seen: independent(known, voted, wrong, seen, tempered=True))
        if labels >= FEWEST_WHO:
            stated["who"] = who_voted(known, voted, part)
        else:
            missing.append(
                f"Who voted is not used: that takes at least {FEWEST_WHO} right answers, and there are {labels}."
            )
    ways = [Way(name, scores_of(np.clip(p, 0.0, 1.0), tallies.credit)) for name, p in stated.items()]
    return Calibration(
        labels,
        levels_of(tallies, known.groups),
        tuple(sorted(ways, key=lambda way: (round(way.scores.brier.score, 9), _PLAINEST.index(way.name)))),
        len(np.unique(part)),
        missing=tuple(missing),
    )


def crossed(part: Whole, learn: Callable[[Flags], Array]) -> Array:
    """For each part, what ``learn`` states after seeing the other parts; shape (Q,)."""
    found = np.zeros(part.shape)
    for one in np.unique(part):
        found[part == one] = learn(part != one)[part == one]
    return found


def levels_of(tallies: Tallies, groups: Whole | None = None) -> tuple[CountLevel, ...]:
    """P(right) at each number of votes that a leader had, from all questions."""
    k, many, right = _levels(tallies, np.ones(tallies.leader.shape, dtype=bool))
    jeffreys = (right + 0.5) / (many + 1)
    rising = pooled(jeffreys, many + 1)
    found = []
    for place, votes in enumerate(k):
        rows = tallies.leader == votes
        exact = share(tallies.credit[rows], None if groups is None else groups[rows])
        found.append(CountLevel(int(votes), int(many[place]), exact, float(jeffreys[place]), float(rising[place])))
    return tuple(found)


def _levels(tallies: Tallies, seen: Flags) -> tuple[Whole, Array, Array]:
    """Votes that a leader had, above 0; questions; right ones."""
    many = count_by(tallies.leader[seen], tallies.n + 1)
    right = sum_by(tallies.leader[seen], tallies.credit[seen], tallies.n + 1)
    k = np.flatnonzero(many)
    k = k[k > 0]
    return k, many[k], right[k]


def by_count(tallies: Tallies, seen: Flags) -> Array:
    """Jeffreys' estimate at each count; where a count was never seen, between its neighbours. Shape (Q,)."""
    k, many, right = _levels(tallies, seen)
    return _at(tallies, k, (right + 0.5) / (many + 1))


def by_isotonic(tallies: Tallies, seen: Flags) -> Array:
    """The same, never falling."""
    k, many, right = _levels(tallies, seen)
    return _at(tallies, k, pooled((right + 0.5) / (many + 1), many + 1))


def _at(tallies: Tallies, k: Whole, p: Array) -> Array:
    if not k.size:
        return np.zeros(tallies.leader.shape)
    return np.where(tallies.leader > 0, np.interp(tallies.leader, k, p), 0.0)


def independent(table: VoteTable, voted: Candidates, wrong: Array, seen: Flags, *, tempered: bool = False) -> Array:
    """Posterior of the leading answer if voters erred independently and were alike; shape (Q,).

    Args:
        table: all right answers known.
        voted: its answers.
        wrong: shape (Q,): K - 1.
        seen: which questions the mean accuracy and the correlation are taken from.
        tempered: multiply the evidence by n_eff / n.
    """
    right = table.right[seen]
    p = float(np.clip(right.mean(), 0.5 / right.size, 1 - 0.5 / right.size))
    temper = 1.0
    if tempered:
        pairs = pairs_of(table.rows(seen))
        phi = pairs.phi[pairs.above()]
        phi = phi[np.isfinite(phi)]
        worth = effective_voters(table.n_voters, float(phi.mean())) if phi.size else None
        temper = min(1.0, worth / table.n_voters) if worth else 1.0
    weight = np.log(p * wrong / (1 - p)) * temper
    return top_posterior(voted, voted.counts() * weight[:, None], wrong)


def top_posterior(voted: Candidates, scores: Array, wrong: Array) -> Array:
    """Softmax over all K options of the answer with the most votes behind it; options nobody gave have score 0.

    Blank rows get 1/K. Which of several leaders is meant makes no difference: their scores are equal.
    """
    given = np.where(voted.there, scores, -np.inf)
    unlisted = np.maximum(wrong + 1 - voted.given, 0.0)
    top = np.maximum(given.max(axis=1), 0.0)
    listed = np.exp(given - top[:, None])
    everything = listed.sum(axis=1) + unlisted * np.exp(-top)
    leader = np.where(voted.leaders(voted.counts()), listed, 0.0).max(axis=1)
    return np.where(voted.given > 0, leader / np.maximum(everything, 1e-300), 1 / (wrong + 1))


def who_voted(table: VoteTable, voted: Candidates, part: Whole) -> Array:
    """Out-of-part P(right) of the panel's answer by who voted for it; the mean over tied leaders. Shape (Q,).

    Features: votes for the answer, blanks, and for each voter whether it voted for the answer. The first two carry what
    all voters share; the others are shrunk, so few labels give the estimate by count.
    """
    leads = voted.leaders(voted.counts())
    rows, answer = np.nonzero(leads)
    weight = 1.0 / leads.sum(axis=1)[rows]
    kinds = np.where(table.blank[rows], 2, voted.local[rows] == answer[:, None]).astype(np.int8)
    found = distinct(kinds)
    features = _features(found.rows, table.n_voters)
    ridge = np.concatenate([[0.0, _RIDGE_ALL, _RIDGE_ALL], np.full(table.n_voters, _RIDGE_VOTER)])
    right = weight * (voted.right[rows] == answer)
    p = np.zeros(len(rows))
    b: Array | None = None
    for one in np.unique(part):
        seen = part[rows] != one
        hits = sum_by(found.place[seen], right[seen], len(found.rows))
        cases = sum_by(found.place[seen], weight[seen], len(found.rows))
        b = fit_logistic(features, hits, cases - hits, ridge, b)
        p[~seen] = expit(features @ b)[found.place[~seen]]
    return sum_by(rows, weight * p, table.n_questions)


def _features(kinds: Whole, n: int) -> Array:
    agree, blank = (kinds == 1).astype(float), (kinds == 2).astype(float)
    return np.column_stack([np.ones(len(kinds)), agree.sum(axis=1) / n**0.5, blank.sum(axis=1) / n**0.5, agree])
