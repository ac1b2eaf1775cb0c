"""Logs in which one agent asks others by name and whoever is named speaks next: who answers what.

The asker names whom it asks; the answer names only who speaks. So a request is read off its structure, and an answer is
inferred: the audit calls it ``answered``, which says that something came back and no more.
"""

from __future__ import annotations

from typing import Any, Final

from dissensus.say.message import INFERRED, STRUCTURE, Message

PROTOCOL: Final = "fipa-request"


class Asking:
    """The requests of one asker in one run.

    Each request is a thread of its own. One that comes while another is open leaves that behind: the asker no longer
    waits. What was left behind for a request to the *same* agent stays unanswered for good; a request to somebody else
    leaves it open to its own debtor, who may still be at work.

    Args:
        prefix: put before thread names, where one log holds several runs.
    """

    __slots__ = ("_begun", "_left", "_now", "prefix")

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._begun = False
        self._now: Message | None = None
        self._left: dict[str, Message] = {}
        """Requests that were left behind for one to another agent, by their debtor."""

    @property
    def begun(self) -> bool:
        """Whether anybody was asked yet, or spoke."""
        return self._begun

    def asked(self, agent: str) -> bool:
        """Whether ``agent`` was asked and has not answered."""
        return agent in self._left or (self._now is not None and self._now.receivers[0] == agent)

    def request(self, message_id: str, asker: str, target: str, content: Any, **place: Any) -> Message:
        """The request to ``target``; it says which open one it leaves behind."""
        self._begun = True
        before = self._now
        self._left.pop(target, None)
        if before is not None and before.receivers[0] != target:
            self._left[before.receivers[0]] = before
        self._now = Message(
            id=message_id,
            sender=asker,
            receivers=(target,),
            act="request",
            thread=f"{self.prefix}{message_id}",
            protocol=PROTOCOL,
            content=content,
            tag_source=STRUCTURE,
            supersedes=before.id if before is not None else None,
            **place,
        )
        return self._now

    def said(self, message_id: str, speaker: str, asker: str, content: Any, **place: Any) -> Message:
        """What ``speaker`` said: the answer to the latest open request to it.

        If none is, but one to somebody else is open, it speaks there, where it has no title. If none is open at all, it
        says something that nobody asked for: untagged.
        """
        self._begun = True
        request = self._now
        if request is not None and request.receivers[0] == speaker:
            self._now = None
        elif speaker in self._left:
            request = self._left.pop(speaker)
        return Message(
            id=message_id,
            sender=speaker,
            receivers=(request.sender if request is not None else asker,),
            act="inform" if request is not None else None,
            thread=request.thread if request is not None else f"{self.prefix}said",
            protocol=PROTOCOL if request is not None else None,
            content=content,
            content_type="result" if request is not None else None,
            tag_source=INFERRED,
            **place,
        )
