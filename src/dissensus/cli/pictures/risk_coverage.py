"""What a threshold costs: the error among questions on which at least k voters agree, against the share of these."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.audit import Audit
from dissensus.measure.verdicts import Verdicts
from dissensus.measure.wording import percent


def draw(found: Audit, folder: Path, verdicts: Verdicts | None = None, *, name: str = "risk_coverage") -> list[Path]:
    """Write the picture and its data; returns the four paths.

    With ``verdicts`` it also shows below which error rate each threshold stays, all of them together with 95 %.

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
    selection = None if verdicts is None else verdicts.to_data()["selection"]
    bounds = selection["thresholds"] if selection else []
    first = rows[0]
    wrong = f"{percent(first['risk'])} wrong" if first["risk"] > 0 else f"none of {first['answered']:,} wrong"
    outcome = f"{percent(first['coverage'])} answered, {wrong}"
    title = f"Answering only where {first['at_least']} agree: {outcome}"
    with style.drawing() as (figure, axes):
        axes.plot(
            [row["coverage"] for row in rows],
            [row["risk"] for row in rows],
            color=style.PURPLE,
            marker="o",
            label="wrong, of those where at least so many agree",
        )
        top = max([row["risk"] for row in rows] + [one["at_most"] for one in bounds if one["count"] > 1])
        for place, row in enumerate(rows):
            if place and row["coverage"] - rows[place - 1]["coverage"] < 0.03:
                continue  # no room
            axes.annotate(
                f"≥ {row['at_least']}",
                (row["coverage"], row["risk"]),
                xytext=(4, -12 if row["risk"] > 0.08 * top else 6),
                textcoords="offset points",
                fontsize=8,
                ha="left",
            )
        if bounds:
            axes.plot(
                [one["coverage"] for one in bounds],
                [one["at_most"] for one in bounds],
                color=style.BLUE,
                linestyle="--",
                marker="v",
                markerfacecolor="white",
                label="no more than this, where one answer leads (95 %, all thresholds together)",
            )
            axes.legend(loc="upper left", fontsize=8)
        axes.set_xlim(0, 1.07)
        axes.set_ylim(bottom=0, top=min(1.02, max(0.02, 1.2 * top)))
        axes.set_xlabel("share of questions answered by the panel alone")
        axes.set_ylabel("share of these wrong")
        axes.set_title(title)
        style.explain(
            figure,
            f"{found.n_labelled:,} questions. "
            + (
                "The bounds are exact and allow for choosing the threshold on these questions; they hold for questions "
                "like these. Ties split."
                if bounds
                else "The thresholds were tried on them too: one chosen here needs questions of its own for a "
                "guarantee. Ties split."
            ),
        )
        data = {"risk_coverage": rows, "by_count": levels, "selection": selection}
        return style.save(figure, folder, name, rows=rows, data=data, title=title)
