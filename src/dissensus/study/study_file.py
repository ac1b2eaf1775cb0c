"""The study file: YAML in, :class:`Study` out.

::

    study: collapse                    # its name
    tasks:
      chains: {generate: chains, count: 20, steps: 4}
      gsm8k: {file: test.jsonl, format: gsm8k, take: 20, order: shuffled}
    lineups:
      five: {panel: panel.yaml, corrupt: [eve, dan]}      # who may be corrupted, the first ones first
      other:                                              # or the panel itself
        models: {small: {use: "llama:smollm2-135m"}}
        agents: [{count: 3, model: small}]
    attacks:
      order: {attack: imperative, strength: strong, slot: context, target: shared}
    corrupted: [0, 2, 3]               # how many of the agents
    placement: dealt                   # dealt | all | rotated | random | fixed, or an order such as HCHCC
    length: 300                        # most tokens of one answer; or decoded: 1500, most tokens of one question
    procedures:
      vote: {procedure: maj}
      in turns: {procedure: round-robin, k: [50, 100], trajectories: 5}     # a list is swept
    seeds: 2

Paths are taken from the folder of the file. What is wrong is told with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dissensus.agents.entries import Entry, Line, Text, nearest, read_entry
from dissensus.agents.panel import Panel
from dissensus.agents.panel_file import panel_of, read_panel
from dissensus.errors import SpecError, UsageError
from dissensus.faults.attacks.loading import find_attack, shipped
from dissensus.faults.attacks.template import Attack
from dissensus.specfile import Place, Spec, read_spec
from dissensus.study.arms import Arm, arms_of
from dissensus.study.placement import PLACEMENTS, is_order
from dissensus.study.task_sets import TaskSet, task_set

WHAT: Final = "study file"
MOST_SEEDS: Final = 1000

Count = Annotated[int, Field(ge=0, le=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineUp:
    """Who takes part.

    Args:
        name: as the file has it.
        panel: the panel.
        corruptible: names of those who may be corrupted, in the order in which they are.
        scripted: whether any of them is scripted: a toy, and no evidence about models.
    """

    name: str
    panel: Panel
    corruptible: tuple[str, ...]
    scripted: bool

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of those who take part, spares left out, in file order."""
        return tuple(seat.agent for seat in self.panel.seats if not seat.spare)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threat:
    """An attack as the study uses it.

    Args:
        name: as the file has it.
        attack: its texts.
        strength, slot, wording: which of them, and where they sit; no wording draws one for each question.
        shared: all corrupted agents aim at one wrong answer.
        corrupted: how many agents it corrupts.
    """

    name: str
    attack: Attack
    strength: str
    slot: str
    wording: int | None
    shared: bool
    corrupted: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A grid of runs.

    Args:
        name, about: for people.
        path: of the file.
        tasks, lineups, threats, arms: the axes, by name.
        corrupted: how many agents are corrupted, unless an attack has numbers of its own; 0 is without an attack.
        placement: where they sit.
        seeds: each question is asked once with each.
        length, decoded: see the module's head; one of them is 0.
        checks: whether each agent's answer alone, honest and corrupted, is measured too.
        reference: name of the arm that others are compared with; "" if there is none.
        jobs: runs side by side.
    """

    name: str
    path: str
    tasks: Mapping[str, TaskSet]
    lineups: Mapping[str, LineUp]
    arms: Mapping[str, Arm]
    about: str = ""
    threats: Mapping[str, Threat] = field(default_factory=dict)
    corrupted: tuple[int, ...] = (0,)
    placement: str = "dealt"
    seeds: tuple[int, ...] = (0,)
    length: int = 0
    decoded: int = 0
    checks: bool = True
    reference: str = ""
    jobs: int = 1


class StudyEntry(Entry):
    """The whole file."""

    study: Line
    about: str = ""
    seeds: int | list[int] = 1
    tasks: dict[str, Any]
    lineups: dict[str, Any]
    attacks: dict[str, Any] = Field(default_factory=dict)
    corrupted: Annotated[list[Count], Field(min_length=1)] = Field(default_factory=lambda: [0])
    placement: Text = "dealt"
    length: Annotated[int, Field(ge=1)] | None = None
    decoded: Annotated[int, Field(ge=1)] | None = None
    procedures: dict[str, Any]
    checks: bool = True
    reference: str = ""
    jobs: Annotated[int, Field(ge=1, le=1000)] = 1


class AttackEntry(Entry):
    """One of ``attacks``."""

    attack: Text
    strength: Literal["mild", "moderate", "strong"] = "strong"
    slot: Literal["context", "system", "quoted"] = "context"
    wording: Annotated[int, Field(ge=0)] | None = None
    target: Literal["shared", "own"] = "shared"
    corrupted: Annotated[list[Count], Field(min_length=1)] | None = None


def read_study(path: str | Path) -> Study:
    """The study in the file at ``path``. Raises SpecError for whatever is wrong with it, or with a file it names."""
    return study_of(read_spec(path, WHAT))


def study_of(spec: Spec) -> Study:
    """The study that ``spec`` describes. Raises SpecError for whatever is wrong with it."""
    whole = read_entry(StudyEntry, spec, spec.data, (), "a study file")
    for key in ("tasks", "lineups", "procedures"):
        if not getattr(whole, key):
            raise spec.wrong((key,), f'"{key}" is empty.', next_step="Name at least one.")
    if (whole.length is None) is (whole.decoded is None):
        raise spec.wrong(
            ("decoded",) if whole.decoded else (),
            'A study has either a "length" or "decoded".',
            next_step="Give the most tokens of one answer, or the most that a question may take with each procedure.",
        )
    seeds = _seeds(spec, whole.seeds)
    lineups = {name: _lineup(spec, name, given, ("lineups", name)) for name, given in whole.lineups.items()}
    corrupted = _counts(spec, whole.corrupted, lineups, ("corrupted",))
    threats = {name: _threat(spec, name, given, lineups, corrupted) for name, given in whole.attacks.items()}
    if any(corrupted) and not threats:
        raise spec.wrong(
            ("corrupted",), "Agents are to be corrupted, and there is no attack.", next_step="Name one under `attacks`."
        )
    arms = {
        arm.name: arm
        for name, given in whole.procedures.items()
        for arm in arms_of(spec, _named(spec, name, ("procedures", name)), given, ("procedures", name))
    }
    if whole.reference and whole.reference not in {arm.family for arm in arms.values()} | arms.keys():
        hint = nearest(whole.reference, list(arms))
        raise spec.wrong(("reference",), f'No procedure is called "{whole.reference}".', next_step=hint)
    return Study(
        name=_named(spec, whole.study, ("study",)),
        about=" ".join(whole.about.split()),
        path=spec.path,
        tasks={
            name: task_set(spec, _named(spec, name, ("tasks", name)), given, ("tasks", name), seed=seeds[0])
            for name, given in whole.tasks.items()
        },
        lineups=lineups,
        threats=threats,
        arms=arms,
        corrupted=corrupted,
        placement=_placement(spec, whole.placement, lineups, [*threats.values()]),
        seeds=seeds,
        length=whole.length or 0,
        decoded=whole.decoded or 0,
        checks=whole.checks,
        reference=whole.reference,
        jobs=whole.jobs,
    )


def _named(spec: Spec, name: str, place: Place) -> str:
    """A name that can stand in a file's name and in a table."""
    if not re.fullmatch(r"\w[\w .,+-]{0,59}", name):
        raise spec.wrong(
            place,
            f"The name {name[:60]!r} cannot be used.",
            next_step="Use up to 60 letters, digits, spaces and the signs _ . , + -",
        )
    return name


def _seeds(spec: Spec, given: int | list[int]) -> tuple[int, ...]:
    seeds = tuple(range(given)) if isinstance(given, int) else tuple(given)
    if not seeds or len(seeds) > MOST_SEEDS or len(set(seeds)) < len(seeds):
        raise spec.wrong(
            ("seeds",), "There are no seeds, too many, or one twice.", next_step="Give a number, or a list of them."
        )
    return seeds


def inside(spec: Spec, data: Any, place: Place) -> Spec:
    """The part of ``spec`` at ``place`` as a file of its own that still knows its lines."""

    def within(places: Mapping[Place, int]) -> dict[Place, int]:
        return {key[len(place) :]: line for key, line in places.items() if key[: len(place)] == place}

    return Spec(spec.path, dict(data), within(spec.lines), within(spec.columns))


def _lineup(spec: Spec, name: str, given: Any, place: Place) -> LineUp:
    name = _named(spec, name, place)
    if not isinstance(given, Mapping):
        raise spec.wrong(place, "A line-up has to be a mapping: a panel file, or agents.", next_step="panel: FILE.yaml")
    rest = {key: value for key, value in given.items() if key not in ("corrupt", "panel")}
    if "panel" in given:
        if rest:
            raise spec.wrong(
                (*place, next(iter(rest))), "A line-up has a panel file or agents, not both.", next_step="Keep one."
            )
        panel = read_panel(Path(spec.path).parent / str(given["panel"]))
    else:
        panel = panel_of(inside(spec, rest, place))
    agents = [seat.agent for seat in panel.seats if not seat.spare]
    corrupt = given.get("corrupt")
    if corrupt is not None and not (
        isinstance(corrupt, list) and len({*map(str, corrupt)}) == len(corrupt) and {*corrupt} <= {*agents}
    ):
        raise spec.wrong(
            (*place, "corrupt"),
            "Those who may be corrupted have to be agents of the line-up, each named once.",
            next_step=f"The agents are {', '.join(agents)}.",
        )
    scripted = any(model.reference.startswith("scripted") for model in panel.models.values())
    return LineUp(name=name, panel=panel, corruptible=tuple(corrupt or agents), scripted=scripted)


def _threat(spec: Spec, name: str, given: Any, lineups: Mapping[str, LineUp], corrupted: tuple[int, ...]) -> Threat:
    place: Place = ("attacks", name)
    entry = read_entry(AttackEntry, spec, given, place, "an attack")
    file = Path(spec.path).parent / entry.attack
    try:
        attack = find_attack(str(file) if entry.attack not in shipped() and file.is_file() else entry.attack)
    except SpecError as error:
        if error.path and error.line:
            raise
        raise spec.wrong((*place, "attack"), error.message, next_step=error.next_step) from None
    try:
        wordings = attack.of(entry.strength)
    except UsageError as error:
        raise spec.wrong((*place, "strength"), error.message, next_step=error.next_step) from None
    if entry.wording is not None and entry.wording >= len(wordings):
        raise spec.wrong(
            (*place, "wording"),
            f"The attack has {len(wordings)} wordings of this strength.",
            next_step=f"Use 0 to {len(wordings) - 1}, or leave it out to draw one for each question.",
        )
    own = corrupted
    if entry.corrupted is not None:
        own = _counts(spec, entry.corrupted, lineups, (*place, "corrupted"))
    return Threat(
        name=_named(spec, name, place),
        attack=attack,
        strength=entry.strength,
        slot=entry.slot,
        wording=entry.wording,
        shared=entry.target == "shared",
        corrupted=tuple(number for number in own if number),
    )


def _counts(spec: Spec, given: list[int], lineups: Mapping[str, LineUp], place: Place) -> tuple[int, ...]:
    for at, number in enumerate(given):
        for one in lineups.values():
            if number > len(one.corruptible):
                raise spec.wrong(
                    (*place, at),
                    f"{number} agents of the line-up {one.name} cannot be corrupted: {len(one.corruptible)} may be.",
                    next_step="Name fewer, or more agents under `corrupt`.",
                )
    return tuple(dict.fromkeys(given))


def _placement(spec: Spec, given: str, lineups: Mapping[str, LineUp], threats: Sequence[Threat]) -> str:
    if given in PLACEMENTS:
        return given
    sizes = {len(one.agents) for one in lineups.values()}
    many = {number for threat in threats for number in threat.corrupted}
    if is_order(given) and sizes == {len(given)} and many <= {given.count("C")}:
        return given
    raise spec.wrong(
        ("placement",),
        f"The corrupted agents cannot be placed as {given[:40]!r}.",
        next_step=f"Use one of {', '.join(PLACEMENTS)}, or a letter for each seat (H, C) that fits every line-up.",
    )
