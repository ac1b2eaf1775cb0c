"""Picture of a jury curve: the promise of independence above, what correlated voters keep of it below."""

from __future__ import annotations

import math
from pathlib import Path

from dissensus.cli.pictures import style
from dissensus.measure.jury_curve import ILLUSTRATION, JuryCurve, shown


def draw(curve: JuryCurve, folder: Path, *, name: str = "jury_curve") -> list[Path]:
    """Write the picture of ``curve`` and its data into ``folder``; returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = curve.to_data()
    n = [point.n for point in curve.points]
    with style.drawing() as (figure, axes):
        wide = n[-1] > 12 * n[0]
        if wide:
            axes.set_xscale("log")
        axes.axhline(curve.p, color=style.GREY, linewidth=1, linestyle=(0, (1, 2)))
        axes.annotate(
            f"one voter {curve.p:.4g}",
            (0.99, curve.p),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            color=style.GREY,
            fontsize=8,
            ha="right",
        )
        axes.plot(
            n,
            [point.independent for point in curve.points],
            color=style.BLUE,
            linestyle="--",
            marker="o",
            markerfacecolor="white",
            label="if voters are independent",
        )
        if curve.model != "independent":
            axes.plot(
                n,
                [point.correlated for point in curve.points],
                color=style.ORANGE,
                marker="s",
                label=f"{curve.model} model, rho {curve.rho:.2f}" if curve.rho is not None else f"{curve.model} model",
            )
            axes.axhline(
                curve.limit, color=style.ORANGE, linewidth=1, linestyle=":", label=f"its limit {shown(curve.limit)}"
            )
        ticks = _ticks(n, logarithmic=wide)
        axes.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks], minor=False)
        axes.minorticks_off()
        drawn = [value for point in curve.points for value in (point.independent, point.correlated)]
        axes.set_ylim(*_range([curve.p, *drawn, *([] if curve.model == "independent" else [curve.limit])]))
        axes.set_xlabel("voters (logarithmic scale)" if wide else "voters")
        axes.set_ylabel(
            "share of questions the vote gets right" if curve.options is None else "share right, ties split"
        )
        axes.set_title(_title(curve))
        axes.legend(loc="best", fontsize=8.5)
        assumed = curve.title()
        style.explain(figure, f"{assumed[0].upper()}{assumed[1:]}. {ILLUSTRATION}")
        return style.save(figure, folder, name, rows=data["curve"], data=data, title=_title(curve))


def _title(curve: JuryCurve) -> str:
    last = curve.points[-1]
    if curve.model == "independent":
        return f"{last.n:,} independent voters: {shown(last.correlated)} right"
    return f"{last.n:,} voters: {shown(last.independent)} right if independent, {shown(last.correlated)} in this model"


def _ticks(n: list[int], *, logarithmic: bool) -> list[int]:
    """Those of the sizes that leave room for their numbers, from the last one down."""
    places = [math.log(size) if logarithmic else float(size) for size in n]
    gap = (places[-1] - places[0]) / 16
    found = [len(n) - 1]
    for i in range(len(n) - 2, -1, -1):
        if places[found[-1]] - places[i] >= gap:
            found.append(i)
    return [n[i] for i in reversed(found)]


def _range(values: list[float]) -> tuple[float, float]:
    """Limits of the axis: some air, but no share above one."""
    low, high = min(values), max(values)
    air = max(0.02, 0.06 * (high - low))
    return max(low - air, -0.01), min(high + air, 1.01)
