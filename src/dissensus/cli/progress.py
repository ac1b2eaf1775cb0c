"""Ballots and bids as they arrive, on a terminal only; whoever reads our output in a pipe sees nothing of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from dissensus.cli.readout import clean, say
from dissensus.record.event import Event

MOST_ROWS = 20
_PER_SECOND = 8
_SPEED_S = 3600.0
"""Seconds over which the speed is judged: one question may take minutes."""


class Progress:
    """A small table on stderr, one row for each agent, gone when the answer is there. Use as a context manager.

    A panel of more than ``MOST_ROWS`` agents is counted instead. Without ``agents``, the record says who takes part and
    what is asked.
    """

    def __init__(self, question: str = "", agents: Sequence[str] = (), place: str = "") -> None:
        self._title = f"{place}{clean(question)[:200]}"
        self._rows = dict.fromkeys(agents, "…")
        self._live: Any = None
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                get_renderable=self._table,
                console=Console(stderr=True),
                transient=True,
                refresh_per_second=_PER_SECOND,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def on_event(self, event: Event) -> None:
        """Take in one event of the run. What a budget gives notice of is said wherever stderr goes."""
        if self._live is None:
            tell_notice(event)
        elif event.kind == "budget-warning":
            self._live.console.print(clean(str(event.body["text"])), markup=False, highlight=False)
        elif event.kind == "ballot":
            answer = event.body.get("answer")
            self._rows[str(event.body["agent"])] = str(event.body["outcome"]) if answer is None else str(answer)
        elif event.kind in ("ask", "score") and "/repair/" in f"/{event.key}":
            self._rows[str(event.body["agent"])] = "asked once more"
        elif event.kind == "check":
            self._rows["check"] = str(event.body["answer"])
        elif event.kind == "run" and not self._rows:
            self._begin(event.body)
        elif event.kind == "post" and event.body.get("protocol") is not None:
            self._rows |= _moved(event.body)
        elif event.kind == "state":
            self._rows["case"] = str(event.body["to"])
        elif event.kind == "remedy" and event.body.get("remedy") == "remind":
            self._rows[str(event.body["agent"])] = "reminded"

    def _begin(self, head: Mapping[str, Any]) -> None:
        settings = head["settings"]
        self._title = clean(str(settings.get("task") or settings.get("question", {}).get("text", "")))[:200]
        self._rows = {str(seat["agent"]): "…" for seat in head["seats"] if not seat.get("spare")}

    def _table(self) -> Any:
        """What stands there now; asked for by a thread of its own, so that nothing that came last is missing."""
        from rich.table import Table
        from rich.text import Text

        rows = self._rows.copy()
        if len(rows) > MOST_ROWS:
            rows = {"ballots": f"{sum(state != '…' for state in rows.values())} of {len(rows)}"}
        table = Table.grid(padding=(0, 2))
        for agent, state in rows.items():
            table.add_row(Text(clean(agent)), Text(clean(state)[:60], style="dim" if state == "…" else ""))
        whole = Table.grid()
        whole.add_row(Text(self._title, overflow="ellipsis", no_wrap=True))
        whole.add_row(table)
        whole.add_row(Text(f"{time.monotonic() - self._begun:.0f} s", style="dim"))
        return whole


def tell_notice(event: Event) -> None:
    """Say on stderr what a budget gives notice of; nothing of any other event."""
    if event.kind == "budget-warning":
        say(clean(str(event.body["text"])), err=True)


def _moved(post: Mapping[str, Any]) -> dict[str, str]:
    """What a move of a contract says of whom."""
    sender, to, text = str(post["sender"]), [str(name) for name in post["to"]], str(post["text"])
    match post["act"]:
        case "cfp":
            return dict.fromkeys(to, "…")
        case "propose":
            return {sender: text}
        case "refuse":
            return {sender: f"refuses: {text}"}
        case "accept-proposal":
            return dict.fromkeys(to, "holds the task")
        case "reject-proposal":
            return dict.fromkeys(to, "not taken")
        case "inform":
            return {sender: "delivered"}
        case "failure":
            agent = str(post.get("about") or sender)
            return {agent: text.removeprefix(f"{agent}: ")}
    return {}


class Bar:
    """A bar with the time that is left, on stderr, on a terminal only. Use as a context manager.

    Args:
        what: what is counted.
        total: how many there are.
        done: how many need no work; the time left is judged by the others.
    """

    def __init__(self, what: str, *, total: int, done: int = 0) -> None:
        self.done = done
        self._what = what
        self._total = total
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn(self._what),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("left"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=_SPEED_S)
            self._task = self._bar.add_task(self._what, total=self._total, completed=self.done)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def add(self, number: int = 1) -> None:
        """So many more are done."""
        self.done += number
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def stop(self) -> None:
        """Take the bar away; may be called twice."""
        if self._bar is not None:
            self._bar.stop()
