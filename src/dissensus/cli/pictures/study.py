"""Pictures of a study: what became of the decisions, accuracy by corrupted agents, by texts, and by what it took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dissensus.cli.pictures import style
from dissensus.measure.seats import LAST, MAJORITY
from dissensus.study.report import Report
from dissensus.study.report_cells import Figures, Where
from dissensus.study.report_parts import place_of
from dissensus.study.report_text import title

_SHARES: Final = (
    ("right", style.BLUE, ""),
    ("other", style.SKY, ".."),
    ("none", "#bdbdbd", ""),
    ("target", style.ORANGE, "//"),
)
_COLOURS: Final = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.BLACK, style.SKY, style.GREY)
_MARKERS: Final = "os^DvpP*"
"""One more than colours, so that no two procedures look alike."""
TOY: Final = " Scripted agents follow rules: a toy, and no evidence about models."


def draw(report: Report, folder: Path) -> list[Path]:
    """Write the pictures that the report has data for; returns the paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    written = _outcomes(report, folder)
    if len({one.corrupted for one in report.cells if not one.check}) > 1:
        written += _by_corrupted(report, folder)
    if report.curves:
        written += _by_texts(report, folder)
    written += _by_cost(report, folder)
    for key in sorted({key for one in report.cells for key in one.swept}):
        written += _by_setting(report, folder, key)
    return written


def _pooled(report: Report) -> list[Figures]:
    """The cells of all tasks together, where there are such."""
    sets = list(dict.fromkeys(one.tasks for one in report.cells))
    return [one for one in report.cells if one.tasks == sets[-1]]


def _explained(report: Report, text: str) -> str:
    return text + (TOY if any(one.scripted for one in report.cells) else "")


def _outcomes(report: Report, folder: Path) -> list[Path]:
    cells = [one for one in report.cells if not one.check]
    where = list(dict.fromkeys(place_of(one) for one in cells))
    rows_of = {place: [one for one in cells if place_of(one) == place] for place in where}
    height = 1.2 + sum(0.22 * len(own) + 0.42 for own in rows_of.values())
    heading = "What became of the decisions"
    with style.drawing(height=height) as (figure, axes):
        figure.delaxes(axes)
        ratios = [len(own) + 0.6 for own in rows_of.values()]
        grid = figure.add_gridspec(len(where), 1, height_ratios=ratios)
        used: dict[str, Any] = {}
        for at, place in enumerate(where):
            panel = figure.add_subplot(grid[at, 0])
            own = rows_of[place]
            left = [0.0] * len(own)
            for name, colour, hatch in _SHARES:
                shares = [_share(one, name) for one in own]
                bars = panel.barh(
                    range(len(own)), shares, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.6,
                    height=0.72,
                )  # fmt: skip
                used.setdefault(name, bars)
                left = [start + share for start, share in zip(left, shares, strict=True)]
            panel.set_yticks(range(len(own)), labels=[_name(one) for one in own])
            panel.invert_yaxis()
            panel.set_xlim(0, 1)
            panel.grid(visible=False, axis="y")
            panel.set_title(title(place), fontsize=8.5, fontweight="normal")
            if at < len(where) - 1:
                panel.tick_params(labelbottom=False)
        figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.legend([used[name] for name, *_ in _SHARES], [name for name, *_ in _SHARES], loc="outside right upper")
        style.explain(figure, _explained(report, "Shares of the decisions; a tie is shared."))
        rows = [_row(one) | {name: _share(one, name) for name, *_ in _SHARES} for one in cells]
        return style.save(figure, folder, "outcomes", rows=rows, data={"cells": rows}, title=heading)


def _by_corrupted(report: Report, folder: Path) -> list[Path]:
    cells = [one for one in _pooled(report) if not one.check]
    attacks = list(dict.fromkeys((one.lineup, one.attack) for one in cells if one.corrupted))
    heading = "Share right by corrupted agents"
    with style.drawing(width=3.3 * len(attacks) + 2.4, height=4.0) as (figure, axes):
        figure.delaxes(axes)
        used: dict[str, Any] = {}
        names = list(dict.fromkeys(one.procedure for one in cells))
        for at, (lineup, attack) in enumerate(attacks, 1):
            panel = figure.add_subplot(1, len(attacks), at)
            own = [one for one in cells if one.lineup == lineup and (one.attack == attack or not one.corrupted)]
            for place, name in enumerate(names):
                line = sorted((one for one in own if one.procedure == name), key=lambda one: one.corrupted)
                if line:
                    used.setdefault(_name(line[0]), _bars(panel, line, place, len(names)))
            for name, mark in ((LAST, "_"), (MAJORITY, "x")):
                points = sorted(
                    {
                        (judged.where[3], judged.nulls[name])
                        for judged in report.rescues
                        if judged.where[:3] == (cells[0].tasks, lineup, attack)
                        and name in judged.nulls
                        and judged.procedure == _first_in_turns(cells)
                    }
                )
                if points:
                    [drawn] = panel.plot(
                        *zip(*points, strict=True), color=style.GREY, linestyle=":", marker=mark, markersize=8
                    )
                    used.setdefault(f"null: {name}", drawn)
            panel.set_ylim(-0.03, 1.03)
            panel.set_xticks(sorted({one.corrupted for one in own}))
            panel.set_xlabel("corrupted agents")
            panel.set_title(f"{lineup}, {attack}", fontsize=8.5, fontweight="normal")
            if at == 1:
                panel.set_ylabel("share right")
        figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.legend(list(used.values()), list(used), loc="outside right upper", fontsize=8)
        style.explain(figure, _explained(report, "Bars: 95 % intervals, by question. Null models look at seats alone."))
        rows = [_row(one) | _interval(one) for one in cells]
        return style.save(figure, folder, "by_corrupted", rows=rows, data={"cells": rows}, title=heading)


def _first_in_turns(cells: Sequence[Figures]) -> str:
    return next((one.procedure for one in cells if one.in_turns), "")


def _by_texts(report: Report, folder: Path) -> list[Path]:
    curves = [one for one in report.curves if one.where[0] == _pooled(report)[0].tasks]
    worse = sum(one.worse for one in curves)
    heading = f"More texts made {worse} of {len(curves)} cells worse" if worse else "Share right by number of texts"
    with style.drawing(width=8.2) as (figure, axes):
        for place, one in enumerate(curves):
            axes.plot(
                range(1, len(one.right) + 1),
                one.right,
                color=_COLOURS[place % len(_COLOURS)],
                marker=_MARKERS[place % len(_MARKERS)],
                linestyle="--" if one.worse else "-",
                label=f"{one.procedure}: {title(one.where).partition(': ')[2]}{' (worse)' if one.worse else ''}",
            )
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel("texts that are voted on")
        axes.set_ylabel("share right")
        axes.set_xticks(range(1, max(len(one.right) for one in curves) + 1))
        figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.legend(loc="outside right upper", fontsize=7.5)
        style.explain(figure, _explained(report, "Dashed: more did worse. A vote amplifies whichever side leads."))
        rows = [
            {"procedure": one.procedure, "where": title(one.where), "texts": many, "right": right}
            for one in curves
            for many, right in enumerate(one.right, 1)
        ]
        data = {"curves": [one.to_data() for one in curves]}
        return style.save(figure, folder, "by_texts", rows=rows, data=data, title=heading)


def _by_cost(report: Report, folder: Path) -> list[Path]:
    cells = [one for one in _pooled(report) if not one.check]
    places: list[Where] = list(dict.fromkeys(place_of(one) for one in cells))
    names = list(dict.fromkeys(one.procedure for one in cells))
    heading = "Share right beside what it took"
    with style.drawing(width=9.4, height=1.0 + 2.5 * len(places)) as (figure, axes):
        figure.delaxes(axes)
        used: dict[str, Any] = {}
        for at, where in enumerate(places):
            own = [one for one in cells if place_of(one) == where]
            for side, (cost, label) in enumerate((("decoded", "tokens written"), ("seconds", "seconds"))):
                panel = figure.add_subplot(len(places), 2, 2 * at + side + 1)
                for one in own:
                    value = getattr(one, cost)
                    if value is None or one.right.value is None:
                        continue
                    place = names.index(one.procedure)
                    dots = panel.errorbar(
                        [value],
                        [one.right.value],
                        yerr=_error([one]),
                        color=_COLOURS[place % len(_COLOURS)],
                        marker=_MARKERS[place % len(_MARKERS)],
                        markerfacecolor="white" if one.oracle else None,
                        linestyle="",
                        elinewidth=1.0,
                    )
                    used.setdefault(_name(one), dots)
                panel.set_ylim(-0.05, 1.05)
                panel.set_xlim(left=0)
                panel.set_xlabel(f"{label} for one question")
                if not side:
                    panel.set_title(title(where), fontsize=8.5, fontweight="normal")
                    panel.set_ylabel("share right")
        figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.legend(list(used.values()), list(used), loc="outside right upper", fontsize=8)
        note = "Fairly compared is what stands above the same place of the axis. Seconds are those of this machine."
        style.explain(figure, _explained(report, note))
        rows = [_row(one) | _interval(one) | {"decoded": one.decoded, "seconds": one.seconds} for one in cells]
        return style.save(figure, folder, "by_cost", rows=rows, data={"cells": rows}, title=heading)


def _by_setting(report: Report, folder: Path, key: str) -> list[Path]:
    cells = [one for one in _pooled(report) if key in one.swept and isinstance(one.swept[key], int | float)]
    if not cells:
        return []
    groups: dict[str, list[Figures]] = {}
    for one in cells:
        rest = ", ".join(f"{name} {value}" for name, value in one.swept.items() if name != key)
        where = title(place_of(one)).partition(": ")[2]
        groups.setdefault(f"{one.family}{f', {rest}' if rest else ''}: {where}", []).append(one)
    heading = f"Share right by {key}"
    with style.drawing(width=8.2) as (figure, axes):
        used: dict[str, Any] = {}
        settings = sorted({float(one.swept[key]) for one in cells})
        wide = settings[0] > 0 and settings[-1] > 8 * settings[0]
        if wide:
            axes.set_xscale("log")
        for place, (name, own) in enumerate(groups.items()):
            aside = place - (len(groups) - 1) / 2
            own.sort(key=lambda one: float(one.swept[key]))
            values = [one.right.value or 0.0 for one in own]
            used[name] = axes.errorbar(
                [
                    one.swept[key] * 1.02**aside if wide else one.swept[key] + 0.008 * aside * settings[-1]
                    for one in own
                ],
                values,
                yerr=_error(own),
                color=_COLOURS[place % len(_COLOURS)],
                marker=_MARKERS[place % len(_MARKERS)],
                capsize=2.5,
                elinewidth=1.0,
            )
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(key)
        axes.set_ylabel("share right")
        axes.set_xticks(settings, labels=[f"{setting:g}" for setting in settings], minor=False)
        axes.minorticks_off()
        figure.suptitle(heading, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.legend(list(used.values()), list(used), loc="outside right upper", fontsize=7.5)
        style.explain(figure, _explained(report, "Bars: 95 % intervals, by question."))
        rows = [_row(one) | {key: one.swept[key]} | _interval(one) for one in cells]
        return style.save(figure, folder, f"by_{key}", rows=rows, data={"cells": rows}, title=heading)


def _bars(panel: Any, own: Sequence[Figures], place: int, many: int) -> Any:
    """One line of a picture by corrupted agents, a little aside of the others."""
    aside = 0.05 * (place - (many - 1) / 2)
    return panel.errorbar(
        [one.corrupted + aside for one in own],
        [one.right.value or 0.0 for one in own],
        yerr=_error(own),
        color=_COLOURS[place % len(_COLOURS)],
        marker=_MARKERS[place % len(_MARKERS)],
        linestyle="--" if own[0].oracle else "-",
        linewidth=1.2,
        markersize=4.5,
        capsize=2,
        elinewidth=0.9,
    )


def _name(one: Figures) -> str:
    return f"{one.procedure}{' (oracle)' * (one.oracle and 'oracle' not in one.procedure.lower())}"


def _error(own: Sequence[Figures]) -> list[list[float]]:
    """Lengths of the bars below and above."""
    below = [max(0.0, (one.right.value or 0.0) - (one.right.low or 0.0)) for one in own]
    above = [max(0.0, (one.right.high or 0.0) - (one.right.value or 0.0)) for one in own]
    return [below, above]


def _share(one: Figures, name: str) -> float:
    value = getattr(one, name)
    return float(value if isinstance(value, float) else value.value or 0.0)


def _row(one: Figures) -> dict[str, Any]:
    return {
        "tasks": one.tasks,
        "lineup": one.lineup,
        "procedure": one.procedure,
        "attack": one.attack,
        "corrupted": one.corrupted,
    }


def _interval(one: Figures) -> dict[str, Any]:
    return {"right": one.right.value, "low": one.right.low, "high": one.right.high}
