"""From a reply to a ballot: what was answered, that nothing was, or why it cannot be told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from dissensus.answers.amounts import answer_text, declared, quantity_in, quantity_of_reply, settled, whole_quantity
from dissensus.answers.choices import choice_in, choice_of_reply, opening, options_of, yes_no_of_reply, yes_or_no
from dissensus.answers.dates import Date, lone_month, scan_dates
from dissensus.answers.kinds import YES, resolved
from dissensus.answers.marks import (
    is_cut_json,
    json_answers,
    prose_marks,
    strong_marks,
    undecorated,
    without_run_on,
)
from dissensus.answers.normal import (
    MAX_ANSWER,
    is_abstention,
    mentions_abstention,
    normal,
    without_surrogates,
    without_thinking,
)
from dissensus.answers.quantity import Quantity

Value = Quantity | Date | bool | int | str
"""What was read: a quantity, a date, yes or no, the place of an option as displayed, or a text."""

_LONGEST_PHRASE = 60
# a sentence about the answer is not its text: it would split the vote
_SENTENCE = re.compile(r"\s(?:is|are|was|were|am|has|have|had|would|will|can|means|think|believe)\s", re.IGNORECASE)
_MOST_REASON = 4000
_ESCAPED_LINE_END = re.compile(r"\\n(?![a-z])")
"""Some small models write line ends as backslash and n; a LaTeX command goes on in small letters."""
_DATE_HEDGE = re.compile(
    r"\b(?:not|before|after|between|since|until|by|around|circa|ca\.?|from)\s(?:the\s)?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Read:
    """What a reply says.

    Args:
        canonical: the answer in its one form; None if there is none.
        status: ``answer``, ``abstained`` or ``unreadable``.
        problem: why it is unreadable: a word or two, a colon, and the reason; "" otherwise.
        reason: the agent's reasons: the JSON field, or what stands before the marked answer.
        value: the answer as a value of its kind.
        by: where it was found: ``json``, ``mark``, or ``reply`` where none was marked.
    """

    canonical: str | None
    status: Literal["answer", "abstained", "unreadable"]
    problem: str = ""
    reason: str = ""
    value: Value | None = None
    by: str = ""


_ABSTAINED = Read(None, "abstained")


def read(kind: str, text: str, *, options: Sequence[str] = (), unit: str = "") -> Read:
    """Read the answer out of an agent's reply.

    Args:
        kind: one of :data:`~dissensus.answers.kinds.KINDS`.
        text: the reply as it came; thinking blocks are left out.
        options: the options in the order in which this agent saw them.
        unit: the unit that a number is compared in; a bare number takes it.

    Raises :class:`~dissensus.errors.UsageError` for a kind that does not exist and for options that are no choice;
    nothing for any text. Time is linear in the text.
    """
    kind = resolved(kind, options, unit)
    asked = _Asked(kind, tuple(options), unit)
    reply, unfinished = without_thinking(without_surrogates(text))
    if not reply:
        return _unreadable("unfinished: the reply ended while thinking" if unfinished else "empty: nothing was said")
    if "\n" not in reply:
        reply = _ESCAPED_LINE_END.sub("\n", reply)
    if in_json := json_answers(reply):
        reads = [
            _unreadable(item.problem)
            if item.problem
            else _ABSTAINED
            if item.answer is None
            else asked.marked(item.answer)
            for item in in_json
        ]
        return replace(_agreed(reads), reason=in_json[-1].reason.strip()[:_MOST_REASON], by="json")
    reply = without_run_on(reply)
    strong = strong_marks(reply)
    marks = [mark for mark in strong if mark.content or mark.cut]
    if strong and not marks:
        return _unreadable("empty: nothing stands behind the mark of the answer")
    if marks := marks or prose_marks(reply):
        contents = {mark.content: asked.marked(mark.content) for mark in marks}
        reads = [
            _unreadable("unfinished: the reply ended inside the answer") if mark.cut else contents[mark.content]
            for mark in marks
        ]
        final = [place for place, mark in enumerate(marks) if mark.final]
        best = _agreed(reads)
        if best.status == "unreadable" and final and final[-1] == len(marks) - 1:
            best = _agreed([reads[place] for place in final])
        opened = opening(reply[: marks[0].start]) if isinstance(best.value, bool) else None
        if opened is not None and opened != best.value:
            best = _unreadable("contradictory: the reply opens with yes or no and ends with the other")
        return replace(best, reason=reply[: marks[-1].start].strip(" \n*#")[:_MOST_REASON], by="mark")
    if is_cut_json(reply):
        return _unreadable("unfinished: the JSON ended before the answer")
    return replace(asked.unmarked(reply), by="reply")


def canonical(kind: str, answer: str, *, options: Sequence[str] = (), unit: str = "") -> str | None:
    """The one form of ``answer``, a text that is an answer and nothing else; None if it is none of this kind.

    For the right answer of a question, and for options. Idempotent. Raises as :func:`read` does.
    """
    asked = _Asked(resolved(kind, options, unit), tuple(options), unit)
    return asked.marked(without_surrogates(answer)).canonical


def read_answer(kind: str, answer: str, *, options: Sequence[str] = (), unit: str = "") -> Read:
    """As :func:`canonical`, with the value and the reason why there is none."""
    return _Asked(resolved(kind, options, unit), tuple(options), unit).marked(without_surrogates(answer))


def _unreadable(problem: str) -> Read:
    return Read(None, "unreadable", problem)


def _agreed(reads: list[Read]) -> Read:
    """What several marks of one reply say together: the same, or nothing that can be read."""
    last = reads[-1]
    clear = [item for item in reads if item.status != "unreadable"]
    if not clear or last.status == "unreadable":
        return last
    with_unit = {item.value.number for item in clear if isinstance(item.value, Quantity) and not item.value.bare}
    kept = [
        item
        for item in clear
        if not (isinstance(item.value, Quantity) and item.value.bare and item.value.number in with_unit)
    ]
    if len({(item.status, item.canonical) for item in kept}) > 1:
        return _unreadable("ambiguous: several different answers are marked")
    return kept[-1]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an answer is read as: a kind, the options as displayed, a unit."""

    kind: str
    options: tuple[str, ...]
    unit: str

    def marked(self, answer: str) -> Read:
        """Read ``answer``, of which is known that it is the answer and nothing else."""
        answer = undecorated(answer)
        if not answer:
            return _unreadable("empty: no answer was given")
        if len(answer) > MAX_ANSWER:
            return _unreadable(f"too long: an answer has at most {MAX_ANSWER} characters")
        if self.kind == "choice":
            found = self._option(choice_in(answer, options_of(self.options)))
            return _ABSTAINED if found.status == "unreadable" and is_abstention(answer) else found
        declines = is_abstention(answer)
        if self.kind in {"text", "auto"}:
            return _ABSTAINED if declines else _text(answer) if self.kind == "text" else _auto(answer)
        if self.kind == "number":
            found = self._number(quantity_in(answer, declared(self.unit)))
        elif self.kind == "yes-no":
            found = self._polar(yes_or_no(answer), answer)
        else:
            found = _date(answer)
        return _declining(found) if declines else found

    def unmarked(self, reply: str) -> Read:
        """Read a whole reply that marks no answer."""
        if self.kind == "choice":
            found = self._option(choice_of_reply(reply, options_of(self.options)))
            if found.canonical is not None and is_abstention(found.canonical):
                return found
        elif self.kind == "number":
            found = self._number(quantity_of_reply(reply, declared(self.unit)))
        elif self.kind == "yes-no":
            found = self._polar(yes_no_of_reply(reply), reply)
        elif self.kind == "date":
            found = _date(reply)
        elif "\n" not in reply and len(reply) <= _LONGEST_PHRASE and not _SENTENCE.search(reply):
            return self.marked(reply)
        else:
            found = _unreadable("unmarked: the reply does not mark its answer")
        return _declining(found) if mentions_abstention(reply) or is_abstention(reply) else found

    def _number(self, found: Quantity | str) -> Read:
        if isinstance(found, str):
            return _unreadable(found)
        unit = declared(self.unit)
        quantity = settled(found, unit)
        return Read(answer_text(quantity, unit), "answer", value=quantity)

    def _option(self, found: int | str) -> Read:
        return _unreadable(found) if isinstance(found, str) else Read(self.options[found], "answer", value=found)

    def _polar(self, found: bool | str, answer: str) -> Read:
        if isinstance(found, str):
            if not self.options or len(answer) > MAX_ANSWER:
                return _unreadable(found)
            place = choice_in(answer, options_of(self.options))
            if isinstance(place, str):
                return _unreadable(found)
            return Read(self.options[place], "answer", value=normal(self.options[place]) in YES)
        named = [option for option in self.options if (normal(option) in YES) == found]
        return Read(named[0] if named else "yes" if found else "no", "answer", value=found)


def _declining(found: Read) -> Read:
    """``found`` in a text that also says that no answer can be given."""
    if found.status == "answer":
        return _unreadable("contradictory: the reply answers and says that it cannot")
    return found if found.problem.startswith("ambiguous") else _ABSTAINED


def _date(text: str) -> Read:
    found = list(islice(scan_dates(text), 50))
    if not found and (month := lone_month(text)):
        return Read(month.canonical(), "answer", value=month)
    for item in found:
        if item.date is None:
            return _unreadable(f"unclear date: {item.problem}")
        if _DATE_HEDGE.search(text[max(0, item.start - 20) : item.start]):
            return _unreadable("a bound: an exact date was asked for")
    dates = {item.date for item in found if item.date}
    if not dates:
        return _unreadable("no date: a date was asked for")
    if len(dates) > 1:
        return _unreadable("ambiguous: several dates, and none is marked as the answer")
    date = dates.pop()
    return Read(date.canonical(), "answer", value=date)


def _text(answer: str) -> Read:
    form = normal(answer)
    if not form:
        return _unreadable("empty: no answer was given")
    return Read(form, "answer", value=form)


def _auto(answer: str) -> Read:
    """A number, a date, yes or no where ``answer`` is exactly that, else a text."""
    for form in (answer, normal(answer)):
        if normal(form) in {"yes", "no", "true", "false"}:
            return Read("yes" if normal(form) in YES else "no", "answer", value=normal(form) in YES)
        bare = form.strip(" .!")
        dates = list(islice(scan_dates(bare), 2))
        date = dates[0].date if len(dates) == 1 and dates[0].end - dates[0].start == len(bare) else None
        if date and (date.month or date.before_christ or date.year < 1000):  # a year alone is also a number
            return Read(date.canonical(), "answer", value=date)
        if quantity := whole_quantity(form):
            return Read(quantity.canonical(), "answer", value=quantity)
    return _text(answer)
