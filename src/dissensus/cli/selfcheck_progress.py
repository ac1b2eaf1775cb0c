"""The steps of a self-check as they are done, on a terminal only."""

from __future__ import annotations

from dissensus.cli.progress import Progress
from dissensus.record.event import Event


class Steps(Progress):
    """A row for each answer and each look at them."""

    def on_event(self, event: Event) -> None:
        """Take in one event of the run."""
        super().on_event(event)
        if event.kind in ("self-answer", "self-verdict"):
            self._rows[str(event.body["step"])] = str(event.body["says"])
