"""Where a tagged piece of prose belongs: in which thread, and to whom it is said.

*Addressee.* Whoever is spoken to by name at the beginning (``Ada, can you …``, ``@ada``), if an agent of that name was
met before; else the message's own receivers; else whoever spoke last before.

*Thread.* What asks (request, query, cfp, subscribe, propose) opens a thread of its own. What answers goes into the
youngest thread that the addressee opened with the speaker, in which this act is still due: it may be one that the log
itself declares. Saying yes twice makes one promise; a no after a yes is a failure. A promise that nobody asked for
opens a thread in the protocol ``promise``, and the speaker's next report to the same agent ends it.

What finds no place stays untagged: an answer to nothing is no fault, it is a sentence that was not understood here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from dissensus.say.message import Message

PROMISE: Final = "promise"
PROTOCOLS: Final = {
    "request": "fipa-request",
    "query-if": "fipa-query",
    "query-ref": "fipa-query",
    "request-when": "fipa-request-when",
    "cfp": "fipa-contract-net",
    "propose": "fipa-propose",
    "subscribe": "fipa-subscribe",
}
"""What asks, and the protocol of the thread that it opens."""
_OFFER: Final = frozenset({"accept-proposal", "reject-proposal", "not-understood"})
_ASKED: Final = frozenset({"agree", "refuse", "inform", "failure", "not-understood"})
_ENDS: Final = frozenset({"refuse", "inform", "failure", "not-understood", "accept-proposal", "reject-proposal"})
_WORDS: Final = frozenset({"query-if", "query-ref", "subscribe"})
"""What asks for words, not for a deed: the answer is a result, even one that says "done"."""
_REPORTS: Final = frozenset({"inform", "failure", "cancel"})
_MOST: Final = 64
"""Most threads between two agents that are kept in mind; the oldest are forgotten."""
_ADDRESSED: Final = re.compile(
    r"(?:@(?P<at>[\w.-]{1,60})|(?:(?:hi|hey|ok|okay|thanks),? )?(?P<name>[\w.-]{1,60})[,:] )", re.IGNORECASE
)


@dataclass(slots=True)
class _Open:
    """A thread in which an answer is due from one agent to another."""

    thread: str
    protocol: str | None
    act: str
    agreed: bool = False

    def takes(self, act: str) -> bool:
        """Whether ``act`` is due here from who was asked."""
        if self.act == "agree":  # a promise: its creditor owes nothing
            return False
        if self.act in ("propose", "cfp"):
            return act in (_OFFER if self.act == "propose" else {"refuse", "propose", "not-understood"})
        return act in _ASKED and not (act == "not-understood" and self.agreed)  # who agreed had understood


class Threads:
    """Who said what to whom so far, as far as it matters for placing what comes."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._last = ""
        self._before: dict[str, str] = {}
        """Who spoke last before each agent did."""
        self._open: dict[tuple[str, str], list[_Open]] = {}
        """By who asked and who was asked; the youngest last."""

    def note(self, message: Message) -> None:
        """Take notice of a message that is not placed here, and of the agents that it names."""
        self._meet(message)
        if message.act is None or message.thread is None:
            return
        for receiver in message.receivers:
            self._follow(message.act, message.sender, receiver, message.thread, message.protocol)

    def placed(self, message: Message, text: str) -> Message | None:
        """``message``, which has a tag, with thread, protocol and addressee; None if it has no place."""
        self._meet(message)
        to = self._addressee(message, text)
        act = message.act
        if to is None or act is None:
            return None
        thread, protocol, kind = f"said:{message.id}", PROTOCOLS.get(act), message.content_type
        open_one = next((one for one in reversed(self._open.get((to, message.sender), ())) if one.takes(act)), None)
        if act in _REPORTS and open_one is None:
            open_one = next(reversed(self._own(message.sender, to, act)), None)
        if open_one is not None:
            if act == "agree" and open_one.agreed:
                return None
            if act == "refuse" and open_one.agreed:
                act = "failure"
            thread, protocol = open_one.thread, open_one.protocol
            if act == "inform" and open_one.act in _WORDS:
                kind = "result"
        elif act == "agree":
            protocol = PROMISE
        elif act not in PROTOCOLS:
            return None
        self._follow(act, message.sender, to, thread, protocol)
        return msgspec.structs.replace(
            message, act=act, receivers=(to,), thread=thread, protocol=protocol, content_type=kind
        )

    def _own(self, speaker: str, to: str, act: str) -> list[_Open]:
        """Threads that the speaker itself opened: its promises, and what it asked for and may take back."""
        mine = self._open.get((speaker, to), [])
        return [one for one in mine if one.protocol == PROMISE or (act == "cancel" and one.act != "propose")]

    def _meet(self, message: Message) -> None:
        for name in (message.sender, *message.receivers):
            self._names.setdefault(name.casefold(), name)
        if self._last and self._last != message.sender:
            self._before[message.sender] = self._last
        self._last = message.sender

    def _addressee(self, message: Message, text: str) -> str | None:
        found = _ADDRESSED.match(text)
        spoken = self._names.get((found["at"] or found["name"]).casefold()) if found is not None else None
        if spoken is not None and spoken != message.sender:
            return spoken
        if message.receivers:
            return message.receivers[0]
        return self._before.get(message.sender)

    def _follow(self, act: str, sender: str, receiver: str, thread: str, protocol: str | None) -> None:
        """Keep in mind which threads are open between the two."""
        if act in PROTOCOLS or (act == "agree" and protocol == PROMISE):
            threads = self._open.setdefault((sender, receiver), [])
            if all(one.thread != thread for one in threads):
                threads.append(_Open(thread, protocol, act))
                del threads[:-_MOST]
            return
        for pair in ((receiver, sender), (sender, receiver)):
            threads = self._open.get(pair, [])
            for one in threads:
                if one.thread == thread:
                    one.agreed = one.agreed or act == "agree"
            if act in _ENDS or act == "cancel":
                threads[:] = [one for one in threads if one.thread != thread]
