"""The options that ``decide`` and ``calibrate`` share: who is asked, and how.

They stand apart from what is made of them (:mod:`dissensus.cli.panel_flags`), so that ``--help`` loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])

_WHO = (
    click.option("--panel", metavar="FILE", type=click.Path(), help="A panel file: who takes part."),
    click.option("--agents", type=click.IntRange(1, 1000), metavar="N", help="Without a panel: how many agents.  [5]"),
    click.option(
        "--model", "models", multiple=True, metavar="REF", help="Without a panel: their model; several take turns."
    ),
)
_HOW = (
    click.option("--temperature", type=click.FloatRange(0, 2), help="Sampling temperature of every voter."),
    click.option(
        "--read-by",
        type=click.Choice(["auto", "schema", "parser", "log-probability"]),
        default="auto",
        show_default=True,
        help="How answers are read from replies.",
    ),
    click.option(
        "--group-by-model", default="", metavar="REF", help="Let this model say which free texts are the same."
    ),
    click.option("--max-tokens", type=click.IntRange(1), help="Most tokens in one reply."),
    click.option("--deadline", type=click.FloatRange(0, min_open=True), help="Seconds after which an agent is silent."),
    click.option("--seed", type=int, default=0, show_default=True, help="All randomness derives from it."),
)


def who_is_asked(command: _Command) -> _Command:
    """Add ``--panel``, and what stands for it where there is none: ``--agents`` and ``--model``."""
    return _with(command, _WHO)


def how_asked(command: _Command) -> _Command:
    """Add what holds for every voter. ``--levers`` is each command's own: its default means another thing in each."""
    return _with(command, _HOW)


def _with(command: _Command, options: tuple[Callable[[_Command], _Command], ...]) -> _Command:
    for option in reversed(options):  # click lists first what is applied last
        command = option(command)
    return command
