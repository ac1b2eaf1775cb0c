"""Verdicts as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from dissensus.measure.calibration import Calibration
from dissensus.measure.compare import Comparison
from dissensus.measure.factors import Correlated, Factors
from dissensus.measure.greedy import Chosen
from dissensus.measure.selective import Selection
from dissensus.measure.verdicts import Verdicts
from dissensus.measure.wording import between, listed, percent, short

_LEVELS = 6
_WAYS = {
    "share": "the vote's share as it is",
    "independent": "as if voters were independent",
    "tempered": "the same, tempered by n_eff/n",
    "count": "by number of votes",
    "isotonic": "by number of votes, never falling",
    "who": "by who voted",
}


def lines_of(found: Verdicts) -> list[str]:
    """What was asked for, part by part."""
    return list(_lines(found))


def _lines(found: Verdicts) -> Iterator[str]:
    if found.calibration is not None:
        yield from _calibration(found.calibration, found.n_voters)
    if found.selection is not None and not found.selection.sentence:
        yield from _selection(found.selection, found.n_voters)
    if found.factors is not None:
        yield from _factors(found.factors)
    if found.aggregators is not None:
        yield from _comparison(found.aggregators, found.n_voters)
    if found.choice is not None:
        yield from _choice(found.choice, found.n_voters)


def _calibration(found: Calibration, n: int) -> Iterator[str]:
    if found.sentence:
        if found.labels:  # without any, the audit has said so
            yield found.sentence
        return
    levels = [level for level in found.levels if level.count][-_LEVELS:]
    stated = "   ".join(f"{level.k}: {short(level.isotonic, 2)}" for level in levels)
    yield f"P(right) if so many of {n} agree: {stated}"
    share = found.way("share")
    best = found.ways[0]
    if share is not None:
        yield (
            f"best told {_WAYS[best.name]} (cross-validated): Brier {short(best.scores.brier.score)}, AUROC "
            f"{short(best.scores.auroc)}, calibration error {short(best.scores.ece)}   ({_WAYS['share']}: "
            f"{short(share.scores.brier.score)}, {short(share.scores.auroc)}, {short(share.scores.ece)})"
        )
    yield from found.missing


def _selection(found: Selection, n: int) -> Iterator[str]:
    for rule in found.rules:
        wanted = f"wrong in at most {percent(rule.target, 0 if rule.target >= 0.01 else 1)}"
        if rule.t is None:
            least = f"; any rule hands on at least {percent(rule.least_handed_on, 0)}" if rule.least_handed_on else ""
            yield f"{wanted}: no number of votes is shown to keep that{least}"
        else:
            agree = "one answer leads" if rule.t == 1 else f"at least {rule.t} of {n} agree"
            yield (
                f"{wanted}: answer alone if {agree}; answers {percent(rule.coverage, 0)}, hands "
                f"on {percent(rule.handed_on, 0)}"
            )


def _factors(found: Factors) -> Iterator[str]:
    for factor in found.factors:
        text = f"{factor.name}: errors correlate {_phi(factor.within)} within, {_phi(factor.between)} between"
        if factor.difference is not None:
            text += f"   (difference {short(factor.difference, 2)}{between(factor.difference_ci, 2)})"
        if factor.alone.phi is not None:
            text += f"; differing in nothing else {_phi(factor.alone)}"
        yield text
    if found.cost_per_effective_vote is not None and found.cost is not None:
        yield f"cost {found.cost:.4g}, per effective vote {found.cost_per_effective_vote:.4g} (order of magnitude)"
    yield from found.missing


def _phi(found: Correlated) -> str:
    if found.phi is None:
        return "-"
    return f"{short(found.phi, 2)} ({found.pairs} pair{'s' if found.pairs > 1 else ''})"


def _comparison(found: Comparison, n: int) -> Iterator[str]:
    if found.sentence:
        yield found.sentence
        return
    width = max(len(outcome.rule) for outcome in found.outcomes)
    yield "ways to count the same votes, against plurality (cross-validated where they learn):"
    for outcome in found.outcomes:
        text = f"  {outcome.rule:<{width}}  {short(outcome.accuracy.rate)}"
        if outcome.rule != "plurality":
            sign = "+" if outcome.minus > 0 else ""
            text += f"   {sign}{short(outcome.minus)}{between(outcome.ci)}"
            text += "" if outcome.shown else "   not shown to differ"
        if outcome.claim is not None:
            text += f"   says {short(outcome.claim.mean, 2)} ({outcome.claim.note})"
        yield text
    for one in found.stopping:
        yield (
            f"  stopping by {one.rule}: {one.votes:.1f} of {n} votes, right {short(one.credit)}, the answer of all "
            f"{percent(one.same)} of the time"
        )
    yield from found.missing


def _choice(found: Chosen, n: int) -> Iterator[str]:
    if found.sentence:
        yield found.sentence
        return
    for choice in found.choices:
        size, best = choice.sizes[len(choice.panel) - 1], choice.sizes[choice.best - 1]
        rate = size.accuracy.rate or 0.0
        cost = f", cost {size.cost:.4g}" if size.cost is not None else ""
        panel = listed(choice.panel[:6], more=max(0, len(choice.panel) - 6))
        interval = between((size.accuracy.low, size.accuracy.high))
        yield (
            f"chosen by {choice.by}: {panel}: {short(rate)}{interval}{cost}; best at {best.n}: "
            f"{short(best.accuracy.rate)}; all {n}: {short(rate - size.minus_all)}"
        )
