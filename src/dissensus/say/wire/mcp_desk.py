"""What the parts of the MCP tracker share: the book, what is to be said, and how an obligation is closed."""

from __future__ import annotations

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import LATE, VIOLATED, VIOLATION, WARNING, Finding, Obligation
from dissensus.say.wire.jsonrpc import CLIENT, SERVER, Call, Fault, finding


class Desk:
    """Where obligations are opened and closed, and findings collected, for all connections of a log.

    Args:
        book: the book of obligations.
        version: the version to judge by where a connection names none.
        complete: whether the log begins with its connections.

    Attributes:
        said: findings about the message that is being judged.
        threads: how many threads began.
    """

    __slots__ = ("book", "complete", "said", "threads", "version")

    def __init__(self, book: Book, version: str | None, *, complete: bool) -> None:
        self.book = book
        self.version = version
        self.complete = complete
        self.said: list[Finding] = []
        self.threads = 0

    def say(self, m: Message, fault: Fault, thread: str | None = None, *, seq: int | None = None) -> None:
        """Note a finding about ``m``; ``seq`` is its place where it is not the message that is being judged."""
        if thread:
            fault = fault._replace(says=f"{thread}: {fault.says}")
        self.said.append(finding(m, fault, thread=thread, seq=self.book.seq if seq is None else seq))

    def close(self, owed: Obligation, m: Message, status: str) -> None:
        """Close an obligation, and say so if that was late."""
        if self.book.close(owed, m, status):
            late = owed.late_by_s or 0.0
            level = VIOLATION if owed.status == VIOLATED else WARNING
            fault = Fault("deadline", LATE, f"The {owed.kind} came {late:g} s after its deadline.", level)
            self.say(m, fault, owed.thread)

    def settle(self, call: Call, m: Message, status: str) -> None:
        """Close what is owed for a call, if anything is."""
        if call.owed is not None:
            self.close(call.owed, m, status)
            call.owed = None


def receiver(m: Message) -> str:
    """Who a message goes to."""
    if m.receivers:
        return m.receivers[0]
    return SERVER if m.sender.startswith(CLIENT) else CLIENT
