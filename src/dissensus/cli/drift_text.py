"""The drift model's prediction as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from dissensus.measure.drift import ASSUMPTIONS, NOT_CALIBRATED, RIGHT_BELOW, share_wrong
from dissensus.measure.drift_fit import Fit
from dissensus.measure.drift_prediction import Form, Prediction
from dissensus.measure.seats import NULLS
from dissensus.measure.study_points import StudyPoint
from dissensus.measure.wording import between, percent, short

_WIDTH = 100
_MOST_ORDERS = 20


def lines(
    found: Prediction, points: Sequence[StudyPoint], fit: Fit | None, *, fitted: bool, listed: bool
) -> Iterator[str]:
    """All of it.

    Args:
        found: the prediction.
        points: what was measured, possibly nothing.
        fit: the measured steps, or None.
        fitted: the prediction goes by them.
        listed: numbers of corrupted agents were asked for by name, so their orders are listed one by one.
    """
    given = found.given
    begun = "each begun on the next seat" if given.rotate else "all begun on the first seat"
    yield (
        f"The drift model: {given.agents} agents, texts of {given.turns:,} turns; votes over {given.trajectories} "
        f"texts, {begun}"
    )
    yield "steps as they were measured" if fitted else "an illustration: its parameters are assumed, not measured"
    yield ""
    yield from (f"{name}  {text}" for name, text in ASSUMPTIONS.items())
    yield from textwrap.wrap(NOT_CALIBRATED, _WIDTH)
    yield ""
    yield from _breaks(found)
    for form in found.forms:
        yield ""
        yield from _form(found, form)
    if found.simulated:
        yield ""
        yield from _simulated(found)
    yield ""
    yield from _nulls(found)
    if found.orders:
        yield ""
        yield from _orders(found, listed=listed)
    if fit is not None:
        yield ""
        yield "measured steps"
        yield from fit.lines()
    own = [point for point in points if point.agents == given.agents]
    if own:
        yield ""
        yield from _measured(found, own)


def _breaks(found: Prediction) -> Iterator[str]:
    yield "corrupted agents from which on fewer than half are right, of the numbers looked at (-: none of them)"
    rows = [["", "vote", "one text", "voted", "long texts go wrong beyond"]]
    for form in found.forms:
        columns = (form.breaks(column) for column in ("vote", "text", "voted"))
        breaks = ["-" if at is None else f"{at} of {found.given.agents}" for at in columns]
        rows.append([f"{form.name} ({form.parameters})", *breaks, f"{short(form.critical)} corrupted"])
    yield from table(rows)


def _form(found: Prediction, form: Form) -> Iterator[str]:
    yield f"{form.name}: share right, over all placements of the corrupted agents"
    rows = [["corrupted", "vote", "one text", "voted"]]
    rows += [[str(row.corrupted), _share(row.vote), _share(row.text), _share(row.voted)] for row in form.rows]
    yield from table(rows)
    worse = [row.corrupted for row in form.rows if row.voted < row.text - 1e-9]
    if worse and found.given.trajectories > 1:
        yield f"with {_numbers(worse)} corrupted, voting over more texts makes it worse"


def _simulated(found: Prediction) -> Iterator[str]:
    yield "the walk drawn at random, one text"
    rows = [["corrupted", "drawn", "error", "formula"]]
    rows += [
        [str(one.corrupted), short(one.share, 4), short(one.error, 4), short(one.formula, 4)] for one in found.simulated
    ]
    yield from table(rows)


def _nulls(found: Prediction) -> Iterator[str]:
    yield "null models, one text / voted: what the seats alone give, if honest writers are right and others wrong"
    rows = [["corrupted", *NULLS]]
    for many, one in found.null_texts.items():
        rows.append([str(many), *(f"{_share(one[name])} / {_share(found.nulls[many][name])}" for name in NULLS)])
    yield from table(rows)


def _orders(found: Prediction, *, listed: bool) -> Iterator[str]:
    yield f"additive, very many rounds: V after the last seat in each order of the seats, right below {RIGHT_BELOW:.3f}"
    for many, orders in found.orders.items():
        if len(orders) == 1 and not listed:
            continue
        wrong = sum(not one.right for one in orders)
        if listed and len(orders) <= _MOST_ORDERS:
            yield f"{many} corrupted: {', '.join(f'{one.order} {one.potential:.6g}' for one in orders)}"
        yield (
            f"{many} corrupted: {wrong:,} of {len(orders):,} orders end wrong ({percent(share_wrong(orders))}); "
            f"the worst is {orders[0].order} with {orders[0].potential:.6g}"
        )


def _measured(found: Prediction, points: Sequence[StudyPoint]) -> Iterator[str]:
    yield "measured beside predicted (* outside the measured interval)"
    if any(point.scripted for point in points):
        yield "scripted agents are toys and no evidence about models"
    rows = [["corrupted", "procedure", "measured", "n", *(form.name for form in found.forms)]]
    for point in sorted(points, key=lambda one: (one.name, one.corrupted)):
        predicted = found.predicted(point)
        cells = []
        for form in found.forms:
            value = predicted.get(form.name)
            outside = value is not None and not point.low - 1e-9 <= value <= point.high + 1e-9
            cells.append("-" if value is None else f"{_share(value)}{'*' if outside else ''}")
        measured = f"{short(point.accuracy)}{between((point.low, point.high))}"
        rows.append([str(point.corrupted), point.name, measured, f"{point.n:,}", *cells])
    yield from table(rows)


def _share(value: float) -> str:
    """Three digits; what is not quite 1 or 0 never looks as if it were."""
    if 0.9995 <= value < 1 - 1e-12:
        return ">.999"
    return "<.001" if 1e-12 < value < 0.0005 else short(value if value > 1e-12 else 0.0)


def _numbers(values: Sequence[int]) -> str:
    return " or ".join([", ".join(map(str, values[:-1])), str(values[-1])]) if len(values) > 1 else str(values[0])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their columns below each other, the first one to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    found = []
    for row in rows:
        cells = [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        found.append("   ".join(cells).rstrip())
    return found
