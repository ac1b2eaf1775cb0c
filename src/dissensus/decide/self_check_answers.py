"""The answers of a self-check: how the question is put, what a reply says, and when two answers differ.

The question stands in every wording word for word; only the words around it change, and the order of the documents.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from dissensus.answers import (
    Read,
    displayed,
    group,
    instruction_for,
    read,
    read_answer,
    repair_prompt,
    schema_for,
)
from dissensus.answers.dates import Date
from dissensus.answers.normal import words_of
from dissensus.answers.quantity import Quantity, scan
from dissensus.decide.ballots import REPAIR_TOKENS, read_reply
from dissensus.decide.cost import Bill, metered
from dissensus.decide.dispute.normalise import normal, normalised
from dissensus.decide.dispute.searching import normal_occurrences
from dissensus.decide.dispute.words import NEGATIONS
from dissensus.decide.self_check_documents import in_order, laid_out, telling
from dissensus.decide.self_check_settings import SelfCheckSettings
from dissensus.decide.wording import kind_of, wanted
from dissensus.script.calls import Capability
from dissensus.script.consult import consult
from dissensus.script.effects import Note
from dissensus.script.outcomes import Invalid, Outcome, Reply
from dissensus.script.questions import Question
from dissensus.script.seats import Seat
from dissensus.script.styles import REPHRASINGS, rephrase

ABSTAINED: Final = "abstained"
_MOST_SCANNED: Final = 4000
TASK: Final = "Answer the question from the documents below, and from nothing else."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What does not change from one request to the next.

    Args:
        question: what is asked.
        kind: the kind of its answer.
        seat: who is asked.
        settings: how.
        seed: all randomness derives from it.
    """

    question: Question
    kind: str
    seat: Seat
    settings: SelfCheckSettings
    seed: int

    def read(self, text: str) -> Read:
        """What a text says that is an answer and nothing else, or a reply in which one stands."""
        options, unit = self.question.options, self.question.unit
        bare = read_answer(self.kind, text, options=options, unit=unit)
        found = read(self.kind, text, options=options, unit=unit)
        return bare if found.status == "unreadable" else found

    @property
    def by_schema(self) -> bool:
        """Whether the agent can be held to a schema."""
        return Capability.SCHEMA in self.seat.capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer to the question, or why there is none.

    Args:
        step: ``1a`` and ``1b`` in the first round, ``2a`` …; ``first`` and ``second`` of replies that were given.
        outcome: ``reply``, ``abstained``, or the kind of failure.
        answer: in its one form; None if there is none.
        written: as it is written in the reply, if it stands there; else as ``answer``.
        reply: the reply it was read from, verbatim; None if there was none.
        problem: why there is no answer.
        wording: number of the wording that the question was put in.
        documents: names of the documents in the order in which they were shown.
        key: key of the effect whose outcome it was read from; "" if there is none.
        model: what answered.
    """

    step: str
    outcome: str
    answer: str | None = None
    written: str = ""
    reply: str | None = None
    problem: str = ""
    wording: int = 0
    documents: tuple[str, ...] = ()
    key: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """An answer with what was read of it, for programs.

    Args:
        answered: as it stands on the record.
        read: what its reply says; None if there is no answer.
        bill: what its calls took.
    """

    answered: Answered
    read: Read | None
    bill: Bill = field(default_factory=Bill, compare=False)


def asking_for(question: Question, seat: Seat, settings: SelfCheckSettings, seed: int) -> Asking:
    """What a self-check asks, and of whom."""
    return Asking(question=question, kind=kind_of(question), seat=seat, settings=settings, seed=seed)


def prompt_of(asking: Asking, number: int) -> tuple[str, int, tuple[str, ...]]:
    """Request ``number``, from 0 on: its text, the number of its wording, the names of the documents in order."""
    question = asking.question
    documents = in_order(asking.settings.documents, number, asking.seed)
    shown = laid_out(documents, f"ask/{number}", asking.seed)
    wording = (asking.seed + number) % len(REPHRASINGS)
    text = f"{question.text}\n\n{displayed(question.options)}" if question.options else question.text
    form = instruction_for(asking.kind, question.options, question.unit)
    if asking.by_schema:
        answer = wanted(question, asking.kind)
        form = f'Reply with JSON: {{"reason": "one or two short sentences", "answer": "{answer}"}}'
        form += "\nIf you cannot tell, the answer is: unsure"
    return (
        "\n\n".join([TASK, shown.text, rephrase(text, wording), form]),
        wording,
        tuple(document.name for document in documents),
    )


def ask(asking: Asking, number: int, step: str, scope: str) -> Generator[Any, Any, Held]:
    """Ask once, in a context of its own, with one repair turn if the reply cannot be read.

    ``scope`` is that in which the script runs, so that the answer can name the key of its outcome in full.
    """
    bill = Bill()
    held: Held = yield from metered(_ask(asking, number, step, scope), bill)
    return replace(held, bill=bill)


def _ask(asking: Asking, number: int, step: str, scope: str) -> Generator[Any, Any, Held]:
    prompt, wording, names = prompt_of(asking, number)
    seat, question = asking.seat, asking.question
    thread, schema = f"ask/{step}", None
    if asking.by_schema:
        schema = schema_for(asking.kind, question.options, question.unit)
    outcome: Outcome = yield from consult(seat, prompt, thread=thread, schema=schema, key="ask")
    held = answered(asking, outcome, step, f"{scope}/ask")
    if isinstance(outcome, Reply) and held.answered.outcome == Invalid.kind:
        again = repair_prompt(asking.kind, held.answered.problem, question.options, question.unit)
        limit = None if seat.tools else min(REPAIR_TOKENS, seat.max_tokens)
        outcome = yield from consult(seat, again, thread=thread, max_tokens=limit, key="repair")
        held = answered(asking, outcome, step, f"{scope}/repair")
    one = replace(held.answered, wording=wording, documents=names)
    yield from told(one)
    return Held(one, held.read)


def told(one: Answered) -> Generator[Any, Any, None]:
    """Put an answer on the record."""
    says = one.written if one.answer is not None else one.outcome
    yield Note("self-answer", {**msgspec.to_builtins(one), "says": says}, durable=True, key=f"answer/{one.step}")


def answered(asking: Asking, outcome: Outcome, step: str, key: str) -> Held:
    """What came of a request."""
    if not isinstance(outcome, Reply):
        problem = getattr(outcome, "problem", "") or getattr(outcome, "what", "") or getattr(outcome, "text", "")
        return Held(Answered(step=step, outcome=outcome.kind, problem=problem, key=key), None)
    found = read_reply(outcome, asking.kind, asking.question.options, asking.question.unit)
    return _held(found, outcome.text, step, key, outcome.model)


def given(asking: Asking, text: str, step: str) -> Held:
    """What a reply that was got elsewhere says."""
    return _held(asking.read(text), text, step, "", "")


def _held(found: Read, reply: str, step: str, key: str, model: str) -> Held:
    one = Answered(step=step, outcome="reply", reply=reply, key=key, model=model)
    if found.canonical is None:
        outcome = ABSTAINED if found.status == "abstained" else Invalid.kind
        return Held(replace(one, outcome=outcome, problem=found.problem), None)
    return Held(replace(one, answer=found.canonical, written=_written(found, reply)), found)


def _written(found: Read, reply: str) -> str:
    """An answer as its reply writes it: the last place of it, since replies end with their answer."""
    answer = found.canonical or ""
    if isinstance(found.value, Quantity):
        for one in reversed(list(scan(reply[-_MOST_SCANNED:]))):
            if one.quantity == found.value:
                text = reply[-_MOST_SCANNED:]
                noun = re.match(rf"\s*{re.escape(found.value.noun)}", text[one.end :], re.IGNORECASE)
                return text[one.start : one.end + (noun.end() if noun is not None else 0)].strip()
    hits = normal_occurrences(normalised(reply), normal(answer))
    return reply[hits[-1].start : hits[-1].end] if hits else answer


def two_that_differ(asking: Asking, held: Sequence[Held]) -> tuple[Held, Held] | None:
    """The first two answers, in order, that differ; None if none do."""
    there = [one for one in held if one.read is not None]
    for place, one in enumerate(there):
        for other in there[:place]:
            if differ(asking, other, one):
                return other, one
    return None


def differ(asking: Asking, one: Held, other: Held) -> bool:
    """Whether two answers are different ones for certain.

    They are not if they are the same answer by :mod:`dissensus.answers`; if one is a text that holds all words of the
    other, or all those that are neither common nor the question's ("Paris" and "It is Paris, France"), unless one of
    them denies something; or if one is a date of which the other is a part.
    """
    if one.read is None or other.read is None:
        return False
    left, right = group(asking.kind, [one.read, other.read], asking.question.unit).answers
    if left is None or right is None or left == right:
        return False
    values = (one.read.value, other.read.value)
    if any(isinstance(value, str) for value in values):
        return _texts_differ(left, right, asking.question.text)
    if all(isinstance(value, Date) for value in values):
        return not (left.startswith(f"{right}-") or right.startswith(f"{left}-"))
    return True


def _texts_differ(left: str, right: str, question: str) -> bool:
    all_words = [frozenset(words_of(text).split()) for text in (left, right)]
    if all_words[0] & NEGATIONS != all_words[1] & NEGATIONS:
        return True
    own = [telling(text, question) for text in (left, right)]
    pairs = [all_words, own] if all(own) else [all_words]
    return not any(one <= other or other <= one for one, other in pairs)
