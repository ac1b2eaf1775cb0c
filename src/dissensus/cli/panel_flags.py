"""From the flags of ``decide`` to a panel: who votes, who steps in, and who is asked when a route says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dissensus.agents.panel import ModelSpec, Panel, default_panel, load_panel
from dissensus.agents.personas import system_prompt
from dissensus.agents.weak import weak_models
from dissensus.decide.settings import LEVERS, Lever, VoteSettings
from dissensus.errors import SpecError, UsageError
from dissensus.run.api import DEFAULT_MODEL
from dissensus.script.seats import Seat

DEFAULT_AGENTS = 5


def panel_from(
    path: str | None,
    models: Sequence[str],
    agents: int | None,
    *,
    spares: int,
    levers: tuple[Lever, ...] | None,
    fallback: str,
) -> Panel:
    """The panel of a file, or one of ``agents`` agents on ``models``, each model in turn.

    Agents on one model get a reasoning style and a temperature each, unless ``levers`` leaves these out.
    Raises UsageError if both are named.
    """
    if path is not None:
        if models or agents is not None or spares:
            raise UsageError(
                "--panel says who takes part, so --model, --agents and --spares cannot be given beside it.",
                next_step="Leave out one or the other.",
            )
        return load_panel(path)
    references = list(models) or [fallback]
    count = max(DEFAULT_AGENTS, len(references)) if agents is None else agents
    if count < len(references):
        raise UsageError(f"{count} agents cannot be shared among {len(references)} models.", next_step="Add agents.")
    vary = len(references) == 1
    panel = default_panel(references[0], count, vary=vary, spares=spares)
    names = {reference: f"model{place}" for place, reference in enumerate(references, 1)}
    seats = []
    for place, seat in enumerate(panel.seats):
        reference = references[place % len(references)]
        seats.append(_with_levers(replace(seat, model=reference), levers, vary=vary))
    return replace(
        panel,
        seats=tuple(seats),
        models={names[reference]: ModelSpec(reference=reference) for reference in references},
        model_of={seat.agent: names[seat.model] for seat in seats},
    )


def _with_levers(seat: Seat, levers: tuple[Lever, ...] | None, *, vary: bool) -> Seat:
    """``seat`` without the style or the temperature of its own that the levers do not allow."""
    if not vary or levers is None:
        return seat
    if "styles" not in levers:
        seat = replace(seat, style="", system=system_prompt(language=seat.language))
    return seat if "temperature" in levers else replace(seat, temperature=Seat(agent="", model="").temperature)


def levers_from(named: str | None) -> tuple[Lever, ...] | None:
    """The levers in ``temperature,shuffle``; none of them for ``none``; None if nothing was named."""
    if named is None:
        return None
    parts = [part.strip() for part in named.split(",") if part.strip() and part.strip() != "none"]
    if unknown := [part for part in parts if part not in LEVERS]:
        raise UsageError(f"There is no lever {unknown[0]!r}.", next_step=f"Known are {', '.join(LEVERS)}, or none.")
    return tuple(lever for lever in LEVERS if lever in parts)


def asked_panel(flags: Mapping[str, Any]) -> tuple[Panel, VoteSettings]:
    """The panel that ``calibrate`` measures, and how it is asked: as ``decide`` asks it under the same flags."""
    levers = levers_from(flags["levers"])
    panel = panel_from(
        flags["panel"], flags["models"], flags["agents"], spares=0, levers=levers, fallback=DEFAULT_MODEL
    )
    panel = adjusted(panel, max_tokens=flags["max_tokens"], deadline_s=flags["deadline"], budget={})
    panel, grouper = with_helper(panel, flags["group_by_model"], "grouper")
    settings = VoteSettings(
        levers=levers,
        temperature=flags["temperature"],
        read_by=flags["read_by"],
        weak_models=weak_models(panel),
        group_by="model" if grouper else "form",
        grouper=grouper,
    )
    return panel, settings


def profiled(
    panel: Panel, settings: VoteSettings, flags: Mapping[str, Any], tell: Callable[[str], None]
) -> VoteSettings:
    """``settings`` with the measured figures of the panel's profile, where it has one.

    The profile that ``--profile`` names has to be of this panel. One that lies beside the panel file is used if it is,
    and ``tell`` is told why if it is not.

    Raises SpecError for a named profile that cannot be read or is of another panel.
    """
    from dissensus.study.panel_digest import description_of
    from dissensus.study.profile import profile_path, read_profile

    named, found = flags["profile"], None
    path = named if named is not None else str(profile_path(flags["panel"])) if flags["panel"] else "none"
    if path != "none" and (named is not None or Path(path).is_file()):
        try:
            found = read_profile(path).of(description_of(panel, settings), path)
        except SpecError as problem:
            if named is not None:
                raise
            tell(f"note: the profile beside the panel file is not used. {problem.message}")
    return replace(settings, profile=found, hollow_below=flags["hollow_below"])


def adjusted(panel: Panel, *, max_tokens: int | None, deadline_s: float | None, budget: Mapping[str, Any]) -> Panel:
    """``panel`` with what flags say in place of what it says itself."""
    seats = [
        replace(
            seat,
            max_tokens=seat.max_tokens if max_tokens is None else max_tokens,
            deadline_s=seat.deadline_s if deadline_s is None else deadline_s,
        )
        for seat in panel.seats
    ]
    limits = {name: limit for name, limit in budget.items() if limit is not None}
    try:
        return replace(panel, seats=tuple(seats), budget=replace(panel.budget, **limits) if limits else panel.budget)
    except ValueError as problem:
        raise SpecError(str(problem), next_step="Give a number that is not negative.") from None


def weighted(panel: Panel, weights: str) -> Panel:
    """``panel`` with weights as in ``ada=2,ben=0.5``."""
    given: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in weights.split(","))):
        name, equals, number = part.partition("=")
        try:
            given[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise SpecError(f"The weight {part!r} cannot be read.", next_step="Write --weights ada=2,ben=0.5.")
    unknown = sorted(given.keys() - {seat.agent for seat in panel.seats})
    if unknown:
        raise SpecError(
            f"There is no agent {unknown[0]!r} to weigh.",
            next_step=f"The agents are {', '.join(seat.agent for seat in panel.seats)}.",
        )
    seats = tuple(replace(seat, weight=given.get(seat.agent, seat.weight)) for seat in panel.seats)
    return replace(panel, seats=seats)


def with_helper(panel: Panel, who: str, role: str) -> tuple[Panel, str]:
    """``panel`` with a seat for ``who`` (an agent of the panel, or a model's reference), and that seat's name."""
    if not who or who in panel.model_of:
        return panel, who
    name = role
    while name in panel.model_of or name in panel.models:
        name += "2"
    seat = Seat(agent=name, model=who, temperature=0.0)
    models = {**panel.models, name: ModelSpec(reference=who)}
    return replace(panel, seats=(*panel.seats, seat), models=models, model_of={**panel.model_of, name: name}), name
