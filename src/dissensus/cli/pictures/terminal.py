"""A picture made of characters: dots on a line for each row, for a terminal of any width."""

from __future__ import annotations

import math
from collections.abc import Sequence

FANCY, PLAIN = "○●┊·", "o*|."
"""First mark, second mark, limit, line: for terminals that speak Unicode, and for others."""


def dots(
    labels: Sequence[str],
    first: Sequence[float],
    second: Sequence[float] | None,
    *,
    limit: float | None,
    names: tuple[str, str],
    width: int = 60,
    marks: str = FANCY,
) -> list[str]:
    """A dot plot: one line for each label, ``first`` as a circle, ``second`` as a filled one, ``limit`` as a column.

    The scale does not begin at zero, hence dots and no bars; it is printed above. Where both dots fall on one place the
    filled one is shown.

    Args:
        labels: of the rows.
        first: shares in [0, 1].
        second: as ``first``, or None.
        limit: a share to mark in every row, or None.
        names: what the two are called.
        width: columns for the dots, at least 20.
        marks: four characters, see ``FANCY`` and ``PLAIN``.
    """
    columns, left = max(20, width), max(map(len, labels))
    everything = [*first, *(second or ()), *(() if limit is None else (limit,))]
    low = math.floor(min(everything) * 20) / 20
    high = max(low + 0.05, math.ceil(max(everything) * 20 - 1e-9) / 20)

    def place(value: float) -> int:
        where: int = round((value - low) / (high - low) * (columns - 1))
        return where

    scale = f"{low:.2f}" + f"{high:.2f}".rjust(columns - 4)
    lines = [" " * (left + 1) + scale]
    for row, label in enumerate(labels):
        cells = [marks[3]] * columns
        if limit is not None:
            cells[place(limit)] = marks[2]
        cells[place(first[row])] = marks[0]
        if second is not None:
            cells[place(second[row])] = marks[1]
        lines.append(f"{label:>{left}} " + "".join(cells))
    legend = f"{marks[0]} {names[0]}"
    if second is not None:
        legend += f"   {marks[1]} {names[1]}"
    if limit is not None:
        legend += f"   {marks[2]} limit"
    lines.append(" " * (left + 1) + legend)
    return lines
