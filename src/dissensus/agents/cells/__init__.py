"""Cells: places in which a program sees what a manifest lists, and nothing else. Start at :mod:`.cell`."""

from dissensus.agents.cells.cell import Cell, CellRun, open_cell
from dissensus.agents.cells.limits import Limits
from dissensus.agents.cells.manifest import Manifest
from dissensus.agents.cells.tools import CellTool, inside

__all__ = ["Cell", "CellRun", "CellTool", "Limits", "Manifest", "inside", "open_cell"]
