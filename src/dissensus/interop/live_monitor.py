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
from typing import Any, Self

from dissensus.errors import UsageError
from dissensus.interop import live_state
from dissensus.interop.live_core import DEFAULT, LiveCore
from dissensus.interop.live_guard import BLOCKED
from dissensus.interop.message_logs import AuditSettings
from dissensus.say.message import Message
from dissensus.say.protocol import FIPA, Protocol
from dissensus.say.readers.own import KEYS
from dissensus.say.verdicts import VIOLATION, Finding, Obligation

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
        protocol: str | Protocol = DEFAULT,
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
        settings = AuditSettings(
            protocol=protocol, protocols=tuple(protocols), profile=profile, delivery=delivery, authority=authority,
            ttl=ttl, extra=dict(wire or {}),
        )  # fmt: skip
        self._on_violation, self._on_finding, self._on_overdue = on_violation, on_finding, on_overdue
        self._strict = strict
        self._lock = threading.RLock()
        self._mine = threading.local()
        self._core = LiveCore(settings, clock)
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        self.ended = False
        self._begin(record, watch)

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> Self:
        """A monitor that goes on from what :meth:`save` wrote, as if nothing had happened in between.

        Args:
            path: the state.
            options: as for a new monitor. Callbacks, ``record``, ``watch`` and ``clock`` are not in the state, and
                neither is a protocol that was given as an object. A record may have grown since: it is taken up from
                there.

        Raises:
            LogError: it is no state of a monitor, or its record is shorter than it was.
            UsageError: the state does not fit the options.
        """
        kept = live_state.read(path)
        record, watch = options.pop("record", None), options.pop("watch", None)
        monitor = cls(**{**kept.head["options"], **options})
        monitor._core.restore(kept)
        monitor._begin(record, watch)
        return monitor

    def save(self, path: str | Path) -> None:
        """Write all that is known, for :meth:`load` in another process; a file that is there is replaced as a whole.

        Raises:
            StorageError: it cannot be written.
        """
        with self._lock:
            self._core.save(path)

    def _begin(self, record: str | Path | None, watch: float | None) -> None:
        if watch is not None and not (math.isfinite(watch) and watch > 0):
            raise UsageError(f"`watch` cannot be {watch!r}.", next_step="Give seconds: watch=5.0.")
        if record is not None:
            self._core.record_to(record)
        if watch is not None:
            self._core.stamped = True
            self._watcher = threading.Thread(target=self._watch, args=(watch,), name="dissensus monitor", daemon=True)
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
            overdue = [] if self.ended else self._core.look(now)
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
            return self._core.report.counts(self._core.now())

    def open(self) -> list[Obligation]:
        """What is owed now, oldest first."""
        with self._lock:
            return self._core.report.open_now(self._core.now())

    def holders(self, thread: str) -> list[str]:
        """Who has promised to do what ``thread`` is about, and has not done it yet."""
        with self._lock:
            return self._core.monitor.holders(thread)

    def report(self) -> dict[str, Any]:
        """What ``dissensus audit --json`` prints, as of now; final once the monitor has ended."""
        with self._lock:
            return self._core.report.to_data(self._core.now())

    # --- ending

    def finish(self, *, closed: bool = False) -> None:
        """End: each open obligation gets its final status. Called by the end of a ``with`` block; twice is once.

        Args:
            closed: the conversations are over: what is open will not come.
        """
        self._stop.set()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
        if self._core.stamped:
            self.check()
        with self._lock:
            if self.ended:
                return
            self.ended = True
            found = self._core.finish(closed=closed)
        self._call_with(found)
        if failures := self._core.report.errors_count:
            _log.warning("%d callbacks or writes of the monitor failed; its report says how", failures)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    # --- inside

    def _see(self, given: Message | Mapping[str, Any], more: dict[str, Any]) -> str:
        with self._lock:
            if self.ended:
                raise UsageError("The monitor has ended.", next_step="Tell it messages inside its `with` block.")
            self._mine.last = ()
            heard = self._core.hear(given, more)
            if heard.error is None:
                self._mine.last = self._core.monitor.last
            elif not self._strict:
                self._core.skip(heard.error)
        self._call_with(heard.found)
        self._call(self._on_overdue, heard.overdue)
        if heard.error is not None and self._strict:
            raise heard.error
        return heard.verdict

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
                    self._core.report.failed(error)
                _log.debug("a callback of the monitor failed", exc_info=True)

    def _watch(self, every: float) -> None:
        while not self._stop.wait(every):
            self.check()
