"""The questions in a folder of records: read from the records each time, so that there is nothing to keep in step."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dissensus.errors import DissensusError, RecordDamaged, RecordError, UsageError
from dissensus.record.opening import open_record
from dissensus.run.inbox import Question, State, questions_of

_NAME: Final = re.compile(r"([0-9a-f]{1,16})(?::([0-9]+))?")
_SEQ: Final = re.compile(r"(.+\.db)(?::([0-9]+))?")


@dataclass(slots=True)
class Inbox:
    """What was found.

    Args:
        questions: all of them, in order of the records' names.
        problems: records that could not be read, and why.
    """

    questions: list[Question] = field(default_factory=list)
    problems: list[tuple[Path, DissensusError]] = field(default_factory=list)

    def open(self) -> list[Question]:
        """The open ones, the oldest first."""
        return sorted(
            (one for one in self.questions if one.state is State.OPEN), key=lambda one: (one.asked_at, one.id)
        )

    def unfinished(self) -> list[Question]:
        """The last ones answered of runs that wait for nobody and have not ended: a process died before that."""
        last = {one.record: one for one in self.questions if not one.ended}
        waits = {one.record for one in self.open()}
        return [one for record, one in last.items() if record not in waits and one.state is State.ANSWERED]

    def groups(self) -> list[list[Question]]:
        """The open ones, those that one answer serves together."""
        found: list[list[Question]] = []
        for one in self.open():
            for group in found:
                if group[0].same_as(one):
                    group.append(one)
                    break
            else:
                found.append([one])
        return found


def records_in(place: str | Path) -> Iterator[Path]:
    """The records in a folder and those below it, hidden ones not; or the one record that is named."""
    place = Path(place)
    if not place.is_dir():
        yield place
        return
    for folder, names, files in os.walk(place):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".db") and not name.startswith("."):
                yield Path(folder) / name


def read_inbox(places: str | Path | Iterable[str | Path]) -> Inbox:
    """All questions in the records of one or more folders. A file that is no record is passed over.

    Raises :class:`~dissensus.errors.SpecError` for a place that does not exist.
    """
    found = Inbox()
    seen: set[str] = set()
    for place in [places] if isinstance(places, str | Path) else places:
        for path in records_in(place):
            try:
                with open_record(path) as store:
                    if store.run_id not in seen:
                        found.questions += questions_of(store)
                        seen.add(store.run_id)
            except RecordError as problem:
                if isinstance(problem, RecordDamaged) or type(problem) is not RecordError:
                    found.problems.append((path, problem))
            except DissensusError as problem:
                if not Path(place).is_dir():
                    raise
                found.problems.append((path, problem))
    return found


def question_of(record: str | Path, question: str) -> Question:
    """The question with this id in ``record``, as it is now. Raises UsageError if there is none."""
    with open_record(record) as store:
        return pick(questions_of(store), question)


def pick(questions: Sequence[Question], question: str) -> Question:
    """The question with this id among ``questions``."""
    for one in questions:
        if one.id == question:
            return one
    raise UsageError(f"There is no question {question!r} in this record.", next_step="`dissensus inbox` lists them.")


def find(name: str, places: str | Path | Iterable[str | Path]) -> tuple[Question, Inbox]:
    """The question that ``name`` means, with all that lie in the same places.

    ``name`` is ``RUN:SEQ``, or as much of its beginning as tells it from the others, or a record with one open
    question, or ``RECORD:SEQ``.

    Raises:
        UsageError: there is no such question, or several.
    """
    if (path := _SEQ.fullmatch(name)) is not None and (Path(path[1]).exists() or "/" in name):
        inbox = read_inbox(path[1])
        asked = [one for one in inbox.questions if path[2] in (None, one.id.rpartition(":")[2])]
        for _, problem in inbox.problems:
            raise problem
        return _only(name, asked), read_inbox(Path(path[1]).parent)
    inbox = read_inbox(places)
    if (parts := _NAME.fullmatch(name)) is None:
        raise UsageError(f"{name!r} names no question.", next_step="Take the name that `dissensus inbox` prints first.")
    asked = []
    for one in inbox.questions:
        run, _, seq = one.id.rpartition(":")
        if run.startswith(parts[1]) and parts[2] in (None, seq):
            asked.append(one)
    if not asked:
        raise UsageError(
            f"There is no question {name!r} here.",
            next_step="Name the folder of its record with --runs; `dissensus inbox DIR` lists what is open.",
        )
    return _only(name, asked), inbox


def _only(name: str, asked: Sequence[Question]) -> Question:
    """The one that is meant: the open one if there are several."""
    still_open = [one for one in asked if one.state is State.OPEN]
    chosen = asked if len(asked) == 1 else still_open
    if len(chosen) == 1:
        return chosen[0]
    if not asked:
        raise UsageError(f"{name} holds no such question.", next_step="`dissensus inbox` lists those that are open.")
    names = ", ".join(short(one, asked) for one in (still_open or asked)[:5])
    raise UsageError(f"{name!r} may be any of {len(still_open or asked)} questions.", next_step=f"Name one: {names} …")


def short(question: Question, among: Sequence[Question] = ()) -> str:
    """The shortest name, of at least four digits of the run, that tells ``question`` from all ``among``."""
    run, _, seq = question.id.rpartition(":")
    others = [one.id.rpartition(":") for one in among if one.id != question.id]
    for length in range(4, len(run)):
        if not any(other.startswith(run[:length]) and number == seq for other, _, number in others):
            return f"{run[:length]}:{seq}"
    return question.id
