"""The monitor for a running system: tell it each message, and it says what it was worth and who owes what.

::

    with dissensus.Monitor(on_violation=print, on_overdue=print) as monitor:
        monitor.tell("request", sender="planner", to="researcher", thread="t1", content="three sources", reply_by=60)
        monitor.tell("agree", sender="researcher", to="planner", thread="t1")
        monitor.holders("t1")  # ['researcher']

It is :class:`dissensus.say.monitor.Monitor` with what a program that goes on needs: a lock, a clock for messages
without a time, deadlines that are noticed in silence too, a record on disk. Nothing that a message says, and nothing
that a callback does, breaks the system that is watched.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from dissensus.errors import LogError, StorageError, UnknownAct, UsageError
from dissensus.interop.deadlines import Deadlines
from dissensus.interop.live_record import LiveRecord, plain_json
from dissensus.interop.live_report import LiveReport
from dissensus.interop.message_logs import AuditSettings, monitor_for
from dissensus.say.message import Message
from dissensus.say.monitor import WIRE
from dissensus.say.protocol import FIPA, Protocol
from dissensus.say.readers.own import KEYS, message_of
from dissensus.say.verdicts import ILLEGAL, NO_TITLE, OK, VIOLATION, VOID, Finding, Obligation

BLOCKED: Final = frozenset({ILLEGAL, NO_TITLE, VOID})
"""Verdicts of messages that should not be delivered."""
_DEFAULT: Final = "fipa-request"
_MOST_ERRORS: Final = 100
_log = logging.getLogger("dissensus.monitor")


class Monitor:
    """Follows the messages of a running system. May be used by several threads.

    Args:
        protocol: of messages that name none: a shipped name, a file, or a protocol.
        protocols: files of further protocols that messages may name.
        profile: ``fipa``, ``jade`` or ``strict``: whose reading of the specifications.
        delivery: ``total``, ``fifo`` or ``unordered``: what the order of the messages says; None: what each protocol
            says.
        authority: who may order whom: ``{"director": ["intern"]}``; None: nobody asks.
        ttl: seconds after which what has no deadline expires.
        wire: options of A2A and MCP: ``version``, ``complete``, ``followup``.
        on_violation: called with each finding that is a violation.
        on_finding: called with every finding.
        on_overdue: called once with each obligation whose deadline has passed.
        record: file to which each message is appended, with what was found; `dissensus audit` reads it. What it holds
            already is taken up first, without callbacks: that is how a monitor survives the end of its process.
        watch: seconds between looks at the clock, so that silence is noticed; None: only messages and :meth:`check` do.
        clock: gives the time in seconds since 1970-01-01 UTC.
        strict: raise for a message that cannot be judged; else it is counted under ``skipped`` and is ``void``.

    Raises:
        SpecError: a protocol file is wrong.
        LogError: no protocol has this name, or the record holds something else or a line that cannot be read.
        StorageError: the record cannot be written.

    Attributes:
        ended: whether :meth:`finish` was called.
    """

    def __init__(
        self,
        protocol: str | Protocol = _DEFAULT,
        *,
        protocols: Iterable[str] = (),
        profile: str = FIPA,
        delivery: str | None = None,
        authority: Mapping[str, Collection[str]] | None = None,
        ttl: float | None = None,
        wire: Mapping[str, Any] | None = None,
        on_violation: Callable[[Finding], object] | None = None,
        on_finding: Callable[[Finding], object] | None = None,
        on_overdue: Callable[[Obligation], object] | None = None,
        record: str | Path | None = None,
        watch: float | None = None,
        clock: Callable[[], float] = time.time,
        strict: bool = False,
    ) -> None:
        if watch is not None and not (math.isfinite(watch) and watch > 0):
            raise UsageError(f"`watch` cannot be {watch!r}.", next_step="Give seconds: watch=5.0.")
        settings = AuditSettings(
            protocol=protocol, protocols=tuple(protocols), profile=profile, delivery=delivery, authority=authority,
            ttl=ttl, extra=dict(wire or {}),
        )  # fmt: skip
        self._on_violation, self._on_finding, self._on_overdue = on_violation, on_finding, on_overdue
        self._clock, self._strict = clock, strict
        self._lock = threading.RLock()
        self._mine = threading.local()
        self._told: list[Finding] = []
        self._core = monitor_for(settings, on_finding=self._told.append, on_closed=self._closed)
        self._log = LiveReport(str(record) if record is not None else "live", settings, self._core)
        self._deadlines = Deadlines(self._core.book)
        self._latest = -math.inf
        self._stamped = False
        self._line = 0
        self.ended = False
        self._record = LiveRecord(record) if record is not None else None
        if self._record is not None:
            self._take_up(self._record)
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        if watch is not None:
            self._stamped = True
            self._watcher = threading.Thread(
                target=self._watch, args=(watch,), name="dissensus monitor", daemon=True
            )  # fmt: skip
            self._watcher.start()

    # --- telling

    def see(self, message: Message | Mapping[str, Any]) -> str:
        """Judge one message, and return its verdict. What there is to say about it is in :attr:`last`.

        Args:
            message: a message, or a mapping with the keys of our logs: ``sender``, ``receivers``, ``act``, ``thread``,
                ``content``, ``in_reply_to``, ``reply_by`` (ISO 8601, or seconds after ``at``), ``at`` and so on. The
                time is the clock's where ``at`` is missing, the id is made where there is none.

        Returns:
            ``ok``, ``illegal``, ``no-title``, ``void``, ``late``, ``duplicate``, ``untagged`` or ``held``.

        Raises:
            UsageError: it is neither, the monitor has ended, or, if it is strict, the message cannot be judged.
        """
        return self._see(message, {})

    def tell(
        self,
        act: str | None,
        *,
        sender: str,
        to: str | Iterable[str],
        thread: str | None = None,
        **fields: Any,
    ) -> str:
        """Judge one message that is given in parts; ``fields`` are further keys of :meth:`see`."""
        if not fields.keys() <= KEYS:
            raise UsageError(
                f"A message has no {min(fields.keys() - KEYS)!r}.", next_step=f"It may have: {', '.join(sorted(KEYS))}."
            )
        receivers = (to,) if isinstance(to, str) else tuple(to)
        return self.see({**fields, "act": act, "sender": sender, "receivers": receivers, "thread": thread})

    def guard(self, message: Message | Mapping[str, Any]) -> bool:
        """Whether ``message`` may be delivered; ask before delivering it, and do not tell it a second time.

        An illegal, a void message and one without title may not: they count as never said. All others have counted.
        """
        return self._see(message, {"guarded": True}) not in BLOCKED

    def check(self, now: float | None = None) -> list[Obligation]:
        """Look at the clock: what became overdue since the last look. Each obligation is reported once.

        Args:
            now: seconds since 1970-01-01 UTC; the clock's if not given.
        """
        with self._lock:
            if self.ended:
                return []
            moment = self._clock() if now is None else now
            self._latest = max(self._latest, moment)
            overdue = self._passed(moment)
        self._call(self._on_overdue, overdue)
        return overdue

    # --- asking

    @property
    def last(self) -> tuple[Finding, ...]:
        """What was found in the message that this thread told last."""
        found: tuple[Finding, ...] = getattr(self._mine, "last", ())
        return found

    @property
    def counts(self) -> dict[str, int]:
        """The counts of the report: ``messages``, ``threads``, ``requests``, ``unanswered``, ``pending`` and so on."""
        with self._lock:
            return self._log.counts(self._now())

    def open(self) -> list[Obligation]:
        """What is owed now, oldest first."""
        with self._lock:
            return self._log.open_now(self._now())

    def holders(self, thread: str) -> list[str]:
        """Who has promised to do what ``thread`` is about, and has not done it yet."""
        with self._lock:
            return self._core.holders(thread)

    def report(self) -> dict[str, Any]:
        """What ``dissensus audit --json`` prints, as of now; final once the monitor has ended."""
        with self._lock:
            return self._log.to_data(self._now())

    # --- ending

    def finish(self, *, closed: bool = False) -> None:
        """End: each open obligation gets its final status. Called by the end of a ``with`` block; twice is once.

        Args:
            closed: the conversations are over: what is open will not come.
        """
        self._stop.set()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
        if self._stamped:
            self.check()
        with self._lock:
            if self.ended:
                return
            self.ended = True
            as_of = self._now()
            self._core.finish(as_of, closed=closed)
            self._log.ended(as_of)
            found = self._taken()
            if self._record is not None:
                self._record.close()
        self._call_with(found)
        if self._log.errors:
            _log.warning("%d callbacks or writes of the monitor failed; its report says how", self._log.errors_count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    # --- inside

    def _see(self, given: Message | Mapping[str, Any], said: dict[str, Any]) -> str:
        with self._lock:
            if self.ended:
                raise UsageError("The monitor has ended.", next_step="Tell it messages inside its `with` block.")
            line = self._lines() + 1
            found: list[Finding] = []
            overdue: list[Obligation] = []
            self._mine.last = ()
            try:
                m = self._message(given, line)
                overdue += self._overdue(m)  # what was due before this message came, even if it is what was due
                verdict = self._core.see(m)
            except (LogError, UnknownAct) as error:
                if self._strict:
                    raise
                self._log.skip(line, error)
                verdict = VOID
            else:
                self._line = line
                self._mine.last = self._core.last
                self._log.seen(m, verdict)
                found += self._taken()
                if self._record is not None:
                    self._write(self._record, m, verdict, found, said)
                self._deadlines.opened(self._core.book.seq)
                if m.protocol in WIRE:
                    self._deadlines.moved()
                overdue += self._overdue(m)
        self._call_with(found)
        self._call(self._on_overdue, overdue)
        return verdict

    def _lines(self) -> int:
        return self._record.lines if self._record is not None else self._line

    def _message(self, given: Message | Mapping[str, Any], line: int) -> Message:
        """The message that was given, with an id, a time and a place, as it will stand in the record."""
        changes: dict[str, Any] = {}
        if isinstance(given, Message):
            m = given
        elif isinstance(given, Mapping):
            data = dict(given)
            if data.get("id") is None:
                data["id"] = f"#{line}"
            if data.get("at") is None:
                data["at"] = self._stamp()
            m = message_of(data, line)
        else:
            raise UsageError(
                f"{type(given).__name__} is no message.", next_step="Give a Message or a dict, or call tell(…)."
            )
        if m.at is None:
            changes["at"] = self._stamp()
        elif not math.isfinite(m.at) or not math.isfinite(m.reply_by or 0.0):
            raise LogError(f"The time of the message {m.id!r} is no time.", line=line)
        if self._record is not None or not m.line:
            changes["line"] = line
        for field in ("content", "wire"):
            value = getattr(m, field)
            if value is not None and (plain := plain_json(value)) is not value:
                changes[field] = plain
        return msgspec.structs.replace(m, **changes) if changes else m

    def _stamp(self) -> float:
        self._stamped = True
        self._latest = max(self._latest, now := self._clock())
        return now

    def _now(self) -> float | None:
        """The latest time that is known: of messages, of checks."""
        latest = max(self._latest, self._core.now)
        return latest if math.isfinite(latest) else None

    def _take_up(self, record: LiveRecord) -> None:
        """Judge again what the record holds."""
        try:
            for m in record.messages():
                self._log.seen(m, self._core.see(m))
        except BaseException:
            record.close()
            raise
        self._taken()
        self._line = record.lines
        self._deadlines.renew()
        if self._core.messages:
            self._deadlines.passed(self._core.now)  # the monitor that wrote it has reported these

    def _taken(self) -> list[Finding]:
        found = self._told.copy()
        self._told.clear()
        for finding in found:
            self._log.found(finding)
        return found

    def _closed(self, owed: Obligation) -> None:
        self._deadlines.closed(owed)
        self._log.closed(owed)

    def _overdue(self, m: Message) -> list[Obligation]:
        return self._passed(m.at if m.at is not None else self._latest)

    def _passed(self, now: float) -> list[Obligation]:
        return [msgspec.structs.replace(owed) for owed in self._deadlines.passed(now)]

    def _write(self, record: LiveRecord, m: Message, verdict: str, found: list[Finding], said: dict[str, Any]) -> None:
        if verdict is not OK:
            said["verdict"] = verdict
        if found:
            said["findings"] = found
        if m.protocol is None and (name := self._followed(m)) != _DEFAULT:
            m = msgspec.structs.replace(m, protocol=name)
        try:
            record.append(m, said)
        except StorageError as error:
            self._log.failed(error)
            _log.error("%s The monitor goes on without it.", error.message)
            record.close()
            self._record = None

    def _followed(self, m: Message) -> str:
        """Name of the protocol that ``m`` was judged by, so that the record says so by itself."""
        core, thread = self._core, m.thread or ""
        talk = core.running.get(thread) or core.closed.get(thread) or core.astray.get(thread)
        return talk.table.name if talk is not None else core.default

    def _call_with(self, found: list[Finding]) -> None:
        for finding in found:
            self._call(self._on_finding, (finding,))
            if finding.level == VIOLATION:
                self._call(self._on_violation, (finding,))

    def _call(self, callback: Callable[[Any], object] | None, items: Iterable[Any]) -> None:
        """Call back for each item, outside the lock; what a callback raises is kept for the report."""
        if callback is None:
            return
        for item in items:
            try:
                callback(item)
            except Exception as error:  # noqa: BLE001 - whatever it is, the system that is watched goes on
                with self._lock:
                    self._log.failed(error)
                _log.debug("a callback of the monitor failed", exc_info=True)

    def _watch(self, every: float) -> None:
        while not self._stop.wait(every):
            self.check()
