"""The figures of one cell: every run of one procedure, on one set of tasks, with one line-up, under one attack.

The unit of statistics is the question: runs of one question with several seeds or placements are averaged first, and
where questions share a story, stories are resampled and not questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from dissensus.decide.round_robin_settings import FIDELITIES
from dissensus.measure.paired import Interval, accuracy
from dissensus.measure.seats import null_votes
from dissensus.study.gather import Row, Score, WrittenText, score_of
from dissensus.study.grid import Cell

_EXACTNESS: Final[tuple[str, ...]] = FIDELITIES
ALL: Final = "all"
"""Name of the set of tasks that is all sets together."""

Where = tuple[str, str, str, int]
"""Tasks, line-up, attack and number of corrupted agents: what procedures are compared within."""


@dataclass(frozen=True)
class CellRows:
    """The runs of one cell. ``tasks`` is the name of its set, or ``all``."""

    tasks: str
    cell: Cell
    rows: tuple[Row, ...]

    @property
    def where(self) -> Where:
        """Within what it is compared."""
        return (self.tasks, self.cell.lineup.name, self.cell.attack, self.cell.corrupted)

    @property
    def procedure(self) -> str:
        """The name of the procedure."""
        return self.cell.arm.name

    @cached_property
    def by_question(self) -> dict[str, list[Row]]:
        """The runs of each question, in the order of the questions."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in sorted(self.rows, key=lambda row: row.unit.number):
            found[row.question].append(row)
        return dict(found)

    def values(self, of: Callable[[Row], float], questions: Iterable[str] | None = None) -> list[float]:
        """The mean of ``of`` over the runs of each question."""
        return [
            sum(map(of, self.by_question[name])) / len(self.by_question[name])
            for name in (self.by_question if questions is None else questions)
        ]

    def stories(self, questions: Iterable[str] | None = None) -> list[str] | None:
        """The story of each question; None if no two share one."""
        names = list(self.by_question if questions is None else questions)
        found = [self.by_question[name][0].unit.task.story for name in names]
        return found if len(set(found)) < len(found) else None

    def share(self, of: Callable[[Row], float]) -> Interval:
        """The mean of ``of`` over the questions, with its interval."""
        return accuracy(self.values(of), self.stories())

    def mean(self, of: Callable[[Row], float | None]) -> float | None:
        """The mean over all runs; None if one of them does not know it."""
        values = [of(row) for row in self.rows]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is reported of a cell.

    Args:
        tasks, lineup, procedure, family, attack, corrupted, agents: which cell.
        questions, runs: how many.
        right, target, none, other: shares of the decisions, which add up to 1; ``right`` and ``target`` with intervals.
        decoded, computed, read, seconds, calls: means of a run; None where it is not known.
        in_sequence: answers of full length that wait for one another.
        trajectories: M.
        swept: the values of what is swept.
        ends: how texts written in turns ended.
        lost, failed_turns: calls that did not come about, and turns that failed.
        fidelity: the least exact way in which a text was continued; "" for other procedures.
        check, oracle, scripted, in_turns: what kind of cell it is.
    """

    tasks: str
    lineup: str
    procedure: str
    family: str
    attack: str
    corrupted: int
    agents: int
    questions: int
    runs: int
    right: Interval
    target: Interval
    none: float
    other: float
    decoded: float | None
    computed: float | None
    read: float | None
    seconds: float
    calls: float
    in_sequence: int
    trajectories: int
    swept: dict[str, Any] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    failed_turns: int = 0
    fidelity: str = ""
    check: bool = False
    oracle: bool = False
    scripted: bool = False
    in_turns: bool = False

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return data | {"right": self.right.to_data(), "target": self.target.to_data()}


def figures_of(cell: CellRows) -> Figures:
    """The figures of a cell."""
    arm, lineup = cell.cell.arm, cell.cell.lineup
    agents = len(lineup.agents)
    ends = Counter(text.end for row in cell.rows for text in row.texts)
    return Figures(
        tasks=cell.tasks,
        lineup=lineup.name,
        procedure=arm.name,
        family=arm.family,
        attack=cell.cell.attack,
        corrupted=cell.cell.corrupted,
        agents=1 if arm.check else agents,
        questions=len(cell.by_question),
        runs=len(cell.rows),
        right=cell.share(lambda row: row.score.right),
        target=cell.share(lambda row: row.score.target),
        none=_mean(cell.values(lambda row: row.score.none)),
        other=_mean(cell.values(lambda row: row.score.other)),
        decoded=cell.mean(lambda row: row.usage.decoded),
        computed=cell.mean(lambda row: row.usage.computed),
        read=cell.mean(lambda row: row.usage.read),
        seconds=cell.mean(lambda row: row.usage.seconds) or 0.0,
        calls=cell.mean(lambda row: row.usage.calls) or 0.0,
        in_sequence=arm.in_sequence(agents),
        trajectories=arm.trajectories(agents),
        swept=dict(arm.swept),
        ends=dict(sorted(ends.items())),
        lost=sum(row.lost for row in cell.rows),
        failed_turns=sum(text.failed for row in cell.rows for text in row.texts),
        fidelity=max((row.fidelity for row in cell.rows if row.fidelity), key=_EXACTNESS.index, default=""),
        check=arm.check,
        oracle=arm.oracle,
        scripted=lineup.scripted,
        in_turns=arm.in_turns,
    )


def cells_from(rows: Iterable[Row]) -> list[CellRows]:
    """The cells of a study's rows in the order of the file, and over all sets of tasks where there are several."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    sets: set[str] = set()
    for row in rows:
        cell = row.unit.cell
        sets.add(cell.tasks.name)
        groups[tuple(map(str, cell.key))].append(row)
    found = [CellRows(group[0].unit.cell.tasks.name, group[0].unit.cell, tuple(group)) for group in groups.values()]
    if len(sets) < 2:
        return found
    pooled: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for key, group in groups.items():
        pooled[key[1:]] += group
    return [
        *found,
        *(
            CellRows(ALL, group[0].unit.cell, tuple(group))
            for group in pooled.values()
            if len({row.unit.cell.tasks.name for row in group}) == len(sets)
        ),
    ]


def right_by_trajectories(cell: CellRows) -> list[list[float]]:
    """For m = 1 … M texts of a run, the share right of the vote over them, by question: shape (M, Q).

    All runs of ``m`` neighbouring texts are averaged, so that each text, and each seat that begins one, counts alike.
    """
    most = min((len(row.texts) for row in cell.rows), default=0)
    return [
        cell.values(lambda row, many=many: _window(row, many))  # type: ignore[misc] # mypy sees no default in a lambda
        for many in range(1, most + 1)
    ]


def _window(row: Row, many: int) -> float:
    total = len(row.texts)
    windows = [[row.texts[(start + step) % total] for step in range(many)] for start in range(total)]
    windows = windows[:1] if many == total else windows
    return sum(vote_over(row, texts).right for texts in windows) / len(windows)


def vote_over(row: Row, texts: Sequence[WrittenText]) -> Score:
    """What a plurality of ``texts`` comes to; ties share."""
    votes = Counter(text.answer for text in texts if text.answer is not None)
    if not votes:
        return Score(none=1.0)
    best = max(votes.values())
    tied = [answer for answer, many in votes.items() if many == best]
    return score_of(row.unit.task, {answer: Fraction(1, len(tied)) for answer in tied}, row.unit.targets)


def nulls_by_question(cell: CellRows, *, honest_right: float, corrupted_right: float) -> dict[str, list[float]]:
    """What each null model makes of each question, by question in their order: who wrote, without a look at what."""
    found: dict[str, list[float]] = defaultdict(list)
    for group in cell.by_question.values():
        made = [
            null_votes([text.turns for text in row.texts], honest_right=honest_right, corrupted_right=corrupted_right)
            for row in group
        ]
        known = [one for one in made if one is not None]
        for name in known[0] if known else ():
            found[name].append(sum(one[name] for one in known) / len(known))
    sizes = {len(values) for values in found.values()}
    return dict(found) if sizes == {len(cell.by_question)} else {}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
