"""Verdicts as JSON: the names of the keys are promised."""

from __future__ import annotations

import math
from typing import Any

from dissensus.measure.calibration import Calibration, Way
from dissensus.measure.compare import Comparison, Outcome
from dissensus.measure.factors import Correlated, Factors
from dissensus.measure.greedy import Chosen
from dissensus.measure.intervals import Share
from dissensus.measure.selective import Selection
from dissensus.measure.verdicts import CAVEAT, Verdicts


def data_of(found: Verdicts) -> dict[str, Any]:
    """JSON-ready data."""
    return {
        "calibration": None if found.calibration is None else _calibration(found.calibration),
        "selection": None if found.selection is None else _selection(found.selection),
        "aggregators": None if found.aggregators is None else _comparison(found.aggregators),
        "factors": None if found.factors is None else _factors(found.factors),
        "choice": None if found.choice is None else _choice(found.choice),
    }


def _interval(share: Share) -> list[float] | None:
    return None if share.low is None or share.high is None else [share.low, share.high]


def _list(pair: tuple[float, float] | None) -> list[float] | None:
    return None if pair is None else list(pair)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _calibration(found: Calibration) -> dict[str, Any]:
    return {
        "labels": found.labels,
        "sentence": found.sentence,
        "by_count": [
            {
                "k": level.k,
                "count": level.count,
                "right": level.right.rate,
                "ci": _interval(level.right),
                "jeffreys": level.jeffreys,
                "isotonic": level.isotonic,
            }
            for level in found.levels
        ],
        "folds": found.folds,
        "ways": [_way(way) for way in found.ways],
        "missing": list(found.missing),
        "note": CAVEAT,
    }


def _way(way: Way) -> dict[str, Any]:
    scores, brier = way.scores, way.scores.brier
    return {
        "name": way.name,
        "mean": scores.mean,
        "right": scores.right,
        "ece": scores.ece,
        "ece_equal_mass": scores.ece_equal_mass,
        "ece_debiased": scores.ece_debiased,
        "brier": brier.score,
        "brier_reliability": brier.reliability,
        "brier_resolution": brier.resolution,
        "brier_uncertainty": brier.uncertainty,
        "brier_skill": brier.skill,
        "log_loss": _finite(scores.log_loss),
        "log_loss_infinite": not math.isfinite(scores.log_loss),
        "auroc": scores.auroc,
        "histogram": list(scores.histogram),
        "bins": [{"stated": bar.stated, "count": bar.count, "right": bar.right} for bar in scores.bins],
    }


def _selection(found: Selection) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "base_risk": found.base_risk,
        "thresholds": [{name: getattr(one, name) for name in one.__slots__} for one in found.thresholds],
        "rules": [{name: getattr(rule, name) for name in rule.__slots__} for rule in found.rules],
        "risk_coverage": None
        if found.curve is None
        else {
            "steps": [
                {"share": step.score, "coverage": step.coverage, "risk": step.risk} for step in found.curve.steps
            ],
            "area": found.curve.area,
            "oracle": found.curve.oracle,
        },
        "note": CAVEAT,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "folds": found.folds,
        "rules": [_outcome(outcome) for outcome in found.outcomes],
        "stopping": [
            {"rule": one.rule, "accuracy": one.credit, "votes": one.votes, "same_as_all": one.same}
            for one in found.stopping
        ],
        "missing": list(found.missing),
    }


def _outcome(found: Outcome) -> dict[str, Any]:
    claim = found.claim
    return {
        "rule": found.rule,
        "accuracy": found.accuracy.rate,
        "ci": _interval(found.accuracy),
        "minus_plurality": {
            "diff": found.minus,
            "se": found.error,
            "ci": _list(found.ci),
            "p_holm": found.p,
            "shown": found.shown,
        },
        "learns": found.learns,
        "posterior": None if claim is None else {name: getattr(claim, name) for name in claim.__slots__},
    }


def _correlated(found: Correlated) -> dict[str, Any]:
    return {"pairs": found.pairs, "phi": found.phi, "ci": _list(found.ci), "same_wrong": found.same_wrong}


def _factors(found: Factors) -> dict[str, Any]:
    return {
        "factors": [
            {
                "name": factor.name,
                "within": _correlated(factor.within),
                "between": _correlated(factor.between),
                "alone": _correlated(factor.alone),
                "difference": factor.difference,
                "difference_ci": _list(factor.difference_ci),
                "levels": [
                    {
                        name: list(value) if isinstance(value := getattr(level, name), tuple) else value
                        for name in level.__slots__
                    }
                    for level in factor.levels
                ],
            }
            for factor in found.factors
        ],
        "cost": found.cost,
        "cost_per_effective_vote": found.cost_per_effective_vote,
        "missing": list(found.missing),
    }


def _choice(found: Chosen) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "folds": found.folds,
        "panels": [
            {
                "by": choice.by,
                "panel": list(choice.panel),
                "best_size": choice.best,
                "sizes": [
                    {
                        "n": size.n,
                        "added": size.added,
                        "accuracy": size.accuracy.rate,
                        "ci": _interval(size.accuracy),
                        "minus_all": size.minus_all,
                        "minus_all_ci": _list(size.ci),
                        "cost": size.cost,
                    }
                    for size in choice.sizes
                ],
            }
            for choice in found.choices
        ],
    }
