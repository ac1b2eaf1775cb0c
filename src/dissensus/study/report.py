"""The report of a study: what came out, what it may be compared with, and what may not be said of it.

Start at :func:`report_of`. The figures of a cell are in :mod:`~dissensus.study.report_cells`, comparisons and rescues
in :mod:`~dissensus.study.report_parts`, texts by their writers in :mod:`~dissensus.study.report_turns`, the report as
Markdown in :mod:`~dissensus.study.report_text`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.measure.study_points import Step, StudyPoint
from dissensus.study.arms import VOTES
from dissensus.study.gather import Row
from dissensus.study.report_cells import ALL, CellRows, Figures, Where, cells_from, figures_of
from dissensus.study.report_parts import (
    Compared,
    Curve,
    Judged,
    Match,
    comparisons,
    curve_of,
    matches_of,
    place_of,
    place_text,
    rescues_of,
)
from dissensus.study.report_turns import Turns, turns_of
from dissensus.study.study_file import Study

FORMAT: Final = "dissensus study report"
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A study's report.

    Args:
        study: what was to be run.
        units, done: runs of the grid, and how many are finished.
        lost: calls that did not come about.
        cells, compared, rescues, curves, matches, turns: the parts.
        warnings: what has to be known before a figure is used, most important first.
        steps: what turns did to the log-odds of the right answer, where receivers were listened to.
    """

    study: Study
    units: int
    done: int
    lost: int
    cells: tuple[Figures, ...]
    compared: tuple[Compared, ...]
    rescues: tuple[Judged, ...]
    curves: tuple[Curve, ...]
    matches: tuple[Match, ...]
    turns: tuple[Turns, ...]
    warnings: tuple[str, ...]
    steps: tuple[Step, ...] = ()

    def points(self) -> list[StudyPoint]:
        """One point for each cell over all tasks, as `dissensus round-robin drift --measured` reads them."""
        sets = {one.tasks for one in self.cells}
        pooled = ALL in sets or len(sets) == 1
        several = len({one.lineup for one in self.cells}) > 1
        return [
            StudyPoint(
                corrupted=one.corrupted,
                agents=one.agents,
                procedure="round-robin" if one.in_turns else "maj" if _is_vote(self.study, one) else one.procedure,
                accuracy=one.right.value or 0.0,
                low=one.right.low or 0.0,
                high=one.right.high or 0.0,
                n=one.questions,
                trajectories=one.trajectories,
                label=", ".join(
                    part
                    for part in (
                        one.procedure if one.in_turns or _is_vote(self.study, one) else "",
                        one.attack if one.corrupted else "",
                        one.lineup if several else "",
                        "" if pooled else one.tasks,
                    )
                    if part
                ),
                scripted=one.scripted,
            )
            for one in self.cells
            if not one.check and one.questions and one.tasks == (ALL if ALL in sets else one.tasks)
        ]

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        study = self.study
        return {
            "format": FORMAT,
            "version": VERSION,
            "study": study.name,
            "about": study.about,
            "scripted": any(one.scripted for one in self.cells),
            "units": self.units,
            "done": self.done,
            "lost_calls": self.lost,
            "placement": study.placement,
            "seeds": list(study.seeds),
            "warnings": list(self.warnings),
            "points": [point.to_data() for point in self.points()],
            "steps": [msgspec.to_builtins(step) for step in self.steps],
            "cells": [one.to_data() for one in self.cells],
            "compared": [one.to_data() for one in self.compared],
            "rescues": [one.to_data() for one in self.rescues],
            "trajectories": [one.to_data() for one in self.curves],
            "equal_cost": [one.to_data() for one in self.matches],
            "turns": [one.to_data() for one in self.turns],
        }


def report_of(study: Study, rows: Sequence[Row], *, units: int, seed: int = 0) -> Report:
    """The report of ``rows``, which are those of the ``units`` runs that are finished.

    Args:
        study: what was to be run.
        rows: what came of it.
        units: runs of the whole grid.
        seed: of the drawings for intervals.
    """
    cells = cells_from(rows)
    figures = [figures_of(cell) for cell in cells]
    by_place: dict[Where, list[CellRows]] = defaultdict(list)
    for cell in cells:
        if not cell.cell.arm.check:
            by_place[cell.where].append(cell)
    compared = [one for group in by_place.values() for one in comparisons(study, group, seed)]
    rescues = [one for group in by_place.values() for one in rescues_of(study, group, cells, seed)]
    curves = [one for group in by_place.values() for cell in group if (one := curve_of(cell, seed)) is not None]
    own = {cell.where: [figure for figure in figures if place_of(figure) == cell.where] for cell in cells}
    matches = [one for where in by_place for one in matches_of(study, where, own[where])]
    turns = [taken for cell in cells if (taken := turns_of(cell)) is not None]
    lost = sum(row.lost for row in rows)
    return Report(
        study=study,
        units=units,
        done=len(rows),
        lost=lost,
        cells=tuple(figures),
        compared=tuple(compared),
        rescues=tuple(rescues),
        curves=tuple(curves),
        matches=tuple(matches),
        turns=tuple(turns),
        steps=tuple(step for row in rows for step in row.steps),
        warnings=tuple(_warnings(study, figures, rescues, curves, turns, lost=lost, missing=units - len(rows))),
    )


def _warnings(
    study: Study,
    figures: Sequence[Figures],
    rescues: Sequence[Judged],
    curves: Sequence[Curve],
    turns: Sequence[Turns],
    *,
    lost: int,
    missing: int,
) -> Iterator[str]:
    if any(one.scripted for one in figures):
        yield "SCRIPTED: some agents follow rules. What comes out is what was put in, and no evidence about models."
    if missing > 0:
        yield f"{missing:,} runs are missing: the figures are those of the runs that are finished."
    if lost:
        yield f"{lost:,} calls did not come about. The next `dissensus study run` does their runs anew."
    for lineup in dict.fromkeys(one.lineup for one in figures if one.fidelity == "approximate"):
        yield (
            f"APPROXIMATE: in the line-up {lineup} some models were shown the text in quotes, since they cannot "
            "continue one. That is another procedure; do not put it beside exact results."
        )
    for lineup in dict.fromkeys(one.lineup for one in figures if one.fidelity == "text_prefill"):
        yield (
            f"In the line-up {lineup} texts were handed over as text and cut into tokens anew at each turn. Tokens of "
            "different models are added up as they are."
        )
    if failed := sum(one.failed_turns for one in figures if one.tasks != ALL):
        yield f"{failed:,} turns failed and added nothing."
    yield from map(_worse, (curve for curve in curves if curve.worse))
    for judged in {(one.where, one.disruption): one for one in rescues}.values():
        if not judged.rescue.works:
            solo = judged.rescue.solo
            rate = "" if solo is None or solo.value is None else f" ({solo.value:.0%} of {solo.n})"
            yield (
                f"{place_text(judged.where)}: the attack was not shown to work on an agent alone{rate}. Surviving it "
                "is no evidence of robustness."
            )
    for judged in rescues:
        if judged.rescue.better and not judged.rescue.repaired:
            yield (
                f"{judged.procedure}, {place_text(judged.where)}: better than {judged.reference}, and no evidence of "
                f"repair. {' '.join(judged.rescue.sentences()[2:-1])}"
            )
    for family, many in Counter(arm.family for arm in study.arms.values() if arm.in_turns).items():
        if many > 1:
            yield f"{many} settings of {family} were tried: the best of several looks better than it is."
    for taken in turns:
        counts = taken.begun.values()
        if len(counts) > 1 and max(counts) > 1.2 * min(counts):
            told = ", ".join(f"{seat}: {many}" for seat, many in taken.begun.items())
            where = place_text((taken.tasks, taken.lineup, taken.attack, taken.corrupted))
            yield f"{taken.procedure}, {where}: the seats did not begin equally many texts ({told})."
    if study.jobs > 1:
        yield f"{study.jobs} runs went on side by side, so seconds are those of a shared machine."


def _worse(curve: Curve) -> str:
    sure = curve.change is not None and curve.change.high < 0
    how = "made it WORSE" if sure else "made it rather worse (not beyond chance)"
    return (
        f"{curve.procedure}, {place_text(curve.where)}: more texts {how}: {curve.right[0]:.3f} right with 1, "
        f"{curve.right[-1]:.3f} with {len(curve.right)}. A vote amplifies whichever side leads."
    )


def _is_vote(study: Study, one: Figures) -> bool:
    return one.procedure in study.arms and study.arms[one.procedure].procedure in VOTES
