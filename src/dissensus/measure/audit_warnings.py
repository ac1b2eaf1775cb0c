"""What a reader has to know before using a figure of the audit, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from dissensus.measure.audit import Audit, Errors, Panel
from dissensus.measure.planning import too_few_for_mean
from dissensus.measure.wording import counted, listed, percent, short

FEW = 100
"""Questions below which intervals are wide and, near 0 and 1, too narrow."""

FEW_ERRORS, FEW_TOGETHER = 10, 30
"""Errors of the panel, and questions on which two err, below which intervals are too narrow (bench_coverage.py)."""

MANY_BLANKS = 0.05


def warnings_of(found: Audit) -> list[str]:
    """All of them, the gravest first."""
    return list(dict.fromkeys(_all(found)))


def _all(found: Audit) -> Iterator[str]:
    yield from found.reading.get("notes", ())
    if not found.n_labelled:
        yield (
            "No right answer is known: agreement can be counted, and says nothing of correctness. Give the right "
            "answers of some questions to measure it."
        )
    elif found.n_labelled < found.n_questions:
        without = counted(found.n_questions - found.n_labelled, "question has", "questions have")
        yield f"{without} no right answer: all figures but the blanks are over the other {found.n_labelled:,}."
    if found.n_distinct < found.n_labelled:
        yield (
            f"{found.n_labelled:,} questions are {found.n_distinct:,} different ones, some asked again: intervals draw "
            "these together."
        )
    if found.n_voters == 1:
        yield "One voter: there is no agreement to measure."
    elif found.n_voters % 2 == 0:
        yield (
            f"{found.n_voters} voters is an even number: ties are possible and are split in every figure; between "
            "right and wrong one voter fewer does as well."
        )
    yield from _blank(found)
    if found.errors is not None:
        yield from _of_errors(found, found.errors)
    if found.panel is not None:
        yield from _of_panel(found, found.panel)


def _blank(found: Audit) -> Iterator[str]:
    cells = sum(found.blanks.values())
    if cells > MANY_BLANKS * found.n_questions * found.n_voters:
        most = sorted(found.voters, key=lambda voter: (-voter.blank, voter.id))[:3]
        names = listed([f"{voter.id} ({voter.blank:,})" for voter in most if voter.blank])
        yield (
            f"{percent(cells / (found.n_questions * found.n_voters))} of all cells are blank; they count as not right. "
            f"Most: {names}."
        )


def _of_errors(found: Audit, errors: Errors) -> Iterator[str]:
    if errors.phi_mean is not None and errors.together < FEW_TOGETHER:
        few = counted(errors.together, "question")
        yield (
            f"At least two voters erred together on {few} only: correlation and effective voters rest on these, and "
            "their intervals are too narrow."
        )
    if errors.phi_mean is None:
        yield "The correlation of errors is not defined: every voter is always right or always wrong."
    else:
        without = [
            voter.id for voter in found.voters if voter.accuracy.rate is not None and voter.accuracy.rate in {0.0, 1.0}
        ]
        if without:
            yield (
                f"{listed(sorted(without))}: always right or always wrong, so without a correlation and left out of "
                "its mean."
            )
        if errors.n_eff is None:
            yield "The errors are so opposed that no number of independent voters has the same variance."
        if errors.phi_range and errors.phi_range[1] - errors.phi_range[0] > 0.5 and len(errors.pairs) > 1:
            low, high = errors.phi_range
            first = errors.pairs[0]
            yield (
                f"Pairs differ: correlations run from {short(low)} to {short(high)} ({first.i} with {first.j}); their "
                "mean hides that."
            )
    if errors.same_wrong_rate is not None and errors.same_wrong_chance == 1.0:
        yield "With two options all wrong answers are the same: that two agree in error says nothing more here."


def _of_panel(found: Audit, panel: Panel) -> Iterator[str]:
    best = panel.best
    if found.n_voters > 1 and best.ci is not None and best.ci[0] <= 0 <= best.ci[1]:
        spread = (best.error or 0.0) * found.n_distinct**0.5
        unseen = too_few_for_mean(found.n_distinct, spread, best.differing, best.minus)
        if unseen:
            yield f"Too few questions to tell the panel from {best.voter}: {unseen}"
    yield from _of_sizes(found, panel)
    if found.n_distinct < FEW:
        only = counted(found.n_distinct, "question")
        yield f"Only {only} with a right answer: all intervals are wide, and none is to be trusted alone."
    wrong = (1 - (panel.plurality.rate or 0.0)) * found.n_labelled
    if found.n_distinct >= FEW and wrong < FEW_ERRORS:
        yield f"The panel was wrong about {wrong:.0f} times: intervals of differences and correlations are too narrow."
    if panel.curve.worst is not None:
        many, few = panel.curve.at(panel.curve.worst), panel.curve.at(panel.curve.argmax)
        yield (
            f"More voters made it worse: {many.n} are right less often than {few.n} ({short(many.plurality)} against "
            f"{short(few.plurality)})."
        )
    against = panel.review.unanimous
    if against and found.n_voters > 1:
        names = [doubt.question for doubt in panel.review.listed if doubt.reason == "unanimous against the key"]
        yield (
            f"All voters agree against the key on {counted(against, 'question')} "
            f"({listed(names[:6], more=against - min(6, len(names)))}): look at the key before blaming the voters."
        )


def _of_sizes(found: Audit, panel: Panel) -> Iterator[str]:
    curve = panel.curve
    if curve.enough is not None and curve.enough != curve.argmax:
        behind = curve.at(curve.enough).behind
        unseen = too_few_for_mean(found.n_distinct, curve.spread, curve.differing, behind)
        if unseen:
            yield f"Too few questions to tell {counted(curve.enough, 'voter')} from {curve.argmax}: {unseen}"
    even = [n for n in panel.extrapolation.sizes if n % 2 == 0] if panel.extrapolation is not None else []
    if even:
        yield (
            f"{listed([f'{n:,}' for n in even])} voters: an even panel can tie, and between right and wrong one voter "
            "fewer does as well."
        )
