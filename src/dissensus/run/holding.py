"""Who holds a task: who has promised it, and has neither delivered it nor been given up, as a record tells it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from dissensus.record.event import Event
from dissensus.record.opening import open_record
from dissensus.record.store import Store
from dissensus.run.runs import events_of
from dissensus.say.message import Message
from dissensus.say.monitor import Monitor
from dissensus.say.readers.record import PLATFORMS, messages
from dissensus.say.verdicts import PERFORMANCE, Obligation

Records = str | os.PathLike[str] | Store | Iterable[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One agent's time with a task.

    Args:
        thread: the conversation in which it took the task; round 2 of ``contract`` is ``contract/2``.
        agent, creditor: who owes it, and to whom.
        since, until: seconds since 1970-01-01 UTC; ``until`` is None while it holds it.
        deadline: by when it is due; None if nobody said.
        status: ``pending``, ``fulfilled``, ``declared:failed``, ``violated`` (not in time) …
        opened_by, closed_by: keys of the events with which it began and ended; ``closed_by`` is None while it holds it.
    """

    thread: str
    agent: str
    creditor: str
    since: float | None
    until: float | None
    deadline: float | None
    status: str
    opened_by: str
    closed_by: str | None


def holdings(record: Records, thread: str | None = None) -> tuple[Holding, ...]:
    """Who held a task when, in the order in which each began.

    Args:
        record: the path of a record, an open store, or its events.
        thread: the name of the contract, or one conversation of it; None: all in the record.

    Raises:
        RecordError: the record is damaged or cannot be read.
    """
    events = _events(record)
    found: list[Obligation] = []
    monitor = Monitor(platforms=PLATFORMS, on_closed=found.append)
    for item in messages(events):
        if isinstance(item, Message):
            monitor.see(item)
    monitor.finish(events[-1].time if events else None)
    promised = [owed for owed in found if owed.kind == PERFORMANCE and _is_of(owed.thread, thread)]
    return tuple(
        Holding(
            thread=owed.thread,
            agent=owed.debtor,
            creditor=owed.creditor,
            since=owed.opened_at,
            until=owed.closed_at,
            deadline=owed.deadline,
            status=owed.status,
            opened_by=owed.opened_by,
            closed_by=owed.closed_by,
        )
        for owed in sorted(promised, key=lambda owed: owed.opened_seq)
    )


def holder_of(record: Records, thread: str | None = None) -> str | None:
    """Who holds the task now; None if nobody does: it was not awarded yet, was delivered, or was given up.

    Arguments and errors as for :func:`holdings`. The record may still be written by a run.
    """
    held = [one.agent for one in holdings(record, thread) if one.closed_by is None]
    return held[-1] if held else None


def _is_of(conversation: str, thread: str | None) -> bool:
    return thread is None or conversation == thread or conversation.startswith(f"{thread}/")


def _events(record: Records) -> list[Event]:
    if isinstance(record, str | os.PathLike):
        with open_record(record) as store:
            return events_of(store)
    return list(record.read() if hasattr(record, "read") else record)
