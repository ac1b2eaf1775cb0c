"""What a threshold costs: the error among questions on which at least k voters agree, against the share of these."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.audit import Audit
from dissensus.measure.wording import percent


def draw(found: Audit, folder: Path, *, name: str = "risk_coverage") -> list[Path]:
    """Write the picture and its data; returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    levels = found.to_data()["by_count"]
    rows = []
    answered, right = 0, 0.0
    for level in sorted(levels, key=lambda level: -level["k"]):
        answered, right = answered + level["count"], right + level["correct"]
        if level["count"]:
            rows.append(
                {
                    "at_least": level["k"],
                    "answered": answered,
                    "coverage": answered / found.n_labelled,
                    "risk": 1 - right / answered,
                }
            )
    first = rows[0]
    outcome = f"{percent(first['coverage'])} answered, {percent(first['risk'])} wrong"
    title = f"Answering only where {first['at_least']} agree: {outcome}"
    with style.drawing() as (figure, axes):
        axes.plot([row["coverage"] for row in rows], [row["risk"] for row in rows], color=style.PURPLE, marker="o")
        for place, row in enumerate(rows):
            if place and row["coverage"] - rows[place - 1]["coverage"] < 0.02:
                continue  # no room
            axes.annotate(
                f"≥ {row['at_least']}",
                (row["coverage"], row["risk"]),
                xytext=(0, 6),
                textcoords="offset points",
                fontsize=8,
                ha="center",
            )
        axes.set_xlim(0, 1.04)
        axes.set_ylim(bottom=0, top=max(0.02, 1.15 * max(row["risk"] for row in rows)))
        axes.set_xlabel("share of questions answered by the panel alone")
        axes.set_ylabel("share of these wrong")
        axes.set_title(title)
        style.explain(
            figure,
            f"{found.n_labelled:,} questions, on which the thresholds were tried too: a threshold chosen here "
            "needs questions of its own for a guarantee. Ties split.",
        )
        return style.save(
            figure, folder, name, rows=rows, data={"risk_coverage": rows, "by_count": levels}, title=title
        )
