"""The book of obligations: opened, closed, and at the end told what became of each.

The monitor and the trackers of wire protocols all write here, so that deadlines and statuses follow one rule:

- A deadline comes from the opening message, else from the protocol, else from a policy (``ttl``). It has passed when
  the time is strictly later.
- Only a promise can be violated. A performance past a deadline that was agreed (the message's or the protocol's) is
  ``violated``; everything else past a deadline is ``expired``. Without a deadline what is open stays ``pending``.
- What an untagged message, or a line that could not be read, may have closed is ``unknown``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dissensus.say.message import DECLARED, Message
from dissensus.say.verdicts import (
    ANSWER,
    ANSWERED,
    EXPIRED,
    FULFILLED,
    MOOT,
    PENDING,
    PROMISES,
    UNKNOWN,
    VIOLATED,
    Obligation,
)

OnClosed = Callable[[Obligation], None]

NEVER: Final = float("inf")
"""In place of a protocol's seconds: no deadline runs, whatever message or policy say. What it opens waits for a
condition that no message shows, or stands until it is cancelled."""


class Book:
    """Obligations of one log. Closed ones are handed to ``on_closed`` and forgotten.

    Args:
        on_closed: called with each obligation once it has its final status.
        ttl: seconds after which anything without a deadline of its own expires (a policy).

    Attributes:
        requests: answers that were owed among agents (``outside`` ones are not counted).
        unanswered: of these, closed by nothing that came; complete after :meth:`finish`.
        seq: place of the message that is being judged; the monitor sets it.
    """

    __slots__ = ("counts", "on_closed", "owed", "requests", "seq", "ttl", "unanswered")

    def __init__(self, on_closed: OnClosed | None = None, *, ttl: float | None = None) -> None:
        self.on_closed = on_closed
        self.ttl = ttl
        self.requests = 0
        self.unanswered = 0
        self.seq = 0
        self.counts: dict[str, int] = {}
        """Closed obligations by status."""
        self.owed: dict[int, Obligation] = {}
        """What is open, by the identity of the obligation, oldest first."""

    def open(
        self,
        m: Message,
        kind: str,
        debtor: str,
        creditor: str,
        *,
        thread: str | None = None,
        sub: str = "",
        by: float | None = None,
        protocol: str = "",
        about: str = "",
    ) -> Obligation:
        """Open what ``m`` brings about; ``by`` is the protocol's deadline in seconds after it, or :data:`NEVER`."""
        deadline, source = m.reply_by, "message"
        if deadline is None:
            source = ""
            if m.at is not None and by is not NEVER:
                if by is not None:
                    deadline, source = m.at + by, "protocol"
                elif self.ttl is not None:
                    deadline, source = m.at + self.ttl, "policy"
        owed = Obligation(  # by place: naming each takes eight times as long
            thread if thread is not None else m.thread or "",
            kind,
            debtor,
            creditor,
            m.id,
            PENDING,
            sub,
            protocol,
            m.line,
            self.seq,
            m.at,
            deadline,
            source,
            m.outside,
            about,
            m.tag_source,
        )
        if kind == ANSWER and not m.outside:
            self.requests += 1
        if by is NEVER:
            owed.conditional, owed.deadline, owed.deadline_source = True, None, ""
        self.owed[id(owed)] = owed
        return owed

    def close(self, owed: Obligation, m: Message, status: str = FULFILLED, *, reason: str = "") -> bool:
        """Close ``owed`` by ``m``; returns whether that was after the deadline.

        A late delivery is closed as violated or expired, with how late it was; what is declared (refused, failed,
        cancelled) after the deadline too. ``fulfilled`` becomes ``answered`` where the act of ``m`` was only inferred.
        """
        late = owed.deadline is not None and m.at is not None and m.at > owed.deadline
        if late and owed.deadline is not None and m.at is not None and reason != MOOT:
            owed.late_by_s = m.at - owed.deadline
            status = past_deadline(owed)
        elif status == FULFILLED and m.tag_source not in DECLARED:
            status = ANSWERED
        owed.closed_by = m.id
        owed.closed_line = m.line
        owed.closed_seq = self.seq
        owed.closed_at = m.at
        owed.closed_tag_source = m.tag_source
        owed.reason = reason or owed.reason
        self._settle(owed, status)
        return late

    def met(self, owed: Obligation, m: Message) -> None:
        """Close ``owed``, which is not late, by ``m``: :meth:`close` for the ordinary case, and quicker."""
        owed.closed_by = m.id
        owed.closed_line = m.line
        owed.closed_seq = self.seq
        owed.closed_at = m.at
        owed.closed_tag_source = m.tag_source
        owed.status = status = FULFILLED if m.tag_source in DECLARED else ANSWERED
        del self.owed[id(owed)]
        counts = self.counts
        counts[status] = counts.get(status, 0) + 1
        if self.on_closed is not None:
            self.on_closed(owed)

    def end(self, owed: Obligation, status: str, *, reason: str = "") -> None:
        """Give ``owed`` its final status without a message that closed it."""
        owed.reason = reason or owed.reason
        self._settle(owed, status)

    def withdraw(self, owed: Obligation) -> None:
        """Forget ``owed``: the message that opened it turned out later to be one that is discarded."""
        del self.owed[id(owed)]
        if owed.kind == ANSWER and not owed.outside:
            self.requests -= 1

    def leave_behind(self, m: Message) -> None:
        """Note on the open request that ``m`` supersedes who came in its place. It stays unanswered until the end."""
        found = False
        for owed in reversed(self.owed.values()):  # it is among the last ones opened
            if owed.opened_by != m.supersedes:
                if found:
                    break
                continue
            found = True
            if owed.kind == ANSWER:
                owed.superseded_by = m.id
                owed.reason = "superseded"

    def open_ones(self) -> Iterator[Obligation]:
        """What is open now, oldest first."""
        return iter(tuple(self.owed.values()))

    def overdue(self, now: float) -> list[Obligation]:
        """What is open and past its deadline at ``now``; nothing is closed by asking."""
        return [owed for owed in self.owed.values() if owed.deadline is not None and now > owed.deadline]

    def finish(self, as_of: float | None, *, closed: bool = False, unreadable: tuple[int, ...] = ()) -> None:
        """Give every open obligation its status at the end of the log.

        Args:
            as_of: the time by which deadlines are judged; None if no time is known.
            closed: the conversation is known to be over: what was promised is violated, the rest has expired; so has a
                promise whose condition never came, or that rests because the other side did not deliver.
            unreadable: lines that could not be read; what was opened before one of them may have been closed there.
        """
        last = max(unreadable, default=0)
        for owed in tuple(self.owed.values()):
            self._settle(owed, self._at_end(owed, as_of, closed=closed, last_unreadable=last))

    def _at_end(self, owed: Obligation, as_of: float | None, *, closed: bool, last_unreadable: int) -> str:
        if owed.untagged is not None or (owed.opened_line and owed.opened_line < last_unreadable):
            return UNKNOWN
        if owed.deadline is not None and as_of is not None and as_of > owed.deadline and not owed.suspended:
            return past_deadline(owed)
        if closed:
            return VIOLATED if owed.kind in PROMISES and not (owed.conditional or owed.suspended) else EXPIRED
        return UNKNOWN if owed.outside else PENDING

    def _settle(self, owed: Obligation, status: str) -> None:
        owed.status = status
        del self.owed[id(owed)]
        self.counts[status] = self.counts.get(status, 0) + 1
        if owed.kind == ANSWER and owed.closed_by is None and not owed.outside:
            self.unanswered += 1
        if self.on_closed is not None:
            self.on_closed(owed)

    def __len__(self) -> int:
        return len(self.owed)


def past_deadline(owed: Obligation) -> str:
    """Status of what is past its deadline: only a promise whose deadline was agreed is violated."""
    return VIOLATED if owed.kind in PROMISES and owed.deadline_source != "policy" else EXPIRED
