"""The receiver's ear: what each agent makes of what its peers wrote, by its own model and from its own prompt.

*Surprise* of a reader at a chunk: minus its mean natural-log probability of the chunk's tokens. *Drift*: how the
log-odds of candidate answers move from chunk to chunk when an answer is forced ("Answer: …") before the first chunk
and after each. Nobody can claim such a number, as one can claim a confidence: the receiver works it out. It says how
likely something is to a model and not how right it is, and where most readers are corrupted so are most numbers.

It listens when the texts are finished, so it can change nothing in them. Surprise comes with the writing where the
back end tells it (:mod:`~dissensus.decide.round_robin_overheard`); the rest is scored, which costs what the ledger says
under ``ear``. Numbers stand in notes that only the operator sees; no agent is shown any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dissensus.decide.cost import Bill, metered
from dissensus.decide.round_robin_answer import answer_of
from dissensus.decide.round_robin_opinions import Ear, Opinion, summed_up
from dissensus.decide.round_robin_overheard import Overheard
from dissensus.decide.round_robin_result import Text, Turn
from dissensus.decide.round_robin_writers import Table, tagged
from dissensus.errors import SpecError
from dissensus.script.calls import Capability
from dissensus.script.effects import Continue, Note, ScoreTexts, Script, Together, under
from dissensus.script.outcomes import Extended, Outcome, Scores

MOST_ANSWERS: Final = 8
"""Answers of texts that are compared; the rarer ones are left out."""
_FORCED: Final = "\n\nAnswer: {}\n"


@dataclass(frozen=True, slots=True)
class Listened:
    """What was heard, and what listening took."""

    ear: Ear
    bill: Bill


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One turn's part of a finished text; ``start`` and ``stop`` are its tokens."""

    turn: Turn
    start: int
    stop: int


def readers_of(table: Table) -> tuple[int, ...]:
    """The seats that can listen. Raises SpecError if there should be an ear and nobody can."""
    found = [
        seat
        for seat, (one, means) in enumerate(zip(table.seats, table.means, strict=True))
        if means != "quotes" and Capability.LOGPROBS in one.capabilities
    ]
    if table.settings.ear != "off" and not found:
        raise SpecError(
            "Nobody can listen: no writer's model tells log-probabilities of a given text.",
            next_step="Take a model on this machine (llama:NAME) or a vLLM or llama.cpp server, or leave ear off.",
        )
    return tuple(found)


def listen(table: Table, texts: Sequence[Text], overheard: Mapping[int, Overheard]) -> Generator[Any, Any, Listened]:
    """Hear all agents on all texts that somebody wrote."""
    written = [text for text in texts if text.kept]
    candidates, source = candidates_of(table, written) if table.settings.ear != "surprise" else ((), "")
    readers = readers_of(table)
    bills: dict[str, Bill] = {}
    scripts: dict[str, Script] = {}
    for text in written:
        for seat in readers:
            name = _name(table, text, seat)
            bills[name] = Bill()
            listener = _Listener(table, text, seat, overheard[text.number])
            scripts[name] = metered(listener.hear(candidates), bills[name])
    came: Mapping[str, Opinion] = (yield from under("ear", _together(scripts))) if scripts else {}
    bill = Bill()
    for own in bills.values():  # in the order of texts and seats, whatever came first
        bill.merge(own)
    heard = [
        summed_up(
            text,
            chunks=tuple(chunk.turn.turn for chunk in _chunks(text)),
            writers=tuple(chunk.turn.agent for chunk in _chunks(text)),
            opinions=tuple(came[_name(table, text, seat)] for seat in readers),
            candidates=candidates,
        )
        for text in written
    ]
    ear = Ear(mode=table.settings.ear, candidates=candidates, source=source, texts=tuple(heard))
    return Listened(ear, bill)


def _name(table: Table, text: Text, seat: int) -> str:
    return f"{text.name}-{table.seats[seat].agent}"


def _together(scripts: Mapping[str, Script]) -> Script:
    return (yield Together(scripts))


def candidates_of(table: Table, texts: Sequence[Text]) -> tuple[tuple[str, ...], str]:
    """The answers whose odds are told, and where they come from: ``given``, ``options`` or ``answers``.

    ``answers``: those of the finished texts, most first, then those that were announced on the way.
    """
    if table.settings.ear_candidates:
        return tuple(dict.fromkeys(table.settings.ear_candidates)), "given"
    if table.question.options:
        return tuple(dict.fromkeys(table.question.options)), "options"
    if table.kind == "yes-no":
        return ("yes", "no"), "options"
    votes = Counter(text.answer for text in texts if text.answer is not None)
    final = sorted(votes, key=lambda answer: (-votes[answer], answer))
    said = []
    for text in texts:
        so_far = ""
        for turn in text.turns:
            so_far += turn.added
            found = answer_of(so_far, "eos", table)
            if found.answer is not None and found.rule != "fallback":
                said.append(found.answer)
    return tuple(dict.fromkeys([*final, *said]))[:MOST_ANSWERS], "answers"


def _chunks(text: Text) -> list[_Chunk]:
    found, start = [], 0
    for turn in text.turns:
        if turn.kept:
            found.append(_Chunk(turn, start, start + turn.kept))
            start += turn.kept
    return found


class _Listener:
    """One reader of one text."""

    def __init__(self, table: Table, text: Text, seat: int, overheard: Overheard) -> None:
        self.table, self.text, self.overheard = table, text, overheard
        self.seat = table.seats[seat]
        self.chunks = _chunks(text)
        self.stream = f"{text.name}/{self.seat.agent}"

    def hear(self, candidates: Sequence[str]) -> Generator[Any, Any, Opinion]:
        """What it makes of the text."""
        mode, reader = self.table.settings.ear, self.seat.agent
        wanted = [place for place, chunk in enumerate(self.chunks) if chunk.turn.agent != reader and mode != "drift"]
        surprise: list[float | None] = [None] * len(self.chunks)
        if self.table.with_ids:
            if self.seat.model in self.overheard.tell and any(self._known(place) is None for place in wanted):
                yield from self._read_to_the_end()
            for place in wanted:
                surprise[place] = self._known(place)
        in_pass = sum(number is not None for number in surprise)
        missing = [
            place for place in wanted if surprise[place] is None and "\ufffd" not in self.chunks[place].turn.added
        ]
        answers: list[tuple[float, ...] | None] = []
        scored, problem = 0, ""
        forced = [_FORCED.format(one) for one in candidates]
        for mark in range(len(self.chunks) + 1):
            asked = [self.chunks[mark].turn.added] if mark in missing else []
            if not asked and not forced:
                continue
            outcome: Outcome = yield self._score(mark, (*asked, *forced))
            if not isinstance(outcome, Scores) or len(outcome.logprobs) != len(asked) + len(forced):
                problem = problem or getattr(outcome, "problem", "") or outcome.kind
                answers += [None] * bool(forced)
                continue
            scored += sum(outcome.lengths)
            if asked and math.isfinite(outcome.logprobs[0]):
                surprise[mark] = -outcome.means()[0]
            if forced:
                numbers = outcome.logprobs[len(asked) :]
                answers.append(numbers if all(map(math.isfinite, numbers)) else None)
        opinion = Opinion(
            reader=reader,
            surprise=tuple(surprise),
            answers=tuple(answers),
            in_pass=in_pass,
            scored=scored,
            problem=problem,
        )
        yield Note("ear", {"text": self.text.number, **msgspec.to_builtins(opinion)}, key="heard")
        return opinion

    def _known(self, place: int) -> float | None:
        """The surprise that came with the writing."""
        chunk = self.chunks[place]
        number = self.overheard.mean(self.seat.agent, chunk.start, chunk.stop)
        return None if number is None else -number

    def _read_to_the_end(self) -> Generator[Any, Any, None]:
        """Have it read what was written since its last turn, without writing."""
        ids = self.text.ids or ()
        outcome: Outcome = yield Continue(
            self.seat.agent,
            self.table.prompt,
            tokens=ids,
            max_tokens=0,
            hear=True,
            thread=f"ear/{self.stream}/rest",
            stream=self.stream,
            key="rest",
        )
        if isinstance(outcome, Extended):
            self.overheard.take(outcome, self.seat, before=len(ids), kept=0, whole=False)

    def _score(self, mark: int, continuations: tuple[str, ...]) -> ScoreTexts:
        """Have it score what might come after the first ``mark`` chunks."""
        table, last = self.table, mark == len(self.chunks)
        before = self.text.kept if last else self.chunks[mark].start
        written = ""
        if not table.with_ids:
            parts = [(chunk.turn.agent, chunk.turn.added) for chunk in self.chunks[:mark]]
            following = self.seat.agent if last else self.chunks[mark].turn.agent
            tags = table.settings.attribution == "tags"
            written = tagged(parts, following) if tags else "".join(added for _, added in parts)
        return ScoreTexts(
            self.seat.agent,
            table.prompt,
            continuations,
            text=written,
            tokens=(self.text.ids or ())[:before] if table.with_ids else None,
            stream=self.stream,
            thread=f"ear/{self.stream}/{mark}",
            key=f"after-{mark}",
        )
