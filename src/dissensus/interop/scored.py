"""Votes that came with a verdict: logs of evaluations, where a scorer has said of each answer whether it is right.

The scorer's word goes before the text: an answer scored right is the right answer, however it is written; one scored
wrong is not, even where it is written like it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dissensus.interop.flags import NOTE, RIGHT, WRONG
from dissensus.interop.sheet import ABSENT, CONFLICT, Coder, Numbered, Sheet, repeated, some
from dissensus.measure.table import Whole
from dissensus.measure.wording import counted

LONG_TEXT = 200
"""Median length of answers from which on they are whole texts rather than answers."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer with its verdict.

    Args:
        question, voter: names.
        answer: what was answered; None where only the verdict is known.
        right: the verdict; None for a blank.
        blank: why there is no answer; "" if there is one.
    """

    question: str
    voter: str
    answer: str | None
    right: bool | None
    blank: str = ""


def verdict_of(value: Any) -> bool | None:
    """A score as right or wrong: C, I and P as inspect_ai writes them, booleans, numbers; None for none of these.

    Only a full score is right.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value >= 1 if value == value else None  # NaN is none  # noqa: PLR0124
    return value == "C" if isinstance(value, str) and value in {"C", "I", "P"} else None


def sheet_of(
    votes: Iterable[Scored],
    gold: Mapping[str, str],
    *,
    options: Mapping[str, int],
    groups: Mapping[str, str],
    format_: str,
    rows_read: int,
    notes: Iterable[str] = (),
    dropped: int = 0,
) -> Sheet:
    """The table of ``votes``.

    Args:
        votes: in any order; two by one voter on one question that differ make a blank.
        gold: question to right answer.
        options: question to how many answers it allows, where known.
        groups: question to what it shares with a question asked again, such as a hash of its text.
        format_: for the report, as the next three.
        rows_read: lines or samples.
        notes: sentences.
        dropped: of the rows read.
    """
    votes = list(votes)
    answered = [vote for vote in votes if not vote.blank]
    flags = bool(answered) and all(vote.answer is None for vote in answered)
    ids, voters, coder = Numbered(), Numbered(), Coder()
    places: dict[tuple[int, int], int] = {}
    conflicts = clashes = 0
    for vote in votes:
        place = ids[vote.question], voters[vote.voter]
        key = gold.get(vote.question)
        if vote.blank:
            code = coder.blank(vote.blank)
        elif flags:
            code = coder[RIGHT if vote.right else WRONG]
        elif vote.right and key is not None:
            code = coder[key]
        elif vote.answer is None or not vote.answer.strip():
            code = coder.blank("no answer")
        else:
            code = coder[vote.answer]
            if vote.right is False and key is not None and vote.answer.strip() == key.strip():
                code = coder[f"{vote.answer.strip()} (scored wrong)"]
                clashes += 1
        before = places.setdefault(place, code)
        if before != code:
            places[place] = coder.blank(CONFLICT)
            conflicts += before != places[place]
    duplicates = len(votes) - len(places)
    many, n = len(ids), len(voters)
    cells = np.full((many, n), coder.blank(ABSENT), dtype=np.int32)
    for (row, column), code in places.items():
        cells[row, column] = code
    names = list(ids)
    keys = [coder[RIGHT] if flags else coder[gold[name]] if name in gold else -1 for name in names]
    said = [*notes, *_notes(answered, conflicts, clashes, flags=flags)]
    known = [2] * many if flags else [options.get(name, 0) for name in names]
    return Sheet(
        cells=cells,
        gold=np.array(keys, dtype=np.int32),
        texts=coder.texts,
        reasons=coder.reasons,
        voters=list(voters),
        questions=names,
        options=np.array(known, dtype=np.int64) if any(known) else None,
        groups=_groups(names, groups),
        format=format_,
        rows_read=rows_read,
        dropped=dropped,
        duplicates=duplicates,
        notes=tuple(said),
        kind="exact",
    )


def _groups(names: list[str], groups: Mapping[str, str]) -> Whole | None:
    return repeated(groups.get(name) or f"question {name}" for name in names)


def _notes(answered: list[Scored], conflicts: int, clashes: int, *, flags: bool) -> Iterable[str]:
    if flags:
        yield NOTE
    if conflicts:
        times = counted(conflicts, "time")
        yield f"{times} a voter answered one question differently; neither counts, and the cell is blank."
    if clashes:
        alike = counted(clashes, "answer is", "answers are")
        yield f"{alike} written like the key but scored wrong, and counted as wrong."
    lengths = [len(vote.answer) for vote in answered if vote.answer]
    if lengths and statistics.median(lengths) > LONG_TEXT:
        yield (
            "Answers are whole texts: two that say the same in other words count as different, so agreement in error "
            f"is underestimated (for example: {some([next(vote.answer for vote in answered if vote.answer)])})."
        )
