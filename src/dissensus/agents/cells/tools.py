"""Tools that are programs, run in a cell instead of beside us."""

from __future__ import annotations

import os
from dataclasses import replace

from dissensus.agents.cells.cell import Cell
from dissensus.agents.command_tools import CommandTool
from dissensus.agents.processes import Ran
from dissensus.errors import CellError


class CellTool(CommandTool):
    """A :class:`~dissensus.agents.command_tools.CommandTool` whose program runs in ``cell``.

    It sees what the cell holds and nothing of the tool's own folder. Of its environment it gets only the variables that
    the tool names in ``env``. A program that needs more than itself is opened with ``code`` of :func:`.open_cell`.
    """

    def __init__(self, tool: CommandTool, cell: Cell) -> None:
        super().__init__(
            tool.command,
            name=tool.spec.name,
            description=tool.spec.description,
            parameters=tool.spec.parameters,
            timeout_s=tool.timeout_s,
            most_text=tool.most_text,
            folder=tool.folder,
            env=tool.env,
        )
        self.cell = cell

    async def _started(self, argv: list[str], stdin: bytes, limit_s: float) -> Ran:
        limits = self.cell.limits
        most = min(limits.output_bytes, 4 * self.most_text)
        try:
            ran = await self.cell.run(
                argv,
                stdin=stdin,
                env={name: os.environ[name] for name in self.env if name in os.environ},
                limits=replace(limits, wall_s=min(limits.wall_s, limit_s), output_bytes=most),
            )
        except CellError as error:  # a tool raises nothing: the agent is told
            raise OSError(error.message) from None
        errors = ran.stderr + (f"\nIt was ended for: {ran.ended_for}.".encode() if ran.ended_for else b"")
        return Ran(status=ran.exit, output=ran.stdout, errors=errors, cut=ran.truncated, seconds=ran.seconds)


def inside(tool: CommandTool, cell: Cell) -> CellTool:
    """``tool``, run in ``cell``."""
    return CellTool(tool, cell)
