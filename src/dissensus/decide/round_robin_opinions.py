"""What was heard of texts written in turns, and what follows from it: sums, weights, and sides where roles are known.

Which agents are corrupted and which answer is right is told to none of this while texts are written or weighed. Whoever
knows it, as the operator of a study does, asks :func:`sides` afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dissensus.errors import UsageError
from dissensus.measure.study_points import Step

if TYPE_CHECKING:
    from dissensus.decide.round_robin_result import Text

Mode = Literal["off", "surprise", "drift", "both"]
Weight = Literal["none", "surprise", "drift"]
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one reader made of one text. ``None`` means not known.

    Args:
        reader: the agent.
        surprise: for each chunk, minus the mean natural-log probability of its tokens; None for the reader's own.
        answers: natural-log probability of each candidate as a forced answer, before the first chunk and after each.
        in_pass: surprises that came with the writing itself, of the very token ids. The others were scored as text.
        scored: tokens that were scored.
        problem: why something is not known: the first failure.
    """

    reader: str
    surprise: tuple[float | None, ...] = ()
    answers: tuple[tuple[float, ...] | None, ...] = ()
    in_pass: int = 0
    scored: int = 0
    problem: str = ""

    def odds(self, mark: int, of: int, against: Collection[int]) -> float | None:
        """Log-odds of candidate ``of`` against some others together, after ``mark`` chunks."""
        numbers = self.answers[mark] if mark < len(self.answers) else None
        if numbers is None or not against:
            return None
        return numbers[of] - _log_sum([numbers[other] for other in against])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardText:
    """What all readers made of one text.

    Args:
        number: which, from 0 on.
        chunks: the turns, from 0 on, that added something which stands; ``writers`` are who wrote them.
        answer: the text's own answer, if it is among the candidates.
        opinions: by reader, in the order of seats.
        surprise: for each chunk the median over its readers.
        odds: log-odds of the text's own answer against all other candidates, mean over readers, before the first
            chunk and after each.
    """

    number: int
    chunks: tuple[int, ...] = ()
    writers: tuple[str, ...] = ()
    answer: str | None = None
    opinions: tuple[Opinion, ...] = ()
    surprise: tuple[float | None, ...] = ()
    odds: tuple[float | None, ...] = ()

    def odds_of(self, candidates: Sequence[str], of: int) -> tuple[float | None, ...]:
        """Log-odds of one candidate against all others, mean over readers, before the first chunk and after each."""
        against = [place for place in range(len(candidates)) if place != of]
        marks = range(len(self.chunks) + 1)
        return tuple(_all_mean([one.odds(mark, of, against) for one in self.opinions]) for mark in marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ear:
    """What was heard in a run.

    Args:
        mode: ``surprise``, ``drift`` or ``both``.
        candidates: the answers whose odds are told.
        source: where they come from: ``given``, ``options``, ``answers``; "" for none.
        texts: in order; texts that nobody wrote are left out.
        weight: how texts were weighed by it, and ``weights`` in the order of ``texts``; empty where all weigh alike.
    """

    mode: Mode
    candidates: tuple[str, ...] = ()
    source: str = ""
    texts: tuple[HeardText, ...] = ()
    weight: Weight = "none"
    weights: tuple[float, ...] = ()

    def told_of(self, text: HeardText) -> int | None:
        """The candidate whose odds are shown for a text: its own answer, else the first; None if there are not two."""
        if len(self.candidates) < 2 or self.mode == "surprise":
            return None
        return self.candidates.index(text.answer) if text.answer is not None else 0

    def by_writer(self) -> dict[str, float]:
        """Mean surprise of the chunks of each writer, over all texts and readers."""
        numbers: dict[str, list[float]] = {}
        for text in self.texts:
            for place, writer in enumerate(text.writers):
                own = [one.surprise[place] for one in text.opinions if place < len(one.surprise)]
                numbers.setdefault(writer, []).extend(value for value in own if value is not None)
        return {writer: _mean(values) for writer, values in numbers.items() if values}

    def problems(self) -> list[str]:
        """The first problem of each reader and text that had one."""
        return [one.problem for text in self.texts for one in text.opinions if one.problem]


def summed_up(
    text: Text,
    *,
    chunks: tuple[int, ...],
    writers: tuple[str, ...],
    opinions: tuple[Opinion, ...],
    candidates: Sequence[str],
) -> HeardText:
    """All readers together."""
    surprise = [
        _median([one.surprise[place] for one in opinions if place < len(one.surprise)]) for place in range(len(chunks))
    ]
    answer = text.answer if text.answer in candidates else None
    heard = HeardText(
        number=text.number,
        chunks=chunks,
        writers=writers,
        answer=answer,
        opinions=opinions,
        surprise=tuple(surprise),
    )
    return heard if answer is None else replace(heard, odds=heard.odds_of(candidates, candidates.index(answer)))


def weights_of(ear: Ear, weight: Weight) -> tuple[float, ...]:
    """What each text weighs, 0 to 1, rounded to six digits; nothing if that is not known of all that have an answer.

    ``surprise``: e to minus the mean, over chunks, of the median surprise: the probability that readers give to a
    token, on a geometric mean. ``drift``: how far readers moved to the text's answer while they read, as a probability:
    half for not at all. What a reader believed beforehand, by its own prompt, cancels out.
    """
    found = []
    for text in ear.texts:
        if weight == "surprise":
            known = [value for value in text.surprise if value is not None]
            number = math.exp(-_mean(known)) if known and len(known) == len(text.surprise) else None
        else:
            ends = (text.odds[0], text.odds[-1]) if text.odds else (None, None)
            number = None if ends[0] is None or ends[1] is None else _sigmoid(ends[1] - ends[0])
        if number is None:
            if text.answer is not None or weight == "surprise":
                return ()
            number = 0.0  # it has no answer, so that it weighs nothing in any case
        found.append(max(round(number, 6), _LEAST))
    return tuple(found)


# --- where roles and the right answer are known


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The chunks of honest or of corrupted writers. None means that there were none.

    Args:
        chunks: how many.
        step: mean change of the log-odds of the right answer in such a chunk, as honest readers have it.
        to_honest, to_corrupted: mean surprise of honest and of corrupted readers.
    """

    chunks: int
    step: float | None
    to_honest: float | None
    to_corrupted: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both sides, and each chunk as a step of the drift model (:mod:`dissensus.measure.drift_fit`)."""

    honest: Side
    corrupted: Side
    steps: tuple[Step, ...] = field(default=())

    def to_data(self) -> dict[str, Any]:
        """JSON-ready data; ``dissensus round-robin drift --measured`` reads ``steps``."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def sides(ear: Ear, corrupted: Collection[str], *, right: str, target: str = "", name: str = "") -> Sides:
    """What honest and corrupted writers did to the log-odds of the right answer, as the honest readers have it.

    The same readers are asked before and after each chunk, its own writer included, so that the log-odds belong to the
    text. Where nobody is honest, all readers are taken.

    Args:
        ear: what was heard.
        corrupted: names of the corrupted agents.
        right: the right answer, as among the candidates.
        target: the one that the attack aims at; "" for all others together.
        name: of the run, put before the numbers of its texts.

    Raises:
        UsageError: an answer is not among the candidates.
    """
    for one in (right, target):
        if one and ear.mode != "surprise" and one not in ear.candidates:
            raise UsageError(
                f"{one!r} is not among the answers whose odds were told: {', '.join(ear.candidates) or 'none'}.",
                next_step="Write it as it stands there, or give it as a candidate before the run.",
            )
    steps = tuple(_steps(ear, corrupted, right=right, target=target, name=name))
    return Sides(
        honest=_side(ear, steps, corrupted, honest=True),
        corrupted=_side(ear, steps, corrupted, honest=False),
        steps=steps,
    )


def _steps(ear: Ear, corrupted: Collection[str], *, right: str, target: str, name: str) -> Iterator[Step]:
    if right not in ear.candidates:
        return
    of = ear.candidates.index(right)
    against = [place for place, one in enumerate(ear.candidates) if (one == target if target else one != right)]
    for text in ear.texts:
        readers = [one for one in text.opinions if one.reader not in corrupted] or list(text.opinions)
        x = [_all_mean([one.odds(mark, of, against) for one in readers]) for mark in range(len(text.chunks) + 1)]
        for place, (turn, writer) in enumerate(zip(text.chunks, text.writers, strict=True)):
            before, after = x[place], x[place + 1]
            if before is not None and after is not None:
                label = f"{name}/text-{text.number + 1}" if name else f"text-{text.number + 1}"
                yield Step(text=label, turn=turn, corrupted=writer in corrupted, before=before, after=after)


def _side(ear: Ear, steps: Sequence[Step], corrupted: Collection[str], *, honest: bool) -> Side:
    own = [step.after - step.before for step in steps if step.corrupted is not honest]
    heard: dict[bool, list[float]] = {True: [], False: []}
    chunks = 0
    for text in ear.texts:
        places = [place for place, writer in enumerate(text.writers) if (writer not in corrupted) is honest]
        chunks += len(places)
        for opinion in text.opinions:
            values = [opinion.surprise[place] for place in places if place < len(opinion.surprise)]
            heard[opinion.reader not in corrupted] += [value for value in values if value is not None]
    return Side(
        chunks=chunks,
        step=_mean(own) if own else None,
        to_honest=_mean(heard[True]) if heard[True] else None,
        to_corrupted=_mean(heard[False]) if heard[False] else None,
    )


# --- sums


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _all_mean(values: Sequence[float | None]) -> float | None:
    """The mean if all are known: over fewer readers it would be another number."""
    known = [value for value in values if value is not None]
    return _mean(known) if known and len(known) == len(values) else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(math.fsum(math.exp(value - most) for value in values))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
