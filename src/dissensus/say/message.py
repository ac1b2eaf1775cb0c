"""One message, as the monitor sees it, whatever log it came from."""

from __future__ import annotations

from typing import Any

import msgspec

FIELD, STRUCTURE, PATTERN, MODEL, PERSON = "field", "structure", "pattern", "model", "person"
"""Where a message's act comes from. ``FIELD``: it stands there. ``STRUCTURE``: a typed state or call id says it."""

DECLARED = frozenset({FIELD, STRUCTURE})
"""Sources that declare. What only an inferred message closes is ``answered``, never ``fulfilled``."""

GUESSED = frozenset({PATTERN, MODEL})
"""Sources that guess what prose does."""

INFERRED = "inferred"
"""The act follows from who spoke next, a role's name or the order of lines; nobody declared it."""


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one agent said to others.

    Args:
        id: unique in the log; readers make one where the log has none.
        sender: who speaks.
        receivers: to whom, in order.
        act: one of the 22 (:data:`~dissensus.say.acts.ACTS`), or None: untagged.
        thread: the conversation, chosen by whoever began it.
        protocol: name of its protocol; None means the one that holds for the thread, or the default.
        reply_with, in_reply_to: exact correlation of question and answer.
        reply_to: who is to get the answers instead of the sender.
        reply_by: latest time for the next move, in seconds since 1970-01-01 UTC.
        content, content_type, language, encoding, ontology: the payload. ``content_type`` carries ``done``, ``result``,
            ``true``, ``false``, ``no-match``, ``proxy`` and the like.
        about: the agent that this is about, where it is not the sender: a platform reporting for an agent.
        at: when, in seconds since 1970-01-01 UTC; None if the log does not say.
        line: line of the log, from 1 (0: the log has no lines).
        where: place in the log where a line says too little: ``history[17]``.
        tag_source: ``field``, ``structure``, ``inferred``, ``pattern``, ``model`` or ``person``.
        tag_confidence: 1.0 for the first two.
        name: how the log itself calls this act, where that differs: ``tell``, ``message/send``.
        outside: it crosses the border of the system (a person's task, the final answer); such requests are listed and
            not counted among the agents' own.
        supersedes: id of an open request that this one leaves behind unanswered.
        wire: the protocol unit as it went over the wire, for A2A and MCP.
    """

    id: str
    sender: str
    receivers: tuple[str, ...] = ()
    act: str | None = None
    thread: str | None = None
    protocol: str | None = None
    reply_with: str | None = None
    in_reply_to: str | None = None
    reply_to: str | None = None
    reply_by: float | None = None
    content: Any = None
    content_type: str | None = None
    language: str | None = None
    encoding: str | None = None
    ontology: str | None = None
    about: str | None = None
    at: float | None = None
    line: int = 0
    where: str = ""
    tag_source: str = FIELD
    tag_confidence: float = 1.0
    name: str | None = None
    outside: bool = False
    supersedes: str | None = None
    wire: Any = None
