"""The report of a study as files: Markdown for people, JSON for programs, CSV for tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from dissensus.errors import StorageError
from dissensus.study.gather import Row
from dissensus.study.report import Report
from dissensus.study.report_cells import Figures
from dissensus.study.report_text import markdown


def write_report(report: Report, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write ``report.md``, ``report.json``, ``cells.csv`` (a line for each cell) and ``runs.csv`` (one for each run).

    Raises StorageError if the folder cannot be written.
    """
    paths = [folder / name for name in ("report.md", "report.json", "cells.csv", "runs.csv")]
    text, document, cells, runs = paths
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text.write_text(markdown(report), encoding="utf-8")
        document.write_bytes(msgspec.json.format(msgspec.json.encode(report.to_data())) + b"\n")
        _table(cells, [flat(one) for one in report.cells])
        _table(runs, [row.flat() for row in rows])
    except OSError as error:
        raise StorageError(
            f"The report cannot be written to {folder}: {error.strerror or error}.",
            next_step="Choose another folder with --output.",
        ) from None
    return paths


def flat(one: Figures) -> dict[str, Any]:
    """One line of a table."""
    data = one.to_data()
    for name in ("right", "target"):
        interval = data.pop(name)
        data |= {name: interval["value"], f"{name}_low": interval["low"], f"{name}_high": interval["high"]}
    for name in ("swept", "ends"):
        data[name] = " ".join(f"{key}={value}" for key, value in data[name].items())
    return data


def _table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)


def _safe(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula: answers come from agents."""
    if not isinstance(value, str) or value[:1] not in ("=", "+", "-", "@", "\t", "\r"):
        return value
    return value if value[1:].replace(".", "", 1).isdigit() else f"'{value}"
