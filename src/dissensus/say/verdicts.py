"""What the monitor says: of each message a verdict, of each obligation a status."""

from __future__ import annotations

from typing import Final

import msgspec

from dissensus.say.message import FIELD

OK: Final = "ok"
"""A legal move. The monitor returns this constant and makes no object for it."""
ILLEGAL, NO_TITLE, VOID, LATE, DUPLICATE, UNTAGGED = "illegal", "no-title", "void", "late", "duplicate", "untagged"
HELD: Final = "held"
"""Without order of delivery: came before what it answers, and is kept until that comes or the log ends."""

VIOLATION, WARNING, INFO = "violation", "warning", "info"

ANSWER, OFFER, DECISION, PERFORMANCE = "answer", "offer", "decision", "performance"
INPUT, AUTHORIZATION, CANCEL, RPC = "input", "authorization", "cancel", "rpc"
KINDS: Final = (ANSWER, OFFER, DECISION, PERFORMANCE, INPUT, AUTHORIZATION, CANCEL, RPC)
PROMISES: Final = frozenset({PERFORMANCE})
"""What somebody bound himself to: only this can be violated."""

FULFILLED, ANSWERED, PENDING, VIOLATED, EXPIRED, UNKNOWN = (
    "fulfilled", "answered", "pending", "violated", "expired", "unknown",
)  # fmt: skip
REFUSED, FAILED, CANCELLED, RELEASED, NOT_UNDERSTOOD = (
    "declared:refused", "declared:failed", "declared:cancelled", "declared:released", "declared:not-understood",
)  # fmt: skip

MOOT: Final = "moot"
"""Reason of what was released because another message, on its way at the same time, left nothing to do."""


class Finding(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """Something to say about one message. Messages that are simply ok have none.

    Args:
        id, line, thread: the message; ``sub`` is the party whose part of the thread it concerns, if there are several.
        verdict: see the constants above.
        rule: name of the rule that decided: ``state``, ``title``, ``authority``, ``deadline``, ``a2a.unknown-task`` …
        level: ``violation``, ``warning`` or ``info``. Duplicates and untagged messages are ``info``.
        party: who is at fault; "" if nobody.
        caused_by: id of the earlier faulty message without which this one would have been legal; it is folded under it.
        says: the fault in one sentence.
        act, state, expected: what was said, in which state, and which acts that state allows.
        crossed: ids of the messages that this one crossed on the way.
        seq: place of the message, from 1. ``at``: its time.
        tag_source: where the message's act comes from: ``field``, ``structure``, ``inferred``, ``pattern``, ``model``.
        remedy: what can be done: ``discard``, ``remind``, ``wait``, ``hand-on``.
    """

    id: str
    verdict: str
    rule: str
    level: str
    line: int = 0
    thread: str | None = None
    party: str = ""
    caused_by: str | None = None
    says: str = ""
    act: str | None = None
    state: str = ""
    expected: tuple[str, ...] = ()
    sub: str = ""
    crossed: tuple[str, ...] = ()
    seq: int = 0
    at: float | None = None
    where: str = ""
    remedy: str = ""
    tag_source: str = FIELD


class Obligation(msgspec.Struct, gc=False, omit_defaults=True):
    """What one party owes another in a thread, and what became of it.

    Args:
        thread, sub: the conversation, and the party whose part of it this is where there are several.
        kind: one of :data:`KINDS`.
        debtor, creditor: who owes whom.
        opened_by, opened_line, opened_seq, opened_at: the message that brought it about.
        status: ``pending`` while open; see the constants above.
        closed_by, closed_line, closed_seq, closed_at: the message that ended it.
        deadline: seconds since 1970-01-01 UTC; ``deadline_source`` is ``message``, ``protocol`` or ``policy``.
        late_by_s: how late it was met.
        reason: why, where the status does not say it: ``moot``, ``superseded``.
        superseded_by: id of the request that left this one behind.
        acknowledged: line of the message that said "received" and promised nothing.
        suspended: whether it rests until somebody else has delivered.
        conditional: whether it waits for a condition, or stands until it is cancelled: no deadline runs.
        outside: see :class:`~dissensus.say.message.Message`.
        untagged: id of an untagged message that may have closed it.
        about: what was asked for: method, tool or content, shortened.
        tag_source, closed_tag_source: where the acts of the messages that opened and ended it come from.
    """

    thread: str
    kind: str
    debtor: str
    creditor: str
    opened_by: str
    status: str = PENDING
    sub: str = ""
    protocol: str = ""
    opened_line: int = 0
    opened_seq: int = 0
    opened_at: float | None = None
    deadline: float | None = None
    deadline_source: str = ""
    outside: bool = False
    about: str = ""
    tag_source: str = FIELD
    closed_by: str | None = None
    closed_line: int = 0
    closed_seq: int = 0
    closed_at: float | None = None
    late_by_s: float | None = None
    reason: str = ""
    superseded_by: str | None = None
    acknowledged: int = 0
    suspended: bool = False
    untagged: str | None = None
    conditional: bool = False
    closed_tag_source: str = ""
