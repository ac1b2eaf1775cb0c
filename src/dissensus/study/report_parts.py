"""The parts of a report: comparisons, rescues with their null models, what more texts do, equal costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.measure.paired import Paired, compare_paired, corrected
from dissensus.measure.rescue import Rescue, judge_rescue
from dissensus.study.arms import VOTES
from dissensus.study.grid import ATTACKED_ALONE, HONEST_ALONE
from dissensus.study.report_cells import CellRows, Figures, Where, nulls_by_question, right_by_trajectories
from dissensus.study.study_file import Study

EQUAL: Final = 1.25
"""Costs that differ by no more than this factor are called equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One procedure less the reference, on the same questions, in one place of the grid."""

    where: Where
    procedure: str
    reference: str
    paired: Paired

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            **where_data(self.where),
            "procedure": self.procedure,
            "reference": self.reference,
            **self.paired.to_data(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A procedure under attack, beside its null models and the check of the attack.

    Args:
        where, procedure, reference: which, and what it is to rescue.
        rescue: the judgement.
        nulls: accuracy of each null model.
        honest_alone, attacked_alone: accuracy of an agent alone, by which the null models were computed; None if that
            was not measured, and then honest ones are taken to be always right and corrupted ones never.
        disruption: the attack aims at no usable answer, so success is having none.
    """

    where: Where
    procedure: str
    reference: str
    rescue: Rescue
    nulls: Mapping[str, float]
    honest_alone: float | None
    attacked_alone: float | None
    disruption: bool

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            **where_data(self.where),
            "procedure": self.procedure,
            "reference": self.reference,
            "null_models": dict(self.nulls),
            "honest_alone": self.honest_alone,
            "attacked_alone": self.attacked_alone,
            "disruption": self.disruption,
            **self.rescue.to_data(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Accuracy of a vote over the first m texts, m = 1 … M, and whether more make it worse.

    Args:
        where, procedure: which cell.
        right: by m, from 1 on.
        change: M less 1; None for one text.
    """

    where: Where
    procedure: str
    right: tuple[float, ...]
    change: Paired | None

    @property
    def worse(self) -> bool:
        """More texts did worse."""
        return self.change is not None and self.change.difference < 0

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        change = None if self.change is None else self.change.to_data()
        return {**where_data(self.where), "procedure": self.procedure, "right": list(self.right), "change": change,
                "worse": self.worse}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Of one family of procedures, the arm whose cost is nearest to the anchor's.

    Args:
        where: in which place of the grid.
        anchor: the arm whose cost is matched.
        cost: ``decoded`` or ``seconds``.
        procedure: the arm.
        ratio: its cost to the anchor's; None if one is not known.
    """

    where: Where
    anchor: str
    cost: str
    procedure: str
    ratio: float | None
    right: float

    @property
    def equal(self) -> bool:
        """Whether the costs are equal, near enough."""
        return self.ratio is not None and 1 / EQUAL <= self.ratio <= EQUAL

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**where_data(self.where), "anchor": self.anchor, "cost": self.cost, "procedure": self.procedure,
                "ratio": self.ratio, "right": self.right, "equal": self.equal}  # fmt: skip


def reference_of(study: Study, names: Sequence[str]) -> str:
    """Of the arms ``names``, the one that others are compared with; "" if there is none."""
    arms = [study.arms[name] for name in names if name in study.arms]
    if study.reference:
        return next((arm.name for arm in arms if study.reference in (arm.name, arm.family)), "")
    return next((arm.name for kind in VOTES for arm in arms if arm.procedure == kind), "")


def comparisons(study: Study, group: Sequence[CellRows], seed: int) -> Iterator[Compared]:
    """Each procedure of a place less the reference, corrected for their number (Holm)."""
    reference = reference_of(study, [cell.procedure for cell in group])
    base = next((cell for cell in group if cell.procedure == reference), None)
    if base is None:
        return
    family: dict[str, Paired] = {}
    for cell in group:
        if cell is base:
            continue
        common = [name for name in cell.by_question if name in base.by_question]
        if common:
            family[cell.procedure] = compare_paired(
                cell.values(lambda row: row.score.right, common),
                base.values(lambda row: row.score.right, common),
                groups=cell.stories(common),
                seed=seed,
            )
    for name, paired in corrected(family).items() if family else ():
        yield Compared(where=base.where, procedure=name, reference=reference, paired=paired)


def rescues_of(study: Study, group: Sequence[CellRows], cells: Sequence[CellRows], seed: int) -> Iterator[Judged]:
    """Each procedure in turns of a place under attack, judged; ``cells`` are those of the whole study."""
    where = group[0].where
    if not where[3]:
        return
    reference = reference_of(study, [cell.procedure for cell in group])
    base = next((cell for cell in group if cell.procedure == reference), None)
    honest = _alone(cells, HONEST_ALONE, where[:2])
    attacked = _alone(cells, ATTACKED_ALONE, where[:2], where[2])
    rates = [None if cell is None else cell.share(lambda row: row.score.right).value for cell in (honest, attacked)]
    for cell in group:
        if base is None or not cell.cell.arm.in_turns:
            continue
        threat = cell.cell.threat
        disruption = threat is not None and threat.attack.aim == "disruption"
        common = dict.fromkeys(name for name in cell.by_question if name in base.by_question)
        same = CellRows(cell.tasks, cell.cell, tuple(row for row in cell.rows if row.question in common))
        if not common:
            continue
        nulls = nulls_by_question(
            same,
            honest_right=1.0 if rates[0] is None else rates[0],
            corrupted_right=0.0 if rates[1] is None else rates[1],
        )
        solo = None
        if attacked is not None:
            worked = sum(row.score.none if disruption else row.score.target for row in attacked.rows)
            solo = (round(worked), len(attacked.rows))
        yield Judged(
            where=where,
            procedure=cell.procedure,
            reference=reference,
            rescue=judge_rescue(
                same.values(lambda row: row.score.right),
                base.values(lambda row: row.score.right, same.by_question),
                nulls,
                solo=solo,
                groups=same.stories(),
                seed=seed,
            ),
            nulls={name: sum(values) / len(values) for name, values in nulls.items()},
            honest_alone=rates[0],
            attacked_alone=rates[1],
            disruption=disruption,
        )


def _alone(cells: Sequence[CellRows], name: str, place: tuple[str, str], attack: str | None = None) -> CellRows | None:
    for cell in cells:
        fits = cell.procedure == name and (cell.tasks, cell.cell.lineup.name) == place
        if fits and (attack is None or cell.cell.attack == attack):
            return cell
    return None


def curve_of(cell: CellRows, seed: int) -> Curve | None:
    """What more texts do in a cell; None if there is but one, or none."""
    by_many = right_by_trajectories(cell)
    if len(by_many) < 2:
        return None
    change = compare_paired(by_many[-1], by_many[0], groups=cell.stories(), seed=seed)
    means = tuple(sum(values) / len(values) for values in by_many)
    return Curve(where=cell.where, procedure=cell.procedure, right=means, change=change)


def matches_of(study: Study, where: Where, figures: Sequence[Figures]) -> Iterator[Match]:
    """Each family's arm with the cost nearest to that of the first procedure in turns, or of the reference."""
    names = [one.procedure for one in figures]
    anchor = next((one for one in figures if one.in_turns), None)
    if anchor is None:
        anchor = next((one for one in figures if one.procedure == reference_of(study, names)), None)
    if anchor is None:
        return
    families = dict.fromkeys(one.family for one in figures if not one.check)
    for cost in ("decoded", "seconds"):
        for family in families:
            if family == anchor.family:
                continue
            own = [(_ratio(one, anchor, cost), one) for one in figures if one.family == family]
            ratio, one = min(own, key=lambda pair: math.inf if not pair[0] else abs(math.log(pair[0])))
            yield Match(
                where=where, anchor=anchor.procedure, cost=cost, procedure=one.procedure, ratio=ratio,
                right=one.right.value or 0.0,
            )  # fmt: skip


def _ratio(one: Figures, anchor: Figures, cost: str) -> float | None:
    first, second = getattr(one, cost), getattr(anchor, cost)
    return first / second if first is not None and second else None


def place_of(one: Figures) -> Where:
    """The place of a cell in the grid."""
    return (one.tasks, one.lineup, one.attack, one.corrupted)


def where_data(where: Where) -> dict[str, Any]:
    """A place of the grid as JSON-ready data."""
    return dict(zip(("tasks", "lineup", "attack", "corrupted"), where, strict=True))


def place_text(where: Where) -> str:
    """A place of the grid in words."""
    tasks, lineup, attack, corrupted = where
    return f"{tasks}, {lineup}, {corrupted} corrupted{f' ({attack})' if corrupted else ''}"
