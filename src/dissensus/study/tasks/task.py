"""One question with its right answer, and what an answer to it is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dissensus.answers.extraction import canonical_answer, extract, same_answer
from dissensus.answers.normal import normal
from dissensus.script.questions import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question of a set. Its right answer is in ``question.gold`` and is never shown to an agent.

    Args:
        id: the set's name, a slash and a name in it, unique: ``gsm8k/0``.
        question: text without its options, kind, options without their letters, gold. The gold of a choice is the text
            of the option, so that a second option with that text is right too.
        story: tasks with one story differ only in what is asked at its end: resample stories, not tasks.
        verifiers: names of mechanical verifiers that can judge the steps of an answer
            (:data:`dissensus.decide.verifiers.verify.VERIFIERS`).
        written: the right answer as the set writes it, with commas or as a formula; ``gold`` if it writes nothing else.
        solution: a worked solution where the set has one; never shown to an agent.
        lettered: whether the options carry letters.
        data: what else the set says of it: subject, level, facts.
    """

    id: str
    question: Question
    story: str
    verifiers: tuple[str, ...] = ()
    written: str = ""
    solution: str = ""
    lettered: bool = True
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gold(self) -> str:
        """The right answer, in the form in which answers are compared."""
        return self.question.gold or ""

    @property
    def gold_written(self) -> str:
        """The right answer as the set writes it."""
        return self.written or self.gold

    @property
    def text(self) -> str:
        """The question with its options as agents read it: lines ``(A) …``, or ``- …`` where there are no letters."""
        options = self.question.options
        if not options:
            return self.question.text
        marks = [f"({chr(65 + place)})" if self.lettered else "-" for place in range(len(options))]
        listed = "\n".join(f"{mark} {option}" for mark, option in zip(marks, options, strict=True))
        return f"{self.question.text}\nOptions:\n{listed}"

    @property
    def asked(self) -> Question:
        """The question as procedures can put it: of options with equal texts only the first is left."""
        if self.distinct:
            return self.question
        kept: dict[str, str] = {}
        for option in self.question.options:
            kept.setdefault(normal(option), option)
        return replace(self.question, options=tuple(kept.values()))

    @property
    def distinct(self) -> bool:
        """Whether no two options have the same text."""
        return len({normal(option) for option in self.question.options}) == len(self.question.options)

    def canonical(self, answer: str) -> str | None:
        """``answer``, an answer and nothing else, in the form in which answers are compared; None if it is none."""
        return canonical_answer(answer, self.question.kind, options=self.question.options)

    def right(self, answer: str | None) -> bool:
        """Whether ``answer`` is the right one. No answer is never right."""
        options = self.question.options
        return answer is not None and same_answer(answer, self.gold, self.question.kind, options=options)

    def score(self, text: str, *, strict: bool = False) -> bool:
        """Whether a finished text gives the right answer; ``strict`` wants it marked."""
        found = extract(text, self.question.kind, options=self.question.options)
        return self.right(found.strict if strict else found.answer)


def by_story(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    """The tasks of each story, stories in order of their first task."""
    stories: dict[str, list[Task]] = {}
    for task in tasks:
        stories.setdefault(task.story, []).append(task)
    return stories


def gold_counts(tasks: Sequence[Task]) -> dict[str, int]:
    """How often each place in the options (``A``, ``B`` …), or each yes and no, is the right answer."""
    counts: dict[str, int] = {}
    for task in tasks:
        label = _label(task)
        counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items()))


def _label(task: Task) -> str:
    if not task.lettered or not task.question.options:
        return task.gold
    written = str(task.data.get("letter", ""))
    if written:
        return written
    place = next(at for at, option in enumerate(task.question.options) if normal(option) == normal(task.gold))
    return chr(65 + place)
