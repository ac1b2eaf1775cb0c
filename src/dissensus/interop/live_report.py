"""What a monitor of a running system has to report, while it runs and at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dissensus.errors import DissensusError, StorageError
from dissensus.interop.message_logs import AuditReport, AuditSettings, finding_data, obligation_data
from dissensus.interop.spool import Spool
from dissensus.say.audit import Tally
from dissensus.say.book import past_deadline
from dissensus.say.message import INFERRED, Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.base import Skipped
from dissensus.say.readers.own import READER
from dissensus.say.verdicts import ANSWER, PENDING, UNTAGGED, VIOLATED, Finding, Obligation

_MOST: Final = 1_000


class LiveReport:
    """Keeps findings and closed obligations, on disk if they are many, and what went wrong around them.

    Args:
        settings: of the monitor.
        core: the monitor itself.

    Attributes:
        name: of the log, for the report.
        reader: whose format the report is in.
        findings, obligations: what was found, and what has ended.
        sources: how many messages got their act from a field, the structure, inference and so on.
        errors: first failures of callbacks and of storage; ``errors_count`` is how many there were.
    """

    def __init__(self, settings: AuditSettings, core: Monitor) -> None:
        self.name = "live"
        self.reader = READER
        self._settings = settings
        self._core = core
        self.findings, self.obligations = Spool(Finding), Spool(Obligation)
        self._untagged: list[str] = []
        self._skipped: list[Skipped] = []
        self._skipped_count = 0
        self._as_of: float | None = None
        self.sources: Counter[str] = Counter()
        self.errors: list[str] = []
        self.errors_count = 0

    def found(self, finding: Finding) -> None:
        """Keep a finding."""
        self._keep(self.findings, finding)

    def closed(self, owed: Obligation) -> None:
        """Keep an obligation that has its final status."""
        self._keep(self.obligations, owed)

    def seen(self, m: Message, verdict: str) -> None:
        """Note where a message got its act from, if it has one."""
        if verdict is not UNTAGGED:
            self.sources[m.tag_source] += 1
        elif len(self._untagged) < _MOST:
            self._untagged.append(m.id)

    def skip(self, line: int, error: DissensusError) -> None:
        """Note what could not be judged."""
        self._skipped_count += 1
        if len(self._skipped) < _MOST:
            self._skipped.append(Skipped(line, error.message))

    def failed(self, error: Exception) -> None:
        """Note a failure that must not break what is watched."""
        self.errors_count += 1
        if len(self.errors) < _MOST:
            self.errors.append(f"{type(error).__name__}: {error}")

    def ended(self, as_of: float | None) -> None:
        """The monitor has ended; deadlines were judged by ``as_of``."""
        self._as_of = as_of

    def open_now(self, now: float | None) -> list[Obligation]:
        """Copies of what is open, with the status that they have at ``now``."""
        return list(self._open(now))

    def counts(self, now: float | None) -> dict[str, int]:
        """As in the report of an audit; what is open counts as it stands at ``now``."""
        return self._tally(now).counts()

    def audit(self, now: float | None) -> AuditReport:
        """The report of an audit; what is open is not in it before the monitor has ended."""
        tally, protocols = self._tally(now), self._core.followed()
        return AuditReport(
            self.name, self._settings, tally, self.findings, self.obligations, protocols, broken=self._broken(now)
        )

    def to_data(self, now: float | None) -> dict[str, Any]:
        """The report of an audit as JSON data, and what went wrong with callbacks."""
        return self.audit(now).head() | {
            "failures": {"count": self.errors_count, "first": list(self.errors)},
            "obligations": [obligation_data(owed, self.reader) for owed in (*self.obligations, *self._open(now))],
            "messages": [finding_data(finding, self.reader) for finding in self.findings],
        }

    def state(self) -> dict[str, Any]:
        """What it keeps, as JSON data, without findings and obligations."""
        return {
            "untagged": self._untagged,
            "skipped": [[one.line, one.why] for one in self._skipped],
            "skipped_count": self._skipped_count,
            "sources": dict(self.sources),
            "errors": self.errors,
            "errors_count": self.errors_count,
        }

    def restore(self, state: dict[str, Any], findings: list[Finding], obligations: list[Obligation]) -> None:
        """Take up what :meth:`state` gave."""
        self._untagged = list(state["untagged"])
        self._skipped = [Skipped(line, why) for line, why in state["skipped"]]
        self._skipped_count = state["skipped_count"]
        self.sources = Counter(state["sources"])
        self.errors, self.errors_count = list(state["errors"]), state["errors_count"]
        for finding in findings:
            self.found(finding)
        for owed in obligations:
            self.closed(owed)

    def _open(self, now: float | None) -> Iterator[Obligation]:
        for owed in self._core.book.open_ones():
            yield msgspec.structs.replace(owed, status=past_deadline(owed) if _late(owed, now) else PENDING)

    def _broken(self, now: float | None) -> int:
        """Promises that were not kept, or are past their deadline now."""
        book = self._core.book
        late = sum(past_deadline(owed) == VIOLATED for owed in book.owed.values() if _late(owed, now))
        return book.counts.get(VIOLATED, 0) + late

    def _tally(self, now: float | None) -> Tally:
        core = self._core
        waiting = pending = 0
        for owed in core.book.owed.values():
            waiting += owed.kind == ANSWER and not owed.outside
            pending += not _late(owed, now)
        return Tally(
            self.reader,
            messages=core.messages,
            tagged=core.tagged,
            threads=core.threads_seen(),
            requests=core.book.requests,
            unanswered=core.book.unanswered + waiting,
            pending=core.book.counts.get(PENDING, 0) + pending,
            violations=core.violations,
            warnings=core.warnings,
            sources=Counter(self.sources),
            untagged=list(self._untagged),
            skipped=list(self._skipped),
            skipped_count=self._skipped_count,
            backwards=core.backwards,
            backwards_at=tuple(core.backwards_at),
            as_of=self._as_of if self._as_of is not None else now,
            inferred=INFERRED in self.sources,
        )

    def _keep(self, spool: Spool[Any], item: msgspec.Struct) -> None:
        try:
            spool.add(item)
        except StorageError as error:
            self.failed(error)


def _late(owed: Obligation, now: float | None) -> bool:
    return now is not None and owed.deadline is not None and now > owed.deadline and not owed.suspended
