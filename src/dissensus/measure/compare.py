"""Ways to make one answer of many, compared on the same questions: cross-validated, each against plurality in pairs.

A rule that learns from right answers decides only questions that it did not learn from. Rules without labels see all
votes at once, as they would in use. Ties are split everywhere. A posterior that comes with a rule is shown beside what
came of it, and never as the probability to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.measure.adaptive import RULES as STOPPING
from dissensus.measure.adaptive import Stopped, stopped
from dissensus.measure.bootstrap import interval, mean_of_values, paired, units_of_values
from dissensus.measure.calibration import different
from dissensus.measure.candidates import Candidates, candidates_of, wrong_options
from dissensus.measure.clusters import clusters_of
from dissensus.measure.crossfit import folds_of, order_of
from dissensus.measure.dawid_skene import dawid_skene, note, one_coin
from dissensus.measure.intervals import LEVEL, Share, share
from dissensus.measure.pairs import effective_voters, holm, pairs_of
from dissensus.measure.scores import scores_of
from dissensus.measure.special import Array, normal_cdf
from dissensus.measure.stacking import FEWEST as FEWEST_STACKER
from dissensus.measure.stacking import Stacker, fit_stacker
from dissensus.measure.sums import sum_by
from dissensus.measure.table import Codes, Flags, VoteTable, Whole
from dissensus.measure.weights import capped, log_odds_scores, shrunk_accuracy

FEWEST = 20
"""Different questions with a known right answer that a comparison takes at least."""

MOST_CLASSES = 50
"""Different answers in the whole table beyond which they cannot be classes that mean the same on every question."""

_LEARNED_FROM = 100_000
_SURE = 0.999
_EXACT, _FLIPS = 5_000, 9_999


@dataclass(frozen=True, slots=True)
class Claim:
    """What a rule's own posterior said, and what came of it.

    Args:
        mean: mean posterior of its answer.
        ece: expected calibration error, ten bins of equal width.
        brier: Brier score.
        sure: share of questions with a posterior above .999; ``sure_wrong`` is the share of these that was wrong.
        note: how it is to be read.
    """

    mean: float
    ece: float
    brier: float
    sure: float
    sure_wrong: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rule.

    Args:
        rule: its name.
        accuracy: share right, ties split, with interval.
        minus: accuracy less that of plurality; ``error`` its standard error, ``ci`` its interval, paired by question.
        p: two-sided, of the test that signs of the differences are coins; corrected for all rules compared (Holm).
        shown: p is below .05.
        learns: it needs right answers; its figures are from questions that it did not learn from.
        claim: None for rules without a posterior.
    """

    rule: str
    accuracy: Share
    minus: float
    error: float | None
    ci: tuple[float, float] | None
    p: float
    shown: bool
    learns: bool
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rules on one table.

    Args:
        outcomes: the most accurate first; plurality among them.
        stopping: rules that stop asking early.
        folds: parts of the cross-validation.
        sentence: why nothing is compared; empty otherwise.
        missing: rules left out and why.
    """

    outcomes: tuple[Outcome, ...]
    stopping: tuple[Stopped, ...]
    folds: int
    sentence: str = ""
    missing: tuple[str, ...] = ()

    def outcome(self, rule: str) -> Outcome | None:
        """The outcome of that rule, or None."""
        return next((outcome for outcome in self.outcomes if outcome.rule == rule), None)


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    rule: str
    credit: Array
    learns: bool = False
    posterior: Array | None = None
    note: str = ""


def compare(
    table: VoteTable,
    *,
    families: Mapping[str, Sequence[Sequence[str]]] | None = None,
    others: Mapping[str, Array] | None = None,
    folds: Whole | None = None,
    p_independence: float | None = None,
    bootstrap: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Compare every rule that ``table`` allows.

    Args:
        table: all its votes are used where no label is needed; figures are over questions with a known right answer.
        families: name of a grouping to the names of the voters of each group, for capped votes.
        others: name to credit of each question of ``table``, shape (Q,): rules on data the table does not hold, such as
            ranked ballots or predictions of others' answers.
        folds: shape (Q,): part of each question of ``table``; None: five parts by name.
        p_independence: p of the test of independent errors, for the note on posteriors.
        bootstrap: drawings of questions for intervals.
        seed: of all drawings.
    """
    labels = different(table)
    if labels < FEWEST:
        text = f"Not enough labels: {labels} of at least {FEWEST} right answers; ways to count votes are not compared."
        return Comparison((), (), 0, text)
    known = table.rows(table.labelled)
    part = folds_of(known, seed=seed) if folds is None else folds[table.labelled]
    voted = candidates_of(known)
    missing: list[str] = []
    tried = [_Tried("plurality", voted.credit(voted.leaders(voted.counts())))]
    if known.n_voters > 1:
        warning = note(p_independence)
        wrong = wrong_options(known)
        tried += list(_learned(known, voted, wrong, part, warning))
        tried += list(_capped(known, voted, part, families or {}))
        tried += list(_without_labels(table, warning, missing))
        if labels >= FEWEST_STACKER:
            tried.append(_stacked(known, voted, wrong, part, seed))
        else:
            missing.append(f"The stacker is left out: it takes {FEWEST_STACKER} right answers, and there are {labels}.")
    tried += [_Tried(name, credit[table.labelled]) for name, credit in (others or {}).items()]
    base = tried[0].credit
    p = np.ones(len(tried))
    p[1:] = holm(np.array([sign_test(one.credit - base, known.groups, seed=seed) for one in tried[1:]]))
    outcomes = [
        _judged(one, base, known.groups, p=float(value), bootstrap=bootstrap, seed=seed)
        for one, value in zip(tried, p, strict=True)
    ]
    return Comparison(
        tuple(sorted(outcomes, key=lambda outcome: (-(outcome.accuracy.rate or 0.0), outcome.rule))),
        tuple(stopped(voted, name, rule, seed=seed) for name, rule in STOPPING.items()) if known.n_voters > 2 else (),
        len(np.unique(part)),
        missing=tuple(missing),
    )


def _judged(one: _Tried, base: Array, groups: Whole | None, *, p: float, bootstrap: int, seed: int) -> Outcome:
    difference = one.credit - base
    minus, error = paired(difference, groups)
    ci = interval(units_of_values(difference, groups), mean_of_values, times=bootstrap, seed=seed)
    claim = None if one.posterior is None else _claim(one.posterior, one.credit, one.note)
    return Outcome(one.rule, share(one.credit, groups), minus, error, ci, p, p < 1 - LEVEL, one.learns, claim)


def sign_test(difference: Array, groups: Whole | None = None, *, seed: int = 0) -> float:
    """Two-sided p of a paired difference, shape (Q,): how often random signs give a sum as far from 0 (Fisher 1935).

    Two rules that differ on few questions are told apart by nothing else. Questions asked again have one sign. Equal
    sizes are drawn together, as one binomial; with more than 5,000 that are not 0 the normal distribution serves.
    """
    if groups is not None:
        kinds, place = np.unique(groups, return_inverse=True)
        difference = sum_by(place, difference, len(kinds))
    size, times = np.unique(np.round(np.abs(difference[np.abs(difference) > 1e-12]), 12), return_counts=True)
    if not size.size:
        return 1.0
    total = abs(float(difference.sum()))
    if times.sum() > _EXACT:
        return float(2 * normal_cdf(-total / np.sqrt(times @ size**2)))
    rng = np.random.default_rng(seed)
    drawn = (2 * rng.binomial(times, 0.5, size=(_FLIPS, len(size))) - times) @ size
    return (1 + int((np.abs(drawn) >= total - 1e-9).sum())) / (_FLIPS + 1)


def _claim(posterior: Array, credit: Array, text: str) -> Claim:
    scores = scores_of(np.clip(posterior, 0.0, 1.0), credit)
    sure = posterior > _SURE
    return Claim(
        mean=scores.mean,
        ece=scores.ece,
        brier=scores.brier.score,
        sure=float(sure.mean()),
        sure_wrong=float(1 - credit[sure].mean()) if sure.any() else None,
        note=text,
    )


Decide = Callable[[Flags, Flags], tuple[Array, Array | None]]
"""From the questions to learn from and those to decide, shape (Q,) each, to credit and posterior of the latter."""


def crossed(part: Whole, decide: Decide) -> tuple[Array, Array | None]:
    """Credit and posterior of each question by what was learned from the other parts."""
    credit, posterior = np.zeros(part.shape), np.zeros(part.shape)
    stated = False
    for one in np.unique(part):
        here = part == one
        credit[here], said = decide(~here, here)
        if said is not None:
            posterior[here], stated = said, True
    return credit, posterior if stated else None


def _learned(table: VoteTable, voted: Candidates, wrong: Array, part: Whole, warning: str) -> Iterator[_Tried]:
    def best(seen: Flags, here: Flags) -> tuple[Array, None]:
        accuracy = table.right[seen].mean(axis=0)
        return table.right[here][:, accuracy == accuracy.max()].mean(axis=1), None

    yield _Tried("best single voter", crossed(part, best)[0], learns=True)
    credit, posterior = crossed(part, _odds(table, voted, wrong, temper=False))
    yield _Tried("log-odds weights", credit, learns=True, posterior=posterior, note=warning)
    credit, posterior = crossed(part, _odds(table, voted, wrong, temper=True))
    yield _Tried("log-odds weights, tempered", credit, learns=True, posterior=posterior, note=warning)
    two = _odds(table, voted, np.ones_like(wrong), temper=False)
    yield _Tried("log-odds weights, as if two options", crossed(part, two)[0], learns=True)


def _odds(table: VoteTable, voted: Candidates, wrong: Array, *, temper: bool) -> Decide:
    def decide(seen: Flags, here: Flags) -> tuple[Array, Array]:
        n_eff = _worth(table.rows(seen)) if temper else None
        return weighted_log_odds(voted.rows(here), wrong[here], table.right[seen], n_eff=n_eff)

    return decide


def _worth(table: VoteTable) -> float | None:
    phi = pairs_of(table)
    between = phi.phi[phi.above()]
    between = between[np.isfinite(between)]
    return effective_voters(table.n_voters, float(between.mean())) if between.size else None


def weighted_log_odds(
    voted: Candidates, wrong: Array, right: Flags, *, n_eff: float | None = None, strength: float | None = None
) -> tuple[Array, Array]:
    """Credit and posterior, shape (Q,) each, of the vote weighted by log-odds.

    Args:
        voted: answers to Q questions.
        wrong: shape (Q,): number of wrong options.
        right: shape (L, n): right votes on the questions that accuracies are learned from.
        n_eff: effective number of voters; evidence is multiplied by n_eff / n, which moves posteriors and no decision.
        strength: as :func:`dissensus.measure.weights.shrunk_accuracy` takes it.
    """
    scores = log_odds_scores(voted, shrunk_accuracy(right, strength), wrong)
    temper = min(1.0, n_eff / right.shape[1]) if n_eff else 1.0
    posterior = softmax_top(voted, scores * temper, wrong)
    return voted.credit(voted.leaders(scores)), posterior


def softmax_top(voted: Candidates, scores: Array, wrong: Array) -> Array:
    """Softmax over all K options of the answer with the highest score; options nobody gave have score 0. Shape (Q,)."""
    given = np.where(voted.there, scores, -np.inf)
    best = given.max(axis=1)
    top = np.maximum(best, 0.0)
    unlisted = np.maximum(wrong + 1 - voted.given, 0.0) * np.exp(-top)
    everything = np.exp(given - top[:, None]).sum(axis=1) + unlisted
    return np.where(voted.given > 0, np.exp(best - top) / np.maximum(everything, 1e-300), 0.0)


def _capped(
    table: VoteTable, voted: Candidates, part: Whole, families: Mapping[str, Sequence[Sequence[str]]]
) -> Iterator[_Tried]:
    place = {voter: i for i, voter in enumerate(table.voters)}
    for name, groups in families.items():
        members = [[place[voter] for voter in group if voter in place] for group in groups]
        if any(len(group) > 1 for group in members):
            weights = capped(members, table.n_voters)
            yield _Tried(f"capped by {name}", voted.credit(voted.leaders(voted.scores(weights))))

    def by_cluster(seen: Flags, here: Flags) -> tuple[Array, None]:
        found = clusters_of(pairs_of(table.rows(seen)).phi, table.voters)
        together = [] if found is None or len(found.groups) < 2 else [group.voters for group in found.groups]
        weights = capped([[place[voter] for voter in group] for group in together], table.n_voters)
        there = voted.rows(here)
        return there.credit(there.leaders(there.scores(weights))), None

    if table.n_voters > 2:
        yield _Tried("capped by cluster", crossed(part, by_cluster)[0], learns=True)


def _without_labels(table: VoteTable, warning: str, missing: list[str]) -> Iterator[_Tried]:
    label = table.labelled
    names, codes = classes(table)
    if names is None:
        missing.append(
            f"Dawid-Skene is left out: {int(codes.max()) + 1:,} different answers are no classes of one meaning; its "
            "one-coin model does without."
        )
    else:
        fitted = dawid_skene(codes, len(names))
        leaders = fitted.leaders()
        gold = np.minimum(np.searchsorted(names, table.gold), len(names) - 1)
        hit = leaders[np.arange(len(gold)), gold] & (names[gold] == table.gold) & (codes >= 0).any(axis=1)
        credit = np.where(hit, 1 / leaders.sum(axis=1), 0.0)
        yield _Tried("Dawid-Skene", credit[label], posterior=fitted.posterior.max(axis=1)[label], note=warning)
    everything = candidates_of(table)
    coin = one_coin(everything, wrong_options(table))
    won = everything.credit(everything.leaders(coin.posterior))
    yield _Tried("Dawid-Skene, one coin", won[label], posterior=coin.posterior.max(axis=1)[label], note=warning)


def classes(table: VoteTable) -> tuple[Whole | None, Codes]:
    """Codes of the K answers that occur, rising, and the table with these numbered 0 … K - 1 (-1 blank), shape (Q, n).

    The first is None where answers are no classes that mean the same on every question: more than 50, or given less
    than ten times on average.
    """
    votes = np.bincount(table.codes[table.codes >= 0])
    names = np.flatnonzero(votes)
    number = np.full(len(votes) + 1, -1, dtype=np.int32)  # the last place, -1, is that of blanks
    number[names] = np.arange(len(names), dtype=np.int32)
    few = 0 < len(names) <= MOST_CLASSES and int(votes.sum()) >= 10 * len(names)
    return (names if few else None), number[np.maximum(table.codes, -1)]


def _stacked(table: VoteTable, voted: Candidates, wrong: Array, part: Whole, seed: int) -> _Tried:
    order = order_of(table, seed=seed)
    fitted: Stacker | None = None

    def decide(seen: Flags, here: Flags) -> tuple[Array, Array]:
        nonlocal fitted
        fitted = fit_stacker(voted, wrong, order[seen[order]][:_LEARNED_FROM], fitted)
        there = voted.rows(here)
        posterior = fitted.posterior(there, wrong[here])
        return there.credit(there.leaders(posterior)), posterior.max(axis=1)

    credit, posterior = crossed(part, decide)
    text = "learned from right answers, cross-validated"
    return _Tried("stacker", credit, learns=True, posterior=posterior, note=text)
