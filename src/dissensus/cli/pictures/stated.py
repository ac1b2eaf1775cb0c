"""Reliability diagram of stated probabilities: what was said and what came of it, on questions not learned from."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.verdicts import Verdicts
from dissensus.measure.wording import short

_LOOKS = {
    "share": ("the vote's share as it is", style.ORANGE, "s", "--"),
    "independent": ("as if voters were independent", style.BLUE, "o", ":"),
    "isotonic": ("by number of votes", style.GREEN, "^", "-."),
    "who": ("by who voted", style.PURPLE, "D", "-"),
}


def draw(verdicts: Verdicts, folder: Path, *, name: str = "stated_probability") -> list[Path]:
    """Write the picture and its data; ``verdicts`` holds a calibration with numbers. Returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = verdicts.to_data()["calibration"]
    ways = [way for way in data["ways"] if way["name"] in _LOOKS]
    best = next(way for way in ways if way["name"] != "independent")
    title = f"Said and right, {_LOOKS[best['name']][0]}: calibration error {short(best['ece'])}"
    with style.drawing(height=5.6) as (figure, axes):
        figure.delaxes(axes)
        grid = figure.add_gridspec(2, 1, height_ratios=[4, 1])
        upper = figure.add_subplot(grid[0])
        lower = figure.add_subplot(grid[1], sharex=upper)
        upper.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, linestyle=":")
        upper.annotate("as said", (0.02, 0.05), color=style.GREY, fontsize=8, rotation=35, ha="left")
        for way in ways:
            label, color, marker, dashes = _LOOKS[way["name"]]
            said = [bar["stated"] for bar in way["bins"]]
            text = f"{label} (error {short(way['ece'])}, Brier {short(way['brier'])})"
            upper.plot(said, [bar["right"] for bar in way["bins"]], color=color, marker=marker, ls=dashes, label=text)
            edges = [place / len(way["histogram"]) for place in range(len(way["histogram"]) + 1)]
            lower.stairs(way["histogram"], edges, color=color, linewidth=1.8, linestyle=dashes)
        upper.set_xlim(0, 1.02)
        upper.set_ylim(0, 1.02)
        upper.tick_params(labelbottom=False)
        upper.set_ylabel("share right")
        upper.set_title(title)
        upper.legend(loc="upper left", fontsize=8)
        lower.set_ylabel("questions")
        lower.set_ylim(bottom=0)
        lower.set_xlabel("probability stated")
        style.explain(
            figure,
            f"{data['labels']:,} questions in {data['folds']} parts, each judged by what the others taught; up to ten "
            "groups of about equally many questions, equal values never split. A statement about questions like these.",
        )
        rows = [{"way": way["name"], **bar} for way in data["ways"] for bar in way["bins"]]
        return style.save(figure, folder, name, rows=rows, data=data, title=title)
