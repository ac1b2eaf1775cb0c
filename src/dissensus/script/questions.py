"""What is to be decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, open or closed.

    Args:
        text: the question as the agents read it.
        kind: what counts as an answer: ``number``, ``choice``, ``yes-no``, ``date``, ``text``, or ``auto``
            (a choice if there are options; otherwise read from the replies).
        options: the answers allowed; empty for an open question.
        unit: the unit that an answer is compared in ("" if none was named).
        id: the caller's name for the question.
        gold: the right answer where it is known; never shown to an agent.
        data: anything else that stood in the caller's file.
    """

    text: str
    kind: str = AUTO
    options: tuple[str, ...] = ()
    unit: str = ""
    id: str = ""
    gold: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
