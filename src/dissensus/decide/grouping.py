"""Which ballots are the same answer: by normal form and, where the settings say so, by a model's judgement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dissensus.answers import group
from dissensus.decide.ballots import Cast
from dissensus.script.consult import consult
from dissensus.script.effects import Note
from dissensus.script.outcomes import Outcome, Reply
from dissensus.script.seats import Seat

FREE = ("text", "auto")
"""Kinds of answers that a model may group."""

_NUMBERS = re.compile(r"[0-9]{1,9}")


def by_form(kind: str, casts: Sequence[Cast], unit: str) -> tuple[tuple[Cast, ...], str]:
    """The casts with comparable answers (a bare number joins the unit that others state), and a sentence about it."""
    grouped = group(kind, [one.read for one in casts if one.read is not None], unit)
    answers = iter(grouped.answers)
    comparable = [
        one if one.read is None else replace(one, ballot=replace(one.ballot, answer=next(answers))) for one in casts
    ]
    return tuple(comparable), grouped.note


@dataclass(frozen=True, slots=True)
class Judged:
    """What a model made of the answers: each to the one that stands for its group, or the ``problem`` it had."""

    stands_for: Mapping[str, str]
    problem: str = ""


def by_model(question: str, answers: Sequence[str | None], grouper: Seat) -> Generator[Any, Any, Judged]:
    """Ask ``grouper`` which of ``answers`` mean the same. It reads the answers, not who gave them, nor how often.

    The most frequent answer stands for its group, among equals the shortest, then the first by text. If the judgement
    cannot be read, no answers are joined and ``problem`` says why.
    """
    times = Counter(answer for answer in answers if answer is not None)
    forms = sorted(times)
    if len(forms) < 2:
        return Judged({})
    listed = "\n".join(f"{place}. {form}" for place, form in enumerate(forms, 1))
    prompt = (
        f"This question was asked:\n{question}\n\nThese answers were given:\n{listed}\n\n"
        "Which of them say the same? Write each group of numbers on a line of its own, such as: 1, 3\n"
        "Every number stands in one line; an answer that says something of its own has a line of its own."
    )
    outcome: Outcome = yield from consult(
        grouper, prompt, thread=f"group/{grouper.agent}", temperature=0.0, key=f"group/{grouper.agent}"
    )
    groups = _lines(outcome.text, len(forms)) if isinstance(outcome, Reply) else outcome.kind
    stands_for: dict[str, str] = {}
    if not isinstance(groups, str):
        for places in groups:
            members = [forms[place - 1] for place in places]
            best = min(members, key=lambda form: (-times[form], len(form), form))
            stands_for |= dict.fromkeys(members, best)
    problem = groups if isinstance(groups, str) else ""
    data = {"agent": grouper.agent, "answers": forms, "stands_for": stands_for, "problem": problem}
    yield Note("grouped", data, key="grouped")
    return Judged(stands_for, problem)


def _lines(text: str, size: int) -> list[list[int]] | str:
    """The groups, or why they cannot be read: each number from 1 to ``size`` has to stand in exactly one line."""
    groups = [[int(number) for number in _NUMBERS.findall(line)] for line in text.splitlines()]
    groups = [places for places in groups if places]
    if sorted(place for places in groups for place in places) != list(range(1, size + 1)):
        return "its reply does not put each answer into one group"
    return groups


def joined(casts: Sequence[Cast], judged: Judged) -> tuple[Cast, ...]:
    """The casts with each answer replaced by the one that stands for its group; those changed are read by ``model``."""
    changed = []
    for one in casts:
        answer = one.ballot.answer
        stands_for = judged.stands_for.get(answer, answer) if answer is not None else None
        differs = stands_for != answer
        changed.append(replace(one, ballot=replace(one.ballot, answer=stands_for, read_by="model")) if differs else one)
    return tuple(changed)
