"""Everything about a self-check that is fixed before anybody is asked. It stands in the record's first event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.dispute.docket import source_of
from dissensus.decide.wording import checked as asked
from dissensus.errors import SpecError
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

MOST_ROUNDS: Final = 100
MOST_DOCUMENTS: Final = 1000
NOBODY: Final = "pasted"
"""Who spoke where the answers were pasted and nobody took part in the run."""

Span = tuple[int, int]
"""Code points ``[start, end)`` of a document's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document, and what of it is shown to the agent.

    Args:
        digest: SHA-256 of its bytes, 64 hexadecimal digits.
        name: what people call it; the agent reads a label instead.
        pinned: its bytes, and its pages if it has any. Quotes are reopened in all of it.
        shown: what is shown, in order and without overlap.
    """

    digest: str
    name: str
    pinned: Pinned
    shown: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file of which nothing is shown, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Replies that were got elsewhere. Then nobody is asked, and only the verdict is looked at.

    Args:
        first, second: the two answers, bare or as they came.
        settle: the reply that settled, to the answers in this order.
        swapped: the reply to the same request with ``second`` shown first; "" if there was none.
    """

    first: str
    second: str
    settle: str
    swapped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheckSettings:
    """How a self-check is held.

    Args:
        documents: what the agent is to answer from, in the order of their names.
        left_out: what is not among them.
        agent: who is checked; "" is the first of the panel that is no spare.
        rounds: at most so often two more answers are asked for, until two differ.
        equal: whether the agent is also asked to settle between two sources that were made equal.
        given: replies that were got elsewhere; None asks the agent.
    """

    documents: tuple[Document, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    agent: str = ""
    rounds: int = 5
    equal: bool = True
    given: Given | None = None

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        for document in data["documents"]:
            document["pinned"] = {key: value for key, value in document["pinned"].items() if value not in (None, "")}
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SelfCheckSettings:
        """The settings that :meth:`to_data` wrote. Raises SpecError for what cannot be read."""
        try:
            return msgspec.convert(dict(data), cls)
        except msgspec.ValidationError as problem:
            raise SpecError(f"A setting of the self-check is wrong: {problem}.") from None


def checked(question: Question, seats: Sequence[Seat], settings: SelfCheckSettings) -> Seat:
    """Who is checked. Raises SpecError for a question, seats or settings that cannot be."""
    asked(question)
    if not 1 <= settings.rounds <= MOST_ROUNDS:
        raise SpecError(f"There are 1 to {MOST_ROUNDS} rounds, not {settings.rounds}.", next_step="Use such a number.")
    if not settings.documents:
        raise SpecError("There is no document to answer from.", next_step="Put texts into the folder of --docs.")
    if len(settings.documents) > MOST_DOCUMENTS:
        raise SpecError(
            f"There are more than {MOST_DOCUMENTS:,} documents to show.", next_step="Show fewer of them, or less."
        )
    if len({one.digest for one in settings.documents}) < len(settings.documents):
        raise SpecError("Two documents have the same bytes.", next_step="Leave one of them out.")
    for one in settings.documents:
        source = source_of(one.pinned)
        if source.digest != one.digest or source.text is None:
            raise SpecError(f"The document {one.name} is no text with this digest.", next_step="Pin it again.")
        ends = [0, *(place for span in one.shown for place in span), len(source.text)]
        if not one.shown or ends != sorted(ends):
            raise SpecError(f"What is shown of {one.name} does not lie in it.", next_step="Choose it again.")
    if settings.given is not None:
        return Seat(agent=settings.agent or NOBODY, model="")
    taking_part = [seat for seat in seats if not seat.spare]
    found = [seat for seat in taking_part if not settings.agent or seat.agent == settings.agent]
    if not found:
        raise SpecError(
            f"There is no agent {settings.agent!r}." if taking_part else "Nobody takes part.",
            next_step=f"The agents are {', '.join(seat.agent for seat in taking_part)}." if taking_part else "Add one.",
        )
    return found[0]
