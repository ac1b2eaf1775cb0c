"""One of ``procedures`` in a study file: a procedure with its settings; a setting that is a list is swept.

What follows from an arm before anything is run stands here too: how many answers it decodes at most, and how many of
these wait for one another. The first is equal decoded tokens, the second is what bounds equal wall clock: no number of
servers makes it shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Final

from dissensus.agents.entries import nearest
from dissensus.decide.answering import AnswerSettings
from dissensus.decide.defences import DEFENCES, settings_of_defence
from dissensus.decide.honest_only import OracleSettings
from dissensus.decide.procedures import settings_of_round_robin, settings_of_vote
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.settings import VoteSettings
from dissensus.errors import SpecError
from dissensus.script.questions import Question
from dissensus.specfile import Place, Spec

Settings = RoundRobinSettings | VoteSettings | AnswerSettings
KINDS: Final[Mapping[str, type[Settings]]] = {
    "round-robin": RoundRobinSettings,
    "vote": VoteSettings,
    **{name: one.settings for name, one in DEFENCES.items()},
}
"""Procedure to the class of its settings."""

IN_TURNS: Final = "round-robin"
VOTES: Final = ("maj", "vote")
_OWN: Final = ("order", "honest", "ear_candidates")
"""Settings that the study fills in: who sits where, what the oracle is told, whose odds receivers are asked for."""
MOST_ARMS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A procedure with its settings.

    Args:
        name: as in tables: the file's name, with the values of what is swept.
        family: the file's name.
        procedure: a name in :data:`KINDS`.
        settings: as the file has them; ``length`` and ``order`` are filled in for each run.
        swept: the values of what is swept, by setting.
        own_length: whether the file gives this arm a length of its own.
        task_verifiers: whether each question's own verifiers are used.
        check: it is no arm of the file but a check: an agent alone.
    """

    name: str
    family: str
    procedure: str
    settings: Settings
    swept: Mapping[str, Any]
    own_length: bool = False
    task_verifiers: bool = False
    check: bool = False

    @property
    def in_turns(self) -> bool:
        """Whether agents write one text in turns."""
        return self.procedure == IN_TURNS

    @property
    def oracle(self) -> bool:
        """Whether it is told who is honest."""
        return self.settings.__class__ is OracleSettings

    def trajectories(self, agents: int) -> int:
        """M: how many texts, or whole debates, are voted on."""
        if isinstance(self.settings, RoundRobinSettings):
            return self.settings.texts(agents)
        return getattr(self.settings, "trajectories", 1)

    def most_calls(self, agents: int, honest: int) -> int:
        """Answers of full length that are decoded at most."""
        if isinstance(self.settings, RoundRobinSettings):
            return self.settings.texts(agents)
        if isinstance(self.settings, VoteSettings):
            return agents
        return self.settings.most_calls(honest if self.oracle else agents)

    def in_sequence(self, agents: int) -> int:
        """How many of these wait for one another."""
        return self.settings.in_sequence(agents) if isinstance(self.settings, AnswerSettings) else 1

    def length(self, agents: int, honest: int, *, length: int, decoded: int) -> int:
        """Most tokens of one answer, from the study's ``length``, or from the most that a question may take."""
        own = getattr(self.settings, "length", 0)
        if self.own_length:
            return int(own)
        return length or max(1, decoded // self.most_calls(agents, honest))

    def seated(
        self, order: Sequence[str], honest: Sequence[str], length: int, *, verifiers: Sequence[str], odds: Sequence[str]
    ) -> Settings:
        """The settings of one run.

        Args:
            order: the agents by seat.
            honest: those who are not corrupted, for the oracle.
            length: most tokens of an answer.
            verifiers: those that can judge answers to the question.
            odds: the right answer and the target, in an order that tells nothing: whose odds receivers are asked for.
        """
        settings = self.settings
        if isinstance(settings, VoteSettings):
            return settings
        if isinstance(settings, RoundRobinSettings):
            more: dict[str, Any] = {"verifiers": tuple(verifiers)} if self.task_verifiers else {}
            listens = settings.ear in ("drift", "both") and settings.weight == "none" and not settings.ear_candidates
            if listens and len(odds) > 1:
                more["ear_candidates"] = tuple(odds)
            return replace(settings, length=length, order=tuple(order), **more)
        if isinstance(settings, OracleSettings):
            settings = replace(settings, honest=tuple(honest))
        return replace(settings, length=length, order=tuple(order))

    def data(self, question: Question, settings: Settings) -> dict[str, Any]:
        """What the procedure is built from, as JSON data."""
        if isinstance(settings, RoundRobinSettings):
            return settings_of_round_robin(question, settings)
        if isinstance(settings, VoteSettings):
            return settings_of_vote(question, settings)
        return settings_of_defence(question, settings)


def arms_of(spec: Spec, name: str, given: Any, place: Place) -> Iterator[Arm]:
    """The arms that ``given``, which stands at ``place``, describes. Raises SpecError for whatever is wrong with it."""
    if not isinstance(given, Mapping):
        raise spec.wrong(place, "A procedure has to be a mapping.", next_step="Write it like {procedure: maj}.")
    procedure = str(given.get("procedure"))
    if procedure not in KINDS:
        hint = nearest(procedure, list(KINDS))
        raise spec.wrong((*place, "procedure"), f"There is no procedure {procedure!r} to study.", next_step=hint)
    kind = KINDS[procedure]
    known = [one.name for one in fields(kind) if one.name not in _OWN]
    values: dict[str, list[Any]] = {}
    for key, value in given.items():
        if key == "procedure":
            continue
        if key not in known:
            hint = nearest(key, known)
            raise spec.wrong((*place, key), f"The procedure {procedure} has no setting {key!r}.", next_step=hint)
        values[key] = _swept(kind, key, value)
        if not values[key]:
            raise spec.wrong((*place, key), f'"{key}" is an empty list.', next_step="Give it at least one value.")
    several = [key for key, listed in values.items() if len(listed) > 1]
    count = 1
    for listed in values.values():
        count *= len(listed)
    if count > MOST_ARMS:
        raise spec.wrong(place, f"This sweeps {count:,} combinations.", next_step=f"Use at most {MOST_ARMS}.")
    for chosen in product(*values.values()):
        data = dict(zip(values, chosen, strict=True))
        swept = {key: data[key] for key in several}
        if procedure == IN_TURNS:
            data.setdefault("top_p", None)  # as all others, it samples as its models are set to
        by_task = data.get("verifiers") == "task"
        if by_task:
            del data["verifiers"]
        try:
            settings = kind.from_data(data)
        except SpecError as error:
            raise spec.wrong(place, error.message, next_step=error.next_step) from None
        yield Arm(
            name=", ".join([name, *(f"{key} {value}" for key, value in swept.items())]),
            family=name,
            procedure=procedure,
            settings=settings,
            swept=swept,
            own_length="length" in data,
            task_verifiers=by_task,
        )


def _swept(kind: type[Settings], key: str, value: Any) -> list[Any]:
    """The values of a setting: the items of a list, unless the setting itself is one."""
    if not isinstance(value, list):
        return [value]
    if any("tuple" in str(one.type) for one in fields(kind) if one.name == key):
        return list(value) if value and all(isinstance(one, list) for one in value) else [value]
    return list(value)
