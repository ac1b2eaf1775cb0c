"""The reading of one share as a script: what do an item's sources say? Start at :func:`report`.

An agent is asked about one item at a time, each in a thread of its own: it sees the sources of that item and nothing
that it, or anybody, wrote about another one. What it answers becomes claims that nobody has looked at yet. A call that
fails is no report: the item is silent, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from dissensus.decide.cost import Bill, metered
from dissensus.decide.dispute.values import NotRead, as_of_from
from dissensus.decide.swarm.asking import ask_agent
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.programs import ReadItem, read_tables, run_tool
from dissensus.decide.swarm.reader import Reader
from dissensus.decide.swarm.reported import Reported
from dissensus.decide.swarm.taking import Read
from dissensus.decide.swarm.work import ITEM, READER, Share
from dissensus.errors import SpecError
from dissensus.script.decisions import Status
from dissensus.script.effects import Note, under
from dissensus.script.outcomes import BudgetExhausted
from dissensus.script.seats import Seat


def report(
    share: Share, seats: Sequence[Seat], seed: int, *, read_item: ReadItem | None = None
) -> Generator[Any, Any, Reported]:
    """Have every item of ``share`` read, in order, and return what was reported.

    Args:
        share: the items, what is wanted of each, the sources.
        seats: who takes part: the agent of the share, or :data:`~dissensus.decide.swarm.work.READER` for a tool.
        seed: for the fences around sources.
        read_item: in place of the built-in reader.

    Raises SpecError, before anybody is asked, for a share that cannot be read.
    """
    checked(share, seats)
    bill = Bill()
    reported: Reported = yield from metered(_Course(share, seats, seed, bill, read_item).run(), bill)
    return reported


def checked(share: Share, seats: Sequence[Seat]) -> None:
    """Raise SpecError for a share that cannot be read."""
    if share.by not in ("agent", "tool", "tables"):
        raise SpecError(f"Nothing is read by {share.by!r}.", next_step="Write agent, tool or tables.")
    who = {"agent": share.agent, "tool": READER}.get(share.by)
    if who is not None and who not in {seat.agent for seat in seats}:
        raise SpecError(f"The share of {share.party} is read by {who}, who has no seat.")
    if share.by == "tool" and not share.tool:
        raise SpecError(f"The share of {share.party} names no tool.", next_step="Name a tool of the panel.")
    if not share.wanted or not all(one.attribute.strip() and one.subject.strip() for one in share.wanted):
        raise SpecError(f"The share of {share.party} does not say what is wanted.", next_step="Name an attribute.")
    for one in share.wanted:
        for item in share.items if ITEM in one.as_of else share.items[:1]:
            _moment(one.about(item).get("as_of"))
    if not all(share.items) or len(set(share.items)) < len(share.items):
        raise SpecError(f"Two items of {share.party} have the same name, or one has none.")


def _moment(as_of: str | None) -> None:
    try:
        as_of_from(as_of)
    except NotRead as problem:
        raise SpecError(f"The time at which something is wanted {problem}.") from None


class _Course:
    """One reading of a share."""

    def __init__(self, share: Share, seats: Sequence[Seat], seed: int, bill: Bill, read_item: ReadItem | None) -> None:
        self.share = share
        self.seats = seats
        self.seed = seed
        self.bill = bill
        self.opened = Opened(share.sources)
        self.read_item = read_item or Reader(self.opened).read

    def run(self) -> Generator[Any, Any, Reported]:
        """Item by item, until all are read or the budget is over."""
        found: dict[str, Read] = {}
        stopped = ""
        for item in self.share.items:
            scope = f"item/{item.replace('%', '%25').replace('/', '%2F')}"
            unasked = Read(silent=stopped, failed=BudgetExhausted.kind)
            found[item] = unasked if stopped else (yield from under(scope, self._read(item)))
            stopped = stopped or found[item].out
            yield from under(scope, self._note(item, found[item]))
        return self._reported(found, stopped)

    def _read(self, item: str) -> Generator[Any, Any, Read]:
        match self.share.by:
            case "tool":
                return (yield from run_tool(self.share, item, self.opened, self.seats))
            case "tables":
                return read_tables(self.share, item, self.opened, self.read_item)
            case _:
                (seat,) = (seat for seat in self.seats if seat.agent == self.share.agent)
                return (yield from ask_agent(self.share, item, seat, self.opened, self.seed))

    def _note(self, item: str, found: Read) -> Generator[Any, Any, None]:
        """Every item's outcome, on the disk before the next one is begun."""
        data = {
            "item": item,
            "party": self.share.party,
            "agent": self.share.agent,
            "by": self.share.by,
            "claims": found.taken.claims,
            "silent": found.silent,
            "failed": found.failed,
            "asides": found.taken.asides,
        }
        yield Note("reported", data, thread=f"item/{item}", durable=True, key="reported")

    def _reported(self, found: Mapping[str, Read], stopped: str) -> Reported:
        failures = Counter(one.failed for one in found.values() if one.failed)
        failed = bool(found) and failures.total() == len(found)
        return Reported(
            question=self.share.task or f"{self.share.party}: {', '.join(one.attribute for one in self.share.wanted)}",
            answer=None,
            status=Status.OPEN_BUDGET if stopped else Status.FAILED if failed else Status.REPORTED,
            failures=dict(sorted(failures.items())),
            cost=self.bill.cost(),
            party=self.share.party,
            agent=self.share.agent,
            claims={item: tuple(one.taken.claims) for item, one in found.items() if one.taken.claims},
            silent={item: one.silent for item, one in found.items() if one.silent},
            asides={item: tuple(one.taken.asides) for item, one in found.items() if one.taken.asides},
            stopped=stopped,
        )
