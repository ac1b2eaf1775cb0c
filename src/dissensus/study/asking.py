"""Put questions to one panel, a record for each, so that a study that was cut goes on where it stopped.

The name of a record holds a digest of panel, question and seed. What is found under it is not asked again; what was
begun is finished; what cannot be finished, or lost calls to a dead server, is asked anew in a record beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dissensus.decide.procedures import settings_of_vote
from dissensus.decide.settings import VoteSettings
from dissensus.decide.wording import kind_of
from dissensus.errors import RunError, StorageError
from dissensus.record.opening import open_record
from dissensus.run.casting import Cast, run_procedure
from dissensus.script.decisions import Ballot, Decision
from dissensus.script.questions import Question
from dissensus.study.panel_digest import digest_of
from dissensus.study.records import decision_in, go_on, lost, read

MOST_RECORDS = 1000
"""Records of one question, most of them cut or lost."""

DEAD_AFTER = 3
"""Questions in a row on which no call came about, after which a study stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question with the ballots that count.

    Args:
        question: as it stands in the file, with its right answer.
        kind: the kind of answer.
        ballots: by the name of each configured voter; a spare's stands under the agent that it stood in for.
        record: where it lies.
        new: whether it was asked just now.
    """

    question: Question
    kind: str
    ballots: Mapping[str, Ballot]
    record: str
    new: bool

    @property
    def lost(self) -> int:
        """Ballots that are blank because the call did not come about: the question is asked again next time."""
        return lost(list(self.ballots.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What does not change from question to question.

    Args:
        settings: how each vote is held.
        folder: where the records lie.
        panel: digest of the panel as it is asked.
        seed: all randomness derives from it and the question's own key.
    """

    settings: VoteSettings
    folder: Path
    panel: str
    seed: int = 0

    def stem(self, question: Question) -> str:
        """The record's path without its ending. The right answer is not in it: no agent is shown it."""
        put = [question.text, question.kind, list(question.options), question.unit]
        digest = digest_of({"panel": self.panel, "question": put, "seed": self.seed})
        return str(self.folder / f"{_word(question.id or question.text)}-{digest[:12]}")

    def found(self, question: Question) -> Asked | None:
        """The question as it was asked before; None if it has to be asked, or asked to its end."""
        for path in self.paths(question):
            if not path.exists():
                return None
            if (decision := decision_in(read(path) or ())) is not None and not (
                asked := _asked(question, decision, path)
            ).lost:
                return asked
        return None

    def paths(self, question: Question) -> Iterator[Path]:
        """Records that may hold the question, in the order in which they are tried."""
        stem = self.stem(question)
        yield Path(f"{stem}.db")
        yield from (Path(f"{stem}-{number}.db") for number in range(2, MOST_RECORDS))


async def ask_all(
    study: Study, cast: Cast, questions: Sequence[Question], *, on_done: Callable[[Asked], None] | None = None
) -> list[Asked]:
    """Every question with its ballots, in order; those that were asked before are read from their records.

    Args:
        study: how and where.
        cast: the panel, open.
        questions: each different from the others.
        on_done: called after each question, also one that is found done.

    Raises:
        RunError: on several questions in a row no call came about. What was done is kept.
        StorageError: a record cannot be written.
    """
    done: list[Asked] = []
    dead = 0
    for question in questions:
        asked = study.found(question) or await _ask(study, cast, question)
        done.append(asked)
        if on_done is not None:
            on_done(asked)
        dead = dead + 1 if asked.new and asked.lost == len(asked.ballots) else 0
        if dead == DEAD_AFTER:
            reason = next((ballot.reason for ballot in asked.ballots.values() if ballot.reason), "no reason given")
            raise RunError(
                f"On the last {dead} questions no call came about ({reason}).",
                next_step="See to the model or the budget, then run the same command again: it goes on from here.",
            )
    return done


async def _ask(study: Study, cast: Cast, question: Question) -> Asked:
    """Finish the record that was begun, or ask in a new one."""
    for path in study.paths(question):
        decision = await _record(study, path, cast, question)
        if decision is not None:
            return _asked(question, decision, path, new=True)
    raise StorageError(f"There are too many records of one question in {study.folder}.", next_step="Remove some.")


async def _record(study: Study, path: Path, cast: Cast, question: Question) -> Decision | None:
    """The decision, in a new record or one that was begun; None if that one has ended or cannot be gone on with."""
    mode = _mode(path)
    events = read(path) if mode == "a" else []
    if events is None or (events and events[-1].kind == "ended"):
        return None
    if events:
        return await go_on(path, cast)
    with open_record(path, mode) as store:
        settings = settings_of_vote(question, study.settings)
        return await run_procedure(settings=settings, panel=cast, record=store, seed=study.seed)


def _mode(path: Path) -> str:
    return "a" if path.exists() else "x"


def _asked(question: Question, decision: Decision, path: Path, *, new: bool = False) -> Asked:
    ballots = {ballot.stands_in_for or ballot.agent: ballot for ballot in decision.ballots}
    return Asked(question=question, kind=kind_of(question), ballots=ballots, record=str(path), new=new)


def _word(text: str) -> str:
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower()[:40])
    return "-".join(filter(None, plain.split("-")))[:24].strip("-") or "question"
