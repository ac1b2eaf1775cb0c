"""One finished answer of one agent, asked and read as a round-robin asks and reads: what defences are made of.

The defences that stand beside the round-robin (:mod:`~dissensus.decide.maj` and its neighbours) differ in who is asked,
how often, and what counts. In everything else they are held to the same conditions: the same words around the question,
the same rules for reading an answer, the same rule for ties, no repair turn. What they are given to decode is the same
too if ``length`` is set so that ``most_calls × length`` is (:mod:`dissensus.study.planning`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

import msgspec

from dissensus.decide.cost import Bill
from dissensus.decide.round_robin_answer import answer_of
from dissensus.decide.round_robin_settings import RoundRobinSettings
from dissensus.decide.round_robin_writers import Table, prompt_of
from dissensus.decide.tally import REPLY
from dissensus.decide.wording import checked, kind_of
from dissensus.errors import SpecError
from dissensus.script.decisions import Ballot
from dissensus.script.effects import Ask
from dissensus.script.outcomes import Outcome, Reply
from dissensus.script.questions import Question
from dissensus.script.seats import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """What all defences have in common. Each adds what is its own.

    Args:
        length: most tokens of one answer; 0 leaves it to each seat.
        temperature: of every call; None leaves it to the seats.
        order: names of the agents in the order of their seats; empty takes the panel's order.
        answer: which answer of a text counts: the ``last`` or the ``first``.
        extraction: ``lenient`` also takes an answer that no mark announces; ``strict`` does not.
        ties: ``seeded`` draws among the tied answers, sorted, and says so; ``abstain`` decides nothing.
        trajectories: how often the whole is done, each time begun one seat further; all that comes of it is voted on.
    """

    length: int = 0
    temperature: float | None = 0.7
    order: tuple[str, ...] = ()
    answer: Literal["last", "first"] = "last"
    extraction: Literal["lenient", "strict"] = "lenient"
    ties: Literal["seeded", "abstain"] = "seeded"
    trajectories: int = 1

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The settings that :meth:`to_data` wrote. Raises SpecError for a name or value that does not exist."""
        known = [one.name for one in fields(cls)]
        if unknown := sorted(data.keys() - set(known)):
            raise SpecError(
                f"This procedure has no setting {unknown[0]!r}.", next_step=f"Known are: {', '.join(known)}."
            )
        try:
            return msgspec.convert(dict(data), cls)
        except msgspec.ValidationError as problem:
            raise SpecError(f"A setting is wrong: {problem}.") from None

    def most_calls(self, agents: int) -> int:
        """Answers that are written at most, each of ``length`` tokens."""
        return agents * self.trajectories

    def in_sequence(self, agents: int) -> int:  # noqa: ARG002 - the others need it
        """How many of these answers have to wait for one another: what no number of servers makes shorter."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """All that is known before anybody is asked.

    Args:
        seats: the agents in order, spares left out.
        settings: of the procedure.
        table: the same as a round-robin sees it: by it answers are read.
    """

    seats: tuple[Seat, ...]
    settings: AnswerSettings
    table: Table

    @property
    def question(self) -> Question:
        """What is answered."""
        return self.table.question

    @property
    def kind(self) -> str:
        """The kind of answer."""
        return self.table.kind

    @property
    def prompt(self) -> str:
        """What each of them reads first; its system prompt and its own context come on top."""
        return self.table.prompt

    @property
    def seed(self) -> int:
        """All randomness derives from it."""
        return self.table.seed

    def started(self, number: int) -> tuple[Seat, ...]:
        """The agents in the order in which they take part in trajectory ``number``, from 0 on."""
        first = number % len(self.seats)
        return (*self.seats[first:], *self.seats[:first])


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A finished text of one agent, whether it counted or served others.

    Args:
        name: unique in the run; that of its ballot if it counted.
        agent: who wrote it.
        text: all of it; "" if the call failed.
        answer: its canonical answer; None if it has none.
        rule: by which rule the answer was found; "" for none.
        outcome: ``reply``, ``abstained``, ``invalid``, or how it failed.
        problem: why there is no answer.
        cut: whether it ended at its limit.
        counts: whether it is one of those that are voted on.
        weight: what it counts.
        key: of its outcome in the record.
        model: the model behind the agent.
    """

    name: str
    agent: str
    text: str = ""
    answer: str | None = None
    rule: str = ""
    outcome: str = REPLY
    problem: str = ""
    cut: bool = False
    counts: bool = True
    weight: float = 1.0
    key: str = ""
    model: str = ""

    def ballot(self) -> Ballot:
        """The ballot that it casts."""
        return Ballot(
            agent=self.name,
            answer=self.answer,
            reply=self.text or None,
            outcome=self.outcome,
            weight=self.weight,
            reason=self.problem,
            key=self.key,
            read_by=self.rule,
            model=self.model,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A draft, and what its calls took."""

    draft: Draft
    bill: Bill = field(default_factory=Bill)

    def weighing(self, weight: float) -> Answered:
        """The same with another weight."""
        return replace(self, draft=replace(self.draft, weight=weight))

    def aside(self) -> Answered:
        """The same as a text that is not voted on."""
        return replace(self, draft=replace(self.draft, counts=False))


def room(question: Question, seats: Sequence[Seat], settings: AnswerSettings, seed: int) -> Room:
    """Who takes part, and what they read. Raises SpecError, before anybody is asked, for what cannot be."""
    question = checked(question)
    by_name = {seat.agent: seat for seat in seats if not seat.spare}
    if len({seat.agent for seat in seats}) < len(seats):
        raise SpecError("Two agents of the panel have the same name.", next_step="Give each agent its own.")
    if not by_name:
        raise SpecError("Nobody takes part: the panel has no agent that is not a spare.", next_step="Add an agent.")
    if settings.order and sorted(settings.order) != sorted(by_name):
        raise SpecError(
            "The order of seats does not name each agent once.", next_step=f"The agents are {', '.join(by_name)}."
        )
    if settings.trajectories < 1 or settings.length < 0:
        raise SpecError("There is at least one trajectory, and no answer has fewer than 0 tokens.")
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        raise SpecError(f"The temperature is {settings.temperature}.", next_step="It is 0 to 2.")
    kind = kind_of(question)
    reading = RoundRobinSettings(answer=settings.answer, extraction=settings.extraction)
    writers = tuple(by_name[name] for name in settings.order or by_name)
    table = Table(
        question=question,
        kind=kind,
        seats=writers,
        settings=reading,
        means=(),
        prompt=prompt_of(question, kind, reading),
        starts=(),
        seed=seed,
    )
    return Room(seats=writers, settings=settings, table=table)


def asking(here: Room, seat: Seat, prompt: str, *, key: str, thread: str, length: int | None = None) -> Ask:
    """The effect that asks ``seat`` for a text; ``length`` stands in place of the settings'."""
    limit = here.settings.length if length is None else length
    return Ask(
        seat.agent,
        prompt,
        thread=thread,
        temperature=here.settings.temperature,
        max_tokens=limit or None,
        key=key,
    )


def answered(here: Room, seat: Seat, outcome: Outcome, *, name: str, key: str) -> Answered:
    """What came of asking ``seat``: a draft, its answer read. A failed call is no text."""
    bill = Bill()
    bill.add(outcome)
    draft = Draft(name=name, agent=seat.agent, key=key, model=getattr(outcome, "model", "") or seat.model)
    if not isinstance(outcome, Reply):
        problem = getattr(outcome, "problem", "") or getattr(outcome, "what", "") or outcome.kind
        return Answered(draft=replace(draft, outcome=outcome.kind, problem=problem), bill=bill)
    cut = outcome.finish == "length"
    found = answer_of(outcome.text, "length" if cut else "eos", here.table)
    return Answered(
        draft=replace(
            draft,
            text=outcome.text,
            answer=found.answer,
            rule=found.rule,
            outcome=found.outcome,
            problem=found.problem,
            cut=cut,
        ),
        bill=bill,
    )


def ask_once(
    here: Room, seat: Seat, prompt: str, *, name: str, key: str, thread: str, scope: str = ""
) -> Generator[Any, Any, Answered]:
    """Ask and read one text. ``scope`` is that in which the script runs, so that the draft can name its key in full."""
    outcome: Outcome = yield asking(here, seat, prompt, key=key, thread=thread)
    return answered(here, seat, outcome, name=name, key=f"{scope}/{key}" if scope else key)


def quoted(heading: str, text: str) -> str:
    """Another's text to look at: every line of it is marked, so that nothing in it can end the quotation."""
    lines = (text.strip() or "(nothing)").splitlines()
    return "\n".join([f"{heading}:", *(f"> {line}" for line in lines)])
