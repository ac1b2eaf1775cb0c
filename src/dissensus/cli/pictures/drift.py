"""Pictures of the drift model: accuracy by corrupted agents, with what was measured; and orders of the seats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli.pictures import style
from dissensus.measure.drift import RIGHT_BELOW, Order, share_wrong
from dissensus.measure.drift_prediction import Form, Prediction
from dissensus.measure.seats import LAST, MAJORITY
from dissensus.measure.study_points import StudyPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES: Final = (
    ("vote", "vote on finished answers", style.BLUE, "--", "o"),
    ("text", "one text in turns", style.ORANGE, "-", "s"),
    ("voted", "vote over {m} such texts", style.GREEN, "-.", "^"),
)
_MEASURED: Final = {"vote": (style.BLUE, "o"), "text": (style.ORANGE, "s"), "voted": (style.GREEN, "^")}
_OTHERS: Final = ((style.PURPLE, "D"), (style.BLACK, "v"), (style.SKY, "P"), (style.GREY, "X"))
_MOST_ORDERS: Final = 30


def draw(found: Prediction, folder: Path, points: Sequence[StudyPoint] = (), *, name: str = "drift") -> list[Path]:
    """Write the picture of the forms, and that of the orders where seats can be ordered; returns the paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    own = [point for point in points if point.agents == found.given.agents]
    written = _forms(found, folder, own, name)
    ordered = {many: orders for many, orders in found.orders.items() if 1 < len(orders) <= _MOST_ORDERS}
    if ordered:
        mixed = [many for many, orders in ordered.items() if 0 < share_wrong(orders) < 1]
        many = mixed[0] if mixed else next(iter(ordered))
        written += _orders(many, ordered[many], found, folder, f"{name}_orders")
    return written


def _forms(found: Prediction, folder: Path, points: Sequence[StudyPoint], name: str) -> list[Path]:
    given, forms = found.given, found.forms
    title = _title(found)
    with style.drawing(width=3.4 * len(forms) + 0.6 if len(forms) > 1 else 7.4, height=4.6) as (figure, axes):
        figure.delaxes(axes)
        used: dict[str, Any] = {}
        first: Axes | None = None
        for place, form in enumerate(forms, 1):
            panel = figure.add_subplot(1, len(forms), place, sharey=first)
            _panel(panel, form, found, points, used)
            panel.set_title(f"{form.name}\n{form.parameters}", fontsize=8.5)
            if first is None:
                first = panel
                panel.set_ylabel("share right, over all placements")
            else:
                panel.tick_params(labelleft=False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        shown = sorted(used, key=lambda label: label.startswith("null"))  # what is predicted and measured comes first
        figure.legend([used[label] for label in shown], shown, loc="outside right center", fontsize=8)
        style.explain(
            figure,
            f"The drift model, {given.agents} agents, {given.turns} turns: an illustration under assumptions A1 to A5, "
            "not calibrated on a language model. Null models decide by the seats alone."
            + (" Bars: 95 % intervals of what was measured." if points else "")
            + (" Scripted agents are toys and no evidence about models." if any(p.scripted for p in points) else ""),
        )
        rows = [
            {"form": form.name, "corrupted": row.corrupted, "vote": row.vote, "text": row.text, "voted": row.voted}
            for form in forms
            for row in form.rows
        ]
        data = found.to_data() | {"measured": [point.to_data() for point in points]}
        return style.save(figure, folder, name, rows=rows, data=data, title=title)


def _title(found: Prediction) -> str:
    shown = found.forms[0]
    vote, text = shown.breaks("vote"), shown.breaks("text")

    def holds(at: int | None) -> str:
        return "at none of these" if at is None else f"at {at} of {found.given.agents} corrupted"

    return f"{shown.name.capitalize()}: the vote breaks {holds(vote)}, one text {holds(text)}"


def _panel(panel: Axes, form: Form, found: Prediction, points: Sequence[StudyPoint], used: dict[str, Any]) -> None:
    counts = [row.corrupted for row in form.rows]
    panel.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    for null, dashes in ((LAST, ":"), (MAJORITY, (0, (4, 1, 1, 1, 1, 1)))):
        [line] = panel.plot(
            counts, [found.null_texts[many][null] for many in counts], color=style.GREY, linestyle=dashes, linewidth=1.2
        )
        used.setdefault(f"null, one text: {null}", line)
    for column, label, color, dashes, marker in _LINES:
        if column == "voted" and found.given.trajectories == 1:
            continue
        [line] = panel.plot(
            counts,
            [getattr(row, column) for row in form.rows],
            color=color,
            linestyle=dashes,
            marker=marker,
            markersize=4.5,
            markerfacecolor="white",
        )
        used.setdefault(label.format(m=found.given.trajectories), line)
    names = list(dict.fromkeys(point.name for point in points))
    others = [name for name in names if not next(p for p in points if p.name == name).predicted_as]
    for place, name in enumerate(names):
        own = sorted((point for point in points if point.name == name), key=lambda point: point.corrupted)
        looks = _MEASURED.get(own[0].predicted_as) or _OTHERS[others.index(name) % len(_OTHERS)]
        aside = 0.09 * (place - (len(names) - 1) / 2)
        bars = panel.errorbar(
            [point.corrupted + aside for point in own],
            [point.accuracy for point in own],
            yerr=[
                [max(0.0, point.accuracy - point.low) for point in own],
                [max(0.0, point.high - point.accuracy) for point in own],
            ],
            color=looks[0],
            marker=looks[1],
            linestyle="",
            markersize=6.5,
            capsize=2.5,
            elinewidth=1.4,
            zorder=4,
        )
        used.setdefault(f"measured: {name}", bars)
    panel.set_ylim(-0.03, 1.03)
    panel.set_xticks(counts)
    panel.set_xlabel("corrupted agents")


def _orders(many: int, orders: Sequence[Order], found: Prediction, folder: Path, name: str) -> list[Path]:
    given = found.given
    wrong = sum(not one.right for one in orders)
    ends = "ends" if wrong == 1 else "end"
    title = f"{many} of {given.agents} corrupted: {wrong} of {len(orders)} orders of the seats {ends} wrong"
    finite = [one for one in orders if one.potential != float("inf")]
    with style.drawing(height=1.6 + 0.26 * max(4, len(finite))) as (figure, axes):
        axes.barh(
            range(len(finite)),
            [one.potential for one in finite],
            color=[style.SKY if one.right else style.ORANGE for one in finite],
            hatch=["" if one.right else "//" for one in finite],
            edgecolor="white",
            height=0.7,
        )
        axes.axvline(RIGHT_BELOW, color=style.BLACK, linewidth=1.2, linestyle="--")
        axes.annotate(
            "ln 2: right to the left of it",
            (RIGHT_BELOW, len(finite) - 0.6),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
        axes.set_yticks(range(len(finite)), labels=[one.order for one in finite], family="DejaVu Sans Mono")
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("potential V after the last seat of very many rounds")
        axes.set_title(title)
        style.explain(
            figure,
            f"Additive push, gH {given.contract:g}, b {given.push:g}; H honest, C corrupted, in the order of writing. "
            "An illustration under assumptions A1 to A5, not calibrated on a language model.",
        )
        rows = [{"order": one.order, "potential": one.potential, "right": one.right} for one in finite]
        data = found.to_data()["orders"][str(many)] | {"corrupted": many}
        return style.save(figure, folder, name, rows=rows, data=data, title=title)
