"""Picture of the measured curve: plurality and majority of right or wrong by panel size, beside independent voters."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.audit import Audit
from dissensus.measure.wording import short


def draw(found: Audit, folder: Path, *, name: str = "curve") -> list[Path]:
    """Write the picture and its data; returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = found.to_data()
    rows = data["curve"]
    n = [row["n"] for row in rows]
    best, last = data["best_single"], rows[-1]
    title = f"{last['n']} voters: plurality {short(last['plurality'])}, the best voter alone {short(best['acc'])}"
    with style.drawing() as (figure, axes):
        banded = [row for row in rows if row["band"]]
        if banded:
            axes.fill_between(
                [row["n"] for row in banded],
                [row["band"][0] for row in banded],
                [row["band"][1] for row in banded],
                color=style.ORANGE,
                alpha=0.18,
                linewidth=0,
                label="95 % band, simultaneous",
            )
        axes.plot(n, [row["plurality"] for row in rows], color=style.ORANGE, marker="s", label="plurality, measured")
        axes.plot(
            n,
            [row["majority"] for row in rows],
            color=style.GREEN,
            linestyle="-.",
            marker="^",
            label="majority of right or wrong, measured",
        )
        axes.plot(
            n,
            [row["condorcet"] for row in rows],
            color=style.BLUE,
            linestyle="--",
            marker="o",
            markerfacecolor="white",
            label="the same, if voters were independent",
        )
        axes.axhline(
            best["acc"],
            color=style.GREY,
            linewidth=1,
            linestyle=":",
            label=f"best voter alone ({best['id']}) {short(best['acc'])}",
        )
        axes.set_xlabel("voters")
        axes.set_ylabel("share of questions right")
        axes.set_title(title)
        axes.legend(loc="best", fontsize=8, frameon=True, framealpha=0.9, edgecolor="none")
        style.explain(
            figure,
            f"{found.n_labelled:,} questions; the mean over all choices of n of the {found.n_voters} voters, ties "
            "split. The majority counts right or wrong only; so does the dashed line (Condorcet, mean accuracy).",
        )
        flat = [
            {key: value for key, value in row.items() if not key.endswith("band")}
            | {"band_low": (row["band"] or [None])[0], "band_high": (row["band"] or [None])[-1]}
            for row in rows
        ]
        kept = {
            key: data[key] for key in ("curve", "argmax_n", "stops_paying_at", "falls", "best_single", "n_labelled")
        }
        return style.save(figure, folder, name, rows=flat, data=kept, title=title)
