"""What all pictures share: size, type, colours, and how they are saved with their data.

matplotlib is used through its objects, never through pyplot: no global figure, no window, no state left behind.
"""

from __future__ import annotations

import contextlib
import csv
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.errors import MissingExtra, StorageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, GREY = "#1a1a1a", "#6b6b6b"
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
"""Colours that stay apart in every common form of colour blindness (Okabe & Ito 2008)."""

_PER_INCH = 10.0
"""Characters of a title, about."""
_RULES: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": BLACK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": 9,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "dissensus",  # the same bytes for the same numbers
    "xtick.color": GREY,
    "xtick.labelcolor": BLACK,
    "ytick.color": GREY,
    "ytick.labelcolor": BLACK,
}


@contextlib.contextmanager
def drawing(width: float = 7.0, height: float = 4.4) -> Iterator[tuple[Figure, Axes]]:
    """An empty picture of ``width`` by ``height`` inches in the house's style; save it before leaving.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Drawing pictures", extra="plots") from error
    with rc_context(_RULES):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def explain(figure: Figure, text: str) -> None:
    """Put ``text`` beneath the picture: what it assumes."""
    width = int(figure.get_figwidth() * 15.5)
    figure.supxlabel("\n".join(textwrap.wrap(text, width)), x=0.01, ha="left", fontsize=7.5, color=GREY)


def title(figure: Figure, axes: Axes, text: str) -> None:
    """Put ``text`` over ``axes``, in as many lines as it takes there; call it when all else has its place."""
    figure.draw_without_rendering()
    inches = axes.get_position().width * figure.get_figwidth()
    axes.set_title("\n".join(textwrap.wrap(text, max(int(inches * _PER_INCH), 16))))


def save(
    figure: Figure, folder: Path, name: str, *, rows: Sequence[Mapping[str, Any]], data: Mapping[str, Any], title: str
) -> list[Path]:
    """Write ``name`` as SVG and PNG, ``rows`` as CSV and ``data`` as JSON into ``folder``, which is made if missing.

    Returns:
        The four paths, the picture first.

    Raises:
        StorageError: the folder cannot be written.
    """
    import msgspec

    paths = [folder / f"{name}.{kind}" for kind in ("svg", "png", "csv", "json")]
    svg, png, table, document = paths
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(svg, metadata={"Title": title, "Date": None, "Creator": "dissensus"})
        figure.savefig(png, metadata={"Title": title, "Software": "dissensus"})
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        document.write_bytes(msgspec.json.format(msgspec.json.encode(data)) + b"\n")
    except OSError as error:
        raise StorageError(
            f"The pictures cannot be written to {folder}: {error.strerror or error}.",
            next_step="Choose another folder with --plots.",
        ) from error
    return paths
