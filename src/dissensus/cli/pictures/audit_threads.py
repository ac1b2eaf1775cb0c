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
    threads = _threads(report)
    shown = sorted(threads, key=lambda key: (not _wrong(threads[key]), threads[key][0].opened_seq))[:MOST_ROWS]
    shown.sort(key=lambda key: threads[key][0].opened_seq)
    faults = [f for f in report.findings if f.level in {VIOLATION, WARNING} and f.caused_by is None]
    end = report.tally.messages
    title = (
        f"{report.tally.requests:,} requests, {report.tally.unanswered:,} unanswered; "
        f"{report.tally.violations:,} violation{'' if report.tally.violations == 1 else 's'} in {end:,} messages"
    )
    with style.drawing(height=min(11.0, 2.0 + 0.24 * max(len(shown), 3))) as (figure, axes):
        used: dict[str, Any] = {}
        for row, key in enumerate(shown):
            for owed in threads[key]:
                _bar(axes, row, owed, end, used)
        _marks(axes, shown, faults, used)
        axes.set_yticks(range(len(shown)), labels=[_label(threads[key]) for key in shown], fontsize=7.5)
        axes.invert_yaxis()
        axes.set_xlim(0.5, end + 1.5)
        axes.set_xlabel("message")
        axes.grid(visible=False, axis="y")
        axes.set_title(title)
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
        rows = [_row(owed) for key in shown for owed in threads[key]]
        data = report.head() | {"drawn": rows}
        return style.save(figure, folder, name, rows=rows, data=data, title=title)


def _threads(report: AuditReport) -> dict[tuple[str, str], list[Obligation]]:
    found: dict[tuple[str, str], list[Obligation]] = {}
    for owed in sorted(report.obligations, key=lambda owed: owed.opened_seq):
        found.setdefault((owed.thread, owed.sub), []).append(owed)
    return found


def _wrong(owed: list[Obligation]) -> bool:
    return any(one.status in _NEVER for one in owed)


def _fate(status: str) -> str:
    if status in {FULFILLED, ANSWERED}:
        return "kept"
    if status == PENDING:
        return "open"
    if status == UNKNOWN:
        return "unknown"
    return "broken" if status in {VIOLATED, EXPIRED} else "declared"


def _bar(axes: Axes, row: int, owed: Obligation, end: int, used: dict[str, Any]) -> None:
    colour, hatch, caption = _LOOKS[_fate(owed.status)]
    until = owed.closed_seq or end + 1
    drawn = axes.barh(
        row, max(until - owed.opened_seq, 0.3), left=owed.opened_seq, height=0.62, color=colour, hatch=hatch,
        edgecolor="white", linewidth=0.6,
    )  # fmt: skip
    used.setdefault(caption, drawn[0])


def _marks(axes: Axes, shown: list[tuple[str, str]], faults: list[Finding], used: dict[str, Any]) -> None:
    rows = {thread: row for row, (thread, _) in reversed(list(enumerate(shown)))}
    for level, marker, colour in ((VIOLATION, "X", style.BLACK), (WARNING, "^", style.PURPLE)):
        places = [(f.seq, rows[f.thread or ""]) for f in faults if f.level == level and (f.thread or "") in rows]
        if places:
            [drawn] = axes.plot(
                *zip(*places, strict=True), marker, color=colour, markeredgecolor="white", markersize=8, zorder=5
            )
            used[level] = drawn


def _label(owed: list[Obligation]) -> str:
    one = owed[-1]
    name = one.thread if len(one.thread) <= 24 else f"{one.thread[:11]}…{one.thread[-11:]}"
    return f"{name}  {one.debtor[:18]} → {one.creditor[:18]}"


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
