"""Third parties in one thread: a broker speaks with them, and passes on what they answer (SC00033, SC00034)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissensus.say.machine import Conversation, Machine
from dissensus.say.message import Message
from dissensus.say.tables import PARTNER, Step, Table
from dissensus.say.verdicts import HELD, LATE, OK

if TYPE_CHECKING:
    from dissensus.say.book import Book

STARTS: Final = {
    "request": "fipa-request",
    "query-if": "fipa-query",
    "query-ref": "fipa-query",
    "request-when": "fipa-request-when",
    "cfp": "fipa-contract-net",
    "propose": "fipa-propose",
    "subscribe": "fipa-subscribe",
}
"""Protocol of a talk with a third party, where its first message names none."""


class Sides:
    """The part of the monitor that follows a broker's talks with third parties."""

    book: Book
    closing: bool

    def judge(self, conversation: Conversation, machine: Machine, m: Message) -> str:
        """Judge ``m`` in ``machine``."""
        raise TypeError((conversation, machine, m))

    def _table(self, name: str, line: int = 0) -> Table:
        raise TypeError((name, line))

    def aside(self, conversation: Conversation, m: Message) -> str | None:
        """Judge what passes between the broker and a third party; None if ``m`` is no such message."""
        broker = next((machine for machine in conversation.machines() if machine.place.open_to_others), None)
        if broker is None:
            return None
        holder = broker.partner
        if m.sender == holder:
            others = [name for name in m.receivers if name != conversation.starter]
            if not others:
                return None
            verdict = OK
            for other in others:
                talk = self._talk(conversation, holder, other, m)
                if talk is None or talk.only is None:
                    continue  # an inform to a third party asks for nothing
                verdict = self.judge(talk, talk.only, m)
            self._end_if_done(conversation, broker)
            return verdict
        talk = (conversation.side or {}).get(m.sender)
        if talk is None or talk.only is None:
            return None
        verdict = self.judge(talk, talk.only, m)
        if verdict in {OK, LATE, HELD} and not conversation.table.designated and not conversation.silent:
            conversation.unforwarded += 1
        self._end_if_done(conversation, broker)
        return verdict

    def _talk(self, conversation: Conversation, holder: str, other: str, m: Message) -> Conversation | None:
        side = conversation.side = conversation.side if conversation.side is not None else {}
        if other not in side:
            name = m.protocol if m.protocol not in {None, conversation.table.name} else STARTS.get(m.act or "")
            if name is None:
                return None
            talk = Conversation(conversation.thread, self._table(name, m.line), holder)
            talk.add(Machine(other, talk.table.start))
            if conversation.table.designated:
                talk.reply_to = conversation.reply_to or conversation.starter
            side[other] = talk
        return side[other]

    @staticmethod
    def nothing_to_forward(conversation: Conversation, m: Message, step: Step) -> bool:
        """Whether ``m`` passes on an answer of a third party, and there is none."""
        if step.direction != PARTNER or conversation.table.designated or conversation.silent:
            return False
        if step.act == "failure" and m.content_type == "brokering":
            return False
        return conversation.unforwarded == 0 and step.act != "not-understood" and not step.resumes

    def after_move(self, conversation: Conversation, machine: Machine, m: Message, step: Step) -> None:
        """Count what was passed on, and end the thread when all talks are over and passed on."""
        if step.act == "propagate":
            conversation.silent = True
        if machine.place.open_to_others and step.direction == PARTNER and conversation.unforwarded and m.sender:
            conversation.unforwarded -= 1
        self._end_if_done(conversation, machine)

    def _end_if_done(self, conversation: Conversation, broker: Machine) -> None:
        side = conversation.side
        if not side or not broker.place.open_to_others or conversation.unforwarded:
            return
        if all(talk.ended() for talk in side.values()):
            broker.place = conversation.table.end("done")
            self.closing = True
