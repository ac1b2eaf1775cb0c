"""The monitor: one message at a time, was it legal, and who owes what now.

Start reading at :meth:`Monitor.see`. The audit of a whole log (:mod:`dissensus.say.audit`) is this machine, fed line by
line. Each step takes a time that does not depend on how long the log is.

Order of tests: untagged, duplicate, void because malformed, illegal in this state, no title, void for lack of
authority, late, ok. A bad message is set aside: it changes no state, opens and closes nothing, and the monitor goes on.
What is illegal only because of an earlier bad message is folded under it (``caused_by``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from dissensus.errors import LogError
from dissensus.say import sides, wording
from dissensus.say.acts import ACTS, COMMISSIVE
from dissensus.say.book import Book, OnClosed
from dissensus.say.judge import Judge
from dissensus.say.machine import Conversation
from dissensus.say.message import Message
from dissensus.say.protocol import FIPA, TOTAL, UNORDERED, Protocol
from dissensus.say.seen import EXACT, Seen
from dissensus.say.silence import lapse
from dissensus.say.swift import move_on, set_out
from dissensus.say.threads import KEPT, WORST, among_many, begin
from dissensus.say.verdicts import (
    DUPLICATE,
    EXPIRED,
    INFO,
    LATE,
    OK,
    PROMISES,
    UNTAGGED,
    VIOLATION,
    VOID,
    Finding,
    Obligation,
)

_PROMISES: Final = frozenset(name for name, act in ACTS.items() if COMMISSIVE in act.classes)
WIRE: Final = {
    "a2a": "dissensus.say.wire.a2a:A2ATracker",
    "mcp": "dissensus.say.wire.mcp:MCPTracker",
}
"""Protocols that are followed on the wire, and who follows them."""


class Monitor(Judge):
    """Follows the threads of one log or one running system.

    Args:
        protocol: name of the protocol of messages that name none; ``fipa-request`` if not given.
        profile: ``fipa``, ``jade`` or ``strict``: how implementations read the specifications.
        delivery: ``total``, ``fifo`` or ``unordered``; None takes what each protocol says.
        authority: who may order whom: ``{"director": ["intern"]}``; None: nobody asks.
        ttl: seconds after which what has no deadline expires (a policy: nobody agreed to it).
        platforms: agents that may report the failure of others.
        find: gives the protocol of a name; the shipped ones if not given.
        wire: options of the trackers of A2A and MCP.
        on_finding, on_closed: called with each finding, and with each obligation that got its final status.

    Attributes:
        messages, untagged: how many were seen, and how many of them carried no act.
        last: what was found in the message seen last.
        violations, warnings: roots only; what follows from an earlier fault is not counted.
        now: latest time in the log.
        backwards: how often the clock ran backwards, and the first ids where it did.
    """

    def __init__(
        self,
        *,
        protocol: str | Protocol = "fipa-request",
        profile: str = FIPA,
        delivery: str | None = None,
        authority: Mapping[str, Collection[str]] | None = None,
        ttl: float | None = None,
        platforms: Collection[str] = ("ams", "df"),
        find: Callable[[str, str], Protocol] | None = None,
        wire: Mapping[str, Any] | None = None,
        on_finding: Callable[[Finding], None] | None = None,
        on_closed: OnClosed | None = None,
    ) -> None:
        super().__init__(
            Book(on_closed, ttl=ttl),
            profile=profile,
            delivery=delivery,
            authority=authority,
            platforms=platforms,
            given={protocol.name: protocol} if isinstance(protocol, Protocol) else {},
            find=find,
            on_finding=on_finding,
        )
        self.messages = 0
        self.untagged = 0
        self.threads = 0
        self.now = float("-inf")
        self.backwards = 0
        self.backwards_at: list[str] = []
        self.default = protocol.name if isinstance(protocol, Protocol) else protocol
        self.ids = Seen()
        self.running: dict[str, Conversation] = {}
        """Threads that go on."""
        self.astray: dict[str, Conversation] = {}
        """Threads in which nothing legal was said yet."""
        self.closed: dict[str, Conversation] = {}
        """Threads that ended, the last :data:`KEPT`."""
        self.long_closed = Seen()
        """Threads that ended before these."""
        self._wire_options = ({"order": UNORDERED} if delivery == UNORDERED else {}) | dict(wire or {})
        self.trackers: dict[str, Any] = {}
        self.swift = delivery in {None, TOTAL} and authority is None
        """Whether ordinary moves may be made at a glance."""

    def see(self, m: Message) -> str:
        """Judge ``m`` and return its verdict; what is to be said about it is in :attr:`last`.

        Returns:
            ``ok``, ``illegal``, ``no-title``, ``void``, ``late``, ``duplicate``, ``untagged`` or ``held``.

        Raises:
            LogError: a typed message without a thread, two protocols in one thread, or a protocol that nobody knows.
                The message has then changed nothing.
        """
        act, thread, name = m.act, m.thread, m.protocol
        if name is not None and (name in WIRE or name in self.trackers):
            return self._on_the_wire(m, name)
        if act is None:
            return self._untagged(m)
        if thread is None:
            raise LogError(
                f"The message {m.id!r} has an act and no thread.", line=m.line, next_step="Give it a `thread`."
            )
        conversation = self.running.get(thread)
        if name is not None:
            if conversation is None:
                self.table(name, m.line)
            elif name != conversation.table.name and not conversation.table.has_sub:
                raise LogError(
                    f"The thread {thread!r} follows {conversation.table.name}, and here {name}.",
                    line=m.line,
                    next_step="A thread has one protocol; give the other one a thread of its own.",
                )
        self.messages = self.book.seq = self.messages + 1
        at = m.at
        if at is not None:
            if at >= self.now:
                self.now = at
            else:
                self._ran_backwards(m)
        if self.last:
            self.last = ()
        exact = self.ids.exact
        if exact is None or len(exact) >= EXACT:
            fresh = self.ids.add(m.id)
        else:
            before = len(exact)
            exact.add(m.id)
            fresh = len(exact) != before
        if not fresh:
            return self.say(m, DUPLICATE, "id", INFO, f"{thread}: the id {m.id} was used before")
        if not m.receivers:
            return self.say(m, VOID, "receiver", VIOLATION, f"{thread}: {act} to nobody", party=m.sender)
        if (m.about is not None or type(m.content) is dict) and act in _PROMISES and (whose := _doer(m)) is not None:
            return self.say(m, VOID, "deed", VIOLATION, wording.anothers_deed(m, whose, thread), party=m.sender)
        if m.supersedes is not None:
            self.book.leave_behind(m)
        if self.swift and (move_on(self, m, conversation) if conversation is not None else set_out(self, m, thread)):
            if self.brokers and conversation is not None:
                sides.heard(self, conversation, m)
            return OK
        if conversation is None:
            return begin(self, m, thread)
        machine = conversation.only
        direct = machine is not None and len(m.receivers) == 1 and machine.partner in (m.sender, m.receivers[0])
        if machine is not None and direct and not conversation.table.has_sub:
            verdict = self.judge(conversation, machine, m)
        else:
            verdict = among_many(self, conversation, m)
        if self.brokers and verdict in {OK, LATE}:
            sides.heard(self, conversation, m)
        if self.closing:
            self.close_if_ended(conversation)
        return verdict

    def finish(self, as_of: float | None = None, *, closed: bool = False, unreadable: tuple[int, ...] = ()) -> None:
        """End of the log: give every open obligation its status, and every held message its verdict.

        Args:
            as_of: time by which deadlines are judged; the latest time in the log if not given.
            closed: the conversations are known to be over.
            unreadable: lines that could not be read.
        """
        if as_of is None and self.now != float("-inf"):
            as_of = self.now
        self.final = True
        for threads in (self.running, self.astray, self.closed):
            for conversation in list(threads.values()):
                self.let_go(conversation)
        for tracker in self.trackers.values():
            for finding in tracker.finish():
                self.found(finding)
        self._lapse(as_of)
        self.book.finish(as_of, closed=closed, unreadable=unreadable)

    def state(self) -> dict[str, Any]:
        """All that it knows, as JSON data: :meth:`restore` goes on from there as if nothing had happened."""
        from dissensus.say.snapshot import taken

        return taken(self)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state` gave. The monitor must be new, and have the same settings.

        Raises:
            UsageError: the state is of another version, or names a state that the protocol does not have.
        """
        from dissensus.say.snapshot import put_back

        put_back(self, state)

    def followed(self) -> tuple[str, ...]:
        """Names of the protocols that threads followed so far."""
        return tuple(sorted({*(name for name, table in self.tables.items() if table.used), *self.trackers}))

    def threads_seen(self) -> int:
        """How many threads began, tasks and requests on the wire included."""
        return self.threads + sum(getattr(tracker, "threads", 0) for tracker in self.trackers.values())

    def overdue(self, now: float) -> list[Obligation]:
        """What is past its deadline at ``now``, in seconds since 1970-01-01 UTC."""
        return self.book.overdue(now)

    def holders(self, thread: str) -> list[str]:
        """Who owes a performance in ``thread`` now: who holds this task."""
        return [owed.debtor for owed in self.book.open_ones() if owed.thread == thread and owed.kind == "performance"]

    @property
    def tagged(self) -> int:
        """How many messages carried an act."""
        return self.messages - self.untagged

    def _count(self, m: Message) -> None:
        self.messages = self.book.seq = self.messages + 1
        if m.at is not None:
            if m.at >= self.now:
                self.now = m.at
            else:
                self._ran_backwards(m)

    def _ran_backwards(self, m: Message) -> None:
        self.backwards += 1
        if len(self.backwards_at) < 20:
            self.backwards_at.append(m.id)

    def _untagged(self, m: Message) -> str:
        self._count(m)
        self.untagged += 1
        self.last = ()
        conversation = self.running.get(m.thread) if m.thread is not None else None
        if conversation is not None:
            for machine in conversation.machines():
                for owed in machine.owed:
                    if owed.debtor == m.sender:
                        owed.untagged = m.id
        return UNTAGGED

    def tracker(self, name: str) -> Any:
        """Who follows the wire protocol ``name``; made when first asked for."""
        if name not in self.trackers:
            import importlib

            module, attribute = WIRE[name].split(":")
            self.trackers[name] = getattr(importlib.import_module(module), attribute)(self.book, self._wire_options)
        return self.trackers[name]

    def _on_the_wire(self, m: Message, name: str) -> str:
        self._count(m)
        self.untagged += m.act is None
        tracker = self.trackers.get(name) or self.tracker(name)
        said = tracker.see(m)
        if said is OK:
            self.last = ()
            return OK
        self.last = ()
        verdict = OK
        for finding in said:
            self.found(finding)
            if finding.id == m.id and WORST.get(finding.verdict, 0) > WORST.get(verdict, 0):
                verdict = finding.verdict
        return verdict

    def close_if_ended(self, conversation: Conversation) -> None:
        """Remember a thread as closed once every machine of it is in a final state."""
        self.closing = False
        if conversation.thread in self.running and conversation.ended():
            self.shut(conversation)

    def shut(self, conversation: Conversation) -> None:
        """Remember a running thread as closed; of the oldest, remember only that."""
        del self.running[conversation.thread]
        closed = self.closed
        closed[conversation.thread] = conversation
        if len(closed) > KEPT:
            oldest = next(iter(closed))
            gone = closed.pop(oldest)
            if gone.held:
                self.let_go(gone)
            self.long_closed.add(oldest)

    def _lapse(self, as_of: float | None) -> None:
        """What a conversation may leave open where it stands has expired, and silence may stand for an act."""
        for conversation in self.running.values():
            for machine in conversation.machines():
                if as_of is not None:
                    lapse(self.book, machine, as_of)
                place = machine.place
                lapsing = [kind for kind in place.may_lapse if kind not in PROMISES]  # a promise does not lapse
                for owed in [owed for owed in machine.owed if owed.kind in lapsing]:
                    machine.owed.remove(owed)
                    self.book.end(owed, EXPIRED, reason="may lapse")


def _doer(m: Message) -> str | None:
    """Whose deed ``m`` promises, where it says so and that is not its sender's."""
    whose = m.about
    if whose is None and type(m.content) is dict:
        whose = m.content.get("actor")
    return whose if isinstance(whose, str) and whose != m.sender else None
