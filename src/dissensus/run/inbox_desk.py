"""Handing an answer in: kept, then judged under the record's lock, then on the disk, and only then taken.

The steps, each of which may be the last thing that a process does::

    1  the answer is put beside the record           inbox_letters.drop
    2  whoever gets the lock judges all that wait    take_in: judge, append, commit (durable)
    3  what is on the record is taken away           inbox_letters.take_away
    4  the same answer goes to questions like it     hand_on: steps 1 to 3 in their records
    5  the runs are resumed                          dissensus.run.casting.resume_from

Between 2 and 5 the accepted answer is on the record and the script has not got it: whoever resumes finds it there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dissensus.errors import StorageError, UsageError
from dissensus.record.chain import Clock
from dissensus.record.event import Draft
from dissensus.record.opening import open_record
from dissensus.record.store import Store
from dissensus.record.verify import verify
from dissensus.run.inbox import Answer, Question, questions_of
from dissensus.run.inbox_answers import Given, again_draft, answer_draft, judge
from dissensus.run.inbox_folder import Inbox, pick, question_of, read_inbox
from dissensus.run.inbox_letters import drop, take_away, tidy, waiting
from dissensus.run.inbox_rules import Rules, rule_draft
from dissensus.script.persons import Exhibit

Look = Callable[[Question], tuple[Exhibit, ...]]
"""Reopens the exhibits of a question: gives them as they are now."""
_PAUSE_S = 0.05


def as_recorded(question: Question) -> tuple[Exhibit, ...]:
    """Looks at nothing: the exhibits as they stand on the record. For questions whose sources cannot be reached."""
    return question.exhibits


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of an answer.

    Args:
        question: as it is now.
        answer: the verdict as it stands on the record; None if it waits until the record can be written.
        kept: why it waits. What will become of it is known already if somebody else was first.
        copies: what became of it at the questions that it serves too.
    """

    question: Question
    answer: Answer | None
    kept: str = ""
    copies: tuple[Taken, ...] = ()


def hand_in(
    question: Question,
    given: Given,
    *,
    look: Look = as_recorded,
    inbox: Inbox | None = None,
    wait_s: float = 5.0,
    clock: Clock = time.time,
) -> Taken:
    """Hand in an answer, and say what became of it. Does not resume the run.

    Args:
        question: the question.
        given: the answer.
        look: reopens exhibits.
        inbox: where questions like it are looked for; None looks at its record's folder.
        wait_s: how long to wait for the record's lock.
        clock: for the time of events.

    Raises:
        UsageError: there is no such question.
        StorageError: the answer could not even be kept.
        RecordError: the record is damaged; the answer is kept.
    """
    record = Path(question.record)
    drop(record, given)
    until = time.monotonic() + wait_s
    while True:
        try:
            store = open_record(record, "a", clock=clock)
        except StorageError as busy:
            found = _verdict(question, given)  # whoever has the lock may have taken it in
            if found is None and time.monotonic() < until:
                time.sleep(_PAUSE_S)
                continue
            if found is None:
                return Taken(question=question_of(record, question.id), answer=None, kept=str(busy))
        else:
            with store:
                take_in(store, look=look, inbox=inbox)
            found = _verdict(question, given)
        if found is None:
            raise UsageError("The answer is not on the record.", next_step="Answer again.")
        now, answer = found
        copies = hand_on(now, look=look, inbox=inbox, wait_s=wait_s, clock=clock) if answer.accepted else ()
        return Taken(question=now, answer=answer, copies=copies)


def _verdict(question: Question, given: Given) -> tuple[Question, Answer] | None:
    now = question_of(question.record, question.id)
    for answer in now.answers:
        if answer.idempotency_key == given.idempotency_key:
            return now, answer
    return None


def take_in(store: Store, *, look: Look = as_recorded, inbox: Inbox | None = None) -> list[Answer]:
    """Judge all answers that wait beside the record of ``store``, which is open for writing, and record the verdicts.

    Each verdict is on the disk before the next is begun.
    """
    letters = waiting(store.path)
    if not letters:
        return []
    verify(store)
    verdicts: list[Answer] = []
    for path, given in letters:
        questions = questions_of(store)
        asked = next((one for one in questions if one.id == given.question), None)
        if asked is not None and all(one.idempotency_key != given.idempotency_key for one in asked.answers):
            events = store.append(_drafts(asked, given, look(asked), inbox, store))
            store.commit(durable=True)
            again = pick(questions_of(store), asked.id)
            verdicts += [one for one in again.answers if one.id == events[0].id]
        take_away(path)
    return verdicts


def _drafts(
    asked: Question,
    given: Given,
    now: tuple[Exhibit, ...],
    inbox: Inbox | None,
    store: Store,
) -> list[Draft]:
    verdict = judge(asked, given, now)
    if verdict.refused:
        drafts = [answer_draft(asked, given, verdict, now)]
        return [*drafts, again_draft(asked, now)] if verdict.again else drafts
    like: list[str] = []
    if not given.copied_from and asked.dedupe_key:
        around = read_inbox(Path(store.path).parent) if inbox is None else inbox
        like = [one.id for one in around.open() if one.id != asked.id and one.same_as(asked)]
    option = next((one for one in asked.options if one.id == given.choice), None)
    if not (given.rule and option is not None and option.rule is not None):
        return [answer_draft(asked, given, verdict, now, copied_to=like)]
    version = Rules.read(Path(store.path).parent).next_version(str(option.rule["id"]))
    rule = rule_draft(asked, option.rule, given, version)
    named = f"{rule.body['id']} v{rule.body['version']}"
    return [answer_draft(asked, given, verdict, now, copied_to=like, rule=named), rule]


def hand_on(
    question: Question,
    *,
    look: Look = as_recorded,
    inbox: Inbox | None = None,
    wait_s: float = 5.0,
    clock: Clock = time.time,
) -> tuple[Taken, ...]:
    """Give the accepted answer of ``question`` to the questions that it serves too and that have not got it yet."""
    answer = question.accepted
    if answer is None or not answer.copied_to:
        return ()
    around = read_inbox(Path(question.record).parent) if inbox is None else inbox
    places = {one.id: one.record for one in around.questions}
    found = []
    for name in answer.copied_to:
        if name not in places:
            continue
        like = question_of(places[name], name)
        copy = Given(
            question=name,
            principal=answer.principal,
            authenticated_by=answer.authenticated_by,
            choice=answer.choice,
            at=answer.answered_at,
            idempotency_key=f"{answer.idempotency_key}+{question.id.replace(':', '.')}",
            reason=answer.reason,
            scopes=answer.scopes,
            copied_from=question.id,
        )
        if any(one.idempotency_key == copy.idempotency_key for one in like.answers):
            continue
        found.append(hand_in(like, copy, look=look, inbox=around, wait_s=wait_s, clock=clock))
    return tuple(found)


def finish(inbox: Inbox, *, look: Look = as_recorded, wait_s: float = 0.0, clock: Clock = time.time) -> list[Taken]:
    """Do what others began and did not end: take in answers that wait, and hand on those that serve several."""
    for record in dict.fromkeys(one.record for one in inbox.questions):
        if waiting(record):
            try:
                with open_record(record, "a", clock=clock) as store:
                    take_in(store, look=look, inbox=inbox)
            except StorageError:  # somebody else writes it, and takes them in
                continue
        tidy(record)
    done: list[Taken] = []
    for question in refreshed(inbox.questions):
        done += hand_on(question, look=look, inbox=inbox, wait_s=wait_s, clock=clock)
    return done


def refreshed(questions: Iterable[Question]) -> list[Question]:
    """The same questions as their records tell them now."""
    records: dict[str, list[str]] = {}
    for one in questions:
        records.setdefault(one.record, []).append(one.id)
    found = []
    for record, names in records.items():
        with open_record(record) as store:
            found += [one for one in questions_of(store) if one.id in names]
    return found
