"""Writes a run's events, or checks them against those that are already recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from dissensus.errors import DissensusError, NotRecorded, ReplayMismatch
from dissensus.record.event import QUESTION_KINDS, Draft, Event
from dissensus.record.store import Store
from dissensus.script.outcomes import Extended, Reply, Scores

ASIDES = frozenset({"attempt", "late", "resumed", "interrupted", "waiting", "budget-warning"}) | QUESTION_KINDS
"""Events that depend on time and luck, not on the script: never compared, never replayed."""

SPOKEN = frozenset({Reply.kind, Extended.kind, Scores.kind})
"""Outcomes that show that an agent was not silent for good."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Journal:
    """The record as one run writes it.

    An event that the record already holds (same kind and key) is compared and not written again; one that it does
    not hold is appended, or refused when there is no ``store`` to append to (replay).
    """

    def __init__(
        self,
        store: Store | None,
        recorded: Iterable[Event] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._store = store
        events = tuple(recorded)
        self._recorded = {(event.kind, event.key): event for event in events if event.kind not in ASIDES}
        self.false_alarms = sum(_is_false_alarm(event.kind, event.body) for event in events)
        """How many agents replied after they had been taken for silent."""
        self._on_event = on_event
        self._durable = False

    def write(self, draft: Draft, *, durable: bool = False) -> Event:
        """Put ``draft`` on the record and return the event.

        Raises :class:`~dissensus.errors.ReplayMismatch` if another body is recorded under its key, and
        :class:`~dissensus.errors.NotRecorded` if nothing is and nothing can be written.
        """
        event = self._recorded.pop((draft.kind, draft.key), None)
        if event is None:
            if self._store is None:
                raise NotRecorded(
                    draft.key,
                    f"The record holds no {draft.kind!r} under the key {draft.key!r}.",
                    next_step="The procedure now does something that this run did not; `dissensus fork` runs it anew.",
                )
            (event,) = self._store.append([draft])
            self._durable |= durable
        elif (part := _difference(draft.body, event.body)) is not None:
            raise ReplayMismatch(
                draft.key,
                f"Event {event.seq} ({draft.kind!r}, key {draft.key!r}) is not what the procedure does now: "
                f"its {part} differs.",
                next_step="Restore the settings and the version that wrote the record, or use `dissensus fork`.",
            )
        if self._on_event is not None:
            self._on_event(event)
        return event

    def aside(self, kind: str, body: dict[str, Any], key: str = "") -> None:
        """Record something that replay does not look at. Nothing happens in replay."""
        self.false_alarms += _is_false_alarm(kind, body)
        if self._store is not None:
            (event,) = self._store.append([Draft(kind=kind, key=key, body=body)])
            if self._on_event is not None:
                self._on_event(event)

    def commit(self) -> None:
        """Make all that was written survive the death of the process; ballots and decisions also a power cut."""
        if self._store is not None:
            self._store.commit(durable=self._durable)
            self._durable = False

    def close_off(self) -> None:
        """Keep what was written when the run stops before its end; what cannot be written is left out."""
        try:
            self.aside("interrupted", {})
            self.commit()
        except DissensusError:  # the reason of the stop may be that nothing can be written
            return

    def unused(self) -> list[Event]:
        """Recorded events that the run did not come by, in order."""
        return sorted(self._recorded.values(), key=lambda event: event.seq)


def _is_false_alarm(kind: str, body: Mapping[str, Any]) -> bool:
    return kind == "late" and body["outcome"]["kind"] in SPOKEN


def _difference(now: Any, then: Any) -> str | None:
    """Name of the first part of the body that differs, or None."""
    if _encode(now) == _encode(then):
        return None
    for name in sorted({*now, *then}):
        if _encode(now.get(name)) != _encode(then.get(name)):
            return str(name)
    return "body"
