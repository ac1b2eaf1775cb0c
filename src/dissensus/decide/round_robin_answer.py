"""The answer of a text that several wrote. From the text alone, never from a prompt; nobody in it is trusted."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.answers import read_answer
from dissensus.answers.extraction import extract
from dissensus.answers.marks import prose_marks, strong_marks
from dissensus.answers.normal import is_abstention, without_thinking
from dissensus.decide.round_robin_result import End
from dissensus.decide.round_robin_writers import Table
from dissensus.decide.tally import ABSTAINED, REPLY
from dissensus.script.outcomes import Invalid

LIMITS: tuple[End, ...] = ("length", "turns", "bytes")
"""Ends that cut a text: an answer that touches such an end may be unfinished, and is not taken."""
CUT = "the text was cut off inside its last answer, or right behind it: it may be unfinished"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a text answers.

    Args:
        answer: in the form in which it is compared; None if there is none.
        rule: by which rule it was found (:mod:`dissensus.answers.extraction`); "" if there is none.
        outcome: ``reply``, ``abstained`` or ``invalid``, as in a ballot.
        problem: why there is none.
    """

    answer: str | None
    rule: str = ""
    outcome: str = REPLY
    problem: str = ""


def answer_of(text: str, end: End, table: Table) -> Answer:
    """The answer of a text that ended in this way."""
    settings, question = table.settings, table.question
    body = text if settings.thinking == "text" else without_thinking(text)[0]
    mark = settings.end_mark if settings.answer == "last-before-end" else ""
    found = extract(
        body,
        table.kind,
        options=question.options,
        which="first" if settings.answer == "first" else "last",
        end_mark=mark,
        cut=end in LIMITS,
        cut_answer=settings.cut_answer,
    )
    if found.cut:
        return Answer(None, outcome=Invalid.kind, problem=CUT)
    if found.answer is None or found.rule == "fallback":
        if _abstains(body.partition(mark)[0] if mark else body):
            return Answer(None, outcome=ABSTAINED)
        if found.answer is not None and settings.extraction == "strict":
            return Answer(None, outcome=Invalid.kind, problem="no mark announces an answer")
    if found.answer is None:
        return Answer(None, outcome=Invalid.kind, problem="no answer was found")
    answer = found.answer
    if table.kind == "number" and question.unit.strip():
        answer = read_answer("number", found.written, unit=question.unit).canonical or answer
    return Answer(answer, rule=found.rule)


def _abstains(body: str) -> bool:
    marks = strong_marks(body) or prose_marks(body)
    return bool(marks) and is_abstention(marks[-1].content)
