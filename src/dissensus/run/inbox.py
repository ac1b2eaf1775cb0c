"""Questions to persons as a record tells them: what was asked, who answered, what is open. Pure: events in, values out.

Nothing is kept beside the record. The events, all with the question's key:

====================  ==========================================================================================
``person``            the question as the script put it; version 1
``question-again``    it is asked again, as the next version: what was shown has changed meanwhile
``question-answer``   an answer that came, accepted or refused, and why
``question-…``        notified, reminded, no-answer (its deadline passed), escalated, withdrawn
``standing-rule``     an answer that was made a rule, or the withdrawal of one (:mod:`dissensus.run.inbox_rules`)
``outcome``           the accepted answer as the script got it
====================  ==========================================================================================

The state follows: a question is *answered* once an answer was accepted, *withdrawn* if it was taken back or came to an
end without one, and *open* otherwise. A deadline that has passed leaves it open, with the reason ``no-answer``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from dissensus.errors import RunError
from dissensus.record.canonical import decode
from dissensus.record.event import QUESTION_KINDS, Event
from dissensus.record.store import Store, Texts
from dissensus.script.effects import AskPerson
from dissensus.script.outcomes import PersonAnswer
from dissensus.script.persons import Exhibit, Option, fingerprint, shown_digest

ANSWER: Final = "question-answer"
AGAIN: Final = "question-again"
NOTIFIED: Final = "question-notified"
REMINDED: Final = "question-reminded"
NO_ANSWER: Final = "question-no-answer"
ESCALATED: Final = "question-escalated"
WITHDRAWN: Final = "question-withdrawn"
RULE: Final = "standing-rule"

_MARKS: Final = (
    *(f'"kind":"{kind}"'.encode() for kind in ("run", "ended", AskPerson.kind, *sorted(QUESTION_KINDS))),
    f'"actor":"{AskPerson.kind}"'.encode(),
)
"""What stands in the bytes of every event that tells of a question: its outcome is one of the actor ``person``."""


class State(StrEnum):
    """Where a question stands."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it stands on the record.

    Args:
        seq, id: of the event.
        version: the version of the question that it answers.
        principal, authenticated_by: who answered, and how that is known.
        choice, reason, scopes: what they said.
        shown: ``{"sha256": …, "items": […], "how": …}``: what they were shown.
        answered_at: seconds since 1970-01-01 UTC.
        idempotency_key: names the attempt; the same one again gets the same result.
        accepted, refused, says: whether it was taken; if not, a stable word for why, and a sentence.
        copied_from: id of the question whose answer this is, where one answer serves several.
        copied_to: ids of the open questions that this answer serves too.
        rule: ``ID v2``, if it was made a standing rule.
    """

    seq: int
    id: str
    version: int
    principal: str
    authenticated_by: str
    choice: str
    reason: str
    scopes: Mapping[str, str]
    shown: Mapping[str, Any]
    answered_at: float
    idempotency_key: str
    accepted: bool
    refused: str
    says: str
    copied_from: str = ""
    copied_to: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as its record tells it.

    Args:
        id: ``RUN:SEQ``, unique among all records.
        key: of the effect.
        record: the path of the record.
        procedure: what put it.
        version: grows when it is asked again; an answer is to one version.
        state: see :class:`State`.
        text, options, exhibits, topic, dedupe_key, asked_to, deadline_s, remind_s, escalate_to, sources, base: as in
            :class:`~dissensus.script.effects.AskPerson`; ``exhibits`` are those of the latest version.
        asked_at: seconds since 1970-01-01 UTC.
        answers: all that came, refused ones too.
        taken_up: the run has gone on with the answer.
        ended: the run has ended.
        events: what else was done about it, in order.
    """

    id: str
    key: str
    record: str
    procedure: str
    version: int
    state: State
    text: str
    options: tuple[Option, ...]
    exhibits: tuple[Exhibit, ...]
    asked_at: float
    topic: str = ""
    dedupe_key: str = ""
    asked_to: tuple[str, ...] = ()
    deadline_s: float | None = None
    remind_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    base: str = ""
    answers: tuple[Answer, ...] = ()
    taken_up: bool = False
    ended: bool = False
    events: tuple[Event, ...] = field(default=(), repr=False)

    @property
    def accepted(self) -> Answer | None:
        """The one answer that was taken, if one was."""
        return next((answer for answer in self.answers if answer.accepted), None)

    @property
    def deadline_at(self) -> float | None:
        """By when an answer is wanted, in seconds since 1970-01-01 UTC."""
        return None if self.deadline_s is None else self.asked_at + self.deadline_s

    @property
    def withdrawn_why(self) -> str:
        """Why it was taken back; "" if it was not."""
        return next((str(event.body.get("why", "")) for event in self.events if event.kind == WITHDRAWN), "")

    def overdue(self, now: float) -> bool:
        """Whether it is open and its deadline has passed."""
        return self.state is State.OPEN and self.deadline_at is not None and now >= self.deadline_at

    def may_answer(self) -> tuple[str, ...]:
        """Who may answer now; empty means anybody."""
        if not self.asked_to:
            return ()
        escalated = any(event.kind == ESCALATED for event in self.events)
        return tuple(dict.fromkeys((*self.asked_to, *(self.escalate_to if escalated else ()))))

    @property
    def shown(self) -> str:
        """SHA-256 of what this version shows; "" if some item was not reopened when it was asked."""
        if any(not cited.result for side in self.exhibits for cited in side.cited):
            return ""
        return shown_digest(self.text, self.options, self.exhibits)

    def same_as(self, other: Question) -> bool:
        """Whether one answer serves both: the key for that, the choices and what stands in the evidence are the same.

        Titles, names of reports and of who made them are other words for the same thing.
        """
        return bool(self.dedupe_key) and self.dedupe_key == other.dedupe_key and _shows(self) == _shows(other)


def _shows(question: Question) -> list[Any]:
    choices = [(one.id, one.scopes) for one in question.options]
    return [choices, [(side.id, sorted(map(fingerprint, side.cited))) for side in question.exhibits]]


class _Asked(msgspec.Struct, frozen=True):
    """The body of a question's event. What an older record does not hold has its default."""

    question: str
    options: tuple[Option | str, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    topic: str = ""
    dedupe_key: str = ""
    asked_to: tuple[str, ...] = ()
    deadline_s: float | None = None
    remind_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    base: str = ""


def questions_in(events: Iterable[Event], record: str = "") -> tuple[Question, ...]:
    """The questions of a record, in the order in which they were put.

    Args:
        events: its events; those of other kinds are passed over.
        record: its path, for people.

    Raises:
        RunError: an event about a question cannot be read by this version.
    """
    asked: dict[str, Event] = {}
    about: dict[str, list[Event]] = {}
    outcomes: dict[str, Event] = {}
    procedure, ended = "", False
    for event in events:
        if event.kind == "run":
            procedure = str(event.body.get("procedure", ""))
        elif event.kind == "ended":
            ended = True
        elif event.kind == AskPerson.kind:
            asked[event.key] = event
            about[event.key] = []
        elif event.kind == "outcome" and event.key in asked:
            outcomes[event.key] = event
        elif event.kind in QUESTION_KINDS and event.key in about:
            about[event.key].append(event)
    found = []
    for key, event in asked.items():
        outcome = outcomes[key].body["outcome"]["kind"] if key in outcomes else ""
        gone = ended if key not in outcomes else outcome != PersonAnswer.kind
        try:
            question = _question(event, about[key], record, gone=gone, taken_up=outcome == PersonAnswer.kind)
        except (msgspec.ValidationError, KeyError, TypeError, ValueError) as problem:
            raise RunError(
                f"A question in {record or 'the record'} (event {event.seq}) cannot be read here: {problem}.",
                next_step="Take the version that wrote the record.",
            ) from None
        found.append(replace(question, procedure=procedure, ended=ended))
    return tuple(found)


def _question(event: Event, about: list[Event], record: str, *, gone: bool, taken_up: bool) -> Question:
    asked = msgspec.convert(dict(event.body), _Asked)
    answers = tuple(_answer(one) for one in about if one.kind == ANSWER)
    again = [one for one in about if one.kind == AGAIN]
    state = State.WITHDRAWN if gone or any(one.kind == WITHDRAWN for one in about) else State.OPEN
    if taken_up or any(one.accepted for one in answers):
        state = State.ANSWERED
    exhibits = asked.exhibits
    if again:
        exhibits = msgspec.convert(again[-1].body["exhibits"], tuple[Exhibit, ...])
    options = tuple(one if isinstance(one, Option) else Option(one) for one in asked.options)
    fields = {name: getattr(asked, name) for name in _Asked.__struct_fields__ if name not in _MADE}
    return Question(
        id=event.id,
        key=event.key,
        record=record,
        procedure="",
        version=1 + len(again),
        state=state,
        text=asked.question,
        options=options,
        exhibits=exhibits,
        asked_at=event.time,
        answers=answers,
        taken_up=taken_up,
        events=tuple(one for one in about if one.kind != ANSWER),
        **fields,
    )


_MADE: Final = ("question", "options", "exhibits")


def _answer(event: Event) -> Answer:
    return msgspec.convert({**event.body, "seq": event.seq, "id": event.id}, Answer)


def questions_of(store: Store) -> tuple[Question, ...]:
    """The questions in an open record. Only events that tell of questions are decoded; hashes are not looked at."""
    texts = Texts(store)  # type: ignore[arg-type] # a store reads
    rows = (row for row in store.rows() if any(mark in row[1] for mark in _MARKS))
    return questions_in((decode(row, texts, store.path) for row in rows), store.path)
