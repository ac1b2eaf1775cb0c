"""What a study measured, as points that can be laid beside what was predicted.

A document is a list of points, or an object that holds it under ``points``; other keys are left alone. A point is one
cell of a study: so many agents, so many of them corrupted, one procedure. Beside the points there may be ``steps``: the
log-odds of a text before and after each turn, as a receiver measured them (``drift_fit.py``).
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from dissensus.errors import SpecError

VOTE = frozenset({"vote", "maj", "majority", "plurality"})
"""Names of procedures that vote on finished answers."""

IN_TURNS = frozenset({"round-robin", "rr", "rrmaj"})
"""Names of procedures that write one text in turns."""


class StudyPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One cell.

    Args:
        corrupted, agents: how many of how many.
        procedure: by its name on the command line, such as ``vote`` or ``round-robin``.
        accuracy: share right, with its interval ``low`` to ``high``.
        n: questions.
        trajectories: texts that were voted on; 1 for one text.
        label: to tell cells apart that are otherwise alike, such as the attack or the data set.
        scripted: the agents were scripted: a toy, and no evidence about models.
    """

    corrupted: int
    agents: int
    procedure: str
    accuracy: float
    low: float
    high: float
    n: int
    trajectories: int = 1
    label: str = ""
    scripted: bool = False

    @property
    def name(self) -> str:
        """How it is called in a legend."""
        many = f" x {self.trajectories}" if self.trajectories > 1 else ""
        return (
            f"{self.procedure}{many}{f', {self.label}' if self.label else ''}{' (scripted)' if self.scripted else ''}"
        )

    @property
    def predicted_as(self) -> str:
        """Which column of a prediction it belongs to: ``vote``, ``text``, ``voted``, or empty."""
        if self.procedure in VOTE:
            return "vote"
        if self.procedure in IN_TURNS:
            return "voted" if self.trajectories > 1 else "text"
        return ""

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as its effect on the log-odds of the right answer against the target.

    Args:
        text: which text; turns of one text are not independent of each other.
        turn: its number, from 0 on.
        corrupted: whether its writer was.
        before, after: log-odds when an answer is forced before and after the turn.
    """

    text: str | int
    turn: int
    corrupted: bool
    before: float
    after: float


class _Document(msgspec.Struct):
    points: list[StudyPoint] = []
    steps: list[Step] = []


def read_points(document: bytes, *, path: str = "") -> tuple[tuple[StudyPoint, ...], tuple[Step, ...]]:
    """Points and steps of a document in JSON.

    Raises:
        SpecError: it is no such document, or a number in it cannot be.
    """
    try:
        if document.lstrip()[:1] == b"[":
            read = _Document(points=msgspec.json.decode(document, type=list[StudyPoint]))
        else:
            read = msgspec.json.decode(document, type=_Document)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SpecError(
            f"This is no report of a study: {error}.",
            path=path,
            next_step="Points need corrupted, agents, procedure, accuracy, low, high and n.",
        ) from error
    for place, point in enumerate(read.points, 1):
        if fault := _fault(point):
            raise SpecError(f"Point {place}: {fault}", path=path, next_step="Write the report again.")
    if not read.points and not read.steps:
        raise SpecError("There are no points and no steps in it.", path=path, next_step="Name the report of a study.")
    return tuple(read.points), tuple(read.steps)


def _fault(point: StudyPoint) -> str:
    if point.agents < 1 or not 0 <= point.corrupted <= point.agents:
        return f"of {point.agents} agents {point.corrupted} cannot be corrupted."
    if point.n < 1 or point.trajectories < 1:
        return "there must be at least one question and one trajectory."
    shares = (point.low, point.accuracy, point.high)
    if not all(math.isfinite(share) and 0 <= share <= 1 for share in shares):
        return "accuracy, low and high are shares between 0 and 1."
    if not point.low - 1e-9 <= point.accuracy <= point.high + 1e-9:
        return f"the accuracy {point.accuracy:g} lies outside its interval."
    return ""
