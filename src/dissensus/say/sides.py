"""Third parties: a broker speaks with them, and passes on what they answer (SC00033, SC00034).

It may speak with them in the thread of its client or in threads of its own. Of the latter only is known that the broker
began them and was answered there: as many answers as it got, it may pass on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissensus.say import wording
from dissensus.say.machine import Conversation, Machine
from dissensus.say.message import Message
from dissensus.say.protocol import STRICT
from dissensus.say.tables import AS_INFORM, Step
from dissensus.say.verdicts import HELD, LATE, NO_TITLE, OK, VIOLATION

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
REPLYING: Final = TELLING | {"agree", "refuse", "propose", "failure"}


def aside(judge: Judge, conversation: Conversation, m: Message) -> str | None:
    """Judge what passes between the broker and a third party; None if ``m`` is no such message."""
    broker = next((machine for machine in conversation.machines() if machine.place.open_to_others), None)
    if broker is None or (broker.place.final and not conversation.silent):
        return None  # with propagate the broker is done with its client, and still speaks with those it found
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


def not_theirs_to_say(judge: Judge, conversation: Conversation, m: Message) -> str | None:
    """What was asked of third parties is theirs to answer: no title for the recruiter, or for who was not asked."""
    designated = conversation.reply_to or conversation.starter
    recruiter = next((machine for machine in conversation.machines() if machine.place.open_to_others), None)
    if recruiter is None or recruiter.place.final or m.act not in REPLYING or designated not in m.receivers:
        return None
    if m.sender in (conversation.side or {}) or m.sender == conversation.starter or m.act in recruiter.place.steps:
        return None
    says = wording.not_asked(m, conversation.thread)
    return judge.say(
        m, NO_TITLE, "title", VIOLATION, says, party=m.sender, machine=recruiter, conversation=conversation
    )


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


def nothing_to_forward(judge: Judge, conversation: Conversation, machine: Machine, step: Step) -> bool:
    """Whether the move passes on an answer of a third party, and there is none."""
    return bool(step.forwards) and conversation.unforwarded == 0 and not judge.brokers.get(machine.partner)


def heard(judge: Judge, conversation: Conversation, m: Message) -> None:
    """A broker was answered in a thread that it began with a third party: it may pass that on in the other one."""
    starter = conversation.starter
    if starter not in judge.brokers or m.sender == starter or conversation.of(m.sender) is None:
        return
    if conversation.silent and conversation.table.profile == STRICT:
        return
    conversation.silent = True
    judge.brokers[starter] += 1


def after_move(judge: Judge, conversation: Conversation, machine: Machine, step: Step) -> None:
    """Count what was passed on, and end the thread when all talks are over and passed on."""
    if step.act == "propagate":
        conversation.silent = True
    if not conversation.table.designated:
        judge.brokers.setdefault(machine.partner, 0)
    if step.forwards and conversation.unforwarded:
        conversation.unforwarded -= 1
    elif step.forwards and judge.brokers.get(machine.partner):
        judge.brokers[machine.partner] -= 1
    end_if_done(judge, conversation, machine)


def end_if_done(judge: Judge, conversation: Conversation, broker: Machine) -> None:
    """End the thread when every talk with a third party is over and was passed on."""
    side = conversation.side
    if not side or not broker.place.open_to_others or conversation.unforwarded:
        return
    if all(talk.ended() for talk in side.values()):
        broker.place = conversation.table.end("done")
        judge.closing = True
