"""An agent that is corrupted through what it reads, as plain data; and a panel with some of its agents corrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from dissensus.errors import UsageError
from dissensus.faults.attacks.target import Target, choose_target
from dissensus.faults.attacks.template import Attack
from dissensus.record.event import OPERATOR
from dissensus.script.effects import Note
from dissensus.script.keys import seed_of
from dissensus.script.questions import Question
from dissensus.script.seats import Seat

Slot = Literal["system", "context", "quoted"]
SLOTS: Final[tuple[Slot, ...]] = ("context", "system", "quoted")
"""Where the text sits: ``context``: in a block of its own before the question; ``system``: at the end of the system
prompt; ``quoted``: before the question, inside a document that the agent is shown."""

_DOCUMENT = 'A document that was found for this question:\n<document title="notes">\n{text}\n</document>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption:
    """How one agent is corrupted. It holds the target and is for the operator alone.

    Args:
        agent: who is corrupted.
        attack, version, digest: by which text, and which version of it.
        strength: how strong.
        wording: which of its wordings, from 0 on.
        part: the agent's place among the corrupted ones, from 0 on: which part of a text in several parts it reads.
        slot: where the text sits.
        target: the wrong answer that is aimed at, in the form in which answers are compared.
        text: what the agent reads, filled in.
    """

    agent: str
    attack: str
    version: int
    digest: str
    strength: str
    wording: int
    part: int
    slot: Slot
    target: str
    text: str

    def seat(self, seat: Seat) -> Seat:
        """``seat`` as it reads the attack. Raises UsageError for the seat of another agent."""
        if seat.agent != self.agent:
            raise UsageError(f"This corruption is for {self.agent}, not for {seat.agent}.", next_step="Pass its seat.")
        if self.slot == "system":
            return replace(seat, system=_joined(seat.system, self.text))
        return replace(seat, context=_joined(seat.context, self.block))

    @property
    def block(self) -> str:
        """What stands before the prompt; "" for the slot ``system``."""
        if self.slot == "system":
            return ""
        return self.text if self.slot == "context" else _DOCUMENT.replace("{text}", self.text)

    def prompt(self, system: str, prompt: str) -> tuple[str, str]:
        """System prompt and prompt as the agent reads them, for callers that have no seats."""
        if self.slot == "system":
            return _joined(system, self.text), prompt
        return system, _joined(self.block, prompt)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def corrupt(
    seat: Seat,
    attack: Attack,
    target: Target,
    *,
    question: str,
    strength: str = "strong",
    slot: str = "context",
    wording: int | None = None,
    part: int = 0,
    seed: int = 0,
) -> Corruption:
    """The corruption of ``seat`` by ``attack``. :meth:`Corruption.seat` then gives the seat.

    Args:
        seat: who is corrupted; it stays as it is.
        attack: by what.
        target: towards which wrong answer.
        question: the question, for attacks that repeat it, and for the draw.
        strength: one that the attack has.
        slot: one of :data:`SLOTS`.
        wording: which of its wordings; None draws one by seed and question, the same for all agents.
        part: the agent's place among the corrupted ones.
        seed: of the study.

    Raises:
        UsageError: there is no such strength, wording or slot.
    """
    where = next((known for known in SLOTS if known == slot), None)
    if where is None:
        raise UsageError(f"No text can sit in the slot {slot!r}.", next_step=f"Slots are {', '.join(SLOTS)}.")
    wordings = attack.of(strength)
    if wording is None:
        wording = seed_of(seed, f"wording/{attack.name}/{strength}/{question}") % len(wordings)
    if not 0 <= wording < len(wordings):
        raise UsageError(
            f"The attack {attack.name} has no wording {wording} of the strength {strength}.",
            next_step=f"Wordings are 0 to {len(wordings) - 1}.",
        )
    text = wordings[wording].filled(target=target.shown, question=question, name=seat.agent, part=part)
    return Corruption(
        agent=seat.agent,
        attack=attack.name,
        version=attack.version,
        digest=attack.digest,
        strength=strength,
        wording=wording,
        part=part,
        slot=where,
        target=target.answer,
        text=text,
    )


def line_up(
    seats: Sequence[Seat],
    corrupted: Sequence[str],
    attack: Attack,
    question: Question,
    *,
    shown: str = "",
    written: str = "",
    lettered: bool = True,
    others: Sequence[str] = (),
    shared: bool = True,
    strength: str = "strong",
    slot: str = "context",
    wording: int | None = None,
    seed: int = 0,
) -> dict[str, Corruption]:
    """The corruptions of the agents named in ``corrupted``, by agent; their order there says who reads which part.

    Args:
        seats: the panel.
        corrupted: who is corrupted.
        attack: by what.
        question: with its gold.
        shown: the question as agents read it, for attacks that repeat it; its text if not given.
        written: the right answer as its set writes it.
        lettered: whether the options carry letters.
        others: right answers of other questions, to draw a target from where none can be made.
        shared: all aim at one target; otherwise each at one of its own, which may be the same by chance.
        strength: one that the attack has.
        slot: one of :data:`SLOTS`.
        wording: which of its wordings; None draws one, the same for all.
        seed: of the study.

    Raises:
        UsageError: the question has no gold, an agent has no seat, or no target can be made.
    """
    if question.gold is None:
        raise UsageError("The question has no right answer, so none is wrong.", next_step="Give it a gold.")
    by_name = {seat.agent: seat for seat in seats}
    found: dict[str, Corruption] = {}
    for part, agent in enumerate(corrupted):
        if agent not in by_name or agent in found:
            raise UsageError(f"{agent!r} cannot be corrupted.", next_step="Name each agent of the panel at most once.")
        target = choose_target(
            question.kind,
            question.gold,
            written=written,
            options=question.options,
            lettered=lettered,
            others=others,
            seed=seed,
            key=question.text if shared else f"{question.text}/{agent}",
        )
        found[agent] = corrupt(
            by_name[agent],
            attack,
            target,
            question=shown or question.text,
            strength=strength,
            slot=slot,
            wording=wording,
            part=part,
            seed=seed,
        )
    return found


def corrupted_seats(seats: Sequence[Seat], corruptions: Mapping[str, Corruption]) -> tuple[Seat, ...]:
    """The seats in their order, those of the agents named in ``corruptions`` as these have them.

    Raises :class:`~dissensus.errors.UsageError` for an agent that has no seat.
    """
    if unknown := sorted(corruptions.keys() - {seat.agent for seat in seats}):
        raise UsageError(f"No agent is called {unknown[0]}.", next_step="Corrupt agents of the panel.")
    return tuple(corruptions[seat.agent].seat(seat) if seat.agent in corruptions else seat for seat in seats)


def truth_note(gold: str, corruptions: Mapping[str, Corruption], agents: Sequence[str]) -> Note:
    """What only the operator knows of a run, for its record: the right answer, and who is corrupted towards what."""
    return Note(
        kind_of_note="truth",
        data={
            "gold": gold,
            "roles": {agent: "corrupted" if agent in corruptions else "honest" for agent in agents},
            "corruptions": [corruptions[agent].to_data() for agent in agents if agent in corruptions],
        },
        visibility=OPERATOR,
    )
