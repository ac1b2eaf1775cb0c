"""Reliability diagram: how often the leading answer was right, by its share of the votes, with the counts below."""

from __future__ import annotations

from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.audit import Audit
from dissensus.measure.wording import short


def draw(found: Audit, folder: Path, *, name: str = "reliability") -> list[Path]:
    """Write the picture and its data; returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = found.to_data()
    levels = [level for level in data["by_count"] if level["count"]]
    shares = [level["k"] / found.n_voters for level in levels]
    rates = [level["right"] for level in levels]
    errors = [
        [rate - level["ci"][0] for rate, level in zip(rates, levels, strict=True)],
        [level["ci"][1] - rate for rate, level in zip(rates, levels, strict=True)],
    ]
    ece = data["share_as_score"]["ece"]
    title = f"The share of votes is no probability: off by {short(ece)} on average"
    with style.drawing(height=4.8) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, linestyle=":", label="share = accuracy")
        axes.errorbar(
            shares,
            rates,
            yerr=errors,
            color=style.ORANGE,
            marker="s",
            capsize=3,
            linewidth=1.5,
            label="right, 95 % interval",
        )
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(-0.02, 1.06)
        axes.set_xlabel("share of all votes for the leading answer")
        axes.set_ylabel("share right (ties split)")
        counts = axes.twinx()
        counts.bar(shares, [level["count"] for level in levels], width=0.5 / found.n_voters, color=style.SKY, alpha=0.5)
        counts.set_ylim(0, 4 * max(level["count"] for level in levels))
        counts.grid(visible=False)
        counts.set_ylabel("questions (bars)", color=style.GREY)
        for share, level in zip(shares, levels, strict=True):
            counts.annotate(
                f"{level['count']:,}", (share, level["count"]), ha="center", va="bottom", fontsize=7, color=style.GREY
            )
        axes.set_zorder(counts.get_zorder() + 1)
        axes.patch.set_visible(False)
        axes.set_title(title)
        axes.legend(loc="upper left", fontsize=8)
        style.explain(
            figure,
            f"{found.n_labelled:,} questions, {found.n_voters} voters configured; blank cells count in the "
            "denominator of the share.",
        )
        rows = [
            {
                "k": level["k"],
                "share": share,
                "count": level["count"],
                "correct": level["correct"],
                "right": level["right"],
                "low": level["ci"][0],
                "high": level["ci"][1],
            }
            for share, level in zip(shares, levels, strict=True)
        ]
        return style.save(
            figure,
            folder,
            name,
            rows=rows,
            data={"by_count": data["by_count"], "share_as_score": data["share_as_score"]},
            title=title,
        )
