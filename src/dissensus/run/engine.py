"""The main loop: take what the script asks for, record it, have it performed, record what came, send it back.

Start reading at :meth:`Engine.run`. Only the performer and the journal differ between a live run, a resumed one, a
replay and a fork (:mod:`dissensus.run.runs`); this loop is the same for all of them.

The order of events is a function of the order in which outcomes arrive, and of nothing else. So replaying the
outcomes in their recorded order brings back the same events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dissensus.errors import ScriptError
from dissensus.record.event import Draft
from dissensus.record.view import Views
from dissensus.run.frames import Frame, Gathering
from dissensus.run.journal import Journal
from dissensus.run.performers import Aside, Finished, Performer
from dissensus.run.render import Job, describe, render
from dissensus.script.effects import Note, Post, Race, Script, Together, Within, who_of
from dissensus.script.keys import Keys, seed_of
from dissensus.script.obeying import Obeying
from dissensus.script.outcomes import BudgetExhausted, Cancelled, Done, Outcome, to_data
from dissensus.script.saying import blocked, said
from dissensus.script.seats import Seat

_WAITS: Any = object()


class Engine:
    """Drives one script to its end. One engine drives one run, once."""

    def __init__(self, journal: Journal, performer: Performer, seats: Mapping[str, Seat], seed: int) -> None:
        self.journal = journal
        self.performer = performer
        self.counts: Counter[str] = Counter()
        """How many outcomes of each kind came."""
        self.unpaid = ""
        """The first limit that kept a call from being made."""
        self._seats = seats
        self._seed = seed
        self._keys = Keys()
        self._views = Views()
        self._obeying = Obeying()
        self._owners: dict[str, tuple[Gathering, Job]] = {}
        self._to_start: list[Job] = []

    async def run(self, script: Script) -> Any:
        """Drive ``script`` and return its result.

        Raises :class:`~dissensus.run.performers.StillWaiting` when only a person's answers are missing; whatever the
        script itself raises passes through.
        """
        root = Frame(script, scope="")
        self._advance(root, None)
        while not root.done:
            self.journal.commit()
            self._start_jobs()
            for finished in await self.performer.next():
                self._settle(finished)
        self.journal.commit()
        return root.result

    def _start_jobs(self) -> None:
        """Hand over what was recorded, and only that, to be performed."""
        jobs, self._to_start = self._to_start, []
        for job in jobs:
            if job.key in self._owners:  # a race may have ended before it was started
                self.performer.start(job)

    def _settle(self, finished: Finished | Aside) -> None:
        """Record an outcome and send it to the script that waits for it."""
        if isinstance(finished, Aside):
            self.journal.aside(finished.kind, dict(finished.body), finished.key)
            return
        owner = self._owners.pop(finished.key, None)
        if owner is None:  # given up in the same breath, and recorded as cancelled
            return
        gathering, job = owner
        self._record_outcome(job, finished.outcome, finished.origin)
        gathering.put(gathering.keys.pop(job.key), finished.outcome)
        self._wake(gathering)

    def _record_outcome(self, job: Job, outcome: Outcome, origin: Mapping[str, Any] | None = None) -> None:
        agent = getattr(job.effect, "agent", "")
        body = {"outcome": to_data(outcome), "request": job.request, **(origin or {})}
        event = self.journal.write(
            Draft(
                kind="outcome",
                key=job.key,
                actor=agent or job.effect.kind,
                thread=getattr(job.effect, "thread", "main"),
                visibility=(agent,) if agent else "operator",
                body=body,
            )
        )
        self._views.add(event)
        self.counts[outcome.kind] += 1
        if isinstance(outcome, BudgetExhausted):
            self.unpaid = self.unpaid or outcome.what

    def _wake(self, gathering: Gathering) -> None:
        """Let the owner go on if all it waits for is there."""
        if not gathering.armed or not gathering.complete():
            return
        gathering.armed = False
        self._give_up_rest(gathering)
        gathering.owner.gathering = None
        self._advance(gathering.owner, gathering.value())

    def _advance(self, frame: Frame, value: Any) -> None:
        """Run ``frame`` until it waits or ends."""
        while value is not _WAITS:
            try:
                what = frame.script.send(value)
            except StopIteration as stop:
                frame.done, frame.result = True, stop.value
                if frame.parent is not None:
                    frame.parent.put(frame.slot, stop.value)
                    self._wake(frame.parent)
                return
            value = self._take(frame, what)

    def _take(self, frame: Frame, what: Any) -> Any:
        """Begin what ``frame`` yielded. Returns what to send back at once, or ``_WAITS``."""
        scope = frame.scope
        while isinstance(what, Within):
            scope, what = _join(scope, what.scope), what.what
        if isinstance(what, Together | Race):
            gathering = Gathering(frame, "race" if isinstance(what, Race) else "together")
            if isinstance(what, Race):
                gathering.race, gathering.race_key = what, self._keys.give(scope, "race", "", what.key)
            self._begin_scripts(gathering, what.scripts, scope)
        else:
            gathering = Gathering(frame, "list" if isinstance(what, list | tuple) else "one")
            effects = list(what) if isinstance(what, list | tuple) else [what]
            for slot, effect in enumerate(effects):
                gathering.expect(slot)
                self._begin_effect(gathering, slot, effect, scope)
        if gathering.complete():
            self._give_up_rest(gathering)
            return gathering.value()
        frame.gathering, gathering.armed = gathering, True
        return _WAITS

    def _begin_scripts(self, gathering: Gathering, scripts: Mapping[str, Script], scope: str) -> None:
        for name, script in scripts.items():
            gathering.expect(name)
            gathering.children.append(Frame(script, _join(scope, name), parent=gathering, slot=name))
        for child in gathering.children:
            if gathering.race is not None and gathering.arrived and gathering.complete():
                return
            self._advance(child, None)

    def _begin_effect(self, gathering: Gathering, slot: Any, effect: Any, scope: str) -> None:
        """Put one effect on the record and, unless recording was all, line it up to be performed."""
        while isinstance(effect, Within):
            scope, effect = _join(scope, effect.scope), effect.what
        if not hasattr(effect, "kind"):
            raise ScriptError(
                f"A script yielded {type(effect).__name__}, which is no effect.",
                next_step="Enter sub-scripts with `yield from under(name, script)`, or with Together.",
            )
        kind = effect.kind_of_note if isinstance(effect, Note) else effect.kind
        key = self._keys.give(scope, kind, who_of(effect), effect.key)
        if isinstance(effect, Post | Note):
            gathering.put(slot, self._say(effect, key, scope))
            return
        agent = getattr(effect, "agent", None)
        if agent is not None and agent not in self._seats:
            raise ScriptError(f"The script asks {agent!r}, who has no seat in this run.")
        thread = getattr(effect, "thread", "main")
        seen = self._views.of(agent, thread) if agent is not None else ()
        job = render(effect, key, self._seats.get(agent or ""), seen, seed_of(self._seed, key))
        event = self.journal.write(
            Draft(
                kind=kind,
                key=key,
                actor="procedure",
                thread=thread,
                visibility=(agent,) if agent else "operator",
                body=describe(job),
            )
        )
        self._views.add(event)
        self._obeying.take(event)
        gathering.keys[key] = slot
        self._owners[key] = (gathering, job)
        self._to_start.append(job)

    def _say(self, effect: Post | Note, key: str, scope: str) -> Outcome:
        """Put what the script says on the record, where those it is for see it; a post only if it is a legal move."""
        draft = said(effect, key, scope)
        why_not = self._obeying.against(draft) if isinstance(effect, Post) else None
        if why_not is not None:
            self.journal.write(blocked(draft, why_not))
            self.counts[why_not.kind] += 1
            return why_not
        self._views.add(self.journal.write(draft, durable=getattr(effect, "durable", False)))
        return Done()

    def _give_up_rest(self, gathering: Gathering) -> None:
        """End a race: cancel what still runs, and record who was used, in order, before the script sees it."""
        if gathering.race is None:
            return
        for key in list(gathering.open_keys()):
            _, job = self._owners.pop(key)
            self.performer.cancel(key)
            self._record_outcome(job, Cancelled(reason="the race had ended"))
        gathering.close()
        used = list(gathering.arrived)
        given_up = [name for name in gathering.slots if name not in gathering.arrived]
        self.journal.write(Draft(kind="raced", key=gathering.race_key, body={"used": used, "given_up": given_up}))


def _join(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name
