"""The text so far of one trajectory: what a turn adds to it, and what a verifier takes back of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from dissensus.decide.round_robin_chunks import (
    Chunk,
    bounded,
    chunk_of,
    marks_in,
    pieces,
    without_ids,
    without_marks,
    without_overlap,
)
from dissensus.decide.round_robin_overheard import Overheard
from dissensus.decide.round_robin_result import Turn
from dissensus.decide.round_robin_writers import Table, fidelity_of, tagged
from dissensus.script.outcomes import Extended, Invalid, Outcome, Reply

_MOST_BYTES_PER_TOKEN = 256


@dataclass(slots=True)
class _Part:
    """What one turn added, as far as it still stands. ``start`` is its place in the text, in bytes."""

    turn: int
    start: int
    chunk: Chunk
    length: int


class Page:
    """Lives inside the writing of one text; in a replay it is made anew from the same outcomes."""

    def __init__(self, table: Table, number: int = 0, overheard: Overheard | None = None) -> None:
        self.table = table
        self.number = number
        self.overheard = Overheard() if overheard is None else overheard
        self.turns: list[Turn] = []
        self.raw = b""
        self.ids: tuple[int, ...] = ()
        self.tokens = 0
        self.length = 0
        self._parts: list[_Part] = []

    def text(self) -> str:
        """All of it; what is no character shows as U+FFFD."""
        return self.raw.decode("utf-8", "replace")

    def handed(self, seat: int) -> str:
        """The text as ``seat`` is given it, where it is given text."""
        if self.table.with_ids:
            return ""
        if self.table.settings.attribution == "tags":
            told = [(self.turns[part.turn].agent, _shown(part.chunk)) for part in self._parts]
            return tagged(told, self.table.seats[seat].agent)
        return self.text()

    def take(self, outcome: Outcome, seat: int, *, asked: int, left: int, key: str) -> Turn:
        """Add what a writer wrote, as far as it may count, and say what happened.

        Args:
            outcome: what the writer's call ended with.
            seat: the writer.
            asked: tokens that it was asked for.
            left: what was left of the text's length.
            key: the effect's key.
        """
        turn = self._turn(outcome, seat, asked=asked, left=left)
        turn = replace(turn, text=self.number, turn=len(self.turns), key=key)
        self.turns.append(turn)
        return turn

    def _turn(self, outcome: Outcome, seat: int, *, asked: int, left: int) -> Turn:
        writer, means = self.table.seats[seat], self.table.means[seat]
        usage = getattr(outcome, "usage", None)
        turn = Turn(
            text=0,
            turn=0,
            seat=seat,
            agent=writer.agent,
            model=getattr(outcome, "model", "") or writer.model,
            tokenizer=getattr(outcome, "tokenizer", "") or writer.tokenizer,
            template=getattr(outcome, "template", ""),
            fidelity=fidelity_of(means, getattr(outcome, "fidelity", "")),
            before=self.tokens,
            input_hash=self._input_hash(seat),
            decoded=_sampled(outcome),
            along=getattr(outcome, "read", 0),
            seconds=None if usage is None else usage.seconds,
        )
        if usage is not None and usage.tokens_in is not None:
            turn = replace(turn, prompt=usage.tokens_in - self.tokens if means == "ids" else None)
            if usage.tokens_cached is not None:
                turn = replace(turn, computed=usage.tokens_in - usage.tokens_cached, cached=usage.tokens_cached)
        wrong = _problem(outcome, asked=asked, with_ids=means == "ids")
        if wrong is not None:
            kind, cause, problem = wrong
            return replace(turn, finish="error", failure=kind, cause=cause, problem=problem)
        if not isinstance(outcome, Extended | Reply):
            raise TypeError(outcome)
        return self._add(outcome, turn, asked=asked, left=left)

    def _add(self, outcome: Extended | Reply, turn: Turn, *, asked: int, left: int) -> Turn:
        settings, means = self.table.settings, self.table.means[turn.seat]
        ended = outcome.finish == "stop"
        chunk = chunk_of(outcome, asked=asked, with_ids=means == "ids")
        if means == "quotes":
            chunk = without_overlap(chunk, self.raw)
        came = chunk.tokens
        chunk, dropped = without_ids(chunk, settings.control_ids)
        marks = marks_in(chunk, self.raw, settings.control_marks)
        if means != "ids" and marks:
            chunk, marks = without_marks(chunk, self.raw, settings.control_marks)
        whole = chunk
        chunk = bounded(whole, self.raw, settings, ended=ended, left=left)
        ended = ended and len(chunk.raw) == len(whole.raw)  # an end that was cut off is not seen
        if isinstance(outcome, Extended) and means == "ids":
            first = (outcome.tokens or ())[: chunk.tokens] == chunk.ids
            writer = self.table.seats[turn.seat]
            self.overheard.take(outcome, writer, before=self.tokens, kept=chunk.tokens, whole=first)
        self._put(_Part(len(self.turns), len(self.raw), chunk, self._length(chunk)))
        numbers = outcome.logprobs if isinstance(outcome, Extended) else None
        decoded = turn.decoded
        if decoded is None and means == "ids":
            decoded = came + (outcome.finish == "stop")  # nobody says; what came back was sampled at least
        return replace(
            turn,
            added=_shown(chunk),
            finish="eos" if ended else "other" if outcome.finish not in ("length", "stop") else "length",
            kept=chunk.tokens,
            trimmed=whole.tokens - chunk.tokens,
            dropped=dropped + (outcome.dropped if isinstance(outcome, Extended) else 0),
            marks=marks,
            decoded=decoded,
            logprob=sum(numbers) / len(numbers) if numbers else None,
        )

    def note(self) -> dict[str, Any]:
        """The last turn as it stands on the record: with the ids that it added, and its bytes if they are no text."""
        turn = self.turns[-1]
        own = self._parts[-1].chunk if self._parts and self._parts[-1].turn == turn.turn else Chunk(ids=())
        data: dict[str, Any] = msgspec.to_builtins(turn)
        data["ids"] = list(own.ids or ()) if self.table.with_ids and not turn.failure else None
        if turn.added.encode() != own.raw:
            data["raw"] = own.raw.hex()
        return data

    def take_back(self, place: int) -> int:
        """Take back what stands from byte ``place`` on, whole tokens of it; returns how many tokens that were.

        Where it is not known where the tokens of a turn end, all of the turn goes.
        """
        before = self.tokens
        while self._parts and self._parts[-1].start + len(self._parts[-1].chunk.raw) > place:
            part = self._parts.pop()
            self.raw = self.raw[: part.start]
            self.ids = self.ids[: len(self.ids) - len(part.chunk.ids or ())]
            self.tokens -= part.chunk.tokens
            self.length -= part.length
            rest = _shortened(part.chunk, place - part.start)
            turn = self.turns[part.turn]
            lost = part.chunk.tokens - rest.tokens
            self.turns[part.turn] = replace(turn, added=_shown(rest), kept=rest.tokens, withdrawn=turn.withdrawn + lost)
            if rest.raw:
                self._put(replace(part, chunk=rest, length=self._length(rest)))
                break
        self.overheard.cut(self.tokens)
        return before - self.tokens

    def writers(self, start: int, stop: int) -> tuple[str, ...]:
        """Who wrote bytes ``start`` to ``stop``, in order."""
        found = [
            self.turns[part.turn].agent
            for part in self._parts
            if part.start < stop and part.start + len(part.chunk.raw) > start
        ]
        return tuple(dict.fromkeys(found))

    def _put(self, part: _Part) -> None:
        self.raw += part.chunk.raw
        self.ids += part.chunk.ids or ()
        self.tokens += part.chunk.tokens
        self.length += part.length
        if part.chunk.raw or part.chunk.tokens:
            self._parts.append(part)

    def _length(self, chunk: Chunk) -> int:
        return chunk.tokens if self.table.settings.unit == "writer" else pieces(_shown(chunk))

    def _input_hash(self, seat: int) -> str:
        given = ",".join(map(str, self.ids)) if self.table.means[seat] == "ids" else self.handed(seat)
        return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:16]


def _shown(chunk: Chunk) -> str:
    return chunk.raw.decode("utf-8", "replace")


def _shortened(chunk: Chunk, place: int) -> Chunk:
    """The part of ``chunk`` before ``place``; nothing of it where that cannot be told in tokens."""
    if place <= 0 or (chunk.ids is not None and chunk.ends is None):
        return Chunk(ids=None if chunk.ids is None else ())
    return chunk.upto(place)


def _sampled(outcome: Outcome) -> int | None:
    told = getattr(outcome, "sampled", None)
    if told is not None:
        return int(told)
    usage = getattr(outcome, "usage", None)
    return None if usage is None else usage.tokens_out


def _problem(outcome: Outcome, *, asked: int, with_ids: bool) -> tuple[str, str, str] | None:
    """Kind, cause and words of what keeps an outcome out of the text; None for something that can be added."""
    if not isinstance(outcome, Extended | Reply):
        problem = getattr(outcome, "problem", "") or getattr(outcome, "what", "") or outcome.kind
        return outcome.kind, getattr(outcome, "cause", ""), problem
    if isinstance(outcome, Extended) and with_ids:
        if outcome.tokens is None:
            return Invalid.kind, "", "the back end gave no token ids for what it wrote"
        if len(outcome.tokens) > asked and outcome.ends is None:
            return Invalid.kind, "", f"the back end wrote {len(outcome.tokens)} tokens, {asked} were asked for"
    if len(outcome.text) > _MOST_BYTES_PER_TOKEN * asked:
        return Invalid.kind, "", f"{len(outcome.text):,} characters are no {asked} tokens"
    return None
