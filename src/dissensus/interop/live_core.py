"""What happens to one message of a running system: judged, kept for the report, recorded, deadlines looked at.

For one thread at a time; :class:`dissensus.interop.live_monitor.Monitor` has the lock and calls back.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from dissensus.errors import LogError, StorageError, UnknownAct, UsageError
from dissensus.interop import live_state
from dissensus.interop.deadlines import Deadlines
from dissensus.interop.live_guard import stopped_at
from dissensus.interop.live_messages import complete
from dissensus.interop.live_record import LiveRecord
from dissensus.interop.live_report import LiveReport
from dissensus.interop.message_logs import AuditSettings, monitor_for
from dissensus.say.message import Message
from dissensus.say.monitor import WIRE
from dissensus.say.verdicts import OK, VOID, Finding, Obligation

DEFAULT: Final = "fipa-request"
"""Protocol of messages that name none, where none is given."""
_log = logging.getLogger("dissensus.monitor")


@dataclass(slots=True)
class Heard:
    """What came of one message.

    Args:
        verdict: of it.
        found: what there is to say now; some of it may be about earlier messages.
        overdue: what became overdue by its time.
        error: why it could not be judged; it is ``void`` then.
    """

    verdict: str = VOID
    found: list[Finding] = field(default_factory=list)
    overdue: list[Obligation] = field(default_factory=list)
    error: LogError | UnknownAct | None = None


class LiveCore:
    """A monitor with a report, deadlines and a record.

    Args:
        settings: how it judges.
        clock: time of messages that have none.

    Attributes:
        monitor: that judges.
        report: what is kept.
        stamped: whether the clock has been asked for a time that counts.
        latest: latest time of the clock and of checks, in seconds since 1970-01-01 UTC.
    """

    def __init__(self, settings: AuditSettings, clock: Callable[[], float]) -> None:
        self.settings = settings
        self.clock = clock
        self._told: list[Finding] = []
        self.monitor = monitor_for(settings, on_finding=self._told.append, on_closed=self._closed)
        self.report = LiveReport(settings, self.monitor)
        self._deadlines = Deadlines(self.monitor.book)
        self._record: LiveRecord | None = None
        self._line = 0
        self.stamped = False
        self.latest = -math.inf

    def hear(self, given: Message | Mapping[str, Any], more: Mapping[str, Any]) -> Heard:
        """Judge one message; ``more`` are further keys for its line in the record.

        Raises:
            UsageError: it is neither a message nor a mapping.
        """
        line, heard = self._lines() + 1, Heard()
        try:
            m = complete(given, line, self._stamp, renumber=self._record is not None)
            heard.overdue += self._overdue(m)  # what was due before this came, even if this is what was due
            followed = m.protocol or self._followed(m)
            stopped, others = stopped_at(self.monitor, m) if "guarded" in more else ("", ())
            if stopped:  # it will be said to nobody, also not to those to whom it might be
                more = {**more, "also_to": [name for name in m.receivers if name not in others]}
                m = msgspec.structs.replace(m, receivers=others)
            heard.verdict = self.monitor.see(m)
        except (LogError, UnknownAct) as error:
            heard.error = error
            return heard
        self._line = line
        self.report.seen(m, heard.verdict)
        heard.found = self._taken()
        if self._record is not None:
            self._write(self._record, m, followed, heard, more)
        self._deadlines.opened(self.monitor.book.seq)
        if m.protocol in WIRE:
            self._deadlines.moved()
        heard.overdue += self._overdue(m)
        heard.verdict = stopped or heard.verdict
        return heard

    def skip(self, error: LogError | UnknownAct) -> None:
        """Count a message that could not be judged."""
        self.report.skip(self._lines() + 1, error)

    def look(self, moment: float | None = None) -> list[Obligation]:
        """What became overdue by ``moment``, or by the clock's time."""
        moment = self._time() if moment is None else moment
        self.latest = max(self.latest, moment)
        return self._passed(moment)

    def now(self) -> float | None:
        """The latest time that is known: of messages, of checks."""
        latest = max(self.latest, self.monitor.now)
        return latest if math.isfinite(latest) else None

    def finish(self, *, closed: bool) -> list[Finding]:
        """The end: everything gets its final status. Returns what was found in messages that had been held."""
        as_of = self.now()
        self.monitor.finish(as_of, closed=closed)
        self.report.ended(as_of)
        if self._record is not None:
            self._record.close()
        return self._taken()

    # --- what is kept

    def record_to(self, path: str | Path) -> None:
        """Append to ``path`` from here on, after judging again what it holds beyond what is known.

        Raises:
            LogError: it holds something else, a line that cannot be read, or less than is known.
            StorageError: it cannot be written.
        """
        record = LiveRecord(path)
        try:
            self._take_up(record)
        except BaseException:
            record.close()
            raise
        self.report.name = str(path)
        self._record = record

    def _take_up(self, record: LiveRecord) -> None:
        if record.lines < self._line:
            raise LogError(
                f"The record has {record.lines} lines, and the state was saved at line {self._line}.",
                path=record.path,
                next_step="Give the record that the monitor wrote, or none.",
            )
        if record.lines > self._line:
            self.recall(m for m in record.messages() if m.line > self._line)
            self._line = record.lines

    def recall(self, messages: Iterable[Message]) -> None:
        """Judge messages of the past: whoever heard them has told of them, and of what became overdue meanwhile."""
        for m in messages:
            self.report.seen(m, self.monitor.see(m))
        self._taken()
        self._deadlines.renew()
        if self.monitor.messages:
            self._deadlines.passed(self.monitor.now)

    def save(self, path: str | Path) -> None:
        """Write all that is known to ``path``."""
        settings = self.settings
        options = {name: getattr(settings, name) for name in ("profile", "delivery", "authority", "ttl", "protocols")}
        if isinstance(settings.protocol, str):
            options["protocol"] = settings.protocol
        keys = enumerate(self.monitor.book.owed)
        head = {
            "options": {**options, "wire": settings.extra},
            "line": self._lines(),
            "latest": self.latest if math.isfinite(self.latest) else None,
            "stamped": self.stamped,
            "named": [place for place, key in keys if self._deadlines.was_named(key)],
            "report": self.report.state(),
            "monitor": self.monitor.state(),
        }
        live_state.write(path, head, self.report.findings, self.report.obligations)

    def restore(self, kept: live_state.Kept) -> None:
        """Go on from what :meth:`save` wrote."""
        head = kept.head
        try:
            self.monitor.restore(head["monitor"])
            self.report.restore(head["report"], kept.findings, kept.closed)
            self._line, self.stamped = head["line"], head["stamped"]
            self.latest = head["latest"] if head["latest"] is not None else -math.inf
            owed = list(self.monitor.book.owed.values())
            for place in head["named"]:
                self._deadlines.name(owed[place])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"This state of a monitor cannot be taken up: {error!r}.",
                next_step="Take the options that it was saved with, or begin anew.",
            ) from None
        self._deadlines.renew()

    # --- inside

    def _lines(self) -> int:
        return self._record.lines if self._record is not None else self._line

    def _stamp(self) -> float:
        self.stamped = True
        self.latest = max(self.latest, now := self._time())
        return now

    def _time(self) -> float:
        """What the clock says; the latest time that is known if it fails, or says what is no time."""
        try:
            now = float(self.clock())
            if math.isfinite(now):
                return now
            raise ValueError(f"the clock says {now}")  # noqa: TRY301 - one way for all that a clock may do
        except Exception as error:  # noqa: BLE001 - whatever it is, the system that is watched goes on
            self.report.failed(error)
        return known if (known := self.now()) is not None else time.time()

    def _taken(self) -> list[Finding]:
        found = self._told.copy()
        self._told.clear()
        for finding in found:
            self.report.found(finding)
        return found

    def _closed(self, owed: Obligation) -> None:
        self._deadlines.closed(owed)
        self.report.closed(owed)

    def _overdue(self, m: Message) -> list[Obligation]:
        return self._passed(m.at if m.at is not None else self.latest)

    def _passed(self, now: float) -> list[Obligation]:
        return [msgspec.structs.replace(owed) for owed in self._deadlines.passed(now)]

    def _write(self, record: LiveRecord, m: Message, followed: str, heard: Heard, more: Mapping[str, Any]) -> None:
        said = dict(more)
        if heard.verdict is not OK:
            said["verdict"] = heard.verdict
        if heard.found:
            said["findings"] = heard.found
        if m.protocol is None and followed != DEFAULT:
            m = msgspec.structs.replace(m, protocol=followed)
        try:
            record.append(m, said)
        except StorageError as error:
            self.report.failed(error)
            _log.error("%s The monitor goes on without it.", error.message)
            record.close()
            self._record = None

    def _followed(self, m: Message) -> str:
        """Name of the protocol that ``m``, which names none, is to be judged by, so that the record says so itself."""
        core, thread = self.monitor, m.thread or ""
        talk = core.running.get(thread) or core.closed.get(thread)
        return talk.table.name if talk is not None else core.default
