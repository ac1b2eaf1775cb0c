"""One call of ``decide``: what is done so far, what earlier calls have left, and how to go on after an interruption."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from dissensus.cli.readout import clean, gold_line, say, show, summary
from dissensus.script.decisions import Decision
from dissensus.script.questions import Question
from dissensus.study.records import Earlier


@dataclass(frozen=True, slots=True)
class Done:
    """A question with its decision. ``equal`` says whether the answer is the file's own; None where it has none."""

    question: Question
    decision: Decision
    equal: bool | None = None

    def document(self) -> dict[str, Any]:
        """The decision as JSON-ready data, with what the file says of its question."""
        data = self.decision.to_data()
        if self.question.id:
            data["id"] = self.question.id
        if self.question.gold is not None:
            data["gold"] = {"answer": self.question.gold, "equal": self.equal}
        return data


@dataclass(slots=True)
class Session:
    """What was done so far, and the record that is being written.

    Args:
        questions: all that is to be asked.
        record: where records lie.
        as_json: print nothing but one document at the end.
        several: whether the questions are those of a file.
        again: the command that goes on from here.
        done: the questions with their decisions, in order.
        current: the record that is being written; "" if none is.
        earlier: what is taken from records.
    """

    questions: Sequence[Question]
    record: Path
    as_json: bool
    several: bool
    again: str
    done: list[Done] = field(default_factory=list)
    current: str = ""
    earlier: Earlier = field(default_factory=Earlier)

    def look_back(self, earlier: Earlier) -> None:
        """Take over what earlier calls have left, and say what that is."""
        self.earlier = earlier
        for path, problem in earlier.unreadable:
            where = "" if str(path) in problem else f"{path}: "
            say(f"note: a record is not used. {where}{problem}", err=True)
        count, begun, total = len(earlier.decided), len(earlier.begun), len(self.questions)
        what = f"{count:,} of {total:,} questions are" if total > 1 else f"{count} of 1 question is"
        more = f"; {begun:,} begun and not finished, to go on with" if begun else ""
        say(f"{what} decided in {self.record}{'/' if self.record.is_dir() else ''}{more}.", err=True)

    def where(self, place: int) -> str:
        """What stands before the question at ``place``, from 0 on, while it is asked."""
        return f"{place + 1} of {len(self.questions)}: " if self.several else ""

    def add(self, question: Question, decision: Decision) -> None:
        """Take in a decision, and show it at once where there are several."""
        one = Done(question, decision, _equal(question, decision))
        self.done.append(one)
        self.current = ""
        if self.several and not self.as_json:
            show(decision)
            if question.gold is not None:
                say(gold_line(question.gold, equal=bool(one.equal)))
            say("")

    def tell_rest(self) -> int:
        """Say which questions were not asked and how to go on; return how many there are."""
        if not self.several:
            if self.current:
                say(f"The run can be finished with: dissensus resume {shlex.quote(self.current)}", err=True)
            return 0
        first = len(self.done) + bool(self.current)
        rest = [one for place, one in enumerate(self.questions) if place >= first and place not in self.earlier.decided]
        if rest:
            text = clean(rest[0].text)[:80]
            say(f"Not asked: {len(rest):,} of {len(self.questions):,} questions, from “{text}” on.", err=True)
        if rest or self.current:
            say(f"Go on with: {self.again}", err=True)
        return len(rest)

    def summarize(self) -> None:
        """Say what all questions came to."""
        for line in summary([one.decision for one in self.done], [one.equal for one in self.done]):
            say(line)


def command_again(context: click.Context, flag: str) -> str:
    """The command line that is being carried out, with ``flag``, as a shell takes it: what stood on it and no more."""
    from click.core import ParameterSource

    words = ["dissensus", context.info_name or ""]
    for option in context.command.params:
        name = option.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or flag in option.opts:
            continue
        value = context.params[name]
        for one in value if isinstance(value, tuple) else (value,):
            words += [option.opts[0]] if isinstance(one, bool) else [option.opts[0], str(one)]
    return shlex.join([*words, flag])


def _equal(question: Question, decision: Decision) -> bool | None:
    from dissensus.answers import matches_gold
    from dissensus.decide.wording import kind_of

    if question.gold is None:
        return None
    if decision.answer is None:
        return False
    kind = kind_of(question)
    return matches_gold(kind, decision.answer, question.gold, options=question.options, unit=question.unit)
