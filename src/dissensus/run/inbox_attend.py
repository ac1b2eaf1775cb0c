"""Looking after open questions: tell people, remind, say that a deadline passed, escalate. It never decides anything.

One round is done by :func:`attend`, from a timer or by hand; what is due follows from the record and the time that it
is given. Something is sent first and put on the record then, so a process that dies in between sends it twice, with
the same ``idempotency_key``, rather than never.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from dissensus.errors import DissensusError
from dissensus.record.chain import Clock
from dissensus.record.event import Draft
from dissensus.record.opening import open_record
from dissensus.run.inbox import ESCALATED, NO_ANSWER, NOTIFIED, REMINDED, Question, State, questions_of
from dissensus.run.inbox_desk import refreshed
from dissensus.run.inbox_folder import Inbox, pick

BACK_OFF_S: Final = 60.0
"""Seconds before a message that could not be sent is tried again; doubled after each failure."""
LONGEST_S: Final = 6 * 3600.0
_MOST_DOUBLINGS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that people are told about a question.

    Args:
        question: which.
        what: ``asked``, ``again``, ``reminder`` or ``no-answer``.
        number: of the version or the reminder.
        to: whom it is for; empty means whoever looks.
    """

    question: Question
    what: str
    number: int
    to: tuple[str, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """The same for the same notice, so that whoever gets it twice can tell."""
        return f"{self.question.id}/{self.what}/{self.number}"

    def to_data(self, now: float) -> dict[str, Any]:
        """What is sent. No evidence is in it: that stays where the record is."""
        question = self.question
        return {
            "what": self.what,
            "number": self.number,
            "question": question.id,
            "version": question.version,
            "topic": question.topic,
            "text": question.text,
            "options": [{"id": one.id, "text": one.text} for one in question.options],
            "to": list(self.to),
            "asked_at": question.asked_at,
            "age_s": max(now - question.asked_at, 0.0),
            "deadline_at": question.deadline_at,
            "overdue": question.overdue(now),
            "record": question.record,
            "show": f"dissensus inbox show {question.id}",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of a notice. ``channel`` is ``webhook`` or ``command``, ``to`` where it went, without any key."""

    channel: str
    to: str
    problem: str = ""
    status: int | None = None


Notify = Callable[[Notice, float], Awaitable[Sent]]
"""Sends a notice; never raises but for cancellation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Did:
    """One thing that was done: the kind of event, the question's id, and a sentence if it failed."""

    kind: str
    question: str
    what: str = ""
    problem: str = ""


async def attend(
    questions: Iterable[Question],
    *,
    now: float,
    notify: Notify | None = None,
    clock: Clock = time.time,
) -> list[Did]:
    """One round over ``questions``; of those that one answer serves, people are told once.

    A record that somebody else writes at the moment is left for the next round.

    Args:
        questions: what to look after.
        now: the time, in seconds since 1970-01-01 UTC.
        notify: sends notices; None: nobody is told, and only deadlines and escalations are put on the record.
        clock: for the time of events.
    """
    done: list[Did] = []
    kept = list(questions)
    for question in kept:
        if question.state is State.OPEN:
            done += _record(question, passed(question, now), clock)
    if notify is None:
        return done
    for question, *_ in Inbox(refreshed(kept)).groups():
        for notice in due(question, now):
            sent = await notify(notice, now)
            done += _record(question, [_draft(notice, sent, now)], clock)
    return done


def passed(question: Question, now: float) -> list[Draft]:
    """What the passing of its deadline puts on the record, once: ``no-answer``, and who may answer from then on."""
    kinds = {event.kind for event in question.events}
    drafts = []
    if question.overdue(now):
        if NO_ANSWER not in kinds:
            drafts.append(Draft(kind=NO_ANSWER, key=question.key, body={"deadline_at": question.deadline_at}))
        if question.escalate_to and ESCALATED not in kinds:
            drafts.append(Draft(kind=ESCALATED, key=question.key, body={"to": list(question.escalate_to)}))
    return drafts


def due(question: Question, now: float) -> list[Notice]:
    """The notices that are due. Of several reminders that were missed, only the last."""
    if question.state is not State.OPEN:
        return []
    found = []
    if question.version == 1:
        found.append(Notice(question=question, what="asked", number=1, to=question.asked_to))
    else:
        found.append(Notice(question=question, what="again", number=question.version, to=question.may_answer()))
    if question.overdue(now):
        to = question.escalate_to or question.asked_to
        found.append(Notice(question=question, what="no-answer", number=1, to=to))
    if question.remind_s is not None and question.remind_s > 0:
        number = int((now - question.asked_at) // question.remind_s)
        if number > 0 and number > _reminded(question):
            found.append(Notice(question=question, what="reminder", number=number, to=question.may_answer()))
    return [notice for notice in found if _to_be_sent(notice, now)]


def _reminded(question: Question) -> int:
    return max((event.body["number"] for event in question.events if event.kind == REMINDED), default=0)


def _to_be_sent(notice: Notice, now: float) -> bool:
    """Whether it was not sent yet, and the last failure is long enough ago."""
    tries = [
        event
        for event in notice.question.events
        if event.kind in (NOTIFIED, REMINDED)
        and (event.body["what"], event.body["number"]) == (notice.what, notice.number)
    ]
    if any(not event.body["problem"] for event in tries):
        return False
    wait = min(BACK_OFF_S * 2 ** min(len(tries) - 1, _MOST_DOUBLINGS), LONGEST_S) if tries else 0.0
    return not tries or now >= tries[-1].body["at"] + wait


def _draft(notice: Notice, sent: Sent, now: float) -> Draft:
    reminder = notice.what == "reminder" and not sent.problem
    return Draft(
        kind=REMINDED if reminder else NOTIFIED,
        key=notice.question.key,
        body={
            "what": notice.what,
            "number": notice.number,
            "version": notice.question.version,
            "to": list(notice.to),
            "channel": sent.channel,
            "where": sent.to,
            "problem": sent.problem,
            "status": sent.status,
            "at": now,
        },
    )


def _record(question: Question, drafts: list[Draft], clock: Clock) -> list[Did]:
    """Put ``drafts`` on the question's record, if it is as open as it was and somebody else has not done so."""
    if not drafts:
        return []
    try:
        with open_record(question.record, "a", clock=clock) as store:
            now = pick(questions_of(store), question.id)
            new = [draft for draft in drafts if not _is_there(now, draft)] if now.state is State.OPEN else []
            if new:
                store.append(new)
                store.commit(durable=True)
    except DissensusError as problem:
        return [Did(kind="not-recorded", question=question.id, problem=str(problem))]
    return [
        Did(kind=one.kind, question=now.id, what=one.body.get("what", ""), problem=one.body.get("problem", ""))
        for one in new
    ]


def _is_there(question: Question, draft: Draft) -> bool:
    if draft.kind in (NO_ANSWER, ESCALATED):
        return any(event.kind == draft.kind for event in question.events)
    return any(
        event.kind == draft.kind
        and not event.body["problem"]
        and (event.body["what"], event.body["number"]) == (draft.body["what"], draft.body["number"])
        for event in question.events
    )
