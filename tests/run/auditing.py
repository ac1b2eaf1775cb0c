"""The audit of a record that lies in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

from dissensus.record.event import Event
from dissensus.say.audit import Tally, run
from dissensus.say.monitor import Monitor
from dissensus.say.readers.record import PLATFORMS, READER, EventSource
from dissensus.say.verdicts import Finding, Obligation


@dataclass
class Audited:
    tally: Tally
    findings: list[Finding]
    obligations: list[Obligation]

    def statuses(self, kind: str = "answer") -> dict[str, str]:
        """Thread (and party) to status of the last obligation of this kind."""
        return {
            f"{owed.thread}/{owed.sub}" if owed.sub else owed.thread: owed.status
            for owed in self.obligations
            if owed.kind == kind
        }


def audited(events: Iterable[Event]) -> Audited:
    """What `dissensus audit` would find in these events."""
    findings: list[Finding] = []
    obligations: list[Obligation] = []
    monitor = Monitor(platforms=PLATFORMS, on_finding=findings.append, on_closed=obligations.append)
    kept = list(events)
    source = EventSource("memory", BytesIO, kept)
    return Audited(run(source, READER, monitor, as_of=kept[-1].time if kept else None), findings, obligations)
