"""What --json prints, whatever the stream can hold."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from dissensus.cli.json_document import show_json
from dissensus.cli.main import main


@pytest.mark.parametrize("charset", ["utf-8", "ascii", "latin-1"])
def test_no_character_is_lost(charset: str) -> None:
    data = {"answer": "Zürich → 5 €", "share": 0.1, "seed": 2**60, "none": None}

    @click.command()
    def command() -> None:
        show_json(data)

    done = CliRunner(charset=charset).invoke(command)
    assert done.exit_code == 0
    assert json.loads(done.stdout_bytes.decode(charset)) == data


def test_every_command_has_it() -> None:
    """The help of the program says so."""
    lacking: list[str] = []
    left: list[tuple[str, click.Command | None]] = [("", main)]
    ctx = click.Context(main)
    while left:
        path, command = left.pop()
        if isinstance(command, click.Group):
            left += [(f"{path} {name}", command.get_command(ctx, name)) for name in command.list_commands(ctx)]
        elif command is None or not any("--json" in parameter.opts for parameter in command.params):
            lacking.append(path)
    assert lacking == []
