"""All pictures of an audit: the curve, the vote share against the truth, errors in pairs, what a threshold costs."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import error_heatmap, panel_curve, reliability, risk_coverage
from dissensus.measure.audit import Audit


def draw_all(found: Audit, folder: Path) -> list[Path]:
    """Write the pictures that ``found`` has the numbers for, each with its data; returns the paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    written: list[Path] = []
    if found.panel is not None and found.n_voters > 1:
        written += panel_curve.draw(found, folder)
        written += reliability.draw(found, folder)
        written += risk_coverage.draw(found, folder)
    if found.errors is not None:
        written += error_heatmap.draw(found, folder)
    return written
