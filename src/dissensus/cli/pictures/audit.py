"""All pictures of an audit: the curve, the vote share against the truth, errors in pairs, what a threshold costs."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import counting, error_heatmap, panel_curve, reliability, risk_coverage, stated
from dissensus.measure.audit import Audit
from dissensus.measure.verdicts import Verdicts


def draw_all(found: Audit, folder: Path, verdicts: Verdicts | None = None) -> list[Path]:
    """Write the pictures that ``found`` and ``verdicts`` have the numbers for, each with its data; returns the paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    written: list[Path] = []
    if found.panel is not None and found.n_voters > 1:
        written += panel_curve.draw(found, folder)
        written += reliability.draw(found, folder)
        written += risk_coverage.draw(found, folder, verdicts)
    if found.errors is not None:
        written += error_heatmap.draw(found, folder)
    if verdicts is not None and found.n_voters > 1:
        if verdicts.calibration is not None and verdicts.calibration.ways:
            written += stated.draw(verdicts, folder)
        if verdicts.aggregators is not None and verdicts.aggregators.outcomes:
            written += counting.draw(verdicts, folder)
    return written
