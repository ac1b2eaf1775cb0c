"""Streams: growing texts as their agents read them, all worked on in common passes.

A stream belongs to an agent and a text (in round-robin: a trajectory). It holds that agent's own prompt and as much of
the text as the agent has read. Jobs are taken up side by side and share each pass of the engine: while one stream
writes a token, another reads what its peers wrote, and no text waits for another's turn to end.

* *hand-over*: a stream that is asked to write reads what was added since its last turn, in one go.
* *lockstep*: each token that one stream of a text samples is read by all its streams in the same pass. Nothing is left
  to read when the next one writes, and every agent's probability of every token is known as it is written.

A prompt that another stream has read already is copied, never read twice. What counts as computed is what the ledger of
the procedure says (:mod:`dissensus.decide.ledger`): after a turn nobody has read the last sampled token, and to sample
at all at least one token is read anew, even if everything is there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.agents.llama_jobs import Hearer, Job, Stream, owner_of
from dissensus.agents.llama_native import NativeError
from dissensus.agents.llama_sequences import OutOfSpaceError, Reading, Sequences

_Key = tuple[str, tuple[int, ...]]


class Streams:
    """Takes jobs and works on all of them, one pass at a time."""

    def __init__(self, sequences: Sequences) -> None:
        self.sequences = sequences
        self._streams: dict[_Key, Stream] = {}
        self._waiting: list[Job] = []
        self._active: list[Job] = []
        self._clock = 0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._waiting and not self._active

    @property
    def names(self) -> list[str]:
        """The streams that there are, the oldest first."""
        return [stream.name for stream in self._streams.values()]

    def submit(self, job: Job) -> None:
        """Put a job in line."""
        self._waiting.append(job)

    def cancel(self, job: Job) -> None:
        """Give up a job. What its stream has read stays."""
        if job in self._waiting:
            self._waiting.remove(job)
        if job in self._active:
            self._finish(job)

    def forget(self, prefix: str) -> None:
        """Free the streams whose names begin with ``prefix``, but for those at work."""
        for key, stream in list(self._streams.items()):
            if stream.name.startswith(prefix) and not stream.busy:
                self._drop(key)

    def work(self) -> list[Job]:
        """One pass for all jobs. Returns those that are finished, with their ``result``."""
        finished: list[Job] = []
        for job in list(self._waiting):
            if self._taken_up(job):
                self._waiting.remove(job)
                if job.result:
                    finished.append(job)
                else:
                    self._active.append(job)
                    self._go_on(job)
        if any(job.pending or _behind(job) for job in self._active):
            try:
                self._read()
            except (OutOfSpaceError, NativeError) as error:
                self._fail(str(error))
        for job in list(self._active):
            if not job.result:
                self._go_on(job)
            if job.result:
                self._finish(job)
                finished.append(job)
        return finished

    # taking a job up

    def _taken_up(self, job: Job) -> bool:
        """Whether the job could begin, or failed at once."""
        if job.needs > self.sequences.context:
            problem = f"Prompt, text and what is to be written are {job.needs} tokens; the context holds"
            job.fails("context-length", f"{problem} {self.sequences.context}. Give the model a larger context.")
            return True
        if not job.prompt:
            job.fails("other", "A stream begins with a prompt, and there is none.")
            return True
        stream = self._streams.get((job.name, job.prompt))
        others = [] if not job.lockstep else [one for one in self._group(job) if one is not stream]
        if any(one.busy for one in (*([stream] if stream else []), *others)):
            return False
        if stream is None or len(stream.held) < len(job.prompt):
            same = [
                one for one in self._streams.values() if one.prompt == job.prompt and one.owner == owner_of(job.name)
            ]
            donor = next((one for one in same if len(one.held) >= len(job.prompt)), None)
            if donor is None and any(one.busy for one in same):
                return False  # it is being read at this moment
            if stream is None:
                stream = self._opened(job, donor)
                if stream is None:
                    return bool(job.result)
            elif donor is not None:
                self.sequences.close(stream.handle)
                stream.handle = self.sequences.copy(donor.handle)
                self._inherit(donor, stream, job)
        self._begin(job, stream, others)
        return True

    def _group(self, job: Job) -> list[Stream]:
        group = job.name.rpartition("/")[0]
        return [stream for stream in self._streams.values() if stream.group == group]

    def _opened(self, job: Job, donor: Stream | None) -> Stream | None:
        """A new stream; the one that was used longest ago makes room. None if it has to wait, or failed."""
        handle = None
        while handle is None:
            try:
                handle = self.sequences.open() if donor is None else self.sequences.copy(donor.handle)
            except OutOfSpaceError:
                idle = [(one.used, key) for key, one in self._streams.items() if not one.busy and one is not donor]
                if not idle:
                    if not self._active:
                        job.fails("other", f"There is room for {self.sequences.most} streams, and all are taken.")
                    return None
                self._drop(min(idle)[1])
            except NativeError as error:
                job.fails("crashed", str(error))
                return None
        stream = Stream(name=job.name, prompt=job.prompt, handle=handle)
        self._streams[job.name, job.prompt] = stream
        if donor is not None:
            self._inherit(donor, stream, job)
        return stream

    def _inherit(self, donor: Stream, stream: Stream, job: Job) -> None:
        """The donor's prompt, and nothing of what it has read since: that is another text."""
        self.sequences.rollback(stream.handle, len(job.prompt))
        stream.held = list(job.prompt)
        stream.tip = stream.prompt_tip = donor.prompt_tip

    def _begin(self, job: Job, stream: Stream, others: Sequence[Stream]) -> None:
        self._clock += 1
        for one in (stream, *others):
            one.busy, one.used = True, self._clock
            if self.sequences.length(one.handle) < len(one.held):
                one.held, one.tip = one.held[: self.sequences.length(one.handle)], None  # could not be moved
        context = [*job.prompt, *job.text]
        kept = self._back_to(stream, context)
        job.stream = stream
        if kept == len(context) and job.needs_tip and (stream.tip is None or not job.takes_any_tip):
            kept -= 1
            self._back_to(stream, context[:kept])
        job.begins(stream, kept)
        for one in others:
            target = [*one.prompt, *job.text]
            kept = self._back_to(one, target)
            if kept == len(target) and one.tip is None:
                kept = self._back_to(one, target[:-1])
            job.hearers.append(Hearer(one, target[kept:]))

    def _back_to(self, stream: Stream, context: list[int]) -> int:
        """Have a stream forget what is not the beginning of ``context``; how much of it it holds."""
        same = _common(stream.held, context)
        if same < len(stream.held):
            self.sequences.rollback(stream.handle, same)
            del stream.held[same:]
            stream.tip = stream.prompt_tip if same == len(stream.prompt) else None
        return same

    # one pass

    def _read(self) -> None:
        """Read what is pending, as much of it as fits into one pass."""
        most = self.sequences.most_each
        parts: list[tuple[Stream, Job | Hearer, list[int], int]] = []
        for job in self._active:
            if job.pending:
                part = job.pending[:most]
                parts.append((job.own(), job, part, job.rows_for(part)))
            for hearer in job.hearers:
                if hearer.pending:
                    part = hearer.pending[:most]
                    parts.append((hearer.stream, hearer, part, int(len(part) == len(hearer.pending))))
        readings = [Reading(stream.handle, part, rows) for stream, _, part, rows in parts]
        for (stream, who, part, _), rows in zip(parts, self.sequences.step(readings), strict=True):
            if isinstance(who, Job):
                who.took(part, rows)
            else:
                who.read += len(part)
                del who.pending[: len(part)]
            stream.took(part, rows)

    def _go_on(self, job: Job) -> None:
        """Let a job take its next step if everything for it is read."""
        if job.pending or _behind(job) or job.result:
            return
        stream = job.own()
        if stream.tip is None and job.needs_tip:
            job.fails("crashed", "The engine has no logits where some are needed.")
            return
        job.goes_on(self.sequences.weights)
        if job.pending and job.rewinds:
            self._back_to(stream, [*job.prompt, *job.text])

    # ending

    def _finish(self, job: Job) -> None:
        if job in self._active:
            self._active.remove(job)
        for stream in (job.stream, *(hearer.stream for hearer in job.hearers)):
            if stream is not None:
                stream.busy = False

    def _drop(self, key: _Key) -> None:
        stream = self._streams.pop(key)
        self.sequences.close(stream.handle)

    def _fail(self, problem: str) -> None:
        """The engine failed in a pass: what the streams hold is not known any more."""
        for job in self._active:
            job.fails("crashed", problem)
        for key in list(self._streams):
            self._drop(key)


def _behind(job: Job) -> bool:
    """Whether somebody who reads along has not caught up."""
    return any(hearer.pending for hearer in job.hearers)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return int((np.asarray(one[:length]) != np.asarray(other[:length])).argmax())
