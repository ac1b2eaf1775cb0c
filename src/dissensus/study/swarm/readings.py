"""What the records of a folder hold of the shares: reports by item, and shares that were begun and not finished.

The report on an item is an event of its own that is on the disk before the next item is begun, so also a record whose
run cannot be gone on with has not been read for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dissensus.agents.panel import Panel, panel_from_data
from dissensus.decide.swarm.reported import Reported
from dissensus.decide.swarm.work import Share
from dissensus.errors import RunError, UsageError
from dissensus.record.event import Event
from dissensus.run import runs
from dissensus.script.outcomes import BudgetExhausted, TransportFailure
from dissensus.study.swarm.batch import Swarm
from dissensus.study.swarm.names import events_in, free, numbered, word
from dissensus.study.swarm.shares import differs, panel_for, share_of, shares_of, terms_of

REPORTS: Final = "reports"
LOST: Final = (BudgetExhausted.kind, TransportFailure.kind)
"""Failures that say nothing of the agent or its sources: the item is read again the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReport:
    """What a party has reported about an item.

    Args:
        party, agent: who.
        item: about what.
        claims: as data; none if it is silent.
        silent: why nothing came that could be read.
        failed: kind of the failure that made it silent; "" if none did.
        asides: what came with the claims and weighs nothing.
        record: where it stands.
    """

    party: str
    agent: str
    item: str
    claims: tuple[Mapping[str, Any], ...] = ()
    silent: str = ""
    failed: str = ""
    asides: tuple[Mapping[str, Any], ...] = ()
    record: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A record of a share.

    Args:
        path: the record.
        share: what was to be read.
        panel: who read.
        events: all of it.
        ended: whether there is nothing to go on with.
        stopped: why no more was read, of one that came to its end; "" if all was.
        reports: by item.
    """

    path: Path
    share: Share
    panel: Panel
    events: Sequence[Event] = field(repr=False)
    ended: bool
    stopped: str
    reports: Mapping[str, ItemReport]


def readings_in(folder: Path) -> list[Reading]:
    """The records of shares in the folder of a swarm, in the order of their names and numbers.

    Raises :class:`~dissensus.errors.RecordDamaged` for one that is not as it was written.
    """
    place = folder / REPORTS
    return [reading for path in numbered(place) if (reading := _reading(path)) is not None]


def _reading(path: Path) -> Reading | None:
    if not (events := events_in(path)):
        return None
    head = runs.head_of(events)
    if head.procedure != "report":
        raise UsageError(f"{path} is no record of a reading.", next_step="Name another folder with -o.")
    share = Share.from_data(head.settings["share"])
    stopped, ended = "", events[-1].kind == "ended"
    if ended:
        try:
            decision = runs.finished(events)
            stopped = decision.stopped if isinstance(decision, Reported) else ""
        except RunError:  # its procedure failed: what was reported before stands
            stopped = "The run failed."
    reports = {
        str(event.body["item"]): ItemReport(
            party=share.party,
            agent=share.agent,
            item=str(event.body["item"]),
            claims=tuple(event.body["claims"]),
            silent=str(event.body["silent"]),
            failed=str(event.body["failed"]),
            asides=tuple(event.body["asides"]),
            record=str(path),
        )
        for event in events
        if event.kind == "reported"
    }
    return Reading(
        path=path, share=share, panel=panel_from_data(head.panel), events=events, ended=ended, stopped=stopped,
        reports=reports,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What earlier calls have left of the shares.

    Args:
        readings: all records that count.
        reports: by party and item; what was lost is among them, and is read again.
        begun: records to go on with.
        left: shares that nobody has begun.
    """

    readings: Sequence[Reading]
    reports: Mapping[tuple[str, str], ItemReport]
    begun: Sequence[Reading]
    left: Sequence[Share]

    @property
    def done(self) -> int:
        """Readings that need no work."""
        waiting = {(one.share.party, item) for one in self.begun for item in one.share.items if item not in one.reports}
        waiting |= {(share.party, item) for share in self.left for item in share.items}
        return len(self.reports.keys() - waiting)


def look(folder: Path, swarm: Swarm, *, repin: bool = False) -> Earlier:
    """What is read, begun and left of ``swarm`` in its folder.

    Raises :class:`~dissensus.errors.UsageError` if a source or the tasks have changed since something was read, unless
    ``repin`` says that this is to be read again.
    """
    readings = readings_in(folder)
    unchanged = [set(_unchanged(reading, swarm)) for reading in readings]
    if not repin:
        anew = {(one.share.party, item) for one, own in zip(readings, unchanged, strict=True) for item in own}
        for reading in readings:
            _refuse_changed(reading, swarm, {item for party, item in anew if party == reading.share.party})
    kept: list[Reading] = []
    reports: dict[tuple[str, str], ItemReport] = {}
    begun: list[Reading] = []
    for reading, own in zip(readings, unchanged, strict=True):
        if own:
            kept.append(reading)
        reports |= {(one.party, one.item): one for one in reading.reports.values() if one.item in own}
        if not reading.ended and own == set(reading.share.items):
            begun.append(reading)
    read = {key for key, one in reports.items() if not _lost(one)}
    read |= {(reading.share.party, item) for reading in begun for item in reading.share.items}
    left = []
    for share in shares_of(swarm):
        rest = [item for item in share.items if (share.party, item) not in read]
        if rest:
            left.append(share if len(rest) == len(share.items) else _part(share, swarm, rest))
    return Earlier(readings=kept, reports=reports, begun=begun, left=left)


def _part(share: Share, swarm: Swarm, items: Sequence[str]) -> Share:
    return share_of(swarm, swarm.party(share.party), share.agent, items)


def _lost(report: ItemReport) -> bool:
    """Whether an item was not read for a reason that has nothing to do with it."""
    return report.failed in LOST


def _unchanged(reading: Reading, swarm: Swarm) -> Iterator[str]:
    """The items of a record that would be read under the same terms today."""
    now = _today(reading, swarm)
    if now is None:
        return
    panel = panel_for(now, swarm.panel)
    for item in now.items:
        if now.of[item] and terms_of(reading.share, reading.panel, item) == terms_of(now, panel, item):
            yield item


def _today(reading: Reading, swarm: Swarm) -> Share | None:
    """The share of a record as it would be now; None if nobody would read it."""
    then = reading.share
    party = next((one for one in swarm.parties if one.name == then.party), None)
    if party is None or then.agent not in party.agents or party.by != then.by:
        return None
    items = set(swarm.items)
    return share_of(swarm, party, then.agent, [item for item in then.items if item in items])


def _refuse_changed(reading: Reading, swarm: Swarm, same: set[str]) -> None:
    """``same``: items of the party that this record, or a later one, has read as they are today."""
    changed = [item for item in reading.share.items if item not in same]
    if not changed:
        return
    now = _today(reading, swarm)
    gone = now is None or not set(changed) & set(now.items)
    if now is None:
        why = f"{reading.share.agent} reads nothing for {reading.share.party} any more"
    elif gone:
        why = f"{changed[0]} is no item any more"
    else:
        why = differs(reading.share, now, [item for item in changed if item in now.of])
    raise UsageError(
        f"{reading.path} was made from something else: {why}.",
        next_step="Name a new folder with -o, or use --repin: what has changed is read again, the rest stays.",
    )


def path_for(folder: Path, share: Share) -> Path:
    """A path for a new record of ``share``; no record is ever written over."""
    return free(folder / REPORTS, f"{word(share.party)}-{word(share.agent)}")
