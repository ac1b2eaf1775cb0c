"""A2A units that pass by, judged and logged: what a proxy, or any program that sees the traffic, tells of them.

The log is one envelope a line, ``{"at", "dir", "rpc"}``, as ``dissensus audit`` reads it, with what was found beside.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from dissensus.errors import StorageError
from dissensus.interop.line_file import LineFile
from dissensus.interop.live_guard import BLOCKED
from dissensus.interop.live_monitor import Monitor
from dissensus.interop.message_logs import AuditReport
from dissensus.say.readers.a2a import READER, message_of
from dissensus.say.readers.times import seconds
from dissensus.say.verdicts import OK, Finding
from dissensus.say.wire.jsonrpc import CLIENT

C2S, S2C = "c2s", "s2c"
_log = logging.getLogger("dissensus.proxy")
_encode = msgspec.json.Encoder(enc_hook=repr).encode
CANNOT_TELL: Final = "What a server pushes to a client's own address does not pass by here."


class A2AMonitor(Monitor):
    """A monitor of A2A traffic, whose report is that of an audit of an A2A log."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._core.report.reader = READER

    def go_on(self, log: LineFile) -> None:
        """Take up what ``log`` holds, without callbacks, and name it in the report.

        Raises:
            LogError: a line cannot be read.
        """
        with self._lock:
            self._core.recall(log.messages())
            self._core.report.name = log.path

    def audit(self) -> AuditReport:
        """The report of an audit, once the monitor has ended."""
        return self._core.report.audit(self._core.now())


@dataclass(frozen=True, slots=True)
class Judged:
    """What was said of one unit."""

    verdict: str
    findings: tuple[Finding, ...] = ()

    @property
    def blocked(self) -> bool:
        """Whether it should not be delivered."""
        return self.verdict in BLOCKED

    @property
    def rule(self) -> str:
        """The rule that decided against it."""
        return next((one.rule for one in self.findings if one.verdict == self.verdict), "")

    @property
    def says(self) -> str:
        """What is wrong with it, in a sentence."""
        return next((one.says for one in self.findings if one.verdict == self.verdict), "")


class A2AWatch:
    """Judges the units that pass by, in the order in which they do.

    Two clients may use one id at the same time. Who asks under an id that is in use gets a name of its own, so that
    each answer belongs to its request.

    Args:
        monitor: judges.
        log: file of envelopes to append to; what it holds is judged first.
        clock: gives the time in seconds since 1970-01-01 UTC.

    Raises:
        LogError: the file holds something else.
        StorageError: the file cannot be written.

    Attributes:
        counts: how often something was ``blocked``, ``withheld``, ``unread`` and so on.
    """

    def __init__(
        self, monitor: A2AMonitor, log: str | Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.monitor = monitor
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._line = 0
        self._busy: set[tuple[str, str]] = set()
        self._file = LineFile(log, READER, b'{"at":') if log is not None else None
        if self._file is not None:
            try:
                monitor.go_on(self._file)
            except BaseException:
                self._file.close()
                raise
            self._line = self._file.lines

    def client(self, ids: Iterable[Any]) -> str:
        """Name of the side that asks under ``ids`` from now on; :meth:`leave` gives them free."""
        keys = [_encode(one).decode() for one in ids]
        number = 1
        while any((_named(number), key) in self._busy for key in keys):
            number += 1
        name = _named(number)
        self._busy.update((name, key) for key in keys)
        return name

    def leave(self, client: str, ids: Iterable[Any]) -> None:
        """All that ``client`` asked under ``ids`` is over."""
        self._busy.difference_update((client, _encode(one).decode()) for one in ids)

    def see(self, unit: dict[str, Any], way: str, client: str = CLIENT, **more: Any) -> Judged:
        """Judge one JSON-RPC object that passes by, and log it.

        Args:
            unit: the object.
            way: ``c2s`` or ``s2c``.
            client: name of the client's side.
            more: further keys for its line in the log.
        """
        self._line += 1
        moment = _moment(self._clock())
        verdict = self.monitor.see(message_of(unit, self._line, at=seconds(moment), way=way, client=client))
        judged = Judged(verdict, self.monitor.last)
        if verdict is not OK:
            more["verdict"] = verdict
        if judged.findings:
            more["findings"] = judged.findings
        if client != CLIENT:
            more["client"] = client
        self._write({"at": moment, "dir": way, "rpc": unit, **more})
        return judged

    def note(self, way: str, **what: Any) -> None:
        """Log something that is no JSON-RPC: an answer of HTTP alone, a stream that broke off."""
        self._line += 1
        self._write({"at": _moment(self._clock()), "dir": way, **what})

    def close(self) -> None:
        """Close the log. The monitor is for its owner to end."""
        if self._file is not None:
            self._file.close()

    def _write(self, data: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            line = _encode(data)
        except RecursionError:  # as deep as can be read, and one deeper in its envelope
            line = _encode({key: data[key] for key in ("at", "dir")} | {"why": "It is nested too deep to be written."})
        try:
            self._file.write(line)
        except StorageError as error:  # the traffic goes on
            _log.error("%s The log ends here.", error.message)
            self.counts["log failures"] += 1
            self._file.close()
            self._file = None


def _named(number: int) -> str:
    return CLIENT if number == 1 else f"{CLIENT}-{number}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
