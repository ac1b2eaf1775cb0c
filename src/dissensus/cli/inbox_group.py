"""A group whose first command needs no name: ``dissensus inbox DIR`` is ``dissensus inbox list DIR``."""

from __future__ import annotations

import click

FIRST = "list"


class InboxGroup(click.Group):
    """Runs ``list`` unless one of its commands is named. A folder of such a name is written ``./show``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name in where it was left out."""
        if not args or not (args[0] in self.commands or args[0] in ctx.help_option_names):
            args = [FIRST, *args]
        return super().parse_args(ctx, args)
