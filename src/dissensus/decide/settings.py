"""Everything about a vote that is fixed before anybody is asked. It stands in the record's first event."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import msgspec

from dissensus.decide.measured import Measured
from dissensus.decide.tally import Rule
from dissensus.errors import SpecError
from dissensus.script.seats import Seat

Lever = Literal["temperature", "styles", "rephrase", "shuffle"]
LEVERS: tuple[Lever, ...] = ("temperature", "styles", "rephrase", "shuffle")
ReadBy = Literal["auto", "schema", "parser", "log-probability"]
Route = Literal["report", "check", "stronger"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteSettings:
    """How a vote is held.

    Args:
        rule: ``plurality`` (most votes; a tie is a split) or ``majority`` (more than half of all configured weight).
        levers: what makes agents of one model err less alike; None means all of them where all voters share one
            model, and none otherwise. ``temperature``: nobody samples greedily. ``styles``: each reasons in its own
            way. ``rephrase``: each reads other words around the question. ``shuffle``: each sees the options in
            its own order. (Different models, the strongest lever, is a matter of the panel.)
        temperature: sampling temperature of every voter; None leaves it to the seats.
        read_by: how answers are read. ``schema``: JSON held to a schema, where the back end can; ``parser``: free text;
            ``log-probability``: options are scored, not written. ``auto`` chooses for each seat.
        weak_models: models too weak to name a letter or to follow a format: ``auto`` scores options for them and
            shows them worked examples of numbers.
        group_by: free texts are the same by their normal ``form``, or also by a ``model``'s judgement.
        grouper: name of the seat whose judgement that is; it does not vote.
        stop: ``all`` waits for every ballot; ``when-decided`` gives up those that can change nothing any more.
        checks: names of the outside checks to try answers against.
        check_rule: ``beside`` shows verdicts beside the vote; ``overrule`` lets them change the answer.
        on_disagreement: what to do when two ballots differ.
        on_unanimity: what to do when agents of one model all agree and no check has accepted the answer.
        stronger: name of a seat that does not vote and is asked when a route says ``stronger``.
        stronger_decides: whether its answer becomes the answer, or stands beside the vote.
        profile: what the panel's agreement has been worth on labelled questions; None if it was not measured.
        hollow_below: with a profile, unanimity is hollow if the low end of its measured share right is below this,
            whatever models the agents have; None judges by the models alone.
    """

    rule: Rule = "plurality"
    levers: tuple[Lever, ...] | None = None
    temperature: float | None = None
    read_by: ReadBy = "auto"
    weak_models: tuple[str, ...] = ()
    group_by: Literal["form", "model"] = "form"
    grouper: str = ""
    stop: Literal["all", "when-decided"] = "all"
    checks: tuple[str, ...] = ()
    check_rule: Literal["beside", "overrule"] = "beside"
    on_disagreement: Route = "report"
    on_unanimity: Route = "report"
    stronger: str = ""
    stronger_decides: bool = False
    profile: Measured | None = None
    hollow_below: float | None = None

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> VoteSettings:
        """The settings that :meth:`to_data` wrote. Raises SpecError for a name or value that does not exist."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(data.keys() - set(known)):
            raise SpecError(f"A vote has no setting {unknown[0]!r}.", next_step=f"Known are: {', '.join(known)}.")
        try:
            return msgspec.convert(dict(data), cls)
        except msgspec.ValidationError as problem:
            raise SpecError(f"A setting of the vote is wrong: {problem}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Who does what: voters, spares for silent ones, one to ask when a route says so, one that groups answers."""

    voters: tuple[Seat, ...]
    spares: tuple[Seat, ...]
    stronger: Seat | None
    grouper: Seat | None

    @property
    def one_model(self) -> bool:
        """Whether all voters are the same model (one voter alone shares it with nobody)."""
        return len(self.voters) > 1 and len({seat.model for seat in self.voters}) == 1


def assign(seats: Sequence[Seat], settings: VoteSettings) -> Roles:
    """Give each seat its role. Raises SpecError for settings that contradict each other or the seats."""
    by_name = {seat.agent: seat for seat in seats}
    if len(by_name) < len(seats):
        raise SpecError("Two agents of the panel have the same name.", next_step="Give each agent its own.")
    for role, name in (("stronger", settings.stronger), ("grouper", settings.grouper)):
        if name and name not in by_name:
            raise SpecError(f"There is no agent {name!r} in the panel to be the {role}.", next_step="Add its seat.")
    aside = {settings.stronger, settings.grouper}
    voters = tuple(seat for seat in seats if not seat.spare and seat.agent not in aside)
    if not voters:
        raise SpecError("Nobody votes: the panel has no agent that is not a spare.", next_step="Add an agent.")
    routes = (settings.on_disagreement, settings.on_unanimity)
    if "stronger" in routes and not settings.stronger:
        raise SpecError("A route leads to a stronger model, and none is named.", next_step="Name it with --stronger.")
    if "check" in routes and not settings.checks:
        raise SpecError("A route leads to an outside check, and there is none.", next_step="Give one with --check.")
    if settings.check_rule == "overrule" and not settings.checks:
        raise SpecError("A check is to overrule the vote, and there is none.", next_step="Give one with --check.")
    if settings.stronger_decides and not settings.stronger:
        raise SpecError("A stronger model is to decide, and none is named.", next_step="Name it with --stronger.")
    for name, value in _numbers(seats, settings):
        if not math.isfinite(value):
            raise SpecError(f"The {name} cannot be {value}.", next_step="Give a finite number.")
    if settings.group_by == "model" and not settings.grouper:
        raise SpecError("Answers are to be grouped by a model, and no agent is named.", next_step="Set `grouper`.")
    if settings.group_by == "model" and settings.stop == "when-decided":
        raise SpecError(
            "A vote whose answers a model groups cannot stop early: its last groups are known only at the end.",
            next_step="Use --stop all, or group by form.",
        )
    if settings.hollow_below is not None and not 0 <= settings.hollow_below <= 1:
        raise SpecError(f"A share of {settings.hollow_below} cannot be.", next_step="Give one from 0 to 1.")
    if settings.hollow_below is not None and (settings.profile is None or settings.profile.too_few):
        raise SpecError(
            "What hollow unanimity is, is to be judged by measured figures, and the panel has none.",
            next_step="Measure it with `dissensus calibrate`, or judge by the models alone.",
        )
    if len(set(settings.checks)) < len(settings.checks):
        raise SpecError("The same check is named twice.", next_step="Name each check once.")
    return Roles(
        voters=voters,
        spares=tuple(seat for seat in seats if seat.spare and seat.agent not in aside),
        stronger=by_name.get(settings.stronger),
        grouper=by_name.get(settings.grouper),
    )


def _numbers(seats: Sequence[Seat], settings: VoteSettings) -> Iterator[tuple[str, float]]:
    """Every number that a call is made with, and what to call it."""
    yield "temperature of the voters", settings.temperature or 0.0
    for seat in seats:
        yield f"temperature of {seat.agent}", seat.temperature
        yield f"deadline of {seat.agent}", seat.deadline_s or 0.0
