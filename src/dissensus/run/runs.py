"""The ways of running a procedure: start, resume, replay, fork. Each sets up the same engine with another performer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import msgspec

import dissensus
from dissensus.agents.model import Model
from dissensus.decide.procedures import PROCEDURES, Procedure
from dissensus.errors import DissensusError, RecordDamaged, RunError, ScriptError, UsageError
from dissensus.record.event import Draft, Event
from dissensus.record.sqlite import open_record
from dissensus.record.store import Store
from dissensus.record.verify import verify
from dissensus.run.engine import Engine
from dissensus.run.journal import Journal
from dissensus.run.performers import Live, Past, Performer, Recorded, StillWaiting
from dissensus.run.qualifying import qualified
from dissensus.run.source import source_digest
from dissensus.run.waiting import answered, of_the_run, still_follows
from dissensus.script.decisions import Decision, Status
from dissensus.script.effects import Script
from dissensus.script.outcomes import Reply, from_data, to_data
from dissensus.script.seats import Seat, data_with_seats

OnEvent = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first event of a record says: all that is needed to run the script again."""

    procedure: str
    version: str
    digest: str
    settings: Mapping[str, Any]
    seats: tuple[Seat, ...]
    seed: int
    panel: Mapping[str, Any]
    software: str = ""
    parent: Mapping[str, Any] | None = None

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data; equal heads give equal bytes."""
        return data_with_seats(self)

    def script(self) -> Script:
        """The procedure's script, from its beginning. Raises :class:`~dissensus.errors.UsageError` if unknown."""
        return _procedure(self.procedure).build(self.settings, self.seats, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay found."""

    decision: Decision
    recorded: Decision
    identical: bool
    events: int
    unused: tuple[str, ...]
    """Recorded events that the procedure no longer comes by. With any of them a replay is not identical."""
    same_source: bool
    """False if the procedure's source has changed since; the decision may be identical all the same."""


async def start(
    *,
    procedure: str,
    settings: Mapping[str, Any],
    seats: Sequence[Seat],
    performer: AbstractAsyncContextManager[Performer],
    record: Store,
    seed: int = 0,
    panel: Mapping[str, Any] | None = None,
    on_event: OnEvent | None = None,
) -> Decision:
    """Run a procedure live and return its decision.

    Args:
        procedure: a name in :data:`dissensus.decide.procedures.PROCEDURES`.
        settings: all that the procedure is to know, as JSON data; it stands in the record.
        seats: who takes part.
        performer: what carries out the calls, for instance :class:`~dissensus.run.performers.Live`.
        record: an empty store, open for writing; it stays open.
        seed: all randomness derives from it.
        panel: where the seats came from, as data, so that the run can be resumed from the record alone.
        on_event: called after each event, recorded ones included.

    Raises:
        UsageError: no procedure has this name, or a seat holds what no record can give back.
        StorageError: the record could not be written; it can be resumed.
        ScriptError: the procedure itself failed; the record says how.
    """
    head = Head(
        procedure=procedure,
        version=_procedure(procedure).version,
        digest=source_digest(),
        settings=settings,
        seats=tuple(seats),
        seed=seed,
        panel=panel or {},
        software=dissensus.__version__,
    )
    try:
        head = msgspec.convert(head.to_data(), Head)  # as a replay will read it: 0 and 0.0 are written differently
    except msgspec.ValidationError as problem:
        raise UsageError(f"A run cannot be given this: {problem}.", next_step="Correct the seat or setting.") from None
    async with performer as live:
        return await _drive(head, Journal(record, on_event=on_event), live, record.path)


async def resume(
    record: Store, performer: AbstractAsyncContextManager[Performer], *, on_event: OnEvent | None = None
) -> Decision:
    """Finish an interrupted or waiting run; no call that has an outcome is made again.

    A run that waits for a person may do so for weeks: it is resumed by changed procedures too, if they come to the same
    question by the same events.

    Raises :class:`~dissensus.errors.RunError` if the procedure's source has changed since the record was begun, and
    :class:`~dissensus.errors.RecordDamaged` for a record that is not as it was written.
    """
    events = events_of(record)
    head = head_of(events)
    if (decision := finished(events)) is not None:
        return replace(decision, record=record.path)
    past = past_of(events)
    same = head.digest == source_digest() or (
        _procedure(head.procedure).version == head.version
        and await still_follows(events, past, lambda journal, silent: _play(head, journal, silent, head.script()))
    )
    if not same:
        raise RunError(
            f"The record was begun by version {head.software} of the procedures, whose source differs from this one.",
            next_step="Resume with that version, or start anew from the record with `dissensus fork`.",
        )
    journal = Journal(record, events, on_event)
    journal.aside("resumed", {"at": len(events)})
    async with performer as live:
        return await _drive(head, journal, Recorded(past, live), record.path)


def replay(path: str | Path, *, script: Script | None = None) -> Replayed:
    """Run the procedure again on the recorded outcomes alone: no model, no network, nothing written.

    Args:
        path: a record, ``.db`` or ``.jsonl``.
        script: replay this script instead of the recorded procedure.

    Raises:
        ReplayMismatch: the procedure now asks something else under a key, which the error names.
        NotRecorded: the procedure now asks something that the record does not answer.
        RecordError: the record is damaged or was not finished.
    """
    with open_record(path) as store:
        events = events_of(store)
    head = head_of(events)
    recorded = _decision_of(events)
    if recorded is None:
        raise RunError(
            f"The run in {path} has no decision to compare with.", next_step=f"Finish it with: dissensus resume {path}"
        )
    journal = Journal(None, events)
    performer = Recorded(past_of(events))
    decision = anyio.run(_play, head, journal, performer, script or head.script())
    unused = tuple(f"{event.seq} ({event.kind}, key {event.key})" for event in journal.unused())
    return Replayed(
        decision=replace(decision, record=str(path)),
        recorded=replace(recorded, record=str(path)),
        identical=_bytes(decision) == _bytes(recorded) and not unused,
        events=len(events),
        unused=unused,
        same_source=head.digest == source_digest(),
    )


async def fork(
    parent: str | Path,
    into: Store,
    performer: AbstractAsyncContextManager[Performer],
    *,
    at: int,
    text: str,
    reuse: str = "unaffected",
    on_event: OnEvent | None = None,
) -> Decision:
    """Run again with one outcome changed, in a new record that names its parent.

    Args:
        parent: the record to start from.
        into: an empty store, open for writing.
        performer: carries out what can no longer be taken from the parent.
        at: sequence number of the outcome to change, or of the effect that it answers.
        text: what the agent is to have said instead.
        reuse: ``unaffected`` keeps every recorded outcome whose key and request are unchanged;
            ``prefix`` keeps only those before the changed one.
        on_event: called after each event.

    Raises :class:`~dissensus.errors.UsageError` if event ``at`` is none that can be changed, and
    :class:`~dissensus.errors.RecordDamaged` for a parent that is not as it was written.
    """
    with open_record(parent) as store:
        events = events_of(store)
        digest = store.head().hash
    head = head_of(events)
    changed = outcome_at(events, at, parent)
    past = {
        key: replace(one, origin={"reused": one.seq})
        for key, one in past_of(events).items()
        if reuse == "unaffected" or one.seq < changed.seq
    }
    said = Reply(text=text)
    past[changed.key] = Past(changed.seq, changed.body["request"], said, {"replaced": changed.seq})
    child = replace(
        head,
        version=_procedure(head.procedure).version,
        digest=source_digest(),
        software=dissensus.__version__,
        parent={
            "record": Path(parent).name,
            "head": digest.hex(),
            "at": changed.seq,
            "key": changed.key,
            "was": to_data(from_data(changed.body["outcome"])),
            "reuse": reuse,
        },
    )
    async with performer as live:
        journal = Journal(into, on_event=on_event)
        return await _drive(child, journal, Recorded(past, live, strict=False), into.path)


async def _drive(head: Head, journal: Journal, performer: Performer, path: str) -> Decision:
    """Play the run and see to it that the record says how it went, whatever happens."""
    try:
        decision = await _play(head, journal, performer, head.script())
    except StillWaiting as waiting:
        journal.aside("waiting", {"keys": list(waiting.keys)})
        journal.commit()
        question = str(head.settings.get("task") or head.settings.get("question", {}).get("text", ""))
        result = _procedure(head.procedure).result
        return result(question=question, answer=None, status=Status.WAITING, record=path)
    except (DissensusError, anyio.get_cancelled_exc_class(), KeyboardInterrupt):
        journal.close_off()
        raise
    except Exception as error:
        journal.write(Draft(kind="failed", key="failed", body={"error": f"{type(error).__name__}: {error}"}))
        journal.write(Draft(kind="ended", key="ended", body={"status": "failed"}))
        journal.commit()
        raise ScriptError(
            f"The procedure {head.procedure!r} failed: {type(error).__name__}: {error}.",
            next_step="The record holds all that was done until then.",
        ) from error
    return replace(decision, record=path)


async def _play(head: Head, journal: Journal, performer: Performer, script: Script) -> Decision:
    """First event, the loop, last events. The same for every way of running."""
    journal.write(Draft(kind="run", key="run", body=head.to_data()))
    engine = Engine(journal, performer, {seat.agent: seat for seat in head.seats}, head.seed)
    decision: Decision = qualified(await engine.run(script), engine, journal)
    journal.write(Draft(kind="decision", key="decision", actor=head.procedure, body=decision.to_data()), durable=True)
    journal.write(
        Draft(kind="ended", key="ended", body={"status": decision.status.value, "outcomes": dict(engine.counts)})
    )
    journal.commit()
    return decision


def events_of(store: Store) -> list[Event]:
    """All events, once every byte is known to be as it was written: nothing is to follow from a changed record.

    Raises :class:`~dissensus.errors.RecordDamaged`.
    """
    verify(store)
    return list(store.read())


def head_of(events: Sequence[Event]) -> Head:
    """What the first event says.

    Raises :class:`~dissensus.errors.RecordDamaged` if it is none of a run, :class:`~dissensus.errors.RunError` if there
    is none yet, or if this version cannot run from it.
    """
    if not events:
        raise RunError(
            "The record holds no event: its run was stopped before it began.",
            next_step="Start the run again; this file can be deleted.",
        )
    if events[0].kind != "run":
        raise RecordDamaged("The record does not begin with the settings of a run.", seq=1)
    with _readable(events[0]):
        return msgspec.convert(dict(events[0].body), Head)


@contextmanager
def _readable(event: Event) -> Iterator[None]:
    """Say of an event that is whole, but not what this version writes, that it cannot be run from."""
    try:
        yield
    except (msgspec.ValidationError, KeyError, TypeError) as problem:
        raise RunError(
            f"Event {event.seq} ({event.kind!r}) cannot be taken up by this version of the procedures: {problem}.",
            next_step="Take the version that wrote the record; `dissensus record show` and `audit` read it as it is.",
        ) from None


def past_of(events: Sequence[Event]) -> dict[str, Past]:
    """The recorded outcomes by key, and the accepted answers of persons. Raises RunError for one that is none here."""
    past: dict[str, Past] = {}
    for event in events:
        if event.kind == "outcome":
            origin = {name: value for name, value in event.body.items() if name in ("reused", "replaced", "answered")}
            with _readable(event):
                past[event.key] = Past(event.seq, event.body["request"], from_data(event.body["outcome"]), origin)
    return answered(events) | past


def models_once(open_model: Callable[[str], Model]) -> Callable[[str], Model]:
    """``open_model``, asked once per agent."""
    opened: dict[str, Model] = {}

    def model_of(agent: str) -> Model:
        if agent not in opened:
            opened[agent] = open_model(agent)
        return opened[agent]

    return model_of


def live(model_of: Callable[[str], Model], **what: Any) -> Live:
    """A live performer; see :class:`~dissensus.run.performers.Live`."""
    return Live(models_once(model_of), **what)


def _procedure(name: str) -> Procedure:
    if name not in PROCEDURES:
        raise UsageError(
            f"There is no procedure named {name!r}.", next_step=f"Known are: {', '.join(sorted(PROCEDURES))}."
        )
    return PROCEDURES[name]


def finished(events: Sequence[Event]) -> Decision | None:
    """The decision of a run that went to its end; None for one that can be resumed.

    Raises :class:`~dissensus.errors.RunError` for a run whose procedure failed: it would fail again.
    """
    if next((event.kind for event in of_the_run(reversed(events))), "") != "ended":
        return None
    if (decision := _decision_of(events)) is None:
        reason = next((str(event.body["error"]) for event in events if event.kind == "failed"), "it has no decision")
        raise RunError(f"The procedure of this run failed ({reason}), and would fail again.")
    return decision


def _decision_of(events: Sequence[Event]) -> Decision | None:
    for event in reversed(events):
        if event.kind == "decision":
            procedure = PROCEDURES.get(str(events[0].body.get("procedure")))
            with _readable(event):
                return (procedure.result if procedure is not None else Decision).from_data(event.body)
    return None


def outcome_at(events: Sequence[Event], at: int, parent: str | Path) -> Event:
    """The reply, or failed call, that event ``at`` is or led to. Raises UsageError if it is no such event."""
    if not 1 <= at <= len(events):
        raise UsageError(f"{parent} has no event {at}; it has 1 to {len(events)}.")
    event = events[at - 1]
    for one in events:
        if one.kind == "outcome" and one.key == event.key and one.body["outcome"]["kind"] in _SPEECH:
            return one
    outcomes = [str(one.seq) for one in events if one.kind == "outcome" and one.body["outcome"]["kind"] in _SPEECH]
    raise UsageError(
        f"Event {at} ({event.kind!r}) is no reply of an agent, so nothing can be said instead of it.",
        next_step=f"Replies are the events {', '.join(outcomes[:20]) or 'none'}.",
    )


_SPEECH = ("reply", "refusal", "invalid", "transport", "timeout", "budget", "cancelled")
"""Outcomes of asking an agent: what can be replaced by a reply."""


def _bytes(decision: Decision) -> bytes:
    return msgspec.json.encode(replace(decision, record=""), order="deterministic")
