"""Votes as numbers: who answered what to which question, what was right, and why a cell is blank.

A table has Q questions and n voters. A cell holds a *code*: within one question, equal codes are the same answer. What
"the same" means was settled before (:mod:`dissensus.answers`); nothing here looks at texts. A blank (failed, absent,
abstained, invalid) is never dropped: it is not right, it counts in every denominator, and its reason is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.errors import UsageError

Codes: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Whole: TypeAlias = npt.NDArray[np.int64]

UNKNOWN = -1
"""Code of a right answer that is not known."""


@dataclass(frozen=True, eq=False)
class VoteTable:
    """A table of answers.

    Args:
        codes: shape (Q, n), int32. At least 0: an answer, equal within a row for the same answer. Below 0: a blank
            for the reason ``reasons[-1 - code]``.
        gold: shape (Q,), int32: the code of the right answer; -1 where it is not known.
        voters: names, all different.
        questions: names, in the order of the rows.
        texts: code to the answer as text, for lists of questions; may be empty.
        reasons: why cells are blank.
        options: shape (Q,): how many answers a question allows; 0 where that is open or not known.
        groups: shape (Q,): equal numbers are one question asked again; they are resampled together. None: all differ.
        strata: shape (Q,): the part of the table that each question is in; errors are compared inside parts too.
        stratum_names: number of a part to its name.
        costs: voter to what all its answers cost together, where that is known.
        factors: property of voters (model, family, prompt …) to voter to its level, where that is known.

    Raises:
        UsageError: shapes do not fit, there is no voter or no question, or two voters have one name.
    """

    codes: Codes
    gold: Codes
    voters: tuple[str, ...]
    questions: Sequence[str] = ()
    texts: Sequence[str] = ()
    reasons: tuple[str, ...] = ("blank",)
    options: Whole | None = None
    groups: Whole | None = None
    strata: Whole | None = None
    stratum_names: Sequence[str] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what every estimator relies on."""
        if self.codes.ndim != 2 or not self.codes.shape[0] or not self.codes.shape[1]:
            raise UsageError("There is nothing to measure: no question or no voter.", next_step="Look at the file.")
        rows = self.codes.shape[0]
        if self.codes.shape[1] != len(self.voters):
            raise UsageError(f"{self.codes.shape[1]} columns of answers, but {len(self.voters)} voters are named.")
        twice = sorted({name for name in self.voters if self.voters.count(name) > 1})
        if twice:
            raise UsageError(
                f"Two voters are called {twice[0]!r}.", next_step="One voter has one vote: rename one, or leave it out."
            )
        for what, column in (("right answers", self.gold), ("options", self.options), ("groups", self.groups)):
            if column is not None and column.shape != (rows,):
                raise UsageError(f"There are {rows} questions, but the {what} are {column.shape}.")
        if self.codes.size and int(self.codes.min()) < -len(self.reasons):
            raise UsageError("A blank has a reason that is not in the list of reasons.")

    @property
    def n_questions(self) -> int:
        """Q."""
        return int(self.codes.shape[0])

    @property
    def n_voters(self) -> int:
        """The voters configured, n."""
        return int(self.codes.shape[1])

    @cached_property
    def labelled(self) -> Flags:
        """Shape (Q,): whether the right answer is known."""
        return self.gold >= 0

    @cached_property
    def blank(self) -> Flags:
        """Shape (Q, n)."""
        return self.codes < 0

    @cached_property
    def right(self) -> Flags:
        """Shape (Q, n): the answer equals the right one. A blank is not right; nothing is without a right answer."""
        found: Flags = (self.codes == self.gold[:, None]) & self.labelled[:, None]
        return found

    def blanks(self) -> dict[str, int]:
        """Reason to the number of cells that are blank for it; reasons that do not occur are left out."""
        counts = np.bincount(-1 - self.codes[self.blank], minlength=len(self.reasons))
        return {reason: int(count) for reason, count in zip(self.reasons, counts, strict=True) if count}

    def rows(self, keep: Flags) -> VoteTable:
        """The questions that ``keep`` (shape (Q,)) marks."""
        if keep.all():
            return self
        return VoteTable(
            codes=self.codes[keep],
            gold=self.gold[keep],
            voters=self.voters,
            questions=[self.questions[int(place)] for place in np.flatnonzero(keep)] if self.questions else (),
            texts=self.texts,
            reasons=self.reasons,
            options=None if self.options is None else self.options[keep],
            groups=None if self.groups is None else self.groups[keep],
            strata=None if self.strata is None else self.strata[keep],
            stratum_names=self.stratum_names,
            costs=self.costs,
            factors=self.factors,
        )

    def columns(self, order: Sequence[int]) -> VoteTable:
        """The voters at the places ``order``, in that order."""
        if list(order) == list(range(self.n_voters)):
            return self
        return VoteTable(
            codes=np.ascontiguousarray(self.codes[:, list(order)]),
            gold=self.gold,
            voters=tuple(self.voters[place] for place in order),
            questions=self.questions,
            texts=self.texts,
            reasons=self.reasons,
            options=self.options,
            groups=self.groups,
            strata=self.strata,
            stratum_names=self.stratum_names,
            costs=self.costs,
            factors=self.factors,
        )


def table_of(
    answers: Sequence[Sequence[str | None]],
    gold: Sequence[str | None],
    *,
    voters: Sequence[str] = (),
    questions: Sequence[str] = (),
    options: Sequence[int] | None = None,
    groups: Sequence[object] | None = None,
    strata: Sequence[str] | None = None,
) -> VoteTable:
    """A table from lists of texts: equal texts are the same answer, None is a blank or a right answer not known.

    Raises :class:`~dissensus.errors.UsageError` if rows differ in length or the lists do not fit together.
    """
    n = len(answers[0]) if answers else 0
    for place, row in enumerate(answers):
        if len(row) != n:
            raise UsageError(f"Question {place + 1} has {len(row)} answers, the first has {n}.")
    if len(gold) != len(answers):
        raise UsageError(f"There are {len(answers)} questions and {len(gold)} right answers.")
    seen: dict[str, int] = {}
    codes = [[-1 if text is None else seen.setdefault(text, len(seen)) for text in row] for row in answers]
    keys = [UNKNOWN if text is None else seen.setdefault(text, len(seen)) for text in gold]
    parts: dict[object, int] = {}
    kinds: dict[object, int] = {}
    return VoteTable(
        codes=np.array(codes, dtype=np.int32).reshape(len(answers), n),
        gold=np.array(keys, dtype=np.int32),
        voters=tuple(voters) or tuple(f"voter {place + 1}" for place in range(n)),
        questions=questions or [str(place + 1) for place in range(len(answers))],
        texts=list(seen),
        options=None if options is None else np.array(options, dtype=np.int64),
        groups=None
        if groups is None
        else np.array([kinds.setdefault(group, len(kinds)) for group in groups], dtype=np.int64),
        strata=None
        if strata is None
        else np.array([parts.setdefault(part, len(parts)) for part in strata], dtype=np.int64),
        stratum_names=[str(part) for part in parts],
    )
