"""Questions and answers as JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dissensus.script.persons import shown_digest

if TYPE_CHECKING:
    from dissensus.run.inbox import Question
    from dissensus.script.persons import Exhibit


def question_data(
    question: Question, exhibits: Sequence[Exhibit], *, now: float, like: Sequence[Question] = ()
) -> dict[str, Any]:
    """A question with its exhibits as they are now; ``like``: those that are answered with it."""
    return {
        "id": question.id,
        "record": question.record,
        "procedure": question.procedure,
        "key": question.key,
        "version": question.version,
        "state": question.state.value,
        "taken_up": question.taken_up,
        "run_ended": question.ended,
        "reason": "no-answer" if question.overdue(now) else None,
        "topic": question.topic or None,
        "question": question.text,
        "options": [msgspec.to_builtins(one) for one in question.options],
        "asked_at": question.asked_at,
        "age_s": max(now - question.asked_at, 0.0),
        "deadline_at": question.deadline_at,
        "overdue": question.overdue(now),
        "may_answer": list(question.may_answer()) or None,
        "dedupe_key": question.dedupe_key or None,
        "like": [one.id for one in like],
        "shown_sha256": shown_digest(question.text, question.options, exhibits),
        "exhibits": [msgspec.to_builtins(side) for side in exhibits],
        "answers": [msgspec.to_builtins(one) for one in question.answers],
        "history": [{"event": one.kind, "at": one.time, "seq": one.seq} for one in question.events],
    }
