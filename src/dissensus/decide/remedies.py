"""What is done about an agent that is silent or fails: remind it, wait at most so long, give up, hand on to another.

Small scripts, used by procedures and usable in your own. What is done stands on the record, as a note ``remedy``,
before it is done. The fourth remedy, to discard, is the engine's: a post that is no legal move is blocked, and what
comes after a deadline is recorded as late and never used.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.script.consult import consult
from dissensus.script.effects import Note, under
from dissensus.script.outcomes import Invalid, Outcome, Reply, TimedOut
from dissensus.script.seats import Seat

REMIND, HAND_ON, GIVE_UP = "remind", "hand-on", "give-up"
REMINDER: Final = "You have not answered yet. Answer now."


@dataclass(frozen=True, slots=True)
class Answered:
    """The last outcome of asking one agent, and the key of the effect that it came under."""

    outcome: Outcome
    key: str


@dataclass(frozen=True, slots=True)
class Handled:
    """What came of a task that several may do.

    Args:
        outcome: the reply, or the last failure.
        by: who replied; "" if nobody did.
        tried: who was asked, in order, and the kind of outcome of each.
    """

    outcome: Outcome
    by: str
    tried: tuple[tuple[str, str], ...]


def ask_and_remind(
    seat: Seat,
    prompt: str,
    *,
    deadline_s: float | None,
    remind: int = 1,
    thread: str = "main",
    schema: Mapping[str, object] | None = None,
    key: str = "ask",
    reminder: str = REMINDER,
) -> Generator[Any, Any, Answered]:
    """Ask, wait at most ``deadline_s`` seconds, and remind a silent agent at most ``remind`` times.

    So nobody is waited for longer than ``deadline_s * (1 + remind)``; a seat with tools has that long for each of its
    turns. A failure other than silence is not asked about again: reminding helps nobody who has refused.
    The reminders have the keys ``key/remind/1``, ``key/remind/2`` ….
    """
    where = key
    outcome: Outcome = yield from consult(seat, prompt, thread=thread, schema=schema, deadline_s=deadline_s, key=where)
    for number in range(1, remind + 1):
        if not isinstance(outcome, TimedOut):
            break
        where = f"{key}/remind/{number}"
        yield _note(REMIND, seat.agent, outcome, f"{where}/note")
        outcome = yield from consult(
            seat, f"{reminder}\n\n{prompt}", thread=thread, schema=schema, deadline_s=deadline_s, key=where
        )
    return Answered(outcome, where)


def ask_or_hand_on(
    prompt: str,
    candidates: Sequence[Seat],
    *,
    deadline_s: float | None,
    remind: int = 1,
    thread: str = "task",
    schema: Mapping[str, object] | None = None,
) -> Generator[Any, Any, Handled]:
    """Ask the first of ``candidates``; hand the task on to the next one as long as the last was silent or failed.

    Each is asked in a thread and a scope of its own (``thread/NAME``, ``NAME``), so that none sees what another was
    told, and is reminded as in :func:`ask_and_remind`. The outcome is Invalid if there are no candidates.
    """
    tried: list[tuple[str, str]] = []
    outcome: Outcome = Invalid(problem="there was nobody to ask")
    for place, seat in enumerate(candidates):
        if place:
            yield _note(HAND_ON, candidates[place - 1].agent, outcome, f"hand-on/{place}", to=seat.agent)
        asking = ask_and_remind(
            seat, prompt, deadline_s=deadline_s, remind=remind, thread=f"{thread}/{seat.agent}", schema=schema
        )
        answered: Answered = yield from under(seat.agent, asking)
        outcome = answered.outcome
        tried.append((seat.agent, outcome.kind))
        if isinstance(outcome, Reply):
            return Handled(outcome, seat.agent, tuple(tried))
    if candidates:
        yield _note(GIVE_UP, candidates[-1].agent, outcome, GIVE_UP)
    return Handled(outcome, "", tuple(tried))


def _note(remedy: str, agent: str, outcome: Outcome, key: str, **more: str) -> Note:
    return Note("remedy", {"remedy": remedy, "agent": agent, "because": outcome.kind, **more}, key=key)
