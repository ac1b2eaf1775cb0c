"""Writes docs/cli.md from the commands themselves.

python tools/cli_help.py            prints the page
python tools/cli_help.py --write    writes it; a test fails while the page differs from the commands
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dissensus.cli.main import main as dissensus

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
WIDTH = 100
HEAD = """# Command line

Written by `make docs` from the commands themselves: the same text as `--help`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for path, context in commands(dissensus, _context(dissensus, "dissensus")):
        level = "#" * min(len(path) + 1, 6)
        text = "\n".join(line.rstrip() for line in context.get_help().splitlines())
        parts.append(f"{level} {' '.join(path)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[list[str], click.Context]]:
    """Each command with its path of names, a group before its members."""
    yield context.command_path.split(), context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None and not member.hidden:
                yield from commands(member, _context(member, name, context))


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, parent=parent, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)


def main() -> int:
    """Print the page or write it."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
