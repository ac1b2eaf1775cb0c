"""Picture of an audit: who owed what from which message to which, and where somebody moved without title."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli.pictures import style
from dissensus.say.verdicts import (
    ANSWERED,
    EXPIRED,
    FULFILLED,
    PENDING,
    UNKNOWN,
    VIOLATED,
    VIOLATION,
    WARNING,
    Finding,
    Obligation,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dissensus.interop.message_logs import AuditReport

MOST_ROWS: Final = 40
"""Threads that have room; of more, those in which something is open or went wrong come first."""
_THINNEST: Final = 250
"""A bar is at least as wide as such a part of the picture, however long the log is."""
_NEVER: Final = frozenset({PENDING, VIOLATED, EXPIRED, UNKNOWN})
_LOOKS: Final[dict[str, tuple[str, str, str]]] = {
    "kept": (style.BLUE, "", "answered or delivered"),
    "declared": (style.SKY, "//", "refused, failed, cancelled: declared"),
    "open": (style.ORANGE, "", "open at the end"),
    "broken": (style.BLACK, "xx", "violated or expired"),
    "unknown": (style.GREY, "..", "unknown"),
}
"""Colour, hatching and caption of each fate."""


def draw(report: AuditReport, folder: Path, *, name: str = "audit_threads") -> list[Path]:
    """Write the picture of ``report`` and its data into ``folder``; returns the four paths.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    faults = [f for f in report.findings if f.level in {VIOLATION, WARNING} and f.caused_by is None]
    threads, began = _threads(report, faults)
    shown = sorted(threads, key=lambda key: (not _wrong(threads[key]), began[key]))[:MOST_ROWS]
    shown.sort(key=lambda key: began[key])
    end = report.tally.messages
    title = (
        f"{report.tally.requests:,} requests, {report.tally.unanswered:,} unanswered; "
        f"{_number(report.tally.violations, 'violation')}"
        + (f" and {_number(report.broken, 'broken promise')}" if report.broken else "")
        + f" in {end:,} messages"
    )
    first, last = 1, end + 1
    if len(shown) < len(threads):  # as much of the log as these take
        places = [place for key in shown for owed in threads[key] for place in (owed.opened_seq, owed.closed_seq)]
        places += [fault.seq for fault in faults if fault.thread in {thread for thread, _ in shown}]
        first, last = min(filter(None, places)), max(place or end + 1 for place in places)
    least = max(0.3, (last - first) / _THINNEST)
    with style.drawing(height=min(11.0, 2.0 + 0.24 * max(len(shown), 3))) as (figure, axes):
        used: dict[str, Any] = {}
        for row, key in enumerate(shown):
            for owed in threads[key]:
                _bar(axes, row, owed, used, end=end, least=least)
        _marks(axes, shown, faults, used)
        axes.set_yticks(range(len(shown)), labels=[_label(key[0], threads[key]) for key in shown], fontsize=7.5)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlim(first - 0.5, last + 0.5)
        axes.set_xlabel("message")
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", integer=True)
        if used:
            figure.legend(list(used.values()), list(used), loc="outside upper left", ncols=3, fontsize=7.5)
        hidden = len(threads) - len(shown)
        style.explain(
            figure,
            "A bar runs from the message that brought an obligation about to the one that ended it, or to the end of "
            "the log. Answered is no proof that what came was right."
            + (f" {hidden:,} more threads are not shown." if hidden else ""),
        )
        style.title(figure, axes, title)
        rows = [_row(owed) for key in shown for owed in threads[key]]
        data = report.head() | {"drawn": rows}
        return style.save(figure, folder, name, rows=rows, data=data, title=title)


_Key = tuple[str, str]


def _threads(report: AuditReport, faults: list[Finding]) -> tuple[dict[_Key, list[Obligation]], dict[_Key, int]]:
    """Obligations by thread and party, none where only a fault was found; and where in the log each begins."""
    found: dict[_Key, list[Obligation]] = {}
    began: dict[_Key, int] = {}
    for owed in sorted(report.obligations, key=lambda owed: owed.opened_seq):
        key = owed.thread, owed.sub
        found.setdefault(key, []).append(owed)
        began.setdefault(key, owed.opened_seq)
    named = {thread for thread, _ in found}
    for fault in faults:
        if (thread := fault.thread or "") not in named:
            found.setdefault((thread, ""), [])
            began.setdefault((thread, ""), fault.seq)
    return found, began


def _wrong(owed: list[Obligation]) -> bool:
    return not owed or any(one.status in _NEVER for one in owed)


def _fate(status: str) -> str:
    if status in {FULFILLED, ANSWERED}:
        return "kept"
    if status == PENDING:
        return "open"
    if status == UNKNOWN:
        return "unknown"
    return "broken" if status in {VIOLATED, EXPIRED} else "declared"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _bar(axes: Axes, row: int, owed: Obligation, used: dict[str, Any], *, end: int, least: float) -> None:
    colour, hatch, caption = _LOOKS[_fate(owed.status)]
    until = owed.closed_seq or end + 1
    drawn = axes.barh(
        row, max(until - owed.opened_seq, least), left=owed.opened_seq, height=0.62, color=colour, hatch=hatch,
        edgecolor="white", linewidth=0.6,
    )  # fmt: skip
    used.setdefault(caption, drawn[0])


def _marks(axes: Axes, shown: list[_Key], faults: list[Finding], used: dict[str, Any]) -> None:
    rows = {thread: row for row, (thread, _) in reversed(list(enumerate(shown)))}
    for level, marker, colour in ((VIOLATION, "X", style.BLACK), (WARNING, "^", style.PURPLE)):
        places = [(f.seq, rows[f.thread or ""]) for f in faults if f.level == level and (f.thread or "") in rows]
        if places:
            [drawn] = axes.plot(
                *zip(*places, strict=True), marker, color=colour, markeredgecolor="white", markersize=8, zorder=5
            )
            used[level] = drawn


def _label(thread: str, owed: list[Obligation]) -> str:
    name = thread if len(thread) <= 24 else f"{thread[:11]}…{thread[-11:]}"
    return f"{name}  {owed[-1].debtor[:18]} → {owed[-1].creditor[:18]}" if owed else name


def _row(owed: Obligation) -> dict[str, Any]:
    return {
        "thread": owed.thread,
        "sub": owed.sub,
        "kind": owed.kind,
        "debtor": owed.debtor,
        "creditor": owed.creditor,
        "status": owed.status,
        "opened": owed.opened_seq,
        "closed": owed.closed_seq or None,
    }
