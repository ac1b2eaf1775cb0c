"""What trackers of wire protocols have in common: noting faults, and closing what is owed, late or in time."""

from __future__ import annotations

from dissensus.say.book import Book
from dissensus.say.message import Message
from dissensus.say.verdicts import FULFILLED, LATE, PENDING, VIOLATED, VIOLATION, WARNING, Finding, Obligation
from dissensus.say.wire.jsonrpc import Fault, finding


class Saying:
    """Findings of one log as they come up.

    Args:
        book: where obligations are written.

    Attributes:
        found: what is to be said since somebody took it last.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.found: list[Finding] = []

    def say(
        self,
        m: Message,
        rule: str,
        verdict: str,
        says: str,
        level: str = VIOLATION,
        *,
        thread: str | None,
        party: str | None = None,
        caused_by: str | None = None,
        state: str = "",
    ) -> None:
        """Note a finding about ``m``; its sender is at fault unless ``party`` says otherwise."""
        fault = Fault(rule, verdict, says, level)
        seq = self.book.seq
        self.found.append(
            finding(m, fault, party=party, thread=thread, caused_by=caused_by, state=state, seq=seq)
        )  # fmt: skip

    def close(self, owed: Obligation | None, m: Message, status: str = FULFILLED, *, reason: str = "") -> None:
        """Close ``owed`` if it is open; what comes after its deadline is said once for each message and thread."""
        if owed is None or owed.status != PENDING:
            return
        owed.suspended = False
        owed.acknowledged = 0
        if self.book.close(owed, m, status, reason=reason):
            level = VIOLATION if owed.status == VIOLATED else WARNING
            for at, said in enumerate(self.found):
                if said.rule == "deadline" and said.id == m.id and said.thread == owed.thread:
                    if level == WARNING or said.level == VIOLATION:
                        return
                    del self.found[at]
                    break
            says = f"This came {owed.late_by_s:g} s after the deadline of the {owed.kind} that {owed.debtor} owes."
            self.say(m, "deadline", LATE, says, level, thread=owed.thread, party=owed.debtor)

    def has_said(self, m: Message, rule: str, thread: str) -> bool:
        """Whether ``rule`` has been found broken by ``m`` in a thread."""
        return any(one.rule == rule and one.id == m.id and one.thread == thread for one in self.found)
