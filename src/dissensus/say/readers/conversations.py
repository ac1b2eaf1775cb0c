"""Which conversation a message of an agent communication language belongs to, where it does not say.

It may name its conversation; or it repeats in ``in-reply-to`` what another gave as ``reply-with``; or it only goes back
to somebody who asked. The last is a guess by order, and marked as inferred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dissensus.say.acts import ACTS, KQML
from dissensus.say.message import FIELD, INFERRED

OPENERS: Final = {
    "cfp": "fipa-contract-net",
    "propagate": "fipa-brokering",
    "propose": "fipa-propose",
    "proxy": "fipa-brokering",
    "query-if": "fipa-query",
    "query-ref": "fipa-query",
    "request": "fipa-request",
    "request-when": "fipa-request-when",
    "request-whenever": "fipa-request-when",
    "subscribe": "fipa-subscribe",
}
"""Acts that begin a conversation, and the protocol that one without a name follows."""
_LAST: Final = frozenset({"confirm", "disconfirm", "failure", "inform", "not-understood", "refuse", "reject-proposal"})
_GOES_ON: Final = frozenset({"fipa-subscribe", "fipa-brokering", "fipa-recruiting"})
_KEPT: Final = 1_000_000
"""How many conversations and ``reply-with`` are remembered."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message belongs. Without a thread it is untagged: no protocol holds for it."""

    thread: str | None
    protocol: str | None
    tag_source: str


_NOWHERE: Final = Place(None, None, FIELD)


class Conversations:
    """The conversations of one log.

    Args:
        protocol: the protocol of conversations that name none. Without one, or with ``fipa-request``, which everything
            follows that nobody chose a protocol for, their first act tells it.
    """

    def __init__(self, protocol: str | None = None) -> None:
        self._default = protocol if protocol != "fipa-request" else None
        self._protocols: dict[str, str | None] = {}
        self._by_reply: dict[str, str] = {}
        self._between: dict[tuple[str, str], list[str]] = {}
        """Open conversations by who owes an answer to whom, oldest first."""

    def place(
        self,
        number: str,
        act: str,
        sender: str,
        receivers: tuple[str, ...],
        *,
        thread: str | None = None,
        protocol: str | None = None,
        reply_with: str | None = None,
        in_reply_to: str | None = None,
        name: str | None = None,
    ) -> Place:
        """Where the message ``number`` belongs. ``name`` is the performative as its sender wrote it.

        A KQML performative that asks for something and carries no ``reply-with`` wants no answer, so none is owed; an
        assertion that answers nothing belongs to no conversation. Both get no thread.
        """
        source = FIELD
        plain = (name or act).lower()
        if thread is None and in_reply_to is not None:
            thread = self._by_reply.get(in_reply_to)
        if thread is None:
            if act in OPENERS and not (act == "propose" and self._answers(sender, receivers)):
                if plain in KQML and plain not in ACTS and reply_with is None:
                    return _NOWHERE
                thread = reply_with if reply_with not in {None, "t"} else f"m{number}"
            else:
                thread, source = self._guess(act, sender, receivers), INFERRED
        if thread is None:
            return _NOWHERE
        if thread not in self._protocols:
            opens = "fipa-recruiting" if plain.startswith("recruit") else OPENERS.get(act)
            protocol = protocol or self._default or opens
            _keep(self._protocols, thread, protocol)
            for receiver in receivers if act in OPENERS else ():
                self._between.setdefault((receiver, sender), []).append(thread)
        else:
            protocol = protocol or self._protocols[thread]
        if reply_with is not None and reply_with != "t":
            _keep(self._by_reply, reply_with, thread)
        if act in _LAST and self._protocols.get(thread) not in _GOES_ON:
            self._over(thread, sender, receivers)
        return Place(thread, protocol, source)

    def _answers(self, sender: str, receivers: tuple[str, ...]) -> bool:
        return any(self._between.get((sender, receiver)) for receiver in receivers)

    def _guess(self, act: str, sender: str, receivers: tuple[str, ...]) -> str | None:
        """The latest open conversation of the two: for what goes on from its initiator's side, in his direction."""
        for receiver in receivers:
            for pair in ((sender, receiver), (receiver, sender)) if act not in _LAST else ((sender, receiver),):
                if threads := self._between.get(pair):
                    return threads[-1]
            if act == "reject-proposal" and (threads := self._between.get((receiver, sender))):
                return threads[-1]
        return None

    def _over(self, thread: str, sender: str, receivers: tuple[str, ...]) -> None:
        for receiver in receivers:
            for pair in ((sender, receiver), (receiver, sender)):
                threads = self._between.get(pair)
                if threads and thread in threads:
                    threads.remove(thread)
                    if not threads:
                        del self._between[pair]


def _keep(kept: dict[str, Any], key: str, value: str | None) -> None:
    kept[key] = value
    if len(kept) > _KEPT:
        del kept[next(iter(kept))]
