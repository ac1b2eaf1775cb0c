"""The options that ``swarm`` and ``reconcile`` share: how cases are settled, and what is written of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])

FILE = click.Path(dir_okay=False, path_type=Path)
_SHARED = (
    click.option(
        "--require-cell", type=click.Choice(["strong", "medium"]), help="Run nothing below this level of cell."
    ),
    click.option("--no-ask", is_flag=True, help="Leave disputes as they are, without a question to a person."),
    click.option("--no-standing-rules", is_flag=True, help="Do not use answers in DIR that were made rules."),
    click.option("--repin", is_flag=True, help="Read again what has changed since it was read, and keep the rest."),
    click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write a table of the items."),
    click.option("--html", "html_file", type=FILE, metavar="FILE", help="Write one page that needs nothing else."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
)


def how_settled(command: _Command) -> _Command:
    """Add what holds for every batch, however it came about."""
    for option in reversed(_SHARED):  # click lists first what is applied last
        command = option(command)
    return command
