"""The audit as JSON: one flat document, the names of which are promised."""

from __future__ import annotations

from typing import Any

from dissensus.measure.audit import DEFINITIONS_VERSION, Audit, Errors, Interval, Panel
from dissensus.measure.clusters import Clusters
from dissensus.measure.intervals import Share
from dissensus.measure.permutation import Permutation

NOTE = "an order of magnitude: exact for the variance of the mean only"


def data_of(found: Audit) -> dict[str, Any]:
    """JSON-ready data."""
    return {
        "n_questions": found.n_questions,
        "n_labelled": found.n_labelled,
        "n_distinct": found.n_distinct,
        "n_voters": found.n_voters,
        "blanks": dict(found.blanks),
        "leader_votes": [{"k": k, "count": count} for k, count in found.split.items()],
        "accuracy": {voter.id: voter.accuracy.rate for voter in found.voters},
        "voters": [
            {"id": voter.id, **_share(voter.accuracy, "accuracy"), "blank": voter.blank, "cost": voter.cost}
            for voter in found.voters
        ],
        **_panel(found.panel),
        **_errors(found.errors),
        "cost_per_effective_vote": cost_per_effective_vote(found),
        "warnings": found.warnings,
        "settings": dict(found.settings),
        "definitions_version": DEFINITIONS_VERSION,
        **found.reading,
    }


def cost_per_effective_vote(found: Audit) -> float | None:
    """Cost of all answers over the effective number of voters; None if a cost is not known."""
    costs = [voter.cost for voter in found.voters]
    if found.errors is None or found.errors.n_eff is None or any(cost is None for cost in costs):
        return None
    return sum(cost for cost in costs if cost is not None) / found.errors.n_eff


def _share(share: Share, name: str = "rate") -> dict[str, Any]:
    return {name: share.rate, "ci": _interval(share)}


def _interval(share: Share) -> list[float] | None:
    return None if share.low is None or share.high is None else [share.low, share.high]


def _list(interval: Interval) -> list[float] | None:
    return None if interval is None else list(interval)


def _panel(panel: Panel | None) -> dict[str, Any]:
    if panel is None:
        return dict.fromkeys(
            (
                "plurality_accuracy", "plurality_ci", "plurality", "best_voter", "best_single", "panel_minus_best",
                "unanimous", "by_count", "share_as_score", "curve", "argmax_n", "stops_paying_at", "falls",
                "key_review", "fits", "bounds",
            )
        )  # fmt: skip
    best, unanimous, curve, review = panel.best, panel.unanimous, panel.curve, panel.review
    return {
        "plurality_accuracy": panel.plurality.rate,
        "plurality_ci": _interval(panel.plurality),
        "plurality": {
            "split": panel.plurality.rate,
            "unique": panel.unique,
            "strict": {"decided": panel.strict, "right": panel.strict_right.rate, "ci": _interval(panel.strict_right)},
        },
        "best_voter": best.voter,
        "best_single": {"id": best.voter, "acc": best.accuracy, "crossfit": best.crossfit},
        "panel_minus_best": {
            "diff": best.minus,
            "se": best.error,
            "ci": _list(best.ci),
            "detectable": best.detectable,
        },
        "unanimous": {
            "count": unanimous.count,
            "n": unanimous.count,
            "wrong": unanimous.wrong,
            **_share(unanimous.share_wrong),
            "at_most": unanimous.share_wrong.at_most,
            "independent_claim": unanimous.independent_claim,
        },
        "by_count": [
            {
                "k": level.k,
                "count": level.count,
                "n": level.count,
                "correct": level.correct,
                "right": level.right.rate,
                "ci": _interval(level.right),
            }
            for level in panel.by_count
        ],
        "share_as_score": {"auroc": panel.score.auroc, "ece": panel.score.ece, "brier": panel.score.brier},
        "curve": [
            {
                "n": point.n,
                "plurality": point.plurality,
                "band": _list(point.band),
                "majority": point.majority,
                "binary": point.majority,
                "condorcet": point.condorcet,
                "any_right": point.any_right,
                "all_right": point.all_right,
                "wrong_if_unanimous": point.wrong_if_unanimous,
                "behind_best": point.behind,
                "behind_best_band": _list(point.behind_band),
            }
            for point in curve.points
        ],
        "argmax_n": curve.argmax,
        "stops_paying_at": None if curve.rises else curve.enough,
        "falls": curve.falls,
        "key_review": {
            "unanimous_against": review.unanimous,
            "most_against": review.most,
            "nobody_right": review.nobody,
            "total": review.total,
            "listed": [
                {
                    "question": doubt.question,
                    "reason": doubt.reason,
                    "key": doubt.key,
                    "leader": list(doubt.leader),
                    "votes": doubt.votes,
                    "votes_for_key": doubt.votes_for_key,
                }
                for doubt in review.listed
            ],
        },
        **({"fits": None, "bounds": None} if panel.extrapolation is None else panel.extrapolation.to_data()),
    }


def _errors(errors: Errors | None) -> dict[str, Any]:
    if errors is None:
        return dict.fromkeys(
            (
                "joint_error", "independent_error", "ratio", "mean_of_pair_ratios", "independence_p", "permutation",
                "overdispersion", "rho", "rho_ci",
                "errors_together", "phi_mean", "phi_ci", "phi_range", "n_eff", "n_eff_ci", "n_eff_note",
                "same_wrong_rate", "same_wrong_chance", "pairs", "clusters",
            )
        )  # fmt: skip
    return {
        "joint_error": errors.joint,
        "independent_error": errors.product,
        "ratio": errors.ratio,
        "mean_of_pair_ratios": errors.mean_of_ratios,
        "independence_p": errors.permutation.p,
        "permutation": {
            **_permutation(errors.permutation),
            "strata": None if errors.within is None else _permutation(errors.within),
        },
        "overdispersion": None if errors.tarone is None else {"z": errors.tarone.z, "p": errors.tarone.p},
        "rho": errors.rho,
        "rho_ci": _list(errors.rho_ci),
        "errors_together": errors.together,
        "phi_mean": errors.phi_mean,
        "phi_ci": _list(errors.phi_ci),
        "phi_range": _list(errors.phi_range),
        "n_eff": errors.n_eff,
        "n_eff_ci": _list(errors.n_eff_ci),
        "n_eff_note": NOTE,
        "same_wrong_rate": errors.same_wrong_rate,
        "same_wrong_chance": errors.same_wrong_chance,
        "pairs": [{name: getattr(pair, name) for name in pair.__slots__} for pair in errors.pairs],
        "clusters": None if errors.clusters is None else _clusters(errors.clusters),
    }


def _permutation(test: Permutation) -> dict[str, Any]:
    return {name: getattr(test, name) for name in test.__slots__}


def _clusters(found: Clusters) -> dict[str, Any]:
    return {
        "groups": [{"voters": list(group.voters), "phi": group.phi} for group in found.groups],
        "silhouette": found.silhouette,
        "order": list(found.order),
        "voters": list(found.voters),
        "merges": [list(row) for row in found.merges],
    }
