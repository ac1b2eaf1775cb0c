"""How an answer gets from the record to the script, and whether a run that waited still follows from its record.

A question is an event, and so is each answer to it (:mod:`dissensus.run.inbox`). The answer that was accepted becomes
the question's outcome when the run is resumed; until then the run has none, whatever has died in between.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from dissensus.errors import NotRecorded
from dissensus.record.event import QUESTION_KINDS, Event
from dissensus.run.journal import Journal
from dissensus.run.performers import Aside, Finished, Past, Performer, Recorded, StillWaiting
from dissensus.run.render import Job
from dissensus.script.effects import AskPerson
from dissensus.script.outcomes import PersonAnswer


def of_the_run(events: Iterable[Event]) -> Iterator[Event]:
    """``events`` without those about questions, which come while nobody runs the run or after it has ended."""
    return (event for event in events if event.kind not in QUESTION_KINDS)


def at_work(events: Iterable[Event]) -> Iterator[Event]:
    """The events of the times when the run was at work, so not those between waiting and being resumed."""
    waits = False
    for event in events:
        waits = event.kind == "waiting" or (waits and event.kind != "resumed")
        if event.kind == "waiting" or not waits:
            yield event


def answered(events: Iterable[Event]) -> dict[str, Past]:
    """The accepted answers by the key of their question, as outcomes that the record already holds."""
    requests: dict[str, str] = {}
    found: dict[str, Past] = {}
    for event in events:
        if event.kind == AskPerson.kind:
            requests[event.key] = str(event.body.get("request"))
        elif event.kind == "question-answer" and event.body["accepted"] and event.key in requests:
            found[event.key] = Past(event.seq, requests[event.key], outcome_of(event), {"answered": event.seq})
    return found


def outcome_of(event: Event) -> PersonAnswer:
    """What the script is sent for an accepted answer."""
    body = event.body
    return PersonAnswer(
        answer=body["choice"],
        reason=body["reason"],
        who=body["principal"],
        authenticated_by=body["authenticated_by"],
        scopes=dict(body["scopes"]),
        shown=body["shown"]["sha256"],
        version=body["version"],
        at=body["answered_at"],
        rule=body["rule"],
    )


class Silent:
    """Performs nothing. Only persons may be left to answer when it is asked."""

    def __init__(self) -> None:
        self._keys: list[str] = []

    def start(self, job: Job) -> None:
        """Note a question to a person; refuse anything else."""
        if not isinstance(job.effect, AskPerson):
            raise NotRecorded(job.key, f"The record holds no outcome under the key {job.key!r}.")
        self._keys.append(job.key)

    def cancel(self, key: str) -> None:
        """Forget a question."""
        self._keys = [one for one in self._keys if one != key]

    async def next(self) -> Sequence[Finished | Aside]:
        """Say that the run waits."""
        raise StillWaiting(self._keys)


async def still_follows(
    events: Sequence[Event], past: dict[str, Past], play: Callable[[Journal, Performer], Awaitable[object]]
) -> bool:
    """Whether a run that waits comes to the same questions again, event by event, without anybody being asked.

    Then it can be resumed by another version of the procedures than the one that began it. ``play`` runs its script.
    """
    waited = [event.key for event in events if event.kind == AskPerson.kind]
    outcomes = {event.key for event in events if event.kind == "outcome"}
    if all(key in outcomes for key in waited):
        return False
    journal = Journal(None, of_the_run(events))
    begun = {key: one for key, one in past.items() if key in outcomes}
    try:
        await play(journal, Recorded(begun, Silent()))
    except StillWaiting:
        return not journal.unused()
    except Exception:  # noqa: BLE001 - a changed script may break in any way; then it does not follow
        return False
    return False
