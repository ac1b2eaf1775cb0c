"""The command ``dissensus``: one file per noun, each imported only when its command is used."""

from __future__ import annotations

import importlib
from typing import Any

import click

COMMANDS = {
    "decide": "dissensus.cli.decide:decide",
    "doctor": "dissensus.cli.doctor:doctor",
    "fork": "dissensus.cli.runs:fork",
    "model": "dissensus.cli.model:model",
    "record": "dissensus.cli.record:record",
    "replay": "dissensus.cli.runs:replay",
    "resume": "dissensus.cli.runs:resume",
}
"""Name of a command to ``module:attribute``."""


class LazyGroup(click.Group):
    """A group that imports a command only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: Any = getattr(importlib.import_module(module), attribute)
        return command  # type: ignore[no-any-return]


@click.group(cls=LazyGroup)
@click.version_option(package_name="dissensus")
def main() -> None:
    """Groups of AI agents decide; this tells what their agreement is worth."""
