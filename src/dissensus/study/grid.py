"""From a study to its runs: data set × line-up × procedure × attack × corrupted, then question × seed × placement.

What the same question has in common in all cells is drawn once: the wrong answer that is aimed at, the wording of the
attack, who sits where. So cells are compared on the same questions under the same circumstances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from dissensus.decide.single import SingleSettings
from dissensus.faults.attacks.corruption import Corruption, corrupted_seats, line_up
from dissensus.script.keys import seed_of
from dissensus.script.seats import Seat
from dissensus.study.arms import Arm, Settings
from dissensus.study.panel_digest import digest_of, model_data
from dissensus.study.placement import orders
from dissensus.study.study_file import LineUp, Study, Threat
from dissensus.study.task_sets import TaskSet
from dissensus.study.tasks.task import Task

NO_ATTACK: Final = "none"
HONEST_ALONE: Final = "honest agent alone"
ATTACKED_ALONE: Final = "attacked agent alone"
FORMAT: Final = 1
"""Changes whenever a unit means something else than before, so that it is run anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination: all its runs are averaged.

    Args:
        tasks, lineup, arm: names of the axes' values are theirs.
        threat: None where nobody is corrupted.
        corrupted: how many of the agents.
    """

    tasks: TaskSet
    lineup: LineUp
    arm: Arm
    threat: Threat | None
    corrupted: int

    @property
    def attack(self) -> str:
        """The name of the attack, or ``none``."""
        return self.threat.name if self.threat is not None else NO_ATTACK

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What tells it from all others."""
        return (self.tasks.name, self.lineup.name, self.arm.name, self.attack, self.corrupted)


@dataclass(frozen=True)
class Unit:
    """One run: a question, decided once in one cell.

    Args:
        study: what it is part of.
        cell: where in the grid.
        task: the question.
        number: its place among the tasks, from 0 on.
        seed: the study's seed for it.
        order: names of the agents by seat.
        corrupted: names of those that are.
    """

    study: Study
    cell: Cell
    task: Task
    number: int
    seed: int
    order: tuple[str, ...]
    corrupted: tuple[str, ...]

    @property
    def honest(self) -> tuple[str, ...]:
        """Names of those who are not corrupted, by seat."""
        return tuple(name for name in self.order if name not in self.corrupted)

    @cached_property
    def corruptions(self) -> Mapping[str, Corruption]:
        """How each corrupted agent is. Raises UsageError if no wrong answer can be made."""
        threat, task = self.cell.threat, self.task
        if threat is None:
            return {}
        return line_up(
            self.base,
            self.corrupted,
            threat.attack,
            task.question,
            shown=task.text,
            written=task.gold_written,
            lettered=task.lettered,
            others=[other.gold for other in self.cell.tasks.tasks],
            shared=threat.shared,
            strength=threat.strength,
            slot=threat.slot,
            wording=threat.wording,
            seed=self.study.seeds[0],
        )

    @property
    def target(self) -> str:
        """The wrong answer that is aimed at; "" where nobody is corrupted or each aims at one of its own."""
        targets = {one.target for one in self.corruptions.values()}
        return targets.pop() if len(targets) == 1 else ""

    @property
    def targets(self) -> tuple[str, ...]:
        """All wrong answers that are aimed at."""
        return tuple(dict.fromkeys(one.target for one in self.corruptions.values()))

    @property
    def base(self) -> tuple[Seat, ...]:
        """The agents' seats in file order, before anybody is corrupted."""
        return tuple(seat for seat in self.cell.lineup.panel.seats if not seat.spare)

    def seats(self, opened: Sequence[Seat] = ()) -> tuple[Seat, ...]:
        """The seats as they take part. ``opened`` are those of the opened panel, which know what their models can."""
        seats = tuple(seat for seat in opened if not seat.spare) or self.base
        if self.cell.arm.procedure == "vote":
            seats = tuple(replace(seat, max_tokens=self.length) for seat in seats)
        return corrupted_seats(seats, self.corruptions)

    @property
    def length(self) -> int:
        """Most tokens of one answer."""
        agents = len(self.order)
        honest = agents - len(self.corrupted)
        return self.cell.arm.length(agents, honest, length=self.study.length, decoded=self.study.decoded)

    @property
    def settings(self) -> Settings:
        """The procedure's settings."""
        return self.cell.arm.seated(
            self.order,
            self.honest,
            self.length,
            verifiers=self.task.verifiers,
            odds=sorted({self.task.gold, *self.targets}),
        )

    @property
    def data(self) -> dict[str, Any]:
        """All that stands in the record's first event beside seats and seed.

        The procedure is built from ``question``, without its right answer, and from its settings. What only the
        operator knows stands under ``truth``, which no procedure reads.
        """
        question = replace(self.task.question, gold=None, data={})
        return self.cell.arm.data(question, self.settings) | {
            "truth": {
                "task": self.task.id,
                "story": self.task.story,
                "gold": self.task.gold,
                "corrupted": list(self.corrupted),
                "targets": list(self.targets),
                "attacks": sorted(
                    {f"{one.attack} {one.version} {one.strength} {one.digest}" for one in self.corruptions.values()}
                ),
            }
        }

    @property
    def name(self) -> str:
        """Unique in the study, for people."""
        place = "".join("C" if agent in self.corrupted else "H" for agent in self.order)
        cell = self.cell
        where = f"{cell.tasks.name}/{cell.lineup.name}/{cell.arm.name}/{cell.attack}-{cell.corrupted}"
        return f"{where}/{self.task.id}/{self.seed}/{place}-{self.order[0]}"

    @cached_property
    def content(self) -> str:
        """Digest of everything that decides what is run, but for the seed. Names of the study's own are not in it."""
        panel = self.cell.lineup.panel
        return digest_of(
            {
                "format": FORMAT,
                "procedure": self.cell.arm.procedure,
                "data": self.data,
                "seats": [
                    {
                        "agent": seat.agent,
                        "model": model_data(panel, seat.agent),
                        "system": seat.system,
                        "context": seat.context,
                        "temperature": seat.temperature,
                        "max_tokens": seat.max_tokens,
                    }
                    for seat in self.seats()
                ],
            }
        )

    @property
    def run_seed(self) -> int:
        """The seed of the run: its own, since no two runs that differ in anything have the same content."""
        return seed_of(self.seed, self.content)

    @property
    def digest(self) -> str:
        """Digest of content and seed: a run with another digest is another run."""
        return digest_of([self.content, self.seed])


def cells_of(study: Study) -> Iterator[Cell]:
    """All cells, checks first, in the order of the file."""
    for tasks in study.tasks.values():
        for lineup in study.lineups.values():
            threats = [threat for threat in study.threats.values() if threat.corrupted]
            if study.checks:
                alone = check_arm(study)
                yield Cell(tasks=tasks, lineup=lineup, arm=alone, threat=None, corrupted=0)
                for threat in threats:
                    attacked = replace(alone, name=ATTACKED_ALONE, family=ATTACKED_ALONE)
                    yield Cell(tasks=tasks, lineup=lineup, arm=attacked, threat=threat, corrupted=1)
            for arm in study.arms.values():
                if 0 in study.corrupted and not arm.oracle:  # where all are honest it is a plain vote
                    yield Cell(tasks=tasks, lineup=lineup, arm=arm, threat=None, corrupted=0)
                for threat in threats:
                    for corrupted in threat.corrupted:
                        yield Cell(tasks=tasks, lineup=lineup, arm=arm, threat=threat, corrupted=corrupted)


def check_arm(study: Study) -> Arm:
    """An agent alone, with as many tokens as one text written in turns may have (K = L), or else one answer.

    It samples as the texts in turns do.
    """
    turns = [arm for arm in study.arms.values() if arm.in_turns]
    agents = max(len(lineup.agents) for lineup in study.lineups.values())
    lengths = [arm.length(agents, agents, length=study.length, decoded=study.decoded) for arm in turns]
    length = max(lengths, default=study.length or study.decoded)
    own = turns[0].settings if turns else SingleSettings()
    settings = SingleSettings(length=length, temperature=getattr(own, "temperature", 0.7))
    return Arm(
        name=HONEST_ALONE, family=HONEST_ALONE, procedure="single", settings=settings, swept={}, own_length=True,
        check=True,
    )  # fmt: skip


def units_of(study: Study) -> list[Unit]:
    """All runs, in an order in which what belongs together comes together: question by question within a line-up.

    So whatever is done when a study is cut has been done for all procedures alike.
    """
    found: list[tuple[int, int, int, int, Unit]] = []
    names = list(study.lineups)
    for place, cell in enumerate(cells_of(study)):
        for number, task in enumerate(cell.tasks.tasks):
            for seed in study.seeds:
                for order, corrupted in placed(study, cell, number, seed):
                    unit = Unit(study, cell, task, number, seed, order, corrupted)
                    found.append((names.index(cell.lineup.name), seed, number, place, unit))
    found.sort(key=lambda one: one[:4])
    return [one[4] for one in found]


def placed(study: Study, cell: Cell, number: int, seed: int) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The orders of the seats, and who is corrupted, for question ``number``; one, unless all placements are taken."""
    agents = cell.lineup.agents
    turn = number + seed
    if cell.arm.check:  # whoever it is sits first and is alone
        able = cell.lineup.corruptible if cell.corrupted else agents
        alone = able[turn % len(able)]
        yield (alone, *(name for name in agents if name != alone)), (alone,) * cell.corrupted
        return
    corrupted = cell.lineup.corruptible[: cell.corrupted]
    if corrupted:
        for order in orders(study.placement, agents, corrupted, turn):
            yield order, corrupted
    else:  # it makes no difference where nobody is corrupted, but for who begins
        yield next(orders("fixed" if study.placement == "fixed" else "rotated", agents, (), turn)), ()
