"""Third parties in one thread: a broker speaks with them, and passes on what they answer (SC00033, SC00034)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissensus.say.machine import Conversation, Machine
from dissensus.say.message import Message
from dissensus.say.protocol import STRICT
from dissensus.say.tables import AS_INFORM, Step
from dissensus.say.verdicts import HELD, LATE, OK

if TYPE_CHECKING:
    from dissensus.say.judge import Judge

STARTS: Final = {
    "request": "fipa-request",
    "query-if": "fipa-query",
    "query-ref": "fipa-query",
    "request-when": "fipa-request-when",
    "request-whenever": "fipa-request-when",
    "cfp": "fipa-contract-net",
    "propose": "fipa-propose",
    "subscribe": "fipa-subscribe",
}
"""Protocol of a talk with a third party, where its first message names none."""

TELLING: Final = AS_INFORM | {"inform"}


def aside(judge: Judge, conversation: Conversation, m: Message) -> str | None:
    """Judge what passes between the broker and a third party; None if ``m`` is no such message."""
    broker = next((machine for machine in conversation.machines() if machine.place.open_to_others), None)
    if broker is None:
        return None
    if m.sender == broker.partner:
        others = [name for name in m.receivers if name != conversation.starter]
        if not others:
            return None
        verdict = OK
        for other in others:
            talk = _talk(judge, conversation, broker.partner, other, m)
            if talk is not None and talk.only is not None:
                verdict = judge.judge(talk, talk.only, m)
            elif m.act not in TELLING:  # what only tells a third party something asks for nothing
                return None
        end_if_done(judge, conversation, broker)
        return verdict
    talk = (conversation.side or {}).get(m.sender)
    if talk is None or talk.only is None:
        return None
    verdict = judge.judge(talk, talk.only, m)
    if verdict in {OK, LATE, HELD} and not conversation.table.designated and not conversation.silent:
        conversation.unforwarded += not (talk.silent and conversation.table.profile == STRICT)
        talk.silent = True  # it has answered; under strict, one answer of each is brought back
    end_if_done(judge, conversation, broker)
    return verdict


def _talk(judge: Judge, conversation: Conversation, holder: str, other: str, m: Message) -> Conversation | None:
    side = conversation.side = conversation.side if conversation.side is not None else {}
    if other not in side:
        name = m.protocol if m.protocol not in {None, conversation.table.name} else STARTS.get(m.act or "")
        if name is None:
            return None
        talk = Conversation(conversation.thread, judge.table(name, m.line), holder)
        talk.add(Machine(other, talk.table.start))
        if conversation.table.designated:
            talk.reply_to = conversation.reply_to or conversation.starter
        side[other] = talk
    return side[other]


def nothing_to_forward(conversation: Conversation, step: Step) -> bool:
    """Whether the move passes on an answer of a third party, and there is none."""
    return bool(step.forwards) and conversation.unforwarded == 0


def after_move(judge: Judge, conversation: Conversation, machine: Machine, step: Step) -> None:
    """Count what was passed on, and end the thread when all talks are over and passed on."""
    if step.act == "propagate":
        conversation.silent = True
    if step.forwards and conversation.unforwarded:
        conversation.unforwarded -= 1
    end_if_done(judge, conversation, machine)


def end_if_done(judge: Judge, conversation: Conversation, broker: Machine) -> None:
    """End the thread when every talk with a third party is over and was passed on."""
    side = conversation.side
    if not side or not broker.place.open_to_others or conversation.unforwarded:
        return
    if all(talk.ended() for talk in side.values()):
        broker.place = conversation.table.end("done")
        judge.closing = True
