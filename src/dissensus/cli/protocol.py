"""``dissensus protocol``: the protocols that are shipped, any protocol file, and the acts that they are made of."""

from __future__ import annotations

import importlib
from typing import Any

import click

from dissensus.cli.json_document import show_json

CHECKS = {
    "check": "Look for faults in protocols, each with the shortest conversation that shows it.",
    "draw": "Draw a protocol.",
    "traces": "Write conversations that keep to a protocol, and such as break it.",
}
"""Commands that lie in a module of their own, with their lines of help."""


class _Group(click.Group):
    """A group that imports the checks only when one of them is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted([*super().list_commands(ctx), *CHECKS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command ``cmd_name``; None if there is none."""
        if cmd_name not in CHECKS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(importlib.import_module("dissensus.cli.protocol_checks"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the list of commands without importing any."""
        own = {name: command.get_short_help_str(limit=90) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted((own | CHECKS).items()))


@click.group(cls=_Group)
def protocol() -> None:
    """Show, check and draw protocols: who may say what to whom, when, and what it makes them owe."""


@protocol.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_protocols(*, as_json: bool) -> None:
    """List the protocols that are shipped."""
    from dissensus.say.protocol_file import shipped, shipped_protocol

    found = [shipped_protocol(name) for name in shipped()]
    rows = [
        {
            "name": each.name,
            "title": each.title,
            "source": each.source,
            "version": each.version,
            "roles": {role.name: role.count for role in each.roles.values()},
            "states": len(each.states),
            "moves": len(each.moves),
            "profiles": list(each.profiles),
        }
        for each in found
    ]
    if as_json:
        show_json(rows)
        return
    import shutil
    import textwrap

    first = max(len(each.name) for each in found) + 2
    width = max(min(shutil.get_terminal_size((100, 24)).columns, 120), first + 40)
    for each in found:
        roles = f"roles: {', '.join(role.name for role in each.roles.values())}"
        more = f"; profiles: {', '.join(each.profiles)}" if len(each.profiles) > 1 else ""
        told = [*textwrap.wrap(each.title, width - first), *textwrap.wrap(roles + more, width - first)]
        for number, line in enumerate(told):
            click.echo(f"{'' if number else each.name:<{first}}{line}")


@protocol.command()
@click.argument("name", metavar="NAME|FILE")
@click.option(
    "--profile",
    default="fipa",
    show_default=True,
    help="Reading of the protocol: fipa, jade, strict, or the file's own.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the protocol with its profile and what it includes written out; that is a protocol file again.",
)
@click.option("--schema", is_flag=True, help="Print a JSON Schema of its messages.")
def show(name: str, *, profile: str, as_json: bool, schema: bool) -> None:
    """Show the moves and states of a protocol as Markdown.

    NAME is one of the shipped protocols; FILE a protocol file of your own.
    """
    from dissensus.errors import UsageError
    from dissensus.say.protocol_data import message_schema, to_file
    from dissensus.say.protocol_file import find_protocol

    if as_json and schema:
        raise UsageError("--json and --schema print different documents.", next_step="Give one of them.")
    found = find_protocol(name, profile)
    if schema:
        show_json(message_schema(found))
    elif as_json:
        show_json(to_file(found))
    else:
        from dissensus.cli.protocol_page import page

        click.echo(page(found))


@protocol.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def acts(*, as_json: bool) -> None:
    """List the 22 communicative acts.

    With their class, what each opens and closes, and their names in KQML.
    """
    from dissensus.say.acts import ACTS, KQML, KQML_UNMAPPED

    kqml: dict[str, list[str]] = {}
    for theirs, ours in KQML.items():
        kqml.setdefault(ours, []).append(theirs)
    rows: list[dict[str, Any]] = [
        {
            "act": act.name,
            "classes": list(act.classes),
            "opens": list(act.opens),
            "closes": act.closes,
            "an_order": act.an_order,
            "kqml": kqml.get(act.name, []),
        }
        for act in ACTS.values()
    ]
    if as_json:
        show_json({"acts": rows, "kqml_without_act": sorted(KQML_UNMAPPED)})
        return
    from dissensus.cli.protocol_page import table

    lines: list[tuple[str, ...]] = [("act", "class", "opens", "closes", "in KQML")]
    for row in rows:
        cells = (", ".join(row["classes"]), ", ".join(row["opens"]), row["closes"], ", ".join(row["kqml"]))
        lines.append((row["act"], *cells))
    click.echo(table(lines))
    click.echo(f"\nNames of KQML without an act of FIPA: {', '.join(sorted(KQML_UNMAPPED))}.")
