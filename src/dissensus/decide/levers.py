"""Levers that buy independence: what each agent reads and how it samples, so that copies of one model err less alike.

A plan is a pure function of the seats, the settings and the run's seed. It changes the words around a question and the
order of its options, never the question. Ballots hold the text of an option, so its place cannot leak into the vote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dissensus.decide.settings import LEVERS, Lever, Roles, VoteSettings
from dissensus.script.seats import Seat
from dissensus.script.styles import ROTATION

SAMPLING = 0.7
"""Temperature of an agent that would sample greedily although the lever ``temperature`` is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the levers do to one agent.

    Args:
        style: reasoning style put into its prompt; "" if none, or if its seat already has one.
        wording: which rephrasing it reads; 0 is the question as it is.
        order: the order in which it sees the options, as their indices.
        temperature: at which it samples; None leaves it to its seat.
    """

    style: str = ""
    wording: int = 0
    order: tuple[int, ...] = ()
    temperature: float | None = None

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data, as it stands in the record beside the ballot."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def levers_of(roles: Roles, settings: VoteSettings) -> tuple[Lever, ...]:
    """The levers that are on: those named, or, where none are, all of them for a panel of one model."""
    if settings.levers is not None:
        return tuple(lever for lever in LEVERS if lever in settings.levers)
    return LEVERS if roles.one_model else ()


def plan_for(
    seat: Seat, index: int, levers: Sequence[Lever], settings: VoteSettings, *, options: int, seed: int
) -> Plan:
    """The plan of the ``index``-th voter (spares count on) for a question with so many ``options``."""
    temperature = settings.temperature
    if temperature is None and "temperature" in levers and seat.temperature == 0:
        temperature = SAMPLING
    # A small model loses the thread when it is told how to reason; it gets a style only if somebody asks for that.
    styled = "styles" in levers and not seat.style
    if settings.levers is None and seat.model in settings.weak_models:
        styled = False
    return Plan(
        style=ROTATION[index % len(ROTATION)] if styled else "",
        wording=index if "rephrase" in levers else 0,
        order=permutation(options, seed, seat.agent) if "shuffle" in levers else tuple(range(options)),
        temperature=temperature,
    )


def permutation(size: int, seed: int, agent: str) -> tuple[int, ...]:
    """An order of ``0 … size-1`` that depends on the seed and the agent alone."""

    def place(index: int) -> bytes:
        return hashlib.sha256(f"{seed}/options/{agent}/{index}".encode()).digest()

    return tuple(sorted(range(size), key=place))
