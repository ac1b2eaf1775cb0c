"""Ways to count the same votes, each against plurality: differences with their intervals."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.verdicts import Verdicts
from dissensus.measure.wording import short


def draw(verdicts: Verdicts, folder: Path, *, name: str = "ways_to_count") -> list[Path]:
    """Write the picture and its data; ``verdicts`` holds a comparison with outcomes. Returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = verdicts.to_data()["aggregators"]
    rules = [rule for rule in data["rules"] if rule["rule"] != "plurality"]
    plurality = next(rule for rule in data["rules"] if rule["rule"] == "plurality")
    title = f"Other ways to count the same votes, against plurality ({short(plurality['accuracy'])})"
    with style.drawing(height=max(2.4, 1.4 + 0.34 * len(rules))) as (figure, axes):
        axes.axvline(0, color=style.GREY, linewidth=1, linestyle=":")
        for place, rule in enumerate(rules):
            diff = rule["minus_plurality"]
            low, high = diff["ci"] or (diff["diff"], diff["diff"])
            color = style.ORANGE if diff["shown"] else style.GREY
            axes.hlines(place, low, high, color=color, linewidth=2)
            axes.plot(
                diff["diff"],
                place,
                color=color,
                marker="s" if diff["shown"] else "o",
                markerfacecolor=color if diff["shown"] else "white",
                linestyle="",
            )
        labels = [f"{rule['rule']}  {short(rule['accuracy'])}" for rule in rules]
        axes.set_yticks(range(len(rules)), labels=labels)
        axes.invert_yaxis()
        axes.set_xlabel("accuracy less that of plurality, 95 % interval")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")  # wider than the axes
        style.explain(
            figure,
            "Filled square: shown to differ even counting that so many rules were tried. Hollow: not shown. Rules that "
            f"learn were judged on questions they did not learn from ({data['folds']} parts).",
        )
        rows = [
            {
                "rule": rule["rule"],
                "accuracy": rule["accuracy"],
                "minus_plurality": rule["minus_plurality"]["diff"],
                "low": (rule["minus_plurality"]["ci"] or [None])[0],
                "high": (rule["minus_plurality"]["ci"] or [None])[-1],
                "shown": rule["minus_plurality"]["shown"],
            }
            for rule in data["rules"]
        ]
        return style.save(figure, folder, name, rows=rows, data=data, title=title)
