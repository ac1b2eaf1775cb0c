"""The cell in which programs read a share: it holds the share's sources, under their names, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dissensus.agents.cells import inside, open_cell
from dissensus.agents.cells.manifest import Manifest
from dissensus.agents.command_tools import CommandTool
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.swarm.work import Share
from dissensus.errors import UsageError

Wrap = Callable[[Any], Any]


@asynccontextmanager
async def in_cell(share: Share, require: str | None = None) -> AsyncIterator[tuple[Wrap, dict[str, Any]]]:
    """What puts a program into a cell that holds the sources of ``share``, and what a record says of that cell.

    A tool that is no program runs beside us, in no cell: the panel says which those are.

    Raises :class:`~dissensus.errors.CellError`, before anything is run, if the level ``require`` is not reached.
    """
    bytes_of = {digest: source_of(pinned).data for digest, pinned in share.sources.items()}
    async with open_cell(files_of(share), bytes_of, require=require) as cell:

        def wrap(tool: Any) -> Any:
            return inside(tool, cell) if isinstance(tool, CommandTool) else tool

        yield wrap, {**cell.on_record(), "required": require}


def files_of(share: Share) -> dict[str, str]:
    """Where each source lies in the cell: under its name; all under their digests if a name cannot be a path there."""
    named = {digest: pinned.name for digest, pinned in share.sources.items()}
    try:
        return dict(Manifest(named).files)
    except UsageError:
        return {digest: f"evidence/{digest[:16]}" for digest in share.sources}


@asynccontextmanager
async def cell_again(data: Mapping[str, Any]) -> AsyncIterator[Wrap]:
    """The cell of a recorded share, for a run that goes on; the level that was required is required again."""
    share = Share.from_data(data)
    async with in_cell(share, (share.cell or {}).get("required")) as (wrap, _):
        yield wrap
