"""What a stream is asked to do: go on with a text, or score how a text might go on.

A job says which tokens are to be read next (``pending``) and how many rows of logits that has to give; it is handed the
rows, and once everything is read it takes the next step: sample a token, or turn to the next continuation. Who reads,
and when, is the business of :mod:`dissensus.agents.llama_streams`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.agents.llama_native import Weights
from dissensus.agents.llama_sampling import Sampling, choose, logprobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Row = NDArray[np.float32]
    """Logits behind one token, shape (vocabulary,); with a leading axis, behind several."""


@dataclass(slots=True, kw_only=True, eq=False)
class Stream:
    """What one agent has read of one text.

    Args:
        name: ``run/text/agent``.
        prompt: the agent's own prompt, as token ids.
        handle: its sequence.
        held: the tokens that it has read, the prompt included.
        tip: logits behind the last of them, where they are known.
        prompt_tip: logits behind the prompt, likewise.
        fresh: whether ``tip`` was asked for by itself, so that a first turn may begin with it.
        busy: whether a job has it.
        used: when it was last used, as a count.
    """

    name: str
    prompt: tuple[int, ...]
    handle: int
    held: list[int] = field(default_factory=list)
    tip: Row | None = None
    prompt_tip: Row | None = None
    fresh: bool = False
    busy: bool = False
    used: int = 0

    @property
    def group(self) -> str:
        """The text: the name without its last part."""
        return self.name.rpartition("/")[0]

    @property
    def owner(self) -> tuple[str, str]:
        """Run and agent: whose prompt it is."""
        return owner_of(self.name)

    def took(self, part: Sequence[int], rows: Row) -> None:
        """Note that ``part`` was read, and the logits behind its last tokens."""
        before, end = len(self.held), len(self.prompt)
        self.held += part
        back = len(self.held) - end
        if before < end <= len(self.held) and back < len(rows):
            self.prompt_tip = rows[len(rows) - 1 - back].copy()
        self.tip = None if not len(rows) else rows[-1] if len(rows) == 1 else rows[-1].copy()


@dataclass(slots=True, eq=False)
class Hearer:
    """A stream that reads along: what it has still to read, and what log-probability it gave to each token written."""

    stream: Stream
    pending: list[int]
    read: int = 0
    numbers: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True, eq=False)
class Job(ABC):
    """Something that a stream is asked to do.

    Args:
        name: the stream's name.
        prompt: the agent's own prompt.
        text: the shared text so far, as token ids.
        lockstep: have all streams of the text read along.
        number: whoever asked knows it by this.
    """

    name: str
    prompt: tuple[int, ...]
    text: tuple[int, ...] = ()
    lockstep: bool = False
    number: int = 0

    stream: Stream | None = None
    begun: float = 0.0
    kept: int = 0
    pending: list[int] = field(default_factory=list)
    hearers: list[Hearer] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Tokens of prompt and text."""
        return len(self.prompt) + len(self.text)

    @property
    def needs(self) -> int:
        """Tokens that the stream will hold at most."""
        return self.length

    @property
    def takes_any_tip(self) -> bool:
        """Whether logits that are there already will do, or at least one token is read anew as the ledger counts it."""
        return self.lockstep

    @property
    def needs_tip(self) -> bool:
        """Whether it needs logits behind the text at all."""
        return True

    @property
    def rewinds(self) -> bool:
        """Whether what is pending after a step is read from the end of the text on, and not from where it stands."""
        return False

    def begins(self, stream: Stream, kept: int) -> None:
        """The stream holds the first ``kept`` tokens of prompt and text; the rest is pending."""
        self.stream, self.kept, self.begun = stream, kept, time.perf_counter()
        self.pending = [*self.prompt, *self.text][kept:]

    def rows_for(self, part: Sequence[int]) -> int:
        """How many rows of logits reading ``part``, the beginning of what is pending, has to give."""
        return int(len(part) == len(self.pending))

    def took(self, part: Sequence[int], rows: Row) -> None:  # noqa: ARG002 - kinds of jobs make use of it
        """The stream is about to have read ``part``."""
        del self.pending[: len(part)]

    @abstractmethod
    def goes_on(self, weights: Weights) -> None:
        """Everything pending is read: the next step. Sets ``pending`` or ``result``."""

    def fails(self, cause: str, problem: str) -> None:
        """End it without a result."""
        self.result = {"cause": cause, "problem": problem}

    def done(self, **more: Any) -> None:
        """End it. ``computed`` is what was read anew of prompt and text, as the ledger counts it."""
        computed = self.length - self.kept
        if self.lockstep and self.kept >= len(self.prompt):
            computed -= min(computed, 1)  # the last token of the text is the first step of writing, as each after it
        self.result = {
            "context": self.length,
            "computed": computed,
            "read": sum(hearer.read for hearer in self.hearers),
            "seconds": time.perf_counter() - self.begun,
            **more,
        }

    def own(self) -> Stream:
        """The stream that it has."""
        if self.stream is None:
            raise TypeError(self)
        return self.stream

    def tip(self) -> Row:
        """The logits to go on from."""
        tip = self.own().tip
        if tip is None:
            raise TypeError(self)
        return tip


@dataclass(slots=True, kw_only=True, eq=False)
class Write(Job):
    """Go on with the text.

    Args:
        most: most tokens to write; 0 only reads.
        sampling: how they are chosen.
        stop: byte strings that end the text.
        hear: also tell the log-probability of each token of the text that is read anew, as far as it is known.
    """

    most: int
    sampling: Sampling
    stop: tuple[bytes, ...] = ()
    hear: bool = False

    writing: bool = False
    heard: list[float] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    raw: bytes = b""
    ends: list[int] = field(default_factory=list)
    sampled: int = 0

    @property
    def needs(self) -> int:  # noqa: D102
        return self.length + self.most

    @property
    def takes_any_tip(self) -> bool:  # noqa: D102
        return self.lockstep or (self.stream is not None and self.stream.fresh)

    @property
    def needs_tip(self) -> bool:  # noqa: D102
        return self.most > 0

    def begins(self, stream: Stream, kept: int) -> None:  # noqa: D102
        Job.begins(self, stream, kept)
        if self.hear and stream.tip is not None and self.pending and kept >= len(self.prompt):
            self.heard += told(stream.tip[None], self.pending[:1])
        stream.fresh = self.most == 0 and bool(self.pending)

    def rows_for(self, part: Sequence[int]) -> int:  # noqa: D102
        held, end = len(self.own().held), len(self.prompt)
        if self.writing or not (self.hear or self.lockstep) or held + len(part) < end:
            return Job.rows_for(self, part)
        behind = held + len(part) - end + 1  # from the prompt's last token on
        return min(behind, len(part)) if self.hear or held < end else Job.rows_for(self, part)

    def took(self, part: Sequence[int], rows: Row) -> None:  # noqa: D102
        if self.hear and not self.writing and len(rows):
            following = self.pending[1 : len(part) + 1][len(part) - len(rows) :]
            self.heard += told(rows[: len(following)], following)
        Job.took(self, part, rows)

    def goes_on(self, weights: Weights) -> None:  # noqa: D102
        self.writing = True
        if self.sampled >= self.most:
            self._ends("length")
            return
        tip = self.tip()
        token = choose(tip, self.sampling, len(self.own().held))
        self.sampled += 1
        if weights.steers(token):
            # the end of its turn; a token that would begin somebody else's turn ends this one too, and is left out
            self._ends("stop", dropped=int(not weights.ends(token)))
            return
        self.ids.append(token)
        self.numbers += told(tip[None], [token])
        for hearer in self.hearers:
            if hearer.stream.tip is not None:
                hearer.numbers += told(hearer.stream.tip[None], [token])
        self.raw += weights.piece(token)
        self.ends.append(len(self.raw))
        if (place := _first(self.raw, self.stop)) >= 0:
            self._cut(place)
            self._ends("stop")
        elif self.sampled >= self.most:
            self._ends("length")
        else:
            self.pending = [token]
            for hearer in self.hearers:
                hearer.pending = [token]

    def _cut(self, place: int) -> None:
        """Leave out the tokens that reach behind byte ``place``."""
        while self.ends and self.ends[-1] > place:
            self.ends.pop()
            self.ids.pop()
            for numbers in (self.numbers, *(hearer.numbers for hearer in self.hearers)):
                numbers.pop()
        self.raw = self.raw[: self.ends[-1] if self.ends else 0]

    def _ends(self, finish: str, *, dropped: int = 0) -> None:
        self.done(
            tokens=self.ids,
            finish=finish,
            logprobs=self.numbers,
            raw=self.raw,
            ends=self.ends,
            sampled=self.sampled,
            dropped=dropped,
            heard=self.heard,
            others={hearer.stream.name: hearer.numbers for hearer in self.hearers},
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Score(Job):
    """Tell how likely each of ``continuations`` is after the text."""

    continuations: tuple[tuple[int, ...], ...]

    sums: list[float] = field(default_factory=list)
    behind: Row | None = None
    following: list[int] = field(default_factory=list)

    @property
    def needs(self) -> int:  # noqa: D102
        return self.length + max(map(len, self.continuations), default=0)

    @property
    def takes_any_tip(self) -> bool:  # noqa: D102
        return True

    @property
    def rewinds(self) -> bool:  # noqa: D102
        return True

    def rows_for(self, part: Sequence[int]) -> int:  # noqa: D102
        return Job.rows_for(self, part) if self.behind is None else len(part)

    def took(self, part: Sequence[int], rows: Row) -> None:  # noqa: D102
        if self.behind is not None:
            self.sums[-1] += sum(told(rows, self.following[: len(part)]))
            del self.following[: len(part)]
        Job.took(self, part, rows)

    def goes_on(self, weights: Weights) -> None:  # noqa: ARG002, D102
        if self.behind is None:
            self.behind = self.tip()
        while len(self.sums) < len(self.continuations):
            ids = self.continuations[len(self.sums)]
            self.sums.append(told(self.behind[None], ids[:1])[0] if ids else 0.0)
            if len(ids) > 1:
                self.pending, self.following = list(ids[:-1]), list(ids[1:])
                return
        self.done(sums=self.sums)


def owner_of(name: str) -> tuple[str, str]:
    """Run and agent in a stream's name: whose prompt it holds."""
    group, _, agent = name.rpartition("/")
    return group.rpartition("/")[0], agent


def told(rows: Row, ids: Sequence[int]) -> list[float]:
    """Natural-log probability of each of ``ids`` under its row."""
    return [float(number) for number in logprobs(rows, np.asarray(ids, np.int64))] if len(ids) else []


def _first(raw: bytes, stop: Sequence[bytes]) -> int:
    """Where the first of ``stop`` stands; -1 for nowhere."""
    return min((place for text in stop if text and (place := raw.find(text)) >= 0), default=-1)
