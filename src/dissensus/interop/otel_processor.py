"""OpenTelemetry spans of a running program as messages to its monitor: asked when a span starts, answered when it ends.

::

    provider.add_span_processor(span_processor(monitor))

What a span means is what :mod:`dissensus.say.readers.otel` says of a trace on disk: an agent's work, a tool's or a
model's, asked for by the nearest agent above it. A span on disk has ended; here it is seen to start, so that a tool
that hangs is an answer that is owed.

Instrumentation may name what a span is only after its start. Such a span is told of as soon as something else happens
in its trace: a child starts, another span ends. Needs the extra ``otel``.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dissensus.errors import DissensusError, MissingExtra
from dissensus.say.message import Message
from dissensus.say.readers.entries import Entry
from dissensus.say.readers.otel import span_of
from dissensus.say.readers.span_tree import STEP, Part, Span, closing, opening, part_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

    from dissensus.interop.live_monitor import Monitor

MOST_OPEN: Final = 100_000
"""Spans that are followed at once; the oldest is given up beyond that."""
_MOST_ENDED: Final = 10_000
_MOST_WAITING: Final = 64
_DEEPEST: Final = 64
_SAID_BY: Final = ("gen_ai.", "openinference.", "traceloop.")
_log = logging.getLogger("dissensus.monitor")


def span_processor(monitor: Monitor) -> SpanProcessor:
    """What to add to a tracer provider so that ``monitor`` hears of its spans. It never raises into the program.

    Raises:
        MissingExtra: the SDK of OpenTelemetry is not installed.
    """
    try:
        from opentelemetry.sdk.trace import SpanProcessor
    except ModuleNotFoundError:
        raise MissingExtra("The OpenTelemetry span processor", extra="otel") from None

    follower = SpanFollower(monitor)

    class MonitorProcessor(SpanProcessor):
        """Hands spans on to a monitor."""

        def on_start(self, span: ReadableSpan, parent_context: Context | None = None) -> None:  # noqa: ARG002 - theirs
            follower.started(span)

        def on_end(self, span: ReadableSpan) -> None:
            follower.ended(span)

    return MonitorProcessor()


class SpanFollower:
    """Follows the spans of a program. May be used by several threads.

    Args:
        monitor: hears of them.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._lock = threading.Lock()
        self._open: OrderedDict[str, ReadableSpan] = OrderedDict()
        self._parts: dict[str, Part] = {}
        """Spans that were understood and go on."""
        self._ended: OrderedDict[str, Part] = OrderedDict()
        """The last that ended: what they started may go on after them."""
        self._waiting: dict[str, list[str]] = {}
        """Open spans that were not understood yet, by trace."""
        self._said: deque[Message] = deque()
        """Not told yet."""
        self._teller = threading.Lock()

    def started(self, span: ReadableSpan) -> None:
        """``span`` has started."""
        self._follow(span, end=False)

    def ended(self, span: ReadableSpan) -> None:
        """``span`` has ended."""
        self._follow(span, end=True)

    def _follow(self, span: ReadableSpan, *, end: bool) -> None:
        if self._monitor.ended:
            return
        try:
            with self._lock:
                self._said.extend(self._end(span) if end else self._start(span))
        except Exception:  # noqa: BLE001 - whatever it is, the program that is watched goes on
            _log.exception("a span could not be followed")
        self._tell()

    def _tell(self) -> None:
        """Tell what was said, in order: where another thread is at it, or a callback came here, leave it to the teller.

        Two threads that told side by side could tell of an answer before its question.
        """
        while self._said and self._teller.acquire(blocking=False):
            try:
                while self._said:
                    self._monitor.see(self._said.popleft())
            except DissensusError as error:  # the monitor has ended in between, or is strict
                _log.debug("%s", error)
            except Exception:  # noqa: BLE001 - as above
                _log.exception("a span could not be told of")
            finally:
                self._teller.release()

    def _start(self, span: ReadableSpan) -> list[Message]:
        name = _name(span)
        if name is None:
            return []
        self._open[name] = span
        if len(self._open) > MOST_OPEN:
            self._forget(next(iter(self._open)))
        waiting = self._waiting.setdefault(_trace(name), [])
        waiting.append(name)
        del waiting[:-_MOST_WAITING]
        return self._understood(_trace(name))

    def _end(self, span: ReadableSpan) -> list[Message]:
        name = _name(span)
        if name is None or name not in self._open:
            return []
        self._open[name] = span
        said = self._understood(_trace(name))
        now = _read(span)
        part = self._parts.get(name)
        if part is None:
            part = part_of(now, self._above(now), {})
        elif not part.silent:
            before = part.span
            now = replace(now, party=before.party, kind=before.kind, call=before.call, label=before.label)
            said.append(closing(replace(part, span=now)))
        self._ended[name] = part
        if len(self._ended) > _MOST_ENDED:
            self._ended.popitem(last=False)
        self._forget(name)
        return said

    def _understood(self, trace: str) -> list[Message]:
        """Requests of the spans of ``trace`` that can be understood by now, outer ones first."""
        said: list[Message] = []
        still: list[str] = []
        for name in self._waiting.pop(trace, ()):
            span = self._open[name]
            if not _says_what_it_is(span) or (now := _read(span)).kind == STEP:
                still.append(name)
                continue
            part = self._parts[name] = part_of(now, self._above(now), {})
            if not part.silent:
                said.append(opening(part))
        if still:
            self._waiting[trace] = still
        return said

    def _above(self, span: Span, depth: int = 0) -> Part | None:
        """What the span above means; one that is not understood passes on the agent above it."""
        if span.parent is None or depth > _DEEPEST:
            return None
        name = f"{span.trace}/{span.parent}"
        part = self._parts.get(name) or self._ended.get(name)
        if part is None and (above := self._open.get(name)) is not None:
            step = _read(above)
            part = part_of(step, self._above(step, depth + 1), {})
        return part

    def _forget(self, name: str) -> None:
        del self._open[name]
        self._parts.pop(name, None)
        waiting = self._waiting.get(_trace(name), [])
        if name in waiting:
            waiting.remove(name)
            if not waiting:
                del self._waiting[_trace(name)]


def _says_what_it_is(span: ReadableSpan) -> bool:
    return any(key.startswith(_SAID_BY) for key in span.attributes or ())


def _name(span: ReadableSpan) -> str | None:
    """Trace and id of a span, as in a thread; None if it has none."""
    context = span.get_span_context()
    return f"{context.trace_id:032x}/{context.span_id:016x}" if context is not None else None


def _trace(name: str) -> str:
    return name.partition("/")[0]


def _read(span: ReadableSpan) -> Span:
    """The span as the reader of traces sees it."""
    context = span.get_span_context()
    value: dict[str, Any] = {
        "name": span.name,
        "trace_id": f"{context.trace_id:032x}" if context is not None else "",
        "span_id": f"{context.span_id:016x}" if context is not None else "",
        "parent_id": f"{span.parent.span_id:016x}" if span.parent is not None else None,
        "start_time": span.start_time,
        "end_time": span.end_time,
        "status": {"status_code": span.status.status_code.name, "description": span.status.description},
        "attributes": dict(span.attributes or {}),
    }
    return span_of(Entry(0, "", value))
